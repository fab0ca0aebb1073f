"""Figure: concentric spheres, from thousands to tens of millions of rows; and three pictures of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib import pyplot as plt
from sklearn.cluster import DBSCAN, KMeans

from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import make_spheres, write_spheres
from experiments.budgets import BUDGETS
from experiments.circumstances import describe_run
from experiments.figures import COLOURS, draw_lines, figure_table
from experiments.fresh_process import measure_sizes, report_fit

mpl.use("Agg")

# rows: batch size and eps; with rows this dense both shells hold together in a batch and stay apart from each other
SETTINGS = {
    2_000: (2_000, 0.3),
    20_000: (2_000, 0.2),
    200_000: (20_000, 0.2),
    2_000_000: (20_000, 0.2),
    20_000_000: (20_000, 0.2),
}
ROWS = {"small": (2_000, 20_000), "full": tuple(SETTINGS)}
MOST_ROWS = {"K-Means": 200_000, "DBSCAN": 20_000, "CoHiRF(DBSCAN), batches": 10**9}


def run(budget: str, folder: Path, say: Callable[[str], None], *, only_kept: bool) -> None:
    """Fit all methods for all sizes, each fit in a process of its own, and draw the figure and the pictures."""
    sizes = [(n_rows, BUDGETS[budget].n_seeds) for n_rows in ROWS[budget]]
    frame = measure_sizes("experiments.spheres", sizes, MOST_ROWS, write, folder / "cells", say, only_kept=only_kept)
    frame.to_parquet(folder / "spheres.parquet", index=False)
    draw_lines(frame, "n_rows", "rows", folder / "spheres.png", "Two concentric spheres")
    draw_pictures(folder / "spheres_3d.png")
    lines = ["# Two concentric spheres", "", *describe_run(f"python -m experiments spheres --budget {budget}"), ""]
    lines += ["![Adjusted Rand index and time](spheres.png)", "", *figure_table(frame, "n_rows", "rows"), ""]
    lines += ["Peak memory of a fit in MB:", "", *figure_table(frame, "n_rows", "rows", "peak_mb", 0), ""]
    lines += ["![2,000 rows, clustered by three methods](spheres_3d.png)", ""]
    (folder / "spheres.md").write_text("\n".join(lines))


def write(path: Path, n_rows: int, seed: int) -> None:
    """Write the data of a size."""
    write_spheres(path, n_rows, random_state=seed)


def label_rows(path: Path, method: str, seed: int) -> Any:
    """Return the labels that a method gives to the rows of a file."""
    source = open_source(path)
    batch_size, eps = SETTINGS.get(source.n_rows, SETTINGS[2_000])
    if method == "K-Means":
        return KMeans(2, random_state=seed).fit_predict(np.load(path))
    if method == "DBSCAN":
        return DBSCAN(eps=eps).fit_predict(np.load(path))
    model = CoHiRF.as_published(GridDBSCAN(eps), views=1, batch_size=batch_size, min_cluster_size=2, random_state=seed)
    return model.fit(source).labels_


def draw_pictures(path: Path) -> None:
    """Draw 2,000 points in the colours of their clusters, for three methods; the front is cut open."""
    X, _ = make_spheres(2000, random_state=0)
    methods = {
        "K-Means": KMeans(2, random_state=0),
        "DBSCAN": DBSCAN(eps=0.3),
        "CoHiRF.as_published(DBSCAN)": CoHiRF.as_published(DBSCAN(eps=0.3), views=1, batch_size=1000, random_state=0),
    }
    seen = X[:, 1] > -0.15  # so that the inner sphere shows
    figure = plt.figure(figsize=(12, 4.3), layout="constrained")
    for number, (name, model) in enumerate(methods.items(), 1):
        labels = model.fit_predict(X)
        axis = figure.add_subplot(1, 3, number, projection="3d")
        axis.scatter(*X[seen].T, c=np.take(COLOURS[:2], np.minimum(labels[seen], 1) % 2), s=5, alpha=0.8, linewidths=0)
        axis.set_title(f"{name}: {len(np.unique(labels))} clusters")
        axis.view_init(elev=18, azim=-90)
        axis.set_box_aspect((1, 0.6, 1), zoom=1.5)
        axis.set_axis_off()
    figure.savefig(path, dpi=150)
    plt.close(figure)


if __name__ == "__main__":
    report_fit(label_rows)
