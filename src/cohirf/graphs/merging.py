"""Merge the nodes of a graph along its edges, and choose the number of clusters.

The criterion is that of ``beyond/merges/graph.py``. A large graph is coarsened first: in each
round, all pairs of groups merge that are each other's nearest, until a few thousand groups are
left. These have the tree. The rounds are those that the tree would begin with.

The number of clusters is chosen among the cuts of the tree. Random halves of the edges have a tree
each; the figure of a number is how much their cuts agree, by the adjusted Rand index, and its
modularity (Newman, PNAS 103, 2006) less its normalised cut, which has three times the weight.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.beyond.choose_merge import weighted_ari
from cohirf.beyond.cuts import cut_linkage
from cohirf.beyond.merge_tree import last_clusters
from cohirf.beyond.merges.graph import CRITERION, link_along_graph
from cohirf.choice import Choice
from cohirf.graphs.graph import (
    blocks_of_edges,
    both_directions,
    divide_rows,
    draw_pairs,
    find_entries,
    find_reverse,
    row_of_entries,
)
from cohirf.graphs.policy import EDGE, NUMBER
from cohirf.rows.grouping import FloatArray, IntArray

NO_GROUP = np.uint64(2**64 - 1)  # the nearest group of one without edges, and its distance


@dataclass(frozen=True, eq=False)
class Groups:
    """Groups of nodes, and the weights between them.

    Attributes
    ----------
    of_node : array of int, shape (n_nodes,)
        The group of each node; -1 for nodes without an edge.
    weights : CSR array of float, shape (n_groups, n_groups)
        Sums of the weights of edges between groups, and inside them on the diagonal.
    """

    of_node: IntArray
    weights: Any

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.weights.shape[0])


def group_nodes(halves: Any, most: int = EDGE.groups) -> Groups:
    """Return groups of the nodes with an edge: each node, or at most ``most`` unless the graph has
    more parts.

    Parameters
    ----------
    halves : CSR array of float
        Weights whose sums of both directions are those of the edges: see ``Graph.halves``.
    most : int
        The largest number of groups.
    """
    volumes = sum_weights(halves)
    n_alone = int(np.count_nonzero(volumes == 0))
    of_node: IntArray = np.arange(len(volumes), dtype=np.int32)
    while len(volumes) - n_alone > most:
        group, n_groups = _merge_round(halves, volumes)
        if n_groups == len(volumes):
            break
        volumes = np.bincount(group, weights=volumes, minlength=n_groups).astype(np.float64)
        halves = contract(halves, group, n_groups)
        of_node = group[of_node]
    has_edge = volumes > 0
    if n_alone > 0:
        halves = halves[has_edge][:, has_edge]
    number = np.where(has_edge, np.cumsum(has_edge) - 1, -1).astype(np.int32)
    return Groups(number[of_node], both_directions(halves))


def sum_weights(halves: Any) -> FloatArray:
    """Return the sum of the weights of the edges of each node."""
    volumes = np.zeros(halves.shape[0])
    for edges in blocks_of_edges(halves):
        of_part = halves.data[edges.part].astype(np.float64)
        np.add.at(volumes, edges.one, of_part)
        np.add.at(volumes, edges.two, of_part)
    return volumes


def contract(halves: Any, group: IntArray, n_groups: int) -> Any:
    """Return weights between groups whose sums of both directions are those of the nodes; nodes of
    the group -1 are left out.

    An edge that stands in both directions counts in one of them, so that little is left.
    """
    nodes, starts = _list_members(group, n_groups)
    lengths = np.diff(halves.indptr)[nodes]
    ends = np.append(0, np.cumsum(lengths, dtype=np.int64))[starts]
    indices = np.empty(halves.nnz, dtype=halves.indices.dtype)
    data = np.empty(halves.nnz, dtype=halves.dtype)
    counts = np.zeros(n_groups, dtype=np.int32)
    filled = 0
    for rows in divide_rows(ends):
        members = nodes[starts[rows.start] : starts[rows.stop]]
        sums = _sum_edges(halves, members, group, (rows.start, rows.stop - rows.start, n_groups))
        end = filled + sums.nnz
        indices[filled:end] = sums.indices
        data[filled:end] = sums.data
        counts[rows] = np.diff(sums.indptr)
        filled = end
    indptr = np.append(0, np.cumsum(counts, dtype=np.int64)).astype(halves.indptr.dtype)
    for values in (indices, data):
        values.resize(filled, refcheck=False)  # SciPy copies views of much larger arrays
    return sparse.csr_array((data, indices, indptr), shape=(n_groups, n_groups))


def _list_members(group: IntArray, n_groups: int) -> tuple[IntArray, IntArray]:
    """Return the nodes in groups, in the order of these, and where each group begins."""
    is_inside = group >= 0
    of_inside = group if is_inside.all() else group[is_inside]
    indptr = np.zeros(len(group) + 1, dtype=group.dtype)
    np.cumsum(is_inside, out=indptr[1:])
    parts = (np.ones(len(of_inside), dtype=np.int8), of_inside, indptr)
    members = sparse.csr_array(parts, shape=(len(group), n_groups)).T.tocsr()
    return members.indices, members.indptr


def _sum_edges(halves: Any, nodes: IntArray, group: IntArray, size: tuple[int, int, int]) -> Any:
    """Return the sums of the edges of all nodes of some groups: of ``size``, the first one, how
    many, and the number of all groups.
    """
    first, n_rows, n_groups = size
    edges = halves[nodes]
    one = np.repeat(nodes, np.diff(edges.indptr))
    two = edges.indices
    row, column = group[one], group[two]
    back = find_entries(halves, two, one)
    # an edge in both directions stands where the first group is the smaller one
    is_second = (column < row) | ((column == row) & (two < one))
    is_kept = (column >= 0) & ~(is_second & (back >= 0))
    is_other = (back >= 0) & (one != two)
    weights = edges.data + np.where(is_other, halves.data[back], 0)
    kept = (weights[is_kept], (row[is_kept] - first, column[is_kept]))
    return sparse.coo_array(kept, shape=(n_rows, n_groups)).tocsr()


def _merge_round(halves: Any, volumes: FloatArray) -> tuple[IntArray, int]:
    """Return the group of each group after pairs that are each other's nearest have merged."""
    n_groups = len(volumes)
    nearest, distance = _find_nearest(halves, volumes)
    own = np.arange(n_groups, dtype=nearest.dtype)
    is_second = (nearest[nearest] == own) & (nearest < own)
    if EDGE.few_pairs * int(is_second.sum()) < n_groups:
        nearest = _match(nearest, distance)
        is_second = nearest < own
    first = np.where(is_second, nearest, own)
    number = np.cumsum(~is_second, dtype=np.int32) - 1
    return number[first], int(number[-1]) + 1


