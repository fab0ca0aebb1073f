"""Compact, connected, or along the graph? Which of several divisions of the same rows fits them.

Ward's criterion makes compact clusters. Cuts of the spanning tree make connected ones, and merges
along the neighbour graph clusters that have many edges inside. None is right for all data. A
division that fits

- keeps near neighbours together: its cut is low, and its modularity is high;
- has clusters with gaps between them: in the spanning tree, the longest edge on the way to another
  row of the cluster is shorter than on the way to other clusters. The mean silhouette of these
  distances is its *connection*;
- has its borders in a *valley*: where clusters touch, their rows are thinner than elsewhere;
- is found in several ways: it agrees with the divisions by other merges. Where clusters overlap, a
  low cut comes from cutting thin outskirts off, and no two merges cut off the same.

The weight of these figures, and the lead that another merge needs over compact clusters, were
chosen on the sets of ``benchmarks/quality/rules.py``, which has cross-validated figures, too.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import permutations
from typing import Any

import numpy as np
from scipy.cluster.hierarchy import cophenet, linkage
from scipy.spatial.distance import squareform
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.beyond.along_graph import link_along_graph
from cohirf.beyond.connected import TreeCutter
from cohirf.beyond.merge_tree import as_linkage, as_merges, last_clusters, link_groups, move_groups
from cohirf.beyond.neighbour_graph import NeighbourGraph
from cohirf.beyond.policy import GRAPH, MERGE, NUMBER
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.rows.silhouette import mean_silhouettes

MERGES = ("compact", "connected", "graph")


@dataclass(frozen=True)
class Figures:
    """Figures of several divisions of the same rows.

    An array each, with a value for each division.
    """

    cut: FloatArray  # mean over clusters of the share of near neighbours in other clusters
    modularity: FloatArray  # share of the edges inside clusters, less the share by chance
    connection: FloatArray  # mean silhouette of distances along the spanning tree

    def __getitem__(self, some: slice) -> Figures:
        """Return the figures of some of the divisions."""
        return Figures(self.cut[some], self.modularity[some], self.connection[some])

    @property
    def score(self) -> FloatArray:
        """By which divisions are compared, if it is not known whether they agree with others."""
        return MERGE.weight * (self.modularity + self.connection) - self.cut


@dataclass(frozen=True)
class ComparedMerges:
    """Divisions of the same rows into as many clusters, one for each of ``MERGES``."""

    figures: Figures
    scores: FloatArray  # by which they are compared; -inf for a division into fewer clusters

    @property
    def best(self) -> str:
        """The merge that fits the rows."""
        leads = np.array([MERGE.lead, 0.0, 0.0])
        return MERGES[int((self.scores + leads).argmax())]


def centre(points: Any) -> Any:
    """Return points around the origin: far from it, their distances lose digits.

    Sparse points are near it.
    """
    return container_of(points).centre(points)


def explain_vanishing(points: Any) -> str | None:
    """Return why points that differ cannot be told apart, if squares of their differences vanish.

    None otherwise.
    """
    centred = centre(points)
    largest = float(abs(centred).max()) if centred.shape[0] else 0.0
    if largest == 0 or largest**2 >= np.finfo(points.dtype).tiny:
        return None
    return (
        f"The values of X differ by {largest:.2g} or less, and the squares of such differences "
        "vanish, so that all rows are in one cluster: multiply X by "
        f"{1 / max(largest, np.finfo(np.float64).tiny):.0e}."
    )


@dataclass(frozen=True, eq=False)
class SampledRows:
    """At least two rows with masses, their neighbour graph, and how they are divided by merges that
    follow it.

    If clusters have at least a share of the mass (``min_share``), rows of smaller parts are in no
    cluster.
    """

    points: Any
    mass: FloatArray
    has_all_columns: bool = False  # whether the graph has columns of two values, too

    @cached_property
    def graph(self) -> NeighbourGraph:
        """The neighbour graph, without columns of two values; see ``without_two_values``."""
        return NeighbourGraph(self._in_graph, self.mass)

    @cached_property
    def _in_graph(self) -> Any:
        return self.points if self.has_all_columns else without_two_values(self.points)

    @cached_property
    def _with_all_columns(self) -> SampledRows:
        """The rows, of which more differ; for more clusters than there are points in the graph."""
        return replace(self, has_all_columns=True)

    @cached_property
    def _by_ward(self) -> FloatArray:
        """The merges of rows by Ward's criterion."""
        return link_groups(self.points, self.mass)

    @cached_property
    def cutter(self) -> TreeCutter:
        """Cuts the spanning tree."""
        return TreeCutter(self.graph.tree, self.graph.mass)

    @cached_property
    def along_graph(self) -> FloatArray:
        """The merges of points along the graph."""
        return link_along_graph(self.graph.affinity)

    def take(self, rows: IntArray) -> SampledRows:
        """Return some of the rows, with a graph of their own."""
        return SampledRows(self.points[rows], self.mass[rows])

    def divide(self, merge: str, numbers: Sequence[int], min_share: float = 0.0) -> list[IntArray]:
        """Return the cluster of each row by a merge, or -1, for each of several numbers of
        clusters.
        """
        min_mass = min_share * float(self.mass.sum())
        if merge == "compact":
            parts = LargeParts(self._by_ward, self.mass, min_mass)
            return [parts.label(number) for number in numbers]
        if self._lacks_points(max(numbers, default=0)):
            return self._with_all_columns.divide(merge, numbers, min_share)
        if merge == "connected":
            return [labels for labels, _ in self._connect(numbers, min_mass)]
        parts = LargeParts(self.along_graph, self.graph.mass, min_mass)
        return [parts.label(number)[self.graph.point_of_row] for number in numbers]

    def divide_best(self, number: int, min_share: float = 0.0) -> IntArray:
        """Return the cluster of each row, or -1, by the merge that fits the rows.

        As in a fit, rows of compact clusters move to the nearest mean. If these clusters are
        connected, too, no merge fits better.
        """
        [compact] = self.divide("compact", [number], min_share)
        some = np.flatnonzero(compact >= 0)
        compact[some] = move_groups(self.points[some], self.mass[some], compact[some])
        [connected] = self.divide("connected", [number], min_share)
        if weighted_ari(compact, connected, self.mass) == 1:
            return compact
        divisions = [compact, connected, *self.divide("graph", [number], min_share)]
        return divisions[MERGES.index(self.compare(divisions).best)]

    def _connect(self, numbers: Sequence[int], min_mass: float) -> list[tuple[IntArray, float]]:
        """Return, for each number of clusters, the connected cluster of each row, and the smallest
        part that fits best: the lowest of equal ones.
        """
        shares = MERGE.smallest_parts
        cuts = [
            [self.cutter.cut(number, share, min_mass)[self.graph.point_of_row] for share in shares]
            for number in numbers
        ]
        best = [0] * len(numbers)
        # usually, all shares cut the same edges
        unsure = [place for place, divisions in enumerate(cuts) if _differ(divisions)]
        if unsure:
            found = self.measure([labels for place in unsure for labels in cuts[place]])
            of_numbers = found.score.reshape(-1, len(shares)).argmax(axis=1)
            for place, share in zip(unsure, of_numbers.tolist(), strict=True):
                best[place] = share
        return [
            (divisions[share], shares[share]) for divisions, share in zip(cuts, best, strict=True)
        ]

    def link(
        self, merge: str, n_clusters: int, n_groups: int, min_share: float = 0.0
    ) -> FloatArray:
        """Return the linkage of all rows by a merge that follows the graph.

        Identical rows merge first.
        """
        if self._lacks_points(n_clusters):
            return self._with_all_columns.link(merge, n_clusters, n_groups, min_share)
        of_points = self.along_graph
        if merge == "connected":
            min_mass = min_share * float(self.mass.sum())
            [(_, smallest_part)] = self._connect([n_clusters], min_mass)
            of_points = self.cutter.link(n_clusters, n_groups, smallest_part, min_mass)
        point = self.graph.point_of_row
        first = self.graph.first_row
        is_copy = np.ones(len(point), dtype=bool)
        is_copy[first] = False
        copies = np.flatnonzero(is_copy)
        merges = np.concatenate(
            [np.column_stack([first[point[copies]], copies]), first[as_merges(of_points)]]
        )
        return as_linkage(merges, np.append(np.zeros(len(copies)), of_points[:, 2]), len(point))

    def _lacks_points(self, n_clusters: int) -> bool:
        """Return whether the graph has fewer points than clusters, because columns were left
        out.
        """
        return self._in_graph is not self.points and self.graph.n_points < n_clusters

    @cached_property
    def _compared(self) -> tuple[IntArray, FloatArray, FloatArray]:
        """Rows, evenly spread, their distances, and their distances along the spanning tree of
        these.
        """
        n_rows = self.points.shape[0]
        n_compared = min(n_rows, GRAPH.compared_rows)
        rows = np.unique(np.linspace(0, n_rows - 1, n_compared).astype(np.int64))
        distances = euclidean_distances(centre(self.points[rows]))
        if self._in_graph is self.points:
            return rows, distances, minimax_distances(distances)
        return rows, distances, minimax_distances(euclidean_distances(centre(self._in_graph[rows])))

    def measure(self, divisions: Sequence[IntArray]) -> Figures:
        """Return the figures of several divisions, each with a label for each row, or -1."""
        of_points = np.stack([labels[self.graph.first_row] for labels in divisions])
        rows, _, along_tree = self._compared
        return Figures(
            cut=self.graph.cut_shares(of_points),
            modularity=self.graph.modularities(of_points),
            connection=mean_silhouettes(
                along_tree, [labels[rows] for labels in divisions], self.mass[rows]
            ),
        )

    def silhouettes(self, divisions: Sequence[IntArray]) -> FloatArray:
        """Return the mean silhouette of each of several divisions."""
        rows, distances, _ = self._compared
        return mean_silhouettes(distances, [labels[rows] for labels in divisions], self.mass[rows])

    def compare(self, divisions: Sequence[IntArray]) -> ComparedMerges:
        """Compare divisions into the same number of clusters, in the order of ``MERGES``.

        Their valleys count, too. To compare numbers, they do not: with too many clusters, borders
        run through thin rows, too.
        """
        [compared] = self.compare_each([divisions])
        of_points = np.stack([labels[self.graph.first_row] for labels in divisions])
        valleys = self.graph.valleys(of_points)
        return replace(compared, scores=compared.scores + MERGE.weight * valleys)

    def compare_each(self, of_numbers: Sequence[Sequence[IntArray]]) -> list[ComparedMerges]:
        """Compare divisions into each of several numbers of clusters."""
        figures = self.measure([labels for divisions in of_numbers for labels in divisions])
        compared = []
        start = 0
        for divisions in of_numbers:
            found = figures[start : start + len(divisions)]
            scores = found.score + MERGE.weight * self._agreements(divisions)
            # with fewer clusters, less is cut
            n_clusters = np.array([labels.max() for labels in divisions])
            scores = np.where(n_clusters == n_clusters.max(), scores, -np.inf)
            compared.append(ComparedMerges(found, scores))
            start += len(divisions)
        return compared

    def _agreements(self, divisions: Sequence[IntArray]) -> FloatArray:
        """Return the mean adjusted Rand index of each division with the others."""
        n_divisions = len(divisions)
        found = np.zeros((n_divisions, n_divisions))
        for one, two in permutations(range(n_divisions), 2):
            found[one, two] = weighted_ari(divisions[one], divisions[two], self.mass)
        mean: FloatArray = found.sum(axis=1) / max(n_divisions - 1, 1)
        return mean


