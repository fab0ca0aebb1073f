"""Do the defaults give a better answer than the base method alone, in one batch and in many?

    python -m benchmarks.quality.answers [--bases K-Means Ward] [--seeds 5] [--sets 14] [--batches 1
    8 40] [--write]

For each base method: the mean adjusted Rand index over 13 real data sets and one of blobs, of the
method alone (with one start), of K-Means with ten starts,
of CoHiRF as published, and of CoHiRF with its defaults; then the mean difference between the
defaults and the method alone, with its standard error over the data sets, and in how many fits the
number of clusters was the one asked for. Features are standardised, methods that are told the
number of clusters are told the true one, nothing is tuned. DBSCAN has twice the median distance to
the fifth neighbour as eps, HDBSCAN min_cluster_size=15. GMM has full covariances for up to 64
features, else diagonal ones. Spectral clustering works on a graph of 10 nearest neighbours.

Large data sets are sampled: at most 2,000 rows in one batch, at most 6,000 in several. Several
batches are compared on the six sets with at least 1,400 rows, on chameleon-t4-8k instead of those
of scikit-learn, and without DBSCAN and HDBSCAN, which are not told a number of clusters. Results go
to a file, one line each, and are not computed again.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
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
    add_write_option,
    all_sets,
    make_parser,
    parse,
    read_file,
    say_difference,
    score_fit,
    seeded,
    show_table,
)
from cohirf import CoHiRF

BASES = ("K-Means", "GMM", "Ward", "spectral", "DBSCAN", "HDBSCAN")
FINDS_NUMBER = ("DBSCAN", "HDBSCAN")
RIVAL = "K-Means, 10 starts"
PUBLISHED = "as published"
OURS = "defaults"
LARGE_SETS = ("coil-20", "satimage", "usps", "pendigits", "shuttle", "chameleon-t4-8k")
MAX_ROWS = 2000
MAX_ROWS_IN_BATCHES = 6000


def base_method(name: str, X: np.ndarray, k: int) -> Any:
    if name == "DBSCAN":
        return DBSCAN(
            eps=2 * float(np.median(NearestNeighbors(n_neighbors=6).fit(X).kneighbors()[0][:, 4]))
        )
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
        RIVAL: KMeans(k, n_init=10),
        PUBLISHED: CoHiRF.as_published(base, batch_size=batch_size),
        OURS: CoHiRF(base, batch_size=batch_size),
    }


def data_sets(n_batches: int, n_sets: int | None) -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    if n_batches == 1:
        yield from islice(all_sets(), n_sets)
        return
    for name in LARGE_SETS[:n_sets]:
        data = read_file(name)
        if data is not None and min(len(data[0]), MAX_ROWS_IN_BATCHES) / n_batches >= 2 * len(
            np.unique(data[1])
        ):
            yield name, *data


def sample(X: np.ndarray, n_batches: int) -> np.ndarray:
    limit = MAX_ROWS if n_batches == 1 else MAX_ROWS_IN_BATCHES
    return np.sort(np.random.default_rng(0).permutation(len(X))[:limit])


@dataclass
class Scores:
    """What the variants of a base method have on each data set.

    Attributes
    ----------
    by_variant : dict of lists of float
        The mean adjusted Rand index of all seeds, for each variant and data set.
    sets : list of str
        The names of the data sets.
    asked, right : int
        How many fits were told a number of clusters, and how many of them returned it.
    """

    by_variant: dict[str, list[float]] = field(default_factory=dict)
    sets: list[str] = field(default_factory=list)
    asked: int = 0
    right: int = 0

    def mean(self, variant: str) -> str:
        """Return the mean over the data sets."""
        return f"{np.mean(self.by_variant[variant]):.3f}"

    def gain_over(self, variant: str) -> str:
        """Return the difference between the defaults and another variant, with its standard
        error.
        """
        return say_difference(np.array(self.by_variant[OURS]) - np.array(self.by_variant[variant]))

    @property
    def number_as_asked(self) -> str:
        """Return in how many fits the number of clusters was the one asked for."""
        return f"{self.right} of {self.asked}" if self.asked else "-"


def score_base(
    base_name: str, n_batches: int, n_seeds: int, n_sets: int | None, results: Results
) -> Scores:
    """Fit the variants of a base method to all data sets."""
    scores = Scores()
    for name, X, y in data_sets(n_batches, n_sets):
        chosen = sample(X, n_batches)
        k = len(np.unique(y))
        X = X[chosen]
        y = y[chosen]
        base = base_method(base_name, X, k)
        batch_size = None if n_batches == 1 else len(X) // n_batches
        scores.sets.append(name)
        for variant, model in variants(base, k, batch_size).items():
            owner = "K-Means" if variant == RIVAL else base_name  # the rival has no base method
            found = [
                results.of(
                    (name, owner, n_batches, variant, seed),
                    partial(score_fit, seeded(model, seed), X, y),
                )
                for seed in range(n_seeds)
            ]
            scores.by_variant.setdefault(variant, []).append(
                float(np.mean([figures["ari"] for figures in found]))
            )
            if variant == OURS and base_name not in FINDS_NUMBER:
                scores.asked += n_seeds
                scores.right += sum(figures["clusters"] == k for figures in found)
        print(f"{name}, {base_name}, {n_batches} batches", flush=True)
    return scores


def table_of_means(by_base: dict[str, Scores]) -> list[list[str]]:
    """Return the table of all base methods in one batch."""
    columns = ("alone", RIVAL, PUBLISHED, OURS)
    header = [
        "base method",
        *columns,
        "defaults - alone",
        f"defaults - {RIVAL}",
        "number as asked for",
    ]
    return [header] + [
        [
            base,
            *map(scores.mean, columns),
            *map(scores.gain_over, ("alone", RIVAL)),
            scores.number_as_asked,
        ]
        for base, scores in by_base.items()
    ]


def table_of_batches(by_batches: dict[int, dict[str, Scores]]) -> list[list[str]]:
    """Return the table of all base methods in several batches."""
    columns = ("alone", PUBLISHED, OURS)
    return [["base method", "batches", *columns, "defaults - alone"]] + [
        [base, str(n_batches), *map(scores.mean, columns), scores.gain_over("alone")]
        for n_batches, by_base in by_batches.items()
        for base, scores in by_base.items()
    ]


def table_of_sets(scores: Scores) -> list[list[str]]:
    """Return the scores of K-Means on each data set."""
    columns = {"one start": "alone", "ten starts": RIVAL, "CoHiRF(n_clusters=k)": OURS}
    found = zip(
        scores.sets, *(scores.by_variant[variant] for variant in columns.values()), strict=True
    )
    return [["data set", *columns]] + [
        [name, *(f"{score:.3f}" for score in of_set)] for name, *of_set in found
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bases", nargs="+", default=BASES, choices=BASES)
    parser.add_argument("--batches", nargs="+", type=int, default=[1, 8, 40])
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--sets", type=int, default=None)
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, bases=["K-Means"], batches=[1], seeds=1, sets=3)
    warnings.simplefilter("ignore")
    results = Results(arguments.results / "answers.jsonl")
    found: dict[int, dict[str, Scores]] = {}
    with threadpool_limits(1):
        for n_batches in arguments.batches:
            bases = [name for name in arguments.bases if n_batches == 1 or name not in FINDS_NUMBER]
            found[n_batches] = {
                base: score_base(base, n_batches, arguments.seeds, arguments.sets, results)
                for base in bases
            }
    in_one = found.pop(1, {})
    tables = {"answers": table_of_means(in_one)} if in_one else {}
    if "K-Means" in in_one:
        tables["answers_sets"] = table_of_sets(in_one["K-Means"])
    if found:
        tables["answers_in_batches"] = table_of_batches(found)
    for name, cells in tables.items():
        show_table(arguments.write, name, cells)


if __name__ == "__main__":
    main()
