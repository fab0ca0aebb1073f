"""How long does a consensus of given partitions take, and how much memory, beside other packages?

    python -m benchmarks.speed.voting [--rows 2000 20000 2000000] [--noise 0.1]

20 partitions into 10 clusters, each of which has a share of random labels. For each number of rows: processor seconds,
peak memory beyond that of the labels, and the adjusted Rand index with the classes; each in a process of its own.
Others need a matrix of all pairs of rows, and are left out where it would take more than 8 GB. ClusterEnsembles is left
out if it cannot be imported.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, in_fresh_process, make_parser, parse, peak_rise, timed
from benchmarks.quality.voting import SOLVERS, solvers

N_VECTORS, N_CLUSTERS, MOST_BYTES = 20, 10, 8e9


def make_labels(n_rows: int, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return classes, and partitions that have them but for noise."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, N_CLUSTERS, n_rows)
    labels = np.empty((n_rows, N_VECTORS), dtype=np.int32)
    for column in labels.T:
        other = rng.integers(0, N_CLUSTERS, n_rows)
        column[:] = np.where(rng.random(n_rows) < noise, other, rng.permutation(N_CLUSTERS)[classes])
    return classes, labels


def measure(way: str, n_rows: int, noise: float) -> tuple[float, int, float]:
    """Return seconds, bytes and the adjusted Rand index."""
    classes, labels = make_labels(n_rows, noise)
    solve = solvers(np.empty((n_rows, 0)), N_CLUSTERS)[way]
    solve(labels[:200])  # imports and compilation
    seconds, (n_bytes, found) = timed(lambda: peak_rise(lambda: solve(labels)))
    return seconds, n_bytes, adjusted_rand_score(classes, found)


def is_possible(way: str, n_rows: int) -> bool:
    """Return whether the matrix of a way fits into memory; MCLA needs one of rows and clusters only."""
    cells = {"votes": 0, "mcla": n_rows * N_VECTORS * N_CLUSTERS, "co-association": 3 * n_rows**2}
    return 8.0 * cells.get(way, 8 * n_rows**2) <= MOST_BYTES


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[2000, 20_000, 2_000_000])
    parser.add_argument("--noise", type=float, default=0.1)
    arguments = parse(parser, argv, rows=[1000])
    known = solvers(np.empty((1, 0)), N_CLUSTERS)
    table = Table({"rows": ">10,", "way": ">16", "seconds": ">9.2f", "peak MB": ">9.0f", "ARI": ">6.3f"})
    for n_rows in arguments.rows:
        for way in ("votes", "co-association", *SOLVERS):
            cells: tuple[Any, ...] = ("-", "-", "-")
            if way in known and is_possible(way, n_rows):
                try:
                    seconds, n_bytes, score = in_fresh_process(measure, way, n_rows, arguments.noise)
                    cells = (seconds, n_bytes / 1e6, score)
                except (MemoryError, BrokenProcessPool):
                    cells = ("no memory", "-", "-")
            table.row(n_rows, way, *cells)


if __name__ == "__main__":
    main()
