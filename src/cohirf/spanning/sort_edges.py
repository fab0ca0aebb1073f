"""Sort the edges of all batches by weight, in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import count_by_label, row_blocks, take_places
from cohirf.algorithm.storage import Storage
from cohirf.spanning.edges import Edges, FloatArray
from cohirf.spanning.sort_kernels import order_by

Order = Callable[[FloatArray, FloatArray], Any]
SORTED_EDGES = 2**22  # edges that are sorted at a time, about
SAMPLED = 2**16  # edges whose weights tell where to divide the others


def sort_by_weight(edges: Edges, core: FloatArray, storage: Storage, order: Order = order_by) -> Iterator[Edges]:
    """Yield all edges with their weights instead of distances, sorted, in one part or more.

    Parameters
    ----------
    edges : Edges
        Edges with the distances of their rows.
    core : array of float, shape (n_rows,)
        Core distance of each row.
    storage : Storage
        Stores the edges part by part, if there are several parts.
    order : callable
        Returns the order of edges, given their weights and distances. By default, of equal weights the shorter edge
        comes first.
    """
    n_edges = edges.count
    if n_edges <= SORTED_EDGES:
        yield _sort(edges, weigh(edges, core), order)
        return
    weights = storage.vector(n_edges, np.float64)
    for block in row_blocks(n_edges, SORTED_EDGES):
        weights[block] = weigh(edges.take(block), core)
        storage.release()
    some = np.sort(weights[:: -(-n_edges // SAMPLED)])
    limits = np.unique(some[:: -(-len(some) * SORTED_EDGES // n_edges)][1:])  # equal weights stay in one part
    edges, weights, bounds = _divide(edges, weights, limits, storage)
    for start, stop in pairwise(bounds.tolist()):
        yield _sort(edges.take(slice(start, stop)), np.array(weights[start:stop]), order)
        storage.release()


def weigh(edges: Edges, core: FloatArray) -> FloatArray:
    """Return the weight of each edge: the distance of its rows, or the larger core distance if that is longer."""
    weights = np.maximum(edges.lengths, core[edges.one])
    return np.maximum(weights, core[edges.two], out=weights)


def _sort(edges: Edges, weights: FloatArray, order: Order) -> Edges:
    places = order(weights, np.ascontiguousarray(edges.lengths))
    return Edges(edges.one[places], edges.two[places], weights[places])


def _divide(
    edges: Edges, weights: FloatArray, limits: FloatArray, storage: Storage
) -> tuple[Edges, FloatArray, NDArray[np.int64]]:
    """Return the edges and their weights, ordered by the limits between which weights are, and where each part begins.

    Within a part, edges keep their order.
    """
    blocks = list(row_blocks(len(weights), SORTED_EDGES))
    counts = sum(count_by_label(_find_parts(weights[block], limits), len(limits) + 1) for block in blocks)
    bounds = np.append(0, np.cumsum(counts))
    divided, sorted_weights = Edges.room_for(len(weights), storage), storage.vector(len(weights), np.float64)
    next_places = bounds[:-1].copy()
    for block in blocks:
        places = take_places(_find_parts(weights[block], limits), next_places)
        divided.put(places, edges.take(block))
        sorted_weights[places] = weights[block]
        storage.release()
    return divided, sorted_weights, bounds


def _find_parts(weights: FloatArray, limits: FloatArray) -> NDArray[np.intp]:
    return np.searchsorted(limits, weights, side="right")
