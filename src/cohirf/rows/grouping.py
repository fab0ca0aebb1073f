"""Grouping rows by integers in linear time, as consensus, medoids and labels need it.

Labels may be in any array library and on any device. What has an entry for each row is then there,
too; what has an entry for each label is an array of NumPy. Two classes below, ``_Here`` and
``_OnDevice``, have what differs.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows import scatter
from cohirf.rows.arrays import IntArray as IntArray
from cohirf.rows.arrays import (
    in_blocks,
    is_here,
    join_rows,
    look_up,
    namespace,
    put_beside,
    to_host,
)

FloatArray = NDArray[np.float64]
Mass = NDArray[np.float64]  # of rows: their weights, or the number of rows that they represent

BLOCK_ROWS = 2**16
# Floats are added up as integers where the order of additions is open. Their sums stay below this
# power of two.
FIXED_POINT_BITS = 62
FIXED_POINT_CELLS = 2**26  # number of values that are turned into integers at a time
# of powers of two that are finite in float64, and in float32
LARGEST_EXPONENT = 1023
LARGEST_EXPONENT_32 = 127


def index_dtype(n_rows: int) -> type[np.signedinteger[Any]]:
    """Return int32 if it can number ``n_rows`` rows, otherwise int64."""
    return np.int32 if n_rows < 2**31 else np.int64


def table_limit(n_rows: int) -> int:
    """Return the longest direct-address table that is still cheaper than sorting ``n_rows``
    keys.
    """
    return 2 * n_rows + 1024


class _Here:
    """Groups rows by labels that are arrays of NumPy."""

    @staticmethod
    def compress(keys: Any, n_keys: int) -> tuple[Any, Any]:
        if n_keys > table_limit(len(keys)):
            distinct, numbers = np.unique(keys, return_inverse=True)
            return distinct, numbers.astype(index_dtype(len(keys)), copy=False)
        seen = np.zeros(n_keys, dtype=bool)
        for block in row_blocks(len(keys)):
            seen[keys[block].astype(np.intp, copy=False)] = True  # other integers are slow here
            if block.start == 0 and seen.all():  # few keys are often all among the first rows
                break
        distinct = np.flatnonzero(seen)
        if len(distinct) == n_keys:
            return distinct, keys.astype(index_dtype(len(keys)), copy=False)
        number_of_key = np.empty(n_keys, dtype=index_dtype(len(keys)))
        number_of_key[distinct] = np.arange(len(distinct), dtype=number_of_key.dtype)
        return distinct, number_of_key.take(keys, mode="clip")

    @staticmethod
    def pair_keys(left: Any, n_left: int, right: Any, n_right: int) -> Any:
        # labels of a base method can be wider than the keys need to be
        keys: IntArray = np.multiply(
            left, n_right, dtype=index_dtype(n_left * n_right), casting="unsafe"
        )
        keys += right.astype(keys.dtype, copy=False)
        return keys

    @staticmethod
    def first_rows(labels: Any, n_labels: int) -> Any:
        first = np.full(n_labels, -1, dtype=index_dtype(len(labels)))
        for n_rows in (BLOCK_ROWS, len(labels)):  # few labels are often all among the first rows
            # if an index repeats, numpy keeps the last assignment; in reversed order, that is the
            # first row
            first[labels[:n_rows][::-1]] = np.arange(
                min(n_rows, len(labels)) - 1, -1, -1, dtype=first.dtype
            )
            if (first >= 0).all():
                break
        return first

    @staticmethod
    def count(labels: Any, n_labels: int) -> Any:
        counts = np.zeros(n_labels, dtype=np.int64)
        # each block adds to all counts
        for block in row_blocks(len(labels), max(BLOCK_ROWS, n_labels)):
            counts += np.bincount(labels[block], minlength=n_labels)
        return counts

    @staticmethod
    def count_with_noise(labels: Any, n_labels: int) -> NDArray[np.int64]:
        counts = np.zeros(n_labels + 1, dtype=np.int64)
        for block in row_blocks(len(labels), max(BLOCK_ROWS, n_labels)):
            counts += np.bincount(labels[block] + 1, minlength=n_labels + 1)
        return counts

    @staticmethod
    def sum(labels: Any, values: Any, n_labels: int) -> Any:
        sums = np.bincount(labels, weights=values, minlength=n_labels)
        return sums.astype(np.float64, copy=False)

    @staticmethod
    def best(scores: Any, labels: Any, n_labels: int, tie: float) -> IntArray:
        threshold = np.full(n_labels, -np.inf)
        np.fmax.at(threshold, labels, scores)
        threshold -= tie
        found = first_rows(labels, n_labels)
        # if an index repeats, the last assignment stays
        best = np.flatnonzero(scores >= threshold[labels])[::-1]
        found[labels[best]] = best
        return found

    @staticmethod
    def number_apart(labels: Any, is_apart: NDArray[np.bool_], codes: Any, first: int) -> Any:
        apart = np.flatnonzero(is_apart.take(codes, mode="clip"))  # indices of 32 bits are slow
        labels[apart] = np.arange(first, first + len(apart))
        return labels

    @staticmethod
    def sort(labels: Any, n_labels: int) -> tuple[IntArray, Any]:
        n = len(labels)
        one_hot = sparse.csc_array(
            (np.ones(n, dtype=np.int8), labels, np.arange(n + 1, dtype=index_dtype(n + 1))),
            shape=(n_labels, n),
        ).tocsr()
        return one_hot.indptr, one_hot.indices

    @staticmethod
    def leave_out(X: Any, left_out: IntArray) -> Any:
        return X[np.flatnonzero(_is_kept(X.shape[0], left_out))]

    @staticmethod
    def put_back(kept: Any, others: Any, left_out: IntArray) -> Any:
        n_rows = kept.shape[0] + len(left_out)
        vector = np.empty(n_rows, dtype=kept.dtype)
        vector[np.flatnonzero(_is_kept(n_rows, left_out))] = kept
        vector[left_out] = others
        return vector


class _OnDevice:
    """Groups rows by labels in another array library, where they are."""

    @staticmethod
    def compress(keys: Any, n_keys: int) -> tuple[Any, Any]:
        xp = namespace(keys)
        n_rows = int(keys.shape[0])
        dtype = device_dtype(keys, n_rows)
        if n_keys > table_limit(n_rows):
            distinct, numbers = xp.unique_inverse(keys)
            return distinct, xp.astype(numbers, dtype)
        is_key = scatter.count_labels(keys, n_keys) > 0
        number_of_key = xp.cumulative_sum(xp.astype(is_key, dtype), dtype=dtype) - 1
        return xp.nonzero(is_key)[0], xp.take(number_of_key, keys)

    @staticmethod
    def pair_keys(left: Any, n_left: int, right: Any, n_right: int) -> Any:
        xp = namespace(left)
        dtype = device_dtype(left, n_left * n_right)
        return xp.astype(left, dtype) * n_right + xp.astype(right, dtype)

    @staticmethod
    def first_rows(labels: Any, n_labels: int) -> Any:
        return scatter.lowest(labels, _row_numbers(labels), n_labels, labels.shape[0])

    @staticmethod
    def count(labels: Any, n_labels: int) -> Any:
        return scatter.count_labels(labels, n_labels)

    @staticmethod
    def count_with_noise(labels: Any, n_labels: int) -> NDArray[np.int64]:
        return count_by_label(labels + 1, n_labels + 1)

    @staticmethod
    def sum(labels: Any, values: Any, n_labels: int) -> Any:
        return sum_rows_by_label(values[:, None], labels, n_labels)[:, 0]

    @staticmethod
    def best(scores: Any, labels: Any, n_labels: int, tie: float) -> IntArray:
        xp = namespace(scores)
        n_rows = scores.shape[0]
        scores = xp.where(xp.isnan(scores), -xp.inf, scores)
        threshold = scatter.highest(labels, scores, n_labels, -xp.inf) - tie
        rows = xp.where(scores >= xp.take(threshold, labels), _row_numbers(labels), n_rows)
        return np.asarray(
            to_host(scatter.lowest(labels, rows, n_labels, n_rows)), dtype=index_dtype(n_rows)
        )

    @staticmethod
    def number_apart(labels: Any, is_apart: NDArray[np.bool_], codes: Any, first: int) -> Any:
        xp = namespace(labels)
        chosen = look_up(is_apart, codes)
        return xp.where(
            chosen,
            first - 1 + xp.cumulative_sum(xp.astype(chosen, labels.dtype), dtype=labels.dtype),
            labels,
        )

    @staticmethod
    def sort(labels: Any, n_labels: int) -> tuple[IntArray, Any]:
        starts = np.concatenate([[0], np.cumsum(count_by_label(labels, n_labels))])
        return starts, namespace(labels).argsort(labels, stable=True)

    @staticmethod
    def leave_out(X: Any, left_out: IntArray) -> Any:
        xp = namespace(X)
        return xp.take(X, xp.nonzero(~_is_left_out(X.shape[0], left_out, X))[0], axis=0)

    @staticmethod
    def put_back(kept: Any, others: Any, left_out: IntArray) -> Any:
        xp = namespace(kept)
        n_kept = kept.shape[0]
        n_rows = n_kept + len(left_out)
        is_left_out = _is_left_out(n_rows, left_out, kept)
        n_before = xp.cumulative_sum(xp.astype(is_left_out, xp.int64))
        position = xp.arange(n_rows, dtype=xp.int64, device=kept.device)
        index = xp.where(is_left_out, n_kept - 1 + n_before, position - n_before)
        both = join_rows([kept, xp.astype(put_beside(others, kept), kept.dtype)])
        return xp.take(both, index)


def _where(array: Any) -> type[_Here] | type[_OnDevice]:
    return _Here if is_here(array) else _OnDevice


def compress(keys: Any, n_keys: int) -> tuple[Any, Any]:
    """Assign numbers to the distinct ``keys`` (all in ``range(n_keys)``) in sorted order.

    Returns the sorted distinct keys and, for each key, its number, both where the keys are. A
    direct-address table takes linear time; if it would be much longer than the keys, sorting is
    cheaper.
    """
    return _where(keys).compress(keys, n_keys)


def device_dtype(array: Any, n_rows: int) -> Any:
    """Return ``index_dtype`` as a type of the library of ``array``."""
    return getattr(namespace(array), np.dtype(index_dtype(n_rows)).name)


def pair_keys(left: Any, n_left: int, right: Any, n_right: int) -> Any:
    """Encode each pair (left, right) as one integer below ``n_left * n_right``."""
    return _where(left).pair_keys(left, n_left, right, n_right)


def first_rows(labels: Any, n_labels: int) -> IntArray:
    """Return, for each label, the first row that has it."""
    return np.asarray(
        to_host(first_rows_beside(labels, n_labels)), dtype=index_dtype(labels.shape[0])
    )


def first_rows_beside(labels: Any, n_labels: int) -> Any:
    """Return, for each label, the first row that has it, where the labels are."""
    return _where(labels).first_rows(labels, n_labels)


def row_blocks(n_rows: int, block_rows: int | None = None) -> Iterator[slice]:
    """Yield slices that cover ``n_rows`` rows, so that temporary arrays stay small."""
    step = block_rows or BLOCK_ROWS
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def count_by_label(labels: Any, n_labels: int) -> NDArray[np.int64]:
    """Return the number of rows with each label."""
    return np.asarray(to_host(count_beside(labels, n_labels)), dtype=np.int64)


def count_beside(labels: Any, n_labels: int) -> Any:
    """Return the number of rows with each label, where the labels are."""
    return _where(labels).count(labels, n_labels)


def count_with_noise(labels: Any, n_labels: int) -> NDArray[np.int64]:
    """Return the number of rows with the label -1, and then with each other label."""
    return _where(labels).count_with_noise(labels, n_labels)


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
    return _where(labels).sum(labels, values, n_labels)


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
    exponents = FIXED_POINT_BITS - int(n_rows).bit_length() - np.frexp(largest)[1]
    powers = np.ldexp(1.0, np.minimum(exponents, LARGEST_EXPONENT))
    # a power of two changes no digit, so that float32 is exact unless there are weights, or values
    # that are tiny
    in_float32 = (
        weights is None and X.dtype != xp.float64 and exponents.max() <= LARGEST_EXPONENT_32
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

    in_blocks(add, n_rows, FIXED_POINT_CELLS // n_features)
    return xp.astype(sums, xp.float64) / put_beside(powers, X)


def best_by_label(scores: Any, labels: Any, n_labels: int, tie: float) -> IntArray:
    """Return the first row of each label whose score is at most ``tie`` below the highest.

    NaN is below all others.
    """
    return _where(scores).best(scores, labels, n_labels, tie)


def number_apart(labels: Any, is_apart: NDArray[np.bool_], codes: Any, first: int) -> Any:
    """Give each row whose code ``is_apart`` a label of its own, from ``first`` on."""
    return _where(labels).number_apart(labels, is_apart, codes, first)


def _row_numbers(labels: Any) -> Any:
    xp = namespace(labels)
    return xp.arange(labels.shape[0], dtype=xp.int64, device=labels.device)


def rows_by_label(labels: Any, n_labels: int) -> tuple[IntArray, Any]:
    """Sort row numbers by label, then by row number, in linear time.

    Returns ``starts`` (of length ``n_labels + 1``) and ``rows``: label k has
    ``rows[starts[k]:starts[k + 1]]``.
    """
    return _where(labels).sort(labels, n_labels)


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
    return _where(X).leave_out(X, left_out)


def put_back(kept: Any, others: Any, left_out: IntArray) -> Any:
    """Return a vector with ``others`` at the positions ``left_out``, and the entries of ``kept`` at
    all other ones.

    ``others`` is an array of NumPy, or where ``kept`` is.
    """
    if len(left_out) == 0:
        return kept
    return _where(kept).put_back(kept, others, left_out)


def all_others(n_rows: int, positions: IntArray) -> IntArray:
    """Return the sorted numbers of all rows that are not at the given positions."""
    return np.flatnonzero(_is_kept(n_rows, positions))


def _is_kept(n_rows: int, left_out: IntArray) -> NDArray[np.bool_]:
    is_kept = np.ones(n_rows, dtype=bool)
    is_kept[left_out] = False
    return is_kept


def _is_left_out(n_rows: int, left_out: IntArray, beside: Any) -> Any:
    """Return which positions are left out, on the device of ``beside``."""
    return scatter.count_labels(put_beside(left_out.astype(np.int64), beside), n_rows) > 0
