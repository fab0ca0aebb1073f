"""One cell of a table: a method tuned for one metric with one seed."""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from cohirf.datasets import load_real
from cohirf.tuning import tune
from experiments.keeping import is_kept, kept
from experiments.methods import make_model, search_space

MEMORY_LIMIT = 9 * 2**30  # of a process; a trial that wants more fails, and is the worst


@dataclass(frozen=True)
class Cell:
    """What is tuned: data set, base method, variant, metric; with which seed, in how many trials, on how many rows."""

    data: str
    base: str
    variant: str
    metric: str
    seed: int
    n_trials: int
    max_rows: int | None = None

    def about(self) -> dict[str, Any]:
        """Return what its result is found again by."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def run_cells(cells: list[Cell], folder: Path, n_jobs: int, say: Callable[[str], None]) -> None:
    """Compute the results of all cells that are not there yet."""
    missing = [cell for cell in cells if not is_kept(folder, cell.about())]
    say(f"{len(cells) - len(missing)} of {len(cells)} cells are there")
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(run_cell)(cell, folder) for cell in missing)
    for number, result in enumerate(runs, 1):
        say(f"{number} of {len(missing)}: {_describe(result)}")


def results_of(cells: list[Cell], folder: Path) -> list[dict[str, Any]]:
    """Return the results of those cells that have one."""
    return [run_cell(cell, folder) for cell in cells if is_kept(folder, cell.about())]


def run_cell(cell: Cell, folder: Path) -> dict[str, Any]:
    """Return the result of a cell."""
    return kept(folder, cell.about(), lambda: tune_cell(cell))


def tune_cell(cell: Cell) -> dict[str, Any]:
    """Tune a cell, and time the best model."""
    X, y = data_of(cell.data, cell.max_rows)
    model = make_model(cell.base, cell.variant, len(X))
    space = search_space(model, cell.variant)
    return tune_model(model, X, y, space=space, metric=cell.metric, n_trials=cell.n_trials, seed=cell.seed)


def tune_model(
    model: Any,
    X: Any,
    y: Any,
    *,
    space: dict[str, Any],
    metric: str,
    n_trials: int,
    seed: int,
    one_seed: bool = False,
) -> dict[str, Any]:
    """Tune a model on one thread, with a seed for each trial or one for all, and time the best one."""
    started = time.perf_counter()
    seeds = (seed,) if one_seed else None
    with warnings.catch_warnings(), threadpool_limits(1), memory_limit():
        warnings.simplefilter("ignore")  # of bad parameters
        found = tune(model, X, y, metric=metric, n_trials=n_trials, search_space=space, seeds=seeds, random_state=seed)
        search_seconds = time.perf_counter() - started
        started = time.process_time()
        labels = clone(found.best_estimator).fit_predict(X)
        seconds = time.process_time() - started
    return {
        "score": found.best_score,
        "n_clusters": len(np.unique(labels)),
        "seconds": seconds,
        "search_seconds": search_seconds,
        "failed_trials": int((found.table.error != "").sum()),
        "params": found.best_params,
        "random_state": found.best_estimator.get_params().get("random_state"),
    }


@contextmanager
def memory_limit() -> Iterator[None]:
    """Let what wants too much memory fail, instead of the machine."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


@cache
def data_of(name: str, max_rows: int | None) -> tuple[Any, Any]:
    """Return a data set, or as many random rows of it."""
    X, y = load_real(name)
    if max_rows is None or len(X) <= max_rows:
        return X, y
    rows = np.sort(np.random.default_rng(0).choice(len(X), max_rows, replace=False))
    return X[rows], y[rows]


def _describe(result: dict[str, Any]) -> str:
    what = ", ".join(result[name] for name in ("data", "base", "variant", "metric"))
    return f"{what}, seed {result['seed']}: {result['score']:.3f} in {result['search_seconds']:.0f} s"