def _differ(divisions: Sequence[IntArray]) -> bool:
    """Return whether not all divisions have the same labels."""
    return any(not np.array_equal(labels, divisions[0]) for labels in divisions[1:])


def without_two_values(points: Any) -> Any:
    """Return points without columns that have only two values, if most columns have more.

    Such a column, as of zeros and ones, has a gap between its values whatever the clusters are. So
    all near neighbours of a row would have the same value.

    Examples
    --------
    >>> import numpy as np
    >>> without_two_values(np.array([[0.5, 1.0, 3.0], [0.2, 0.0, 4.0], [0.1, 1.0, 9.0]])).tolist()
    [[0.5, 3.0], [0.2, 4.0], [0.1, 9.0]]
    """
    if points.shape[0] < 3:
        return points
    has_two = container_of(points).find_two_valued(points)
    return points[:, ~has_two] if 0 < 2 * has_two.sum() < len(has_two) else points


def minimax_distances(distances: FloatArray) -> FloatArray:
    """Return, for each pair of rows, the longest edge between them in the spanning tree of mutual
    reachability.

    Examples
    --------
    >>> import numpy as np
    >>> x = np.array([0.0, 1.0, 2.0, 9.0])
    >>> minimax_distances(np.abs(x[:, None] - x))[0].tolist()
    [0.0, 9.0, 9.0, 9.0]
    """
    n_rows = len(distances)
    if n_rows < 2:
        return distances
    nth = min(GRAPH.core_neighbour, n_rows - 1)
    radius = np.partition(distances, nth, axis=1)[:, nth]
    reach = np.maximum(distances, np.maximum(radius[:, None], radius))
    np.fill_diagonal(reach, 0)
    longest: FloatArray = squareform(cophenet(linkage(squareform(reach, checks=False), "single")))
    return longest


