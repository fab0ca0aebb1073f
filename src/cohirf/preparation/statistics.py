"""Statistics of features in one pass: number of cells, mean, standard deviation, range and median."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cohirf.sources import Source

MEDIAN_CELLS = 2**25  # 268 MB; for larger data, the median is that of evenly spaced rows

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Statistics:
    """Statistics of each feature, over the cells that are not missing.

    Attributes
    ----------
    n_present : array of int
        Number of cells that are not missing.
    mean, std, low, high : array of float
        Mean, standard deviation, smallest and largest value; NaN if all cells are missing.
    median : array of float or None
        Median, if it was asked for. For large data it is computed from evenly spaced rows.
    """

    n_present: NDArray[np.int64]
    mean: Floats
    std: Floats
    low: Floats
    high: Floats
    median: Floats | None


def measure(source: Source, *, with_median: bool = False) -> Statistics:
    """Return statistics of the features of a source; all rows are read once."""
    p = source.n_features
    n_present = np.zeros(p, dtype=np.int64)
    mean, squares = np.zeros(p), np.zeros(p)  # squares: sum of squared deviations from the mean
    low, high = np.full(p, np.inf), np.full(p, -np.inf)
    step = -(-source.n_rows * p // MEDIAN_CELLS)
    kept: list[Floats] = []
    start = 0
    for rows in source.read_all():
        block = rows.astype(np.float64)
        if with_median:
            kept.append(block[-start % step :: step])
        start += len(block)
        present = ~np.isnan(block)
        n_present, mean, squares = _combine((n_present, mean, squares), block, present)
        low = np.minimum(low, np.where(present, block, np.inf).min(axis=0))
        high = np.maximum(high, np.where(present, block, -np.inf).max(axis=0))
    empty = n_present == 0
    return Statistics(
        n_present,
        np.where(empty, np.nan, mean),
        np.where(empty, np.nan, np.sqrt(squares / np.maximum(n_present, 1))),
        np.where(empty, np.nan, low),
        np.where(empty, np.nan, high),
        _median(np.concatenate(kept)) if with_median else None,
    )


def _combine(
    so_far: tuple[NDArray[np.int64], Floats, Floats], block: Floats, present: NDArray[np.bool_]
) -> tuple[NDArray[np.int64], Floats, Floats]:
    """Add a block to counts, means and sums of squared deviations, without cancellation for large values."""
    n_before, mean_before, squares_before = so_far
    n_here = present.sum(axis=0)
    with np.errstate(invalid="ignore", over="ignore"):  # infinite values give NaN means
        mean_here = np.where(present, block, 0).sum(axis=0) / np.maximum(n_here, 1)
        squares_here = (np.where(present, block - mean_here, 0) ** 2).sum(axis=0)
        n = n_before + n_here
        shift = mean_here - mean_before
        weight = n_here / np.maximum(n, 1)
        return n, mean_before + shift * weight, squares_before + squares_here + shift**2 * n_before * weight


def _median(rows: Floats) -> Floats:
    median = np.full(rows.shape[1], np.nan)
    for column in range(rows.shape[1]):
        values = rows[:, column]
        values = values[~np.isnan(values)]
        if len(values):
            median[column] = np.median(values)
    return median
