"""Similarity network fusion: fuse several affinity matrices of the same rows into one (Wang et al. 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed

from cohirf.clusterers.affinity import Affinity, FloatMatrix, blocks_of_rows, fill_diagonal


def fuse_affinities(affinities: Sequence[Affinity], n_iter: int, n_jobs: int | None = None) -> FloatMatrix:
    """Fuse affinities by cross-diffusion, and return their mean.

    In each iteration, every status matrix P is replaced by ``S @ (mean of the other P) @ S.T`` and normalised again,
    where S is the sparse matrix of its own neighbours. If there is only one affinity, its own P is used instead of the
    mean. The product takes O(n_rows ** 2 * n_neighbors) operations.

    Parameters
    ----------
    affinities : sequence of Affinity
        The affinities to fuse. Their status matrices are overwritten.
    n_iter : int
        Number of iterations.
    n_jobs : int, default=None
        Number of threads. The result does not depend on it.

    Returns
    -------
    fused : array of float32, shape (n_rows, n_rows)
        The symmetric fused matrix. One further matrix of this size is allocated per thread.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.clusterers.affinity import build_affinity
    >>> from cohirf.clusterers.fusion import fuse_affinities
    >>> X = np.array([[0.0, 0.3], [0.1, 0.0], [5.0, 5.2], [5.1, 5.0]])
    >>> fused = fuse_affinities([build_affinity(view, 1) for view in (X, X[:, :1], X[:, 1:])], n_iter=5)
    >>> fused.round(2)
    array([[0.5, 0.5, 0. , 0. ],
           [0.5, 0.5, 0. , 0. ],
           [0. , 0. , 0.5, 0.5],
           [0. , 0. , 0.5, 0.5]], dtype=float32)
    """
    workers = [Worker.of(part) for part in divide(affinities, effective_n_jobs(n_jobs))]
    total = np.empty_like(affinities[0].status)
    add_up(affinities, total)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:  # workers write into the status matrices
        for _ in range(n_iter):
            parallel(delayed(worker.diffuse)(total, alone=len(affinities) == 1) for worker in workers)
            add_up(affinities, total)
    symmetrise(total, 0.5 / len(affinities))
    return total


@dataclass(frozen=True)
class Worker:
    """The affinities that one thread updates, with its working memory.

    Attributes
    ----------
    affinities : sequence of Affinity
        The affinities that the thread updates.
    neighbor_blocks : list of list of CSR matrix
        For each affinity, its neighbour matrix, split into blocks of rows.
    others : array of float32, shape (n_rows, n_rows)
        Working memory for the sum of the other status matrices.
    """

    affinities: Sequence[Affinity]
    neighbor_blocks: list[list[Any]]
    others: FloatMatrix

    @classmethod
    def of(cls, affinities: Sequence[Affinity]) -> Worker:
        """Split the neighbour matrices into blocks, and allocate the working memory."""
        cut = [[a.neighbors[block] for block in blocks_of_rows(len(a.status))] for a in affinities]
        return cls(affinities, cut, np.empty_like(affinities[0].status))

    def diffuse(self, total: FloatMatrix, *, alone: bool) -> None:
        """Run one iteration for each affinity; ``total`` is the sum of all status matrices before the iteration."""
        for affinity, neighbor_blocks in zip(self.affinities, self.neighbor_blocks, strict=True):
            np.subtract(total, 0 if alone else affinity.status, out=self.others)
            diffuse(affinity, neighbor_blocks, self.others)


def divide(affinities: Sequence[Affinity], n_parts: int) -> list[Sequence[Affinity]]:
    """Divide the affinities into at most ``n_parts`` parts of about equal size."""
    n_parts = min(n_parts, len(affinities))
    return [affinities[part::n_parts] for part in range(n_parts)]


def add_up(affinities: Sequence[Affinity], total: FloatMatrix) -> None:
    """Write the sum of all status matrices, always in the same order, to ``total``."""
    for block in blocks_of_rows(len(total)):
        total[block] = affinities[0].status[block]
        for affinity in affinities[1:]:
            total[block] += affinity.status[block]


def diffuse(affinity: Affinity, neighbor_blocks: Sequence[Any], others: FloatMatrix) -> None:
    """Replace a status matrix by ``neighbors @ others @ neighbors.T``, normalised.

    ``others`` may be the sum or the mean of the other status matrices, because rows are normalised afterwards. The
    blocks of rows are small enough for both products, and the transpose between them, to fit into the cache.
    """
    status, neighbors = affinity.status, affinity.neighbors
    for block, neighbor_rows in zip(blocks_of_rows(len(status)), neighbor_blocks, strict=True):
        rows = neighbor_rows @ others
        columns = neighbors @ np.ascontiguousarray(rows.T)  # sparse @ dense is fast, dense @ sparse is not
        normalise_transposed(columns, block.start, out=status[block])


def normalise_transposed(columns: FloatMatrix, start: int, out: FloatMatrix) -> None:
    """Transpose a block into ``out``, with 0.5 on the diagonal and other entries of each row that sum to 0.5.

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
