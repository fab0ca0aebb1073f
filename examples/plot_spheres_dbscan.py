"""
Two spheres, one inside the other
=================================

K-Means cannot separate a sphere from a larger one around it. DBSCAN can, but its time and memory
grow quickly with the number of rows. Here DBSCAN runs inside CoHiRF, on about 2,000 rows at a time.
:meth:`~cohirf.CoHiRF.predict` labels new rows.
"""

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.colors import ListedColormap
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.datasets import make_spheres

# %%
# Fit in batches
# --------------
#
# Each batch has neighbouring rows, and the rows around them. DBSCAN is deterministic, and each view
# has all features. So all views are the same, and DBSCAN runs once on each batch. Rows that are
# noise get the label -1. On this data there are none.

X, y = make_spheres(20_000, random_state=0)
model = CoHiRF(DBSCAN(eps=0.2), batch_size=2_000, random_state=0)
model.fit(X)
print(model.hierarchy_)
print(
    f"{model.n_clusters_} clusters, adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}"
)

# %%
# The diagnostics of each level: the first level found the clusters of each batch. The second level
# fused those that have rows in common.

for record in model.diagnostics_:
    print(
        f"level {record.level}: {record.kind}, {record.n_batches} batches, {record.rows_out} "
        "clusters"
    )

# %%
# Label new rows
# --------------
#
# The two final medoids are two single points, which cannot separate the spheres. So a fit stores
# more rows, the landmarks, and a new row gets the label of the nearest landmark.

X_fresh, y_fresh = make_spheres(4_000, random_state=1)
labels_fresh = model.predict(X_fresh)
print(f"new rows: adjusted Rand index {adjusted_rand_score(y_fresh, labels_fresh):.2f}")

# %%
# The left plot shows the fitted rows. The front of the outer sphere is cut away, so that the inner
# one is visible. The right plot shows a slice through the middle. The dots are new rows, and the
# background colour is the label that a row would get there.

INNER = "#D55E00"
OUTER = "#0072B2"

# clusters are numbered in order of first appearance; the inner one has the medoid nearer to the
# middle
is_inner = np.linalg.norm(model.medoids_, axis=1) < 0.75
colors = np.where(is_inner, INNER, OUTER)


def draw_spheres(ax, points, labels):
    faces_us = (points[:, 0] > -0.05) & (points[:, 1] < 0.05)
    shown = is_inner[labels] | ~faces_us
    ax.scatter(*points[shown].T, s=5, c=colors[labels[shown]], linewidths=0, alpha=0.9)
    ax.set(xlim=(-0.66, 0.66), ylim=(-0.66, 0.66), zlim=(-0.66, 0.66))
    ax.set_box_aspect((1, 1, 1))
    ax.view_init(elev=20, azim=-45)
    ax.set_axis_off()


def draw_slice(ax, points, labels):
    steps = np.linspace(-1.25, 1.25, 250)
    grid = np.stack([*np.meshgrid(steps, steps), np.zeros((250, 250))], axis=-1)
    regions = model.predict(grid.reshape(-1, 3)).reshape(250, 250)
    ax.pcolormesh(steps, steps, regions, cmap=ListedColormap(colors), alpha=0.13, rasterized=True)
    middle = np.abs(points[:, 2]) < 0.1
    ax.scatter(*points[middle, :2].T, s=14, c=colors[labels[middle]], linewidths=0)
    ax.set_aspect("equal")
    ax.set_axis_off()


figure = plt.figure(figsize=(9, 5))
left = figure.add_axes((0.0, 0.07, 0.5, 0.85), projection="3d")
right = figure.add_axes((0.53, 0.13, 0.43, 0.75))
draw_spheres(left, X, model.labels_)
draw_slice(right, X_fresh, labels_fresh)
figure.text(0.25, 0.93, "Fitted: 20,000 rows, about 2,000 at a time", ha="center", fontsize=12)
figure.text(0.745, 0.93, "Predicted: a slice of 4,000 new rows", ha="center", fontsize=12)
handles = [
    plt.Line2D([], [], linestyle="", marker="o", color=color, label=label)
    for color, label in ((INNER, "inner cluster"), (OUTER, "outer cluster"))
]
figure.legend(handles=handles, loc="lower center", ncols=2, frameon=False, fontsize=11)
plt.show()