def weighted_ari(labels: IntArray, other: IntArray, mass: FloatArray | None = None) -> float:
    """Return the adjusted Rand index of two divisions of the same rows.

    A pair counts as much as the product of the masses of its rows. Rows with the label -1 in the
    first division do not count.
    """
    mass = np.ones(len(labels)) if mass is None else mass
    is_in = labels >= 0
    labels = labels[is_in]
    other = other[is_in] + 1
    mass = mass[is_in]
    if len(labels) == 0:
        return 0.0
    pair = labels * (int(other.max()) + 1) + other
    if pair.max() > 4 * len(pair):  # a table of all pairs of clusters would be large
        pair = np.unique(pair, return_inverse=True)[1]
    of_itself = float(mass @ mass)  # a row with itself is no pair
    sums = (
        np.bincount(codes, weights=mass) for codes in (pair, labels, other, np.zeros_like(labels))
    )
    both, of_labels, of_other, of_all = (float((group**2).sum()) - of_itself for group in sums)
    by_chance = of_labels * of_other / (of_all or 1)
    most = (of_labels + of_other) / 2
    return (both - by_chance) / (most - by_chance) if most > by_chance else 0.0


def cut_linkage(linkage: FloatArray, n_clusters: int) -> IntArray:
    """Return the cluster of each point after merging to ``n_clusters`` clusters, numbered from
    0.
    """
    n_points = len(linkage) + 1
    return np.unique(
        last_clusters(linkage[: n_points - n_clusters], n_points), return_inverse=True
    )[1]


