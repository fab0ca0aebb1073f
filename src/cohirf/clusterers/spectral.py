"""Spectral partition of a graph, by the eigenvectors of its normalised affinity matrix."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from sklearn.cluster import KMeans

from cohirf.clusterers.canonical_rows import find_distinct_rows

DECIMALS = 8  # rows of the embedding that are equal to this many decimals differ only by rounding errors


def partition_graph(affinity: NDArray[Any], n_clusters: int, rng: np.random.RandomState) -> NDArray[np.int32]:
    """Partition a graph into clusters with weak connections between them.

    The embedding of a row is the vector of its entries in the leading eigenvectors of the affinity matrix, which is
    normalised by the square roots of its row sums. These vectors, scaled to length 1, are clustered by K-Means (Ng,
    Jordan and Weiss, 2001).

    Parameters
    ----------
    affinity : array of float, shape (n_rows, n_rows)
        Symmetric, with positive row sums.
    n_clusters : int
        Number of clusters; must be less than the number of rows.
    rng : RandomState
        Random numbers for the initial centres of K-Means.

    Returns
    -------
    labels : array of int32, shape (n_rows,)
        Cluster of each row. There are fewer than ``n_clusters`` clusters if fewer rows have distinct embeddings.

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
    """Return the entries of each row in the leading eigenvectors, as a vector of length 1."""
    normalised = affinity.astype(np.float64)
    inverse_root = normalised.sum(axis=1) ** -0.5
    normalised *= inverse_root[:, None]
    normalised *= inverse_root
    vectors = leading_eigenvectors(normalised, n_vectors)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors /= np.where(lengths > 0, lengths, 1)
    return vectors.round(DECIMALS)


def leading_eigenvectors(matrix: NDArray[np.float64], n_vectors: int) -> NDArray[np.float64]:
    """Return the eigenvectors of a symmetric matrix with the largest eigenvalues, as columns; overwrites the matrix.

    A full decomposition is used: if the graph has more than ``n_vectors`` clusters, many eigenvalues are close to 1,
    and iterative methods take hundreds of times longer to find the largest of them.
    """
    n_rows = len(matrix)
    return np.asarray(eigh(matrix, subset_by_index=(n_rows - n_vectors, n_rows - 1), overwrite_a=True)[1])
