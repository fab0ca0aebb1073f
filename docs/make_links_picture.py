"""Make the picture of the page on links: ``python docs/make_links_picture.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from sklearn.datasets import make_blobs

from cohirf import CoHiRF

FILE = Path(__file__).parent / "images" / "links.png"
N_CLUSTERS = 3
N_LINKS = 25


def draw(axes: Axes, X: np.ndarray, labels: np.ndarray, links: np.ndarray, title: str) -> None:
    """Draw rows in the colour of their cluster, and links between them."""
    axes.scatter(*X.T, s=6, c=labels, cmap="tab10", vmin=0, vmax=9, linewidths=0)
    for first, second, sign in links.tolist():
        style = {"color": "black"} if sign == 1 else {"color": "tab:red", "linestyle": ":"}
        axes.plot(*X[[first, second]].T, linewidth=0.9, alpha=0.8, **style)
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")


def main() -> None:
    """Draw the same rows without and with links, and write the picture."""
    X, truth = make_blobs([300, 150, 150], cluster_std=[2.2, 1.0, 1.0], random_state=3)
    rng = np.random.default_rng(1)
    pairs = rng.integers(0, len(X), (N_LINKS, 2))
    links = np.column_stack([pairs, np.where(truth[pairs[:, 0]] == truth[pairs[:, 1]], 1, -1)])
    model = CoHiRF(n_clusters=N_CLUSTERS, random_state=0)
    free = model.fit_predict(X)
    together = free[links[:, 0]] == free[links[:, 1]]
    n_broken = int(np.count_nonzero(together != (links[:, 2] == 1)))
    figure, panels = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained")
    draw(panels[0], X, free, links, f"without links: {n_broken} of {len(links)} would be broken")
    draw(panels[1], X, model.fit(X, links=links).labels_, links, "fit(X, links=links)")
    figure.savefig(FILE, dpi=100)


if __name__ == "__main__":
    main()
