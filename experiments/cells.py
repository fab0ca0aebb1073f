"""One cell of a table: a method tuned for one metric with one seed. Results are kept, and not computed again."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from cohirf.real_data import load_real
from cohirf.tuning import tune
from experiments.methods import make_model, search_space

MEMORY_LIMIT = 9 * 2**30  # of a process; a trial that wants more fails, and is the worst
PROTOCOL = 1  # to be raised when results that are kept are no longer good


@dataclass(frozen=True)
class Cell:
    """What is tuned: data set, base method, variant, metric; with which seed, and in how many trials."""

    data: str
    base: str
    variant: str
    metric: str
    seed: int
    n_trials: int

    @property
    def key(self) -> str:
        """Name of the file with the result."""
        text = json.dumps({"protocol": PROTOCOL, **asdict(self)}, sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:20]


def run_cells(cells: Iterable[Cell], folder: Path, n_jobs: int, say: Callable[[str], None]) -> list[dict[str, Any]]:
    """Return the results of all cells; those that are not there yet are computed."""
    cells = list(cells)
    folder.mkdir(parents=True, exist_ok=True)
    missing = [cell for cell in cells if not _path(folder, cell).exists()]
    say(f"{len(cells) - len(missing)} of {len(cells)} cells are there")
    runs = Parallel(n_jobs=n_jobs, return_as="generator_unordered")(delayed(run_cell)(cell, folder) for cell in missing)
    for number, result in enumerate(runs, 1):
        say(f"{number} of {len(missing)}: {_describe(result)}")
    return [json.loads(_path(folder, cell).read_text()) for cell in cells]


def run_cell(cell: Cell, folder: Path) -> dict[str, Any]:
    """Tune one cell, time the best model, and keep the result."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_LIMIT, MEMORY_LIMIT))
    X, y = _data(cell.data)
    model = make_model(cell.base, cell.variant, len(X))
    started = time.perf_counter()
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        found = tune(
            model,
            X,
            y,
            metric=cell.metric,
            n_trials=cell.n_trials,
            search_space=search_space(model, cell.variant),
            seeds=(cell.seed,),
            random_state=cell.seed,
        )
        spent = time.perf_counter() - started
        started = time.process_time()
        labels = clone(found.best_estimator).fit_predict(X)
        seconds = time.process_time() - started
    result = {
        **asdict(cell),
        "score": found.best_score,
        "n_clusters": len(np.unique(labels)),
        "seconds": seconds,
        "search_seconds": spent,
        "failed_trials": int((found.table.error != "").sum()),
        "params": found.best_params,
    }
    _write(_path(folder, cell), json.dumps(result, indent=1))
    return result


@cache
def _data(name: str) -> tuple[Any, Any]:
    return load_real(name)


def _path(folder: Path, cell: Cell) -> Path:
    return folder / f"{cell.key}.json"


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all."""
    part = path.with_suffix(f".{os.getpid()}")
    part.write_text(text)
    part.replace(path)


def _describe(result: dict[str, Any]) -> str:
    what = ", ".join(result[name] for name in ("data", "base", "variant", "metric"))
    return f"{what}, seed {result['seed']}: {result['score']:.3f} in {result['search_seconds']:.0f} s"
