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

IntArray = NDArray[np.intp]


def label_in_batches(X: Any, batches: Iterable[tuple[IntArray, IntArray]], settings: Settings) -> NDArray[np.int32]:
    """Return the labels that HDBSCAN gives to all rows, from batches of neighbouring rows.

    Parameters
    ----------
    X : array of float, shape (n_rows, n_features)
        The data.
    batches : iterable of (home, halo)
        Row numbers. Each row is a home row of one batch; halo rows are the nearest rows around these.
    settings : Settings
        The parameters of HDBSCAN.

    Notes
    -----
    The labels are those of HDBSCAN on all rows if the neighbours of each row are in its batch, and if the rows of each
    edge of the spanning tree share a batch. Edges that share none are replaced by a heavier way around.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.spanning.label_in_batches import label_in_batches
    >>> from cohirf.spanning.settings import Settings
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])
    >>> batches = [(np.arange(3), np.arange(3, 5)), (np.arange(3, 6), np.arange(1, 3))]
    >>> label_in_batches(X, batches, Settings(min_samples=2, min_cluster_size=2))
    array([0, 0, 0, 1, 1, 1], dtype=int32)
    """
    core = np.full(len(X), np.inf)
    found = []
    for home, halo in batches:
        rows = np.concatenate([home, halo]).astype(np.int32)
        core_in_batch, edges = find_edges(X[rows], settings.min_samples)
        core[rows] = np.minimum(core[rows], core_in_batch)  # the lowest is the best: it misses the fewest neighbours
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
