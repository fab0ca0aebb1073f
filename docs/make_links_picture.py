"""Make the picture of the page on links: ``python docs/make_links_picture.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes

from cohirf import CoHiRF

FILE = Path(__file__).parent / "images" / "links.png"
N_CLUSTERS = 2
N_ROWS = 300  # of each stripe
N_LINKS = 40


def draw_stripes(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Return rows of two long stripes, which K-Means cuts across, and the stripe of each."""
    truth = np.repeat([0, 1], N_ROWS)
    along = rng.uniform(0, 10, 2 * N_ROWS)
    across = 2.5 * truth + rng.normal(0, 0.5, 2 * N_ROWS)
    return np.column_stack([along, across]), truth


def draw(axes: Axes, X: np.ndarray, labels: np.ndarray, links: np.ndarray, title: str) -> None:
    """Draw rows in the colour of their cluster, and links between them: broken ones stand out."""
    axes.scatter(*X.T, s=8, c=labels, cmap="tab10", vmin=0, vmax=9, linewidths=0)
    n_broken = 0
    for first, second, sign in links.tolist():
        is_broken = (labels[first] == labels[second]) != (sign == 1)
        n_broken += is_broken
        line = "-" if sign == 1 else ":"
        style = {"linewidth": 0.8, "color": "0.6"}
        if is_broken:
            style = {"linewidth": 1.8, "color": "tab:red"}
        axes.plot(*X[[first, second]].T, linestyle=line, **style)
    axes.set_title(f"{title}: {n_broken} of {len(links)} links broken")
    axes.set_xticks([])
    axes.set_yticks([])
    axes.set_aspect("equal")


def main() -> None:
    """Draw the same rows without and with links, and write the picture."""
    rng = np.random.default_rng(0)
    X, truth = draw_stripes(rng)
    pairs = rng.integers(0, len(X), (N_LINKS, 2))
    links = np.column_stack([pairs, np.where(truth[pairs[:, 0]] == truth[pairs[:, 1]], 1, -1)])
    model = CoHiRF(n_clusters=N_CLUSTERS, merge="compact", random_state=0)
    figure, panels = plt.subplots(2, 1, figsize=(8, 6.4), layout="constrained")
    free = model.fit_predict(X)
    linked = model.fit(X, links=links).labels_
    draw(panels[0], X, free, links, "fit(X)")
    draw(panels[1], X, linked, links, "fit(X, links=links)")
    moved = X[free != linked]
    panels[1].scatter(*moved.T, s=40, facecolors="none", edgecolors="black", linewidths=0.9)
    figure.savefig(FILE, dpi=100)


if __name__ == "__main__":
    main()
