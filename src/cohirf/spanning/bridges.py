"""Edges between parts of the data that no batch connects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.storage import MemoryStorage
from cohirf.neighbours.box_tree import build_tree
from cohirf.spanning.batch_edges import edges_of
from cohirf.spanning.boruvka_kernels import spanning_edges
from cohirf.spanning.edges import Edges, FloatArray, RowArray

CANDIDATES = 1_000_000  # rows of all parts together, for edges between parts


def find_bridges(parts: NDArray[np.int32], core: FloatArray, read: Callable[[NDArray[np.intp]], Any]) -> Edges:
    """Return edges that connect all parts, with the distances of their rows.

    Edges between parts are the lightest ones among all rows, or, if there are more than a million, among a sample of
    each part. Then they may be longer than need be, and this is nearly harmless. Batches that share a row are in one
    part. Hence a part is as large as a batch, other parts are farther away than the rows around a batch that it shares
    with others, and only the distance at which large clusters merge is overestimated.

    Parameters
    ----------
    parts : array of int, shape (n_rows,)
        The lowest row that batches connect each row with.
    core : array of float, shape (n_rows,)
        Core distance of each row.
    read : function
        Returns the values of the rows with given numbers.
    """
    if not parts.any():  # all rows are connected with row 0
        return Edges.room_for(0, MemoryStorage())
    some = choose_candidates(parts)
    bridges = lightest_bridges(np.asarray(read(some)), core[some], parts[some])
    return Edges(some[bridges.one].astype(np.int32), some[bridges.two].astype(np.int32), bridges.lengths)


def choose_candidates(parts: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return about ``CANDIDATES`` rows: all rows of small parts, and a sample of each larger part."""
    sizes = np.bincount(parts)
    share = CANDIDATES / np.count_nonzero(sizes)
    chance = np.random.default_rng(0).random(len(parts))
    return np.flatnonzero(chance * sizes[parts] < share)


def lightest_bridges(X: Any, core: FloatArray, parts: RowArray) -> Edges:
    """Return the lightest edges of mutual reachability that connect given parts of the rows, with distances."""
    X = np.require(X, requirements=["C", "W"])
    tree = build_tree(X, np.arange(len(X)), np.ones(len(X)))
    _, first, part = np.unique(parts[tree.rows], return_index=True, return_inverse=True)
    positions = np.arange(len(X), dtype=np.int32)
    lists, ends = positions.reshape(-1, 1), np.zeros((len(X), 1))  # rows of other parts are in no list of neighbours
    parents = first[part].astype(np.int32)
    columns = np.ascontiguousarray(tree.points.T)
    return edges_of(tree, spanning_edges(tree, columns, core[tree.rows] ** 2, lists, ends, parents))
