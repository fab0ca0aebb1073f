"""Make the pictures of the page on density methods: ``python docs/make_density_pictures.py``."""

from __future__ import annotations

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from examples.synthetic import make_shapes
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle
from sklearn.cluster import DBSCAN

from cohirf import CoHiRF
from cohirf.beyond.cells import Cells

FOLDER = Path(__file__).parent / "scale" / "images"
# the last is the batch whose halo is marked
N_ROWS = 16_000
BATCH_SIZE = 2_000
SHOWN = 6
NOISE = "#c9c9c9"
# without greys
COLOURS = [colour for colour in mpl.colormaps["tab20"].colors if max(colour) - min(colour) > 0.1]


def draw_rows(axes: Axes, X: np.ndarray, labels: np.ndarray) -> None:
    """Draw rows in the colour of their label, and noise in grey."""
    # neighbours get different colours
    order = np.random.default_rng(1).permutation(int(labels.max()) + 1)
    colours = np.array([COLOURS[number % len(COLOURS)] for number in order])
    is_noise = labels < 0
    axes.scatter(*X[is_noise].T, s=0.6, color=NOISE, linewidths=0)
    axes.scatter(*X[~is_noise].T, s=1.6, color=colours[labels[~is_noise]], linewidths=0)


def draw_batches(axes: Axes, X: np.ndarray, cells: Cells) -> None:
    """Draw rows in the colour of the batch that they are at home in; mark the halo of one batch."""
    assigned = cells.assign(X, np.zeros(len(X)))
    draw_rows(axes, X, assigned.home)
    axes.scatter(*X[assigned.rows[assigned.cells == SHOWN]].T, s=1.6, color="black", linewidths=0)
    draw_boxes(axes, X, cells)
    axes.set_title(f"{cells.n_cells} batches; the halo of one of them is black")


def draw_boxes(axes: Axes, X: np.ndarray, cells: Cells) -> None:
    """Draw the borders of all cells."""
    stack = [cells.root]
    while stack:
        node = stack.pop()
        if node.left is not None:
            stack += [node.left, node.right]
            continue
        low, high = (
            np.clip(bound + cells.axes.mean, X.min(axis=0), X.max(axis=0))
            for bound in (node.low, node.high)
        )
        is_shown = node.cell == SHOWN
        style = {
            "edgecolor": "black" if is_shown else "#555555",
            "linewidth": 1.8 if is_shown else 0.6,
        }
        axes.add_patch(
            Rectangle(low, *(high - low), fill=False, zorder=3 if is_shown else 2, **style)
        )


def save(name: str, figure: plt.Figure, axes: Axes) -> None:
    """Save a picture without ticks."""
    axes.set(aspect="equal", xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
    figure.savefig(FOLDER / f"density-{name}.png", dpi=110, bbox_inches="tight", facecolor="white")
    plt.close(figure)


def main() -> None:
    """Fit the shapes in batches, and draw them by batch, after the first level and after the
    second.
    """
    X, _ = make_shapes(N_ROWS, random_state=0)
    eps = 30 / N_ROWS**0.5
    model = CoHiRF(DBSCAN(eps=eps, min_samples=10), batch_size=BATCH_SIZE, random_state=0).fit(X)
    first = model.diagnostics_[0]
    assert first.kind == "exact", first.kind
    # on so few rows, the cells of the fit do not depend on random numbers
    cells = Cells.build(X, np.zeros(N_ROWS), first.n_batches, reach=2 * eps)
    is_noise = model.labels_ < 0
    before = np.where(
        is_noise, -1, np.unique(model.hierarchy_.cut(level=1), return_inverse=True)[1]
    )
    clusters, before[~is_noise] = np.unique(before[~is_noise], return_inverse=True)

    figure, axes = plt.subplots(figsize=(7, 5.6))
    draw_batches(axes, X, cells)
    save("batches", figure, axes)

    figure, axes = plt.subplots(figsize=(7, 5.6))
    draw_rows(axes, X, before)
    draw_boxes(axes, X, cells)
    axes.set_title(f"level 1: DBSCAN finds {len(clusters)} clusters in the batches; noise is grey")
    save("level-1", figure, axes)

    figure, axes = plt.subplots(figsize=(7, 5.6))
    draw_rows(axes, X, model.labels_)
    axes.set_title(f"level 2: parts that share rows are fused, {model.n_clusters_} clusters")
    save("level-2", figure, axes)


if __name__ == "__main__":
    main()
