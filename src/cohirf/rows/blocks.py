"""How rows are numbered, and divided into blocks that are computed together."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

IntArray = NDArray[np.integer[Any]]
FloatArray = NDArray[np.float64]

BLOCK_ROWS = 2**16


def index_dtype(n_rows: int) -> type[np.signedinteger[Any]]:
    """Return int32 if it can number ``n_rows`` rows, otherwise int64."""
    return np.int32 if n_rows < 2**31 else np.int64


def table_limit(n_rows: int) -> int:
    """Return the longest direct-address table that is still cheaper than sorting ``n_rows``
    keys.
    """
    return 2 * n_rows + 1024


def row_blocks(n_rows: int, block_rows: int | None = None) -> Iterator[slice]:
    """Yield slices that cover ``n_rows`` rows, so that temporary arrays stay small."""
    step = block_rows or BLOCK_ROWS
    for start in range(0, n_rows, step):
        yield slice(start, min(start + step, n_rows))


def is_kept(n_rows: int, left_out: IntArray) -> NDArray[np.bool_]:
    """Return which of ``n_rows`` positions are not left out."""
    is_kept = np.ones(n_rows, dtype=bool)
    is_kept[left_out] = False
    return is_kept
