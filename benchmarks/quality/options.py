"""What do options beyond the paper gain over the base method alone, and what do they cost?

    python -m benchmarks.quality.options [--bases K-Means Ward] [--seeds 3] [--sets 14]
    [--max-features 1.0]

14 data sets, 5 base methods, 6 variants; the tables are Markdown. Features are standardised,
methods with a fixed number of clusters have the true one, nothing is tuned. DBSCAN has
min_samples=5 and the median distance to the fifth neighbour as eps, and clusters below 5 rows count
as noise. GMM has diagonal covariances, spectral clustering works on a graph of 10 nearest
neighbours. Large data sets are sampled, at most MAX_ROWS rows for each method and seed, the same
rows for the method alone and in CoHiRF. Medoids have weights where the method takes sample_weight;
weight_substitutes.py is about the others.

Results go to a file, one line each, and are not computed again. Times are processor times on one
thread.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    add_results_option,
    add_write_option,
    all_sets,
    make_parser,
    parse,
    print_markdown,
    score_fit,
    show_table,
)
from cohirf import CoHiRF, FeatureScreen
from cohirf.algorithm.base_method import find_weight_argument

MAX_ROWS = {"K-Means": 10_000, "GMM": 3000, "DBSCAN": 3000, "Ward": 3000, "spectral": 1000}
MAJORITY: dict[str, Any] = {"consensus": "majority", "views": 10, "medoid_weights": True}
VARIANTS: dict[str, dict[str, Any] | None] = {
    "alone": None,
    "strict": {},
    "relaxed": {"consensus": "relaxed"},
    "weights": {"medoid_weights": True},
    "majority + weights": MAJORITY,
    "with screening": MAJORITY | {"screened": True},
}
TIE = 0.01


def radius(X: np.ndarray) -> float:
    return float(np.median(NearestNeighbors(n_neighbors=6).fit(X).kneighbors(X)[0][:, 5]))


def base_method(name: str, X: np.ndarray, k: int) -> Any:
    if name == "DBSCAN":
        return DBSCAN(eps=radius(X))
    return {
        "K-Means": KMeans(k, n_init=1),
        "GMM": GaussianMixture(k, covariance_type="diag", reg_covar=1e-3),
        "Ward": AgglomerativeClustering(k),
        "spectral": SpectralClustering(k, affinity="nearest_neighbors"),
    }[name]


def takes_weights(base: Any) -> bool:
    return find_weight_argument(base) is not None


def variants_of(base_name: str) -> dict[str, dict[str, Any] | None]:
    """Return the variants of a base method: for those that take no weights, all but one."""
    skipped = () if takes_weights(base_method(base_name, np.eye(7), 2)) else ("weights",)
    return {variant: options for variant, options in VARIANTS.items() if variant not in skipped}


@dataclass(frozen=True)
class Case:
    """Rows that a base method is run on, alone and in CoHiRF, with one seed."""

    data_set: str
    base: str
    seed: int
    X: np.ndarray
    y: np.ndarray
    n_classes: int

    def model(self, options: dict[str, Any] | None, max_features: float) -> Any:
        """Return a variant of the base method, with the number of classes of the whole data set."""
        return make_model(
            base_method(self.base, self.X, self.n_classes), options, max_features, self.seed
        )


def all_cases(bases: Sequence[str], n_seeds: int, n_sets: int | None) -> Iterator[Case]:
    for name, X, y in islice(all_sets(), n_sets):
        for base in bases:
            for seed in range(n_seeds):
                rows = sample(X, base, seed)
                yield Case(name, base, seed, X[rows], y[rows], len(np.unique(y)))
            print(f"{name}, {base}", flush=True)


def make_model(base: Any, options: dict[str, Any] | None, max_features: float, seed: int) -> Any:
    if options is None:
        return base.set_params(random_state=seed) if "random_state" in base.get_params() else base
    if not takes_weights(base):
        options = {name: value for name, value in options.items() if name != "medoid_weights"}
    if isinstance(base, DBSCAN):
        options = options | {"min_cluster_size": 5}
    options = dict(options)
    screened = options.pop("screened", False)
    if isinstance(base, DBSCAN):  # the distances of a view are smaller
        base.set_params(eps=base.eps * np.sqrt(max_features))
    model = CoHiRF.as_published(base, max_features=max_features, random_state=seed, **options)
    return make_pipeline(FeatureScreen(random_state=seed), model) if screened else model


def sample(X: np.ndarray, base_name: str, seed: int) -> np.ndarray:
    if len(X) <= MAX_ROWS[base_name]:
        return np.arange(len(X))
    return np.random.default_rng(seed).choice(len(X), MAX_ROWS[base_name], replace=False)


def fit_variant(
    case: Case, options: dict[str, Any] | None, max_features: float
) -> dict[str, float]:
    return score_fit(case.model(options, max_features), case.X, case.y)


def run(
    results: Results,
    bases: Sequence[str],
    max_features: float,
    n_seeds: int,
    n_sets: int | None,
    variants: Sequence[str] = tuple(VARIANTS),
) -> list[str]:
    """Fit all variants that the results do not have yet, and return the names of the data sets."""
    names = []
    for case in all_cases(bases, n_seeds, n_sets):
        names.append(case.data_set)
        for variant, options in variants_of(case.base).items():
            if variant in variants:
                fraction = 1.0 if options is None else max_features
                key = (case.data_set, case.base, variant, fraction, case.seed)
                results.of(key, partial(fit_variant, case, options, max_features))
    return list(dict.fromkeys(names))


def collect(
    results: Results, base: str, variant: str, max_features: float, names: list[str]
) -> np.ndarray:
    """Return mean ARI, clusters and seconds for each data set."""
    rows = []
    for name in names:
        of_set = [
            entry
            for key, entry in results.found.items()
            if key[:4] == (name, base, variant, max_features)
        ]
        rows.append(
            [np.mean([entry[what] for entry in of_set]) for what in ("ari", "clusters", "seconds")]
        )
    return np.array(rows)


def summarize(
    results: Results, bases: Sequence[str], max_features: float, names: list[str]
) -> list[list[str]]:
    """Return a table with a row for each base method and variant: means over the data sets."""
    rows = []
    for base in bases:
        alone = collect(results, base, "alone", 1.0, names)
        for variant, options in variants_of(base).items():
            found = (
                alone if options is None else collect(results, base, variant, max_features, names)
            )
            gain = found[:, 0] - alone[:, 0]
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            more, slower = (np.exp(np.mean(np.log(found[:, i] / alone[:, i]))) for i in (1, 2))
            wins = [str((gain > TIE).sum()), str((gain < -TIE).sum())]
            means = [f"{found[:, 0].mean():.3f}", f"{gain.mean():+.3f} ± {error:.3f}"]
            rows.append([base, variant, *means, *wins, f"{more:.2f}", f"{slower:.1f}"])
    columns = [
        "base",
        "variant",
        "mean ARI",
        "difference",
        "wins",
        "losses",
        "clusters / alone",
        "time / alone",
    ]
    return [columns, *rows]


def print_details(
    results: Results, bases: Sequence[str], max_features: float, names: list[str]
) -> None:
    """Print a row for each data set and base method."""
    rows = []
    for name in names:
        for base in bases:
            cells = [
                f"{collect(results, base, variant, 1.0 if options is None else max_features, [name])[0, 0]:.3f}"
                if variant in variants_of(base)
                else ""
                for variant, options in VARIANTS.items()
            ]
            rows.append([name, base, *cells])
    print_markdown(["data set", "base", *VARIANTS], rows)


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bases", nargs="+", default=list(MAX_ROWS), choices=list(MAX_ROWS))
    parser.add_argument("--max-features", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", type=int, help="only the first so many data sets")
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, bases=["K-Means", "DBSCAN"], seeds=1, sets=2)
    # of many small levels: duplicate rows, unconnected graphs, unfinished iterations
    warnings.simplefilter("ignore")
    results = Results(arguments.results / "options.jsonl")
    with threadpool_limits(1):
        names = run(
            results, arguments.bases, arguments.max_features, arguments.seeds, arguments.sets
        )
    show_table(
        arguments.write,
        "options",
        summarize(results, arguments.bases, arguments.max_features, names),
    )
    print_details(results, arguments.bases, arguments.max_features, names)


if __name__ == "__main__":
    main()
