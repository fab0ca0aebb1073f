"""Do the trials of a search share a seed? K-Means alone, tuned in both ways, beside the paper's
figures.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.cluster import KMeans

from experiments.budgets import BUDGETS, Budget
from experiments.cells import Cell, data_of, tune_cell, tune_model
from experiments.circumstances import describe_run
from experiments.figures import with_spread
from experiments.keeping import PROTOCOL, is_kept, kept
from experiments.methods import ALONE
from experiments.paper import METRICS, published
from experiments.tables import HEADINGS, compare
from experiments.tuning import paper_space

DATA = ("iris", "alizadeh-2000-v2", "garber-2001", "coil-20", "shuttle", "nursery")
BASE = "K-Means"


def run(budget: str, folder: Path, say: Callable[[str], None], *, only_kept: bool) -> None:
    """Tune K-Means in both ways for all data and metrics, and write the table."""
    lines = ["# K-Means alone: one seed for a search, or one for each trial", ""]
    lines += [*describe_run(f"python -m experiments trial_seeds --budget {budget}"), ""]
    lines += [
        "| data | metric | paper | one seed | | a seed for each trial | |",
        "| --- " * 7 + "|",
    ]
    results = []
    for data in DATA:
        for metric in METRICS:
            figure = published(data, BASE, ALONE, metric)
            cells = ["" if figure is None else with_spread(*figure)]
            for one_seed in (True, False):
                options = {"one_seed": one_seed, "only_kept": only_kept}
                found = tune_seeds(data, metric, BUDGETS[budget], folder / "cells", **options)
                cells += compare(found, figure)
                results.append(found.assign(one_seed=one_seed))
            lines.append(f"| {data} | {HEADINGS[metric]} | {' | '.join(cells)} |")
            say(lines[-1])
    frame = pd.concat(results, ignore_index=True)
    frame.drop(columns="params").to_parquet(folder / "trial_seeds.parquet", index=False)
    (folder / "trial_seeds.md").write_text("\n".join([*lines, ""]))


def tune_seeds(
    data: str, metric: str, budget: Budget, folder: Path, *, one_seed: bool, only_kept: bool
) -> pd.DataFrame:
    """Return the results of all searches; neither has a limit on the number of clusters."""
    results = []
    for seed in range(budget.n_seeds):
        cell = Cell(data, BASE, ALONE, metric, seed, budget.n_trials, budget.max_rows, PROTOCOL)
        about = {"one seed": True, **cell.about()} if one_seed else cell.about()
        if not only_kept or is_kept(folder, about):
            tune_it = (
                partial(tune_with_one_seed, cell) if one_seed else partial(tune_cell, cell, {})
            )
            results.append(kept(folder, about, tune_it))
    return pd.DataFrame(results)


def tune_with_one_seed(cell: Cell) -> dict[str, Any]:
    """Tune a cell with the same seed in all trials."""
    X, y = data_of(cell.data, cell.max_rows)
    model = KMeans()
    options = {
        "space": paper_space(model),
        "metric": cell.metric,
        "n_trials": cell.n_trials,
        "seed": cell.seed,
    }
    return tune_model(model, X, y, **options, one_seed=True)
