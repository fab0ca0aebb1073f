"""Similarity network fusion: many affinities of the same rows become one (Wang et al. 2014)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from cohirf.clusterers.affinity import Affinity, FloatMatrix, blocks_of_rows, normalise


def fuse_affinities(affinities: Sequence[Affinity], n_iter: int, n_jobs: int | None = None) -> FloatMatrix:
    """Let the affinities take over from each other what their neighbours agree on, and return their mean.

    In each iteration, every status matrix P becomes ``S @ (mean of the other P) @ S.T``, normalised again, where S
    is the sparse matrix of its own neighbours. A single affinity has itself for the others. The product costs
    O(n_rows ** 2 * n_neighbors).

    Parameters
    ----------
    affinities : sequence of Affinity
        The status matrices are overwritten.
    n_iter : int
        Number of iterations.
    n_jobs : int, optional
        Number of threads. The result does not depend on it.

    Returns
    -------
    fused : array of float32, shape (n_rows, n_rows)
        Symmetric. Besides it, one matrix of that size per thread is allocated.

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
    total = np.empty_like(affinities[0].status)
    add_up(affinities, total)
    with Parallel(n_jobs=n_jobs, require="sharedmem") as parallel:  # tasks write into the status matrices
        for _ in range(n_iter):
            parallel(delayed(diffuse)(affinity, total, alone=len(affinities) == 1) for affinity in affinities)
            add_up(affinities, total)
    symmetrise(total, 0.5 / len(affinities))
    return total


def add_up(affinities: Sequence[Affinity], total: FloatMatrix) -> None:
    """Add up all status matrices, always in the same order, into ``total``."""
    for block in blocks_of_rows(len(total)):
        total[block] = affinities[0].status[block]
        for affinity in affinities[1:]:
            total[block] += affinity.status[block]


def diffuse(affinity: Affinity, total: FloatMatrix, *, alone: bool) -> None:
    """Replace the status matrix by the others' one, spread along its own neighbours; one step of one affinity.

    The others are ``total`` less the status matrix itself. Their number need not be known, since rows are
    normalised in the end.
    """
    status, neighbors = affinity.status, affinity.neighbors
    others = total if alone else total - status
    for block in blocks_of_rows(len(status)):
        status[block] = spread(neighbors, block, others)
        normalise(status[block], block.start)


def spread(neighbors: Any, block: slice, others: FloatMatrix) -> FloatMatrix:
    """Return a block of the rows of ``neighbors @ others @ neighbors.T``."""
    rows = neighbors[block] @ others
    spread_rows: FloatMatrix = (neighbors @ np.ascontiguousarray(rows.T)).T  # a sparse matrix wants the left side
    return spread_rows


def symmetrise(matrix: FloatMatrix, factor: float) -> None:
    """Replace a matrix by ``factor`` times the sum of itself and its transpose, in place."""
    for block in blocks_of_rows(len(matrix)):
        after = slice(block.start, None)
        both = (matrix[block, after] + matrix[after, block].T) * np.float32(factor)
        matrix[block, after] = both
        matrix[after, block] = both.T
