"""Clusters in a single-linkage tree, as HDBSCAN defines them: condense the tree, select clusters, label rows.

Weights of merges become densities, their inverses. Clusters are numbered from the root, 0; each comes after its parent.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.spanning.kruskal_kernels import size_of

INSIDE = -1.0


class Clusters(NamedTuple):
    """The clusters of a condensed tree."""

    parents: Any
    sizes: Any
    births: Any  # the density at which a cluster splits off; 0 for the root
    deaths: Any  # the highest density at which something leaves it
    stabilities: Any


@njit(cache=True, nogil=True)
def condense(left: Any, right: Any, sizes: Any, weights: Any, min_cluster_size: Any) -> Any:
    """Return the clusters, and for each row the cluster that it leaves last and the density at which it does.

    Merges are read from the last to the first, each after the one that it is part of. A merge of two large nodes is a
    split into two clusters; a small node leaves its cluster with all its rows.
    """
    n_rows = len(left) + 1
    most = 2 * (n_rows // min_cluster_size) + 1
    births, deaths, stabilities = np.zeros(most), np.zeros(most), np.zeros(most)
    found = Clusters(np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int64), births, deaths, stabilities)
    found.sizes[0], n_clusters = n_rows, 1
    clusters, left_at = np.zeros(2 * n_rows - 1, dtype=np.int32), np.full(2 * n_rows - 1, INSIDE)  # of each node
    for merge in range(n_rows - 2, -1, -1):
        node = n_rows + merge
        own, density = clusters[node], 1 / weights[merge] if weights[merge] > 0 else np.inf
        one, two = size_of(left[merge], n_rows, sizes), size_of(right[merge], n_rows, sizes)
        is_split = min(one, two) >= min_cluster_size
        for child, size in ((left[merge], one), (right[merge], two)):
            clusters[child], left_at[child] = own, left_at[node]
            if left_at[node] == INSIDE and (is_split or size < min_cluster_size):
                found.stabilities[own] += (density - found.births[own]) * size
                found.deaths[own] = max(found.deaths[own], density)
                if is_split:
                    clusters[child] = n_clusters
                    found.parents[n_clusters], found.sizes[n_clusters] = own, size
                    found.births[n_clusters] = density
                    n_clusters += 1
                else:
                    left_at[child] = density
    return _first(found, n_clusters), clusters[:n_rows], left_at[:n_rows]


@njit(cache=True, nogil=True)
def _first(found: Any, n: Any) -> Any:
    return Clusters(found.parents[:n], found.sizes[:n], found.births[:n], found.deaths[:n], found.stabilities[:n])


@njit(cache=True, nogil=True)
def select_by_mass(found: Any, max_size: Any, root_size: Any, allow_root: Any) -> Any:
    """Return which clusters are selected: those that are more stable than all clusters below them together."""
    n_clusters = len(found.parents)
    is_selected = np.zeros(n_clusters, dtype=np.bool_)
    below = np.zeros(n_clusters)
    for cluster in range(n_clusters - 1, -1 if allow_root else 0, -1):
        size = found.sizes[cluster] if cluster > 0 else root_size
        is_selected[cluster] = not (below[cluster] > found.stabilities[cluster] or size > max_size)
        if cluster > 0:
            below[found.parents[cluster]] += found.stabilities[cluster] if is_selected[cluster] else below[cluster]
    is_below = np.zeros(n_clusters, dtype=np.bool_)  # a selected cluster
    for cluster in range(1, n_clusters):
        is_below[cluster] = is_below[found.parents[cluster]] or is_selected[found.parents[cluster]]
        is_selected[cluster] = is_selected[cluster] and not is_below[cluster]
    return is_selected


@njit(cache=True, nogil=True)
def select_leaves(found: Any) -> Any:
    """Return which clusters are selected: those without clusters below them, except the root."""
    is_selected = np.ones(len(found.parents), dtype=np.bool_)
    is_selected[0] = False
    is_selected[found.parents] = False
    return is_selected


@njit(cache=True, nogil=True)
def climb(found: Any, is_selected: Any, epsilon: Any, allow_root: Any) -> Any:
    """Return which clusters are selected instead of those that split off at distances below ``epsilon``."""
    higher = np.zeros(len(is_selected), dtype=np.bool_)
    for cluster in range(len(is_selected)):
        if is_selected[cluster]:
            higher[_lowest_above(found, cluster, epsilon, allow_root)] = True
    return higher


@njit(cache=True, nogil=True)
def _lowest_above(found: Any, cluster: Any, epsilon: Any, allow_root: Any) -> Any:
    """Return the lowest cluster above a cluster that splits off at ``epsilon`` or more; if none does, the highest."""
    if cluster == 0 or 1 / found.births[cluster] >= epsilon:
        return cluster
    while found.parents[cluster] > 0 and 1 / found.births[cluster] <= epsilon:
        cluster = found.parents[cluster]
    return 0 if allow_root and 1 / found.births[cluster] <= epsilon else cluster


@njit(cache=True, nogil=True)
def labels_of_rows(found: Any, is_selected: Any, clusters: Any, left_at: Any, epsilon: Any) -> Any:
    """Return the label of each row, -1 for noise; selected clusters are numbered in the order of their first rows."""
    selected = np.full(len(is_selected), -1, dtype=np.int32)  # the selected cluster that each cluster is in
    for cluster in range(len(is_selected)):
        if is_selected[cluster]:
            selected[cluster] = cluster
        elif cluster > 0:
            selected[cluster] = selected[found.parents[cluster]]
    # If the root is selected, it is the only one, and rows that leave it early are noise.
    threshold = 0.0 if not is_selected[0] else 1 / epsilon if epsilon > 0 else found.deaths[0]
    labels = np.full(len(clusters), -1, dtype=np.int32)
    numbers = np.full(len(is_selected), -1, dtype=np.int32)
    n_labels = 0
    for row in range(len(clusters)):
        cluster = selected[clusters[row]]
        if cluster >= 0 and left_at[row] >= threshold:
            if numbers[cluster] < 0:
                numbers[cluster] = n_labels
                n_labels += 1
            labels[row] = numbers[cluster]
    return labels
