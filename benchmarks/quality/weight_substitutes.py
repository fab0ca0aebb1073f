"""What can replace weights where the base method takes none? Two ways.

    python -m benchmarks.quality.weight_substitutes [--bases Ward spectral GMM SC-SRGF] [--seeds 2]
    [--sets 14]

From the second level on, such a method sees a medoid as one row, however many rows it represents.
With *companions*, which is what medoid_weights=True does, the method also sees other rows of the
data. With *repeat* it sees each medoid several times, in proportion to its mass, and as many rows
in all; the package does not offer that.

Data sets, scaling and base methods are those of options.py, with at most MAX_ROWS rows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice, product
from typing import Any
from unittest import mock

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    Results,
    add_results_option,
    add_write_option,
    all_sets,
    make_parser,
    parse,
    score_fit,
    show_table,
)
from benchmarks.quality.options import base_method
from cohirf import CoHiRF
from cohirf.algorithm import levels
from cohirf.algorithm.levels import contract_level
from cohirf.algorithm.parents import find_roots
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.beyond.companions import Companions
from cohirf.clusterers import SCSRGF
from cohirf.data import in_process
from cohirf.data.first_level import contract_rows

MAX_ROWS = 1000
KINDS = ("none", "repeat", "companions")
OPTIONS: dict[str, dict[str, Any]] = {
    "strict": {},
    "majority": {"consensus": "majority", "views": 10},
}


@dataclass(frozen=True)
class Repeated(Companions):
    """Shows medoids again instead of other rows."""

    def draw(self, medoids: np.ndarray, place: tuple[int, int]) -> Any:
        """Draw rows as companions are drawn, and return the medoid of each."""
        n_drawn = min(self.n_shown, self.values.n_rows) - len(medoids)
        if n_drawn <= 0:
            return None
        drawn = generator_at(self.entropy, Draw.COMPANIONS, *place).choice(
            self.values.n_rows, n_drawn, replace=False
        )
        leaves = FUSIONS["of rows"].find_leaves(drawn)
        of_leaves = FUSIONS["of leaves"]
        return self.values.X[
            self.numbers[find_roots(of_leaves.parents, of_leaves.absorbed_at, place[0] - 1)[leaves]]
        ]


FUSIONS: dict[str, Any] = {}  # of the fit that runs


def note_rows(*arguments: Any) -> Any:
    """Stand in for ``contract_rows``."""
    FUSIONS["of rows"] = found = contract_rows(*arguments)
    return found


def note_leaves(active: Any, level: int, contraction: Any, resources: Any, fusions: Any) -> Any:
    """Stand in for ``contract_level``."""
    FUSIONS["of leaves"] = fusions
    return contract_level(active, level, contraction, resources, fusions)


def run_one(
    rule: str, kind: str, base: Any, settings: dict[str, Any], X: np.ndarray, y: np.ndarray
) -> Any:
    """Fit the base method alone or in CoHiRF, with or without a substitute."""
    if rule == "alone":
        return score_fit(base, X, y)
    model = CoHiRF.as_published(base, medoid_weights=kind != "none", **OPTIONS[rule], **settings)
    if kind != "repeat":
        return score_fit(model, X, y)
    with (
        mock.patch.object(levels, "contract_level", note_leaves),
        mock.patch.object(in_process, "contract_rows", note_rows),
        mock.patch("cohirf.fitting.fit.Companions", Repeated),
    ):
        return score_fit(model, X, y)


def make_base(name: str, X: np.ndarray, k: int) -> Any:
    return SCSRGF(k, graph="local") if name == "SC-SRGF" else base_method(name, X, k)


def run(
    results: Results, bases: list[str], fraction: float, n_seeds: int, n_sets: int | None
) -> list[str]:
    """Fit everything that the results do not have yet, and return the names of the data sets."""
    tried = [("alone", "none"), *((rule, kind) for rule in OPTIONS for kind in KINDS)]
    names = []
    for name, X, y in islice(all_sets(), n_sets):
        names.append(name)
        for seed in range(n_seeds):
            rows = np.random.default_rng(seed).permutation(len(X))[:MAX_ROWS]
            settings = {"max_features": fraction, "random_state": seed}
            for base, (rule, kind) in product(bases, tried):
                method = make_base(base, X[rows], len(np.unique(y)))
                fit = partial(run_one, rule, kind, method, settings, X[rows], y[rows])
                results.of((name, base, rule, kind, fraction, seed), fit)
        print(name, flush=True)
    return names


def table_of(
    results: Results, names: list[str], bases: list[str], fraction: float, n_seeds: int
) -> list[list[str]]:
    """Return the mean index of each substitute, and its difference to none."""

    def index(base: str, rule: str, kind: str) -> np.ndarray:
        found = [
            [results.found[name, base, rule, kind, fraction, s]["ari"] for s in range(n_seeds)]
            for name in names
        ]
        return np.mean(found, axis=1)

    rows = []
    for base, rule in product(bases, OPTIONS):
        none = index(base, rule, "none")
        cells = [base, f"{index(base, 'alone', 'none').mean():.3f}", rule, f"{none.mean():.3f}"]
        for kind in KINDS[1:]:
            gain = index(base, rule, kind) - none
            cells.append(
                f"{(none + gain).mean():.3f} ({gain.mean():+.3f} ± "
                f"{gain.std(ddof=1) / len(gain) ** 0.5:.3f})"
            )
        rows.append(cells)
    return [["base", "alone", "consensus", *KINDS], *rows]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--bases", nargs="+", default=["Ward", "spectral", "GMM", "SC-SRGF"])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sets", type=int, help="only the first so many data sets")
    parser.add_argument("--max-features", type=float, default=0.7)
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, bases=["Ward"], seeds=1, sets=2)
    warnings.simplefilter("ignore")  # of many small levels
    results = Results(arguments.results / "weight_substitutes.jsonl")
    with threadpool_limits(1):
        names = run(
            results, arguments.bases, arguments.max_features, arguments.seeds, arguments.sets
        )
    cells = table_of(results, names, arguments.bases, arguments.max_features, arguments.seeds)
    show_table(arguments.write, "weight_substitutes", cells)


if __name__ == "__main__":
    main()
