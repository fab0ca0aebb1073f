"""The paper's four base methods, alone and in CoHiRF, on five real data sets.

Features are standardised. K-Means, kernel K-Means and SC-SRGF are told the true number of clusters; kernel K-Means has
gamma = 1 / number of features; DBSCAN has min_samples=5 and the 90th percentile of the distances to the fifth neighbour
as eps. Nothing is tuned. SC-SRGF alone cannot hold the rows of shuttle; CoHiRF runs it there in batches of 500. Data
sets are read as in benchmarks/quality.py.

    python benchmarks/base_methods.py [--seeds 5]
    python benchmarks/base_methods.py --hypercube    # SC-SRGF in batches, 10,000 rows, 10,000 noise features
"""

from __future__ import annotations

import argparse
import time
import warnings
from typing import Any

import numpy as np
from quality import data_sets
from sklearn.cluster import DBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, KernelKMeans

WANTED = ("iris", "coil-20", "shuttle", "alizadeh-2000-v2", "garber-2001")
MAX_SPECTRAL_ROWS = 5000
CONSENSUS: dict[str, dict[str, Any]] = {"strict": {}, "relaxed": {"consensus": "relaxed"}}


def radius(X: np.ndarray) -> float:
    rows = X if len(X) <= 5000 else X[np.random.default_rng(0).choice(len(X), 5000, replace=False)]
    distances = NearestNeighbors(n_neighbors=6).fit(X).kneighbors(rows)[0][:, 5]
    return float(np.percentile(distances, 90))


def methods(X: np.ndarray, k: int) -> dict[str, Any]:
    return {
        "K-Means": KMeans(k),
        "kernel K-Means": KernelKMeans(k, gamma=1 / X.shape[1]),
        "DBSCAN": DBSCAN(eps=radius(X)),
        "SC-SRGF": SCSRGF(k),
    }


def mean_score(model: Any, X: np.ndarray, y: np.ndarray, n_seeds: int) -> str:
    found = []
    for seed in range(n_seeds if "random_state" in model.get_params() else 1):
        if "random_state" in model.get_params():
            model.set_params(random_state=seed)
        found.append(adjusted_rand_score(y, model.fit(X).labels_))
    spread = f"±{np.std(found, ddof=1):.2f}" if len(found) > 1 else ""
    return f"{np.mean(found):.2f}{spread}"


def table(n_seeds: int) -> None:
    print(f"{'data set':<18} {'base':<15} {'alone':>10} {'strict':>10} {'relaxed':>10} {'weights':>10}   seconds")
    for name, X, y in data_sets():
        if name not in WANTED:
            continue
        for base_name, base in methods(X, len(np.unique(y))).items():
            started = time.perf_counter()
            in_batches = base_name == "SC-SRGF" and len(X) > MAX_SPECTRAL_ROWS
            common = (
                {"n_views": 1, "batch_size": 500} if in_batches else {"n_views": 2} if base_name == "SC-SRGF" else {}
            )
            seeds = 1 if in_batches else n_seeds
            scores = ["-" if in_batches else mean_score(base, X, y, seeds)]
            for options in CONSENSUS.values():
                scores.append(mean_score(CoHiRF(base, **common, **options), X, y, seeds))
                if in_batches:  # with one view, relaxed is strict
                    scores.append("-")
                    break
            takes_weights = base_name != "SC-SRGF"
            weighted = CoHiRF(base, medoid_weights=True) if takes_weights else None
            scores.append(mean_score(weighted, X, y, seeds) if weighted is not None else "-")
            seconds = time.perf_counter() - started
            print(
                f"{name:<18} {base_name:<15} " + " ".join(f"{s:>10}" for s in scores) + f"   {seconds:.0f}", flush=True
            )


def hypercube(n_rows: int = 10_000, n_informative: int = 10, n_noise: int = 10_000) -> None:
    """Five corners of a hypercube with unit spread, and noise features."""
    rng = np.random.default_rng(0)
    corners = rng.choice(2**n_informative, 5, replace=False)
    bits = (corners[:, None] >> np.arange(n_informative)) & 1
    y = rng.integers(0, 5, n_rows)
    X = np.empty((n_rows, n_informative + n_noise), dtype=np.float32)
    X[:, :n_informative] = bits[y] * 6 * np.sqrt(n_informative) + rng.standard_normal((n_rows, n_informative))
    X[:, n_informative:] = rng.standard_normal((n_rows, n_noise), dtype=np.float32)
    started = time.perf_counter()
    model = CoHiRF(SCSRGF(5), n_views=1, batch_size=1000, random_state=0, verbose=1).fit(X)
    print(f"ARI {adjusted_rand_score(y, model.labels_):.3f}, {model.hierarchy_}, {time.perf_counter() - started:.0f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--hypercube", action="store_true")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")
    if arguments.hypercube:
        hypercube()
    else:
        table(arguments.seeds)


if __name__ == "__main__":
    main()
