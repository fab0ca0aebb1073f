"""Which parts of the default earn their place?

    python -m benchmarks.quality.ablation [--data FOLDER] [--seeds 3] [--variants default strict
    ...] [--write]

The default model and changes of it, on the 14 data sets of ``answers.py`` (standardised, at most
2,000 rows) and on those of ``clustbench.py``, all given the true number of clusters: the mean
adjusted Rand index (ARI), its difference to the default with the standard error over data sets, how
much two seeds agree (their ARI), and the processor time relative to the default.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import combinations
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.cluster import AgglomerativeClustering, KMeans
from sklearn.metrics import adjusted_rand_score
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    DATA_FOLDER,
    Results,
    add_results_option,
    add_write_option,
    all_sets,
    make_parser,
    parse,
    say_difference,
    show_table,
    timed,
)
from benchmarks.quality.clustbench import read_sets
from cohirf import CoHiRF
from cohirf.beyond.policy import GraphPolicy, MergePolicy
from cohirf.fitting.policy import GroupPolicy

FAMILY = "cohirf.fitting.families."
CHOOSE = "cohirf.beyond.choose_merge."
GRAPH = "cohirf.beyond.neighbour_graph."


def nothing(of: Any, divisions: Any, *_: Any) -> np.ndarray:
    """Return zeros in place of a figure of several divisions."""
    return np.zeros(len(divisions))


# parameters, and what is changed in the package
VARIANTS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "default": ({}, {}),
    "strict": ({"consensus": "strict"}, {}),
    "one view": ({"views": 1}, {}),
    "three views": ({"views": 3}, {}),
    "ten views": ({"views": 10}, {}),
    "2k inner clusters": ({}, {FAMILY + "GROUP": GroupPolicy(finer=2)}),
    "8k inner clusters": ({}, {FAMILY + "GROUP": GroupPolicy(finer=8)}),
    "10k cells": ({}, {FAMILY + "GROUP": GroupPolicy(linked_per_cluster=10)}),
    "40k cells": ({}, {FAMILY + "GROUP": GroupPolicy(linked_per_cluster=40)}),
    "compact": ({"merge": "compact"}, {}),
    "compact, one view": ({"merge": "compact", "views": 1}, {}),
    "connected": ({"merge": "connected"}, {}),
    "graph": ({"merge": "graph"}, {}),
    "the cut alone": ({}, {CHOOSE + "MERGE": MergePolicy(weight=0.0)}),
    "weight 0.1": ({}, {CHOOSE + "MERGE": MergePolicy(weight=0.1)}),
    "weight 0.4": ({}, {CHOOSE + "MERGE": MergePolicy(weight=0.4)}),
    "no lead": ({}, {CHOOSE + "MERGE": MergePolicy(lead=0.0)}),
    "no agreement": ({}, {CHOOSE + "ComparedSample._agreements": nothing}),
    "no connection": ({}, {CHOOSE + "mean_silhouettes": nothing}),
    "no valley": ({}, {GRAPH + "NeighbourGraph.valleys": nothing}),
    "no modularity": ({}, {GRAPH + "NeighbourGraph.modularities": nothing}),
    "5 neighbours": ({}, {GRAPH + "GRAPH": GraphPolicy(neighbours=5)}),
    "20 neighbours": ({}, {GRAPH + "GRAPH": GraphPolicy(neighbours=20)}),
    "one smallest part": ({}, {CHOOSE + "MERGE": MergePolicy(smallest_parts=(0.25,))}),
}
ALONE = {
    "Ward alone": lambda k, seed: AgglomerativeClustering(k),
    "K-Means, 10 starts": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
}
MAX_ROWS = 2000


def collections(folder: Path) -> Iterator[tuple[str, str, np.ndarray, list[np.ndarray]]]:
    """Yield collection, name, values and references of all data sets."""
    for name, X, y in all_sets():
        rows = np.sort(np.random.default_rng(0).permutation(len(X))[:MAX_ROWS])
        yield "real", name, X[rows], [np.unique(y, return_inverse=True)[1][rows] + 1]
    for name, X, references in read_sets(folder):
        yield "shapes", name, X, references


def fit_seeds(
    variant: str, X: np.ndarray, references: list[np.ndarray], n_seeds: int
) -> dict[str, float]:
    """Return the mean ARI of several seeds, how much their labels agree, and processor seconds."""
    scores = []
    agreement = []
    seconds = 0.0
    numbers = [len(np.unique(y[y > 0])) for y in references]
    found: dict[int, list[np.ndarray]] = {}
    for k in set(numbers):
        took, found[k] = timed(lambda k=k: [label(variant, X, k, seed) for seed in range(n_seeds)])
        seconds += took
        agreement += [adjusted_rand_score(*pair) for pair in combinations(found[k], 2)]
    for seed in range(n_seeds):
        of_seed = [
            adjusted_rand_score(y[y > 0], found[k][seed][y > 0])
            for y, k in zip(references, numbers, strict=True)
        ]
        scores.append(max(of_seed))
    return {
        "ari": float(np.mean(scores)),
        "agreement": float(np.mean(agreement or [1.0])),
        "seconds": seconds,
    }


def label(variant: str, X: np.ndarray, k: int, seed: int) -> np.ndarray:
    """Return the labels of a variant."""
    if variant in ALONE:
        return ALONE[variant](k, seed).fit_predict(X)
    parameters, policies = VARIANTS[variant]
    with ExitStack() as stack:
        for name, value in policies.items():
            stack.enter_context(patch(name, value))
        return CoHiRF(n_clusters=k, random_state=seed, **parameters).fit_predict(X)


def summarize(figures: list[dict[str, float]], default: list[dict[str, float]]) -> list[str]:
    """Return the cells of a row of the table."""

    def column(name: str, rows: list[dict[str, float]] = figures) -> np.ndarray:
        return np.array([row[name] for row in rows])

    difference = column("ari") - column("ari", default)
    return [
        f"{column('ari').mean():.3f}",
        "-" if figures is default else say_difference(difference),
        f"{column('agreement').mean():.2f}",
        f"{column('seconds').sum() / column('seconds', default).sum():.2f}",
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, default=DATA_FOLDER / "clustbench")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", type=int, default=None, help="only the first so many of all")
    parser.add_argument(
        "--variants", nargs="+", default=[*VARIANTS, *ALONE], choices=[*VARIANTS, *ALONE]
    )
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=2, sets=3, variants=["default", "one view"])
    warnings.simplefilter("ignore")
    results = Results(arguments.results / "ablation.jsonl")
    variants = ["default", *(name for name in arguments.variants if name != "default")]
    figures: dict[str, dict[str, list[dict[str, float]]]] = {}
    with threadpool_limits(1):
        for number, (kind, name, X, references) in enumerate(collections(arguments.data)):
            if number == arguments.sets:
                break
            for variant in variants:
                run = partial(fit_seeds, variant, X, references, arguments.seeds)
                found = results.of((kind, name, variant, arguments.seeds), run)
                figures.setdefault(kind, {}).setdefault(variant, []).append(found)
            print(f"{kind}, {name}", flush=True)
    header = ["variant"]
    rows = [[variant] for variant in variants]
    for kind, by_variant in figures.items():
        n_sets = len(by_variant["default"])
        header += [
            f"{kind}, {n_sets} sets",
            f"{kind}, difference",
            f"{kind}, agreement",
            f"{kind}, time",
        ]
        for row, found in zip(rows, by_variant.values(), strict=True):
            row += summarize(found, by_variant["default"])
    show_table(arguments.write, "ablation", [header, *rows])


if __name__ == "__main__":
    main()
