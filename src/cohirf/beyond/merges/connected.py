"""Cut a spanning tree into connected clusters (not part of the paper).

The longest edge is cut first, if both sides are large enough to be a cluster; so outliers, which
hang on long edges, stay with the part that they are nearest to. What is large enough is a share of
the mass that clusters of equal size would have; ``Connected`` compares several shares. That
long edges of the tree of mutual reachability separate clusters of any shape is the idea of
Lumbermark (Gagolewski, arXiv 2604.07143, 2026); here points have masses, and all merges follow, for
any number of clusters.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from cohirf.beyond.criterion import Criterion, ToMerge
from cohirf.beyond.merge_tree import as_linkage
from cohirf.beyond.neighbour_graph import SpanningTree
from cohirf.beyond.policy import MERGE
from cohirf.rows.grouping import FloatArray, IntArray

EDGES_AT_ONCE = 128  # whose sides are looked at together, from the longest edge on


class TreeCutter:
    """A spanning tree from which parts are cut, one after the other.

    Points are numbered from a root on, such that the points below an edge are in one piece.

    Parameters
    ----------
    tree : SpanningTree
        The tree.
    mass : array of float, shape (n_points,)
        Mass of each point.

    Examples
    --------
    The last point hangs on the longest edge, but it is no cluster:

    >>> import numpy as np
    >>> from cohirf.beyond.merges.connected import TreeCutter
    >>> from cohirf.beyond.neighbour_graph import SpanningTree
    >>> lengths = np.array([1.0, 1.0, 1.0, 1.0, 5.0, 9.0], dtype=np.float64)
    >>> tree = SpanningTree(np.array([0, 1, 3, 4, 2, 5]), np.array([1, 2, 4, 5, 3, 6]), lengths)
    >>> TreeCutter(tree, np.ones(7)).cut(2, 0.4).tolist()
    [0, 0, 0, 1, 1, 1, 1]
    """

    def __init__(self, tree: SpanningTree, mass: FloatArray) -> None:
        self.tree = tree
        self.mass = mass
        n_points = len(mass)
        if n_points == 1:
            self.place: IntArray = np.zeros(1, dtype=np.int64)
            self.length = np.zeros(1)
            self.mass_below = mass
            return
        ends = np.concatenate([tree.one, tree.two]), np.concatenate([tree.two, tree.one])
        edge_of = sparse.csr_array(
            (np.tile(np.arange(1, n_points), 2), ends), shape=(n_points, n_points)
        )
        order, parent = breadth_first_order(edge_of, 0, directed=False)
        parent[0] = 0  # the root
        edges = np.zeros(n_points, dtype=np.int64)
        below = order[1:]
        edges[below] = np.asarray(edge_of[below, parent[below]]).ravel() - 1
        sizes = _add_up_below(order, parent, np.ones(n_points)).astype(np.int64)
        place = _place_in_pieces(order, parent, sizes)
        self.point = np.argsort(place)  # of each place
        self.place = place
        self.end = np.arange(n_points) + sizes[self.point]  # the places below each place end here
        self.parent = np.where(self.point == 0, -1, place[parent[self.point]])
        self.edge = edges[self.point]  # the edge above each place; the root has none
        self.length = np.where(self.parent < 0, 0, tree.lengths[self.edge])
        self.mass_below = _add_up_below(order, parent, mass)[self.point]

    def cut(self, n_clusters: int, smallest_part: float, min_mass: float = 0.0) -> IntArray:
        """Return the cluster of each point, from 0.

        Fewer than ``n_clusters`` if all that is left are equal points.
        """
        part, _ = self._cut(n_clusters, n_clusters, smallest_part, min_mass)
        return part[self.place]

    def link(
        self, n_clusters: int, n_groups: int, smallest_part: float, min_mass: float = 0.0
    ) -> FloatArray:
        """Return the linkage whose cut into ``n_clusters`` is that of ``cut``.

        The tree is cut on to ``n_groups``.

        The heights are the lengths of edges, or that of an earlier merge if this is larger.
        """
        _, cuts = self._cut(n_clusters, n_groups, smallest_part, min_mass)
        is_cut = np.zeros(len(self.tree.one), dtype=bool)
        is_cut[cuts] = True
        edges = np.concatenate(
            [np.flatnonzero(~is_cut), np.array(cuts[::-1], dtype=np.int64)]
        ).astype(np.int64)
        cluster = list(range(len(self.mass)))
        kept = []
        absorbed = []
        for one, two in zip(
            self.tree.one[edges].tolist(), self.tree.two[edges].tolist(), strict=True
        ):
            first = _find(cluster, one)
            second = _find(cluster, two)
            if second < first:
                first, second = second, first
            cluster[second] = first
            kept.append(first)
            absorbed.append(second)
        merges = np.array([kept, absorbed], dtype=np.int64).T
        heights = np.maximum.accumulate(self.tree.lengths[edges])
        return as_linkage(merges, heights, len(self.mass))

    @cached_property
    def _longest_first(self) -> tuple[IntArray, IntArray]:
        """Places by the length of the edge above them, and where the edges as long as each end."""
        order = np.argsort(-self.length, kind="stable")
        order = order[self.length[order] > 0]
        lengths = -self.length[order]
        return order, np.searchsorted(lengths, lengths, side="right")

    def _cut(
        self, n_clusters: int, n_groups: int, smallest_part: float, min_mass: float
    ) -> tuple[IntArray, list[int]]:
        """Return the part of each place, and the edges that were cut, in order.

        What a part needs is halved as soon as no edge has as much on both sides.
        """
        parts = _Parts(self, max(n_groups, 1))
        places, _ = self._longest_first
        needed = max(smallest_part * float(self.mass.sum()) / n_clusters, min_mass)
        while len(places) and not parts.are_enough:
            most = float(parts.smaller_sides(places).max())
            if most <= 0:
                break  # all edges are cut
            needed = min(needed, most)
            self._cut_longest(parts, needed)
            needed /= 2
        return parts.of_place, [int(self.edge[place]) for place in parts.cuts]

    def _cut_longest(self, parts: _Parts, needed: float) -> None:
        """Cut edges that have as much as needed on both sides, the longest first.

        Parts only get smaller, so an edge that has less need not be looked at again. Of equally
        long edges, that with the larger smaller side goes first.
        """
        places, ends = self._longest_first
        at = 0
        while at < len(places) and not parts.are_enough:
            is_enough = parts.smaller_sides(places[at : at + EDGES_AT_ONCE]) >= needed
            if not is_enough.any():
                at += EDGES_AT_ONCE
                continue
            at += int(is_enough.argmax())
            tied = places[at : ends[at]]
            if len(tied) == 1:
                parts.cut_above(int(tied[0]))
                at += 1
            else:
                parts.cut_above(int(tied[parts.smaller_sides(tied).argmax()]))


class _Parts:
    """The parts that a tree falls into."""

    def __init__(self, cutter: TreeCutter, most: int) -> None:
        n_places = len(cutter.mass)
        self._cutter = cutter
        self._most = most
        self._mass_below = cutter.mass_below.copy()  # as far as it is in the same part
        self._mass = np.zeros(most)
        self._mass[0] = cutter.mass.sum()
        self.of_place: IntArray = np.zeros(n_places, dtype=np.int64)
        self._top: list[int] = [0]  # the first place of each part
        self.cuts: list[int] = []  # places, below whose upper edge a part begins

    @property
    def are_enough(self) -> bool:
        """Whether there are as many parts as wanted."""
        return len(self.cuts) + 1 >= self._most

    def smaller_sides(self, places: IntArray) -> FloatArray:
        """Return the mass of the smaller side of the edge above each of some places."""
        below = self._mass_below[places]
        above = self._mass[self.of_place[places]] - below
        return np.maximum(np.minimum(below, above), 0)  # differences are rounded

    def cut_above(self, place: int) -> None:
        """Make the places below an edge, as far as they are in its part, a part of their own."""
        former = int(self.of_place[place])
        self.cuts.append(place)
        mass = self._mass_below[place]
        self._mass[former] -= mass
        self._mass[len(self.cuts)] = mass
        self._top.append(place)
        before = slice(self._top[former], place)  # the points above it in its part
        is_above = (self._cutter.end[before] > place) & (self.of_place[before] == former)
        self._mass_below[before][is_above] -= mass
        below = self.of_place[place : self._cutter.end[place]]
        below[below == former] = len(self.cuts)


def _find(cluster: list[int], point: int) -> int:
    """Return the first point of the cluster of a point; paths are halved on the way."""
    while cluster[point] != point:
        cluster[point] = cluster[cluster[point]]
        point = cluster[point]
    return point


def _add_up_below(order: IntArray, parent: IntArray, values: FloatArray) -> FloatArray:
    """Return, for each point, the sum of the values of all points below it and of its own."""
    sums = values.tolist()
    above = parent.tolist()
    for point in order[:0:-1].tolist():
        sums[above[point]] += sums[point]
    return np.array(sums)


def _place_in_pieces(order: IntArray, parent: IntArray, sizes: IntArray) -> IntArray:
    """Return a place for each point, such that the points below a point follow it."""
    place = [0] * len(order)
    above = parent.tolist()
    n_below = sizes.tolist()
    free = [1] * len(order)  # the next free place after that of a point, relative to it
    for point in order[1:].tolist():
        over = above[point]
        place[point] = place[over] + free[over]
        free[over] += n_below[point]
    return np.array(place, dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Connected:
    """Some rows, and the spanning tree of the points of their graph, from which parts are cut.

    The smallest share that a part needs is the one whose division fits the rows best: the lowest of
    equal ones.
    """

    rows: ToMerge
    cutter: TreeCutter

    @classmethod
    def of(cls, rows: ToMerge) -> Connected:
        """Return the rows with their spanning tree."""
        return cls(rows, TreeCutter(rows.graph.tree, rows.graph.mass))

    def divide(self, numbers: Sequence[int], min_mass: float) -> list[IntArray]:
        """Return the cluster of each point for each of several numbers of clusters."""
        return [labels for labels, _ in self._cut(numbers, min_mass)]

    def link(self, n_clusters: int, n_groups: int, min_mass: float) -> FloatArray:
        """Return the linkage of the points, which is cut as ``divide`` does, and on to groups."""
        [(_, smallest_part)] = self._cut([n_clusters], min_mass)
        return self.cutter.link(n_clusters, n_groups, smallest_part, min_mass)

    def _cut(self, numbers: Sequence[int], min_mass: float) -> list[tuple[IntArray, float]]:
        """Return, for each number of clusters, the cluster of each point, and the smallest part
        that fits best.
        """
        shares = MERGE.smallest_parts
        cuts = [
            [self.cutter.cut(number, share, min_mass) for share in shares] for number in numbers
        ]
        best = [0] * len(numbers)
        # usually, all shares cut the same edges
        unsure = [place for place, divisions in enumerate(cuts) if _differ(divisions)]
        if unsure:
            point = self.rows.graph.point_of_row
            rated = self.rows.rate([labels[point] for place in unsure for labels in cuts[place]])
            of_numbers = rated.reshape(-1, len(shares)).argmax(axis=1)
            for place, share in zip(unsure, of_numbers.tolist(), strict=True):
                best[place] = share
        return [
            (divisions[share], shares[share]) for divisions, share in zip(cuts, best, strict=True)
        ]


def _differ(divisions: Sequence[IntArray]) -> bool:
    """Return whether not all divisions have the same labels."""
    return any(not np.array_equal(labels, divisions[0]) for labels in divisions[1:])


CRITERION = Criterion(
    name="connected",
    kind="connected",
    merge_rows=Connected.of,
    follows_graph=True,
    place=1,
)
