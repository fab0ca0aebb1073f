"""Does a consensus of given partitions have better clusters than other packages make of them?

    python -m benchmarks.quality.voting [--ensembles seeds k features methods bootstrap] [--seeds 3]
    [--sets 14]

Five kinds of ensembles of 20 partitions of each data set: K-Means with other seeds; with other
numbers of clusters (from the true one to three times as many); on random halves of the features;
several methods; and on bootstrap samples, with no opinion on the other rows. Then the mean adjusted
Rand index of one of the partitions; of ``cohirf.consensus`` by votes, refined votes and, with the
values of the rows, by mass; of average linkage on the matrix of co-associations; and of CSPA, MCLA
and HBGF of the package ClusterEnsembles, if it can be imported. All are told the true number of
clusters. Then, in how many data sets our refined votes are as good as each of the others, but for
0.005.

Last, ``CoHiRF(views=[...])`` around K-Means, a mixture, Ward and spectral clustering together,
beside each of them alone. Data sets are sampled: at most 800 rows, because the others need a matrix
of all pairs of rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

import cohirf
from benchmarks._common import (
    Results,
    add_results_option,
    add_write_option,
    all_sets,
    make_parser,
    parse,
    print_markdown,
    seeded,
    write_table,
)

N_VECTORS = 20
MAX_ROWS = 800
SAME = 0.005
ENSEMBLES = ("seeds", "k", "features", "methods", "bootstrap")
SOLVERS = ("cspa", "mcla", "hbgf")


def make_ensemble(kind: str, X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return partitions of the rows, one in each column; -1 for no opinion."""
    return np.stack(
        [_label(kind, X, k, number, 1000 * seed + number) for number in range(N_VECTORS)], axis=1
    )


