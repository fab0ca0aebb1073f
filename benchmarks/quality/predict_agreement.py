"""How far does `predict` of the training rows agree with `labels_`, and why do they differ?

Without an estimator and around K-Means, the last step of a fit is `predict`, and the two agree in every row. Otherwise
`predict` gives a row the label of the nearest landmark. Up to 10,000 rows, every row is its own landmark, and the two
agree. Beyond, landmarks are a sample, and a row near the border of two clusters can be nearer to a landmark of the
other one. The script prints the share of rows that differ, and how near the border these are: the distance to the
nearest landmark of any other cluster, over the distance to the nearest landmark of the row's own cluster.

`predict` compares most rows with a few centres only. For comparison, the column "plain" has the number of rows that
differ if scikit-learn compares each row with all landmarks. The two searches can choose different landmarks only if
several are at the same distance.

    python -m benchmarks.quality.predict_agreement [--seeds 3]
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KDTree, NearestNeighbors

from benchmarks._common import DATA_FOLDER, Table, make_parser, parse
from cohirf import CoHiRF
from cohirf.datasets import make_spheres
from cohirf.datasets.real import prepare


def cases() -> Iterator[tuple[str, Any, np.ndarray]]:
    """Yield a name, a model and the data it is fitted to."""
    yield "iris", CoHiRF.as_published(KMeans(3)), load_iris().data
    yield "digits", CoHiRF.as_published(KMeans(10, n_init=1), consensus="majority"), load_digits().data
    apart = make_blobs(50_000, n_features=5, centers=8, cluster_std=1.0, random_state=0)[0]
    yield "blobs, apart", CoHiRF.as_published(KMeans(8, n_init=1), consensus="majority", batch_size=1000), apart
    touching = make_blobs(50_000, n_features=5, centers=8, cluster_std=3.0, random_state=0)[0]
    yield "blobs, touching", CoHiRF.as_published(KMeans(8, n_init=1), consensus="majority", batch_size=1000), touching
    cloud = np.random.default_rng(0).normal(size=(50_000, 5))
    yield "one cloud", CoHiRF.as_published(KMeans(8, n_init=1), consensus="majority"), cloud
    for name, X in (("blobs, touching", touching), ("one cloud", cloud)):
        yield f"{name}, default", CoHiRF(n_clusters=8), X
        yield f"{name}, mixture", CoHiRF(GaussianMixture(8)), X
        yield f"{name}, batches", CoHiRF(GaussianMixture(8), batch_size=5000), X
    spheres = make_spheres(50_000, random_state=0)[0]
    yield "spheres", CoHiRF.as_published(DBSCAN(eps=0.3, min_samples=5), batch_size=5000), spheres
    for path in sorted(DATA_FOLDER.glob("*.parquet")):
        import pandas as pd

        table = pd.read_parquet(path)
        k_means = KMeans(table["label"].nunique(), n_init=1)
        yield path.stem, CoHiRF.as_published(k_means, consensus="majority"), prepare(table.drop(columns="label"))


def count_plain(model: Any, X: np.ndarray) -> int:
    """Return the number of labels that differ if every row is compared with all landmarks."""
    nearest = NearestNeighbors(n_neighbors=1).fit(model._landmarks.points).kneighbors(X, return_distance=False)[:, 0]
    return int(np.count_nonzero(model._landmarks.labels[nearest] != model.labels_))


def border_ratio(model: Any, X: np.ndarray, rows: np.ndarray) -> float:
    """Return the median, over rows, of the distance to other clusters in units of the distance to their own."""
    ratios = []
    for label in np.unique(model.labels_[rows]):
        of_label = model._landmarks.labels == label
        mine = rows[model.labels_[rows] == label]
        if of_label.all():
            continue
        own, other = (KDTree(model._landmarks.points[which]).query(X[mine])[0][:, 0] for which in (of_label, ~of_label))
        ratios.append(other / np.maximum(own, 1e-300))
    return float(np.median(np.concatenate(ratios))) if ratios else float("nan")


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    seeds = parse(parser, argv, seeds=1).seeds
    counts = dict.fromkeys(("rows", "clusters", "landmarks", "differ", "plain"), ">9")
    table = Table({"data": "<24"} | counts | {"share": ">7.2%", "ARI": ">7.4f", "border": ">6.2f"})
    for name, model, X in cases():
        for seed in range(seeds):
            model.set_params(random_state=seed).fit(X)
            predicted = model.predict(X)
            differ = np.flatnonzero(predicted != model.labels_)
            agreement = adjusted_rand_score(model.labels_, predicted)
            border = border_ratio(model, X, differ) if len(differ) else "-"
            n_landmarks = model._landmarks.points.shape[0]
            counts_of_fit = (len(X), model.n_clusters_, n_landmarks, len(differ), count_plain(model, X))
            table.row(name, *counts_of_fit, len(differ) / len(X), agreement, border)


if __name__ == "__main__":
    main()
