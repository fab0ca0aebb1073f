"""Similarity network fusion (Wang et al.

2014): affinities of rows in each of several views, fused into one matrix.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms, safe_sparse_dot

from cohirf.clusterers.policy import AFFINITY
from cohirf.rows.arrays import as_rows
from cohirf.rows.containers import container_of
from cohirf.rows.threads import map_in_threads

FloatMatrix = NDArray[np.float32]


@dataclass(frozen=True)
class Affinity:
    """Similarities of the rows in one view; each row of either matrix sums to 1."""

    status: FloatMatrix  # of all pairs, with 0.5 on the diagonal; P in Wang et al.
    neighbors: Any  # a CSR matrix: to the nearest neighbours only; S in Wang et al.


def build_local_affinity(view: Any, n_neighbors: int) -> Affinity:
    """Compute the affinity matrices of a view as Wang et al. do.

    The similarity of two rows at distance d is ``exp(-d ** 2 / (2 * (scale * local) ** 2))``, where
    ``local`` is the mean of three numbers: d, and the mean distance of each of the two rows to its
    nearest neighbours. A row is not its own neighbour. Rows that are equal to each other and to
    their neighbours have similarity 1.

    The view has at least two rows. A CSR matrix must not store a column twice in a row, and is not
    converted to a dense array. No matrix of all pairs is allocated besides that of the result.
    """
    status = distances_of_pairs(container_of(view).standardise(view))
    neighbors, distances = smallest_of_rows(
        status, min(n_neighbors, len(status) - 1), diagonal=np.inf
    )
    local = distances.mean(axis=1)
    similarity = np.empty(neighbors.shape, dtype=np.float32)
    for block in blocks_of_rows(len(status)):
        turn_into_similarities(status[block], local[block], local)
        similarity[block] = np.take_along_axis(status[block], neighbors[block], axis=1)
        normalise(status[block], block.start)
    return Affinity(status, with_rows_of_sum_one(neighbors, similarity))


def build_nearest_affinity(view: Any, n_neighbors: int) -> Affinity:
    """Compute the affinity matrices of a view as the authors of CoHiRF do.

    A row has edges to its nearest rows, itself among them. The weight of an edge is
    ``exp(-d / (2 * mean))``, where ``mean`` is the mean distance of all pairs. Weights of a row are
    scaled to sum to 1, and the matrix is then replaced by the mean of it and its transpose. This is
    the status matrix, 0 for most pairs; neighbours are the rows with the largest weights in it. A
    row always has an edge to another row.

    The same views are accepted as by ``build_local_affinity``.
    """
    status = distances_of_pairs(container_of(view).standardise(view))
    n_kept = min(max(n_neighbors, 2), len(status))
    width = 2 * float(status.mean(dtype=np.float64)) or 1.0
    nearest, distances = smallest_of_rows(status, n_kept)
    weights = np.maximum(np.exp(distances / np.float32(-width)), np.float32(AFFINITY.faintest))
    graph = with_rows_of_sum_one(nearest, weights)
    ((graph + graph.T) * np.float32(0.5)).toarray(out=status)
    return Affinity(status, with_rows_of_sum_one(*smallest_of_rows(status, n_kept, sign=-1)))


def smallest_of_rows(
    matrix: FloatMatrix, n_kept: int, *, sign: int = 1, diagonal: float = -np.inf
) -> tuple[NDArray[np.intp], FloatMatrix]:
    """Return columns and values of the smallest entries of each row (sign=-1: the largest).

    The diagonal is always among them, or never if it is infinite: then a row is not its own
    neighbour.
    """
    columns = np.empty((len(matrix), n_kept), dtype=np.intp)
    for block in blocks_of_rows(len(matrix)):
        rows = matrix[block] * np.float32(sign)
        fill_diagonal(rows, block.start, diagonal)
        columns[block] = np.sort(np.argpartition(rows, n_kept - 1, axis=1)[:, :n_kept], axis=1)
    return columns, np.take_along_axis(matrix, columns, axis=1)


def with_rows_of_sum_one(columns: NDArray[np.intp], values: FloatMatrix) -> Any:
    """Return a square CSR matrix with these values in these columns of each row, scaled to sum to
    1.
    """
    starts = np.arange(0, columns.size + 1, columns.shape[1], dtype=np.int32)
    scaled = values / values.sum(axis=1, keepdims=True)
    return sparse.csr_array(
        (scaled.ravel(), columns.astype(np.int32).ravel(), starts), shape=(len(columns),) * 2
    )


def blocks_of_rows(n_rows: int) -> Iterator[slice]:
    """Yield blocks of rows that fit into the cache."""
    for start in range(0, n_rows, AFFINITY.block_rows):
        yield slice(start, min(start + AFFINITY.block_rows, n_rows))


def distances_of_pairs(view: Any) -> FloatMatrix:
    """Return the Euclidean distances of all pairs of rows of an array or CSR matrix of float64."""
    n_rows = view.shape[0]
    distances = np.empty((n_rows, n_rows), dtype=np.float32)
    norms = row_norms(view, squared=True)
    # transposed once, not for each block
    columns = as_rows(view.T)
    # squared distances below this share of the norms are rounding errors
    rounding = 16 * np.finfo(np.float64).eps
    for block in blocks_of_rows(n_rows):
        both = norms[block, None] + norms
        squares = both - 2 * safe_sparse_dot(view[block], columns, dense_output=True)
        squares[squares <= rounding * both] = 0
        distances[block] = np.sqrt(squares)
    return distances


def turn_into_similarities(
    distances: FloatMatrix, local: FloatMatrix, local_of_all: FloatMatrix
) -> None:
    """Turn a block of distances into similarities, in place."""
    width = local[:, None] + local_of_all
    width += distances
    width *= AFFINITY.scale / 3
    # the width is 0 for equal rows with equal neighbours
    np.maximum(width, np.finfo(np.float32).tiny, out=width)
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


def fuse_affinities(
    affinities: Sequence[Affinity], n_iter: int, *, rescale: bool = True
) -> FloatMatrix:
    """Fuse affinities by cross-diffusion, and return their mean.

    In each iteration, every status matrix P is replaced by ``S @ (mean of the other P) @ S.T`` and
    normalised again, where S is the sparse matrix of its own neighbours. Without ``rescale`` the
    identity is added instead, as the authors of CoHiRF do. If there is only one affinity, its own P
    is used instead of the mean. The product takes O(n_rows ** 2 * n_neighbors) operations. The
    status matrices are overwritten, and one more matrix of this size is allocated per thread. An
    affinity that is there several times is computed once. The result is symmetric, and does not
    depend on the number of threads.
    """
    total = np.empty_like(affinities[0].status)
    add_up(affinities, total)
    n_others = len(affinities) - 1
    # sliced once, not in each iteration; equal affinities stay equal
    distinct = {id(affinity): affinity for affinity in affinities}.values()
    blocks = [(affinity, neighbors_in_blocks(affinity)) for affinity in distinct]
    for _ in range(n_iter):
        map_in_threads(lambda task: diffuse(*task, total, n_others, rescale=rescale), blocks)
        add_up(affinities, total)
    symmetrise(total, 0.5 / len(affinities))
    return total


def add_up(affinities: Sequence[Affinity], total: FloatMatrix) -> None:
    """Write the sum of all status matrices, always in the same order, to ``total``."""
    for block in blocks_of_rows(len(total)):
        total[block] = affinities[0].status[block]
        for affinity in affinities[1:]:
            total[block] += affinity.status[block]


def neighbors_in_blocks(affinity: Affinity) -> list[Any]:
    """Return the rows of the matrix of neighbours, block by block."""
    return [affinity.neighbors[block] for block in blocks_of_rows(len(affinity.status))]


def diffuse(
    affinity: Affinity,
    rows_of_blocks: list[Any],
    total: FloatMatrix,
    n_others: int,
    *,
    rescale: bool,
) -> None:
    """Replace a status matrix by ``neighbors @ others @ neighbors.T``, normalised.

    ``total`` is the sum of all.

    Rows are normalised afterwards, so others may be summed. Without ``rescale``, the identity is
    added to the product of their mean. The blocks of rows are small enough for both products, and
    the transpose between them, to fit into the cache.
    """
    status = affinity.status
    neighbors = affinity.neighbors
    others = total - status if n_others else total
    blocks = blocks_of_rows(len(status))
    for block, neighbors_of_block in zip(blocks, rows_of_blocks, strict=True):
        rows = neighbors_of_block @ others
        # sparse @ dense is fast, dense @ sparse is not
        columns = neighbors @ np.ascontiguousarray(rows.T)
        if rescale:
            normalise_transposed(columns, block.start, out=status[block])
        else:
            np.divide(columns.T, np.float32(max(1, n_others)), out=status[block])
            np.einsum("ii->i", status[block, block])[:] += 1  # the diagonal, as a view


def normalise_transposed(columns: FloatMatrix, start: int, out: FloatMatrix) -> None:
    """Transpose a block into ``out``, with 0.5 on the diagonal and other entries of each row that
    sum to 0.5.

    The block itself is overwritten. ``start`` is the row number of the first row of ``out``.
    """
    fill_diagonal(columns.T, start, 0)
    rest = np.ones(len(columns), dtype=columns.dtype) @ columns
    columns *= 0.5 / rest  # before the transpose: several times faster along contiguous rows
    out[:] = columns.T
    fill_diagonal(out, start, 0.5)


def symmetrise(matrix: FloatMatrix, factor: float) -> None:
    """Replace a matrix by ``factor`` times the sum of itself and its transpose, in place."""
    for block in blocks_of_rows(len(matrix)):
        after = slice(block.start, None)
        both = (matrix[block, after] + matrix[after, block].T) * np.float32(factor)
        matrix[block, after] = both
        matrix[after, block] = both.T
