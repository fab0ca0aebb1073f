"""The distinct rows of a data matrix, in an order that does not depend on the order of the rows in the data."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows.grouping import IntArray


@dataclass(frozen=True)
class DistinctRows:
    """The distinct rows of a matrix, sorted."""

    first: IntArray  # for each distinct row, the number of a row of the matrix that is equal to it
    group: IntArray  # for each row of the matrix, the number of the distinct row that is equal to it


def canonical_csr(X: Any) -> Any:
    """Return a CSR matrix with sorted, distinct column numbers and no stored zeros; ``X`` itself if it is one."""
    if X.has_canonical_format and X.data.all():
        return X
    X = X.copy()
    X.sum_duplicates()
    X.eliminate_zeros()
    return X


def find_distinct_rows(X: Any) -> DistinctRows:
    """Sort the rows of ``X`` and group equal ones; the order of the distinct rows depends only on the set of rows.

    ``X`` has finite numbers; a CSR matrix must have sorted, distinct column numbers and no stored zeros.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.clusterers.canonical_rows import find_distinct_rows
    >>> distinct = find_distinct_rows(np.array([[2.0, 1.0], [0.0, 5.0], [2.0, 0.0], [2.0, 1.0]]))
    >>> distinct.group, distinct.first
    (array([2, 0, 1, 2]), array([1, 2, 0]))
    """
    order, is_new = sort_sparse_rows(X) if sparse.issparse(X) else sort_rows(X)
    group = np.empty(len(order), dtype=np.intp)
    group[order] = np.cumsum(is_new) - 1
    return DistinctRows(first=order[is_new], group=group)


def sort_rows(X: NDArray[Any]) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return the lexicographic order of the rows, and which of them differ from the previous one.

    Each further column is used only for rows that are equal in all columns before it.
    """
    order = np.argsort(X[:, 0], kind="stable")
    is_new = _differs_from_previous(X[order, 0])
    for column in X.T[1:]:
        tied = np.flatnonzero(_is_tied(is_new))  # positions in the order
        if len(tied) == 0:
            break
        tie = np.cumsum(is_new)[tied]  # ties are contiguous, so sorting by them first keeps each in its place
        rows = order[tied]
        rows = rows[np.lexsort((column[rows], tie))]
        order[tied] = rows
        is_new[tied] |= _differs_from_previous(column[rows])
    return order, is_new


def sort_sparse_rows(X: Any) -> tuple[IntArray, NDArray[np.bool_]]:
    """Return a canonical order of the rows of a CSR matrix, and which of them differ from the previous one."""
    parts = [slice(start, end) for start, end in pairwise(X.indptr.tolist())]
    rows = [(X.indices[part].tobytes(), X.data[part].tobytes()) for part in parts]
    order = sorted(range(len(rows)), key=rows.__getitem__)
    is_new = [i == 0 or rows[order[i]] != rows[order[i - 1]] for i in range(len(rows))]
    return np.array(order, dtype=np.intp), np.array(is_new, dtype=np.bool_)


def _differs_from_previous(values: NDArray[Any]) -> NDArray[np.bool_]:
    return np.concatenate([[True], values[1:] != values[:-1]])


def _is_tied(is_new: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which entries of a sorted sequence are equal to the previous or the next one."""
    is_last = np.append(is_new[1:], True)
    return np.asarray(~(is_new & is_last))
