"""Options beyond the paper: what they gain over the base method alone, what they cost, how much noise they bear.

    python benchmarks/beyond.py --out results             # 14 data sets, 5 base methods, 6 variants: a Markdown table
    python benchmarks/beyond.py --out results --hypercube # noise features, raw and standardised
    python benchmarks/beyond.py --out results --nuisance  # noise and correlated blocks beside real features
    python benchmarks/beyond.py --out results --verdict   # how often diagnose() is right about the base method alone
    python benchmarks/beyond.py --cost                    # majority against strict, screening against one K-Means

Features are standardised, methods that want a number of clusters are told the true one, nothing is tuned. DBSCAN has
min_samples=5 and the median distance to the fifth neighbour as eps, and clusters below 5 rows count as noise. GMM has
diagonal covariances, spectral clustering works on a graph of 10 nearest neighbours. Of data sets with more rows than
MAX_ROWS says for a method, each seed draws a sample, the same one for the method alone and in CoHiRF. Medoids have
weights where the method takes sample_weight; benchmarks/weight_substitutes.py is about the others. Data sets are read
as in benchmarks/quality.py.

Results go to a file in the folder that --out names, one line each, and are not computed again. Times are processor
times on one thread.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from quality import data_sets, standardise
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from cohirf import CoHiRF
from cohirf.algorithm.base_method import find_weight_argument
from cohirf.algorithm.screening import screen_features
from cohirf.diagnosis.verdict import GAINED, LOST

MAX_ROWS = {"K-Means": 10_000, "GMM": 3000, "DBSCAN": 3000, "Ward": 3000, "spectral": 1000}
MAJORITY: dict[str, Any] = {"consensus": "majority", "n_views": 10, "medoid_weights": True}
VARIANTS: dict[str, dict[str, Any] | None] = {
    "alone": None,
    "strict": {},
    "relaxed": {"consensus": "relaxed"},
    "weights": {"medoid_weights": True},
    "majority + weights": MAJORITY,
    "+ screening": MAJORITY | {"feature_screen": True},
}
NOISE = (10, 100, 1000, 10_000)
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


def all_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    yield from data_sets()
    X, y = make_blobs(5000, 20, centers=10, cluster_std=5.0, random_state=0)
    yield "blobs", standardise(X), y


class Results:
    """Lines of JSON that outlive the run; each has a key, by which it is found again."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        lines = path.read_text().splitlines() if path.exists() else []
        self.found = {tuple(entry["key"]): entry for entry in map(json.loads, lines)}

    def add(self, key: tuple[Any, ...], **values: Any) -> None:
        """Keep the values, on disk at once."""
        self.found[key] = {"key": list(key), **values}
        with self.path.open("a") as file:
            file.write(json.dumps(self.found[key]) + "\n")


