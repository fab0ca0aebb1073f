"""How fast is HDBSCAN of rows in memory, in one batch, beside other packages in the same run?

    python -m benchmarks.speed.hdbscan_in_memory                    one job, and all cores
    python -m benchmarks.speed.hdbscan_in_memory --jobs 1 --data spheres
    OMP_NUM_THREADS=16 NUMBA_NUM_THREADS=16 python -m benchmarks.speed.hdbscan_in_memory --jobs 16

Three kinds of data: two spheres in three dimensions (2,000,000 rows), and ten clusters in 16, far
apart or touching (250,000 rows). Each method fits few rows first, so that kernels are compiled.
fast_hdbscan runs on as many threads as numba has, hdbscan-rs on as many as rayon has
(``RAYON_NUM_THREADS``). Seconds are by the clock and of the processor. The adjusted Rand index is
that with our labels: packages count ``min_samples`` in their own ways. Packages that are not
installed are left out (``pip install ".[peers]"``).
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from joblib import cpu_count
from sklearn.cluster import HDBSCAN
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, make_parser, parse, timed
from benchmarks.speed.peers import QuickTreeHDBSCAN
from cohirf import CoHiRF
from cohirf.datasets import make_spheres

COMPILE_ROWS = 25_000  # from 20,000 rows on, HDBSCAN is computed and not called
FEATURES = 16
OURS = "CoHiRF(HDBSCAN)"


def draw_spheres(n_rows: int) -> np.ndarray:
    return make_spheres(n_rows, random_state=0)[0].astype(np.float32)


def draw_clusters(n_rows: int, width: float) -> np.ndarray:
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_rows, FEATURES)).astype(np.float32)
    centres = rng.uniform(-width, width, size=(10, FEATURES)).astype(np.float32)
    return X + centres[rng.integers(10, size=n_rows)]


# rows, how they are drawn, smallest cluster, min_samples
DATA: dict[str, tuple[int, Callable[[int], np.ndarray], int, int]] = {
    "spheres": (2_000_000, draw_spheres, 20_000, 5),
    "far": (250_000, partial(draw_clusters, width=10.0), 100, 10),
    "touching": (250_000, partial(draw_clusters, width=2.5), 100, 10),
}


def make_methods(size: int, min_samples: int, n_jobs: int) -> dict[str, Any]:
    """Return the methods that are installed, by name; one thread is not for those with their own
    number of them.
    """
    options = {"min_cluster_size": size, "min_samples": min_samples}
    methods: dict[str, Any] = {
        OURS: CoHiRF(HDBSCAN(**options, copy=True), n_jobs=n_jobs, random_state=0)
    }
    if find_spec("fast_hdbscan") and n_jobs > 1:
        import fast_hdbscan

        methods["fast_hdbscan"] = fast_hdbscan.HDBSCAN(**options)
    if find_spec("quitefastmst") and n_jobs == 1:
        methods["HDBSCAN of quitefastmst"] = QuickTreeHDBSCAN(size, min_samples)
    if find_spec("hdbscan_rs") and n_jobs == 1:
        import hdbscan_rs

        methods["hdbscan-rs"] = hdbscan_rs.HDBSCAN(**options)
    return methods


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table of times."""
    parser = make_parser(__doc__)
    parser.add_argument("--data", nargs="+", choices=list(DATA), default=list(DATA))
    parser.add_argument("--jobs", type=int, nargs="+", default=sorted({1, cpu_count()}))
    parser.add_argument("--share", type=float, default=1.0, help="share of the rows")
    options = parse(parser, argv, share=0.1)
    warnings.simplefilter("ignore")
    table = Table(
        {
            "data": "<10",
            "rows": ">10,",
            "jobs": ">5",
            "method": "<24",
            "seconds": ">8.2f",
            "CPU s": ">8.2f",
            "clusters": ">8",
            "ARI": ">6.3f",
        }
    )
    for name in options.data:
        n_rows, draw, size, min_samples = DATA[name]
        X = draw(int(n_rows * options.share))
        size = max(2 * min_samples, int(size * options.share))
        for n_jobs in options.jobs:
            ours = None
            for title, method in make_methods(size, min_samples, n_jobs).items():
                method.fit_predict(X[:COMPILE_ROWS])
                seconds, (cpu, labels) = timed(
                    partial(timed, partial(method.fit_predict, X)), time.perf_counter
                )
                ours = labels if ours is None else ours
                n_clusters = int(np.max(labels)) + 1
                ari = adjusted_rand_score(ours, labels)
                table.row(name, len(X), n_jobs, title, seconds, cpu, n_clusters, ari)


if __name__ == "__main__":
    main()
