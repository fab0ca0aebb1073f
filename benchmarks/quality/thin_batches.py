"""What do batches that are too thin cost, does the warning find them, and what helps?

Two spheres in three dimensions, DBSCAN on a grid (min_samples=5), one view with all features. Figures are medians of
the adjusted Rand index with the spheres over seeds. "left" is the share of its rows that the first level left active.
"levels" continues where the warning would stop the fit, for at most 20 levels. "batch_size" and "eps" are fits that
follow one or the other advice of the warning; "-" where it gave none. Another table has other data and other base
methods, with the index against the labels of the base method on all rows at once.

A third table has remedies that were tried and not kept: to hold more rows aside (as many as 2 or 4 batches have), and
to let batches grow by a factor of 2 or 4 from level to level.

    python -m benchmarks.quality.thin_batches [--seeds 3] [--largest 200000] [--other] [--remedies]
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from unittest import mock

import numpy as np
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, contraction_of, make_parser, parse
from cohirf import CoHiRF
from cohirf.algorithm import levels
from cohirf.algorithm.batches import Batches, RandomBatches, split_into_batches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.first_level import FirstLevelHere
from cohirf.algorithm.levels import (
    ActiveRows,
    FitState,
    LevelRecord,
    Resources,
    contract_level,
    contract_levels,
)
from cohirf.algorithm.parents import find_roots
from cohirf.algorithm.population import Population
from cohirf.algorithm.randomness import root_entropy
from cohirf.algorithm.storage import ArrayRows
from cohirf.algorithm.thin_batches import ThinBatches, judge_first_level
from cohirf.clusterers import GridDBSCAN
from cohirf.datasets import make_spheres

GRID = [
    *((2_000, b, eps) for b in (200, 500) for eps in (0.1, 0.2, 0.3)),
    *((20_000, b, eps) for b in (500, 1000, 2000, 5000) for eps in (0.1, 0.2)),
    (20_000, 250, 0.3),
    (20_000, 1000, 0.3),
    *((200_000, b, eps) for b in (2000, 10_000) for eps in (0.1, 0.2)),
]
MAX_LEVELS = 20
GOOD = 0.95


def contraction(base: Any, batch_size: int, n_features: int, seed: int) -> Contraction:
    return contraction_of(base, 1, n_features, root_entropy(seed), batch_size=batch_size, sum_mass=True)


def contract_first(X: np.ndarray, how: Contraction, resources: Resources) -> tuple[FirstLevelHere, FitState]:
    first = FirstLevelHere.contract(ActiveRows(ArrayRows(X)), how, MAX_LEVELS, resources)
    return first, FitState.of_leaves(first.leaves, ArrayRows(X), len(X), MAX_LEVELS, resources.storage)


def run_levels(X: np.ndarray, how: Contraction) -> tuple[np.ndarray, LevelRecord]:
    resources = Resources()
    first, state = contract_first(X, how, resources)
    *_, last = contract_levels(state, how, MAX_LEVELS, resources)
    return label_rows(first, last), state.record


def label_rows(first: FirstLevelHere, state: FitState) -> np.ndarray:
    return first.label(find_roots(state.fusions.parents, state.fusions.absorbed_at, state.level))


def run_growing(X: np.ndarray, how: Contraction, growth: float) -> np.ndarray:
    """Let batches grow from level to level: rows that stay active are fewer, so there are fewer batches as well."""
    resources = Resources()
    first, state = contract_first(X, how, resources)
    while state.level < MAX_LEVELS and not (state.converged or state.stalled):
        grown = replace(how, batch_size=int(how.batch_size * growth**state.level))
        state = state.after(contract_level(state.active, state.level + 1, grown, resources, state.fusions))
    return label_rows(first, state)


def run_holding(X: np.ndarray, how: Contraction, n_held: int) -> np.ndarray:
    """Hold as many rows aside as several batches have."""
    with mock.patch.object(levels, "split_into_batches", partial(split_holding, n_held=n_held)):
        return run_levels(X, how)[0]


def split_holding(n_active: int, batch_size: int, rng: np.random.Generator, *, in_order: bool, n_held: int) -> Batches:
    batches = split_into_batches(n_active, batch_size, rng, in_order=in_order)
    if batches.n_batches <= n_held:
        return batches
    return RandomBatches(batches.shuffled, np.delete(batches.bounds, range(1, n_held)))


def fit(X: np.ndarray, base: Any, batch_size: int, seed: int, **options: Any) -> np.ndarray:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CoHiRF.as_published(base, n_views=1, batch_size=batch_size, random_state=seed, **options).fit(X).labels_


def follow(X: np.ndarray, y: np.ndarray, base: Any, verdict: ThinBatches | None, seed: int) -> dict[str, float]:
    """Return the index that each advice leads to."""
    found = {}
    for setting in verdict.advised if verdict else ():
        name = "eps" if setting.batch_size == verdict.now.batch_size else "batch_size"
        advised = clone(base) if setting.eps is None else clone(base).set_params(**{verdict.eps_name: setting.eps})
        found[name] = adjusted_rand_score(y, fit(X, advised, setting.batch_size, seed))
    return found


def measure(X: np.ndarray, y: np.ndarray, base: Any, batch_size: int, seed: int) -> dict[str, float]:
    how = contraction(base, batch_size, X.shape[1], seed)
    labels, first = run_levels(X, how)
    verdict = judge_first_level(Population(ArrayRows(X)), first, how, Resources())
    found = {
        "left": (first.rows_out - first.rows_held_aside) / (first.rows_in - first.rows_held_aside),
        "levels": adjusted_rand_score(y, labels),
        "warns": float(verdict is not None),
        "stops": float(verdict is not None and verdict.is_hopeless),
    }
    if how.views.method.weight_argument is not None:
        found["weights"] = adjusted_rand_score(y, run_levels(X, replace(how, weighted=True))[0])
    if how.views.method.n_clusters is None:
        found["redraws"] = adjusted_rand_score(y, fit(X, base, batch_size, seed, redraws=20))
    return found | follow(X, y, base, verdict, seed)


SETTING = {"n": ">8,", "b": ">6,", "radius": ">6"}  # "eps" is the advice
COLUMNS = ("left", "levels", "weights", "redraws", "warns", "stops", "batch_size", "eps")


def cells_of(runs: list[dict[str, float]]) -> list[str]:
    cells = []
    for name in COLUMNS:
        values = [run[name] for run in runs if name in run]
        if name in ("warns", "stops"):
            cells.append(f"{int(sum(values))}/{len(values)}")
        else:
            cells.append(f"{np.median(values):.3f}" if values else "-")
    return cells


def spheres(n_seeds: int, largest: int) -> None:
    table = Table(SETTING | dict.fromkeys(COLUMNS, ">10"))
    everything = []
    for n, batch_size, eps in GRID:
        if n > largest:
            continue
        data = [make_spheres(n, random_state=seed) for seed in range(n_seeds)]
        runs = [measure(X, y, GridDBSCAN(eps), batch_size, seed) for seed, (X, y) in enumerate(data)]
        everything += runs
        table.row(n, batch_size, eps, *cells_of(runs))
    summarize(everything)


def share(runs: list[dict[str, float]], name: str, threshold: float) -> str:
    values = [run[name] for run in runs if name in run]
    return f"{sum(value > threshold for value in values)} of {len(values)}"


def summarize(runs: list[dict[str, float]]) -> None:
    bad = [run for run in runs if run["levels"] <= GOOD]
    good = [run for run in runs if run["levels"] > GOOD]
    print(f"\nlevels end above {GOOD}: {share(runs, 'levels', GOOD)}; with redraws: {share(runs, 'redraws', GOOD)}")
    print(f"warned where the levels end at or below {GOOD}: {share(bad, 'warns', 0)}")
    print(f"warned where they end above: {share(good, 'warns', 0)}")
    stopped = max((run["levels"] for run in runs if run["stops"]), default=float("nan"))
    print(f"best index of the levels where the fit is stopped: {stopped:.3f}")
    for name in ("batch_size", "eps"):
        print(f"following the advice on {name} ends above {GOOD}: {share(bad, name, GOOD)} bad fits that got it")
    warned = [run for run in bad if run["warns"] and not run["stops"]]
    print(f"redraws where a bad fit is warned of and not stopped end above {GOOD}: {share(warned, 'redraws', GOOD)}")


def remedies(n_seeds: int, largest: int) -> None:
    names = ("levels", "weights", "hold 2", "hold 4", "grow 2", "grow 4", "redraws")
    table = Table(SETTING | dict.fromkeys(names, ">10.3f"))
    for n, batch_size, eps in GRID:
        if n > largest:
            continue
        found = []
        for seed in range(n_seeds):
            X, y = make_spheres(n, random_state=seed)
            base = GridDBSCAN(eps)
            how = contraction(base, batch_size, X.shape[1], seed)
            labels = [
                run_levels(X, how)[0],
                run_levels(X, replace(how, weighted=True))[0],
                *(run_holding(X, how, n_held) for n_held in (2, 4)),
                *(run_growing(X, how, growth) for growth in (2, 4)),
                fit(X, base, batch_size, seed, redraws=20),
            ]
            found.append([adjusted_rand_score(y, one) for one in labels])
        table.row(n, batch_size, eps, *np.median(found, axis=0))


def noisy_spheres(n: int, seed: int) -> np.ndarray:
    noise = np.random.RandomState(seed).uniform(-1.2, 1.2, (n // 20, 3))
    return np.concatenate([make_spheres(n - len(noise), random_state=seed)[0], noise])


def other(n_seeds: int) -> None:
    overlapping = {"centers": [[0, 0], [3.5, 0], [0, 3.5]], "cluster_std": 1.0}
    unequal = {"centers": [[-6, 0], [0, 0], [6, 3]], "cluster_std": [0.5, 1.0, 2.0]}
    cases: list[tuple[str, Any, Any, tuple[int, ...]]] = [
        ("moons", lambda s: make_moons(10_000, noise=0.05, random_state=s)[0], GridDBSCAN(0.1), (200, 500, 2000)),
        ("5% noise, spheres", partial(noisy_spheres, 20_000), GridDBSCAN(0.15), (1000, 2000, 5000)),
        ("unequal density", lambda s: make_blobs(10_000, random_state=s, **unequal)[0], GridDBSCAN(0.4, min_samples=10),
         (500, 2000)),
        ("overlap", lambda s: make_blobs(10_000, random_state=s, **overlapping)[0], GridDBSCAN(0.15, min_samples=20),
         (2000, 5000)),
        ("moons, HDBSCAN", lambda s: make_moons(4000, noise=0.05, random_state=s)[0],
         HDBSCAN(min_cluster_size=25, copy=True), (200, 1000)),
        ("blobs, K-Means", lambda s: make_blobs(10_000, n_features=10, centers=8, random_state=s)[0], KMeans(8),
         (100, 1000)),
        ("overlap, K-Means", lambda s: make_blobs(10_000, random_state=s, **overlapping)[0], KMeans(3), (100, 1000)),
    ]  # fmt: skip
    table = Table({"data": "<18", "b": ">6,"} | dict.fromkeys(COLUMNS, ">10"))
    for name, make, base, batch_sizes in cases:
        data = [make(seed) for seed in range(n_seeds)]
        whole = [clone(base).fit(X).labels_ for X in data]
        alone = [np.where(labels < 0, -1 - np.arange(len(labels)), labels) for labels in whole]  # noise is singletons
        for batch_size in batch_sizes:
            runs = [measure(X, y, base, batch_size, seed) for seed, (X, y) in enumerate(zip(data, alone, strict=True))]
            table.row(name, batch_size, *cells_of(runs))


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--largest", type=int, default=200_000, help="leave out larger data")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--other", action="store_true", help="print the table of other data and base methods")
    which.add_argument("--remedies", action="store_true", help="print the table of what was tried and not kept")
    arguments = parse(parser, argv, seeds=1, largest=2000)
    if arguments.other:
        other(arguments.seeds)
    elif arguments.remedies:
        remedies(arguments.seeds, arguments.largest)
    else:
        spheres(arguments.seeds, arguments.largest)


if __name__ == "__main__":
    main()
