"""Figure: the hypercube with 10,000 features of noise and more and more rows: SC-SRGF in batches."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans

from cohirf import CoHiRF, open_source
from cohirf.clusterers import SCSRGF
from cohirf.datasets import write_hypercube
from experiments.figures import draw_lines, figure_table
from experiments.fresh_process import measure, report_fit
from experiments.keeping import kept

N_CLUSTERS, N_INFORMATIVE, N_NOISE = 5, 10, 10_000
ROWS = {"small": (100, 1000), "full": (100, 1000, 10_000, 100_000)}
BATCH = 1000
# how far a method goes: SC-SRGF compares all pairs of rows, and K-Means has the data in memory
MOST_ROWS = {"K-Means": 10_000, "SC-SRGF": 1000, "CoHiRF(SC-SRGF), batches of 1,000": 10**9}


def run(budget: str, n_trials: int, n_seeds: int, folder: Path, say: Callable[[str], None]) -> None:
    """Fit all methods for all sizes, each fit in a process of its own, and draw the figure."""
    results = []
    for n_rows in ROWS[budget]:
        for seed in range(n_seeds if n_rows < max(ROWS["full"]) else 1):
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / "hypercube.npy"
                for method in (method for method, most in MOST_ROWS.items() if n_rows <= most):
                    about = {"figure": "hypercube size", "n_rows": n_rows, "method": method, "seed": seed}
                    results.append(kept(folder / "cells", about, partial(measure_fit, path, n_rows, method, seed)))
                    say(f"{n_rows:,} rows, {method}, seed {seed}: {results[-1]['score']:.3f}")
    frame = pd.DataFrame(results)
    frame.to_parquet(folder / "hypercube_size.parquet", index=False)
    title = f"Hypercube, {N_CLUSTERS} clusters in {N_INFORMATIVE} of {N_INFORMATIVE + N_NOISE:,} features"
    draw_lines(frame, "n_rows", "rows", folder / "hypercube_size.png", title)
    lines = [f"# {title}", "", f"`python -m experiments hypercube_size --budget {budget}`", ""]
    lines += ["![Adjusted Rand index and time](hypercube_size.png)", "", *figure_table(frame, "n_rows", "rows"), ""]
    lines += ["Peak memory of a fit in MB, the data file not counted where it is read in batches:", ""]
    peaks = frame.assign(score=frame.peak_mb)
    (folder / "hypercube_size.md").write_text("\n".join([*lines, *figure_table(peaks, "n_rows", "rows"), ""]))


def measure_fit(path: Path, n_rows: int, method: str, seed: int) -> dict[str, Any]:
    """Write the data if they are not there, and fit in a fresh process."""
    if not path.exists():
        write_hypercube(
            path, n_rows, n_clusters=N_CLUSTERS, n_informative=N_INFORMATIVE, n_noise=N_NOISE, random_state=seed
        )
    return measure("experiments.hypercube_size", path, method, seed)


def label_rows(path: Path, method: str, seed: int) -> Any:
    """Return the labels that a method gives to the rows of a file."""
    if method == "K-Means":
        return KMeans(N_CLUSTERS, random_state=seed).fit_predict(np.load(path))
    if method == "SC-SRGF":
        return SCSRGF(N_CLUSTERS, random_state=seed).fit_predict(np.load(path))
    source = open_source(path)
    model = CoHiRF(SCSRGF(N_CLUSTERS), n_views=1, batch_size=min(BATCH, source.n_rows), random_state=seed)
    return model.fit(source).labels_


if __name__ == "__main__":
    report_fit(label_rows)
