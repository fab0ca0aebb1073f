"""Does the cost of an update grow with the rows that a model has seen?

    python -m benchmarks.speed.updates [--rows 10000000] [--updates 100] [--update-rows 100000]
    [--views 5]

A model is fitted to some rows, and then updated many times with as many rows each. For some
updates, the table has the rows so far, the groups of rows that the model keeps, and the time of the
update as a multiple of that of a model of the rows of one update alone; then the time until all
labels are there, in the same unit, which grows with all rows. Two further tables have the mean over
all updates by the rows that were seen before, and by the groups of the model: the updates are
divided into four equal parts.

Rows are drawn around 20 centres in 10 dimensions, with some overlap, and read from files of
float32, so that rows seen before are not in memory. K-Means is told 20 clusters, in batches of
10,000 rows; DBSCAN keeps a sample of rows.
"""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans

from benchmarks._common import Table, best_of, make_parser, parse, timed
from cohirf import CoHiRF, open_source
from cohirf.planning.memory import peak_bytes

N_CENTRES = 20
N_FEATURES = 10
BLOCK = 1_000_000
METHODS = {"K-Means": KMeans(N_CENTRES, n_init=1), "DBSCAN": DBSCAN(eps=1.5, min_samples=10)}


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


@dataclass(frozen=True)
class Update:
    """What one update cost, and the size of the model after it."""

    n_rows: int
    n_groups: int
    units: float


def update_often(
    model: Any, unit: float, path: Path, n_updates: int, n_rows: int
) -> Iterator[Update]:
    """Yield what each update costs, and print some of them."""
    formats = {"groups": ">8,", "update / unit": ">13.2f", "labels / unit": ">13.3f"}
    table = Table({"update": ">6", "rows so far": ">12,"} | formats)
    shown = set(np.linspace(1, n_updates, min(10, n_updates)).astype(int).tolist())
    for number in range(1, n_updates + 1):
        rows = write_rows(path, n_rows, number)
        seconds, _ = timed(lambda rows=rows: model.partial_fit(rows))
        summary = model._state.summary.value
        update = Update(summary.n_rows, len(summary.groups), seconds / unit)
        if number in shown:
            looked_up, _ = timed(lambda: model.labels_)
            table.row(number, update.n_rows, update.n_groups, update.units, looked_up / unit)
        yield update


def print_quarters(title: str, size_of: Callable[[Update], int], updates: Sequence[Update]) -> None:
    """Print the mean cost of the smallest fourth of the models, of the next, and so on."""
    print()
    table = Table({f"{title}, from": ">18,", "to": ">12,", "mean update / unit": ">18.2f"})
    in_order = sorted(updates, key=size_of)
    for start, stop in pairwise(np.linspace(0, len(updates), 5).astype(int)):
        quarter = in_order[start:stop]
        table.row(
            size_of(quarter[0]),
            size_of(quarter[-1]),
            float(np.mean([update.units for update in quarter])),
        )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--updates", type=int, default=100)
    parser.add_argument("--update-rows", type=int, default=100_000)
    parser.add_argument("--method", default="K-Means", choices=METHODS)
    parser.add_argument("--views", type=int, default=5, help="one view takes a fifth of the time")
    arguments = parse(parser, argv, rows=200_000, updates=10, update_rows=20_000)
    warnings.simplefilter("ignore")
    options = {"views": arguments.views, "batch_size": 10_000, "random_state": 0}
    make = partial(CoHiRF, METHODS[arguments.method], **options)
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "part.npy"
        few = write_rows(part, arguments.update_rows, 1)
        unit, _ = best_of(2, lambda: make().partial_fit(few))  # the first call is slower
        print(
            f"a model of {arguments.update_rows:,} rows takes {unit:.1f} s (one unit)", flush=True
        )
        first = write_rows(Path(folder) / "first.npy", arguments.rows, 0)
        model = make()
        seconds, _ = timed(lambda: model.partial_fit(first))
        print(f"the first {arguments.rows:,} rows take {seconds / unit:.1f} units", flush=True)
        updates = list(update_often(model, unit, part, arguments.updates, arguments.update_rows))
        again, _ = timed(lambda: make().partial_fit(open_source(part)))
    print_quarters("rows so far", lambda update: update.n_rows, updates)
    print_quarters("groups", lambda update: update.n_groups, updates)
    print(f"\nmean of all updates: {np.mean([update.units for update in updates]):.2f} units")
    print(
        f"a model of so many rows at the end: {again / unit:.2f} units; more than 1 if other "
        "programs disturbed"
    )
    print(f"peak memory: {peak_bytes() / 1e6:,.0f} MB")


if __name__ == "__main__":
    main()
