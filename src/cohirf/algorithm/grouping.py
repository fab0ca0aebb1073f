"""Grouping rows by integers in linear time, as consensus, medoids and labels need it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

IntArray = NDArray[np.integer[Any]]

BLOCK_ROWS = 2**16


def index_dtype(n_rows: int) -> type[np.signedinteger[Any]]:
    """Return int32 if it can number ``n_rows`` rows, otherwise int64."""
    return np.int32 if n_rows < 2**31 else np.int64


def table_limit(n_rows: int) -> int:
    """Return the longest direct-address table that is still cheaper than sorting ``n_rows`` keys."""
    return 2 * n_rows + 1024


def compress(keys: IntArray, n_keys: int) -> tuple[IntArray, IntArray]:
    """Assign numbers to the distinct ``keys`` (all in ``range(n_keys)``) in sorted order.

    Returns the sorted distinct keys and, for each key, its number. A direct-address table takes linear time; if it
    would be much longer than the keys, sorting is cheaper.
    """
    if n_keys > table_limit(len(keys)):
        distinct, numbers = np.unique(keys, return_inverse=True)
        return distinct, numbers.astype(index_dtype(len(keys)), copy=False)
    seen = np.zeros(n_keys, dtype=bool)
    seen[keys] = True
    distinct = np.flatnonzero(seen)
    number_of_key = np.empty(n_keys, dtype=index_dtype(len(keys)))
    number_of_key[distinct] = np.arange(len(distinct), dtype=number_of_key.dtype)
    return distinct, number_of_key[keys]


def pair_keys(left: IntArray, n_left: int, right: IntArray, n_right: int) -> IntArray:
    """Encode each pair (left, right) as one integer below ``n_left * n_right``."""
    keys: IntArray = np.multiply(left, n_right, dtype=index_dtype(n_left * n_right))
    keys += right.astype(keys.dtype, copy=False)
    return keys


def first_rows(labels: IntArray, n_labels: int) -> IntArray:
    """Return, for each label, the first row that has it."""
    first = np.empty(n_labels, dtype=index_dtype(len(labels)))
    # if an index repeats, numpy keeps the last assignment; in reversed order, that is the first row
    first[labels[::-1]] = np.arange(len(labels) - 1, -1, -1, dtype=first.dtype)
    return first


def row_blocks(n_rows: int, block_rows: int | None = None) -> Iterator[slice]:
    """Yield slices that cover ``n_rows`` rows, so that temporary arrays stay small."""
    step = block_rows or BLOCK_ROWS
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def count_by_label(labels: IntArray, n_labels: int) -> NDArray[np.int64]:
    """Return the number of rows with each label."""
    counts = np.zeros(n_labels, dtype=np.int64)
    for block in row_blocks(len(labels), max(BLOCK_ROWS, n_labels)):  # each block adds to all counts
        counts += np.bincount(labels[block], minlength=n_labels)
    return counts


def count_with_noise(labels: IntArray, n_labels: int) -> NDArray[np.int64]:
    """Return the number of rows with the label -1, and then with each other label."""
    counts = np.zeros(n_labels + 1, dtype=np.int64)
    for block in row_blocks(len(labels), max(BLOCK_ROWS, n_labels)):
        counts += np.bincount(labels[block] + 1, minlength=n_labels + 1)
    return counts


def sum_by_label(labels: IntArray, values: NDArray[np.float64] | None, n_labels: int) -> NDArray[np.float64]:
    """Return the sum of ``values`` for each label; the number of rows if ``values`` is None."""
    sums = np.bincount(labels, weights=values, minlength=n_labels)
    return np.asarray(sums, dtype=np.float64)


def rows_by_label(labels: IntArray, n_labels: int) -> tuple[IntArray, IntArray]:
    """Sort row numbers by label, then by row number, in linear time.

    Returns ``starts`` (of length ``n_labels + 1``) and ``rows``: label k has ``rows[starts[k]:starts[k + 1]]``.
    """
    n = len(labels)
    one_hot = sparse.csc_array(
        (np.ones(n, dtype=np.int8), labels, np.arange(n + 1, dtype=index_dtype(n + 1))),
        shape=(n_labels, n),
    ).tocsr()
    return one_hot.indptr, one_hot.indices


def take_places(labels: IntArray, next_places: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return a place for each row: the next ones of its label, which ``next_places`` has, and where they end is noted.

    Rows of a label get its places in their order.
    """
    starts, rows = rows_by_label(labels, len(next_places))
    counts = np.diff(starts)
    places = np.empty(len(labels), dtype=np.int64)
    places[rows] = np.arange(len(labels)) + np.repeat(next_places - starts[:-1], counts)
    next_places += counts
    return places
