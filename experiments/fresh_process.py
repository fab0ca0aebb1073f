"""Fits in a process of their own, to measure their peak memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score


def measure(module: str, path: Path, method: str, seed: int) -> dict[str, Any]:
    """Run a module as a program that fits a method to a file, and return what it reports."""
    command = [sys.executable, "-m", module, str(path), method, str(seed)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise RuntimeError(f"{' '.join(command)} failed: {result.stderr}")
    report: dict[str, Any] = json.loads(result.stdout.splitlines()[-1])
    return report


def report_fit(label_rows: Callable[[Path, str, int], Any]) -> None:
    """Fit in this process, as the command line says, and print how good, how long and how large it was."""
    path, method, seed = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3])
    y = np.load(path.with_name(f"{path.stem}_labels.npy"))
    started = time.process_time()
    labels = label_rows(path, method, seed)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = {"score": adjusted_rand_score(y, labels), "seconds": seconds, "peak_mb": peak}
    print(json.dumps(found))  # noqa: T201 - read by `measure`
