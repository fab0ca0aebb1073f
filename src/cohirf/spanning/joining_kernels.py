"""Compiled loops for the edges of all batches: merge components, select clusters, label rows.

The condensed tree of HDBSCAN grows from the lightest edge on. Edges come in the order of their
weights, in as many parts as one likes, and none is kept. A component with fewer than
``min_cluster_size`` rows is small, and it does not matter how its rows came together. When it
merges with another one, it joins a cluster, or the two are the beginning of one. Where two clusters
merge, both end, and a new one begins: read from the root, a split. Weights become densities, their
inverses.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit

from cohirf.spanning.box_tree import root, unite


class Components(NamedTuple):
    """The components of rows, by row; those that have joined a cluster are no longer merged."""

    parents: Any  # as ``root`` reads them
    sizes: Any  # number of rows, of each root
    joined: Any  # the cluster that each root has joined, or -1
    left_at: Any  # the density at which it did so, if that is asked for


class Condensed(NamedTuple):
    """The clusters of a condensed tree."""

    parents: Any
    sizes: Any
    births: Any  # the density at which a cluster splits off; 0 for the root
    deaths: Any  # the highest density at which something leaves it
    stabilities: Any


@njit(cache=True, nogil=True)
def unite_ends(parents: Any, one: Any, two: Any) -> None:
    """Unite the components that edges connect."""
    for edge in range(len(one)):
        unite(parents, one[edge], two[edge])


@njit(cache=True, nogil=True)
def merge_edges(
    one: Any, two: Any, weights: Any, rows: Any, found: Any, tops: Any, n_found: Any, min_size: Any
) -> Any:
    """Merge components along edges, which are sorted by weight.

    Return the number of clusters found so far.

    Until all edges are merged, the stability of a cluster is the sum of the densities at which rows
    leave it, births are 0, and ``tops`` leads from each cluster to the one that it has become part
    of.
    """
    for edge in range(len(one)):
        a = root(rows.parents, one[edge])
        b = root(rows.parents, two[edge])
        of_a = _cluster_of(rows, tops, a)
        of_b = _cluster_of(rows, tops, b)
        if a == b or (of_a >= 0 and of_a == of_b):
            continue
        density = 1 / weights[edge] if weights[edge] > 0 else np.inf
        if of_a < 0 and of_b < 0:
            if rows.sizes[a] + rows.sizes[b] < min_size:
                rows.parents[max(a, b)] = min(a, b)
                rows.sizes[min(a, b)] = rows.sizes[a] + rows.sizes[b]
            else:
                found.sizes[n_found] = 0
                join_cluster(rows, found, a, n_found, density)
                join_cluster(rows, found, b, n_found, density)
                n_found += 1
        elif of_a < 0:
            join_cluster(rows, found, a, of_b, density)
        elif of_b < 0:
            join_cluster(rows, found, b, of_a, density)
        else:
            found.sizes[n_found], found.deaths[n_found] = (
                found.sizes[of_a] + found.sizes[of_b],
                density,
            )
            found.stabilities[n_found] = density * found.sizes[n_found]
            for cluster in (of_a, of_b):
                found.births[cluster], found.parents[cluster], tops[cluster] = (
                    density,
                    n_found,
                    n_found,
                )
            n_found += 1
    return n_found


@njit(cache=True, nogil=True)
def _cluster_of(rows: Any, tops: Any, component: Any) -> Any:
    """Return the cluster that a component is part of, or -1."""
    cluster = rows.joined[component]
    return root(tops, cluster) if cluster >= 0 else cluster


@njit(cache=True, nogil=True)
def join_cluster(rows: Any, found: Any, component: Any, cluster: Any, density: Any) -> None:
    """Let a small component join a cluster: read from the root, it leaves it."""
    rows.joined[component] = cluster
    if len(rows.left_at) > 0:
        rows.left_at[component] = density
    found.sizes[cluster] += rows.sizes[component]
    found.stabilities[cluster] += density * rows.sizes[component]
    found.deaths[cluster] = max(found.deaths[cluster], density)


def from_root(found: Any, n: Any) -> Any:
    """Return the ``n`` clusters of a whole tree, numbered from the root, 0, so that each comes
    after its parent.
    """
    last = n - 1
    births = found.births[:n]
    sizes = found.sizes[:n]
    with np.errstate(invalid="ignore", over="ignore"):  # equal rows leave at an infinite density
        stabilities = found.stabilities[:n] - np.where(births > 0, births * sizes, 0)
        stabilities = np.maximum(
            stabilities, 0
        )  # rounding must not unselect what ends at its birth
    parents = last - found.parents[:n]
    parents[last] = 0
    arrays = (parents, sizes, births, found.deaths[:n], stabilities)
    # as other kernels are compiled for
    return Condensed(*(np.ascontiguousarray(array[::-1]) for array in arrays))


@njit(cache=True, nogil=True)
def select_by_mass(found: Any, max_size: Any, root_size: Any, allow_root: Any) -> Any:
    """Return which clusters are selected: those that are more stable than all clusters below them
    together.
    """
    n_clusters = len(found.parents)
    is_selected = np.zeros(n_clusters, dtype=np.bool_)
    below = np.zeros(n_clusters)
    for cluster in range(n_clusters - 1, -1 if allow_root else 0, -1):
        size = found.sizes[cluster] if cluster > 0 else root_size
        is_selected[cluster] = not (below[cluster] > found.stabilities[cluster] or size > max_size)
        if cluster > 0:
            below[found.parents[cluster]] += (
                found.stabilities[cluster] if is_selected[cluster] else below[cluster]
            )
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
def select_above(found: Any, is_selected: Any, epsilon: Any, allow_root: Any) -> Any:
    """Return which clusters are selected instead of those that split off at distances below
    ``epsilon``.
    """
    higher = np.zeros(len(is_selected), dtype=np.bool_)
    for cluster in range(len(is_selected)):
        if is_selected[cluster]:
            higher[_lowest_above(found, cluster, epsilon, allow_root)] = True
    return higher


@njit(cache=True, nogil=True)
def _lowest_above(found: Any, cluster: Any, epsilon: Any, allow_root: Any) -> Any:
    """Return the lowest cluster above a cluster that splits off at ``epsilon`` or more.

    If none does, the highest.
    """
    if cluster == 0 or 1 / found.births[cluster] >= epsilon:
        return cluster
    while found.parents[cluster] > 0 and 1 / found.births[cluster] <= epsilon:
        cluster = found.parents[cluster]
    return 0 if allow_root and 1 / found.births[cluster] <= epsilon else cluster


@njit(cache=True, nogil=True)
def label_selected(found: Any, is_selected: Any, rows: Any, epsilon: Any, labels: Any) -> None:
    """Write the label of each row, -1 for noise.

    Selected clusters are numbered in the order of their first rows.
    """
    last = len(is_selected) - 1
    selected = np.full(last + 1, -1, dtype=np.int32)  # the selected cluster that each cluster is in
    for cluster in range(last + 1):
        if is_selected[cluster]:
            selected[cluster] = cluster
        elif cluster > 0:
            selected[cluster] = selected[found.parents[cluster]]
    # If the root is selected, it is the only one, and rows that leave it early are noise.
    threshold = 1 / epsilon if epsilon > 0 else found.deaths[0]
    numbers = np.full(last + 1, -1, dtype=np.int32)
    n_labels = 0
    for row in range(len(labels)):
        component = root(rows.parents, row)
        cluster = selected[last - rows.joined[component]]
        labels[row] = -1
        if cluster > 0 or (cluster == 0 and rows.left_at[component] >= threshold):
            if numbers[cluster] < 0:
                numbers[cluster] = n_labels
                n_labels += 1
            labels[row] = numbers[cluster]