def _find_nearest(halves: Any, volumes: FloatArray) -> tuple[IntArray, NDArray[np.float32]]:
    """Return the nearest other group of each group, and its distance; itself if it has no edge.

    Of equal ones, the first.
    """
    # one number for distance and group: positive floats are in the order of their bits
    best = np.full(len(volumes), NO_GROUP)
    for edges in blocks_of_edges(halves):
        back = find_reverse(halves, edges)
        weights = halves.data[edges.part] + np.where(back >= 0, halves.data[back], 0)
        of_one = volumes[edges.one]
        of_two = volumes[edges.two]
        distance = np.minimum(of_one, of_two) * np.sqrt(of_one + of_two) / weights
        distance = np.minimum(distance, np.finfo(np.float32).max).astype(np.float32)
        bits = distance.view(np.uint32).astype(np.uint64) << np.uint64(32)
        is_other = edges.one != edges.two
        ones = edges.one[is_other]
        twos = edges.two[is_other]
        np.minimum.at(best, ones, bits[is_other] | twos.astype(np.uint64))
        is_alone = back[is_other] < 0  # no other block sees these from the other end
        back_bits = bits[is_other][is_alone] | ones[is_alone].astype(np.uint64)
        np.minimum.at(best, twos[is_alone], back_bits)
    has_other = best < NO_GROUP
    group = (best & np.uint64(2**32 - 1)).astype(np.int32)
    nearest = np.where(has_other, group, np.arange(len(best), dtype=np.int32))
    least = (best >> np.uint64(32)).astype(np.uint32).view(np.float32)
    return nearest, np.where(has_other, least, np.float32(np.inf))


