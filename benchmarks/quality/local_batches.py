"""Do density methods find the same in local batches as on all rows, and what do they find in random
batches?

    python -m benchmarks.quality.local_batches [--sets pendigits shapes] [--methods HDBSCAN]
    [--batches 5 20] python -m benchmarks.quality.local_batches --hard      DBSCAN on data that is
    hard to divide into cells

For each data set and method: the adjusted Rand index with the classes, of the method alone, in
random batches and in local batches; the adjusted Rand index of the labels in batches with those of
the method alone; the share of rows that both call noise, or neither; and the processor time in
batches divided by that of the method alone. Then the means over the data sets. In every index,
noise counts as one cluster.

DBSCAN has ``min_samples=5`` and, as radius, either twice the median distance to the fifth neighbour
or the value of ``cohirf.suggest_eps``; HDBSCAN has ``min_cluster_size=15``. Nothing is tuned. Data
sets have at most 10,000 rows, drawn at random; features are standardised. Batches have 1.5 n / 5 or
1.5 n / 20 rows, halos included, so that there are about 5 or 20 local ones. HDBSCAN in local
batches has a single batch on so few rows: its batches are never smaller than that. Results go to a
file, one line for each data set and method, and are not computed again.

With ``--hard``, DBSCAN has ``eps=0.3``, ``min_samples=10`` and batches of 2,000 rows of shapes that
were changed: many rows on one spot, few digits, a dense lump, heavy tails, more features.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from examples.synthetic import make_shapes
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    Table,
    add_results_option,
    make_parser,
    parse,
    print_markdown,
    read_file,
    timed,
)
from cohirf import CoHiRF, suggest_eps

SETS = ("pendigits", "satimage", "shuttle", "usps", "chameleon-t4-8k", "shapes")
MAX_ROWS = 10_000
KINDS = ("random", "local")


def median_rule(X: np.ndarray) -> DBSCAN:
    # without the row itself
    distances = NearestNeighbors(n_neighbors=5).fit(X).kneighbors()[0][:, -1]
    return DBSCAN(eps=2 * float(np.median(distances)))


METHODS: dict[str, Callable[[np.ndarray], Any]] = {
    "DBSCAN, median rule": median_rule,
    "DBSCAN, suggest_eps": lambda X: DBSCAN(eps=suggest_eps(X, random_state=0).eps),
    "HDBSCAN": lambda X: HDBSCAN(min_cluster_size=15, copy=True),
}


def hard_sets() -> dict[str, np.ndarray]:
    """Return rows that are hard to divide into cells."""
    X, y = make_shapes(MAX_ROWS, random_state=0)
    rng = np.random.default_rng(0)
    n = len(X)
    return {
        "shapes": X,
        "a constant feature": np.c_[X, np.zeros(n)],
        "a third of the rows on one spot": np.r_[X, np.repeat(X[y == 7][:1], n // 2, axis=0)],
        "values rounded to 0.1": np.round(X, 1),
        "20,000 rows in a lump of width 0.01": np.r_[X, rng.normal((15, 0), 0.01, (2 * n, 2))],
        "3,000 rows with Cauchy tails": np.r_[X, 5 + 5 * rng.standard_cauchy((3 * n // 10, 2))],
        "8 noise features of width 0.05": np.c_[X, rng.normal(0, 0.05, (n, 8))],
        "30 noise features of width 0.03": np.c_[X, rng.normal(0, 0.03, (n, 30))],
    }


def load(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return rows and classes of a data set, or None if it is not here."""
    if name == "shapes":
        return make_shapes(MAX_ROWS, random_state=0)
    data = read_file(name)
    if data is None:
        return None
    X, y = data
    chosen = np.sort(np.random.default_rng(0).permutation(len(X))[:MAX_ROWS])
    return X[chosen], y[chosen]


