"""What do larger batches cost, and what do they gain? The measurement behind the rule of
batch_size="auto".

For each base method a ladder of batch sizes, with the processor time of a fit in units of the
cheapest, the time that the forecast expects in the same units, and the adjusted Rand index. A star
marks the size that the rule takes when there is memory for all of them: the largest whose expected
time is at most twice that of the cheapest. What the rule adds for short fits, a minute whatever the
size, is left out here.

    python -m benchmarks.quality.batch_size_rule [--seeds 3] [--rows 100000] [--largest 50000]
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, contraction_of, make_parser, parse, timed
from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF
from cohirf.datasets import make_spheres
from cohirf.planning import draw_rows
from cohirf.planning.plan import forecast_levels
from cohirf.planning.probe import BatchCost, fresh_process, probe_batch, probe_increasing_sizes
from cohirf.validation import count_view_features


@dataclass(frozen=True)
class Case:
    """A base method, data for it, and the batch sizes to try."""

    name: str
    model: CoHiRF
    X: Any
    y: Any
    batch_sizes: tuple[int, ...]


def cases(n_rows: int) -> list[Case]:
    spheres = make_spheres(n_rows, random_state=0)
    blobs = make_blobs(n_rows, 10, centers=10, cluster_std=3.0, random_state=0)
    n_few = n_rows // 25  # SC-SRGF compares all pairs of rows
    few, labels = make_blobs(n_few, 10, centers=5, cluster_std=2.0, random_state=0)
    noisy = np.hstack([few, np.random.default_rng(0).normal(size=(n_few, 90))]), labels
    return [
        Case(
            "DBSCAN eps=.1, spheres",
            CoHiRF.as_published(DBSCAN(eps=0.1), views=1, min_cluster_size=10),
            *spheres,
            (1000, 2000, 5000, 10_000, 20_000, 50_000),
        ),
        Case(
            "K-Means, blobs",
            CoHiRF.as_published(
                KMeans(10, n_init=1), views=3, medoid_weights=True, min_cluster_size=10
            ),
            *blobs,
            (200, 1000, 5000, 20_000, 50_000),
        ),
        Case(
            "SC-SRGF, blobs in 10 of 100 features",
            CoHiRF.as_published(
                SCSRGF(5, n_affinities=5, graph="local"),
                views=3,
                max_features=0.5,
                min_cluster_size=10,
            ),
            *noisy,
            (100, 200, 500, 1000, 2000),
        ),
    ]


def learn_cost(case: Case) -> BatchCost:
    n_rows, n_features = case.X.shape
    n_sampled = count_view_features(case.model.max_features, n_features)
    contraction = contraction_of(
        case.model.estimator, case.model.views, n_sampled, weighted=case.model.medoid_weights
    )
    with fresh_process() as call:
        call(probe_batch, case.X[:100], contraction)
        return probe_increasing_sizes(
            lambda size: call(probe_batch, case.X[draw_rows(n_rows, size, (0,))], contraction),
            100,
            n_rows,
            bytes_per_batch=1e9,
            n_jobs=1,
        )


def fit(case: Case, batch_size: int, seed: int) -> tuple[float, float]:
    """Return the processor time of a fit and the adjusted Rand index of its labels."""
    model = case.model.set_params(batch_size=batch_size, random_state=seed)
    with warnings.catch_warnings(action="ignore", category=ConvergenceWarning):
        seconds, labels = timed(lambda: model.fit_predict(case.X))
    return seconds, adjusted_rand_score(case.y, labels)


def bench(case: Case, n_seeds: int, largest: int) -> None:
    cost = learn_cost(case)
    sizes = [size for size in case.batch_sizes if size <= largest]
    expected = np.array([forecast_levels(len(case.X), size, cost, 1)[1] for size in sizes])
    runs = np.array([[fit(case, size, seed) for seed in range(n_seeds)] for size in sizes])
    seconds = runs[:, :, 0].mean(axis=1)
    chosen = max(
        size for size, time in zip(sizes, expected, strict=True) if time <= 2 * expected.min()
    )
    exponent = sizes[-1] * cost.seconds.deriv()(sizes[-1]) / cost.seconds(sizes[-1])
    print(f"\n{case.name}, {len(case.X):,} rows; time grows as b ** {exponent:.1f}")
    table = Table(
        {
            "batch_size": ">10,",
            "": "1",
            "time": ">7.1f",
            "expected": ">9.1f",
            "adjusted Rand index": "",
        }
    )
    for i, size in enumerate(sizes):
        indices = " ".join(f"{index:.2f}" for index in runs[i, :, 1])
        mark = "*" if size == chosen else ""
        table.row(size, mark, seconds[i] / seconds.min(), expected[i] / expected.min(), indices)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument(
        "--rows", type=int, default=100_000, help="rows for DBSCAN and K-Means; SC-SRGF has a 25th"
    )
    parser.add_argument("--largest", type=int, default=50_000, help="leave out larger batches")
    arguments = parse(parser, argv, seeds=1, rows=20_000, largest=1000)
    with threadpool_limits(1):
        for case in cases(arguments.rows):
            bench(case, arguments.seeds, arguments.largest)


if __name__ == "__main__":
    main()
