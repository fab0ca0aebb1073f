"""Make the pictures of the README, the home page and "Start":
``python docs/make_front_pictures.py``.

The first shows the fit of the README's code: a map of handwritten digits in ten clusters, and the
tree above them. The other shows the fit of its page.
"""

from __future__ import annotations

from io import BytesIO
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.axes import Axes
from matplotlib.offsetbox import AnnotationBbox, OffsetImage
from PIL import Image
from scipy.cluster.hierarchy import dendrogram
from sklearn.datasets import load_digits, make_blobs
from sklearn.manifold import TSNE
from sklearn.model_selection import train_test_split

from cohirf import CoHiRF
from cohirf.app.plotting import plot_map
from cohirf.app.plotting.canvas import cluster_colours

FOLDER = Path(__file__).parent / "images"
IMAGE_SHAPE = (8, 8)
INK = "#4d4d4d"


def find_typical(X: np.ndarray, digit: np.ndarray, model: CoHiRF) -> list[int]:
    """Return the row of an image for each cluster: the most central one of its most frequent
    digit.
    """
    rows = []
    for cluster in range(model.n_clusters_):
        members = np.flatnonzero(model.labels_ == cluster)
        of_digit = members[digit[members] == np.bincount(digit[members]).argmax()]
        rows.append(
            int(of_digit[np.linalg.norm(X[of_digit] - X[of_digit].mean(axis=0), axis=1).argmin()])
        )
    return rows


def draw_map(
    axes: Axes, X: np.ndarray, model: CoHiRF, typical: list[int], colours: np.ndarray
) -> None:
    """Draw images as points, near to images that are alike, and a typical one of each cluster as an
    image.
    """
    points = TSNE(random_state=0, perplexity=40).fit_transform(X)
    axes.scatter(*points.T, s=8, color=colours[model.labels_], linewidths=0, alpha=0.8)
    for cluster, row in enumerate(typical):
        add_image(axes, X[row], points[row], colours[cluster])
    title = (
        f"{len(X):,} images in {model.n_clusters_} clusters, with the most frequent digit of each"
    )
    axes.set_title(title, color=INK)
    axes.axis("off")


def draw_tree(
    axes: Axes, X: np.ndarray, model: CoHiRF, typical: list[int], colours: np.ndarray
) -> None:
    """Draw how the final clusters merge, with their typical images at the leaves."""
    top = model.hierarchy_.condense(max_clusters=model.n_clusters_)
    cluster_of_leaf = model.labels_[top.rows]
    drawn = dendrogram(top.tree.linkage, ax=axes, color_threshold=0, above_threshold_color=INK)
    highest = top.tree.linkage[-1, 2]
    for position, leaf in enumerate(drawn["leaves"]):
        cluster = cluster_of_leaf[leaf]
        add_image(axes, X[typical[cluster]], (10 * position + 5, -0.06 * highest), colours[cluster])
    axes.set_ylim(-0.14 * highest, 1.03 * highest)
    axes.set_title("the tree above them: cut it at any number of clusters", color=INK)
    axes.axis("off")


def add_image(
    axes: Axes, pixels: np.ndarray, place: tuple[float, float], colour: np.ndarray
) -> None:
    """Draw an image in a frame of the given colour."""
    image = OffsetImage(
        pixels.reshape(IMAGE_SHAPE), zoom=2.7, cmap="gray_r", interpolation="nearest"
    )
    frame = {"edgecolor": colour, "linewidth": 2.2, "boxstyle": "round,pad=0.15"}
    axes.add_artist(AnnotationBbox(image, place, pad=0.1, bboxprops=frame, zorder=3))


def save(figure: plt.Figure, name: str) -> None:
    """Save a picture with 128 colours, which is a third of its size."""
    buffer = BytesIO()
    figure.savefig(buffer, dpi=110, facecolor="white")
    FOLDER.mkdir(exist_ok=True)
    Image.open(buffer).convert("RGB").quantize(128, dither=Image.Dither.NONE).save(
        FOLDER / name, optimize=True
    )
    plt.close(figure)


def make_front() -> None:
    """Fit the digits as the README does, and draw them."""
    X, digit = load_digits(return_X_y=True)
    model = CoHiRF(n_clusters=10, random_state=0).fit(X)
    typical = find_typical(X, digit, model)
    colours = cluster_colours(range(model.n_clusters_))
    figure, (left, right) = plt.subplots(1, 2, figsize=(12, 5), layout="constrained")
    draw_map(left, X, model, typical, colours)
    draw_tree(right, X, model, typical, colours)
    save(figure, "front.png")


def make_start() -> None:
    """Draw the map of the page "Start"."""
    X, _ = make_blobs(1200, n_features=20, centers=4, random_state=0)
    X, _ = train_test_split(X, random_state=0)
    figure, axes = plt.subplots(figsize=(7, 4.2), layout="constrained")
    plot_map(CoHiRF(n_clusters=4, random_state=0).fit(X), X, ax=axes)
    save(figure, "start.png")


if __name__ == "__main__":
    make_front()
    make_start()
