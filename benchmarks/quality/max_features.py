"""What should `max_features` default to, and what does CoHiRF around K-Means gain or lose against
K-Means alone?

Features are standardised, K-Means (one initialisation) has the true number of clusters, nothing is
tuned. Data sets that scikit-learn does not bring are read from Parquet files in the folder that
COHIRF_DATA names.

    python -m benchmarks.quality.max_features [--seeds 5] [--iris-seeds 50] [--sets 13]
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import (
    Table,
    add_write_option,
    make_parser,
    parse,
    real_data_sets,
    standardise,
)
from cohirf import CoHiRF

FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
VARIANTS: dict[str, dict[str, Any]] = {
    "strict": {},
    "relaxed": {"consensus": "relaxed"},
    "strict + weights": {"medoid_weights": True},
    "relaxed + weights": {"consensus": "relaxed", "medoid_weights": True},
}


def scores(model: Any, X: np.ndarray, y: np.ndarray, n_seeds: int) -> tuple[np.ndarray, float]:
    """Return the adjusted Rand index of each seed, and the mean number of clusters."""
    found = []
    clusters = []
    for seed in range(n_seeds):
        labels = model.set_params(random_state=seed).fit(X).labels_
        found.append(adjusted_rand_score(y, labels))
        clusters.append(len(np.unique(labels)))
    return np.array(found), float(np.mean(clusters))


def iris_table(n_seeds: int) -> Table:
    X, y = load_iris(return_X_y=True)
    print(f"\nIris, {n_seeds} seeds, true k = 3, default max_features")
    figures = dict.fromkeys(("mean", "std", "min", "median", "max"), ">6.3f")
    table = Table({"method": "<26"} | figures | {"clusters": ">9.1f"})
    models = {"K-Means": KMeans(3), "K-Means, n_init=10": KMeans(3, n_init=10)}
    models |= {
        f"CoHiRF, {name}": CoHiRF.as_published(KMeans(3), **options)
        for name, options in VARIANTS.items()
    }
    for name, model in models.items():
        ari, clusters = scores(model, standardise(X), y, n_seeds)
        table.row(name, ari.mean(), ari.std(ddof=1), ari.min(), np.median(ari), ari.max(), clusters)
    return table


def max_features_tables(n_seeds: int, n_sets: int | None) -> tuple[Table, Table]:
    """Print the index of each data set, then means and regrets over them; return both tables."""
    print(f"\nMean adjusted Rand index over {n_seeds} seeds, 5 views, by max_features")
    fractions = {str(fraction): ">5.3f" for fraction in FRACTIONS}
    table = Table({"data set": "<18", "variant": "<18", "K-Means": ">8.3f"} | fractions)
    found: dict[str, list[list[float]]] = {variant: [] for variant in VARIANTS}
    for name, X, y in islice(real_data_sets(), n_sets):
        k = len(np.unique(y))
        alone = scores(KMeans(k), X, y, n_seeds)[0].mean()
        for variant, options in VARIANTS.items():
            models = [
                CoHiRF.as_published(KMeans(k), max_features=fraction, **options)
                for fraction in FRACTIONS
            ]
            means = [scores(model, X, y, n_seeds)[0].mean() for model in models]
            found[variant].append([alone, *means])
            table.row(name, variant, alone, *means)
    summary = Table({"variant": "<18", "figure": "<18", "K-Means": ">8.3f"} | fractions)
    for variant, rows in found.items():
        of_fractions = np.array(rows)[:, 1:]
        regret = of_fractions.max(axis=1, keepdims=True) - of_fractions
        summary.row(variant, "mean ARI", *np.mean(rows, axis=0))
        summary.row(variant, "mean regret", "", *regret.mean(axis=0))
    return table, summary


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iris-seeds", type=int, default=50)
    parser.add_argument("--sets", type=int, help="only the first so many data sets")
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=1, iris_seeds=3, sets=3)
    # duplicate rows, and levels that end at max_iter
    warnings.simplefilter("ignore", ConvergenceWarning)
    iris_table(arguments.iris_seeds).write(arguments.write, "iris")
    of_sets, summary = max_features_tables(arguments.seeds, arguments.sets)
    of_sets.write(arguments.write, "max_features_sets")
    summary.write(arguments.write, "max_features")


if __name__ == "__main__":
    main()
