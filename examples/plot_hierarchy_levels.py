"""
How clusters fuse from level to level
=====================================

A fit gives more than one partition. It keeps the partition of every level, and you can cut the hierarchy where it
suits you.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.plotting import plot_dendrogram, plot_levels
from cohirf.plotting.colours import cluster_colours

# %%
# Fit
# ---
#
# K-Means with random starts does not always find the same clusters. The views differ by these starts alone, since each
# of them has both features. Rows on which all five agree fuse, and then the next level looks at the medoids that are
# left. The seeds are chosen so that there are several levels to look at.

X, _ = make_blobs(600, centers=6, cluster_std=0.9, random_state=0)
model = CoHiRF(
    KMeans(n_clusters=6, init="random", n_init=1),
    n_views=5,
    max_features=1.0,
    medoid="euclidean",
    medoid_weights=True,
    random_state=1,
)
model.fit(X)
hierarchy = model.hierarchy_
print(hierarchy)

# %%
# Look at every level
# -------------------
#
# Dots of one shade are one cluster of that level, and the large dot is its medoid. The colour tells to which *final*
# cluster it will belong. A line leads from each medoid that the next level absorbs to the one that takes it in.

PALETTE = cluster_colours(range(model.n_clusters_))


def shades(level):
    """Return a colour for each cluster of a level: the hue of its final cluster, paler for smaller ones."""
    final = model.labels_[hierarchy.medoids(level)]
    colors = PALETTE[final]
    by_size = np.argsort(-hierarchy.sizes(level))
    for k in range(len(PALETTE)):
        members = by_size[final[by_size] == k]
        whiteness = np.linspace(0, 0.65, len(members))[:, None]
        colors[members] = colors[members] * (1 - whiteness) + whiteness
    return colors


def draw_level(ax, level):
    medoids = hierarchy.medoids(level)
    colors = shades(level)
    ax.scatter(*X.T, s=9, color=colors[hierarchy.cut(level=level)], linewidths=0)
    leaving = medoids[hierarchy.absorbed_at[medoids] == level + 1]
    for start, end in zip(X[leaving], X[hierarchy.parents[leaving]], strict=True):
        ax.plot(*np.stack([start, end]).T, color="black", linewidth=1, zorder=2)
    ax.scatter(*X[medoids].T, s=60, color=colors, edgecolors="black", linewidths=1, zorder=3)
    ax.set_title(f"level {level}: {len(medoids)} clusters", fontsize=11)
    ax.set_aspect("equal")
    ax.set_axis_off()


figure, axes = plt.subplots(2, 2, figsize=(9, 8), layout="constrained")
for level, ax in enumerate(axes.flat, start=1):
    draw_level(ax, level)
plt.show()

# %%
# The same as a tree
# ------------------
#
# Without coordinates, the fusions make a tree. A bar is a fusion, and its height is its level. The wedges below stand
# for the rows that were fused before: the first level turns 600 rows into a few groups.

plot_dendrogram(hierarchy)
plt.show()

# %%
# What each level did
# -------------------
#
# Below, the rows that are still active; above, how much the views agreed on them. As long as they disagree, only part
# of the rows fuses. The last level fused nothing, and that is how a fit ends.

plot_levels(model)
plt.show()

# %%
# Cut where it suits you
# ----------------------
#
# Ask for a level, or for the finest level that has at most so many clusters.

print(np.bincount(hierarchy.cut(level=2)))
print(np.bincount(hierarchy.cut(n_clusters=10)))