def compare(
    make: Callable[[Any], Any], X: np.ndarray, y: np.ndarray, batches: Sequence[int]
) -> dict[str, float]:
    """Return the figures of a method alone and in batches; ``make`` chooses its parameters."""
    method = make(X)
    alone_seconds, alone = timed(lambda: method.fit_predict(X))
    figures = {"alone": adjusted_rand_score(y, alone)}
    for n_batches in batches:
        for kind in KINDS:
            model = CoHiRF(
                method, batch_size=int(1.5 * len(X) / n_batches), batches=kind, random_state=0
            )
            seconds, labels = timed(partial(model.fit_predict, X))
            found = {
                "ari": adjusted_rand_score(y, labels),
                "agreement": adjusted_rand_score(alone, labels),
                "noise": float(((labels < 0) == (alone < 0)).mean()),
                "time": seconds / alone_seconds,
            }
            figures |= {f"{kind} {n_batches} {name}": value for name, value in found.items()}
    return figures


def compile_kernels() -> None:
    """Fit a few rows, so that the time of the first fit is not that of a compiler."""
    CoHiRF(METHODS["HDBSCAN"](None), batch_size=100, random_state=0).fit(
        make_shapes(300, random_state=0)[0]
    )


def row_of(figures: dict[str, float], n_batches: int) -> list[float]:
    """Return the figures of a row of the table: alone, then each figure for random and for local
    batches.
    """
    names = ("ari", "agreement", "noise", "time")
    return [
        figures["alone"],
        *(figures[f"{kind} {n_batches} {name}"] for name in names for kind in KINDS),
    ]


def print_tables(found: dict[str, dict[str, dict[str, float]]], batches: Sequence[int]) -> None:
    """Print all figures, by method and data set, and the means over the data sets."""
    header = ["alone"] + [
        f"{name}, {kind}" for name in ("ARI", "agreement", "same noise", "time") for kind in KINDS
    ]
    columns = {"method": "<20", "batches": ">7", "data": "<16"}
    table = Table(columns | {title: f">{len(title)}.3f" for title in header})
    means = []
    for method, by_set in found.items():
        for n_batches in batches:
            rows = np.array([row_of(figures, n_batches) for figures in by_set.values()])
            for name, row in zip(by_set, rows, strict=True):
                table.row(method, n_batches, name, *row)
            identical = [figures[f"local {n_batches} noise"] == 1 for figures in by_set.values()]
            cells = [f"{mean:.3f}" for mean in rows.mean(axis=0)]
            means.append([method, str(n_batches), *cells, f"{sum(identical)} of {len(identical)}"])
    print_markdown(["mean over sets", "batches", *header, "identical noise, local"], means)


def print_hard() -> None:
    """Print how DBSCAN in local batches agrees with DBSCAN on all rows, on data that is hard to
    divide.
    """
    rows = []
    for name, X in hard_sets().items():
        method = DBSCAN(eps=0.3, min_samples=10)
        alone = method.fit_predict(X)
        model = CoHiRF(method, batch_size=2_000, random_state=0).fit(X)
        core = method.core_sample_indices_
        record = model.diagnostics_[0]
        n_other = int(((model.labels_ < 0) != (alone < 0)).sum())
        scores = [
            adjusted_rand_score(alone[chosen], model.labels_[chosen])
            for chosen in (slice(None), core)
        ]
        rows.append(
            [
                name,
                record.kind,
                str(record.n_batches),
                *(f"{score:.4f}" for score in scores),
                str(n_other),
            ]
        )
    print_markdown(
        ["data", "kind", "batches", "agreement", "of core rows", "rows with other noise"], rows
    )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--sets", nargs="+", default=list(SETS), choices=SETS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=METHODS)
    parser.add_argument("--batches", nargs="+", type=int, default=[5, 20])
    parser.add_argument(
        "--hard", action="store_true", help="DBSCAN on data that is hard to divide into cells"
    )
    add_results_option(parser)
    arguments = parse(
        parser, argv, sets=["satimage", "shapes"], methods=["DBSCAN, median rule"], batches=[5]
    )
    warnings.simplefilter("ignore")
    if arguments.hard:
        print_hard()
        return
    results = Results(arguments.results / "local_batches.jsonl")
    found: dict[str, dict[str, dict[str, float]]] = {method: {} for method in arguments.methods}
    with threadpool_limits(1):
        compile_kernels()
        for name in arguments.sets:
            data = load(name)
            for method in arguments.methods if data is not None else ():
                print(f"{name}, {method}", flush=True)
                run = partial(compare, METHODS[method], *data, arguments.batches)
                found[method][name] = results.of((name, method, *arguments.batches), run)
    print_tables(found, arguments.batches)


if __name__ == "__main__":
    main()
