"""Is the silhouette of a sample that of all rows? Partitions of Shuttle by K-Means, measured in
both ways.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_chunked
from threadpoolctl import threadpool_limits

from cohirf.rows.grouping import IntArray
from cohirf.rows.silhouette import silhouettes
from experiments.budgets import BUDGETS
from experiments.cells import data_of
from experiments.circumstances import describe_run
from experiments.keeping import is_kept, kept
from experiments.tuning.search_space import SILHOUETTE_ROWS, Silhouettes

DATA = "shuttle"
N_CLUSTERS = range(2, 6)
N_STARTS = 30
FEW = 0.001  # of the rows: so few beside one large cluster are outliers


def run(budget: str, folder: Path, say: Callable[[str], None], *, only_kept: bool) -> None:
    """Measure partitions in both ways, and write the table."""
    max_rows = BUDGETS[budget].max_rows
    about = {
        "figure": "silhouette sample",
        "data": DATA,
        "n_starts": N_STARTS,
        "max_rows": max_rows,
    }
    about |= {"n_clusters": list(N_CLUSTERS), "sample": SILHOUETTE_ROWS}
    if only_kept and not is_kept(folder / "cells", about):
        raise SystemExit(
            f"{folder / 'cells'} has no results for silhouette_sample: leave --write out."
        )
    found = kept(folder / "cells", about, partial(measure_partitions, max_rows))
    frame = pd.DataFrame(found["partitions"])
    frame.to_parquet(folder / "silhouette_sample.parquet", index=False)
    lines = ["# Statlog Shuttle: the silhouette of a sample, and that of all rows", ""]
    lines += [*describe_run(f"python -m experiments silhouette_sample --budget {budget}"), ""]
    lines += [
        f"Partitions by K-Means, {N_STARTS} for each number of clusters, each from one start.",
        "",
    ]
    lines += [
        "| clusters | silhouette of all rows | of the sample | largest difference | outliers "
        "against the rest |"
    ]
    lines += ["| --- " * 5 + "|"]
    for n_clusters, group in frame.groupby("n_clusters"):
        spans = [
            f"{group[name].min():.3f} to {group[name].max():.3f}"
            for name in ("of_all", "of_sample")
        ]
        difference = (group.of_all - group.of_sample).abs().max()
        cells = [
            str(n_clusters),
            *spans,
            f"{difference:.3f}",
            f"{(group.outside_largest < FEW).sum()}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
        say(lines[-1])
    lines += [
        "",
        f"*Outliers against the rest*: in how many of them all but {FEW:.1%} of the rows are in "
        "one cluster.",
    ]
    (folder / "silhouette_sample.md").write_text("\n".join([*lines, ""]))


def measure_partitions(max_rows: int | None) -> dict[str, Any]:
    """Return both silhouettes of partitions, and what share of the rows is not in their largest
    cluster.
    """
    X, _ = data_of(DATA, max_rows)
    silhouette = Silhouettes(X)
    starts = [(n_clusters, seed) for n_clusters in N_CLUSTERS for seed in range(N_STARTS)]
    # several threads add up in another order, and may end in other partitions
    with threadpool_limits(1):
        partitions = [
            KMeans(n_clusters, random_state=seed).fit_predict(X) for n_clusters, seed in starts
        ]
    return {
        "partitions": [
            {
                "n_clusters": n_clusters,
                "seed": seed,
                "of_all": of_all,
                "of_sample": silhouette(X, labels, None),
                "outside_largest": 1 - np.bincount(labels).max() / len(labels),
            }
            for (n_clusters, seed), labels, of_all in zip(
                starts, partitions, silhouettes_of_all(X, partitions), strict=True
            )
        ]
    }


def silhouettes_of_all(X: NDArray[Any], partitions: list[IntArray]) -> list[float]:
    """Return the mean silhouette of each partition; distances are measured once, and not kept."""
    # no cluster is empty
    partitions = [np.unique(labels, return_inverse=True)[1] for labels in partitions]
    members = [np.eye(labels.max() + 1, dtype=np.float32)[labels].T for labels in partitions]
    ends = np.cumsum([len(part) for part in members])[:-1]
    clusters = np.vstack(members)
    totals = np.zeros(len(partitions))

    def add_block(distances: NDArray[Any], start: int) -> None:
        rows = slice(start, start + len(distances))
        for number, (sums, labels) in enumerate(
            zip(np.split(clusters @ distances.T.astype(np.float32), ends), partitions, strict=True)
        ):
            totals[number] += silhouettes(sums, np.bincount(labels), labels[rows]).sum()

    for _ in pairwise_distances_chunked(X, reduce_func=add_block):
        pass
    return (totals / len(X)).tolist()
