"""Are the labels of DBSCAN in CoHiRF those of scikit-learn, border rows and noise included, on
random data?

    python -m benchmarks.quality.dbscan_labels              300 data sets, each in one batch and in
    several python -m benchmarks.quality.dbscan_labels --sets 30    fewer

Data sets have 1 to 8 features: lattices whose points are exactly ``eps`` apart, rows that occur
many times, and groups of different density; half of them have weights. The metrics take turns.
Haversine and cosine distances are irrational numbers that each way to compute them rounds
differently: their lattices have another ``eps``, so that no two points are exactly so far apart.
Rows are few, and in batches smaller than those of a fit, so that each set has several.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN
from sklearn.neighbors import NearestNeighbors

from benchmarks._common import Table, make_parser, parse
from benchmarks.speed.places import count_different
from cohirf import CoHiRF
from cohirf.clusterers import grid_dbscan
from cohirf.fitting import locality

METRICS: dict[str, dict[str, Any]] = {
    "euclidean": {"algorithm": "kd_tree"},
    "manhattan": {"metric": "manhattan"},
    "chebyshev": {"metric": "chebyshev"},
    "minkowski": {"metric": "minkowski", "p": 3},
    "haversine": {"metric": "haversine"},
    "cosine": {"metric": "cosine"},
}
COLUMNS = {
    "metric": "<10",
    "sets": ">5",
    "fits": ">5",
    "equal": ">5",
    "clusters": ">8.1f",
    "noise": ">6.2f",
}


def make_rows(rng: np.random.Generator, metric: str) -> tuple[np.ndarray, float]:
    """Return rows, and a radius."""
    n_rows = int(rng.integers(200, 900))
    n_features = 2 if metric == "haversine" else int(rng.integers(1, 9))
    kind = rng.integers(3)
    if kind == 0:
        X = rng.integers(0, max(3, round(400 ** (1 / n_features))), (n_rows, n_features)).astype(
            np.float64
        )
        X = np.radians(X * [4, 15] - [80, 170]) if metric == "haversine" else X
    elif kind == 1:
        X = rng.normal(size=(n_rows // 4, n_features))[rng.integers(n_rows // 4, size=n_rows)]
    else:
        centres = rng.uniform(-4, 4, (6, n_features))
        X = centres[rng.integers(6, size=n_rows)] + rng.normal(
            size=(n_rows, n_features)
        ) * rng.choice([0.05, 0.6])
    if metric == "haversine" and kind:
        X = np.clip(X * 0.35, -np.pi / 2, np.pi / 2)
    if metric == "cosine":
        X = X + 1e-3  # no row has all zeros
    if kind == 0 and metric not in ("haversine", "cosine"):
        return X, float(rng.choice([1.0, 2.0]))
    near = NearestNeighbors(n_neighbors=6, **METRICS[metric]).fit(X).kneighbors()[0][:, -1]
    return X, float(np.quantile(near, rng.choice([0.3, 0.7]))) * 1.0000001 + 1e-6


def compare(metric: str, seed: int) -> tuple[int, int, float]:
    """Return how many of two fits have the labels of scikit-learn, its number of clusters and its
    share of noise.
    """
    rng = np.random.default_rng(seed)
    X, eps = make_rows(rng, metric)
    weights = rng.integers(1, 4, len(X)) if rng.random() < 0.5 else None
    base = DBSCAN(eps=eps, min_samples=int(rng.integers(2, 9)), **METRICS[metric])
    alone = DBSCAN(**base.get_params()).fit(X, sample_weight=weights).labels_
    n_equal = 0
    for batch_size in (None, len(X) // 4):
        model = CoHiRF(base, batch_size=batch_size, random_state=seed).fit(X, sample_weight=weights)
        n_equal += count_different(np.asarray(model.labels_), alone) == 0
    return n_equal, int(alone.max()) + 1, float((alone < 0).mean())


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", type=int, default=300)
    arguments = parse(parser, argv, sets=30)
    warnings.simplefilter("ignore")  # about data that is all noise
    # kernels take part, in batches as small as asked for
    vars(grid_dbscan.GRID)["rows"] = 1
    vars(locality.LOCAL)["density_rows"] = 1
    table = Table(COLUMNS)
    for place, metric in enumerate(METRICS):
        seeds = range(place, arguments.sets, len(METRICS))
        found = np.array([compare(metric, seed) for seed in seeds], dtype=np.float64)
        n_equal, clusters, noise = found.sum(axis=0)[0], *found.mean(axis=0)[1:]
        table.row(metric, len(seeds), 2 * len(seeds), int(n_equal), clusters, noise)


if __name__ == "__main__":
    main()
