"""Cut a spanning tree into connected clusters (not part of the paper).

The longest edge is cut first, if both sides are large enough to be a cluster; so outliers, which
hang on long edges, stay with the part that they are nearest to. What is large enough is a share of
the mass that clusters of equal size would have; ``choose_merge`` compares several shares. That long
edges of the tree of mutual reachability separate clusters of any shape is the idea of Lumbermark
(Gagolewski, arXiv 2604.07143, 2026); here points have masses, and all merges follow, for any number
of clusters.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import breadth_first_order

from cohirf.beyond.merge_tree import as_linkage
from cohirf.beyond.neighbour_graph import SpanningTree
from cohirf.rows.grouping import FloatArray, IntArray

# Shares, of the mass that clusters of equal size have, that a part needs: from quite uneven to
# rather even clusters.
SMALLEST_PARTS = (0.25, 0.4, 0.6)


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
    >>> from cohirf.beyond.connected import TreeCutter
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
        merges = []
        for one, two in zip(
            self.tree.one[edges].tolist(), self.tree.two[edges].tolist(), strict=True
        ):
            kept, absorbed = sorted((_find(cluster, one), _find(cluster, two)))
            cluster[absorbed] = kept
            merges.append((kept, absorbed))
        heights = np.maximum.accumulate(self.tree.lengths[edges])
        return as_linkage(np.array(merges, dtype=np.int64).reshape(-1, 2), heights, len(self.mass))

    def _cut(
        self, n_clusters: int, n_groups: int, smallest_part: float, min_mass: float
    ) -> tuple[IntArray, list[int]]:
        """Return the part of each place, and the edges that were cut, in order."""
        n_places = len(self.mass)
        total_mass = float(self.mass.sum())
        part = np.zeros(n_places, dtype=np.int64)
        mass_below = self.mass_below.copy()
        mass_of_part = np.zeros(max(n_groups, 1))
        mass_of_part[0] = total_mass
        is_open = self.length > 0  # whether the edge above a place can be cut
        cuts: list[int] = []
        most_halved = total_mass
        while len(cuts) + 1 < min(n_groups, n_places) and is_open.any():
            n_wanted = max(n_clusters, len(cuts) + 2)
            needed = min(max(smallest_part * total_mass / n_wanted, min_mass), most_halved)
            # differences are rounded
            smaller = np.maximum(np.minimum(mass_below, mass_of_part[part] - mass_below), 0)
            is_allowed = is_open & (smaller >= needed)
            if not is_allowed.any():
                most_halved = min(most_halved, needed) / 2
                continue
            place = _longest(np.where(is_allowed, self.length, -1), smaller)
            self._cut_off(place, part, mass_below, mass_of_part, is_open, len(cuts) + 1)
            cuts.append(int(self.edge[place]))
        return part, cuts

    def _cut_off(
        self,
        place: int,
        part: IntArray,
        mass_below: FloatArray,
        mass_of_part: FloatArray,
        is_open: NDArray[np.bool_],
        number: int,
    ) -> None:
        """Make the places below an edge, as far as they are in its part, a part of their own."""
        former = part[place]
        mass = mass_below[place]
        is_open[place] = False
        mass_of_part[former] -= mass
        mass_of_part[number] = mass
        above = int(self.parent[place])
        while above >= 0 and part[above] == former:
            mass_below[above] -= mass
            above = int(self.parent[above])
        below = part[place : self.end[place]]
        below[below == former] = number


def _longest(length: FloatArray, smaller: FloatArray) -> int:
    """Return the place of the longest edge.

    Of equal ones, that with the larger part on its smaller side.
    """
    tied = np.flatnonzero(length == length.max())
    return int(tied[smaller[tied].argmax()])


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
