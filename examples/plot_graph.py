"""
A graph without coordinates: digits in a vector index
=====================================================

A vector index answers with the nearest neighbours of each item and their distances. Here they are
those of 1,500 images of handwritten digits, and the index is scikit-learn's; faiss or pynndescent
return the same two arrays. CoHiRF clusters the graph and never sees an image.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from cohirf import CoHiRF

# %%
# Fit
# ---
#
# Groups of nodes merge along the edges, until ten are left.

images, digit = load_digits(return_X_y=True)
index = NearestNeighbors(n_neighbors=15).fit(images[:1500])
distances, indices = index.kneighbors()
model = CoHiRF(n_clusters=10, metric="precomputed", random_state=0).fit((indices, distances))
print(
    f"adjusted Rand index with the digits: {adjusted_rand_score(digit[:1500], model.labels_):.2f}"
)

# %%
# The exemplars
# -------------
#
# An exemplar is the image with the smallest sum of distances to the others in its cluster. Above
# each are the number of images in the cluster and how many of them show its most frequent digit.
# Ones and eights share a cluster, and ones with a foot have their own.

figure, axes = plt.subplots(2, 5, figsize=(8, 4), layout="constrained")
for cluster, (ax, exemplar) in enumerate(zip(axes.flat, model.exemplar_indices_, strict=True)):
    shown = digit[:1500][model.labels_ == cluster]
    most = np.bincount(shown).max()
    ax.imshow(images[exemplar].reshape(8, 8), cmap="gray_r")
    ax.set_title(f"{len(shown)} images, {most / len(shown):.0%} a {np.bincount(shown).argmax()}")
    ax.set(xticks=[], yticks=[])
    ax.title.set_fontsize(9)
plt.show()

# %%
# Fewer and more clusters
# -----------------------
#
# The tree has every number of clusters; none needs another fit. With twelve, eights have a cluster
# of their own.

for n_clusters in (5, 8, 10, 12, 15):
    cut = model.hierarchy_.cut(n_clusters=n_clusters)
    print(f"{n_clusters:3} clusters: {adjusted_rand_score(digit[:1500], cut):.2f}")

# %%
# New items
# ---------
#
# The index finds their neighbours among the items of the fit.

distances, indices = index.kneighbors(images[1500:])
labels = model.predict((indices, distances))
print(f"adjusted Rand index of new images: {adjusted_rand_score(digit[1500:], labels):.2f}")