def _match(nearest: IntArray, distance: NDArray[np.float32]) -> IntArray:
    """Return the partner of each group, or itself, if near pairs go first."""
    partner = np.arange(len(nearest), dtype=nearest.dtype)
    is_free = [True] * len(nearest)
    of_group = nearest.tolist()
    for group in np.argsort(distance, kind="stable").tolist():
        other = of_group[group]
        if other != group and is_free[group] and is_free[other]:
            is_free[group] = is_free[other] = False
            partner[group] = other
            partner[other] = group
    return partner


@dataclass(frozen=True, eq=False)
class Merges:
    """The merges of some groups up to one, along the edges between them.

    Attributes
    ----------
    linkage : array of float, shape (n_groups - 1, 4)
        As :func:`scipy.cluster.hierarchy.linkage` has it. Parts without an edge between them merge
        last, at the largest height of float32.
    n_parts : int
        Number of these parts.
    """

    linkage: FloatArray
    n_parts: int

    @classmethod
    def of(cls, weights: Any) -> Merges:
        """Link groups by the weights between them."""
        n_parts = connected_components(weights, directed=False, return_labels=False)
        return cls(link_along_graph(sparse.csr_array(weights.astype(np.float64))), int(n_parts))

    def cut(self, n_clusters: int) -> IntArray:
        """Return the label of each group after merges to a number of clusters; parts stay apart."""
        return cut_linkage(self.linkage, max(n_clusters, self.n_parts))

    def cut_each(self, most: int) -> list[IntArray]:
        """Return the labels of the cuts into all numbers of clusters up to ``most``, from
        ``n_parts`` on.
        """
        n_groups = len(self.linkage) + 1
        most = min(max(most, self.n_parts), n_groups)
        finest = cut_linkage(self.linkage, most)
        n_below = n_groups - most  # merges below the finest cut
        nodes = last_clusters(self.linkage[:n_below], n_groups)
        place = np.full(n_groups + n_below, -1)
        place[nodes] = finest
        label = np.arange(most)
        of_node = {int(node): int(place[node]) for node in np.unique(nodes)}
        coarser = [finest]
        for step in range(n_below, n_groups - self.n_parts):
            one, two = (of_node[int(node)] for node in self.linkage[step, :2])
            label = np.where(label == label[two], label[one], label)
            of_node[n_groups + step] = one
            coarser.append(np.unique(label, return_inverse=True)[1][finest])
        return coarser[::-1]


def rate_cuts(weights: Any, divisions: list[IntArray]) -> tuple[FloatArray, FloatArray]:
    """Return modularity and normalised cut of divisions of some groups.

    The normalised cut is the mean over clusters of the share of their weight that leaves them.
    Clusters without weight do not count: only noise was near them.
    """
    rows = row_of_entries(weights)
    volumes = np.bincount(rows, weights=weights.data, minlength=weights.shape[0])
    total = max(float(volumes.sum()), np.finfo(np.float64).tiny)
    modularities = []
    cuts = []
    for labels in divisions:
        of_cluster = np.bincount(labels, weights=volumes)
        is_inside = labels[rows] == labels[weights.indices]
        inside = np.bincount(
            labels[rows[is_inside]], weights=weights.data[is_inside], minlength=len(of_cluster)
        )
        modularities.append(inside.sum() / total - np.square(of_cluster / total).sum())
        share = np.divide(inside, of_cluster, out=np.ones(len(of_cluster)), where=of_cluster > 0)
        n_counted = max(1, int((of_cluster > 0).sum()))
        cuts.append(float((1 - share).sum() / n_counted))
    return np.array(modularities), np.array(cuts)


