"""Cluster quality on real data: K-Means alone against CoHiRF around it, and what `max_features` should default to.

Features are standardised, K-Means (one initialisation) is told the true number of clusters, nothing is tuned. Data
sets that scikit-learn does not bring are read from Parquet files in the folder that COHIRF_DATA names.

    python benchmarks/quality.py [--seeds 5] [--iris-seeds 50]
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF

FRACTIONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
BUNDLED = {"iris": load_iris, "wine": load_wine, "breast cancer": load_breast_cancer, "digits": load_digits}
FILES = (
    "alizadeh-2000-v2",
    "garber-2001",
    "golub-1999-v2",
    "pbmc68k-reduced",
    "coil-20",
    "satimage",
    "usps",
    "pendigits",
    "shuttle",
)
VARIANTS: dict[str, dict[str, Any]] = {
    "strict": {},
    "relaxed": {"consensus": "relaxed"},
    "strict + weights": {"medoid_weights": True},
    "relaxed + weights": {"consensus": "relaxed", "medoid_weights": True},
}


def standardise(X: np.ndarray) -> np.ndarray:
    X = X[:, X.std(axis=0) > 0].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    for name, load in BUNDLED.items():
        X, y = load(return_X_y=True)
        yield name, standardise(X), y
    folder = Path(os.environ.get("COHIRF_DATA", "../shared/data"))
    for name in FILES:
        path = folder / f"{name}.parquet"
        if not path.exists():
            print(f"{name}: skipped, {path} does not exist; set COHIRF_DATA")
            continue
        import pandas as pd

        table = pd.read_parquet(path)
        yield name, standardise(table.drop(columns="label").to_numpy(dtype=float)), table["label"].to_numpy()


def scores(model: Any, X: np.ndarray, y: np.ndarray, n_seeds: int) -> tuple[np.ndarray, float]:
    """Return the adjusted Rand index of each seed, and the mean number of clusters."""
    found, clusters = [], []
    for seed in range(n_seeds):
        labels = model.set_params(random_state=seed).fit(X).labels_
        found.append(adjusted_rand_score(y, labels))
        clusters.append(len(np.unique(labels)))
    return np.array(found), float(np.mean(clusters))


def iris_table(n_seeds: int) -> None:
    X, y = load_iris(return_X_y=True)
    print(f"\nIris, {n_seeds} seeds, true k = 3, default max_features")
    print(f"{'method':<24} {'mean':>6} {'std':>6} {'min':>6} {'median':>6} {'max':>6} {'clusters':>9}")
    models = {"K-Means": KMeans(3), "K-Means, n_init=10": KMeans(3, n_init=10)}
    models |= {f"CoHiRF, {name}": CoHiRF(KMeans(3), **options) for name, options in VARIANTS.items()}
    for name, model in models.items():
        ari, clusters = scores(model, standardise(X), y, n_seeds)
        figures = (ari.mean(), ari.std(ddof=1), ari.min(), np.median(ari), ari.max())
        print(f"{name:<24} " + " ".join(f"{figure:>6.3f}" for figure in figures) + f" {clusters:>9.1f}", flush=True)


def max_features_table(n_seeds: int) -> None:
    print(f"\nMean adjusted Rand index over {n_seeds} seeds, 5 views, by max_features")
    print(f"{'data set':<18} {'consensus':<18} {'K-Means':>8} " + " ".join(f"{f:>5}" for f in FRACTIONS))
    table: dict[str, list[list[float]]] = {}
    for name, X, y in data_sets():
        k = len(np.unique(y))
        alone = scores(KMeans(k), X, y, n_seeds)[0].mean()
        for variant, options in VARIANTS.items():
            models = [CoHiRF(KMeans(k), max_features=fraction, **options) for fraction in FRACTIONS]
            means = [scores(model, X, y, n_seeds)[0].mean() for model in models]
            table.setdefault(variant, []).append([alone, *means])
            print(f"{name:<18} {variant:<18} {alone:>8.3f} " + " ".join(f"{m:>5.3f}" for m in means), flush=True)
    for variant, rows in table.items():
        mean = np.mean(rows, axis=0)
        print(
            f"{'mean of ' + str(len(rows)):<18} {variant:<18} {mean[0]:>8.3f} "
            + " ".join(f"{m:>5.3f}" for m in mean[1:])
        )
    regret = {
        name: np.max(rows, axis=1, keepdims=True) - rows
        for name, rows in table.items()
        for rows in [np.array(rows)[:, 1:]]
    }
    for variant, rows in regret.items():
        print(f"{'mean regret':<18} {variant:<18} {'':>8} " + " ".join(f"{m:>5.3f}" for m in rows.mean(axis=0)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--iris-seeds", type=int, default=50)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ConvergenceWarning)  # duplicate rows, and levels that end at max_iter
    iris_table(arguments.iris_seeds)
    max_features_table(arguments.seeds)


if __name__ == "__main__":
    main()
