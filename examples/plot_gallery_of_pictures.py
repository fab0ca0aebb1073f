"""
A gallery of pictures
=====================

Everything that :mod:`cohirf.plotting` draws with matplotlib, of one fit: 1,797 handwritten digits, each an image of
8 by 8 pixels. Each function makes axes of its own, or draws into those that you give it.
"""

import matplotlib.pyplot as plt
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits

from cohirf import CoHiRF
from cohirf.plotting import plot_dendrogram, plot_icicle, plot_levels, plot_medoids, plot_scatter

# %%
# The fit
# -------
#
# Each view has 60 % of the pixels. Rows fuse where all three views put them together. Single rows that are left over
# in the end are no cluster of interest, and get the label -1.

X, _ = load_digits(return_X_y=True)
model = CoHiRF(
    KMeans(10),
    n_views=3,
    max_features=0.6,
    medoid_weights=True,
    min_cluster_size=5,
    random_state=0,
)
model.fit(X)
print(model.hierarchy_)

# %%
# Who stands for the clusters
# ---------------------------
#
# A medoid is a row of the data. Here it is an image.

plot_medoids(model, image_shape=(8, 8))
plt.show()

# %%
# Rows that are no images are drawn as lines if they are few, and as a heat map otherwise. The patches beside the names
# are the colours that the clusters have in all pictures.

plot_medoids(model)
plt.show()

# %%
# Which cluster was made of which
# -------------------------------
#
# In the icicle, a cluster is as wide as it has rows, and stands above the clusters it was made of. The number on it is
# the row of its medoid, so you can see which one goes on at each fusion.

plot_icicle(model)
plt.show()

# %%
# In the dendrogram, all clusters are equally wide, and single rows can be seen as well. It shows the finest level with
# at most 50 clusters, and those above it.

plot_dendrogram(model)
plt.show()

# %%
# What the levels did
# -------------------
#
# The views agree little on the digits at first: they look at different pixels. So a level fuses only part of the rows.

plot_levels(model)
plt.show()

# %%
# Where the rows are
# ------------------
#
# Sixty-four features are too many to draw. These are the first two principal components, and the axes say so. They show
# less than a third of the variance, so clusters that overlap here may lie apart.

plot_scatter(model, X)
plt.show()

# %%
# There is one more, :func:`~cohirf.plotting.plot_sunburst`, which is interactive: see :doc:`/user_guide/plotting`.
