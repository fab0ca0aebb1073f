"""What could stand in for weights where the base method takes none: measured, and not part of the package.

    python benchmarks/weight_substitutes.py --out results [--bases Ward spectral GMM SC-SRGF] [--seeds 3] [--sets 14]

From the second level on, a medoid that stands for many rows is one row to such a method. Two substitutes are tried:
*repeat* shows each medoid as often as its mass asks for, and *companions* shows other rows of its cluster beside it. In
all BUDGET rows are shown, or as many as there are medoids. The label of a medoid is what the method gives to itself.

Data sets, scaling and base methods are those of benchmarks/beyond.py, with at most MAX_ROWS rows.
"""

from __future__ import annotations

import argparse
import warnings
from itertools import islice, product
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from beyond import Results, all_sets, base_method, fit
from threadpoolctl import threadpool_limits

from cohirf import CoHiRF
from cohirf.algorithm import get_clusters, levels
from cohirf.algorithm.get_clusters import ViewLabels, sample_features
from cohirf.algorithm.parents import find_roots
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.clusterers import SCSRGF

MAX_ROWS = 1000
BUDGET = 300
KINDS = ("none", "repeat", "companions")
OPTIONS: dict[str, dict[str, Any]] = {"strict": {}, "majority": {"consensus": "majority", "n_views": 10}}


class Substitute:
    """Adds rows to what the base method sees after the first level."""

    def __init__(self, kind: str, X: np.ndarray) -> None:
        self.kind = kind
        self.X = X
        self.state: Any = None
        self.label_view, self.contract_level = get_clusters.label_view, levels.contract_level

    def note_state(self, state: Any, *rest: Any) -> Any:
        """Keep the state before a level, which knows the cluster of each row."""
        self.state = state
        return self.contract_level(state, *rest)

    def label(self, X: np.ndarray, sample_weight: Any, views: Any, place: tuple[int, ...], memory: Any = None) -> Any:
        """Label rows as ``label_view`` does, with others beside them."""
        level = place[0]
        if level == 1:
            return self.label_view(X, sample_weight, views, place, memory)
        added = self.added_rows(level - 1, generator_at(views.entropy, Draw.PROBE, *place))
        rng = generator_at(views.entropy, Draw.VIEW, *place)
        features = sample_features(rng, X.shape[1], views.n_features)
        shown = np.r_[X, self.X[added]][:, features]
        return ViewLabels(views.method.label_rows(shown, rng)[: len(X)], 0.0)

    def added_rows(self, level: int, rng: np.random.Generator) -> np.ndarray:
        """Draw rows in proportion to the mass of the clusters they belong to, or the medoids of these."""
        roots = find_roots(self.state.parents, self.state.absorbed_at, level)
        n_added = min(BUDGET, len(roots)) - self.state.n_active
        if n_added <= 0:
            return np.empty(0, dtype=int)
        drawn = rng.choice(len(roots), n_added, replace=False)
        return roots[drawn] if self.kind == "repeat" else drawn[roots[drawn] != drawn]


def run_one(kind: str, model: CoHiRF, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    if kind == "none":
        return fit(model, X, y)
    substitute = Substitute(kind, X)
    with (
        mock.patch.object(levels, "contract_level", substitute.note_state),
        mock.patch.object(get_clusters, "label_view", substitute.label),
    ):
        return fit(model, X, y)


def make_base(name: str, X: np.ndarray, k: int) -> Any:
    return SCSRGF(k) if name == "SC-SRGF" else base_method(name, X, k)


def run(results: Results, bases: list[str], fraction: float, n_seeds: int, n_sets: int | None) -> list[str]:
    """Fit everything that is not kept, and return the names of the data sets."""
    tried = [("alone", "none"), *((rule, kind) for rule in OPTIONS for kind in KINDS)]
    names = []
    for name, X, y in islice(all_sets(), n_sets):
        names.append(name)
        for seed in range(n_seeds):
            rows = np.random.default_rng(seed).permutation(len(X))[:MAX_ROWS]
            for base, (rule, kind) in product(bases, tried):
                key = (name, base, rule, kind, fraction, seed)
                method = make_base(base, X[rows], len(np.unique(y)))
                if key in results.found:
                    continue
                if rule == "alone":
                    results.add(key, **fit(method, X[rows], y[rows]))
                else:
                    options = OPTIONS[rule] | {"max_features": fraction, "random_state": seed}
                    results.add(key, **run_one(kind, CoHiRF(method, **options), X[rows], y[rows]))
        print(name, flush=True)
    return names


def table(results: Results, names: list[str], bases: list[str], fraction: float, n_seeds: int) -> None:
    def index(base: str, rule: str, kind: str) -> np.ndarray:
        found = [[results.found[name, base, rule, kind, fraction, s]["ari"] for s in range(n_seeds)] for name in names]
        return np.mean(found, axis=1)

    print(f"\nmax_features={fraction}: mean ARI, and its difference to no substitute\n")
    print("| base | alone | consensus | none | repeat | companions |\n| --- | --- | --- | --- | --- | --- |")
    for base, rule in product(bases, OPTIONS):
        none = index(base, rule, "none")
        cells = [f"{index(base, 'alone', 'none').mean():.3f}", rule, f"{none.mean():.3f}"]
        for kind in KINDS[1:]:
            gain = index(base, rule, kind) - none
            cells.append(f"{(none + gain).mean():.3f} ({gain.mean():+.3f} ± {gain.std(ddof=1) / len(gain) ** 0.5:.3f})")
        print(f"| {base} | " + " | ".join(cells) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("results"), help="folder of results that are kept")
    parser.add_argument("--bases", nargs="+", default=["Ward", "spectral", "GMM", "SC-SRGF"])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--sets", type=int, help="only the first so many data sets")
    parser.add_argument("--max-features", type=float, default=0.7)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore")  # of many small levels
    results = Results(arguments.out / "weight_substitutes.jsonl")
    with threadpool_limits(1):
        names = run(results, arguments.bases, arguments.max_features, arguments.seeds, arguments.sets)
    table(results, names, arguments.bases, arguments.max_features, arguments.seeds)


if __name__ == "__main__":
    main()
