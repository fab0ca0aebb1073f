"""Figure: the hypercube with 10,000 features of noise and more and more rows: SC-SRGF in
batches.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from examples.synthetic import write_data
from sklearn.cluster import KMeans

from cohirf import CoHiRF, open_source
from cohirf.clusterers import SCSRGF
from experiments.budgets import BUDGETS
from experiments.circumstances import describe_run
from experiments.figures import draw_lines, figure_table
from experiments.fresh_process import measure_sizes, report_fit

N_CLUSTERS = 5
N_INFORMATIVE = 10
N_NOISE = 10_000
LARGEST = 100_000  # 4 GB, with one seed
ROWS = {"small": (100, 1000), "full": (100, 1000, 3000, 10_000, LARGEST)}
BATCH = 1000
# how far a method goes: SC-SRGF compares all pairs of rows, which takes 9 GB for 10,000 rows
MOST_ROWS = {"K-Means": LARGEST, "SC-SRGF": 3000, "CoHiRF(SC-SRGF), batches of 1,000": 10**9}


def run(budget: str, folder: Path, say: Callable[[str], None], *, only_kept: bool) -> None:
    """Fit all methods for all sizes, each fit in a process of its own, and draw the figure."""
    n_seeds = BUDGETS[budget].n_seeds
    sizes = [(n_rows, n_seeds if n_rows < LARGEST else 1) for n_rows in ROWS[budget]]
    frame = measure_sizes(
        "experiments.hypercube_size",
        sizes,
        MOST_ROWS,
        write,
        folder / "cells",
        say,
        only_kept=only_kept,
    )
    frame.to_parquet(folder / "hypercube_size.parquet", index=False)
    title = (
        f"Hypercube, {N_CLUSTERS} clusters in {N_INFORMATIVE} of {N_INFORMATIVE + N_NOISE:,} "
        "features"
    )
    draw_lines(frame, "n_rows", "rows", folder / "hypercube_size.png", title)
    lines = [
        f"# {title}",
        "",
        *describe_run(f"python -m experiments hypercube_size --budget {budget}"),
        "",
    ]
    lines += [
        "![Adjusted Rand index and time](hypercube_size.png)",
        "",
        *figure_table(frame, "n_rows", "rows"),
        "",
    ]
    lines += [
        "Peak memory of a fit in MB:",
        "",
        *figure_table(frame, "n_rows", "rows", "peak_mb", 0),
        "",
    ]
    (folder / "hypercube_size.md").write_text("\n".join(lines))


def write(path: Path, n_rows: int, seed: int) -> None:
    """Write the data of a size."""
    write_data(
        "hypercube",
        path,
        n_rows,
        n_clusters=N_CLUSTERS,
        n_informative=N_INFORMATIVE,
        n_noise=N_NOISE,
        random_state=seed,
    )


def label_rows(path: Path, method: str, seed: int) -> Any:
    """Return the labels that a method gives to the rows of a file."""
    if method == "K-Means":
        return KMeans(N_CLUSTERS, copy_x=False, random_state=seed).fit_predict(np.load(path))
    if method == "SC-SRGF":
        return SCSRGF(N_CLUSTERS, graph="local", random_state=seed).fit_predict(np.load(path))
    source = open_source(path)
    model = CoHiRF.as_published(
        SCSRGF(N_CLUSTERS, graph="local"),
        views=1,
        batch_size=min(BATCH, source.n_rows),
        random_state=seed,
    )
    return model.fit(source).labels_


if __name__ == "__main__":
    report_fit(label_rows)
