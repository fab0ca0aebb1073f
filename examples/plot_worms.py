"""
HDBSCAN in batches: worms, spirals and a ring
=============================================

Two worms, two spirals, a ring and four lumps lie in noise: 200,000 rows. HDBSCAN finds such shapes,
but its time grows faster than the number of rows. Here CoHiRF computes the spanning trees of
batches of neighbouring rows, joins them to one tree of all rows, and takes the labels from it as
HDBSCAN does.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score
from synthetic import make_shapes

from cohirf import CoHiRF
from cohirf.app.plotting.canvas import cluster_colours

# %%
# Fit
# ---
#
# ``min_cluster_size`` is a number of rows of the whole data, and can be larger than a batch.
# Scikit-learn's HDBSCAN on its own needs more than four minutes for these rows.

X, shape = make_shapes(200_000, random_state=0)
hdbscan = HDBSCAN(min_cluster_size=1_000, min_samples=11, copy=True)
model = CoHiRF(hdbscan, batch_size=20_000, random_state=0).fit(X)
print(f"{model.n_clusters_} clusters, and {np.mean(model.labels_ < 0):.1%} of the rows are noise")
print(f"adjusted Rand index with the shapes: {adjusted_rand_score(shape, model.labels_):.2f}")

# %%
# The shapes
# ----------
#
# Noise is grey. A numbered disc is the exemplar of each cluster.

shown = np.random.default_rng(0).choice(len(X), 60_000, replace=False)
labels = model.labels_[shown]
figure, ax = plt.subplots(figsize=(8, 6), layout="constrained")
ax.scatter(*X[shown][labels < 0].T, s=0.5, color="#cccccc", linewidths=0)
colours = cluster_colours(range(model.n_clusters_))
ax.scatter(*X[shown][labels >= 0].T, s=1.2, color=colours[labels[labels >= 0]], linewidths=0)
for cluster, row in enumerate(model.exemplar_indices_):
    ax.annotate(
        str(cluster),
        X[row],
        ha="center",
        va="center",
        color="white",
        fontweight="bold",
        bbox={"boxstyle": "circle,pad=0.25", "facecolor": colours[cluster], "edgecolor": "white"},
    )
ax.set(aspect="equal", xticks=[], yticks=[])
ax.spines[:].set_visible(False)
plt.show()
