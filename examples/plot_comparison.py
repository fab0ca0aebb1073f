"""
A comparison of methods
=======================

Six kinds of data in the plane, and seven clustering methods: five of scikit-learn, and CoHiRF alone
and around DBSCAN.
:doc:`/choose/comparison` says what each of them costs.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.preprocessing import scale

from cohirf import CoHiRF, suggest_eps
from cohirf.app.plotting.canvas import cluster_colours

# %%
# The data
# --------
#
# 900 rows each, scaled to standard deviation 1. The last set has no clusters at all.

N_ROWS = 900


def make_clouds(centres, widths):
    """Return normal clouds; the width of each is that of its two features."""
    y = np.arange(N_ROWS) % len(centres)
    noise = np.random.default_rng(0).normal(size=(N_ROWS, 2))
    return np.array(centres)[y] + noise * np.array(widths)[y], y


slanted = np.array([(0.8, 0.6), (-0.6, 0.8)])
long, in_long = make_clouds([(0, 0), (0, 1.4), (2, -1.4)], [(1.5, 0.25)] * 3)
data = {
    "circles": make_circles(N_ROWS, factor=0.5, noise=0.05, random_state=0),
    "moons": make_moons(N_ROWS, noise=0.05, random_state=0),
    "round": make_clouds([(-1, -0.6), (1, -0.6), (0, 1.1)], [(0.3, 0.3)] * 3),
    "different widths": make_clouds(
        [(-4, 0), (0, 1), (3.5, 0)], [(0.4, 0.4), (1.3, 1.3), (0.3, 0.3)]
    ),
    "long": (long @ slanted, in_long),
    "no clusters": (np.random.default_rng(0).uniform(size=(N_ROWS, 2)), None),
}

# %%
# The methods
# -----------
#
# Those that take a number of clusters are given the true one; for data without clusters, three. The
# radius of DBSCAN is the one that :func:`cohirf.suggest_eps` suggests. ``CoHiRF(DBSCAN)`` runs in
# batches of about 300 rows.


def methods(X, n_clusters):
    """Return the method of each column of the plot."""
    eps = suggest_eps(X).eps
    return {
        "K-Means": KMeans(n_clusters, n_init=10, random_state=0),
        "mixture": GaussianMixture(n_clusters, random_state=0),
        "Ward": AgglomerativeClustering(n_clusters),
        "DBSCAN": DBSCAN(eps),
        "HDBSCAN": HDBSCAN(min_cluster_size=20, copy=True),
        "CoHiRF": CoHiRF(n_clusters=n_clusters, random_state=0),
        "CoHiRF(DBSCAN)": CoHiRF(DBSCAN(eps), batch_size=300, random_state=0),
    }


# %%
# The plot
# --------
#
# Each panel has the adjusted Rand index with the groups that the data was drawn from: 1 is perfect,
# and 0 is chance. Grey rows are noise.


def draw(ax, X, labels, y):
    colours = np.vstack([cluster_colours(range(max(labels.max() + 1, 1))), (0.75, 0.75, 0.75)])
    ax.scatter(*X.T, s=3, color=colours[labels], linewidths=0)
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set(color="#DDDDDD", visible=True)
    if y is not None:
        score = round(adjusted_rand_score(y, labels), 2) + 0.0
        ax.text(0.98, 0.02, f"{score:.2f}", transform=ax.transAxes, ha="right", fontsize=9)


figure, axes = plt.subplots(len(data), 7, figsize=(12, 10.5), layout="constrained")
for row, (kind, (X, y)) in zip(axes, data.items(), strict=True):
    X = scale(X)
    n_clusters = 3 if y is None else int(y.max()) + 1
    row[0].set_ylabel(kind, fontsize=11)
    for ax, (name, method) in zip(row, methods(X, n_clusters).items(), strict=True):
        draw(ax, X, method.fit_predict(X), y)
        if ax in axes[0]:
            ax.set_title(name, fontsize=11)
plt.show()

# %%
# No method is best on all data. K-Means, the mixture and Ward's method divide whatever they are
# given, also where there is nothing to divide. DBSCAN and HDBSCAN need no number of clusters, and
# call rows noise.
