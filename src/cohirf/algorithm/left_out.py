"""Rows without some that are left out, and vectors of both together, where the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm import scatter
from cohirf.algorithm.arrays import is_here, join_rows, namespace, put_beside
from cohirf.algorithm.grouping import IntArray


def leave_out(X: Any, left_out: IntArray) -> Any:
    """Return the rows of ``X``, or the entries of a vector, without those at the given positions (sorted, distinct)."""
    if is_here(X):
        return X[np.flatnonzero(_is_kept(X.shape[0], left_out))]
    xp = namespace(X)
    return xp.take(X, xp.nonzero(~_is_left_out(X.shape[0], left_out, X))[0], axis=0)


def put_back(kept: Any, others: Any, left_out: IntArray) -> Any:
    """Return a vector with ``others`` at the positions ``left_out``, and the entries of ``kept`` at all other ones.

    ``others`` is an array of NumPy, or where ``kept`` is.
    """
    if len(left_out) == 0:
        return kept
    n_kept, n_rows = kept.shape[0], kept.shape[0] + len(left_out)
    if is_here(kept):
        vector = np.empty(n_rows, dtype=kept.dtype)
        vector[np.flatnonzero(_is_kept(n_rows, left_out))] = kept
        vector[left_out] = others
        return vector
    xp, is_left_out = namespace(kept), _is_left_out(n_rows, left_out, kept)
    n_before = xp.cumulative_sum(xp.astype(is_left_out, xp.int64))
    position = xp.arange(n_rows, dtype=xp.int64, device=kept.device)
    index = xp.where(is_left_out, n_kept - 1 + n_before, position - n_before)
    both = join_rows([kept, xp.astype(put_beside(others, kept), kept.dtype)])
    return xp.take(both, index)


def all_others(n_rows: int, positions: IntArray) -> IntArray:
    """Return the sorted numbers of all rows that are not at the given positions."""
    return np.flatnonzero(_is_kept(n_rows, positions))


def _is_kept(n_rows: int, left_out: IntArray) -> NDArray[np.bool_]:
    is_kept = np.ones(n_rows, dtype=bool)
    is_kept[left_out] = False
    return is_kept


def _is_left_out(n_rows: int, left_out: IntArray, beside: Any) -> Any:
    """Return which positions are left out, on the device of ``beside``."""
    return scatter.count(put_beside(left_out.astype(np.int64), beside), n_rows) > 0
