"""Do updates and merged models give the clusters of a fit to all rows?

    python -m benchmarks.quality.updates [--sets pendigits shapes] [--methods K-Means DBSCAN] [--kept 2000]

For each data set and method: the adjusted Rand index with the classes of a fit to all rows, of one with another seed,
of 10 and 100 updates, of 10 and 100 updates in which classes arrive one after the other, and of a merge of 10 models;
then the index of the same labels with those of the fit to all rows; and the share of older rows that got another
number, as a mean over the second 50 of 100 updates, and its maximum. MiniBatchKMeans and Birch are updated in the same
parts. In every index, noise counts as one cluster.

K-Means is told the number of classes, and has batches of 500 rows; it does not know more, and keeps groups of rows.
DBSCAN has ``min_samples=5`` and twice the median distance to the fifth neighbour as radius, HDBSCAN has
``min_cluster_size=15``. Models of these two keep 32,768 rows; ``--kept`` sets another number, to see what is lost if
some rows stand for all. Nothing is tuned. Data sets have at most 10,000 rows, in random order; features are
standardised.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, Birch, KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks._common import Results, Table, add_results_option, make_parser, parse, read_file, seeded
from cohirf import CoHiRF, merge
from cohirf.datasets import make_shapes
from cohirf.updating import settings

SETS = ("pendigits", "satimage", "shuttle", "usps", "chameleon-t4-8k", "shapes")
MAX_ROWS = 10_000
BATCH = 500

Make = Callable[[np.ndarray, int], Any]


def density_model(X: np.ndarray) -> CoHiRF:
    distances = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[0][:, -1]  # without the row itself
    return CoHiRF(DBSCAN(eps=2 * float(np.median(distances))), random_state=0)


METHODS: dict[str, Make] = {
    "K-Means": lambda X, k: CoHiRF(KMeans(k), batch_size=BATCH, random_state=0),
    "DBSCAN": lambda X, k: density_model(X),
    "HDBSCAN": lambda X, k: CoHiRF(HDBSCAN(min_cluster_size=15, copy=True), random_state=0),
    "MiniBatchKMeans": lambda X, k: MiniBatchKMeans(k, random_state=0, n_init=3),
    "Birch": lambda X, k: Birch(n_clusters=k),
}
COLUMNS = ("whole", "seed", "10", "100", "10 sorted", "100 sorted", "merge 10")


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return rows and classes of a data set in random order, or None if it is not here."""
    data = make_shapes(MAX_ROWS, random_state=0) if name == "shapes" else read_file(name)
    if data is None:
        return None
    X, y = data
    chosen = np.random.default_rng(0).permutation(len(X))[:MAX_ROWS]
    return X[chosen], y[chosen]


def in_parts(model: Any, X: np.ndarray, n_parts: int) -> tuple[np.ndarray, list[float]]:
    """Update a model in parts; return its labels, and the share of older rows that got another number each time."""
    moved, n_seen = [], 0
    for part in np.array_split(X, n_parts):
        model.partial_fit(part)
        changes = getattr(model, "changes_", None)
        moved.append(0.0 if changes is None or n_seen == 0 else changes.n_moved / n_seen)
        n_seen += len(part)
    return (model.labels_ if isinstance(model, CoHiRF) else model.predict(X)), moved


def label_in_ways(make: Make, X: np.ndarray, y: np.ndarray) -> Iterator[tuple[str, np.ndarray, list[float]]]:
    """Yield how rows came, their labels in the order of ``X``, and the shares of rows that moved."""
    model = make(X, len(np.unique(y)))
    for way, seed in (("whole", 0), ("seed", 1)):
        fitted = seeded(clone(model), seed).fit(X)
        yield way, fitted.labels_ if isinstance(fitted, CoHiRF) else fitted.predict(X), [0.0]
    for n_parts in (10, 100):
        yield str(n_parts), *in_parts(clone(model), X, n_parts)
        by_class = np.argsort(y, kind="stable")
        found, moved = in_parts(clone(model), X[by_class], n_parts)
        labels = np.empty_like(found)
        labels[by_class] = found
        yield f"{n_parts} sorted", labels, moved
    if isinstance(model, CoHiRF):
        yield "merge 10", merge([clone(model).partial_fit(part) for part in np.array_split(X, 10)]).labels_, [0.0]


def compare(make: Make, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return the figures of a method on a data set."""
    figures: dict[str, float] = {}
    whole = None
    for way, labels, moved in label_in_ways(make, X, y):
        whole = labels if whole is None else whole
        figures |= {f"{way} ari": adjusted_rand_score(y, labels), f"{way} same": adjusted_rand_score(whole, labels)}
        later = moved[len(moved) // 2 :]
        figures |= {f"{way} moved": float(np.mean(later)), f"{way} most moved": max(later)}
    return figures


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument(
        "--kept", type=int, default=settings.KEPT_ROWS, help="rows that models of DBSCAN and HDBSCAN keep"
    )
    add_results_option(parser)
    arguments = parse(parser, argv, sets=["satimage"], methods=["K-Means"])
    warnings.simplefilter("ignore")
    settings.KEPT_ROWS = arguments.kept
    results = Results(arguments.results / "updates.jsonl")
    columns = {"method": "<16", "data": "<16", "": "<8"}
    table = Table(columns | {way: f">{max(6, len(way))}.2f" for way in COLUMNS} | {"moved": ">6.1%", "most": ">6.1%"})
    with threadpool_limits(1):
        for name in arguments.sets:
            data = load(name)
            for method in arguments.methods if data is not None else ():
                kept = 0 if "K-Means" in method else arguments.kept
                make = METHODS[method]
                figures = results.of((name, method, kept), lambda make=make, data=data: compare(make, *data))
                for what, shown in (("classes", "ari"), ("whole", "same")):
                    row = [figures.get(f"{way} {shown}", "-") for way in COLUMNS]
                    moved = [figures[f"100 {most}moved"] if shown == "ari" else "-" for most in ("", "most ")]
                    table.row(method, name, what, *row, *moved)


if __name__ == "__main__":
    main()
