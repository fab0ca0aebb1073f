"""Pieces that are to be apart from each other, in clusters of low cost: colours of a graph.

Groups with pieces that are to be apart from each other merge late: each such pair has a price.
Most conflicts are settled at once: of two pieces in one cluster, the one that loses less moves to
the cheapest cluster in which none of its conflicts is. Many such pieces move at the same time, as
long as no two of them are in conflict. Where all clusters are taken, all pieces that are joined by
conflicts are assigned anew, those with the fewest clusters to choose from first (DSATUR), with a
way back from dead ends. To colour a graph is hard in general: the search is exhaustive for small
graphs only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.beyond.merge_tree import merge_greedily
from cohirf.rows.grouping import ROUNDING, FloatArray, IntArray

# Returns the cost of each of some pieces in each cluster
Measure = Callable[[IntArray], FloatArray]


@dataclass(frozen=True)
class ApartPolicy:
    """How long a division is sought. No table: it only decides whether one is found."""

    dead_ends: int = 20_000  # from which a search returns before it gives up
    proved_pieces: int = 2000  # of more, nobody tries to show that there is no division
    clique_starts: int = 100  # pieces from which a clique is grown
    chains: int = 2000  # of pieces that swap two clusters, tried after pieces were assigned anew


APART = ApartPolicy()


def conflict_graph(pairs: IntArray, n_pieces: int) -> sparse.csr_array:
    """Return the symmetric matrix of conflicts, each once."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    graph = sparse.coo_array(
        (np.ones(len(ends), dtype=np.int32), (ends[:, 0], ends[:, 1])), shape=(n_pieces, n_pieces)
    ).tocsr()
    graph.data[:] = 1
    return graph


def keep_apart(
    labels: IntArray, conflicts: sparse.csr_array, measure: Measure, n_clusters: int
) -> IntArray | None:
    """Return the cluster of each piece, so that no two in conflict share one; None if there is no
    way that was found.

    Pieces that are in no conflict within their cluster stay, if there is a way. Those in no
    cluster, -1, stay there.

    Examples
    --------
    >>> conflicts = conflict_graph(np.array([[0, 1], [1, 2]]), 3)
    >>> costs = np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 2.0]])
    >>> keep_apart(np.zeros(3, dtype=int), conflicts, lambda pieces: costs[pieces], 2).tolist()
    [0, 1, 0]
    """
    labels = labels.copy()
    pieces = _find_broken(labels, conflicts)
    while len(pieces):
        moved, target = _choose_moves(pieces, labels, conflicts, measure(pieces))
        if len(moved) == 0:
            return _assign_anew(labels, pieces, conflicts, measure, n_clusters)
        labels[moved] = target
        pieces = pieces[_count_broken(pieces, labels, conflicts) > 0]
    return labels


def merge_apart(
    heights: FloatArray, conflicts: FloatArray, price: float, n_clusters: int
) -> IntArray:
    """Return the cluster of each group, after groups have merged whose conflicts have a price.

    Parameters
    ----------
    heights : array, shape (n_groups, n_groups)
        The height at which the tree of a fit merges each pair; half its square is what the sum of
        squared distances rises by. Clusters merge at the lowest height between them.
    conflicts : array, shape (n_groups, n_groups)
        Mass that would have to move if a pair of groups were in one cluster.
    price : float
        What a unit of this mass adds to the sum of squared distances.
    n_clusters : int
        How many clusters are left.

    Examples
    --------
    The first two groups would merge first, and are in conflict:

    >>> heights = np.array([[0.0, 1.0, 2.0], [1.0, 0.0, 2.0], [2.0, 2.0, 0.0]])
    >>> conflicts = np.array([[0.0, 3.0, 0.0], [3.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    >>> merge_apart(heights, 0 * conflicts, 1.0, 2).tolist()
    [0, 0, 1]
    >>> merge_apart(heights, conflicts, 1.0, 2).tolist()
    [0, 1, 0]
    """
    rises = heights**2 / 2
    prices = price * conflicts
    priced = rises + prices
    np.fill_diagonal(priced, np.inf)

    def join(kept: int, absorbed: int) -> FloatArray:
        rises[kept] = rises[:, kept] = np.minimum(rises[kept], rises[absorbed])
        prices[kept] += prices[absorbed]
        prices[:, kept] = prices[kept]
        return np.asarray(rises[kept] + prices[kept])

    largest = ROUNDING * float(rises.max(initial=0.0))
    merges = merge_greedily(priced, join, lambda: largest)
    labels: IntArray = np.arange(len(heights))
    for kept, absorbed in merges[: max(len(heights) - n_clusters, 0)].tolist():
        labels[labels == absorbed] = kept
    return np.unique(labels, return_inverse=True)[1]


