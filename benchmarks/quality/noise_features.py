"""How well do K-Means, PCA, CoHiRF and feature screening cope with features that carry no
information?

    python -m benchmarks.quality.noise_features               the paper's hypercube with noise, raw
    and standardised python -m benchmarks.quality.noise_features --nuisance    noise and correlated
    blocks added to real features python -m benchmarks.quality.noise_features --defaults    the
    default model and its rivals, on the raw hypercube

Results go to a file, one line each, and are not computed again.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    add_results_option,
    add_write_option,
    make_parser,
    mean_and_spread,
    parse,
    real_data_sets,
    score_fit,
    seeded,
    show_table,
    standardise,
)
from benchmarks.quality.options import MAJORITY
from cohirf import CoHiRF, FeatureScreen

NOISE = (10, 100, 1000, 10_000)
N_NUISANCE_SETS = 4


def draw_hypercube(n_noise: int, seed: int, n_rows: int = 1000) -> tuple[np.ndarray, np.ndarray]:
    """Draw the paper's hypercube in double precision.

    The figures in the documentation come from these draws.
    """
    rng = np.random.default_rng(seed)
    bits = (rng.choice(8, 5, replace=False)[:, None] >> np.arange(3)) & 1
    y = rng.integers(0, 5, n_rows)
    X = rng.standard_normal((n_rows, 3 + n_noise))
    X[:, :3] += 6 * np.sqrt(3) * bits[y]
    return X, y


def screened(base: Any, **options: Any) -> Any:
    return make_pipeline(FeatureScreen(), CoHiRF.as_published(base, **options))


def hypercube(results: Results, n_seeds: int, most_noise: int) -> list[list[str]]:
    """Compare models as published on the raw and on the standardised hypercube.

    Return the table.
    """
    models = {
        "K-Means": KMeans(5, n_init=1),
        "PCA(5) + K-Means": make_pipeline(PCA(5), KMeans(5, n_init=1)),
        "strict": CoHiRF.as_published(KMeans(5, n_init=1), max_features=0.6),
        "relaxed": CoHiRF.as_published(KMeans(5, n_init=1), max_features=0.6, consensus="relaxed"),
        "strict + screening": screened(KMeans(5, n_init=1), max_features=0.6),
        "majority + weights + screening": screened(KMeans(5, n_init=1), **MAJORITY),
    }
    rows = []
    for n_noise in (noise for noise in NOISE if noise <= most_noise):
        for scale in ("raw", "standardised"):
            found: dict[str, list[float]] = {name: [] for name in models}
            for seed in range(n_seeds):
                X, y = draw_hypercube(n_noise, seed)
                X = standardise(X) if scale == "standardised" else X
                for name, model in models.items():
                    key = ("hypercube", n_noise, scale, name, seed)
                    found[name].append(
                        results.of(key, partial(score_fit, seeded(model, seed), X, y))["ari"]
                    )
            print(f"{n_noise} noise features, {scale}", flush=True)
            rows.append([f"{n_noise:,}", scale, *map(mean_and_spread, found.values())])
    return [["noise features", "scale", *models], *rows]


def defaults(results: Results, n_seeds: int, most_noise: int) -> list[list[str]]:
    """Compare the default model with K-Means and with features that are screened before.

    Return the table.
    """
    models = {
        "K-Means, one start": KMeans(5, n_init=1),
        "K-Means, ten starts": KMeans(5, n_init=10),
        "PCA(5) + K-Means, ten starts": make_pipeline(PCA(5), KMeans(5, n_init=10)),
        "CoHiRF(n_clusters=5)": CoHiRF(n_clusters=5),
        "FeatureScreen + CoHiRF": make_pipeline(FeatureScreen(), CoHiRF(n_clusters=5)),
    }
    cells = [["noise features", *models]]
    for n_noise in (noise for noise in NOISE if noise <= most_noise):
        found: dict[str, list[float]] = {name: [] for name in models}
        for seed in range(n_seeds):
            X, y = draw_hypercube(n_noise, seed)
            for name, model in models.items():
                fit = partial(score_fit, seeded(model, seed), X, y)
                found[name].append(results.of(("defaults", n_noise, name, seed), fit)["ari"])
        print(f"{n_noise} noise features", flush=True)
        cells.append([f"{n_noise:,}", *(f"{np.mean(scores):.2f}" for scores in found.values())])
    return cells


def correlated_blocks(n_rows: int, correlation: float, rng: np.random.Generator) -> np.ndarray:
    """Ten blocks of twenty features.

    Two of one block correlate by ``correlation``, of different blocks not at all.
    """
    factors = np.repeat(rng.standard_normal((n_rows, 10)), 20, axis=1)
    return np.sqrt(correlation) * factors + np.sqrt(1 - correlation) * rng.standard_normal(
        (n_rows, 200)
    )


NUISANCE = {
    "none": lambda n_rows, rng: np.empty((n_rows, 0)),
    "500 normal features": lambda n_rows, rng: rng.standard_normal((n_rows, 500)),
    "10 blocks of 20, correlation 0.3": lambda n_rows, rng: correlated_blocks(n_rows, 0.3, rng),
    "10 blocks of 20, correlation 0.6": lambda n_rows, rng: correlated_blocks(n_rows, 0.6, rng),
    "10 blocks of 20, correlation 0.9": lambda n_rows, rng: correlated_blocks(n_rows, 0.9, rng),
}


def score_screening(model: Any, X: np.ndarray, y: np.ndarray, n_real: int) -> dict[str, float]:
    """Return the figures of a fit, and how many features of either kind it kept.

    -1 for a model without a screen.
    """
    found = score_fit(model, X, y)
    screen = getattr(model, "named_steps", {}).get("featurescreen")
    if screen is None:
        return found | {"real": -1, "other": -1}
    is_kept = screen.get_support()
    return found | {"real": int(is_kept[:n_real].sum()), "other": int(is_kept[n_real:].sum())}


def nuisance(results: Results, n_seeds: int, n_sets: int) -> list[list[str]]:
    """Add features that mean nothing to real data sets, standardised.

    The last two columns say how many were kept.
    """
    rows = []
    for name, X, y in islice(real_data_sets(), n_sets):
        k = len(np.unique(y))
        models = {
            "K-Means": KMeans(k, n_init=1),
            "PCA + K-Means": make_pipeline(PCA(min(k, X.shape[1])), KMeans(k, n_init=1)),
            "majority + weights": CoHiRF.as_published(KMeans(k, n_init=1), **MAJORITY),
            "with screening": screened(KMeans(k, n_init=1), **MAJORITY),
        }
        for kind, draw in NUISANCE.items():
            found: dict[str, list[dict[str, float]]] = {method: [] for method in models}
            for seed in range(n_seeds):
                Z = standardise(np.c_[X, draw(len(X), np.random.default_rng(seed))])
                for method, model in models.items():
                    fit = partial(score_screening, seeded(model, seed), Z, y, X.shape[1])
                    found[method].append(results.of(("nuisance", name, kind, method, seed), fit))
            real, other = (
                np.mean([entry[what] for entry in found["with screening"]])
                for what in ("real", "other")
            )
            cells = [
                mean_and_spread([entry["ari"] for entry in entries]) for entries in found.values()
            ]
            kept = [f"{real:.1f} of {X.shape[1]}", f"{other:.1f} of {Z.shape[1] - X.shape[1]}"]
            rows.append([name, kind, *cells, *kept])
            print(f"{name}, {kind}", flush=True)
    return [["data set", "nuisance", *models, "real", "other"], *rows]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--nuisance", action="store_true", help="real features instead of the hypercube"
    )
    parser.add_argument(
        "--defaults", action="store_true", help="the default model instead of that of the paper"
    )
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument(
        "--most-noise", type=int, default=NOISE[-1], help="leave out more features of noise"
    )
    parser.add_argument(
        "--sets", type=int, default=N_NUISANCE_SETS, help="data sets for --nuisance"
    )
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=2, most_noise=100, sets=1)
    warnings.simplefilter("ignore")  # of many small levels
    results = Results(arguments.results / "noise_features.jsonl")
    with threadpool_limits(1):
        if arguments.defaults:
            show_table(
                arguments.write, "noise", defaults(results, arguments.seeds, arguments.most_noise)
            )
        elif arguments.nuisance:
            show_table(
                arguments.write,
                "noise_nuisance",
                nuisance(results, arguments.seeds, arguments.sets),
            )
        else:
            show_table(
                arguments.write,
                "noise_hypercube",
                hypercube(results, arguments.seeds, arguments.most_noise),
            )


if __name__ == "__main__":
    main()
