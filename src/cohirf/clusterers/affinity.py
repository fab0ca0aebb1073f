"""The affinity of all rows on one view: a full kernel, and the kernel of nearest neighbours (Wang et al. 2014)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

FloatMatrix = NDArray[np.float32]

# So many rows of a few thousand numbers stay in the processor's cache. Not a power of two, or a column of a transposed
# block would fall on few lines of the cache.
BLOCK_ROWS = 84
SCALE = 0.5  # the width of the Gaussian, relative to the local distance; Wang et al. call it mu and advise 0.3 to 0.8


@dataclass(frozen=True)
class Affinity:
    """What one view knows of the similarity of rows.

    Attributes
    ----------
    status : array of float32, shape (n_rows, n_rows)
        Similarity of all pairs; rows add up to one, and half of that stands on the diagonal. P in Wang et al.
    neighbors : CSR matrix of float32, shape (n_rows, n_rows)
        Similarity to the nearest neighbours alone; rows add up to one. S in Wang et al.
    """

    status: FloatMatrix
    neighbors: Any


def build_affinity(view: Any, n_neighbors: int) -> Affinity:
    """Compare all rows of a view.

    The similarity of two rows at distance d is ``exp(-d ** 2 / (2 * (SCALE * local) ** 2))``, where ``local`` is the
    mean of d and of the mean distances of both to their nearest neighbours. A row is not its own neighbour. Rows
    that are equal to each other and to their neighbours have similarity one.

    Parameters
    ----------
    view : array or CSR matrix of float, shape (n_rows, n_features)
        Two rows or more. A CSR matrix stores no column twice in a row, and is not made dense.
    n_neighbors : int
        Number of neighbours, at most ``n_rows - 1``.

    Returns
    -------
    affinity : Affinity
        One dense float32 matrix and a sparse one. Nothing else of that size is allocated on the way.

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
    """Cut the rows into blocks that fit the cache."""
    for start in range(0, n_rows, BLOCK_ROWS):
        yield slice(start, min(start + BLOCK_ROWS, n_rows))


def standardise(view: NDArray[Any]) -> NDArray[np.float64]:
    """Centre the view and bring it into the range of one, so that no square overflows or vanishes.

    Similarities do not change, since they compare distances with distances.
    """
    scaled = view.astype(np.float64)
    scaled /= _largest(scaled)
    scaled -= scaled.mean(axis=0)
    scaled /= _largest(scaled)
    return scaled


def standardise_sparse(view: Any) -> Any:
    """Do for a CSR matrix what keeps it sparse: only features that are stored in every row are centred."""
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
    columns = view.T.tocsr() if sparse.issparse(view) else view.T  # once, not for each block
    rounding = 16 * np.finfo(np.float64).eps  # below this share of the norms, a difference of squares is noise
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
    np.maximum(width, np.finfo(np.float32).tiny, out=width)  # equal rows whose neighbours are equal too
    distances /= width
    distances *= distances
    distances *= -0.5
    np.exp(distances, out=distances)


def normalise(block: FloatMatrix, start: int) -> None:
    """Put one half on the diagonal and spread the other half over the rest of each row, in place.

    ``start`` is the row number at which the block of rows starts.
    """
    fill_diagonal(block, start, 0)
    block *= 0.5 / block.sum(axis=1, keepdims=True)
    fill_diagonal(block, start, 0.5)


def fill_diagonal(block: FloatMatrix, start: int, value: float) -> None:
    """Set the diagonal of a square matrix within a block of its rows."""
    rows = np.arange(len(block))
    block[rows, rows + start] = value


def _largest(values: NDArray[np.float64]) -> float:
    """Return the largest absolute value, or one if there is none to divide by."""
    return float(np.abs(values).max(initial=0)) or 1.0
