"""One spanning tree from the edges of all batches."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.box_tree import build_tree
from cohirf.spanning.batch_edges import Edges, FloatArray, RowArray, edges_of
from cohirf.spanning.boruvka_kernels import flatten, spanning_edges
from cohirf.spanning.kruskal_kernels import kruskal

CANDIDATES = 1_000_000  # rows of all parts together, for edges between parts


def join_edges(edges: Edges, core: FloatArray) -> tuple[Edges, NDArray[np.int32]]:
    """Return the spanning forest of a graph of mutual reachability, sorted by weight, and the part of each row.

    Parameters
    ----------
    edges : Edges
        Edges with the distances of their rows; an edge may be given more than once.
    core : array of float, shape (n_rows,)
        Core distance of each row.

    Returns
    -------
    forest : Edges
        The edges of the forest with their weights.
    parts : array of int, shape (n_rows,)
        The lowest row that the forest connects each row with.
    """
    forest = sort_by_weight(edges, core)
    parents = np.arange(len(core), dtype=np.int32)
    n_kept = kruskal(forest.one, forest.two, forest.lengths, parents)
    return Edges(forest.one[:n_kept], forest.two[:n_kept], forest.lengths[:n_kept]), flatten(parents)


def sort_by_weight(edges: Edges, core: FloatArray) -> Edges:
    """Return edges with their weights instead of distances, sorted; of equal weights, the shorter edge comes first."""
    weights = np.maximum(edges.lengths, core[edges.one])
    np.maximum(weights, core[edges.two], out=weights)
    order = np.lexsort([edges.lengths, weights])
    return Edges(edges.one[order], edges.two[order], weights[order])


def connect_parts(
    forest: Edges, parts: NDArray[np.int32], core: FloatArray, read: Callable[[NDArray[np.intp]], Any]
) -> Edges:
    """Return the spanning tree that connects all parts of a forest, sorted by weight.

    Edges between parts are the lightest ones among all rows, or, if there are more than a million, among a sample of
    each part. Then they may be longer than need be, and this is nearly harmless. Batches that share a row are in one
    part. Hence a part is as large as a batch, other parts are farther away than the rows around a batch that it shares
    with others, and only the distance at which large clusters merge is overestimated.

    Parameters
    ----------
    forest, parts
        As :func:`join_edges` returns them.
    core : array of float, shape (n_rows,)
        Core distance of each row.
    read : function
        Returns the values of the rows with given numbers.
    """
    if len(forest.one) == len(core) - 1:
        return forest
    some = choose_candidates(parts)
    bridges = lightest_bridges(np.asarray(read(some)), core[some], parts[some])
    joined = Edges(
        np.concatenate([forest.one, some[bridges.one].astype(forest.one.dtype)]),
        np.concatenate([forest.two, some[bridges.two].astype(forest.two.dtype)]),
        np.concatenate([forest.lengths, bridges.lengths]),
    )
    return sort_by_weight(joined, core)


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
