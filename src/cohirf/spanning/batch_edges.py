"""Core distances and spanning tree of the rows of one batch, and edges between parts of the
data.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.rows.storage import Storage
from cohirf.spanning.batch_kernels import find_neighbours, run_prim, spanning_edges
from cohirf.spanning.box_tree import build_tree
from cohirf.spanning.found_in_runs import Lists
from cohirf.spanning.policy import LISTS


@dataclass(frozen=True, eq=False)
class Edges:
    """Edges between rows."""

    one: IntArray
    two: IntArray
    lengths: FloatArray  # Euclidean distances, or weights: see the function that returns them

    @classmethod
    def room_for(cls, n_edges: int, storage: Storage) -> Edges:
        """Return unwritten edges."""
        one, two = (storage.vector(n_edges, np.int32) for _ in range(2))
        return cls(one, two, storage.vector(n_edges, np.float64))

    @property
    def count(self) -> int:
        """Number of edges."""
        return len(self.one)

    def take(self, places: Any) -> Edges:
        """Return the edges at the given places."""
        return Edges(self.one[places], self.two[places], self.lengths[places])

    def put(self, places: slice | NDArray[np.int64], edges: Edges) -> None:
        """Write edges to the given places."""
        self.one[places], self.two[places], self.lengths[places] = (
            edges.one,
            edges.two,
            edges.lengths,
        )

    def weigh(self, core: FloatArray) -> FloatArray:
        """Return the weight of each edge: its length, or the larger core distance of its rows if
        that is longer.
        """
        weights = np.maximum(self.lengths, core[self.one])
        return np.maximum(weights, core[self.two], out=weights)


def span_rows(X: Any, min_samples: int, *, as_sklearn: bool = False) -> tuple[FloatArray, Edges]:
    """Return core distances and the minimum spanning tree of mutual reachability of the rows of a
    batch.

    The core distance of a row is its distance from the nearest row of the rank ``min_samples``,
    where the row itself has rank 1. It is too large if neighbours are not in the batch. This loses
    no edge whose two rows have the right ones: paths around it only get heavier. So edges come with
    distances; weights follow from the core distances that the best batch knows.

    Of several minimum spanning trees, the one with the shorter edges is returned, whatever the
    order of rows; or, with ``as_sklearn``, that of scikit-learn, with its edges in the order of
    scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.spanning.batch_edges import span_rows
    >>> core, edges = span_rows(np.array([[0.0], [1.0], [3.0]]), min_samples=2)
    >>> core
    array([1., 1., 2.])
    >>> sorted(edges.lengths.tolist())
    [1.0, 2.0]
    """
    tree, columns = _build(X)
    n_rows = len(tree.rows)
    rank = min(min_samples, len(tree.rows))
    neighbours, distances2 = find_neighbours(tree, columns, max(min_samples, LISTS.within_batch))
    core2 = distances2[:, rank - 1].copy()
    found = spanning_edges(
        tree, columns, core2, neighbours, distances2, np.arange(n_rows, dtype=np.int32)
    )
    core = np.empty(n_rows)
    edges = _edges_of(tree, *found)
    core[tree.rows] = np.sqrt(core2)
    if as_sklearn:
        edges = _replay(edges, core, _edges_in(_lists_of(tree, neighbours, distances2), rank))
    return core, edges


def list_rows(X: Any, min_samples: int, length: int) -> tuple[FloatArray, Lists]:
    """Return core distances as :func:`span_rows` does, and ``length`` nearest rows of each row, or
    fewer.
    """
    tree, columns = _build(X)
    found = _lists_of(tree, *find_neighbours(tree, columns, max(min_samples, length)))
    core = np.sqrt(found.distances2[:, min(min_samples, len(tree.rows)) - 1])
    return core, Lists(found.rows, found.neighbours[:, :length], found.distances2[:, :length])


def span_parts(X: Any, core: FloatArray, parts: IntArray) -> Edges:
    """Return the lightest edges of mutual reachability that connect given parts of the rows, with
    distances.
    """
    tree, columns = _build(X)
    _, first, part = np.unique(parts[tree.rows], return_index=True, return_inverse=True)
    positions = np.arange(len(tree.rows), dtype=np.int32)
    # rows of other parts are in no list
    lists = positions.reshape(-1, 1)
    ends = np.zeros((len(positions), 1))
    parents = first[part].astype(np.int32)
    return _edges_of(
        tree, *spanning_edges(tree, columns, core[tree.rows] ** 2, lists, ends, parents)
    )


def _build(X: Any) -> tuple[Any, FloatArray]:
    """Return a tree of boxes of some rows, and its points with a line for each feature."""
    X = np.require(X, requirements=["C", "W"])
    tree = build_tree(X, np.arange(len(X)), np.ones(len(X)))
    return tree, np.ascontiguousarray(tree.points.T)


def _lists_of(tree: Any, neighbours: NDArray[np.int32], distances2: FloatArray) -> Lists:
    """Return lists of positions in a tree as lists of its rows."""
    place = np.argsort(tree.rows)
    return Lists(
        np.arange(len(place)), tree.rows.astype(np.int32)[neighbours[place]], distances2[place]
    )


def _edges_of(tree: Any, pairs: NDArray[np.int32], lengths2: FloatArray) -> Edges:
    """Return pairs of positions in a tree as edges between its rows."""
    rows = tree.rows.astype(np.int32)
    return Edges(rows[pairs[:, 0]], rows[pairs[:, 1]], np.sqrt(lengths2))


def _edges_in(lists: Lists, rank: int) -> Edges:
    """Return edges from each row to the first rows of its list."""
    neighbours = lists.neighbours[:, :rank]
    distances2 = lists.distances2[:, :rank]
    return Edges(
        np.repeat(lists.rows.astype(np.int32), rank),
        neighbours.ravel(),
        np.sqrt(distances2.ravel()),
    )


def _replay(edges: Edges, core: FloatArray, lists: Edges) -> Edges:
    """Return the spanning tree of scikit-learn, with its edges in the order in which they are
    found.

    The weight of an edge is often the core distance of one of its rows, and then all edges of this
    row to nearer rows have the same weight. Which of them are in the tree, and which come first,
    decides whether a row between two clusters joins one or the other, and with it whether a cluster
    reaches ``min_cluster_size``. scikit-learn runs Prim's algorithm from row 0, takes the lowest
    row where weights are equal, and then sorts edges with ``numpy.argsort``, which is not stable.
    So its labels depend on the order of rows. Here the same is done with the few edges that can be
    in such a tree: those of any minimum spanning tree, and ``lists``, which lead from each row to
    those that are not farther away than its core distance.
    """
    # other edges are in the list of their other row, too
    tied = lists.take(core[lists.two] <= core[lists.one])
    one = np.append(edges.one, tied.one)
    two = np.append(edges.two, tied.two)
    some = Edges(one, two, np.append(edges.lengths, tied.lengths))
    ends = np.append(one, two)
    by_end = np.argsort(ends, kind="stable")
    starts = np.searchsorted(ends[by_end], np.arange(len(core) + 1))
    return some.take(run_prim(starts, by_end % len(one), one, two, some.weigh(core)))
