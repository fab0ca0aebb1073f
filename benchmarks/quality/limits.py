"""How good are clusters within limits of sizes, against k-means-constrained?

2,000 rows, 10 features, 10 clusters: separate blobs, one normal distribution, and ten of uneven
sizes that overlap. Clusters are balanced, or have 100 to 300 rows. Shown are the sum of squared
distances to the means of clusters, ours relative to that of k-means-constrained with its ten
starts, and the processor time of both. Without that package (in the extra ``peers``),
only ours is measured.

    python -m benchmarks.quality.limits [--seeds 10] [--write]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.datasets import make_blobs

from benchmarks._common import Table, add_write_option, make_parser, parse, timed
from cohirf import CoHiRF

N_CLUSTERS = 10
SHAPE = (2000, 10)
LIMITS = {"balanced": (200, 200), "100 to 300": (100, 300)}


def draw_sets(seed: int) -> Iterator[tuple[str, np.ndarray]]:
    """Yield the name and the rows of each kind of data."""
    yield "blobs", make_blobs(*SHAPE, centers=N_CLUSTERS, cluster_std=2.0, random_state=seed)[0]
    yield "normal", np.random.default_rng(seed).normal(size=SHAPE)
    rng = np.random.default_rng(seed)
    sizes = rng.multinomial(SHAPE[0], rng.dirichlet(np.ones(N_CLUSTERS)))
    parts = [rng.normal(size=(size, SHAPE[1])) + 3 * rng.normal(size=SHAPE[1]) for size in sizes]
    yield "uneven", np.concatenate(parts)


def inertia(X: np.ndarray, labels: np.ndarray) -> float:
    """Return the sum of squared distances to the means of clusters."""
    return float(
        sum(((X[labels == k] - X[labels == k].mean(axis=0)) ** 2).sum() for k in np.unique(labels))
    )


def label(model: CoHiRF, X: np.ndarray) -> np.ndarray:
    """Return the labels of a fit."""
    return model.fit(X).labels_


def constrained(X: np.ndarray, limits: tuple[int, int], seed: int) -> Any:
    """Return the labels of k-means-constrained."""
    from k_means_constrained import KMeansConstrained  # type: ignore[import-not-found]

    low, high = limits
    model = KMeansConstrained(N_CLUSTERS, size_min=low, size_max=high, random_state=seed)
    return model.fit(X).labels_


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=10)
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=1)
    has_peer = find_spec("k_means_constrained") is not None
    columns = {"limits": "<10", "data": "<8", "mean ratio": ">7.4f", "largest ratio": ">7.4f"}
    columns |= {"seconds": ">7.2f", "seconds of the peer": ">7.2f"}
    table = Table(columns)
    for title, limits in LIMITS.items():
        found: dict[str, list[tuple[float, float, float]]] = {}
        for seed in range(arguments.seeds):
            for name, X in draw_sets(seed):
                model = CoHiRF(n_clusters=N_CLUSTERS, size_limits=limits, random_state=seed)
                seconds, ours = timed(partial(label, model, X))
                sizes = np.bincount(ours, minlength=N_CLUSTERS)
                assert limits[0] <= sizes.min() <= sizes.max() <= limits[1]
                ratio, peer_seconds = np.nan, np.nan
                if has_peer:
                    peer_seconds, peer = timed(partial(constrained, X, limits, seed))
                    ratio = inertia(X, ours) / inertia(X, peer)
                found.setdefault(name, []).append((ratio, seconds, peer_seconds))
        for name, figures in found.items():
            ratios, seconds, peer_seconds = np.transpose(figures)
            means = seconds.mean(), peer_seconds.mean()
            table.row(title, name, ratios.mean(), ratios.max(), *means)
    table.write(arguments.write, "limits")


if __name__ == "__main__":
    main()