class LargeParts:
    """The parts of all cuts of a linkage, of which those of at least ``min_mass`` count.

    A few far points are not a cluster: they are cut off first, and do not count.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.beyond.choose_merge import LargeParts
    >>> from cohirf.beyond.merge_tree import link_groups
    >>> x, mass = np.array([[0.0], [1], [10], [11], [1000]]), np.array([9.0, 9, 9, 9, 1])
    >>> parts = LargeParts(link_groups(x, mass), mass, min_mass=2)
    >>> parts.count(2), parts.label(2).tolist()
    (3, [0, 0, 1, 1, -1])
    """

    def __init__(self, linkage: FloatArray, mass: FloatArray, min_mass: float) -> None:
        n_points = len(mass)
        merged = linkage[:, :2].astype(np.int64)
        nodes = np.append(mass, np.zeros(len(linkage))).tolist()
        sizes = [1] * n_points
        for left, right in merged.tolist():
            nodes[len(sizes)] = nodes[left] + nodes[right]
            sizes.append(sizes[left] + sizes[right])
        starts = [0] * len(sizes)  # in an order of the points in which each part is in one piece
        for node, (left, right) in zip(
            range(len(sizes) - 1, n_points - 1, -1), merged[::-1].tolist(), strict=True
        ):
            starts[left], starts[right] = starts[node], starts[node] + sizes[left]
        self.mass = mass
        self.min_mass = min_mass
        self.position, self.split_at = (
            np.array(starts[:n_points]),
            np.array(starts)[merged[::-1, 1]],
        )
        self.n_large = self._count_large(np.array(nodes), merged)

    def _count_large(self, nodes: FloatArray, merged: IntArray) -> IntArray:
        """Return how many parts of each cut are large, from the whole on, until too much mass is in
        small ones.
        """
        large = np.where(nodes >= self.min_mass, nodes, 0)
        above = large[len(self.mass) :]
        below = large[merged]
        n_large: IntArray = np.cumsum(
            np.append(large[-1] > 0, (np.sum(below > 0, axis=1) - (above > 0))[::-1])
        )
        kept = np.cumsum(np.append(large[-1], (below.sum(axis=1) - above)[::-1]))
        too_few = np.flatnonzero(kept < (1 - NUMBER.aside) * nodes[-1])
        return n_large[: too_few[0]] if len(too_few) else n_large

    def count(self, n_clusters: int) -> int:
        """Return into how many parts to cut, so that ``n_clusters`` are large.

        Or as many as possible.
        """
        n_most = self.n_large.max(initial=0)
        if n_most:
            return int(np.argmax(self.n_large >= min(n_clusters, n_most))) + 1
        return 1

    def label(self, n_clusters: int) -> IntArray:
        """Return the cluster of each point, or -1 in parts that are too small."""
        is_first = np.zeros(len(self.mass), dtype=np.int64)
        is_first[self.split_at[: self.count(n_clusters) - 1]] = 1
        part: IntArray = np.cumsum(is_first)[self.position]
        is_large = np.bincount(part, weights=self.mass) >= self.min_mass
        label: IntArray = np.where(is_large, np.cumsum(is_large) - 1, -1)[part]
        return label


def count_parts(linkage: FloatArray, mass: FloatArray, n_clusters: int, min_mass: float) -> int:
    """Return into how many parts to cut, so that ``n_clusters`` of them have at least
    ``min_mass``.
    """
    if min_mass <= 0:
        return n_clusters
    return LargeParts(linkage, mass, min_mass).count(n_clusters)


def cut_large(linkage: FloatArray, mass: FloatArray, n_clusters: int, min_mass: float) -> IntArray:
    """Return the cluster of each point, of which ``n_clusters`` have at least ``min_mass``.

    -1 in smaller ones.
    """
    label = cut_linkage(linkage, count_parts(linkage, mass, n_clusters, min_mass))
    is_large = np.bincount(label, weights=mass) >= min_mass
    return np.where(is_large, np.cumsum(is_large) - 1, -1)[label]
