"""Fits in a process of their own, to measure their peak memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_rand_score

from experiments.keeping import is_kept, kept

FEW_ROWS = 50


def measure(module: str, *arguments: Any) -> dict[str, Any]:
    """Run a module as a program that fits something, and return what it reports."""
    command = [sys.executable, "-m", module, *map(str, arguments)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {result.stderr}")
    report: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return report


def measure_sizes(
    module: str,
    sizes: Iterable[tuple[int, int]],
    most_rows: dict[str, int],
    write: Callable[[Path, int, int], Any],
    folder: Path,
    say: Callable[[str], None],
    *,
    only_kept: bool,
) -> pd.DataFrame:
    """Fit all methods to data of all sizes, as far as each method goes.

    Data are written when they are needed.

    Parameters
    ----------
    module : str
        The program that fits.
    sizes : iterable of (int, int)
        Numbers of rows, and of seeds.
    most_rows : dict
        Names of methods, and up to how many rows they are fitted.
    write : callable
        Writes data, given a path, a number of rows and a seed.
    folder : Path
        Where results are kept.
    say : callable
        Takes a line of the log.
    only_kept : bool
        Leave out what would have to be fitted.
    """

    def fit(path: Path, n_rows: int, method: str, seed: int) -> dict[str, Any]:
        if not path.exists():
            write(path, n_rows, seed)
        return measure(module, path, method, seed)

    results = []
    for n_rows, n_seeds in sizes:
        for seed in range(n_seeds):
            with tempfile.TemporaryDirectory() as scratch:
                path = Path(scratch) / "data.npy"
                for method in (method for method, most in most_rows.items() if n_rows <= most):
                    figure = module.rpartition(".")[2].replace("_", " ")
                    about = {"figure": figure, "n_rows": n_rows, "method": method, "seed": seed}
                    if only_kept and not is_kept(folder, about):
                        continue
                    results.append(kept(folder, about, partial(fit, path, n_rows, method, seed)))
                    say(f"{n_rows:,} rows, {method}, seed {seed}: {results[-1]['score']:.3f}")
    return pd.DataFrame(results)


def report_fit(label_rows: Callable[[Path, str, int], Any]) -> None:
    """Fit in this process, as the command line says, and print how good, how long and how large it
    was.

    What the first fit in a process takes beyond later ones, to load what is compiled, is not
    counted.
    """
    path = Path(sys.argv[1])
    method = sys.argv[2]
    seed = int(sys.argv[3])
    y = np.load(path.with_name(f"{path.stem}_labels.npy"))
    label_rows(_some_of(path), method, seed)
    started = time.process_time()
    labels = label_rows(path, method, seed)
    seconds = time.process_time() - started
    peak = peak_mb()  # before the score, which takes memory, too
    report({"score": adjusted_rand_score(y, labels), "seconds": seconds, "peak_mb": peak})


def _some_of(path: Path) -> Path:
    """Return a small file of the same kind."""
    some = path.with_name("some.npy")
    if not some.exists():
        np.save(some, np.load(path, mmap_mode="r")[:FEW_ROWS])
    return some


def peak_mb() -> float:
    """Return the most memory that this process has taken, in MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6


def report(found: dict[str, Any]) -> None:
    """Print what ``measure`` returns."""
    print(json.dumps(found))  # noqa: T201 - read by `measure`
