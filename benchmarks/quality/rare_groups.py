"""What do clusters lose if a batch with too many groups joins the rare ones?

    python -m benchmarks.quality.rare_groups            200,000 rows of 10 and of 40 clusters that
    touch, five seeds python -m benchmarks.quality.rare_groups --quick    40,000 rows, one seed

Fits join rare groups only above 524,288 groups, which takes millions of rows. So the limit is
lowered here, to a number that these rows exceed. The table has the adjusted Rand index with the
classes of fits that join nothing, of fits that join, and of K-Means with ten starts, and the number
of groups that the views leave.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from unittest import mock

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, make_parser, parse
from cohirf import CoHiRF
from cohirf.beyond.policy import MAJORITY

N_FEATURES = 10
# standard deviation of a cluster, by the number of clusters: so they touch
SPREAD = {
    10: 5.0,
    40: 3.5,
}


def main(argv: Sequence[str] | None = None) -> None:
    """Print one row for each number of clusters."""
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=200_000)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--views", type=int, default=10)
    options = parse(parser, argv, rows=40_000, seeds=1)
    warnings.simplefilter("ignore")
    table = Table(
        {"k": ">3", "groups": ">8,", "all kept": ">8.3f", "joined": ">8.3f", "K-Means": ">8.3f"}
    )
    for k in SPREAD:
        found = np.mean(
            [compare(k, options.rows, options.views, seed) for seed in range(options.seeds)], axis=0
        )
        table.row(k, int(found[0]), *found[1:])


def compare(k: int, n_rows: int, views: int, seed: int) -> tuple[float, ...]:
    """Return the number of groups, and the adjusted Rand index of three fits."""
    X, y = make_blobs(n_rows, N_FEATURES, centers=k, cluster_std=SPREAD[k], random_state=seed)
    model = CoHiRF(n_clusters=k, views=views, random_state=seed)
    kept = model.fit(X)
    n_groups = kept.diagnostics_[0].rows_out
    index_kept = adjusted_rand_score(y, kept.labels_)
    with mock.patch.dict(vars(MAJORITY), {"most_left": n_groups // 2}):
        joined = adjusted_rand_score(y, model.fit(X).labels_)
    alone = adjusted_rand_score(y, KMeans(k, n_init=10, random_state=seed).fit(X).labels_)
    return n_groups, index_kept, joined, alone


if __name__ == "__main__":
    main()
