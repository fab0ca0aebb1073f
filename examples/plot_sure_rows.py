"""
How sure is each row of its cluster?
====================================

Handwritten digits: 1,797 images of eight by eight pixels. Some of them are written so badly that
runs of a clustering method do not agree on where they belong. ``stability_`` says how much they
agree, row by row.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.plotting.canvas import cluster_colours

# %%
# Fit
# ---
#
# The digits themselves are not used. Clusters agree better with them where rows are stable.

X, digit = load_digits(return_X_y=True)
model = CoHiRF(n_clusters=10, random_state=0).fit(X)
half = np.median(model.stability_)
for name, rows in [
    ("all rows", np.ones(len(X), dtype=bool)),
    ("the more stable half", model.stability_ >= half),
    ("the other half", model.stability_ < half),
]:
    index = adjusted_rand_score(digit[rows], model.labels_[rows])
    print(f"{name:20}  {rows.sum():5,} rows  adjusted Rand index with the digits: {index:.2f}")

# %%
# Two maps
# --------
#
# On the left, images have the colour of their cluster, and small dots are images whose fusions the
# runs did not agree on. On the right, they have the colour of the digit.

points = TSNE(random_state=0).fit_transform(X)
colours = cluster_colours(range(10))
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
sizes = 2 + 20 * model.stability_**2
left.scatter(*points.T, s=sizes, color=colours[model.labels_], linewidths=0)
left.set_title("clusters; large dots are stable")
for value in range(10):
    right.scatter(*points[digit == value].T, s=9, color=colours[value], linewidths=0, label=value)
right.set_title("digits")
right.legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left", markerscale=2)
for ax in (left, right):
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
plt.show()
