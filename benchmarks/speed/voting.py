"""How long does a consensus of given partitions take, and how much memory, beside other packages?

    python -m benchmarks.speed.voting [--rows 2000 20000 2000000] [--large 100000000] [--noise 0.1]

20 partitions into 10 clusters, each of which has a share of random labels. For each number of rows:
processor seconds, peak memory beyond that of the labels, and the adjusted Rand index with the
classes; each in a process of its own. Others need a matrix of all pairs of rows, and are left out
where it would take more than 8 GB. ClusterEnsembles is left out if it cannot be imported.
``--large`` is a number of rows with 5 partitions of 8 bits each, in a .npy file that is read in
blocks or mapped into memory, in a Parquet file, and in a Dask array of that file; only votes are
measured, and the index is that of the first million rows. Pages of mapped files count as memory,
although they can be dropped.
"""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures.process import BrokenProcessPool
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

import cohirf
from benchmarks._common import (
    Table,
    add_write_option,
    in_fresh_process,
    make_parser,
    parse,
    peak_rise,
    timed,
)
from benchmarks.quality.voting import SOLVERS, solvers

N_VECTORS = 20
N_CLUSTERS = 10
MOST_BYTES = 8e9
FEW_VECTORS = 5
BLOCK_ROWS = 10**6
PLACES = (".npy", "memory map", ".parquet", "Dask")


def make_labels(
    n_rows: int, noise: float, n_vectors: int = N_VECTORS, dtype: Any = np.int32, seed: int = 0
) -> tuple[np.ndarray, np.ndarray]:
    """Return classes, and partitions that have them but for noise."""
    # clusters have the same names in all blocks
    rng = np.random.default_rng(seed)
    names = np.random.default_rng(1)
    classes = rng.integers(0, N_CLUSTERS, n_rows)
    labels = np.empty((n_rows, n_vectors), dtype=dtype)
    for column in labels.T:
        other = rng.integers(0, N_CLUSTERS, n_rows)
        column[:] = np.where(
            rng.random(n_rows) < noise, other, names.permutation(N_CLUSTERS)[classes]
        )
    return classes, labels


def measure(way: str, n_rows: int, noise: float) -> tuple[float, int, float]:
    """Return seconds, bytes and the adjusted Rand index."""
    classes, labels = make_labels(n_rows, noise)
    solve = solvers(np.empty((n_rows, 0)), N_CLUSTERS)[way]
    solve(labels[:200])  # imports and compilation
    seconds, (n_bytes, found) = timed(lambda: peak_rise(lambda: solve(labels)))
    return seconds, n_bytes, adjusted_rand_score(classes, found)


def write_labels(folder: Path, n_rows: int, noise: float) -> np.ndarray:
    """Write partitions to a .npy and a Parquet file, block by block, and return the classes of the
    first block.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    names = [f"p{number}" for number in range(FEW_VECTORS)]
    shape = (n_rows, FEW_VECTORS)
    array = np.lib.format.open_memmap(folder / "labels.npy", mode="w+", dtype=np.int8, shape=shape)
    with pq.ParquetWriter(
        folder / "labels.parquet", pa.schema([(name, pa.int8()) for name in names])
    ) as writer:
        for start in range(0, n_rows, BLOCK_ROWS):
            labels = make_labels(
                min(BLOCK_ROWS, n_rows - start), noise, FEW_VECTORS, np.int8, start
            )[1]
            array[start : start + len(labels)] = labels
            writer.write_table(pa.table(dict(zip(names, labels.T, strict=True))))
    return make_labels(min(BLOCK_ROWS, n_rows), noise, FEW_VECTORS, np.int8)[0]


def measure_large(place: str, folder: Path, noise: float) -> tuple[float, int, np.ndarray]:
    """Return seconds, bytes, and the labels of the first rows."""
    path = folder / f"labels{place if place.startswith('.') else '.npy'}"
    labels: Any = path if place.startswith(".") else np.load(path, mmap_mode="r")
    if place == "Dask":
        import dask.array as da

        labels = da.from_array(labels, chunks=(2**20, -1))
    solve = lambda: cohirf.consensus(labels, n_clusters=N_CLUSTERS)  # noqa: E731
    cohirf.consensus(make_labels(1000, noise)[1], n_clusters=N_CLUSTERS)  # imports
    seconds, (n_bytes, found) = timed(lambda: peak_rise(solve))
    return seconds, n_bytes, np.asarray(found.labels[:BLOCK_ROWS])


def is_possible(way: str, n_rows: int) -> bool:
    """Return whether the matrix of a way fits into memory.

    MCLA needs one of rows and clusters only.
    """
    cells = {
        "votes": 0,
        "refined": 0,
        "mcla": n_rows * N_VECTORS * N_CLUSTERS,
        "co-association": 3 * n_rows**2,
    }
    return 8.0 * cells.get(way, 8 * n_rows**2) <= MOST_BYTES


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", nargs="+", type=int, default=[2000, 20_000, 2_000_000])
    parser.add_argument("--large", type=int, default=0)
    parser.add_argument("--noise", type=float, default=0.1)
    add_write_option(parser)
    arguments = parse(parser, argv, rows=[1000], large=2000)
    known = solvers(np.empty((1, 0)), N_CLUSTERS)
    table = Table(
        {"rows": ">10,", "way": ">16", "seconds": ">9.1f", "peak MB": ">9,.0f", "ARI": ">6.3f"}
    )
    for n_rows in arguments.rows:
        for way in ("votes", "refined", "co-association", *SOLVERS):
            cells: tuple[Any, ...] = ("-", "-", "-")
            if way in known and is_possible(way, n_rows):
                try:
                    seconds, n_bytes, score = in_fresh_process(
                        measure, way, n_rows, arguments.noise
                    )
                    cells = (seconds, n_bytes / 1e6, score)
                except (MemoryError, BrokenProcessPool):
                    cells = ("no memory", "-", "-")
            table.row(n_rows, way, *cells)
    table.write(arguments.write, "voting_cost")
    if arguments.large:
        with TemporaryDirectory() as folder:
            classes = in_fresh_process(write_labels, Path(folder), arguments.large, arguments.noise)
            for place in PLACES:
                seconds, n_bytes, found = in_fresh_process(
                    measure_large, place, Path(folder), arguments.noise
                )
                table.row(
                    arguments.large,
                    place,
                    seconds,
                    n_bytes / 1e6,
                    adjusted_rand_score(classes, found),
                )


if __name__ == "__main__":
    main()
