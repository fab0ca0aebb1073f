"""
Kinds of blood cells
====================

The activity of 765 genes in 700 single blood cells (a part of pbmc68k). The cells are known by
their markers. Can they be told apart by the activity of their genes alone, and how sure is each
cell of its cluster?

This example reads ``pbmc68k-reduced.parquet`` in the folder that ``COHIRF_DATA`` names.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.manifold import TSNE
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.plotting.canvas import cluster_colours

# %%
# Fit
# ---
#
# As biologists do, we keep the first 20 principal components. The known kinds of cells are not
# used.

data = pd.read_parquet(
    Path(os.environ.get("COHIRF_DATA", "../shared/data")) / "pbmc68k-reduced.parquet"
)
kind = data["label"].to_numpy()
X = PCA(20, random_state=0).fit_transform(data.drop(columns="label"))
model = CoHiRF(n_clusters=10, random_state=0).fit(X)
alone = KMeans(10, n_init=10, random_state=0).fit_predict(X)
print(f"CoHiRF: adjusted Rand index {adjusted_rand_score(kind, model.labels_):.2f}")
print(f"K-Means with ten starts:    {adjusted_rand_score(kind, alone):.2f}")

# %%
# Two maps
# --------
#
# On the left, cells have the colour of their cluster, and small dots are cells whose fusions the
# views did not agree on. On the right, they have the colour of the known kind.

points = TSNE(random_state=0).fit_transform(X)
kinds, codes = np.unique(kind, return_inverse=True)
figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
left.scatter(
    *points.T,
    s=4 + 40 * model.stability_**2,
    color=cluster_colours(range(10))[model.labels_],
    linewidths=0,
)
left.set_title("clusters of CoHiRF; large dots are stable")
for code, name in enumerate(kinds):
    colour = plt.get_cmap("tab10")(code)
    right.scatter(*points[codes == code].T, s=18, color=colour, linewidths=0, label=name)
right.set_title("known kinds of cells")
right.legend(frameon=False, bbox_to_anchor=(1, 1), loc="upper left", fontsize=9)
for ax in (left, right):
    ax.set(xticks=[], yticks=[])
    ax.spines[:].set_visible(False)
plt.show()
