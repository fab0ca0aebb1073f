"""How much longer do options beyond the paper take: majority against strict consensus, screening
against one K-Means?

    python -m benchmarks.speed.option_costs [--rows 1000000] [--repeats 3] [--levels 100]

Times are processor times on one thread, taken in turns in this process; ratios are those of
medians.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_limits

from benchmarks._common import make_parser, parse, timed
from cohirf import CoHiRF
from cohirf.datasets import make_hypercube
from cohirf.screening import screen_features


def compare_consensus(n_rows: int, repeats: int, levels: int) -> None:
    X, _ = make_blobs(n_rows, 50, centers=10, cluster_std=8.0, random_state=0)
    common: dict[str, Any] = {
        "views": 10,
        "max_features": 0.3,
        "max_iter": levels,
        "random_state": 0,
    }
    for weighted in (False, True):
        times: dict[str, list[float]] = {"strict": [], "majority": []}
        for _ in range(repeats):
            for consensus, seconds in times.items():
                model = CoHiRF.as_published(
                    KMeans(10), consensus=consensus, medoid_weights=weighted, **common
                )
                seconds.append(timed(partial(model.fit, X))[0])
        ratio = np.median(times["majority"]) / np.median(times["strict"])
        what = f"majority / strict, n={n_rows:,}, 10 views, overlapping blobs, weights={weighted}"
        print(f"{what}: {ratio:.2f}", flush=True)


def compare_screening(n_noise: int, repeats: int) -> None:
    X = make_hypercube(1000, n_noise=n_noise, random_state=0)[0].astype(np.float64)
    alone = []
    screening = []
    for seed in range(repeats):
        alone.append(timed(partial(KMeans(5, n_init=1, random_state=seed).fit, X))[0])
        screening.append(timed(partial(screen_features, X, (seed,)))[0])
    print(
        f"screening / one K-Means, 1,000 x {X.shape[1]:,}: "
        f"{np.median(screening) / np.median(alone):.1f}"
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--rows", type=int, default=1_000_000, help="rows for the comparison of consensus rules"
    )
    parser.add_argument(
        "--levels", type=int, default=100, help="levels for the comparison of consensus rules"
    )
    parser.add_argument(
        "--features", type=int, default=10_000, help="features of noise for screening"
    )
    parser.add_argument("--repeats", type=int, default=3)
    arguments = parse(parser, argv, rows=20_000, levels=3, features=1000, repeats=1)
    warnings.simplefilter("ignore")  # levels that end at max_iter
    with threadpool_limits(1):
        compare_consensus(arguments.rows, arguments.repeats, arguments.levels)
        compare_screening(arguments.features, arguments.repeats)


if __name__ == "__main__":
    main()
