"""Do the trials of a search share a seed? K-Means alone, tuned in both ways, beside the paper's figures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd
from sklearn.cluster import KMeans

from cohirf.tuning import paper_space
from experiments.budgets import BUDGETS, Budget
from experiments.cells import Cell, data_of, run_cell, tune_model
from experiments.circumstances import describe_run
from experiments.figures import with_spread
from experiments.keeping import kept
from experiments.methods import ALONE
from experiments.paper import METRICS, published
from experiments.tables import HEADINGS, compare

DATA = ("iris", "alizadeh-2000-v2", "garber-2001", "coil-20", "shuttle", "nursery")
BASE = "K-Means"


def run(budget: str, folder: Path, say: Callable[[str], None]) -> None:
    """Tune K-Means in both ways for all data and metrics, and write the table."""
    lines = ["# K-Means alone: one seed for a search, or one for each trial", ""]
    lines += [*describe_run(f"python -m experiments trial_seeds --budget {budget}"), ""]
    lines += ["| data | metric | paper | one seed | | a seed for each trial | |", "| --- " * 7 + "|"]
    results = []
    for data in DATA:
        for metric in METRICS:
            figure = published(data, BASE, ALONE, metric)
            cells = ["" if figure is None else with_spread(*figure)]
            for one_seed in (True, False):
                found = pd.DataFrame(tune_seeds(data, metric, BUDGETS[budget], folder / "cells", one_seed=one_seed))
                cells += compare(found, figure)
                results.append(found.assign(one_seed=one_seed))
            lines.append(f"| {data} | {HEADINGS[metric]} | {' | '.join(cells)} |")
            say(lines[-1])
    frame = pd.concat(results, ignore_index=True)
    frame.drop(columns="params").to_parquet(folder / "trial_seeds.parquet", index=False)
    (folder / "trial_seeds.md").write_text("\n".join([*lines, ""]))


def tune_seeds(data: str, metric: str, budget: Budget, folder: Path, *, one_seed: bool) -> list[dict[str, Any]]:
    """Return the results of all searches; those with a seed for each trial are cells of the tables."""
    cells = [Cell(data, BASE, ALONE, metric, seed, budget.n_trials, budget.max_rows) for seed in range(budget.n_seeds)]
    if not one_seed:
        return [run_cell(cell, folder) for cell in cells]

    def tune(cell: Cell) -> dict[str, Any]:
        X, y = data_of(cell.data, cell.max_rows)
        model = KMeans()
        options = {"space": paper_space(model), "metric": metric, "n_trials": cell.n_trials, "seed": cell.seed}
        return tune_model(model, X, y, **options, one_seed=True)

    return [kept(folder, {"one seed": True, **cell.about()}, lambda cell=cell: tune(cell)) for cell in cells]
