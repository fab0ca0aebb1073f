"""Small tables of any kind, each drawn from its seed: for tests of what every fit must keep."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

import cohirf


def draw_rows(rng: np.random.Generator, seed: int) -> np.ndarray:
    """Return 4 to 300 rows in up to three clusters, of some seeds with duplicates."""
    n_rows = int(rng.integers(4, 300))
    X = rng.normal(size=(n_rows, int(rng.integers(1, 5))))
    X += 4 * rng.integers(0, 3, size=(n_rows, 1))
    if seed % 3 == 0:
        X = np.round(X)
    if seed % 17 == 0:
        X[:] = X[0]
    return X


def draw_weights(rng: np.random.Generator, seed: int, n_rows: int) -> np.ndarray | None:
    """Return weights of rows: none, equal ones or different ones."""
    if seed % 5 == 1:
        return rng.random(n_rows) * 2 + 0.05
    if seed % 5 == 2:
        return np.full(n_rows, 2.5)
    return None


def store(X: np.ndarray, seed: int, folder: Path, *, takes_sparse: bool = True) -> Any:
    """Return the rows as an array, a file or a sparse matrix."""
    if seed % 7 == 3:
        path = folder / f"{seed}.npy"
        np.save(path, X)
        return cohirf.open_source(path)
    if seed % 7 == 5 and takes_sparse:
        return sparse.csr_array(X)
    return X