def count_broken_pairs(labels: IntArray, conflicts: sparse.csr_array) -> int:
    """Return how many pairs of pieces in conflict share a cluster."""
    return int(_count_broken(np.arange(len(labels)), labels, conflicts).sum()) // 2


def _find_broken(labels: IntArray, conflicts: sparse.csr_array) -> IntArray:
    """Return the pieces that share their cluster with one that they are to be apart from."""
    return np.flatnonzero(_count_broken(np.arange(len(labels)), labels, conflicts))


def _neighbours(pieces: IntArray, conflicts: sparse.csr_array) -> tuple[IntArray, IntArray]:
    """Return the conflicts of some pieces: the position of each among them, and the other piece."""
    own = conflicts[pieces]
    position = np.repeat(np.arange(len(pieces)), np.diff(own.indptr))
    return position, own.indices


def _count_broken(pieces: IntArray, labels: IntArray, conflicts: sparse.csr_array) -> IntArray:
    position, others = _neighbours(pieces, conflicts)
    own = labels[pieces][position]
    is_broken = (own == labels[others]) & (own >= 0)
    return np.bincount(position[is_broken], minlength=len(pieces))


def _block(
    costs: FloatArray, pieces: IntArray, labels: IntArray, conflicts: sparse.csr_array
) -> FloatArray:
    """Return costs that are infinite in clusters with a conflict."""
    position, others = _neighbours(pieces, conflicts)
    taken = labels[others]
    blocked: FloatArray = costs.copy()
    blocked[position[taken >= 0], taken[taken >= 0]] = np.inf
    return blocked


def _choose_moves(
    pieces: IntArray, labels: IntArray, conflicts: sparse.csr_array, costs: FloatArray
) -> tuple[IntArray, IntArray]:
    """Return pieces that move, none in conflict with another of them, and their next cluster."""
    blocked = _block(costs, pieces, labels, conflicts)
    target: IntArray = blocked.argmin(axis=1)
    each = np.arange(len(pieces))
    rise = blocked[each, target] - costs[each, labels[pieces]]
    # one that settles several conflicts saves the moves of the others
    price = rise / _count_broken(pieces, labels, conflicts)
    chosen = _independent(pieces, price, conflicts)
    return pieces[chosen], target[chosen]


def _independent(pieces: IntArray, price: FloatArray, conflicts: sparse.csr_array) -> IntArray:
    """Return the pieces that are cheaper than all others they are in conflict with."""
    movable = np.flatnonzero(np.isfinite(price))
    rank = np.full(conflicts.shape[0], len(pieces))
    rank[pieces[movable[np.argsort(price[movable], kind="stable")]]] = np.arange(len(movable))
    position, others = _neighbours(pieces, conflicts)
    least_other = np.full(len(pieces), len(pieces))
    np.minimum.at(least_other, position, rank[others])
    return movable[rank[pieces[movable]] < least_other[movable]]


# ---- pieces for which all clusters are taken


def _assign_anew(
    labels: IntArray,
    pieces: IntArray,
    conflicts: sparse.csr_array,
    measure: Measure,
    n_clusters: int,
) -> IntArray | None:
    """Return the labels after all that is joined by conflicts to some pieces is assigned anew."""
    part = connected_components(conflicts, directed=False)[1]
    for number in np.unique(part[pieces]).tolist():
        members = np.flatnonzero((part == number) & (labels >= 0))
        within = conflicts[members][:, members]
        costs = measure(members)
        found, _ = search(within, n_clusters, costs)
        if found is None:
            return None
        labels[members] = _swap_chains(found, within, costs)
    return labels


def search(
    conflicts: sparse.csr_array, n_clusters: int, costs: FloatArray | None = None
) -> tuple[IntArray | None, bool]:
    """Return clusters of pieces without a conflict in any, and whether the search was exhaustive.

    Without costs, clusters are alike.
    """
    n_pieces = conflicts.shape[0]
    labels: IntArray = np.full(n_pieces, -1)
    taken = np.zeros((n_pieces, n_clusters), dtype=np.int32)  # conflicts of a piece in a cluster
    n_taken = np.zeros(n_pieces, dtype=np.int64)
    degree = np.diff(conflicts.indptr)
    steps: list[tuple[int, list[int]]] = []
    n_dead = 0

    def put(piece: int, cluster: int) -> None:
        labels[piece] = cluster
        others = conflicts.indices[conflicts.indptr[piece] : conflicts.indptr[piece + 1]]
        n_taken[others] += taken[others, cluster] == 0
        taken[others, cluster] += 1

    def take_back(piece: int) -> None:
        cluster = labels[piece]
        labels[piece] = -1
        others = conflicts.indices[conflicts.indptr[piece] : conflicts.indptr[piece + 1]]
        taken[others, cluster] -= 1
        n_taken[others] -= taken[others, cluster] == 0

    most = int(degree.max(initial=0)) + 1
    while len(steps) < n_pieces:
        urgency = np.where(labels < 0, n_taken * most + degree, -1)
        piece = int(urgency.argmax())
        free = np.flatnonzero(taken[piece] == 0)
        if costs is None:  # all clusters without any piece are alike
            unused = int(labels.max()) + 1
            ways = free[free <= unused][::-1].tolist()
        else:
            ways = free[np.argsort(-costs[piece, free], kind="stable")].tolist()
        while not ways:
            n_dead += 1
            if n_dead > APART.dead_ends:
                return None, False
            if not steps:
                return None, True
            piece, ways = steps.pop()
            take_back(piece)
        put(piece, ways.pop())
        steps.append((piece, ways))
    return labels, True


