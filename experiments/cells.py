"""One cell of a table: a method tuned for one metric with one seed."""

from __future__ import annotations

import resource
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from functools import cache, partial
from itertools import chain, groupby
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from threadpoolctl import threadpool_limits

from experiments.keeping import PROTOCOL, is_kept, kept, look_up
from experiments.methods import KERNEL_K_MEANS, make_model, search_space
from experiments.real_data import load_real
from experiments.remembering import Fits, key_of, remembering
from experiments.tuning import tune

MEMORY_LIMIT = 9 * 2**30  # of a process; a trial that wants more fails, and is the worst
FLOAT64_ROWS = (
    10_000  # beyond them, kernel K-Means has the data in float32: half the memory and time
)


@dataclass(frozen=True)
class Cell:
    """What is tuned: data set, base method, variant, metric.

    With which seed, in how many trials, on how many rows.
    """

    data: str
    base: str
    variant: str
    metric: str
    seed: int
    n_trials: int
    max_rows: int | None = None
    protocol: int = PROTOCOL

    def about(self) -> dict[str, Any]:
        """Return what its result is found again by."""
        return {name: value for name, value in asdict(self).items() if value is not None}


def run_cells(cells: list[Cell], folder: Path, n_jobs: int, say: Callable[[str], None]) -> None:
    """Compute the results of all cells that are not there yet, neighbours that differ in the metric
    together.
    """
    missing = [cell for cell in cells if not is_kept(folder, cell.about())]
    say(f"{len(cells) - len(missing)} of {len(cells)} cells are there")
    rows = [
        list(row) for _, row in groupby(missing, lambda cell: replace(cell, metric="", n_trials=0))
    ]
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(
        delayed(run_row)(row, folder) for row in rows
    )
    for number, result in enumerate(chain.from_iterable(runs), 1):
        say(f"{number} of {len(missing)}: {_describe(result)}")


def results_of(cells: list[Cell], folder: Path) -> list[dict[str, Any]]:
    """Return the results of those cells that have one."""
    return [found for cell in cells if (found := look_up(folder, cell.about())) is not None]


def run_row(cells: list[Cell], folder: Path) -> list[dict[str, Any]]:
    """Return the results of cells that differ in the metric, and maybe in the number of trials,
    alone.
    """
    fits: Fits = {}
    return [kept(folder, cell.about(), partial(tune_cell, cell, fits)) for cell in cells]


def tune_cell(cell: Cell, fits: Fits) -> dict[str, Any]:
    """Tune a cell; what ``fits`` has of its row is not fitted again."""
    X, y = data_for(cell.base, cell.data, cell.max_rows)
    model = make_model(cell.base, cell.variant, len(X))
    space = search_space(model, cell.variant)
    return tune_model(
        model,
        X,
        y,
        space=space,
        metric=cell.metric,
        n_trials=cell.n_trials,
        seed=cell.seed,
        fits=fits,
    )


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
    fits: Fits | None = None,
) -> dict[str, Any]:
    """Tune a model on one thread, with a seed for each trial or one for all."""
    fits = {} if fits is None else fits
    started = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1), memory_limit():
        warnings.simplefilter("ignore")  # of bad parameters
        found = tune(
            remembering(model, fits),
            X,
            y,
            metric=metric,
            n_trials=n_trials,
            search_space=space,
            seeds=(seed,) if one_seed else None,
            random_state=seed,
        )
    best = fits[key_of(found.best_estimator)]
    return {
        "score": found.best_score,
        "n_clusters": len(np.unique(best.labels)),
        "seconds": best.seconds,
        "search_seconds": time.perf_counter() - started,
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


def data_for(base: str, name: str, max_rows: int | None) -> tuple[Any, Any]:
    """Return a data set as a base method gets it."""
    X, y = data_of(name, max_rows)
    in_float32 = base == KERNEL_K_MEANS and len(X) > FLOAT64_ROWS
    return X.astype(np.float32) if in_float32 else X, y


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
    return (
        f"{what}, seed {result['seed']}: {result['score']:.3f} in {result['search_seconds']:.0f} s"
    )
