"""
How clusters fuse from level to level
=====================================

A fit gives more than one partition. It stores the partition of every level, and you can cut the
hierarchy at any of them.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.app.plotting import plot_dendrogram
from cohirf.app.plotting.canvas import cluster_colours

# %%
# Fit
# ---
#
# K-Means with a random initialisation does not always find the same clusters. The views differ only
# by the initialisation, since each of them has both features. Rows that are in the same cluster in
# all five views fuse, and the next level clusters the medoids. The seeds are chosen so that there
# are several levels.

X, _ = make_blobs(600, centers=6, cluster_std=0.9, random_state=0)
model = CoHiRF.as_published(
    KMeans(n_clusters=6, init="random", n_init=1),
    views=5,
    max_features=1.0,
    medoid="euclidean",
    medoid_weights=True,
    random_state=1,
)
model.fit(X)
hierarchy = model.hierarchy_
print(hierarchy)

# %%
# The partition of every level
# ----------------------------
#
# Dots of one shade are one cluster of that level, and the large dot is its medoid. The hue shows
# the *final* cluster. A line connects each medoid that the next level absorbs with its parent.

PALETTE = cluster_colours(range(model.n_clusters_))


def shades(level):
    """Return a colour for each cluster of a level: the hue of its final cluster, paler for smaller
    ones.
    """
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
# The clusters merge pairwise, up to a single one: first those that fuse at the next level, and
# above the last level all others. The height of a bar is that of Ward's criterion, and the dashed
# line is the cut into the final clusters.

plot_dendrogram(hierarchy)
plt.show()

# %%
# Diagnostics of each level
# -------------------------
#
# The number of active rows before and after each level, and the agreement of the views. While the
# views disagree, only part of the rows fuses. The last level fused nothing, so the fit ended.

for record in model.diagnostics_:
    print(
        f"level {record.level}: {record.rows_in} to {record.rows_out} rows, agreement "
        f"{record.agreement:.2f}"
    )

# %%
# Cuts
# ----
#
# Cut at a level, or at any number of clusters, for which the tree is cut.

print(np.bincount(hierarchy.cut(level=2)))
print(np.bincount(hierarchy.cut(n_clusters=10)))
