"""Grouping rows by integers in linear time, as consensus, medoids and labels need it.

Labels may be in any array library and on any device. What has an entry for each row is then there,
too; what has an entry for each label is an array of NumPy. The containers in ``containers/`` have
what differs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.arrays import (
    in_blocks,
    namespace,
    put_beside,
    to_host,
)
from cohirf.rows.blocks import BLOCK_ROWS as BLOCK_ROWS
from cohirf.rows.blocks import FloatArray as FloatArray
from cohirf.rows.blocks import IntArray as IntArray
from cohirf.rows.blocks import index_dtype as index_dtype
from cohirf.rows.blocks import is_kept
from cohirf.rows.blocks import row_blocks as row_blocks
from cohirf.rows.blocks import table_limit as table_limit
from cohirf.rows.containers import scatter
from cohirf.rows.containers.container import container_of
from cohirf.rows.policy import BLOCK, DIGIT

Mass = NDArray[np.float64]  # of rows: their weights, or the number of rows that they represent

# Relative difference up to which figures are the same: sums lose digits, and the order of their
# terms must not decide.
ROUNDING = 1e-9


def compress(keys: Any, n_keys: int) -> tuple[Any, Any]:
    """Assign numbers to the distinct ``keys`` (all in ``range(n_keys)``) in sorted order.

    Returns the sorted distinct keys and, for each key, its number, both where the keys are. A
    direct-address table takes linear time; if it would be much longer than the keys, sorting is
    cheaper.
    """
    return container_of(keys).compress(keys, n_keys)


def device_dtype(array: Any, n_rows: int) -> Any:
    """Return ``index_dtype`` as a type of the library of ``array``."""
    return getattr(namespace(array), np.dtype(index_dtype(n_rows)).name)


def pair_keys(left: Any, n_left: int, right: Any, n_right: int) -> Any:
    """Encode each pair (left, right) as one integer below ``n_left * n_right``."""
    return container_of(left).pair_keys(left, n_left, right, n_right)


def first_rows(labels: Any, n_labels: int) -> IntArray:
    """Return, for each label, the first row that has it."""
    return np.asarray(
        to_host(first_rows_beside(labels, n_labels)), dtype=index_dtype(labels.shape[0])
    )


def first_rows_beside(labels: Any, n_labels: int) -> Any:
    """Return, for each label, the first row that has it, where the labels are."""
    return container_of(labels).first_rows(labels, n_labels)


def count_by_label(labels: Any, n_labels: int) -> NDArray[np.int64]:
    """Return the number of rows with each label."""
    return np.asarray(to_host(count_beside(labels, n_labels)), dtype=np.int64)


def count_beside(labels: Any, n_labels: int) -> Any:
    """Return the number of rows with each label, where the labels are."""
    return container_of(labels).count(labels, n_labels)


def count_with_noise(labels: Any, n_labels: int) -> NDArray[np.int64]:
    """Return the number of rows with the label -1, and then with each other label."""
    counts: NDArray[np.int64] = container_of(labels).count_with_noise(labels, n_labels)
    return counts


def sum_by_label(labels: Any, values: Any, n_labels: int) -> NDArray[np.float64]:
    """Return the sum of ``values`` for each label; the number of rows if ``values`` is None."""
    return np.asarray(to_host(sum_beside(labels, values, n_labels)))


def sum_beside(labels: Any, values: Any, n_labels: int) -> Any:
    """Return the sum of ``values`` for each label, or the number of rows, in float64 and where the
    labels are.
    """
    xp = namespace(labels)
    if values is None:
        return xp.astype(count_beside(labels, n_labels), xp.float64)
    return container_of(labels).sum(labels, values, n_labels)


def sum_rows_by_label(X: Any, labels: Any, n_labels: int, weights: Any = None) -> Any:
    """Return the sum of the rows of each label, which may be weighted, in float64 and on the device
    of the rows.

    Devices add in an order that differs from run to run. So values are rounded to integers, whose
    sums do not depend on the order: with n rows, to a precision of 2 n / 2**62 times the largest
    value of the column. Only values of float64 below 1e-280 lose digits, and CuPy takes values of
    float32 below 1.2e-38 as 0.
    """
    xp, (n_rows, n_features) = namespace(X), X.shape
    largest = to_host(xp.linalg.vector_norm(X, axis=0, ord=xp.inf)).astype(np.float64)
    if weights is not None:
        largest *= float(xp.max(xp.abs(weights)))
    exponents = DIGIT.fixed_point_bits - int(n_rows).bit_length() - np.frexp(largest)[1]
    powers = np.ldexp(1.0, np.minimum(exponents, np.finfo(np.float64).maxexp - 1))
    # a power of two changes no digit, so that float32 is exact unless there are weights, or values
    # that are tiny
    in_float32 = (
        weights is None and X.dtype != xp.float64 and exponents.max() < np.finfo(np.float32).maxexp
    )
    dtype = xp.float32 if in_float32 else xp.float64
    scale = xp.astype(put_beside(powers, X), dtype)
    sums = xp.zeros((n_labels, n_features), dtype=xp.int64, device=X.device)

    def add(block: slice) -> None:
        nonlocal sums
        points = xp.astype(X[block, :], dtype) * scale
        if weights is not None:
            points = points * weights[block][:, None]
        sums = scatter.add(labels[block], xp.astype(xp.round(points), xp.int64), sums)

    in_blocks(add, n_rows, BLOCK.fixed_point_cells // n_features)
    return xp.astype(sums, xp.float64) / put_beside(powers, X)


def best_by_label(scores: Any, labels: Any, n_labels: int, tie: float = ROUNDING) -> IntArray:
    """Return the first row of each label whose score is at most ``tie`` below the highest.

    NaN is below all others.
    """
    return container_of(scores).best(scores, labels, n_labels, tie)


def number_apart(labels: Any, is_apart: NDArray[np.bool_], codes: Any, first: int) -> Any:
    """Give each row whose code ``is_apart`` a label of its own, from ``first`` on."""
    return container_of(labels).number_apart(labels, is_apart, codes, first)


def rows_by_label(labels: Any, n_labels: int) -> tuple[IntArray, Any]:
    """Sort row numbers by label, then by row number, in linear time.

    Returns ``starts`` (of length ``n_labels + 1``) and ``rows``: label k has
    ``rows[starts[k]:starts[k + 1]]``.
    """
    return container_of(labels).sort(labels, n_labels)


def take_places(labels: IntArray, next_places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a place for each row: the next ones of its label, which ``next_places`` has, and where
    they end is noted.

    Rows of a label get its places in their order.
    """
    starts, rows = rows_by_label(labels, len(next_places))
    counts = np.diff(starts)
    places = np.empty(len(labels), dtype=np.int64)
    places[rows] = np.arange(len(labels)) + np.repeat(next_places - starts[:-1], counts)
    next_places += counts
    return places


def leave_out(X: Any, left_out: IntArray) -> Any:
    """Return the rows of ``X``, or the entries of a vector, without those at the given positions
    (sorted, distinct).
    """
    return container_of(X).leave_out(X, left_out)


def put_back(kept: Any, others: Any, left_out: IntArray) -> Any:
    """Return a vector with ``others`` at the positions ``left_out``, and the entries of ``kept`` at
    all other ones.

    ``others`` is an array of NumPy, or where ``kept`` is.
    """
    if len(left_out) == 0:
        return kept
    return container_of(kept).put_back(kept, others, left_out)


def all_others(n_rows: int, positions: IntArray) -> IntArray:
    """Return the sorted numbers of all rows that are not at the given positions."""
    return np.flatnonzero(is_kept(n_rows, positions))
