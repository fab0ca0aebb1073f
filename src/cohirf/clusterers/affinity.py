"""Affinity matrices of one view: of all pairs of rows, and of nearest neighbours only (Wang et al. 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

FloatMatrix = NDArray[np.float32]

# Rows per block: with a few thousand columns, a block fits into the processor's cache. Not a power of two, because a
# column of a transposed block would then use only a few lines of the cache.
BLOCK_ROWS = 84
SCALE = 0.5  # the width of the Gaussian, relative to the local distance; Wang et al. call it mu and advise 0.3 to 0.8


@dataclass(frozen=True)
class Affinity:
    """Similarities of the rows in one view.

    Attributes
    ----------
    status : array of float32, shape (n_rows, n_rows)
        Similarity of all pairs. Each row sums to 1; its diagonal entry is 0.5. P in Wang et al.
    neighbors : CSR matrix of float32, shape (n_rows, n_rows)
        Similarity to the nearest neighbours only. Each row sums to 1. S in Wang et al.
    """

    status: FloatMatrix
    neighbors: Any


def build_affinity(view: Any, n_neighbors: int) -> Affinity:
    """Compute the affinity matrices of a view.

    The similarity of two rows at distance d is ``exp(-d ** 2 / (2 * (SCALE * local) ** 2))``, where ``local`` is the
    mean of three numbers: d, and the mean distance of each of the two rows to its nearest neighbours. A row is not its
    own neighbour. Rows that are equal to each other and to their neighbours have similarity 1.

    Parameters
    ----------
    view : array or CSR matrix of float, shape (n_rows, n_features)
        At least two rows. A CSR matrix must not store a column twice in a row; it is not converted to a dense array.
    n_neighbors : int
        Number of neighbours, at most ``n_rows - 1``.

    Returns
    -------
    affinity : Affinity
        A dense float32 matrix and a sparse one. No other matrix of this size is allocated.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.clusterers.affinity import build_affinity
    >>> affinity = build_affinity(np.array([[0.0], [0.1], [5.0], [5.1]]), n_neighbors=1)
    >>> affinity.status.round(2)
    array([[0.5, 0.5, 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0. , 0. , 0.5, 0.5]], dtype=float32)
    >>> affinity.neighbors.indices
    array([1, 0, 3, 2], dtype=int32)
    """
    n_rows = view.shape[0]
    status = measure_distances(standardise_sparse(view) if sparse.issparse(view) else standardise(view))
    neighbors, local = find_neighbors(status, n_neighbors)
    similarity = np.empty(neighbors.shape, dtype=np.float32)
    for block in blocks_of_rows(n_rows):
        compare(status[block], local[block], local)
        similarity[block] = np.take_along_axis(status[block], neighbors[block], axis=1)
        normalise(status[block], block.start)
    similarity /= similarity.sum(axis=1, keepdims=True)
    starts = np.arange(0, neighbors.size + 1, neighbors.shape[1], dtype=np.int32)
    columns = neighbors.astype(np.int32).ravel()
    return Affinity(status, sparse.csr_array((similarity.ravel(), columns, starts), shape=(n_rows, n_rows)))


def blocks_of_rows(n_rows: int) -> Iterator[slice]:
    """Yield blocks of rows that fit into the cache."""
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def standardise(view: NDArray[Any]) -> NDArray[np.float64]:
    """Centre the view and scale it to absolute values of at most 1, so that squares neither overflow nor underflow.

    Similarities do not change: they depend on ratios of distances only.
    """
    scaled = view.astype(np.float64)
    scaled /= _largest(scaled)
    scaled -= scaled.mean(axis=0)
    scaled /= _largest(scaled)
    return scaled


def standardise_sparse(view: Any) -> Any:
    """Standardise a CSR matrix and keep it sparse: only features that are stored in every row are centred."""
    scaled = view.astype(np.float64)
    scaled.data /= _largest(scaled.data)
    sums = np.asarray(scaled.sum(axis=0)).ravel()
    n_stored = np.bincount(scaled.indices, minlength=view.shape[1])
    scaled.data -= np.where(n_stored == view.shape[0], sums / view.shape[0], 0)[scaled.indices]
    scaled.data /= _largest(scaled.data)
    return scaled


def measure_distances(view: Any) -> FloatMatrix:
    """Return the Euclidean distances of all pairs of rows of an array or CSR matrix of float64."""
    n_rows = view.shape[0]
    distances = np.empty((n_rows, n_rows), dtype=np.float32)
    norms = row_norms(view, squared=True)
    columns = view.T.tocsr() if sparse.issparse(view) else view.T  # transposed once, not for each block
    rounding = 16 * np.finfo(np.float64).eps  # squared distances below this share of the norms are rounding errors
    for block in blocks_of_rows(n_rows):
        both = norms[block, None] + norms
        squares = both - 2 * safe_sparse_dot(view[block], columns, dense_output=True)
        squares[squares <= rounding * both] = 0
        distances[block] = np.sqrt(squares)
    return distances


def find_neighbors(distances: FloatMatrix, n_neighbors: int) -> tuple[NDArray[np.intp], FloatMatrix]:
    """Return the nearest neighbours of each row, and its mean distance to them."""
    n_rows = len(distances)
    neighbors = np.empty((n_rows, n_neighbors), dtype=np.intp)
    local = np.empty(n_rows, dtype=np.float32)
    for block in blocks_of_rows(n_rows):
        others = distances[block].copy()
        fill_diagonal(others, block.start, np.inf)  # a row is not its own neighbour
        nearest = np.sort(np.argpartition(others, n_neighbors - 1, axis=1)[:, :n_neighbors], axis=1)
        neighbors[block] = nearest
        local[block] = np.take_along_axis(others, nearest, axis=1).mean(axis=1)
    return neighbors, local


def compare(distances: FloatMatrix, local: FloatMatrix, local_of_all: FloatMatrix) -> None:
    """Turn a block of distances into similarities, in place."""
    width = local[:, None] + local_of_all
    width += distances
    width *= SCALE / 3
    np.maximum(width, np.finfo(np.float32).tiny, out=width)  # the width is 0 for equal rows with equal neighbours
    distances /= width
    distances *= distances
    distances *= -0.5
    np.exp(distances, out=distances)


def normalise(block: FloatMatrix, start: int) -> None:
    """Set the diagonal to 0.5, and scale the other entries of each row to sum to 0.5, in place.

    ``start`` is the row number of the first row of the block.
    """
    fill_diagonal(block, start, 0)
    block *= 0.5 / block.sum(axis=1, keepdims=True)
    fill_diagonal(block, start, 0.5)


def fill_diagonal(block: FloatMatrix, start: int, value: float) -> None:
    """Set those entries of the diagonal of a square matrix that are in a block of its rows."""
    rows = np.arange(len(block))
    block[rows, rows + start] = value


def _largest(values: NDArray[np.float64]) -> float:
    """Return the largest absolute value, or 1 if it is 0."""
    return float(np.abs(values).max(initial=0)) or 1.0