def split_edges(weights: Any, rng: np.random.Generator) -> tuple[Any, Any]:
    """Return two random halves of the edges between groups, and all that is inside them."""
    words = rng.integers(1, 2**63, size=2, dtype=np.int64).astype(np.uint64) | np.uint64(1)
    rows = row_of_entries(weights)
    is_first = draw_pairs(rows, weights.indices, words) < 0.5
    is_inside = rows == weights.indices
    halves = []
    for chosen in (is_first, ~is_first):
        kept = chosen | is_inside
        edges = (weights.data[kept], (rows[kept], weights.indices[kept]))
        halves.append(sparse.csr_array(edges, shape=weights.shape))
    return halves[0], halves[1]


def compare_halves(halves: tuple[Any, Any], numbers: list[int], mass: FloatArray) -> FloatArray:
    """Return the adjusted Rand index of the cuts of two halves into each number of clusters.

    A half with more parts than that is cut into its parts.
    """
    cuts = []
    for half in halves:
        merges = Merges.of(half)
        every = merges.cut_each(max(numbers))
        cuts.append([every[max(number - merges.n_parts, 0)] for number in numbers])
    return np.array([weighted_ari(one, two, mass) for one, two in zip(*cuts, strict=True)])


def is_decided(rated: FloatArray, splits: list[FloatArray]) -> bool:
    """Return whether further splits would hardly change which number is the best: whether its mean
    figure is above that of each other one by more than chance.

    Parameters
    ----------
    rated : array of float, shape (n_numbers,)
        What does not depend on splits.
    splits : list of arrays of float, shape (n_numbers,)
        The agreement of the halves of each split.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.graphs.merging import is_decided
    >>> rated = np.array([0.5, 0.4])
    >>> is_decided(rated, [np.array([0.9, 0.8]), np.array([0.8, 0.8])] * 2)
    True
    >>> is_decided(rated, [np.array([0.9, 0.8]), np.array([0.2, 0.8])] * 2)
    False
    """
    if len(splits) < NUMBER.splits:
        return False
    figures = rated + np.array(splits)
    best = int(figures.mean(axis=0).argmax())
    leads = figures[:, [best]] - figures
    error = leads.std(axis=0, ddof=1) / np.sqrt(len(splits))
    return bool((leads.mean(axis=0) >= NUMBER.clear * error).all())


def choose_number(
    merges: Merges, weights: Any, sizes: IntArray, least_size: float, rng: np.random.Generator
) -> tuple[Choice, IntArray]:
    """Choose the number of clusters among cuts of the merges.

    Parameters
    ----------
    merges : Merges
        The merges of the groups.
    weights : CSR array
        Weights between groups.
    sizes : array of int
        Number of nodes of each group.
    least_size : float
        Parts of fewer nodes are no cluster.
    rng : Generator
        Draws halves of the edges.
    """
    n_groups = len(sizes)
    most = min(NUMBER.most, max(2, n_groups // NUMBER.nodes_per_number))
    every = merges.cut_each(NUMBER.finer * most)
    counted = [int((np.bincount(each, weights=sizes) >= least_size).sum()) for each in every]
    places = [
        place
        for place, count in enumerate(counted)
        if 2 <= count <= most and count not in counted[:place]
    ]
    if not places:
        return Choice(1), merges.cut(1)
    numbers = [counted[place] for place in places]
    modularity, cuts = rate_cuts(weights, [every[place] for place in places])
    rated = modularity - NUMBER.cut * cuts
    cut_into = [merges.n_parts + place for place in places]
    mass = sizes.astype(np.float64)
    splits: list[FloatArray] = []
    while len(splits) < NUMBER.most_splits and not is_decided(rated, splits):
        splits.append(compare_halves(split_edges(weights, rng), cut_into, mass))
    agreement = np.mean(splits, axis=0)
    figures = rated + agreement
    best = int(figures.argmax())
    choice = Choice(
        numbers[best],
        merge=CRITERION.name,
        candidates=np.array(numbers),
        figures=figures,
        silhouettes=np.full(len(numbers), np.nan),
        strength=float(np.clip(agreement[best] - cuts[best] / 2, 0, 1)),
        min_share=min(1.0, least_size / max(1, int(sizes.sum()))),
    )
    return choice, every[places[best]]
