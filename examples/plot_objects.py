"""
Twenty objects on a turntable
=============================

COIL-20 has 1,440 images of 20 objects, each photographed from 72 sides. Images of one object from
opposite sides differ more than images of two objects from the same side, so this is hard for
K-Means.

This example reads ``coil-20.parquet`` (OpenML 46783) in the folder that ``COHIRF_DATA`` names.
"""

import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.plotting.canvas import cluster_colours

# %%
# Fit
# ---
#
# Each image has 32 by 32 pixels. Pixels are not scaled: they have the same unit.

data = pd.read_parquet(Path(os.environ.get("COHIRF_DATA", "../shared/data")) / "coil-20.parquet")
X = data.drop(columns="label").to_numpy()
y = data["label"].to_numpy()
model = CoHiRF(n_clusters=20, random_state=0).fit(X)
alone = KMeans(20, n_init=10, random_state=0).fit_predict(X)
print(f"CoHiRF: adjusted Rand index {adjusted_rand_score(y, model.labels_):.2f}")
print(f"K-Means with ten starts:    {adjusted_rand_score(y, alone):.2f}")

# %%
# Clusters
# --------
#
# A row of the picture is a cluster: its exemplar in a frame, and eleven of its images, evenly
# spaced in the order of the file. Some clusters have one object from all sides, others one side of
# several objects that are alike.

SIDE = 32
SHOWN = 11


def strip(cluster):
    """Return the exemplar of a cluster and some of its images, side by side."""
    rows = np.flatnonzero(model.labels_ == cluster)
    chosen = [
        model.exemplar_indices_[cluster],
        *rows[np.linspace(0, len(rows) - 1, SHOWN).astype(int)],
    ]
    return np.hstack([X[row].reshape(SIDE, SIDE).T for row in chosen])


figure, axes = plt.subplots(10, 2, figsize=(12, 5.4), layout="constrained")
figure.get_layout_engine().set(w_pad=0.01, h_pad=0.01, hspace=0, wspace=0.02)
for cluster, ax in enumerate(axes.T.ravel()):
    ax.imshow(strip(cluster), cmap="gray", aspect="auto")
    ax.axis("off")
    frame = {"fill": False, "linewidth": 3, "edgecolor": cluster_colours([cluster])[0]}
    ax.add_patch(plt.Rectangle((0.5, 0.5), SIDE - 2, SIDE - 2, **frame))
figure.suptitle(f"{len(X):,} images in 20 clusters, with the most central image of each in a frame")
plt.show()
