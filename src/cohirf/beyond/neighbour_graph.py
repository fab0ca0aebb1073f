"""The neighbour graph of some rows: near neighbours, and what follows from them (not part of the
paper).

Near neighbours decide which merges fit the rows, and how many clusters there are. So a fit has a
graph of its rows, or of a sample of them, by which merges are made and compared. If the number of
clusters is chosen, that is done before, on graphs of smaller samples and of their halves. With a
graph,

- two kinds of merges follow it: ``connected`` along its spanning tree, and ``graph`` along
  all of its edges;
- a division of the rows has a *cut* (the share of neighbours in another cluster) and a *modularity*
  (the share of the edges inside clusters, less what it would be by chance: Newman, PNAS 103, 2006);
- ``choose_merge`` and ``choice`` compare divisions by these.

Identical rows are one point with their mass: they would be each other's neighbours. Parts without
an edge between them are joined by their shortest connection, so that the graph is in one piece.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components, minimum_spanning_tree
from sklearn.neighbors import NearestNeighbors

from cohirf.algorithm.base_method import find_distinct_rows
from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.beyond.policy import GRAPH
from cohirf.rows.arrays import stored_cells
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import BLOCK_ROWS, ROUNDING, FloatArray, IntArray, rows_by_label
from cohirf.rows.threads import map_blocks, map_in_threads


def count_graph_rows(n_features: int) -> int:
    """Return how many rows a graph may have, so that their neighbours are found in little time."""
    if n_features <= GRAPH.few_features:
        return GRAPH.rows_of_few_features
    return MAX_LINKED


@dataclass(frozen=True)
class SpanningTree:
    """Edges of a spanning tree, from the shortest to the longest.

    Attributes
    ----------
    one, two : array of int, shape (n_points - 1,)
        The points of each edge.
    lengths : array of float, shape (n_points - 1,)
        Length of each edge. Sorted. They are rounded to the precision of float32, so that lengths
        are equal that differ by how a processor rounds.
    """

    one: IntArray
    two: IntArray
    lengths: FloatArray


class NeighbourGraph:
    """The nearest neighbours of some rows.

    Parameters
    ----------
    rows : array or CSR matrix of float, shape (n_rows, n_features)
        The rows, at least two.
    mass : array of float, shape (n_rows,), or None
        Mass of each row; None if all are 1.

    Attributes
    ----------
    point_of_row : array of int, shape (n_rows,)
        The point of each row. Identical rows are one point.
    points : array or CSR matrix of float, shape (n_points, n_features)
        Values of the points; those of an array are around the origin: far from it, distances lose
        digits.
    mass : array of float, shape (n_points,)
        Mass of each point.
    neighbours : array of int, shape (n_points, n_neighbours)
        Nearest other points of each point, the nearest first.
    distances : array of float, shape (n_points, n_neighbours)
        Their distances.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.neighbour_graph import NeighbourGraph
    >>> graph = NeighbourGraph(np.array([[0.0], [1.0], [1.0], [3.0]]))
    >>> graph.point_of_row.tolist(), graph.mass.tolist(), graph.neighbours[:, 0].tolist()
    ([0, 1, 1, 2], [1.0, 2.0, 1.0], [1, 0, 1])
    """

    def __init__(self, rows: Any, mass: FloatArray | None = None) -> None:
        mass = np.ones(rows.shape[0]) if mass is None else mass
        self.point_of_row: IntArray
        self.points, self.point_of_row = _find_distinct(rows)
        self.mass: FloatArray = np.bincount(self.point_of_row, weights=mass).astype(np.float64)
        self.neighbours, self.distances = _find_neighbours(self.points)

    @cached_property
    def first_row(self) -> IntArray:
        """The first row of each point."""
        first: IntArray = np.unique(self.point_of_row, return_index=True)[1]
        return first

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.mass)

    @cached_property
    def is_hub(self) -> NDArray[np.bool_]:
        """Whether each point is a hub: among the neighbours of most other points.

        An empty text is one: it is at distance 1 from each text of unit length, and most of these
        are farther from each other. The last neighbours, and those as near, do not count: of many
        equally near points, any could be neighbours.
        """
        n_neighbours = self.neighbours.shape[1]
        if n_neighbours == 0:
            return np.zeros(self.n_points, dtype=bool)
        is_nearer = self.distances < (1 - ROUNDING) * self.distances[:, -1:]
        popularity = np.bincount(self.neighbours[is_nearer], minlength=self.n_points)
        most = max(GRAPH.hub_share * self.n_points, GRAPH.hub_popularity * n_neighbours)
        return np.asarray(popularity > most)

    @cached_property
    def radius(self) -> FloatArray:
        """Distance of each point to its third neighbour, or to the last one if there are fewer."""
        if self.distances.shape[1] == 0:
            return np.zeros(self.n_points)
        last = min(GRAPH.core_neighbour, self.distances.shape[1]) - 1
        radius: FloatArray = self.distances[:, last]
        return radius

    @cached_property
    def _pairs(self) -> tuple[IntArray, IntArray, FloatArray]:
        """A point, a neighbour and their distance: one entry for each neighbour of each point."""
        n_neighbours = self.neighbours.shape[1]
        return (
            np.repeat(np.arange(self.n_points), n_neighbours),
            self.neighbours.ravel(),
            self.distances.ravel(),
        )

    @cached_property
    def bridges(self) -> tuple[IntArray, IntArray, FloatArray]:
        """Points and lengths of edges that join the parts which have no edge between them."""
        one, two, _ = self._pairs
        n_parts, part = _find_parts(one, two, self.n_points)
        found: list[tuple[int, int, float]] = []
        while n_parts > 1:
            largest = int(np.bincount(part).argmax())
            near = self._find_near_parts(part, n_parts)
            others = [small for small in range(n_parts) if small != largest]
            shortest = map_in_threads(partial(self._leave_part, part, near), others)
            found += shortest
            ends = np.array([pair[:2] for pair in shortest])
            n_parts, joined = _find_parts(part[ends[:, 0]], part[ends[:, 1]], n_parts)
            part = joined[part]
        return (
            np.array([pair[0] for pair in found], dtype=np.int64),
            np.array([pair[1] for pair in found], dtype=np.int64),
            np.array([pair[2] for pair in found]),
        )

    def _leave_part(
        self, part: IntArray, near: NDArray[np.bool_] | None, number: int
    ) -> tuple[int, int, float]:
        """Return the points and the length of the shortest connection between a part, of which some
        points are looked at, and the other ones.
        """
        inside = np.flatnonzero(part == number)
        inside = inside[:: -(-len(inside) // GRAPH.compared_rows)]
        outside = np.flatnonzero(part != number if near is None else near[number][part])
        one, other, length = container_of(self.points).nearest_pair(
            self.points[inside], self.points[outside]
        )
        return int(inside[one]), int(outside[other]), length

    def _find_near_parts(self, part: IntArray, n_parts: int) -> NDArray[np.bool_] | None:
        """Return, for each of many parts, to which others its shortest connection is sought.

        None means to all.

        These are the parts with the nearest means, so that the time does not grow with the product
        of parts and points.
        """
        if n_parts <= GRAPH.near_parts or not container_of(self.points).is_dense:
            return None
        sizes = np.bincount(part)
        columns = [np.bincount(part, weights=column) / sizes for column in self.points.T]
        nearest = (
            NearestNeighbors(n_neighbors=GRAPH.near_parts)
            .fit(np.column_stack(columns))
            .kneighbors()[1]
        )
        is_near = np.zeros((n_parts, n_parts), dtype=bool)
        is_near[np.arange(n_parts)[:, None], nearest] = True
        return is_near

    @cached_property
    def affinity(self) -> sparse.csr_array:
        """Symmetric weights of the edges: the inverse of a neighbour's rank, times the mass of the
        point.

        A bridge that is as short as the edges around it counts as the last neighbour; a longer one
        is as weak as it is long.
        """
        if self.n_points == 1:
            return sparse.csr_array((1, 1))
        one, two, _ = self._pairs
        n_neighbours = self.neighbours.shape[1]
        mass = self.mass / self.mass.mean()
        weights = np.tile(1 / np.arange(1, n_neighbours + 1), self.n_points) * mass[one]
        from_one, to_two, lengths = self.bridges
        around = np.maximum(self.distances[from_one, -1], self.distances[to_two, -1])
        ratio = np.divide(around, lengths, out=np.ones(len(lengths)), where=lengths > around)
        # an edge of weight 0 is none
        of_bridges = np.maximum(2 / GRAPH.neighbours * ratio**2, np.finfo(np.float32).tiny)
        ends = np.concatenate([one, from_one]), np.concatenate([two, to_two])
        shape = (self.n_points, self.n_points)
        directed = sparse.coo_array(
            (np.concatenate([weights, of_bridges]), ends), shape=shape
        ).tocsr()
        return sparse.csr_array((directed + directed.T) / 2)

    @cached_property
    def _edges(self) -> tuple[IntArray, IntArray, FloatArray, FloatArray]:
        """Ends and weights of the edges, as shares of the sum of all, and the sum at each point."""
        edges = self.affinity.tocoo()
        weights = edges.data / (edges.data.sum() or 1.0)
        degrees = np.bincount(edges.row, weights=weights, minlength=self.n_points)
        once = np.flatnonzero(edges.row < edges.col)  # each edge is in both directions
        one: IntArray = edges.row[once]
        two: IntArray = edges.col[once]
        return one, two, 2 * weights[once], degrees.astype(np.float64)

    @cached_property
    def tree(self) -> SpanningTree:
        """The minimum spanning tree of the edges by mutual reachability: the distance, or a larger
        radius of its ends.

        So a chain of a few points in thin space does not connect what is dense (Campello et al.,
        TKDD 10, 2015).
        """
        if self.n_points == 1:
            nothing = np.empty(0, dtype=np.int64)
            return SpanningTree(nothing, nothing, np.empty(0))
        parts = zip(self._pairs, self.bridges, strict=True)
        one, two, distance = (np.concatenate(both) for both in parts)
        low = np.minimum(one, two).astype(np.int64)
        high = np.maximum(one, two).astype(np.int64)
        _, first = np.unique(low * self.n_points + high, return_index=True)
        low = low[first]
        high = high[first]
        distance = distance[first]
        reach = np.maximum(distance, np.maximum(self.radius[low], self.radius[high]))
        scale = float(reach.max(initial=0)) or 1.0
        # where radii are equal, distances decide; a weight of 0 is no edge
        weight = (reach + ROUNDING * distance) / scale + np.finfo(np.float64).tiny
        ends = (low.astype(np.int32), high.astype(np.int32))  # scipy 1.15 takes no wider ones
        edges = sparse.coo_array((weight, ends), shape=(self.n_points, self.n_points)).tocsr()
        found = minimum_spanning_tree(edges).tocoo()
        lengths = found.data.astype(np.float32).astype(np.float64) * scale
        order = np.lexsort((found.col, found.row, lengths))
        return SpanningTree(
            found.row[order].astype(np.int64), found.col[order].astype(np.int64), lengths[order]
        )

    def leaving_shares(self, divisions: IntArray) -> FloatArray:
        """Return, for each division of the points, the share of the neighbours of each point in
        other clusters; see :func:`leaving_shares`.

        Of several at once, as long as these are few.
        """
        at_once = max(1, BLOCK_ROWS // self.n_points)
        parts = (divisions[start : start + at_once] for start in range(0, len(divisions), at_once))
        return np.concatenate([leaving_shares(part, self.neighbours, self.mass) for part in parts])

    def cut_shares(self, divisions: IntArray, leaving: FloatArray | None = None) -> FloatArray:
        """Return the normalised cut of each division of the points.

        The shares of neighbours in other clusters may be known.
        """
        if leaving is None:
            leaving = self.leaving_shares(divisions)
        return normalised_cuts(divisions, leaving, self.mass)

    def valleys(self, divisions: IntArray, leaving: FloatArray | None = None) -> FloatArray:
        """Return, for each division of the points, whether its borders lie where points are thin.

        It is the mean, over clusters, of the mean rank of the radii of points at the border among
        those of all points of the cluster. 1 means the largest radii, and 0.5 that the border is as
        dense as the cluster. If nothing is cut, it is 1. The shares of neighbours in other clusters
        may be known.
        """
        found = np.ones(len(divisions))
        if leaving is None:
            leaving = self.leaving_shares(divisions)
        for place, labels in enumerate(divisions):
            weights = leaving[place] * self.mass
            at_border = np.bincount(labels + 1, weights=weights)[1:]
            ranks = np.bincount(labels + 1, weights=weights * self._rank_radii(labels))[1:]
            has_border = at_border > 0
            if has_border.any():
                found[place] = (ranks[has_border] / at_border[has_border]).mean()
        return found

    @cached_property
    def _by_radius(self) -> tuple[IntArray, NDArray[np.float32]]:
        """The points in the order of their radii, and these.

        Radii are rounded, so that rounding does not decide which are equal.
        """
        largest = float(self.radius.max(initial=0)) or 1.0
        radius = (self.radius / largest).astype(np.float32)
        order = np.argsort(radius, kind="stable")
        return order, radius[order]

    def _rank_radii(self, labels: IntArray) -> FloatArray:
        """Return the rank of the radius of each point among those with its label, from 0 to 1.

        Equal radii have their mean rank.
        """
        order, radius = self._by_radius
        starts, by_label = rows_by_label(labels[order] + 1, int(labels.max()) + 2)
        order = order[by_label]
        label = labels[order]
        is_new = np.append(True, (np.diff(label) != 0) | (np.diff(radius[by_label]) != 0))
        first = np.flatnonzero(is_new)
        last = np.append(first[1:], len(order)) - 1
        place = ((first + last) / 2)[np.cumsum(is_new) - 1]
        ranks = np.empty(len(order))
        sizes = np.diff(starts)
        ranks[order] = (place - starts[label + 1]) / np.maximum(sizes[label + 1] - 1, 1)
        return ranks

    def modularities(self, divisions: IntArray) -> FloatArray:
        """Return the modularity of each division of the points.

        Those with the label -1 are in no cluster.
        """
        one, two, weights, degrees = self._edges
        found = np.empty(len(divisions))
        for place, labels in enumerate(divisions):
            of_one = labels[one]
            is_inside = (of_one == labels[two]) & (of_one >= 0)
            volumes = np.bincount(labels + 1, weights=degrees)[1:]
            found[place] = weights[is_inside].sum() - volumes @ volumes
        return found


def _find_parts(one: IntArray, two: IntArray, n_points: int) -> tuple[int, IntArray]:
    """Return how many parts edges leave, and the part of each point."""
    edges = sparse.coo_array((np.ones(len(one)), (one, two)), shape=(n_points, n_points))
    n_parts, part = connected_components(edges, directed=False)
    return int(n_parts), part.astype(np.int64)


def _find_distinct(rows: Any) -> tuple[Any, IntArray]:
    """Return the distinct rows in the order of their first occurrence, around the origin, and the
    one of each row.

    If the squares of all differences vanish, rows cannot be told apart.
    """
    centred = container_of(rows).centre(rows)
    largest = float(np.abs(stored_cells(centred)).max(initial=0))
    if largest**2 < np.finfo(np.float64).tiny:
        return centred[:1], np.zeros(rows.shape[0], dtype=np.int64)
    first, place = find_distinct_rows(rows)
    order = np.argsort(first)
    number = np.empty(len(order), dtype=np.int64)
    number[order] = np.arange(len(order))
    return centred[first[order]], number[place]


def _find_neighbours(points: Any) -> tuple[IntArray, FloatArray]:
    """Return the nearest other points of each point, and their distances."""
    n_points = points.shape[0]
    n_neighbours = min(GRAPH.neighbours, n_points - 1)
    if n_neighbours < 1:
        return np.empty((n_points, 0), dtype=np.int64), np.empty((n_points, 0))
    # in a tree of more features, most points are looked at, one by one
    algorithm = "auto" if points.shape[1] <= GRAPH.few_features else "brute"
    search = NearestNeighbors(n_neighbors=n_neighbours, algorithm=algorithm).fit(points)

    def find(block: slice) -> tuple[IntArray, FloatArray]:
        distances, nearest = search.kneighbors(points[block], n_neighbours + 1)
        # a point is among its nearest ones, unless rounding puts others before it
        is_other = nearest != np.arange(block.start, block.stop)[:, None]
        is_other[is_other.all(axis=1), 0] = False
        shape = (-1, n_neighbours)
        return nearest[is_other].reshape(shape), distances[is_other].reshape(shape)

    found = map_blocks(find, n_points, GRAPH.searched_rows)
    neighbours, distances = map(np.concatenate, zip(*found, strict=True))
    return neighbours, distances


def normalised_cuts(
    divisions: IntArray, shares_leaving: FloatArray, mass: FloatArray
) -> FloatArray:
    """Return, for each division, the mean over clusters of the share of neighbours of their rows in
    other clusters; infinite if there is no cluster.

    It is the normalised cut of the graph of neighbours (Shi and Malik, IEEE PAMI 22, 2000). It is a
    mean over clusters and not over rows: otherwise, to set a few rows apart would always be best.
    Rows with the label -1 are in no cluster.

    Parameters
    ----------
    divisions : array of int, shape (n_divisions, n_rows)
        Cluster of each row by each division.
    shares_leaving : array of float, shape (n_divisions, n_rows)
        What :func:`leaving_shares` returns.
    mass : array of float, shape (n_rows,)
        Mass of each row, by which it counts in its cluster.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.neighbour_graph import leaving_shares, normalised_cuts
    >>> divisions = np.array([[0, 0, 1], [0, 0, 0]])
    >>> leaving = leaving_shares(divisions, np.array([[1], [0], [1]]), np.ones(3))
    >>> normalised_cuts(divisions, leaving, np.ones(3))
    array([0.5, 0. ])
    """
    mass = mass / mass.max()
    of_cluster = _add_up(divisions, mass)[:, 1:]  # not of the label -1
    leaving = _add_up(divisions, mass * shares_leaving)[:, 1:]
    division, name = np.nonzero(of_cluster)
    shares = leaving[division, name] / of_cluster[division, name]
    n_clusters = np.bincount(division, minlength=len(divisions))
    total = np.bincount(division, shares, len(divisions))
    return np.where(n_clusters > 0, total / np.maximum(n_clusters, 1), np.inf)


def leaving_shares(divisions: IntArray, neighbours: IntArray, mass: FloatArray) -> FloatArray:
    """Return, for each division, the share of the neighbours of each row in other clusters.

    In a cluster of fewer rows than there are neighbours, only as many of these count as it has
    other rows, but two at least. So a small cluster that is far from the others cuts nothing, and a
    single row is cut off.

    Parameters
    ----------
    divisions : array of int, shape (n_divisions, n_rows)
        Cluster of each row by each division.
    neighbours : array of int, shape (n_rows, n_neighbours)
        Nearest other rows of each row, the nearest first.
    mass : array of float, shape (n_rows,)
        Mass of each row, by which it counts as a neighbour.

    Returns
    -------
    shares : array of float, shape (n_divisions, n_rows)
        From 0 to 1.
    """
    mass = mass / mass.max()
    n_neighbours = neighbours.shape[1]
    n_others = np.take_along_axis(_add_up(divisions, 1.0), divisions + 1, axis=1) - 1
    n_counted = np.clip(n_others, min(2, n_neighbours), n_neighbours)
    of_neighbours = np.zeros(divisions.shape)
    leaving = np.zeros(divisions.shape)
    for nth in range(n_neighbours):  # all rows at once are fewer values than all neighbours
        neighbour = neighbours[:, nth]
        counts_for = np.where(nth < n_counted, mass[neighbour], 0)
        of_neighbours += counts_for
        counts_for[divisions[:, neighbour] == divisions] = 0
        leaving += counts_for
    shares: FloatArray = np.divide(
        leaving, of_neighbours, out=np.zeros_like(leaving), where=of_neighbours > 0
    )
    return shares


def _add_up(divisions: IntArray, values: FloatArray | float) -> FloatArray:
    """Return the sum of the values of the rows with each label, from -1, for each division."""
    n_divisions = len(divisions)
    n_names = int(divisions.max()) + 2
    cluster = divisions + 1 + n_names * np.arange(n_divisions)[:, None]
    weights = np.broadcast_to(values, cluster.shape).ravel()
    sums = np.bincount(cluster.ravel(), weights, n_divisions * n_names)
    return sums.astype(np.float64).reshape(n_divisions, n_names)
