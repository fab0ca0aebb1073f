"""What does a default fit cost beside K-Means with ten starts, for few and for many rows, clusters and features?

    python -m benchmarks.speed.answers [--rows 20000 200000] [--clusters 10 100] [--features 20 50] [--starts 10]

Blobs that touch (standard deviation 1 around centres in a cube of side 2), on one thread: processor seconds and
adjusted Rand index (ARI) of KMeans(k, n_init=10) and of CoHiRF(n_clusters=k), the ratio of their times, the time of
``predict`` of the training rows over that of the fit, and the share of rows for which it gives ``labels_``. With fewer
``--starts``, the time of K-Means is scaled to ten. With ``--jobs``, so many of these run at the same time, each on one
thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

import numpy as np
from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, make_parser, parse, timed
from cohirf import CoHiRF

STARTS = 10


def measure(n_rows: int, k: int, n_features: int, starts: int) -> tuple[float, ...]:
    """Return times and scores of K-Means and of CoHiRF."""
    with threadpool_limits(1):
        CoHiRF(n_clusters=2).fit(make_blobs(200, 2, random_state=0)[0])  # imports what a first fit imports
        X, y = make_blobs(n_rows, n_features, centers=k, center_box=(-1, 1), random_state=0)
        theirs, rival = timed(partial(KMeans(k, n_init=starts, random_state=0).fit, X))
        ours, model = timed(partial(CoHiRF(n_clusters=k, random_state=0).fit, X))
        prediction, labels = timed(partial(model.predict, X))
    theirs *= STARTS / starts
    scores = [adjusted_rand_score(y, fitted.labels_) for fitted in (rival, model)]
    return theirs, scores[0], ours, scores[1], ours / theirs, prediction / ours, float(np.mean(labels == model.labels_))


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000])
    parser.add_argument("--clusters", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--features", type=int, nargs="+", default=[20, 50])
    parser.add_argument("--starts", type=int, default=STARTS)
    parser.add_argument("--jobs", type=int, default=1)
    arguments = parse(parser, argv, rows=[20_000], clusters=[10], features=[20])
    columns = {"rows": ">10,", "k": ">5", "features": ">9", "K-Means s": ">10.2f", "ARI": ">6.3f", "CoHiRF s": ">9.2f"}
    table = Table(columns | {"ARI ": ">6.3f", "ratio": ">6.2f", "predict / fit": ">14.2f", "equal": ">6.3f"})
    cases = list(product(arguments.rows, arguments.clusters, arguments.features))
    run = Parallel(n_jobs=arguments.jobs, return_as="generator")
    for case, found in zip(cases, run(delayed(measure)(*case, arguments.starts) for case in cases), strict=True):
        table.row(*case, *found)


if __name__ == "__main__":
    main()