def _swap_chains(labels: IntArray, conflicts: sparse.csr_array, costs: FloatArray) -> IntArray:
    """Return labels after pieces have swapped two clusters where that lowers the sum of costs.

    With a piece, all swap that would then be in conflict with it, with these, and so on.
    """
    each = np.arange(len(labels))
    loss = costs[each, labels] - costs.min(axis=1)
    n_tried = 0
    for piece in np.argsort(-loss, kind="stable").tolist():
        if loss[piece] <= 0:
            break
        for other in np.argsort(costs[piece], kind="stable").tolist():
            own = int(labels[piece])
            if costs[piece, other] >= costs[piece, own]:
                break
            if n_tried == APART.chains:
                return labels
            n_tried += 1
            chain = _find_chain(piece, own, other, labels, conflicts)
            swapped = np.where(labels[chain] == own, other, own)
            gain = costs[chain, labels[chain]].sum() - costs[chain, swapped].sum()
            if gain > 0:
                labels[chain] = swapped
                break
    return labels


def _find_chain(
    piece: int, own: int, other: int, labels: IntArray, conflicts: sparse.csr_array
) -> IntArray:
    """Return the pieces of two clusters that conflicts join to a piece."""
    is_seen = np.zeros(len(labels), dtype=bool)
    is_seen[piece] = True
    new = np.array([piece])
    is_either = (labels == own) | (labels == other)
    while len(new):
        others = _neighbours(new, conflicts)[1]
        new = np.unique(others[is_either[others] & ~is_seen[others]])
        is_seen[new] = True
    return np.flatnonzero(is_seen)


# ---- conflicts that no clusters can keep


def find_clique(conflicts: sparse.csr_array, size: int) -> IntArray | None:
    """Return ``size`` pieces that are all in conflict with each other, or None if none are found.

    Examples
    --------
    >>> conflicts = conflict_graph(np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), 4)
    >>> find_clique(conflicts, 3).tolist(), find_clique(conflicts, 4)
    ([0, 1, 2], None)
    """
    within = find_core(conflicts, size - 1)
    if len(within) < size:
        return None
    graph = conflicts[within][:, within]
    degree = np.diff(graph.indptr)
    for start in np.argsort(-degree, kind="stable")[: APART.clique_starts].tolist():
        clique = [start]
        among = graph.indices[graph.indptr[start] : graph.indptr[start + 1]]
        while len(among) and len(clique) < size:
            others = graph[among][:, among]
            best = int(np.diff(others.indptr).argmax())
            clique.append(int(among[best]))
            among = among[others.indices[others.indptr[best] : others.indptr[best + 1]]]
        if len(clique) == size:
            return np.sort(within[clique])
    return None


def find_core(conflicts: sparse.csr_array, least: int) -> IntArray:
    """Return the pieces that are left if those with fewer conflicts among them go one by one.

    A piece with fewer conflicts than clusters always finds one. So only these are hard.

    Examples
    --------
    >>> conflicts = conflict_graph(np.array([[0, 1], [1, 2], [0, 2], [2, 3]]), 4)
    >>> find_core(conflicts, 2).tolist()
    [0, 1, 2]
    """
    degree = np.diff(conflicts.indptr).astype(np.int64)
    is_left: NDArray[Any] = np.ones(len(degree), dtype=bool)
    going = np.flatnonzero(degree < least)
    while len(going):
        is_left[going] = False
        others, n_lost = np.unique(_neighbours(going, conflicts)[1], return_counts=True)
        degree[others] -= n_lost
        going = others[is_left[others] & (degree[others] < least)]
    return np.flatnonzero(is_left)


def prove_impossible(conflicts: sparse.csr_array, n_clusters: int) -> IntArray | None:
    """Return pieces that cannot be divided among ``n_clusters`` clusters, if that is soon shown."""
    core = find_core(conflicts, n_clusters)
    within = conflicts[core][:, core]
    part = connected_components(within, directed=False)[1]
    for number in range(int(part.max(initial=-1)) + 1):
        members = np.flatnonzero(part == number)
        if len(members) > APART.proved_pieces:
            continue
        found, is_exhaustive = search(within[members][:, members], n_clusters)
        if found is None and is_exhaustive:
            return core[members]
    return None
