"""
Four base methods
=================

CoHiRF does not define clusters itself. The shapes that it can find depend on its base method. Here
four base methods run inside CoHiRF on three kinds of data, in batches of about 1,000 rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from cohirf import CoHiRF
from cohirf.app.plotting import plot_map

# %%
# The data
# --------
#
# Round clouds, two half moons, and two long clouds that lie side by side. Each has 2,000 rows.


def make_long_clouds(n_samples, random_state):
    rng = np.random.default_rng(random_state)
    y = rng.permutation(np.arange(n_samples) % 2)
    points = rng.normal(size=(n_samples, 2)) * (0.6, 0.15) + np.array([(-0.3, 0.4), (0.3, -0.4)])[y]
    cosine = np.cos(np.pi / 5)
    sine = np.sin(np.pi / 5)
    return points @ np.array([(cosine, sine), (-sine, cosine)]), y


data = {
    "round clouds": make_blobs(
        2_000, centers=[(-1, -0.6), (1, -0.6), (0, 1.1)], cluster_std=0.32, random_state=0
    ),
    "half moons": make_moons(2_000, noise=0.06, random_state=0),
    "long clouds": make_long_clouds(2_000, random_state=0),
}

# %%
# The methods
# -----------
#
# Two features are too few to leave one out, so every view has both. K-Means and the mixture have a
# random initialisation, and run five times on each batch. The other two are deterministic, and run
# once. A base method is any object with ``fit_predict``, or with ``fit`` and either ``labels_`` or
# ``predict``. Methods with a number of clusters are told four times as many in each batch (eight
# times if they run once), and the groups are merged to the number in the end. These merges suit
# compact clusters, so the mixture, whose clusters can be long, merges nothing in the end
# (``n_clusters="levels"``).


def base_methods(n_clusters):
    """Return a name and a base method for each column of the plot."""
    return [
        ("K-Means", KMeans(n_clusters, n_init=1)),
        ("Gaussian mixture", GaussianMixture(n_clusters)),
        ("agglomerative (Ward)", AgglomerativeClustering(n_clusters)),
        ("DBSCAN", DBSCAN(eps=0.25)),
    ]


def seeded(method):
    return method.set_params(random_state=0) if "random_state" in method.get_params() else method


def fit(X, method):
    n_clusters = "levels" if isinstance(method, GaussianMixture) else None
    return CoHiRF(
        method, n_clusters=n_clusters, batch_size=1_000, min_cluster_size=20, random_state=0
    ).fit(X)


# %%
# The plot
# --------
#
# Below each panel is the adjusted Rand index with the groups that the data was drawn from: 1 is
# perfect, and 0 is chance. The index of the base method alone on all rows at once is in brackets.
# Grey rows are noise, or in clusters of fewer than 20 rows, and have the label -1. A disc is the
# most central row of its cluster.

figure, axes = plt.subplots(3, 4, figsize=(10, 7.4), layout="constrained")
for row, (data_name, (X, y)) in zip(axes, data.items(), strict=True):
    for ax, (name, method) in zip(row, base_methods(n_clusters=y.max() + 1), strict=True):
        model = fit(X, method)
        alone = seeded(method).fit_predict(X)
        plot_map(model, X, ax=ax)
        score, score_alone = (
            round(adjusted_rand_score(y, found), 2) + 0.0 for found in (model.labels_, alone)
        )
        ax.set_xlabel(f"{score:.2f}  (alone {score_alone:.2f})", fontsize=10)
        ax.set_ylabel("")
        if ax in axes[0]:
            ax.set_title(name, fontsize=11)
        if ax is row[0]:
            ax.set_ylabel(data_name, fontsize=11)
        ax.set(xticks=[], yticks=[])
        ax.spines[:].set(color="#DDDDDD", visible=True)
plt.show()

# %%
# No method is best on all data. Only DBSCAN finds the moons, and only the mixture separates the
# long clouds. If a method suits the data, batches lower its score only a little.
