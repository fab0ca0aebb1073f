"""What does a default fit cost beside K-Means with ten starts, and beside the calls of its own base method?

    python -m benchmarks.speed.answers [--rows 100000 1000000]

Blobs with 20 features around ten centres, separated and overlapping, on one thread: seconds by the clock and adjusted
Rand index of KMeans(10, n_init=10) and of CoHiRF(n_clusters=10), the ratio of their times, and the time of the fit over
that of the calls of the base method in it.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from functools import partial

from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, make_parser, parse, timed
from cohirf import CoHiRF


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100_000, 1_000_000])
    arguments = parse(parser, argv, rows=[20_000])
    columns = {"rows": ">10,", "clusters": "<12", "K-Means s": ">10.2f", "ARI": ">6.3f", "CoHiRF s": ">9.2f"}
    table = Table(columns | {"ARI ": ">6.3f", "ratio": ">6.2f", "fit / base": ">11.2f"})
    CoHiRF(n_clusters=10).fit(make_blobs(2000, 20, random_state=0)[0])  # imports what a first fit imports
    with threadpool_limits(1):
        for n_rows in arguments.rows:
            for clusters, spread in (("separated", 1.0), ("overlapping", 6.0)):
                X, y = make_blobs(n_rows, 20, centers=10, cluster_std=spread, random_state=0)
                theirs, rival = timed(partial(KMeans(10, n_init=10, random_state=0).fit, X), time.perf_counter)
                ours, model = timed(partial(CoHiRF(n_clusters=10, random_state=0).fit, X), time.perf_counter)
                scores = [adjusted_rand_score(y, fitted.labels_) for fitted in (rival, model)]
                base = sum(record.base_seconds for record in model.diagnostics_)
                table.row(n_rows, clusters, theirs, scores[0], ours, scores[1], ours / theirs, ours / base)


if __name__ == "__main__":
    main()