def fit(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    started = time.process_time()
    labels = model.fit_predict(X)
    seconds = time.process_time() - started
    return {"ari": adjusted_rand_score(y, labels), "clusters": len(np.unique(labels)), "seconds": seconds}


def make_model(base: Any, options: dict[str, Any] | None, max_features: float, seed: int) -> Any:
    if options is None:
        return base.set_params(random_state=seed) if "random_state" in base.get_params() else base
    if not takes_weights(base):
        options = {name: value for name, value in options.items() if name != "medoid_weights"}
    if isinstance(base, DBSCAN):
        options = options | {"min_cluster_size": 5}
    return CoHiRF(base, max_features=max_features, scale_views=max_features < 1, random_state=seed, **options)


def sample(X: np.ndarray, base_name: str, seed: int) -> np.ndarray:
    if len(X) <= MAX_ROWS[base_name]:
        return np.arange(len(X))
    return np.random.default_rng(seed).choice(len(X), MAX_ROWS[base_name], replace=False)


def run(results: Results, bases: list[str], max_features: float, n_seeds: int) -> None:
    for name, X, y in all_sets():
        k = len(np.unique(y))
        for base_name in bases:
            for seed in range(n_seeds):
                rows = sample(X, base_name, seed)
                for variant, options in variants_of(base_name).items():
                    key = (name, base_name, variant, 1.0 if options is None else max_features, seed)
                    if key in results.found:
                        continue
                    base = base_method(base_name, X[rows], k)
                    outcome = fit(make_model(base, options, max_features, seed), X[rows], y[rows])
                    results.add(key, **outcome)
            print(f"{name}, {base_name}", flush=True)


def collect(results: Results, base: str, variant: str, max_features: float, names: list[str]) -> np.ndarray:
    """Return mean ARI, clusters and seconds for each data set."""
    rows = []
    for name in names:
        of_set = [entry for key, entry in results.found.items() if key[:4] == (name, base, variant, max_features)]
        rows.append([np.mean([entry[what] for entry in of_set]) for what in ("ari", "clusters", "seconds")])
    return np.array(rows)


def table(results: Results, bases: list[str], max_features: float) -> None:
    print("\n| base | variant | mean ARI | difference | wins | losses | clusters / alone | time / alone |")
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    others = ("hypercube", "verdict", "nuisance")
    names = list(dict.fromkeys(key[0] for key in results.found if key[0] not in others))
    for base in bases:
        alone = collect(results, base, "alone", 1.0, names)
        for variant, options in variants_of(base).items():
            found = alone if options is None else collect(results, base, variant, max_features, names)
            gain = found[:, 0] - alone[:, 0]
            error = gain.std(ddof=1) / np.sqrt(len(gain))
            more, slower = (np.exp(np.mean(np.log(found[:, i] / alone[:, i]))) for i in (1, 2))
            print(
                f"| {base} | {variant} | {found[:, 0].mean():.3f} | {gain.mean():+.3f} ± {error:.3f} "
                f"| {(gain > TIE).sum()} | {(gain < -TIE).sum()} | {more:.2f} | {slower:.1f} |"
            )
    print("\n| data set | base | " + " | ".join(VARIANTS) + " |")
    print("| --- | --- |" + " --- |" * len(VARIANTS))
    for name in names:
        for base in bases:
            cells = [
                f"{collect(results, base, variant, 1.0 if options is None else max_features, [name])[0, 0]:.3f}"
                if variant in variants_of(base)
                else ""
                for variant, options in VARIANTS.items()
            ]
            print(f"| {name} | {base} | " + " | ".join(cells) + " |")


def outcome_of(gain: float) -> str:
    """Return which of the two is better by known classes."""
    return "CoHiRF" if gain > TIE else "alone" if gain < -TIE else "tie"


def run_verdicts(results: Results, bases: list[str], n_seeds: int) -> None:
    """Fit each variant again, and keep what diagnose() measures beside the index of the model."""
    for name, X, y in all_sets():
        k = len(np.unique(y))
        for base_name in bases:
            for seed in range(n_seeds):
                rows = sample(X, base_name, seed)
                for variant, options in variants_of(base_name).items():
                    key = ("verdict", name, base_name, variant, seed)
                    if options is None or key in results.found:
                        continue
                    model = make_model(base_method(base_name, X[rows], k), options, 1.0, seed).fit(X[rows])
                    found = model.diagnose(X[rows])
                    results.add(
                        key,
                        ari=adjusted_rand_score(y[rows], model.labels_),
                        agreement=found.comparison.agreement,
                        reproducibility=found.comparison.reproducibility,
                        silhouette=found.comparison.silhouette,
                    )
            print(f"verdict: {name}, {base_name}", flush=True)


def verdict_table(results: Results, bases: list[str], n_seeds: int) -> None:
    """Hold recommendations against known classes: the gain over the mean of the base method alone, all seeds."""
    cases = []
    for key, entry in results.found.items():
        if key[0] == "verdict" and key[2] in bases and key[4] < n_seeds:
            alone = collect(results, key[2], "alone", 1.0, [key[1]])[0, 0]
            cases.append((key, entry, outcome_of(entry["ari"] - alone)))
    print("\n| base | diagnose() says | cases | alone better | tie | CoHiRF better |")
    print("| --- | --- | --- | --- | --- | --- |")
    for base in [*bases, "all"]:
        for said in ("use the base method alone", "either", "use CoHiRF", "unknown"):
            found = [o for key, entry, o in cases if base in (key[2], "all") and recommendation(entry) == said]
            counts = " | ".join(str(found.count(outcome)) for outcome in ("alone", "tie", "CoHiRF"))
            print(f"| {base} | {said} | {len(found)} | {counts} |")
    names = list(dict.fromkeys(key[1] for key, *_ in cases))
    right = said = 0
    for left_out in names:
        gap = best_gap([case for case in cases if case[0][1] != left_out])
        says_alone = [case for case in cases if case[0][1] == left_out and is_below(case[1], gap)]
        said += len(says_alone)
        right += sum(outcome == "alone" for *_, outcome in says_alone)
    print(f"\nthreshold chosen without the data set that is judged: {right} of {said} right that the base does better")


def recommendation(entry: dict[str, Any]) -> str:
    """Return what diagnose() says for these figures."""
    if entry["agreement"] is None:
        return "unknown"
    gain = entry["agreement"] - entry["reproducibility"]
    return "use the base method alone" if gain < -LOST else "use CoHiRF" if gain > GAINED else "either"


def is_below(entry: dict[str, Any], gap: float) -> bool:
    return entry["agreement"] is not None and entry["agreement"] < entry["reproducibility"] - gap


def best_gap(cases: list[Any]) -> float:
    """Return the gap between agreement and reproducibility by which most cases are told rightly from the others."""
    gaps = np.arange(0.0, 0.31, 0.02)
    hits = [sum(is_below(entry, gap) == (outcome == "alone") for _, entry, outcome in cases) for gap in gaps]
    return float(gaps[int(np.argmax(hits))])


def make_hypercube(n_noise: int, seed: int, n_rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Five corners of a cube with unit spread, and noise features: the paper's experiment."""
    rng = np.random.default_rng(seed)
    bits = (rng.choice(8, 5, replace=False)[:, None] >> np.arange(3)) & 1
    y = rng.integers(0, 5, n_rows)
    X = rng.standard_normal((n_rows, 3 + n_noise))
    X[:, :3] += 6 * np.sqrt(3) * bits[y]
    return X, y


def hypercube(results: Results, n_seeds: int) -> None:
    screened = {"feature_screen": True}
    models = {
        "K-Means": KMeans(5, n_init=1),
        "PCA(5) + K-Means": make_pipeline(PCA(5), KMeans(5, n_init=1)),
        "strict": CoHiRF(KMeans(5, n_init=1), max_features=0.6),
        "relaxed": CoHiRF(KMeans(5, n_init=1), max_features=0.6, consensus="relaxed"),
        "strict + screening": CoHiRF(KMeans(5, n_init=1), max_features=0.6, **screened),
        "majority + weights + screening": CoHiRF(KMeans(5, n_init=1), **MAJORITY, **screened),
    }
    for n_noise in NOISE:
        for scale in ("raw", "standardised"):
            for seed in range(n_seeds):
                X, y = make_hypercube(n_noise, seed)
                X = standardise(X) if scale == "standardised" else X
                for name, model in models.items():
                    key = ("hypercube", n_noise, scale, name, seed)
                    if key not in results.found:
                        results.add(key, **fit(seeded(model, seed), X, y))
            print(f"{n_noise} noise features, {scale}", flush=True)
    print("\n| noise features | scale | " + " | ".join(models) + " |\n| --- | --- |" + " --- |" * len(models))
    for n_noise in NOISE:
        for scale in ("raw", "standardised"):
            cells = []
            for name in models:
                ari = [results.found["hypercube", n_noise, scale, name, seed]["ari"] for seed in range(n_seeds)]
                cells.append(f"{np.mean(ari):.2f} ± {np.std(ari, ddof=1):.2f}")
            print(f"| {n_noise:,} | {scale} | " + " | ".join(cells) + " |")


def correlated_blocks(n_rows: int, correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Ten blocks of twenty features; two of one block correlate by ``correlation``, of different blocks not at all."""
    factors = np.repeat(rng.standard_normal((n_rows, 10)), 20, axis=1)
    return np.sqrt(correlation) * factors + np.sqrt(1 - correlation) * rng.standard_normal((n_rows, 200))


NUISANCE = {
    "none": lambda n_rows, rng: np.empty((n_rows, 0)),
    "500 normal features": lambda n_rows, rng: rng.standard_normal((n_rows, 500)),
    "10 blocks of 20, correlation 0.3": lambda n_rows, rng: correlated_blocks(n_rows, 0.3, rng),
    "10 blocks of 20, correlation 0.6": lambda n_rows, rng: correlated_blocks(n_rows, 0.6, rng),
    "10 blocks of 20, correlation 0.9": lambda n_rows, rng: correlated_blocks(n_rows, 0.9, rng),
}


def nuisance(results: Results, n_seeds: int) -> None:
    """Add features that mean nothing to real data sets, standardised; the last two columns say how many were kept."""
    print("\n| data set | nuisance | K-Means | PCA + K-Means | majority + weights | + screening | real | nuisance |")
    print("| --- |" + " --- |" * 7)
    for name, X, y in islice(all_sets(), 4):
        k = len(np.unique(y))
        models = {
            "K-Means": KMeans(k, n_init=1),
            "PCA + K-Means": make_pipeline(PCA(min(k, X.shape[1])), KMeans(k, n_init=1)),
            "majority + weights": CoHiRF(KMeans(k, n_init=1), **MAJORITY),
            "+ screening": CoHiRF(KMeans(k, n_init=1), feature_screen=True, **MAJORITY),
        }
        for kind, draw in NUISANCE.items():
            for seed in range(n_seeds):
                Z = standardise(np.c_[X, draw(len(X), np.random.default_rng(seed))])
                for method, model in models.items():
                    key = ("nuisance", name, kind, method, seed)
                    if key not in results.found:
                        found = fit(seeded(model, seed), Z, y)
                        kept = getattr(model, "relevant_features_", None)
                        real = -1 if kept is None else int((kept < X.shape[1]).sum())
                        results.add(key, **found, real=real, other=-1 if kept is None else len(kept) - real)
            cells = []
            for method in models:
                ari = [results.found["nuisance", name, kind, method, seed]["ari"] for seed in range(n_seeds)]
                cells.append(f"{np.mean(ari):.2f} ± {np.std(ari, ddof=1):.2f}")
            screened = [results.found["nuisance", name, kind, "+ screening", seed] for seed in range(n_seeds)]
            real, other = (np.mean([entry[what] for entry in screened]) for what in ("real", "other"))
            n_other = Z.shape[1] - X.shape[1]
            cells += [f"{real:.1f} of {X.shape[1]}", f"{other:.1f} of {n_other}"]
            print(f"| {name} | {kind} | " + " | ".join(cells) + " |", flush=True)


def seeded(model: Any, seed: int) -> Any:
    names = [name for name in model.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(names, seed))


def cost(n_rows: int, repeats: int, levels: int) -> None:
    X, _ = make_blobs(n_rows, 50, centers=10, cluster_std=8.0, random_state=0)
    common = {"n_views": 10, "max_features": 0.3, "max_iter": levels, "random_state": 0}
    for weighted in (False, True):
        times: dict[str, list[float]] = {"strict": [], "majority": []}
        for _ in range(repeats):
            for consensus, seconds in times.items():
                model = CoHiRF(KMeans(10), consensus=consensus, medoid_weights=weighted, **common)
                started = time.process_time()
                model.fit(X)
                seconds.append(time.process_time() - started)
        ratio = np.median(times["majority"]) / np.median(times["strict"])
        print(
            f"majority / strict, n={n_rows:,}, 10 views, overlapping blobs, weights={weighted}: {ratio:.2f}", flush=True
        )
    X, _ = make_hypercube(10_000, 0)
    alone, screening = [], []
    for seed in range(repeats):
        started = time.process_time()
        KMeans(5, n_init=1, random_state=seed).fit(X)
        alone.append(time.process_time() - started)
        started = time.process_time()
        screen_features(X, (seed,))
        screening.append(time.process_time() - started)
    ratio = np.median(screening) / np.median(alone)
    print(f"screening / one K-Means, 1,000 x {X.shape[1]:,}: {ratio:.1f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of results that are kept")
    parser.add_argument("--bases", nargs="+", default=list(MAX_ROWS), choices=list(MAX_ROWS))
    parser.add_argument("--max-features", type=float, default=1.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--hypercube", action="store_true")
    parser.add_argument("--nuisance", action="store_true")
    parser.add_argument("--verdict", action="store_true")
    parser.add_argument("--cost", action="store_true")
    parser.add_argument("--levels", type=int, default=100, help="levels for --cost")
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows for --cost")
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of many small levels: duplicate rows, unconnected graphs, unfinished iterations
    with threadpool_limits(1):
        if arguments.cost:
            cost(arguments.rows, arguments.seeds, arguments.levels)
            return
        results = Results(arguments.out / "beyond.jsonl")
        if arguments.hypercube:
            hypercube(results, arguments.seeds)
            return
        if arguments.nuisance:
            nuisance(results, arguments.seeds)
            return
        if arguments.verdict:
            run_verdicts(results, arguments.bases, arguments.seeds)
            verdict_table(results, arguments.bases, arguments.seeds)
            return
        run(results, arguments.bases, arguments.max_features, arguments.seeds)
        table(results, arguments.bases, arguments.max_features)


if __name__ == "__main__":
    main()
