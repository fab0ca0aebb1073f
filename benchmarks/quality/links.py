"""Do links between rows give better clusters, and is none broken?

13 real data sets and one of blobs, sampled to at most 1,000 rows, with the true number of clusters.
A share of all pairs of rows is drawn at random; those of one class are links, the others are rows
that are to be apart. Shown are the adjusted Rand index without and with links, and how many links
are broken; and both of COP-K-Means, which gives up if it finds no way, or after ``--limit`` seconds.
Without that package (in the extra ``peers``), only ours is measured.

    python -m benchmarks.quality.links [--share 0.01] [--seeds 3] [--limit 20] [--write]
"""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, add_write_option, all_sets, make_parser, parse
from cohirf import CoHiRF

MOST_ROWS = 1000


def draw_links(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a share of all pairs of rows, with 1 for those of one class and -1 for others."""
    n_rows = len(y)
    pairs = rng.integers(0, n_rows, (round(share * n_rows * (n_rows - 1) / 2), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    return np.column_stack([pairs, signs])


def count_broken(labels: np.ndarray, links: np.ndarray) -> int:
    """Return how many links labels break."""
    are_together = labels[links[:, 0]] == labels[links[:, 1]]
    return int(np.count_nonzero(are_together != (links[:, 2] == 1)))


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after so many seconds."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGALRM, stop)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)


def cop_k_means(
    X: np.ndarray, n_clusters: int, links: np.ndarray, seed: int, limit: int
) -> np.ndarray | None:
    """Return the labels of COP-K-Means; None if it gives up."""
    from active_semi_clustering.exceptions import (  # type: ignore[import-not-found]
        ClusteringNotFoundException,
        EmptyClustersException,
    )
    from active_semi_clustering.semi_supervised.pairwise_constraints import (  # type: ignore[import-not-found]
        COPKMeans,
    )

    np.random.seed(seed)  # the package draws from it
    together = [tuple(pair) for pair in links[links[:, 2] == 1, :2].tolist()]
    apart = [tuple(pair) for pair in links[links[:, 2] == -1, :2].tolist()]
    try:
        with within(limit):
            labels: np.ndarray = COPKMeans(n_clusters).fit(X, ml=together, cl=apart).labels_
    except (ClusteringNotFoundException, EmptyClustersException, TimeoutError):
        return None
    return labels


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--limit", type=int, default=20)
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=1, limit=1)
    has_peer = find_spec("active_semi_clustering") is not None
    table = Table(
        {
            "data set": "<17",
            "rows": ">5",
            "links": ">6.0f",
            "without": ">7.3f",
            "with": ">7.3f",
            "broken": ">6",
            "COP-K-Means": ">7.3f",
            "broken by it": ">6",
            "fits it gave up": ">3",
        }
    )
    means = []
    for name, whole, classes in all_sets():
        some = np.arange(len(whole))
        if len(whole) > MOST_ROWS:
            some = np.random.default_rng(0).choice(len(whole), MOST_ROWS, replace=False)
        X = whole[some]
        y = np.unique(classes[some], return_inverse=True)[1]
        k = int(y.max()) + 1
        n_links, free, linked, theirs, broken, theirs_broken = [], [], [], [], 0, 0
        for seed in range(arguments.seeds):
            links = draw_links(y, arguments.share, np.random.default_rng(seed))
            n_links.append(len(links))
            model = CoHiRF(n_clusters=k, random_state=seed)
            free.append(adjusted_rand_score(y, model.fit(X).labels_))
            labels = model.fit(X, links=links).labels_
            linked.append(adjusted_rand_score(y, labels))
            broken += count_broken(labels, links)
            found = cop_k_means(X, k, links, seed, arguments.limit) if has_peer else None
            if found is not None:
                theirs.append(adjusted_rand_score(y, found))
                theirs_broken += count_broken(found, links)
        peer = float(np.mean(theirs)) if theirs else np.nan
        given_up = arguments.seeds - len(theirs) if has_peer else 0
        ours = float(np.mean(free)), float(np.mean(linked))
        means.append((*ours, broken, theirs_broken, given_up))
        table.row(name, len(X), np.mean(n_links), *ours, broken, peer, theirs_broken, given_up)
    total = np.array(means)
    sums = total[:, 2:].sum(axis=0).astype(int).tolist()
    mean = total[:, :2].mean(axis=0).tolist()
    table.row("mean or sum", "", np.nan, *mean, sums[0], np.nan, *sums[1:])
    table.write(arguments.write, "links")


if __name__ == "__main__":
    main()
