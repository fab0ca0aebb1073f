"""New nodes of a graph: their clusters, degrees and distances, from edges to nodes of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cohirf.degrees.policy import DEGREE
from cohirf.graphs.graph import (
    SIMILARITIES,
    open_new_edges,
    rank_weights,
    row_of_entries,
    to_distances,
)
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.summary.numbers import positions_of
from cohirf.summary.state import FittedState, NodeReach


def predict_nodes(state: FittedState, X: Any, metric: str) -> IntArray:
    """Return the cluster of each new node, or -1.

    A node at distance 0 from a node of the fit has the cluster of the first such node. Around
    DBSCAN and HDBSCAN, a node joins the cluster of the node that it reaches at the least distance,
    if that is within the limit of the cluster. Otherwise, its neighbours in clusters vote, with the
    inverse of their rank or with their similarity. Without any, it is noise.
    """
    edges = open_new_edges(X, metric, state.n_rows, state.node_names)
    labels = _labels_of_nodes(state)
    distances = to_distances(edges) if metric == SIMILARITIES else edges
    if state.reach is None:
        found = _vote(state, edges, labels, metric)
    else:
        found = _join_reached(distances, labels, state.reach, state.cluster_numbers)
    rows = row_of_entries(distances)
    is_same = np.flatnonzero(distances.data == 0)[::-1]  # the first is written last
    found[rows[is_same]] = labels[distances.indices[is_same]]
    return found


def rate_nodes(state: FittedState, X: Any, metric: str) -> Any:
    """Return the share of each cluster in the votes for each new node.

    Nodes without a neighbour in a cluster have the shares of the clusters among all nodes.
    """
    edges = open_new_edges(X, metric, state.n_rows, state.node_names)
    votes = _count_votes(state, edges, _labels_of_nodes(state), metric)
    if votes.nnz:  # divided by the most votes of each row, so that no sum is infinite, and no share
        most = np.asarray(votes.max(axis=1).todense()).ravel()
        votes.data /= most[row_of_entries(votes)]
    totals = np.asarray(votes.sum(axis=1)).ravel()
    without = np.flatnonzero(totals == 0)
    degrees = sparse.csr_array(sparse.diags_array(1 / np.where(totals > 0, totals, 1)) @ votes)
    if len(without) and state.n_clusters:
        shares = state.cluster_sizes / state.cluster_sizes.sum()
        chosen = np.zeros(edges.shape[0])
        chosen[without] = 1
        degrees = degrees + sparse.csr_array(np.outer(chosen, shares))
    return degrees if state.n_clusters > DEGREE.dense_clusters else degrees.toarray()


def measure_nodes(state: FittedState, X: Any, metric: str) -> FloatArray:
    """Return the distance of each new node to each medoid; infinite where there is no edge."""
    edges = open_new_edges(X, metric, state.n_rows, state.node_names)
    distances = to_distances(edges) if metric == SIMILARITIES else edges
    medoids = state.clusters.medoid_indices
    place = np.full(state.n_rows, -1)
    place[medoids] = np.arange(len(medoids))
    found = np.full((edges.shape[0], len(medoids)), np.inf, dtype=distances.dtype)
    column = place[distances.indices]
    is_medoid = column >= 0
    found[row_of_entries(distances)[is_medoid], column[is_medoid]] = distances.data[is_medoid]
    return found


def _labels_of_nodes(state: FittedState) -> IntArray:
    labels: IntArray = np.asarray(state.labels)
    return labels


def _vote(state: FittedState, edges: Any, labels: IntArray, metric: str) -> IntArray:
    votes = _count_votes(state, edges, labels, metric)
    found = np.full(edges.shape[0], -1, dtype=labels.dtype)
    if state.n_clusters == 0:
        return found
    has_votes = np.flatnonzero(np.diff(votes.indptr))
    best = np.asarray(votes.argmax(axis=1)).ravel()
    found[has_votes] = state.cluster_numbers[best[has_votes]]
    return found


def _count_votes(state: FittedState, edges: Any, labels: IntArray, metric: str) -> Any:
    """Return the sum of the votes of neighbours in each cluster, for each new node."""
    weights = edges if metric == SIMILARITIES else rank_weights(edges)
    place = positions_of(labels, state.cluster_numbers)[edges.indices]
    is_vote = place >= 0
    rows = row_of_entries(edges)[is_vote]
    shape = (edges.shape[0], state.n_clusters)
    votes = (weights.data[is_vote].astype(np.float64), (rows, place[is_vote]))
    return sparse.csr_array(votes, shape=shape)


def _join_reached(
    distances: Any, labels: IntArray, reach: NodeReach, numbers: IntArray
) -> IntArray:
    """Return the cluster of the node that each new node reaches at the least distance."""
    rows = row_of_entries(distances)
    n_new = distances.shape[0]
    least = np.maximum(distances.data, reach.core[distances.indices])
    if reach.rank > 0:
        least = np.maximum(least, _own_reach(distances, reach.rank)[rows])
    order = np.lexsort((distances.indices, distances.data, least, rows))
    firsts = order[np.flatnonzero(np.diff(rows[order], prepend=-1))]
    of_first = labels[distances.indices[firsts]]
    limit = np.append(reach.limits, -1.0)[positions_of(of_first, numbers)]
    found = np.full(n_new, -1, dtype=labels.dtype)
    found[rows[firsts]] = np.where(least[firsts] <= limit, of_first, -1)
    return found


def _own_reach(distances: Any, rank: int) -> FloatArray:
    """Return the distance of the neighbour with a rank, or of the last one, of each new node."""
    rows = row_of_entries(distances)
    order = np.lexsort((distances.data, rows))
    lengths = np.diff(distances.indptr)
    starts = np.cumsum(lengths) - lengths
    found = np.full(len(lengths), np.inf)
    has_edge = np.flatnonzero(lengths)
    last = starts[has_edge] + np.minimum(rank, lengths[has_edge]) - 1
    found[has_edge] = distances.data[order[last]]
    return found