def _label(kind: str, X: np.ndarray, k: int, number: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    one_start = KMeans(k, n_init=1, init="random", random_state=seed)
    if kind == "k":
        return one_start.set_params(n_clusters=int(rng.integers(k, 3 * k + 1))).fit_predict(X)
    if kind == "features":
        some = rng.choice(X.shape[1], max(1, X.shape[1] // 2), replace=False)
        return one_start.fit_predict(X[:, some])
    if kind == "methods":
        return seeded(several_methods(X, k)[number % 4], seed).fit_predict(X)
    if kind == "bootstrap":
        some = np.unique(rng.integers(0, len(X), len(X)))
        labels = np.full(len(X), -1)
        labels[some] = one_start.fit_predict(X[some])
        return labels
    return one_start.fit_predict(X)


def several_methods(X: np.ndarray, k: int) -> list[Any]:
    """Return methods of different kinds, all of which are told the number of clusters."""
    return [
        KMeans(k, n_init=1),
        GaussianMixture(k, covariance_type="full" if X.shape[1] <= 64 else "diag", reg_covar=1e-3),
        AgglomerativeClustering(k),
        SpectralClustering(k, affinity="nearest_neighbors", n_neighbors=min(10, len(X) - 1)),
    ]


def co_associate(labels: np.ndarray, k: int) -> np.ndarray:
    """Return clusters by average linkage on the matrix of co-associations."""
    has_opinion = (labels >= 0).astype(float)
    same = sum(((column[:, None] == column) & (column >= 0)).astype(float) for column in labels.T)
    distance = 1 - same / np.maximum(has_opinion @ has_opinion.T, 1)
    np.fill_diagonal(distance, 0)
    return fcluster(linkage(squareform(distance, checks=False), "average"), k, "maxclust")


def solvers(X: np.ndarray, k: int) -> dict[str, Callable[[np.ndarray], np.ndarray]]:
    """Return all ways from partitions to clusters."""
    found: dict[str, Callable[[np.ndarray], np.ndarray]] = {
        "votes": lambda labels: cohirf.consensus(labels, n_clusters=k).labels,
        "refined": lambda labels: (
            cohirf.consensus(labels, n_clusters=k, consensus="refined").labels
        ),
        "by mass": lambda labels: cohirf.consensus(labels, n_clusters=k, X=X).labels,
        "co-association": partial(co_associate, k=k),
    }
    try:
        from ClusterEnsembles import cluster_ensembles
    except ImportError:
        print("ClusterEnsembles cannot be imported: without it")
        return found
    return found | {solver: partial(_run_peer, cluster_ensembles, k, solver) for solver in SOLVERS}


def _run_peer(cluster_ensembles: Any, k: int, solver: str, labels: np.ndarray) -> np.ndarray:
    np.random.seed(0)  # the package draws from the global generator
    return cluster_ensembles(np.where(labels < 0, np.nan, labels).T, nclass=k, solver=solver)


def score(X: np.ndarray, y: np.ndarray, kind: str, seed: int) -> dict[str, float]:
    """Return the adjusted Rand index of each way."""
    k = len(np.unique(y))
    labels = make_ensemble(kind, X, k, seed)
    singles = [adjusted_rand_score(y[column >= 0], column[column >= 0]) for column in labels.T]
    ways = {name: adjusted_rand_score(y, solve(labels)) for name, solve in solvers(X, k).items()}
    return {"one": float(np.mean(singles)), **ways}


def compare(
    kinds: Sequence[str], n_seeds: int, n_sets: int | None, results: Results
) -> list[list[str]]:
    """Print the mean over data sets for each kind of ensemble, and how often refined votes are as
    good.

    Returns the table of the means.
    """
    means = []
    as_good = []
    for kind in kinds:
        by_set = []
        for name, X, y in islice(all_sets(), n_sets):
            some = np.sort(np.random.default_rng(0).permutation(len(X))[:MAX_ROWS])
            found = [
                results.of((kind, name, seed), partial(score, X[some], y[some], kind, seed))
                for seed in range(n_seeds)
            ]
            by_set.append(
                {way: float(np.mean([figures[way] for figures in found])) for way in found[0]}
            )
            print(
                kind, name, {way: round(value, 3) for way, value in by_set[-1].items()}, flush=True
            )
        ways = list(by_set[0])
        means.append(
            [kind, *(f"{np.mean([scores[way] for scores in by_set]):.3f}" for way in ways)]
        )
        counts = [sum(scores["refined"] >= scores[way] - SAME for scores in by_set) for way in ways]
        as_good.append([kind, *(f"{count} of {len(by_set)}" for count in counts)])
    print_markdown(["ensemble", *ways], means)
    print_markdown(["refined as good as", *ways], as_good)
    return [["ensemble", *ways], *means]


def score_mixed(X: np.ndarray, y: np.ndarray, seed: int) -> dict[str, float]:
    """Return the adjusted Rand index of several methods, and of CoHiRF whose views they are."""
    k = len(np.unique(y))
    methods = several_methods(X, k)
    alone = {
        type(one).__name__: adjusted_rand_score(y, seeded(one, seed).fit_predict(X))
        for one in methods
    }
    mixed = cohirf.CoHiRF(views=2 * methods, n_clusters=k, random_state=seed)
    return {**alone, "together": adjusted_rand_score(y, mixed.fit_predict(X))}


def compare_mixed(n_seeds: int, n_sets: int | None, results: Results) -> list[list[str]]:
    """Print a row for each data set, and how often the views together are as good as the best
    method alone.

    Returns the table of the data sets.
    """
    rows = []
    n_best = 0
    n_mean = 0
    for name, X, y in islice(all_sets(), n_sets):
        some = np.sort(np.random.default_rng(0).permutation(len(X))[:MAX_ROWS])
        found = [
            results.of(("mixed", name, seed), partial(score_mixed, X[some], y[some], seed))
            for seed in range(n_seeds)
        ]
        means = {way: float(np.mean([figures[way] for figures in found])) for way in found[0]}
        *alone, together = means.values()
        n_best += together >= max(alone) - SAME
        n_mean += together >= np.mean(alone) - SAME
        rows.append([name, *(f"{value:.3f}" for value in means.values())])
    print_markdown(["data set", *means], rows)
    print(
        f"together as good as the best alone: {n_best} of {len(rows)}; as their mean: {n_mean} of "
        f"{len(rows)}"
    )
    return [["data set", *means], *rows]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--ensembles", nargs="+", default=ENSEMBLES, choices=ENSEMBLES)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", type=int, default=None)
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, ensembles=["seeds"], seeds=1, sets=2)
    warnings.simplefilter("ignore")
    with threadpool_limits(1):
        results = Results(arguments.results / "voting.jsonl")
        write_table(
            arguments.write,
            "voting",
            compare(arguments.ensembles, arguments.seeds, arguments.sets, results),
        )
        write_table(
            arguments.write,
            "voting_methods",
            compare_mixed(arguments.seeds, arguments.sets, results),
        )


if __name__ == "__main__":
    main()
