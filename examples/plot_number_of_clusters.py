"""
How many clusters?
==================

Without ``n_clusters``, a fit cuts its tree at the number of clusters with the highest silhouette. The curve says how
much to trust the number: a high peak is a number that the data suggests, and a flat curve is a question of taste.
Four data sets of scikit-learn, and one made for the purpose.
"""

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.plotting import plot_choice

# %%
# One fit for each data set
# -------------------------

data = {
    "blobs, 6 groups": make_blobs(1_000, n_features=8, centers=6, cluster_std=2, random_state=0)[0],
    "iris, 3 species": load_iris().data,
    "wine, 3 cultivars": load_wine().data,
    "breast cancer, 2 diagnoses": load_breast_cancer().data,
    "digits, 10 digits": load_digits().data,
}
models = {name: CoHiRF(random_state=0).fit(StandardScaler().fit_transform(X)) for name, X in data.items()}
for name, model in models.items():
    print(f"{name}: {model.choice_.describe()}")

# %%
# The curves
# ----------
#
# The dot is the chosen number. The blobs have a clear peak. Iris has its peak at two: two of its species overlap. Wine
# and breast cancer have the highest silhouette at the number of their classes, but only just. For the digits, the
# silhouette of many numbers is nearly the same, and low: choose the number that you need.

figure, ax = plt.subplots(figsize=(9, 4.8), layout="constrained")
for name, model in models.items():
    choice = model.choice_
    line = ax.plot(choice.candidates, choice.silhouettes, linewidth=1.8, label=name)[0]
    ax.plot(choice.n_clusters, choice.silhouettes.max(), "o", markersize=9, color=line.get_color())
ax.set(xlabel="number of clusters", ylabel="mean silhouette", ylim=(0, None))
ax.legend(frameon=False)
ax.spines[["top", "right"]].set_visible(False)
plt.show()

# %%
# One curve in detail
# -------------------
#
# :func:`~cohirf.plotting.plot_choice` also draws the heights of the merges in the tree: a high step is a merge of two
# clusters that are far apart.

plot_choice(models["wine, 3 cultivars"])
plt.show()
