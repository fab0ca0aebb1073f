"""Do the defaults give a better answer than the base method alone, in one batch and in many?

    python -m benchmarks.quality.answers [--bases K-Means Ward] [--seeds 5] [--sets 14] [--batches 1 8 40]

For each base method: the mean adjusted Rand index over the data sets, of the method alone, of K-Means with ten starts,
of CoHiRF as published, and of CoHiRF with its defaults; then the mean difference between the defaults and the method
alone, with its standard error over the data sets, and in how many fits the number of clusters was the one asked for.
Features are standardised, methods that are told the number of clusters are told the true one, nothing is tuned. DBSCAN
has twice the median distance to the fifth neighbour as eps, HDBSCAN min_cluster_size=15. GMM has full covariances for
up to 64 features, else diagonal ones. Spectral clustering works on a graph of 10 nearest neighbours.

Large data sets are sampled: at most 2,000 rows in one batch, at most 6,000 in several. Several batches are compared on
the six sets with at least 1,400 rows, on chameleon-t4-8k instead of those of scikit-learn, and without DBSCAN and
HDBSCAN, which are not told a number of clusters. Results go to a file, one line each, and are not computed again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    add_results_option,
    all_sets,
    make_parser,
    parse,
    print_markdown,
    read_file,
    score_fit,
    seeded,
)
from cohirf import CoHiRF

BASES = ("K-Means", "GMM", "Ward", "spectral", "DBSCAN", "HDBSCAN")
FINDS_NUMBER = ("DBSCAN", "HDBSCAN")
LARGE_SETS = ("coil-20", "satimage", "usps", "pendigits", "shuttle", "chameleon-t4-8k")
MAX_ROWS, MAX_ROWS_IN_BATCHES = 2000, 6000


def base_method(name: str, X: np.ndarray, k: int) -> Any:
    if name == "DBSCAN":
        return DBSCAN(eps=2 * float(np.median(NearestNeighbors(n_neighbors=6).fit(X).kneighbors()[0][:, 4])))
    return {
        "K-Means": KMeans(k, n_init=1),
        "GMM": GaussianMixture(k, covariance_type="full" if X.shape[1] <= 64 else "diag"),
        "Ward": AgglomerativeClustering(k),
        "spectral": SpectralClustering(k, affinity="nearest_neighbors"),
        "HDBSCAN": HDBSCAN(min_cluster_size=15, copy=True),
    }[name]


def variants(base: Any, k: int, batch_size: int | None) -> dict[str, Any]:
    return {
        "alone": base,
        "K-Means, 10 starts": KMeans(k, n_init=10),
        "as published": CoHiRF.as_published(base, batch_size=batch_size),
        "defaults": CoHiRF(base, batch_size=batch_size),
    }


def data_sets(n_batches: int, n_sets: int | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    if n_batches == 1:
        yield from islice(all_sets(), n_sets)
        return
    for name in LARGE_SETS[:n_sets]:
        data = read_file(name)
        if data is not None and min(len(data[0]), MAX_ROWS_IN_BATCHES) / n_batches >= 2 * len(np.unique(data[1])):
            yield name, *data


def sample(X: np.ndarray, n_batches: int) -> np.ndarray:
    limit = MAX_ROWS if n_batches == 1 else MAX_ROWS_IN_BATCHES
    return np.sort(np.random.default_rng(0).permutation(len(X))[:limit])


def compare(bases: Sequence[str], n_batches: int, n_seeds: int, n_sets: int | None, results: Results) -> None:
    """Print the table of all base methods for a number of batches."""
    rows = []
    for base_name in bases:
        by_variant: dict[str, list[float]] = {}
        asked = right = 0
        for name, X, y in data_sets(n_batches, n_sets):
            chosen, k = sample(X, n_batches), len(np.unique(y))
            X, y = X[chosen], y[chosen]
            base = base_method(base_name, X, k)
            batch_size = None if n_batches == 1 else len(X) // n_batches
            for variant, model in variants(base, k, batch_size).items():
                found = [
                    results.of(
                        (name, base_name, n_batches, variant, seed), partial(score_fit, seeded(model, seed), X, y)
                    )
                    for seed in range(n_seeds)
                ]
                by_variant.setdefault(variant, []).append(float(np.mean([figures["ari"] for figures in found])))
                if variant == "defaults" and base_name not in FINDS_NUMBER:
                    asked, right = asked + n_seeds, right + sum(figures["clusters"] == k for figures in found)
            print(f"{name}, {base_name}, {n_batches} batches", flush=True)
        means = {variant: f"{np.mean(scores):.3f}" for variant, scores in by_variant.items()}
        defaults = np.array(by_variant["defaults"])
        differences = [_difference(defaults, np.array(by_variant[other])) for other in ("alone", "K-Means, 10 starts")]
        rows.append([base_name, *means.values(), *differences, f"{right} of {asked}" if asked else "-"])
    header = ["base method", *means, "defaults - alone", "defaults - K-Means, 10 starts", "number as asked for"]
    print_markdown(header, rows)


def _difference(ours: np.ndarray, other: np.ndarray) -> str:
    difference = ours - other
    return f"{difference.mean():+.3f} ± {difference.std(ddof=1) / np.sqrt(len(difference)):.3f}"


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bases", nargs="+", default=BASES, choices=BASES)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 40])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", type=int, default=None)
    add_results_option(parser)
    arguments = parse(parser, argv, bases=["K-Means"], batches=[1], seeds=1, sets=3)
    warnings.simplefilter("ignore")
    results = Results(arguments.results / "answers.jsonl")
    with threadpool_limits(1):
        for n_batches in arguments.batches:
            bases = [name for name in arguments.bases if n_batches == 1 or name not in FINDS_NUMBER]
            compare(bases, n_batches, arguments.seeds, arguments.sets, results)


if __name__ == "__main__":
    main()
