"""Do updates and merged models give the clusters of a fit to all rows, and do clusters keep their
numbers?

    python -m benchmarks.quality.updates                              six data sets, all methods
    that are installed python -m benchmarks.quality.updates --write                      writes the
    tables of the documentation python -m benchmarks.quality.updates --tenths                     a
    fit of a tenth of the rows, and nine updates

For each data set and method, the first table has two adjusted Rand indices, with the classes and
with the labels of a fit to all rows: after this fit, a fit with another seed, 10 and 100 updates,
10 and 100 updates in which classes arrive one after the other, and a merge of 10 models. In every
index, noise counts as one cluster. The last columns are processor seconds of the fit, and of one of
the 100 updates on average.

The second table has the share of older rows that change their cluster number in an update, when
rows come in random order in 100 updates: mean of the 99 updates after the first, mean of the last
50, the largest, and in how many of the 99 it is above 1 %. Rows that become noise count, and rows
that were noise do not. The last column tells whether at most 1 % of the older rows change their
number: in each update, on average, or not.

K-Means is told the number of classes, and has batches of 500 rows; it does not know more, and keeps
groups of rows. DBSCAN has ``min_samples=5`` and twice the median distance to the fifth neighbour as
radius, HDBSCAN has ``min_cluster_size=15``. Models of these two keep all rows. Data sets have at
most 10,000 rows, in random order; features are standardised.

With ``--tenths``, a model without an estimator is fitted to a tenth of 3,000 rows and updated nine
times. The table has the mean and the largest share of older rows that change their number, the
number of clusters after the fit and after the updates, and the adjusted Rand index with the classes
after the updates, after ``recluster``, and of a fit to all rows. The number of clusters is given
(the number of classes) or chosen.

Others are updated in the same parts: MiniBatchKMeans and Birch of scikit-learn, DBSTREAM of river
with the radius of DBSCAN and with six times that radius (*wide*), and hdbscan, which fits the first
part and gives later rows a label (``approximate_predict``). Nothing is tuned.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.util import find_spec
from typing import Any

import numpy as np
from examples.synthetic import make_shapes
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, Birch, KMeans, MiniBatchKMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    Table,
    add_results_option,
    add_write_option,
    make_parser,
    parse,
    read_file,
    seeded,
    timed,
)
from benchmarks._streams import ApproximatePredict, Dbstream
from cohirf import CoHiRF, merge

SETS = ("pendigits", "satimage", "shuttle", "usps", "chameleon-t4-8k", "shapes")
MAX_ROWS = 10_000
MIN_SAMPLES = 15  # of HDBSCAN
MAY_MOVE = 0.01  # share of older rows

Figures = dict[str, Any]


# -- data and methods


@dataclass(frozen=True)
class Case:
    """A data set in random order, and what the methods are told about it."""

    X: np.ndarray
    y: np.ndarray
    batch_size: int = 500
    min_cluster_size: int = 15

    @property
    def n_clusters(self) -> int:
        """Return the number of classes."""
        return len(np.unique(self.y))

    @cached_property
    def radius(self) -> float:
        """Return twice the median distance to the fifth neighbour.

        A row is not its own neighbour.
        """
        return 2 * float(
            np.median(NearestNeighbors(n_neighbors=5).fit(self.X).kneighbors()[0][:, -1])
        )


def load(name: str) -> Case | None:
    """Return a data set, or None if it is not here."""
    data = make_shapes(MAX_ROWS, random_state=0) if name == "shapes" else read_file(name)
    if data is None:
        return None
    X, y = in_random_order(*data)
    return Case(X[:MAX_ROWS], y[:MAX_ROWS])


def in_random_order(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    order = np.random.default_rng(0).permutation(len(X))
    return X[order], y[order]


METHODS: dict[str, Callable[[Case], Any]] = {
    "K-Means": lambda case: CoHiRF(
        KMeans(case.n_clusters), batch_size=case.batch_size, random_state=0
    ),
    "DBSCAN": lambda case: CoHiRF(DBSCAN(case.radius), random_state=0),
    "HDBSCAN": lambda case: CoHiRF(
        HDBSCAN(case.min_cluster_size, MIN_SAMPLES, copy=True), random_state=0
    ),
    "MiniBatchKMeans": lambda case: MiniBatchKMeans(case.n_clusters, random_state=0, n_init=3),
    "Birch": lambda case: Birch(n_clusters=case.n_clusters),
    "DBSTREAM": lambda case: Dbstream(case.radius),
    "DBSTREAM, wide": lambda case: Dbstream(6 * case.radius),
    "approximate_predict": lambda case: ApproximatePredict(case.min_cluster_size, MIN_SAMPLES),
}
PACKAGES = {"DBSTREAM": "river", "DBSTREAM, wide": "river", "approximate_predict": "hdbscan"}


# -- ways to the same rows


@dataclass(frozen=True)
class Labelled:
    """Labels of all rows, the share of older rows that changed their number in each update, and
    processor seconds.
    """

    labels: np.ndarray
    moved: Sequence[float] = ()
    seconds: float = 0.0


def fit_at_once(model: Any, case: Case, seed: int) -> Labelled:
    seconds, fitted = timed(lambda: seeded(model, seed).fit(case.X))
    return Labelled(labels_of(fitted, case.X), seconds=seconds)


def labels_of(model: Any, X: np.ndarray) -> np.ndarray:
    """Return the labels of all rows so far; some models only predict them."""
    return (
        model.predict(X)
        if hasattr(model, "predict") and not isinstance(model, CoHiRF)
        else model.labels_
    )


def update_in_parts(model: Any, X: np.ndarray, n_parts: int) -> Labelled:
    """Update a model in parts."""
    moved: list[float] = []
    total = 0.0
    before = np.empty(0, dtype=np.int64)
    for part in np.array_split(X, n_parts):
        seconds, _ = timed(lambda part=part: model.partial_fit(part))
        total += seconds
        n_old = len(before)
        labels = labels_of(model, X[: n_old + len(part)])
        if n_old:
            moved.append(float(np.mean((before >= 0) & (before != labels[:n_old]))))
        before = labels.copy()
    return Labelled(before, moved, total)


def update_by_class(model: Any, case: Case, n_parts: int) -> Labelled:
    """Update a model in parts in which classes arrive one after the other.

    Labels are in the order of ``case.X``.
    """
    by_class = np.argsort(case.y, kind="stable")
    found = update_in_parts(model, case.X[by_class], n_parts)
    labels = np.empty_like(found.labels)
    labels[by_class] = found.labels
    return Labelled(labels, found.moved, found.seconds)


def merge_parts(model: Any, case: Case, n_parts: int) -> Labelled:
    parts = np.array_split(case.X, n_parts)
    seconds, merged = timed(lambda: merge([clone(model).partial_fit(part) for part in parts]))
    return Labelled(merged.labels_, seconds=seconds)


WAYS: dict[str, Callable[[Any, Case], Labelled]] = {
    "fit": lambda model, case: fit_at_once(model, case, 0),
    "seed": lambda model, case: fit_at_once(model, case, 1),
    "10": lambda model, case: update_in_parts(model, case.X, 10),
    "100": lambda model, case: update_in_parts(model, case.X, 100),
    "10 sorted": lambda model, case: update_by_class(model, case, 10),
    "100 sorted": lambda model, case: update_by_class(model, case, 100),
    "merge 10": lambda model, case: merge_parts(model, case, 10),
}


class Comparison:
    """A method on a data set: the figures of each way to its rows."""

    def __init__(self, model: Any, case: Case) -> None:
        self.model = model
        self.case = case

    @cached_property
    def fitted(self) -> Labelled:
        """Return the labels of a fit to all rows, with which the others are compared."""
        return WAYS["fit"](clone(self.model), self.case)

    def has(self, way: str) -> bool:
        """Return whether a way exists for the model: some have no random numbers, and only ours
        merge.
        """
        if way == "seed":
            return "random_state" in self.model.get_params()
        return way != "merge 10" or isinstance(self.model, CoHiRF)

    def figures(self, way: str) -> Figures:
        """Return index with the classes and with the labels of the fit, shares of rows that moved,
        and seconds.
        """
        found = self.fitted if way == "fit" else WAYS[way](clone(self.model), self.case)
        return {
            "classes": adjusted_rand_score(self.case.y, found.labels),
            "fit": adjusted_rand_score(self.fitted.labels, found.labels),
            "moved": found.moved,
            "seconds": found.seconds,
        }


# -- tables --------------------------------------------------------------------------------------------------------

Found = dict[tuple[str, str], dict[str, Figures]]  # by data set and method, and then by way

INDEX_COLUMNS = (
    {"method": "<19", "data": "<15", "fit": ">5.2f"}
    | {way: ">10" for way in WAYS if way != "fit"}
    | {"fit, s": ">8.2f", "update, s": ">9.3f"}
)
NUMBER_COLUMNS = {
    "method": "<19",
    "data": "<15",
    "mean": ">7.2%",
    "last 50": ">7.2%",
    "largest": ">7.1%",
    "above 1 %": ">9",
    "at most 1 %": ">14",
}


def index_rows(found: Found) -> Iterator[list[Any]]:
    """Yield the rows of the first table."""
    for (name, method), by_way in found.items():
        fitted = by_way["fit"]
        both = [index_cell(by_way[way]) if way in by_way else "" for way in WAYS if way != "fit"]
        seconds = by_way["100"]["seconds"] / 100 if "100" in by_way else ""
        yield [method, name, fitted["classes"], *both, fitted["seconds"], seconds]


def index_cell(figures: Figures) -> str:
    """Return the index with the classes, and that with the labels of the fit."""
    return f"{figures['classes']:.2f}/{figures['fit']:.2f}"


def number_rows(found: Found) -> Iterator[list[Any]]:
    """Yield the rows of the second table: how many rows change their number in 100 updates."""
    for (name, method), by_way in found.items():
        if "100" in by_way:
            moved = np.array(by_way["100"]["moved"])
            shares = [float(np.mean(moved)), float(np.mean(moved[-50:])), float(np.max(moved))]
            yield [method, name, *shares, int(np.sum(moved > MAY_MOVE)), judge(moved)]


def judge(moved: np.ndarray) -> str:
    """Return whether at most 1 % of the older rows change their number."""
    if np.max(moved) <= MAY_MOVE:
        return "in each update"
    return "on average" if np.mean(moved) <= MAY_MOVE else "no"


def show(columns: dict[str, str], rows: Iterable[Sequence[Any]]) -> Table:
    """Print a table, and return it."""
    print()
    table = Table(columns)
    for row in rows:
        table.row(*row)
    return table


# -- tenths ------------------------------------------------------------------------------------------------------


TENTHS_COLUMNS = {
    "data": "<15",
    "clusters": "<8",
    "moved, mean": ">11.1%",
    "moved, most": ">11.1%",
    "at the fit": ">10",
    "after updates": ">13",
    "updates": ">7.2f",
    "recluster": ">9.2f",
    "fit": ">5.2f",
}


def measure_tenths(sets: Sequence[str]) -> Table:
    """Print how many rows change their number if a tenth of the rows is fitted, and the others come
    in nine updates.

    Returns the table.
    """
    table = Table(TENTHS_COLUMNS)
    for name in sets:
        case = load(name)
        for chosen in (False, True) if case is not None else ():
            X = case.X[:3000]
            y = case.y[:3000]
            model = CoHiRF(n_clusters=None if chosen else case.n_clusters, random_state=0)
            whole = adjusted_rand_score(y, clone(model).fit(X).labels_)
            first = X[:300]
            rest = X[300:]
            n_first = model.fit(first).n_clusters_
            before = model.labels_.copy()
            shares = []
            for part in np.array_split(rest, 9):
                labels = model.partial_fit(part).labels_
                shares.append(float(np.mean(labels[: len(before)] != before)))
                before = labels.copy()
            after = [n_first, model.n_clusters_, adjusted_rand_score(y, before)]
            again = (
                adjusted_rand_score(y, model.recluster().labels_)
                if hasattr(model, "recluster")
                else np.nan
            )
            table.row(
                name,
                "chosen" if chosen else "given",
                np.mean(shares),
                max(shares),
                *after,
                again,
                whole,
            )
    return table


# -- the script


def measure(
    results: Results, sets: Sequence[str], methods: Sequence[str], ways: Sequence[str]
) -> None:
    """Run what is not among the results yet, and print each figure as soon as it is known."""
    table = Table(
        {
            "data": "<15",
            "method": "<19",
            "way": "<10",
            "classes": ">7.3f",
            "fit": ">6.3f",
            "s": ">9.2f",
        }
    )
    for name in sets if methods else ():
        case = load(name)
        for method in methods if case is not None else ():
            comparison = Comparison(METHODS[method](case), case)
            for way in filter(comparison.has, ways):
                figures = results.of(
                    (name, method, way), lambda way=way, of=comparison: of.figures(way)
                )
                table.row(
                    name, method, way, *(figures[shown] for shown in ("classes", "fit", "seconds"))
                )


def known(results: Results) -> Found:
    """Return all figures of this and of earlier runs."""
    pairs = [(name, method) for name in SETS for method in METHODS]
    found = {
        (name, method): {
            way: results.found[name, method, way]
            for way in WAYS
            if (name, method, way) in results.found
        }
        for name, method in pairs
    }
    return {pair: by_way for pair, by_way in found.items() if by_way}


def installed(methods: Sequence[str]) -> list[str]:
    """Return the methods whose packages are installed, and name the others."""
    here = [method for method in methods if find_spec(PACKAGES.get(method, "cohirf"))]
    for method in methods:
        if method not in here:
            print(f"{method}: skipped, {PACKAGES[method]} is not installed")
    return here


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument(
        "--methods",
        nargs="*",
        default=list(METHODS),
        choices=METHODS,
        help="none: only print tables",
    )
    parser.add_argument(
        "--ways", nargs="+", default=list(WAYS), choices=WAYS, help="columns of the first table"
    )
    parser.add_argument("--tenths", action="store_true", help="only this table")
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, sets=["satimage"], methods=["K-Means"])
    warnings.simplefilter("ignore")
    if arguments.tenths:
        measure_tenths(arguments.sets).write(arguments.write, "updating/tenths")
        return
    results = Results(arguments.results / "updates.jsonl")
    with threadpool_limits(1):
        measure(results, arguments.sets, installed(arguments.methods), arguments.ways)
    found = known(results)
    show(INDEX_COLUMNS, index_rows(found)).write(arguments.write, "updating/ways")
    show(NUMBER_COLUMNS, number_rows(found)).write(arguments.write, "updating/numbers")


if __name__ == "__main__":
    main()
