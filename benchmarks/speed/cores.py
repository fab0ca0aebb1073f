"""How much faster is a fit on many cores?

    python -m benchmarks.speed.cores                    all kinds of work, with 1, 2, 4 and all jobs
    python -m benchmarks.speed.cores --jobs 1 16        other numbers of jobs
    python -m benchmarks.speed.cores --work views       only one kind of work

Products are what the machine itself gains: products of matrices that fit the cache, in threads that
do nothing else. Cores that share their units, or their memory, gain less than their number.

The first fit with several jobs starts processes, which later fits use again: it is shown apart, as
"first". Labels must be the same for every number of jobs. Files go to the directory that
``--folder`` names, and stay there.
"""

from __future__ import annotations

import os
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from examples.synthetic import write_data
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from benchmarks._common import Table, add_write_option, make_parser, parse, timed
from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN
from cohirf.engines import threads_of_fit
from cohirf.rows.threads import map_in_threads

Fit = Callable[[int], np.ndarray]  # of a number of jobs; returns labels


def make_work(folder: Path, share: float) -> dict[str, Callable[[], Fit]]:
    """Return, by name, functions that prepare data and return a fit with a number of jobs."""
    return {
        "K-Means in batches": partial(k_means, folder, int(2e6 * share)),
        "GridDBSCAN": partial(grid_dbscan, folder, int(2e7 * share)),
        "DBSCAN": partial(dbscan, folder, int(2e6 * share)),
        "views": partial(views, int(2e6 * share)),
        "default, k=10": partial(default, int(2e6 * share), 20, 10),
        "default, k=100": partial(default, int(2e6 * share), 50, 100),
        "products": partial(products, int(5e3 * share)),
    }


def k_means(folder: Path, n: int) -> Fit:
    return from_file(folder, n, estimator=KMeans(10, n_init=1), batch_size=2_000)


def grid_dbscan(folder: Path, n: int) -> Fit:
    return from_file(folder, n, estimator=GridDBSCAN(eps=0.2), batch_size=20_000, views=1)


def dbscan(folder: Path, n: int) -> Fit:
    return from_file(folder, n, estimator=DBSCAN(eps=0.2), batch_size=20_000)


def from_file(folder: Path, n: int, **parameters: Any) -> Fit:
    path = folder / f"spheres-{n}.npy"
    if not path.exists():
        write_data("spheres", path, n, random_state=0)
    model = partial(CoHiRF.as_published, **parameters, random_state=0)
    return lambda n_jobs: np.array(model(n_jobs=n_jobs).fit(open_source(path)).labels_)


def views(n: int) -> Fit:
    X = make_blobs(n, 50, centers=10, random_state=0)[0].astype(np.float32)
    model = partial(
        CoHiRF.as_published, KMeans(10, n_init=1), views=10, max_features=0.3, random_state=0
    )
    return lambda n_jobs: model(n_jobs=n_jobs).fit(X).labels_


def default(n: int, n_features: int, k: int) -> Fit:
    X = make_blobs(n, n_features, centers=k, random_state=0)[0]
    return lambda n_jobs: CoHiRF(n_clusters=k, random_state=0, n_jobs=n_jobs).fit(X).labels_


def products(n: int) -> Fit:
    rng = np.random.default_rng(0)
    rows = rng.random((512, 50), dtype=np.float32)
    points = rng.random((50, 2000), dtype=np.float32)

    def multiply(n_products: int) -> np.ndarray:
        found = np.empty((len(rows), points.shape[1]), dtype=np.float32)
        for _ in range(n_products):
            np.matmul(rows, points, out=found)
        return found[0]

    def multiply_in_threads(n_jobs: int) -> np.ndarray:
        with threads_of_fit(n_jobs):
            return np.concatenate(map_in_threads(multiply, [n // 64 + 1] * 64))

    return multiply_in_threads


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table of times and ratios."""
    parser = make_parser(__doc__)
    parser.add_argument(
        "--jobs", type=int, nargs="+", default=sorted({1, 2, 4, os.cpu_count() or 1})
    )
    parser.add_argument("--work", choices=list(make_work(Path(), 1)), action="append")
    parser.add_argument(
        "--share", type=float, default=1.0, help="share of the rows of the full mode"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=2,
        help="fits with the same number of jobs; the best one counts",
    )
    parser.add_argument("--folder", type=Path, default=Path(tempfile.gettempdir()))
    add_write_option(parser)
    options = parse(parser, argv, share=0.01, jobs=[1, 2], repeats=1)
    warnings.simplefilter("ignore")
    table = Table(
        {
            "work": "<20",
            "jobs": ">5",
            "first fit, s": ">12.2f",
            "later fits, s": ">13.2f",
            "times as fast": ">14.1f",
        }
    )
    for name, prepare in make_work(options.folder, options.share).items():
        if options.work and name not in options.work:
            continue
        fit = prepare()
        reference = expected = None
        for n_jobs in options.jobs:
            first, labels = timed(partial(fit, n_jobs), time.perf_counter)
            again = min(
                timed(partial(fit, n_jobs), time.perf_counter)[0] for _ in range(options.repeats)
            )
            reference, expected = (again, labels) if expected is None else (reference, expected)
            assert (labels == expected).all(), f"{name}: other labels with {n_jobs} jobs"
            table.row(name, n_jobs, first, again, reference / again)
    table.write(options.write, "cores")


if __name__ == "__main__":
    main()
