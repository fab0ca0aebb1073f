"""Core distances and spanning tree of the rows of one batch."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.neighbours.box_tree import build_tree
from cohirf.spanning.boruvka_kernels import spanning_edges
from cohirf.spanning.edges import Edges, FloatArray
from cohirf.spanning.neighbour_kernels import nearest
from cohirf.spanning.replay import replay_tree

LIST_LENGTH = 16  # longer lists cost more than the walks through the tree that they save


def find_edges(X: Any, min_samples: int, *, as_sklearn: bool = False) -> tuple[FloatArray, Edges]:
    """Return core distances and the minimum spanning tree of mutual reachability of some rows.

    Parameters
    ----------
    X : array of float, shape (n_rows, n_features)
        The rows of a batch: its own rows, and rows around them that other batches share.
    min_samples : int
        The core distance of a row is its distance from the nearest row of this rank, where the row itself has rank 1.
    as_sklearn : bool
        Of several minimum spanning trees, return that of scikit-learn, with its edges in the order of scikit-learn.
        Otherwise, of edges of equal weight the tree has the shorter one, whatever the order of rows.

    Returns
    -------
    core : array of float, shape (n_rows,)
        Core distances in this batch. They are too large for rows whose neighbours are not in the batch.
    edges : Edges
        The edges of the spanning tree, with the distances of their rows. Weights are not returned: they follow from
        core distances, which another batch may know better.

    Notes
    -----
    Core distances that are too large lose no edge whose two rows have the right ones: paths around it only get heavier.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.spanning.batch_edges import find_edges
    >>> core, edges = find_edges(np.array([[0.0], [1.0], [3.0]]), min_samples=2)
    >>> core
    array([1., 1., 2.])
    >>> sorted(edges.lengths.tolist())
    [1.0, 2.0]
    """
    X = np.require(X, requirements=["C", "W"])
    tree = build_tree(X, np.arange(len(X)), np.ones(len(X)))
    columns = np.ascontiguousarray(tree.points.T)
    rank = min(min_samples, len(X))
    neighbours, distances2 = nearest(tree, columns, min(max(rank, LIST_LENGTH), len(X)))
    core2 = distances2[:, rank - 1].copy()
    pairs = spanning_edges(tree, columns, core2, neighbours, distances2, np.arange(len(X), dtype=np.int32))
    core = np.empty(len(X))
    core[tree.rows] = np.sqrt(core2)
    edges = edges_of(tree, pairs)
    if as_sklearn:
        edges = replay_tree(edges, core, _lists_of(tree, neighbours[:, :rank], distances2[:, :rank]))
    return core, edges


def _lists_of(tree: Any, neighbours: NDArray[np.int32], distances2: FloatArray) -> Edges:
    """Return edges from each row to its neighbours, without the row itself."""
    rows = tree.rows.astype(np.int32)
    one, two = np.repeat(rows, neighbours.shape[1]), rows[neighbours.ravel()]
    others = one != two
    return Edges(one[others], two[others], np.sqrt(distances2.ravel()[others]))


def edges_of(tree: Any, pairs: NDArray[np.int32]) -> Edges:
    """Return pairs of positions in a tree as edges between its rows, with their distances."""
    one, two = pairs.T
    squares = np.zeros(len(pairs))
    for column in tree.points.T:  # in the order of features, as everywhere: equal distances stay equal
        squares += (column[one] - column[two]) ** 2
    rows = tree.rows.astype(np.int32)
    return Edges(rows[one], rows[two], np.sqrt(squares))
