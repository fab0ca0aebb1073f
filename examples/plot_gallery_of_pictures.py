"""
A gallery of plots
==================

All matplotlib plots of :mod:`cohirf.app.plotting`, for one fit: 1,797 handwritten digits, each an image
of 8 by 8 pixels. Each function creates its own axes, or draws into axes that you pass.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from cohirf import CoHiRF
from cohirf.app.plotting import plot_dendrogram, plot_heatmap, plot_map

# %%
# The fit
# -------
#
# Each view has 60 % of the pixels. Rows fuse if most of the three views put them into the same
# cluster. Then the clusters are merged to ten.

X, _ = load_digits(return_X_y=True)
model = CoHiRF(
    KMeans(10),
    views=3,
    max_features=0.6,
    random_state=0,
)
model.fit(X)
print(model.hierarchy_)

# %%
# The tree
# --------
#
# In the dendrogram, clusters merge pairwise, up to a single one. The dashed line is the cut into
# the final clusters. The clusters of the first level are merged to at most 50 leaves.

plot_dendrogram(model)
plt.show()

# %%
# A map of the rows
# -----------------
#
# Sixty-four features are too many to draw. The map shows the first two principal components, as the
# axis labels say. They explain less than a third of the variance, so clusters that overlap here may
# be separate.

plot_map(model, X)
plt.show()

# %%
# What sets clusters apart
# ------------------------
#
# A row for each cluster, and a column for each pixel in which clusters differ most: orange where
# the pixel is darker than in all other images, and blue where it is lighter. Similar clusters are
# neighbours. The names of the clusters are made from these differences.

plot_heatmap(model, X, feature_names=[f"pixel {i // 8}:{i % 8}" for i in range(64)])
plt.show()

# %%
# For an interactive map and tree, write a report: see :doc:`/understand/report`.
