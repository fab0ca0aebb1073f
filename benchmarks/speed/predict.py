"""How fast is `predict`, against `KMeans.predict`, and against a comparison of each row with all
landmarks?

`predict` returns the label of the nearest of up to 10,000 landmarks. It compares most rows with a
few centres only, if clusters are separated; K-Means compares each row with one centre per cluster,
and is the fastest that can be expected. scikit-learn's NearestNeighbors is measured on some of the
rows.

With one thread, the script measures processor time; with several, time by the clock. Each is the
best of three calls (NearestNeighbors: one). "first" is the first call, in which `predict` also
prepares its search.

    python -m benchmarks.speed.predict [--rows 500000] [--threads 1]
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, make_parser, parse, timed
from cohirf import CoHiRF
from cohirf.datasets import make_spheres

FIT_ROWS = 20_000  # more rows would not change the number of landmarks
SOME_ROWS = 10_000


def cases(n_rows: int) -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield a name, a model and rows to label; the model is fitted to the first of them."""
    for title, std in {"blobs, apart": 1.0, "blobs, close": 3.0}.items():
        X = make_blobs(n_rows, n_features=50, centers=10, cluster_std=std, random_state=0)[
            0
        ].astype(np.float32)
        yield title, CoHiRF.as_published(KMeans(10), views=10, max_features=0.3, random_state=0), X
    X = np.random.default_rng(0).normal(size=(n_rows // 10, 50)).astype(np.float32)
    yield "one cloud", CoHiRF.as_published(KMeans(10), consensus="majority", random_state=0), X
    X = make_blobs(n_rows, n_features=5, centers=8, random_state=0)[0]
    yield (
        "blobs, 5 features",
        CoHiRF.as_published(KMeans(8), consensus="majority", random_state=0),
        X,
    )
    spheres = make_spheres(2 * n_rows, random_state=0)[0]
    yield (
        "spheres",
        CoHiRF.as_published(DBSCAN(eps=0.3, min_samples=5), batch_size=5000, random_state=0),
        spheres,
    )


def best_of_three(function: Callable[[], Any], clock: Callable[[], float]) -> float:
    return min(timed(function, clock)[0] for _ in range(3))


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--rows",
        type=int,
        default=500_000,
        help="rows to label; a tenth of them of the cloud, and twice as many of the spheres",
    )
    parser.add_argument("--threads", type=int, default=1)
    arguments = parse(parser, argv, rows=50_000)
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    table = Table(
        {
            "data": "<17",
            "rows": ">9,",
            "landmarks": ">9,",
            "balls": ">5",
            "K-Means s": ">9.3f",
            "first": ">7.3f",
        }
        | {
            "predict s": ">9.3f",
            "ratio": ">6.1f",
            "us/row": ">6.2f",
            "all landmarks us/row": ">20.1f",
        }
    )
    with threadpool_limits(arguments.threads):
        for name, model, X in cases(arguments.rows):
            model.fit(X[:FIT_ROWS])
            k_means = KMeans(model.n_clusters_, n_init=1, random_state=0).fit(X[:FIT_ROWS])
            of_k_means = best_of_three(lambda: k_means.predict(X), clock)  # noqa: B023 - called at once
            first = timed(lambda: model.predict(X), clock)[0]  # noqa: B023 - called at once
            ours = best_of_three(lambda: model.predict(X), clock)  # noqa: B023 - called at once
            landmarks = model._state.landmarks
            index = NearestNeighbors(n_neighbors=1).fit(landmarks.points)
            plain = timed(lambda: index.kneighbors(X[:SOME_ROWS]), clock)[0]  # noqa: B023 - called at once
            balls = landmarks.search.balls
            n_balls = "-" if balls is None else str(len(balls.labels))
            sizes = (len(X), landmarks.points.shape[0], n_balls)
            speed = (
                of_k_means,
                first,
                ours,
                ours / of_k_means,
                1e6 * ours / len(X),
                1e6 * plain / SOME_ROWS,
            )
            table.row(name, *sizes, *speed)


if __name__ == "__main__":
    main()
