"""Partition of a graph by the eigenvectors of its normalised affinity matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from cohirf.clusterers.canonical_rows import find_distinct_rows

DECIMALS = 8  # rows of the embedding that agree so far are the same but for rounding


def partition_graph(affinity: NDArray[Any], n_clusters: int, rng: np.random.RandomState) -> NDArray[np.int32]:
    """Cut a graph into clusters with few connections between them.

    Each row is described by its entries in the leading eigenvectors of the affinity matrix, which is normalised by
    the square roots of its row sums; these descriptions, brought to length one, are clustered by K-Means (Ng, Jordan
    and Weiss, 2001).

    Parameters
    ----------
    affinity : array of float, shape (n_rows, n_rows)
        Symmetric, with positive row sums.
    n_clusters : int
        Number of clusters, fewer than rows.
    rng : RandomState
        Draws the starts of K-Means.

    Returns
    -------
    labels : array of int32, shape (n_rows,)
        Fewer clusters than asked for if fewer rows have different descriptions.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.clusterers.spectral import partition_graph
    >>> affinity = np.kron(np.eye(2), np.ones((3, 3)))
    >>> labels = partition_graph(affinity, 2, np.random.RandomState(0))
    >>> [len(set(part)) for part in (labels[:3], labels[3:], labels)]
    [1, 1, 2]
    """
    embedding = embed_graph(affinity, n_clusters)
    n_distinct = len(find_distinct_rows(embedding).first)
    method = KMeans(min(n_clusters, n_distinct), n_init=10, random_state=rng)
    labels: NDArray[np.int32] = method.fit(embedding).labels_
    return labels


def embed_graph(affinity: NDArray[Any], n_vectors: int) -> NDArray[np.float64]:
    """Return the entries of each row in the leading eigenvectors, as a vector of length one."""
    normalised = affinity.astype(np.float64)
    inverse_root = normalised.sum(axis=1) ** -0.5
    normalised *= inverse_root[:, None]
    normalised *= inverse_root
    vectors = leading_eigenvectors(normalised, n_vectors)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors.round(DECIMALS)


def leading_eigenvectors(matrix: NDArray[np.float64], n_vectors: int) -> NDArray[np.float64]:
    """Return the eigenvectors of a symmetric matrix with the largest eigenvalues, as columns; uses the matrix up.

    By a full decomposition: a graph of more clusters than are asked for has more eigenvalues close to 1, among which an
    iteration finds the largest ones hundreds of times slower.
    """
    n_rows = len(matrix)
    return np.asarray(eigh(matrix, subset_by_index=(n_rows - n_vectors, n_rows - 1), overwrite_a=True)[1])
