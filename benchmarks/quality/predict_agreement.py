"""How far does `predict` of the training rows agree with `labels_`, and how long does it take?

Without an estimator and around K-Means, the last step of a fit is `predict`, and the two agree in
every row. Otherwise `predict` gives a row the label of the nearest landmark. Up to 10,000 rows,
every row is its own landmark, and the two agree. Beyond, landmarks are a sample, and a row near the
border of two clusters can be nearer to a landmark of the other one. The column "border" shows how
near the border these rows are: the distance to the nearest landmark of any other cluster, over the
distance to the nearest landmark of the row's own cluster (median).

Data: blobs that touch, one cloud, which has no clusters, and a real data set. "predict / fit" is
the ratio of the processor times of both on one thread; the first call of `predict` is measured,
which prepares the search.

    python -m benchmarks.quality.predict_agreement [--rows 5000 20000] [--seed 0]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KDTree
from threadpoolctl import threadpool_limits

from benchmarks._common import Table, make_parser, parse, read_file, timed
from cohirf import CoHiRF
from cohirf.eps import suggest_eps

# of more, Ward and spectral clustering in one batch are left out: they compare all pairs
MANY_ROWS = 20_000


def data_sets(sizes: Sequence[int]) -> Iterator[tuple[str, np.ndarray, int]]:
    """Yield name, rows and number of clusters."""
    for n_rows in sizes:
        touching = make_blobs(n_rows, n_features=5, centers=8, cluster_std=3.0, random_state=0)[0]
        yield "touching", touching, 8
        yield "one cloud", np.random.default_rng(0).normal(size=(n_rows, 5)), 8
    found = read_file("pendigits")
    if found is not None:
        yield "pendigits", found[0], 10


def models(X: np.ndarray, k: int) -> Iterator[tuple[str, Any]]:
    """Yield models and their names."""
    yield "default", CoHiRF(n_clusters=k)
    yield "K-Means", CoHiRF(KMeans(k, n_init=1))
    yield "K-Means, as published", CoHiRF.as_published(KMeans(k, n_init=1), consensus="majority")
    yield "mixture", CoHiRF(GaussianMixture(k))
    yield "mixture, batches", CoHiRF(GaussianMixture(k), batch_size=5000)
    if len(X) <= MANY_ROWS:
        yield "Ward", CoHiRF(AgglomerativeClustering(k))
        yield (
            "spectral, one view",
            CoHiRF(SpectralClustering(k, affinity="nearest_neighbors"), views=1),
        )
    yield "Ward, batches", CoHiRF(AgglomerativeClustering(k), batch_size=2000)
    yield "DBSCAN", CoHiRF(DBSCAN(suggest_eps(X, random_state=0).eps))
    yield "HDBSCAN", CoHiRF(HDBSCAN(min_cluster_size=50, copy=True))


def border_ratio(model: Any, X: np.ndarray, rows: np.ndarray) -> float:
    """Return the median, over rows, of the distance to other clusters in units of the distance to
    their own.
    """
    ratios = []
    for label in np.unique(model.labels_[rows]):
        of_label = model._state.landmarks.labels == label
        mine = rows[model.labels_[rows] == label]
        if 0 < np.count_nonzero(of_label) < len(of_label):
            trees = (KDTree(model.landmarks_[which]) for which in (of_label, ~of_label))
            own, other = (tree.query(X[mine])[0][:, 0] for tree in trees)
            ratios.append(other / np.maximum(own, 1e-300))
    return float(np.median(np.concatenate(ratios))) if ratios else float("nan")


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=(5000, 20_000))
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse(parser, argv, rows=(2000, 11_000))
    table = Table(
        {
            "data": "<10",
            "method": "<22",
            "rows": ">8,",
            "clusters": ">8",
            "equal": ">8.2%",
            "border": ">6.2f",
        }
        | {"fit s": ">7.1f", "predict / fit": ">13.3f"}
    )
    with threadpool_limits(1):
        for name, X, k in data_sets(arguments.rows):
            for method, model in models(X, k):
                model.set_params(random_state=arguments.seed)
                fit, _ = timed(lambda: model.fit(X))  # noqa: B023 - called at once
                prediction, labels = timed(lambda: model.predict(X))  # noqa: B023 - called at once
                differ = np.flatnonzero(labels != model.labels_)
                border = border_ratio(model, X, differ) if len(differ) else "-"
                table.row(
                    name,
                    method,
                    len(X),
                    model.n_clusters_,
                    1 - len(differ) / len(X),
                    border,
                    fit,
                    prediction / fit,
                )


if __name__ == "__main__":
    main()
