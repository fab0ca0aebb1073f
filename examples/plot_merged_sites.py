"""
Three sites that merge their models
===================================

Three hospitals, regions or shards have rows with the same features. Each fits a model to its own
rows, and only the models are brought together: :func:`cohirf.merge` makes one model out of what
they keep.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import adjusted_rand_score

import cohirf
from cohirf import CoHiRF

# %%
# Rows of three sites
# -------------------
#
# There are five classes. No site sees all of them, and their shares differ.

N_FEATURES = 8
SHARES = {"north": (4, 4, 1, 0, 0), "east": (0, 2, 4, 3, 0), "south": (3, 0, 0, 2, 4)}
rng = np.random.default_rng(0)
centres = 8 * np.eye(5, N_FEATURES)


def make_site(shares):
    y = rng.choice(5, size=2000, p=np.array(shares) / sum(shares))
    return centres[y] + rng.normal(size=(2000, N_FEATURES)), y


sites = {name: make_site(shares) for name, shares in SHARES.items()}
X = np.vstack([rows for rows, _ in sites.values()])
y = np.concatenate([classes for _, classes in sites.values()])

# %%
# A model for each site, and one for all
# --------------------------------------
#
# Every site fits the same kind of model to its own rows, with batches of 500, and finds its own
# number of clusters.

PARAMETERS = {"n_clusters": "auto", "batch_size": 500, "random_state": 0}
models = {name: CoHiRF(**PARAMETERS).fit(rows) for name, (rows, _) in sites.items()}
for name, model in models.items():
    print(
        f"{name}: {model.n_clusters_} clusters, ARI "
        f"{adjusted_rand_score(sites[name][1], model.labels_):.2f}"
    )

merged = cohirf.merge(list(models.values()))
print(merged.changes_)

# %%
# The merged model labels the rows of all sites, in the order of the models. It is compared with a
# fit to all rows, which needs them in one place, and with a merge of models that were reduced to
# one exemplar, one mean and one count for each cluster before they left their site.

whole = CoHiRF(**PARAMETERS).fit(X)
reduced = cohirf.merge(list(models.values()), exemplars_only=True)
for name, model in {
    "merged": merged,
    "exemplars only": reduced,
    "all rows in one place": whole,
}.items():
    print(f"{name}: {model.n_clusters_} clusters, ARI {adjusted_rand_score(y, model.labels_):.2f}")

# %%
# Where the clusters are
# ----------------------
#
# The numbers of the clusters are those of the merged model, so the sites can be compared.

parts = np.split(merged.labels_, 3)
shares = np.array(
    [[(part == number).mean() for part in parts] for number in merged.cluster_numbers_]
)
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
bottom = np.zeros(3)
for number, heights in zip(merged.cluster_numbers_, shares, strict=True):
    axes.bar(list(sites), heights, bottom=bottom, label=f"cluster {number}")
    bottom += heights
axes.set(ylabel="share of the rows of the site")
figure.legend(loc="outside right upper")
plt.show()
