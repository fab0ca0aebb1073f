"""DBSCAN and HDBSCAN on a sparse graph of distances: their labels, and what new nodes need."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import minimum_spanning_tree
from sklearn.cluster import DBSCAN

from cohirf.graphs.graph import Graph, row_of_entries
from cohirf.graphs.policy import EDGE
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.spanning.settings import SpanningSettings

SHORTEST = np.finfo(np.float64).tiny  # a weight that is not 0, because an edge of 0 is none
FAR = 1e200  # between parts without an edge: farther than any distance


@dataclass(frozen=True)
class DensityLabels:
    """Labels of nodes, and how far new nodes may be from them.

    Attributes
    ----------
    labels : array of int, shape (n_nodes,)
        -1 for noise.
    core : array of float, shape (n_nodes,)
        The least distance by which other nodes reach a node: infinite if none does.
    limits : array of float, shape (n_labels,)
        The largest distance by which a node reaches a cluster and belongs to it.
    rank : int
        Of the neighbour whose distance is the least by which a new node reaches others; 0 if there
        is no such distance.
    """

    labels: IntArray
    core: FloatArray
    limits: FloatArray
    rank: int


def label_dbscan(graph: Graph, method: DBSCAN) -> DensityLabels:
    """Label nodes as scikit-learn's DBSCAN with precomputed distances does.

    As there, a node is its own neighbour, and edges go from their row to their column: a cluster
    grows along the edges of its core nodes.
    """
    from cohirf.graphs.kernels import count_near, grow_clusters

    matrix = graph.distances
    eps = float(method.eps)
    counts = np.empty(graph.n_nodes, dtype=np.int64)
    edges = (matrix.indptr, matrix.indices, matrix.data)
    count_near(*edges, eps, counts)
    is_core = counts >= method.min_samples
    labels = np.full(graph.n_nodes, -1, dtype=np.int32)
    n_clusters = grow_clusters(*edges, eps, is_core, labels)
    core = np.where(is_core, 0.0, np.inf)
    return DensityLabels(labels, core, np.full(n_clusters, eps), 0)


def label_hdbscan(graph: Graph, settings: SpanningSettings) -> DensityLabels:
    """Label nodes as scikit-learn's HDBSCAN with precomputed distances does.

    An edge counts in either direction. Parts without an edge between them are far apart, where
    scikit-learn refuses the graph. A node with fewer stored entries than ``min_samples`` is noise.
    """
    from cohirf.spanning.batch_edges import Edges
    from cohirf.spanning.join_batches import CondensedTree

    matrix = graph.distances
    core = find_core(matrix, settings.min_samples)
    edges, part = span_graph(matrix, core)
    far = _find_bridges(part)
    bridges = Edges(far[:, 0], far[:, 1], np.linspace(FAR, len(far) * FAR, len(far)))
    tree = CondensedTree(graph.n_nodes, settings, keeps_densities=True)
    if matrix.nnz <= EDGE.replayed:
        tree.merge(_span_as_sklearn(graph.symmetric_distances, core, bridges))
    else:
        tree.merge(edges)
        tree.merge(bridges)
    labels = tree.label()
    found, selected, cluster, _ = tree.describe()
    return DensityLabels(
        labels,
        core,
        _find_limits(labels, np.asarray(found.births), selected[cluster]),
        max(1, settings.min_samples - 1),
    )


def find_core(distances: Any, min_samples: int) -> FloatArray:
    """Return the distance of the given rank among the stored entries of each node, in its row or in
    its column.

    It is infinite if a node has fewer. An entry on the diagonal counts, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from cohirf.graphs.density import find_core
    >>> find_core(sparse.csr_array(np.array([[0.0, 3, 1], [0, 0, 0], [2, 0, 0]])), 2)
    array([ 3., inf, inf])
    """
    from cohirf.graphs.kernels import rank_distances, take_incoming

    edges = (distances.indptr, distances.indices, distances.data)
    n_nodes = distances.shape[0]
    core = np.empty(n_nodes)
    nothing = np.empty(0, dtype=distances.dtype)
    nodes = np.arange(n_nodes)
    rank_distances(*edges, min_samples, nodes, np.zeros(n_nodes + 1, dtype=np.int64), nothing, core)
    counts = np.zeros(n_nodes, dtype=np.int64)
    take_incoming(*edges, core, counts, nothing)
    nodes = np.flatnonzero(counts)
    if len(nodes):
        bounds = np.append(0, np.cumsum(counts))
        incoming = np.empty(bounds[-1], dtype=distances.dtype)
        take_incoming(*edges, core, bounds[:-1].copy(), incoming)
        rank_distances(
            *edges, min_samples, nodes, np.append(bounds[nodes], bounds[-1]), incoming, core
        )
    return core


def span_graph(distances: Any, core: FloatArray) -> tuple[Any, IntArray]:
    """Return the minimum spanning tree of mutual reachability of each part of a graph, its edges
    sorted by weight, and the part of each node.

    In each round, each component is united with another one by its lightest edge (Boruvka). Edges
    that are infinite are none. Of equal ones, the one that is stored first is lighter.
    """
    from cohirf.graphs.kernels import Lightest, find_lightest, unite_lightest
    from cohirf.spanning.batch_edges import Edges
    from cohirf.spanning.box_tree import flatten

    n_nodes = len(core)
    tree = Lightest(
        np.empty(n_nodes), np.empty(n_nodes, dtype=np.int32), np.empty(n_nodes, dtype=np.int64)
    )
    best = Lightest(*(np.empty_like(values) for values in tree))
    part = np.arange(n_nodes, dtype=np.int32)
    is_inner = np.zeros(n_nodes, dtype=bool)
    n_edges = 0
    is_done = False
    while not is_done:
        best.weights[:] = np.inf
        find_lightest(
            distances.indptr, distances.indices, distances.data, core, part, is_inner, best
        )
        n_before = n_edges
        n_edges = unite_lightest(distances.indices, part, best, tree, n_edges)
        part = flatten(part)
        is_done = n_edges == n_before
    order = np.lexsort((tree.places[:n_edges], tree.weights[:n_edges]))
    two = distances.indices[tree.places[order]].astype(np.int32)
    return Edges(tree.nodes[order], two, tree.weights[order]), part


def _span_as_sklearn(distances: Any, core: FloatArray, bridges: Any) -> Any:
    """Return the edges of the spanning tree in the order in which scikit-learn merges them, if
    bridges are edges, too.
    """
    from cohirf.spanning.batch_edges import Edges

    rows = row_of_entries(distances)
    reach = np.maximum(distances.data, np.maximum(core[rows], core[distances.indices]))
    kept = np.isfinite(reach)
    weights = [np.maximum(reach[kept], SHORTEST), bridges.lengths, bridges.lengths]
    ends_one = [rows[kept], bridges.one, bridges.two]
    ends_two = [distances.indices[kept], bridges.two, bridges.one]
    edges = sparse.csr_matrix(
        (np.concatenate(weights), (np.concatenate(ends_one), np.concatenate(ends_two))),
        shape=distances.shape,
    )
    edges.sort_indices()
    found = minimum_spanning_tree(edges)
    one, two = found.nonzero()
    lengths: FloatArray = np.where(found.data <= SHORTEST, 0.0, found.data)
    order = np.argsort(lengths)
    return Edges(one[order].astype(np.int32), two[order].astype(np.int32), lengths[order])


def _find_bridges(part: IntArray) -> IntArray:
    """Return edges from the largest part to each other one, the larger ones first.

    So small parts do not become a cluster together. Parts have the number of their first node.
    """
    firsts, counts = np.unique(part, return_counts=True)
    nodes = firsts[np.argsort(-counts, kind="stable")]
    return np.column_stack([np.broadcast_to(nodes[:1], len(nodes) - 1), nodes[1:]])


def _find_limits(labels: IntArray, births: FloatArray, selected: IntArray) -> FloatArray:
    """Return the distance at which each labelled cluster splits off."""
    n_labels = int(labels.max(initial=-1)) + 1
    limits = np.full(n_labels, np.inf)
    clustered = np.flatnonzero(labels >= 0)
    of_label = np.zeros(n_labels, dtype=np.int64)
    of_label[labels[clustered]] = selected[clustered]
    density = births[of_label]
    np.divide(1.0, density, out=limits, where=density > 0)
    return limits
