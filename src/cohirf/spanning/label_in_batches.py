"""Labels of HDBSCAN for rows in memory that are given in overlapping batches."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.spanning.batch_edges import Edges, find_edges
from cohirf.spanning.condensed_tree import label_tree
from cohirf.spanning.join_edges import connect_parts, join_edges
from cohirf.spanning.settings import Settings


def label_rows(X: Any, batches: Iterable[NDArray[np.intp]], settings: Settings) -> NDArray[np.int32]:
    """Return the labels that HDBSCAN gives to all rows, from batches of neighbouring rows.

    Parameters
    ----------
    X : array of float, shape (n_rows, n_features)
        The data.
    batches : iterable of arrays of int
        The rows of each batch, which overlap. Each row is in one batch or more.
    settings : Settings
        The parameters of HDBSCAN.

    Returns
    -------
    array of int, shape (n_rows,)
        Label of each row, -1 for noise.

    Notes
    -----
    Labels are those of all rows in one batch if each row shares a batch with its ``min_samples`` nearest rows, and if
    the rows of each edge of the spanning tree share a batch in which their core distances are the right ones. Other
    edges are replaced by a heavier way around. Labels differ, too, where both weights and lengths of edges are equal.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.spanning.label_in_batches import label_rows
    >>> from cohirf.spanning.settings import Settings
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> label_rows(X, [np.arange(4), np.arange(2, 6)], Settings(min_samples=2, min_cluster_size=2))
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    core = np.full(len(X), np.inf)
    found = []
    for rows in batches:
        core_in_batch, edges = find_edges(X[rows], settings.min_samples)
        core[rows] = np.minimum(core[rows], core_in_batch)  # the lowest is the best: it misses the fewest neighbours
        rows = rows.astype(np.int32)
        found.append(Edges(rows[edges.one], rows[edges.two], edges.lengths))
    forest, parts = join_edges(concatenate(found), core)
    return label_tree(connect_parts(forest, parts, core, X.__getitem__), settings)


def concatenate(edges: list[Edges]) -> Edges:
    """Return the edges of several batches together."""
    return Edges(
        np.concatenate([some.one for some in edges]),
        np.concatenate([some.two for some in edges]),
        np.concatenate([some.lengths for some in edges]),
    )
