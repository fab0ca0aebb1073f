"""Which rows stay if a model keeps too many, and which of these the others join.

For a method with a radius, such as DBSCAN, space is divided into cells, and the first row of each cell stays. No two
rows of a cell are further apart than half of the radius. So in a dense region, the rows that stay are near enough to
each other to be connected, and in a thin one all rows stay. The cells are as small as the number of rows that may be
kept allows. If there are too many of the largest cells, all are kept: the method could not connect fewer rows.

For other methods, a uniform random sample of all rows stays: those with the lowest random numbers. Each other row joins
the nearest of these.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from cohirf import validation
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray, sum_by_label
from cohirf.algorithm.reach import find_reach
from cohirf.data import InMemory
from cohirf.summary.leaves import Leaves
from cohirf.updating.settings import takes_weights

HALVINGS = 8  # the smallest cells have sides that are 2 ** 8 times smaller than those of the largest
ROUNDING = 1e-9
# odd numbers, by which the coordinates of cells are multiplied and summed up to one key
FACTORS = np.random.default_rng(0).integers(2**63, size=2**12, dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def thin_leaves(model: Any, leaves: Leaves, side: float, max_kept: int) -> tuple[Leaves, IntArray, float]:
    """Return rows that stay, the position of the one that each row joins, and the side of the cells.

    Parameters
    ----------
    model : CoHiRF
        The model, which knows the base method.
    leaves : Leaves
        Rows, each with the number of rows that it stands for.
    side : float
        Side of the cells so far; 0 if all rows are kept, or a random sample of them.
    max_kept : int
        Number of rows to keep. With cells, there may be more.
    """
    if side == 0 and len(leaves) <= max_kept:
        return leaves, np.arange(len(leaves)), side
    largest = find_largest_side(model, leaves.values)
    if largest > 0:
        sides = [largest / 2**k for k in range(HALVINGS, -1, -1) if largest / 2**k >= side * (1 - ROUNDING)]
        for wider in sides:
            first, joined = find_cells(leaves.values, wider)
            if len(first) <= max_kept:
                break
        return weigh(leaves.take(first), joined, leaves.sizes, leaves.weights), joined, wider
    stays = find_lowest(leaves.lots, max_kept)
    kept = leaves.take(stays)
    joined = join_nearest(leaves, stays, Nearest(model, kept.values))
    return weigh(kept, joined, leaves.sizes, leaves.weights), joined, 0.0


def find_largest_side(model: Any, values: Any) -> float:
    """Return the side of cells whose diagonal is half of the radius of the base method; 0 if cells do not help.

    They would change the density of rows for methods that take no weights.
    """
    method = model._base_method()
    reach = find_reach(method)
    if reach is None or sparse.issparse(values) or not takes_weights(model) or values.shape[1] > len(FACTORS):
        return 0.0
    return reach / 4 / math.sqrt(values.shape[1])


def find_cells(values: NDArray[Any], side: float) -> tuple[IntArray, IntArray]:
    """Return the first row of each cell of a grid, sorted, and the position among these of the cell of each row.

    Cells of twice the side are unions of cells. Two cells have the same key with a probability of about 1e-19.
    """
    _, first, cell = np.unique(cell_keys(values, side), return_index=True, return_inverse=True)
    order = np.argsort(first)
    rank = np.empty(len(order), dtype=np.int64)
    rank[order] = np.arange(len(order))
    return first[order], rank[cell.ravel()]


def cell_keys(values: NDArray[Any], side: float) -> NDArray[np.uint64]:
    """Return a number for each row, the same for all rows of a cell."""
    coordinates = np.floor(values / side).astype(np.int64).view(np.uint64)
    with np.errstate(over="ignore"):
        keys: NDArray[np.uint64] = (coordinates * FACTORS[: values.shape[1]]).sum(axis=1, dtype=np.uint64)
    return keys


def cell_centres(values: NDArray[Any], side: float) -> NDArray[Any]:
    """Return the centre of the cell of each row."""
    centres: NDArray[Any] = (np.floor(values / side) + 0.5) * side
    return centres


def find_lowest(lots: NDArray[np.float64], n_lowest: int) -> NDArray[np.bool_]:
    """Return which of the numbers are among the lowest ones; of equal numbers, the first."""
    is_lowest = np.zeros(len(lots), dtype=bool)
    is_lowest[np.argsort(lots, kind="stable")[:n_lowest]] = True
    return is_lowest


class Nearest:
    """Finds the nearest of some rows."""

    def __init__(self, model: Any, values: Any) -> None:
        self._means = open_values(model, values).column_means
        self._search = NearestNeighbors(n_neighbors=1).fit(fill_missing(values, self._means))

    def find(self, X: Any) -> IntArray:
        """Return the position of the row that is nearest to each row of ``X``."""
        if X.shape[0] == 0:
            return np.empty(0, dtype=np.int64)
        found = self._search.kneighbors(fill_missing(X, self._means), return_distance=False)
        return np.asarray(found[:, 0])


def join_nearest(leaves: Leaves, stays: NDArray[np.bool_], search: Nearest) -> IntArray:
    """Return the position among the rows that stay of each row; those that do not stay join the nearest one."""
    joined = np.empty(len(leaves), dtype=np.int64)
    joined[stays] = np.arange(stays.sum())
    joined[~stays] = search.find(leaves.values[~stays])
    return joined


def weigh(kept: Leaves, joined: IntArray, sizes: IntArray, weights: Mass | None) -> Leaves:
    """Return the kept rows with the sizes and weights of all that have joined them."""
    rows = np.bincount(joined, weights=sizes, minlength=len(kept)).astype(np.int64)
    return replace(kept, sizes=rows, weights=None if weights is None else sum_by_label(joined, weights, len(kept)))


def open_values(model: Any, values: Any) -> InMemory:
    """Return values as the data of a fit."""
    data = InMemory(values, None)
    fills = isinstance(values, np.ndarray) and validation.takes_nan(model._base_method())
    return replace(data, column_means=validation.column_means(values)) if fills else data
