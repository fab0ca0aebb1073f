"""Make the picture of the page on sizes: ``python docs/make_limits_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import make_blobs

from cohirf import CoHiRF

FILE = Path(__file__).parent / "images" / "limits.png"
N_CLUSTERS = 6
PARTS = [900, 300, 180, 120, 60, 40]  # rows of each part of the data


def draw(axes: Axes, X: np.ndarray, model: CoHiRF, title: str) -> None:
    """Draw rows in the colour of their cluster, and the size of each cluster."""
    labels = model.fit_predict(X)
    axes.scatter(*X.T, s=5, c=labels, cmap="tab10", vmin=0, vmax=9, linewidths=0)
    for number in np.unique(labels):
        own = X[labels == number]
        box = {"boxstyle": "round,pad=0.2", "facecolor": "white", "edgecolor": "none", "alpha": 0.8}
        axes.text(*own.mean(axis=0), str(len(own)), ha="center", va="center", bbox=box)
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")


def main() -> None:
    """Draw the same rows three times, and write the picture."""
    X, _ = make_blobs(PARTS, cluster_std=1.6, random_state=6)
    figure, panels = plt.subplots(1, 3, figsize=(9, 3.4), layout="constrained")
    free = CoHiRF(n_clusters=N_CLUSTERS, merge="compact", random_state=0)
    wide = CoHiRF(n_clusters=N_CLUSTERS, size_limits=(150, 400), random_state=0)
    equal = CoHiRF(n_clusters=N_CLUSTERS, size_limits="balanced", random_state=0)
    draw(panels[0], X, free, "without limits")
    draw(panels[1], X, wide, "size_limits=(150, 400)")
    draw(panels[2], X, equal, 'size_limits="balanced"')
    figure.savefig(FILE, dpi=140)


if __name__ == "__main__":
    main()
