"""How good are the paper's four base methods, alone and in CoHiRF, on five real data sets?

Features are standardised. K-Means, kernel K-Means and SC-SRGF have the true number of clusters;
kernel K-Means has gamma = 1 / number of features. DBSCAN has min_samples=5; its eps is the largest
percentile of the distances to the fifth neighbour, from the 99th down, that gives at least the true
number of clusters, or the 90th if none does. Nothing else is tuned. SC-SRGF has two views; on
shuttle, whose rows it cannot hold, it runs in batches with one view, as in the paper.

Every fit is written to a file as soon as it is done, and is not run again: a run that was stopped
continues where it was. Delete the file after a change of the code.

    python -m benchmarks.quality.base_methods [--data-sets iris shuttle] [--bases DBSCAN SC-SRGF]
    [--seeds 5]
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.neighbors import NearestNeighbors

from benchmarks._common import (
    Results,
    Table,
    add_results_option,
    add_write_option,
    make_parser,
    mean_and_spread,
    parse,
    real_data_sets,
    score_fit,
    seeded,
)
from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, KernelKMeans

BASES = ("K-Means", "kernel K-Means", "DBSCAN", "SC-SRGF")
DATA_SETS = ("iris", "alizadeh-2000-v2", "garber-2001", "coil-20", "shuttle")
MAX_SPECTRAL_ROWS = 5000
VARIANTS: dict[str, dict[str, Any]] = {
    "strict": {},
    "relaxed": {"consensus": "relaxed"},
    "strict + weights": {"medoid_weights": True},
}


def fifth_neighbour_distances(X: np.ndarray) -> np.ndarray:
    rows = X if len(X) <= 5000 else X[np.random.default_rng(0).choice(len(X), 5000, replace=False)]
    return NearestNeighbors(n_neighbors=6).fit(X).kneighbors(rows)[0][:, 5]


def choose_eps(X: np.ndarray, k: int) -> dict[str, float]:
    distances = fifth_neighbour_distances(X)
    for percentile in range(99, 0, -1):
        eps = float(np.percentile(distances, percentile))
        clusters = int(DBSCAN(eps=eps).fit(X).labels_.max()) + 1
        if clusters >= k:
            return {"eps": eps, "percentile": percentile, "clusters": clusters}
    return {"eps": float(np.percentile(distances, 90)), "percentile": 90}


def base_methods(
    name: str, X: np.ndarray, k: int, results: Results
) -> dict[str, Callable[[], Any]]:
    return {
        "K-Means": lambda: KMeans(k),
        "kernel K-Means": lambda: KernelKMeans(k, gamma=1 / X.shape[1]),
        "DBSCAN": lambda: DBSCAN(eps=results.of((name, "eps", k), lambda: choose_eps(X, k))["eps"]),
        "SC-SRGF": lambda: SCSRGF(k, graph="local"),
    }


def models(base: Any, n_rows: int, batch_size: int) -> Iterator[tuple[str, Any]]:
    """Yield the base alone and in the variants of CoHiRF.

    None in the place of those that cannot run.
    """
    if not isinstance(base, SCSRGF):
        yield "alone", base
        yield from (
            (variant, CoHiRF.as_published(base, **options)) for variant, options in VARIANTS.items()
        )
        return
    in_batches = n_rows > MAX_SPECTRAL_ROWS
    common: dict[str, Any] = {"views": 1, "batch_size": batch_size} if in_batches else {"views": 2}
    yield "alone", None if in_batches else base
    yield "strict", CoHiRF.as_published(base, **common)
    # of one view, it is strict
    yield (
        "relaxed",
        None if in_batches else CoHiRF.as_published(base, **common, consensus="relaxed"),
    )
    yield "strict + weights", None  # SC-SRGF takes none


def scores(
    model: Any, X: np.ndarray, y: np.ndarray, name: str, n_seeds: int, results: Results
) -> list[float]:
    """Return the adjusted Rand index of each seed."""
    found = []
    for seed in range(n_seeds):
        one = seeded(clone(model), seed)
        settings = " ".join(repr(one).split())
        found.append(results.of((name, settings), partial(score_fit, one, X, y))["ari"])
    return found


def print_scores(
    names: list[str], bases: list[str], n_seeds: int, batch_size: int, results: Results
) -> Table:
    columns = dict.fromkeys(("alone", *VARIANTS), ">16")
    table = Table({"data set": "<18", "base": "<15"} | columns)
    for name, X, y in real_data_sets():
        if name not in names:
            continue
        for base_name, make in base_methods(name, X, len(np.unique(y)), results).items():
            if base_name not in bases:
                continue
            base = make()
            cells = []
            # all features, exact medoids: none is drawn
            n_fits = n_seeds if "random_state" in base.get_params() else 1
            for _, model in models(base, len(X), batch_size):
                found = [] if model is None else scores(model, X, y, name, n_fits, results)
                cells.append(mean_and_spread(found) if found else "-")
            table.row(name, base_name, *cells)
    return table


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--data-sets", nargs="+", choices=DATA_SETS, default=DATA_SETS)
    parser.add_argument("--bases", nargs="+", choices=BASES, default=BASES)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--batch-size",
        type=int,
        default=500,
        help="rows that SC-SRGF gets where it cannot hold all",
    )
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, data_sets=["iris"], seeds=2)
    warnings.simplefilter("ignore")
    results = Results(arguments.results / "base_methods.jsonl")
    table = print_scores(
        arguments.data_sets, arguments.bases, arguments.seeds, arguments.batch_size, results
    )
    table.write(arguments.write, "base_methods")


if __name__ == "__main__":
    main()
