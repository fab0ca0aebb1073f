"""Does the cost of an update grow with the rows that a model has seen?

    python -m benchmarks.speed.updates [--rows 10000000] [--updates 100] [--update-rows 100000] [--method K-Means]

A model is fitted to some rows, and then updated many times with as many rows each. For some updates, the table has the
rows so far, the groups of rows that the model keeps, and the time of the update as a multiple of that of a fit to the
rows of one update alone; then the time until all labels are there, in the same unit, which grows with all rows. At the
end: the time of all updates divided by that of a fit to all rows at once.

Rows are drawn around 20 centres in 10 dimensions, with some overlap, and read from files of float32, so that rows seen
before are not in memory. K-Means is told 20 clusters, in batches of 10,000 rows; DBSCAN keeps a sample of rows.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans

from benchmarks._common import Table, make_parser, parse, timed
from cohirf import CoHiRF, open_source

N_CENTRES, N_FEATURES = 20, 10
BLOCK = 1_000_000
METHODS: dict[str, Callable[[], Any]] = {
    "K-Means": lambda: CoHiRF(KMeans(N_CENTRES, n_init=1), batch_size=10_000, random_state=0),
    "DBSCAN": lambda: CoHiRF(DBSCAN(eps=1.5, min_samples=10), batch_size=10_000, random_state=0),
}


def write_rows(path: Path, n_rows: int, seed: int) -> Any:
    """Write rows around the centres to a file, block by block, and open it."""
    centres = np.random.default_rng(0).uniform(-10, 10, (N_CENTRES, N_FEATURES))
    rng = np.random.default_rng(seed + 1)
    rows = np.lib.format.open_memmap(path, "w+", np.float32, (n_rows, N_FEATURES))
    for start in range(0, n_rows, BLOCK):
        stop = min(start + BLOCK, n_rows)
        rows[start:stop] = centres[rng.integers(N_CENTRES, size=stop - start)] + rng.normal(
            0, 1.5, (stop - start, N_FEATURES)
        )
    del rows
    return open_source(path)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--update-rows", type=int, default=100_000)
    parser.add_argument("--method", default="K-Means", choices=METHODS)
    arguments = parse(parser, argv, rows=200_000, updates=10, update_rows=20_000)
    warnings.simplefilter("ignore")
    make = METHODS[arguments.method]
    with tempfile.TemporaryDirectory() as folder:
        part = write_rows(Path(folder) / "part.npy", arguments.update_rows, 1)
        unit, _ = timed(lambda: make().partial_fit(part))
        first = write_rows(Path(folder) / "first.npy", arguments.rows, 0)
        model = make()
        first_seconds, _ = timed(lambda: model.partial_fit(first))
        print(f"a model of {arguments.update_rows:,} rows takes {unit:.1f} s (one unit)")
        print(f"the first {arguments.rows:,} rows take {first_seconds / unit:.1f} units")
        table = Table(
            {
                "update": ">6",
                "rows so far": ">12,",
                "groups": ">8,",
                "update / unit": ">13.2f",
                "labels / unit": ">13.3f",
            }
        )
        shown = set(np.linspace(1, arguments.updates, min(10, arguments.updates)).astype(int).tolist())
        total = 0.0
        for number in range(1, arguments.updates + 1):
            rows = write_rows(Path(folder) / "part.npy", arguments.update_rows, number)
            seconds, _ = timed(lambda rows=rows: model.partial_fit(rows))
            total += seconds
            if number in shown:
                looked_up, labels = timed(lambda: model.labels_)
                groups = model._summary.n_leaves + model._summary.pending.n_rows
                table.row(number, len(labels), groups, seconds / unit, looked_up / unit)
        print(f"mean of an update: {total / arguments.updates / unit:.2f} units")


if __name__ == "__main__":
    main()
