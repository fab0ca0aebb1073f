"""What does a default fit cost beside K-Means with one and with ten starts, for few and for many
rows and clusters?

    python -m benchmarks.speed.answers [--rows 20000 200000 1000000] [--clusters 10] [--features 20]
    [--write]

Blobs that touch (standard deviation 1 around centres in a cube of side 2), on one thread: processor
seconds and adjusted Rand index (ARI) of KMeans(k, n_init=1), of KMeans(k, n_init=10) and of
CoHiRF(n_clusters=k), the time of CoHiRF over that of the two, and the time of ``predict`` of the
training rows over that of the fit. Cases with more than 2e7 rows x clusters are left out, because
K-Means with ten starts takes many minutes there. With ``--jobs``, so many cases run at the same
time, each on one thread.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product

from joblib import Parallel, delayed
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, add_write_option, make_parser, parse, timed
from cohirf import CoHiRF

MOST_WORK = 20_000_000  # rows x clusters


def measure(n_rows: int, k: int, n_features: int) -> tuple[str | float, ...]:
    """Return the cells of a case after its rows, clusters and features."""
    with threadpool_limits(1):
        # imports what a first fit imports
        CoHiRF(n_clusters=2).fit(make_blobs(200, 2, random_state=0)[0])
        X, y = make_blobs(n_rows, n_features, centers=k, center_box=(-1, 1), random_state=0)
        models = [KMeans(k, n_init=starts, random_state=0) for starts in (1, 10)]
        models.append(CoHiRF(n_clusters=k, random_state=0))
        one_start, ten_starts, ours = (timed(partial(model.fit, X))[0] for model in models)
        prediction, _ = timed(partial(models[-1].predict, X))
    cells = [
        f"{seconds:.2f} s, {adjusted_rand_score(y, model.labels_):.3f}"
        for seconds, model in zip((one_start, ten_starts, ours), models, strict=True)
    ]
    return (*cells, ours / one_start, ours / ten_starts, prediction / ours)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[20_000, 200_000, 1_000_000])
    parser.add_argument("--clusters", type=int, nargs="+", default=[10])
    parser.add_argument("--features", type=int, nargs="+", default=[20])
    parser.add_argument("--jobs", type=int, default=1)
    add_write_option(parser)
    arguments = parse(parser, argv, rows=[20_000], clusters=[10], features=[20])
    methods = dict.fromkeys(
        ("K-Means, one start", "K-Means, ten starts", "CoHiRF(n_clusters=k)"), ">20"
    )
    ratios = dict.fromkeys(("time / one start", "time / ten starts", "predict / fit"), ">17.2f")
    table = Table({"rows": ">10,", "clusters": ">8", "features": ">8"} | methods | ratios)
    every = product(arguments.rows, arguments.clusters, arguments.features)
    cases = [(n_rows, k, n_features) for n_rows, k, n_features in every if n_rows * k <= MOST_WORK]
    run = Parallel(n_jobs=arguments.jobs, return_as="generator")
    for case, found in zip(cases, run(delayed(measure)(*case) for case in cases), strict=True):
        table.row(*case, *found)
    table.write(arguments.write, "cost")


if __name__ == "__main__":
    main()
