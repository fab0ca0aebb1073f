"""Divide rows by merge criteria, and compare: which of several divisions of the same rows fits.

Ward's criterion makes compact clusters. Cuts of the spanning tree make connected ones, and merges
along the neighbour graph clusters that have many edges inside; each is a file of ``merges``. None
is right for all data. A division that fits

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

from cohirf.beyond.criterion import Criterion, Merged, compared_criteria, criterion_of
from cohirf.beyond.merge_tree import as_linkage, as_merges, move_groups
from cohirf.beyond.neighbour_graph import NeighbourGraph
from cohirf.beyond.policy import GRAPH, MERGE
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.rows.silhouette import mean_silhouettes

COMPARED = compared_criteria()
# Merges that "auto" compares, in the order of ``choice_.cuts``: one more, a criterion with a place,
# changes default results and saved models. All that can be asked for are ``NAMES`` of ``merges``.
MERGES = tuple(criterion.name for criterion in COMPARED)


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
        head_starts = np.array([criterion.head_start for criterion in COMPARED])
        return MERGES[int((self.scores + head_starts).argmax())]


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
class ComparedSample:
    """At least two rows with masses, their neighbour graph, and how they are divided by merges.

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
    def _with_all_columns(self) -> ComparedSample:
        """The rows, of which more differ; for more clusters than there are points in the graph."""
        return replace(self, has_all_columns=True)

    @cached_property
    def _merged(self) -> dict[str, Merged]:
        """The merges that were asked for, by name: each is made once."""
        return {}

    def _merge(self, criterion: Criterion) -> Merged:
        if criterion.name not in self._merged:
            self._merged[criterion.name] = criterion.merge_rows(self)
        return self._merged[criterion.name]

    def take(self, rows: IntArray) -> ComparedSample:
        """Return some of the rows, with a graph of their own."""
        return ComparedSample(self.points[rows], self.mass[rows])

    def divide(self, merge: str, numbers: Sequence[int], min_share: float = 0.0) -> list[IntArray]:
        """Return the cluster of each row by a merge, or -1, for each of several numbers of
        clusters.
        """
        criterion = criterion_of(merge)
        min_mass = min_share * float(self.mass.sum())
        if not criterion.follows_graph:
            return self._merge(criterion).divide(numbers, min_mass)
        if self._lacks_points(max(numbers, default=0)):
            return self._with_all_columns.divide(merge, numbers, min_share)
        of_points = self._merge(criterion).divide(numbers, min_mass)
        return [labels[self.graph.point_of_row] for labels in of_points]

    def divide_best(self, number: int, min_share: float = 0.0) -> IntArray:
        """Return the cluster of each row, or -1, by the merge that fits the rows.

        As in a fit, rows of clusters around means move to the nearest one. If the first two merges
        find the same clusters, no merge fits better.
        """
        divisions: list[IntArray] = []
        for criterion in COMPARED:
            [labels] = self.divide(criterion.name, [number], min_share)
            if criterion.around_means:
                some = np.flatnonzero(labels >= 0)
                labels[some] = move_groups(self.points[some], self.mass[some], labels[some])
            divisions.append(labels)
            if len(divisions) == 2 and weighted_ari(divisions[0], labels, self.mass) == 1:
                return divisions[0]
        return divisions[MERGES.index(self.compare(divisions).best)]

    def link(
        self, merge: str, n_clusters: int, n_groups: int, min_share: float = 0.0
    ) -> FloatArray:
        """Return the linkage of all rows by a merge, to be cut into ``n_clusters`` or ``n_groups``.

        See ``Merged.link``. Identical rows merge first.
        """
        criterion = criterion_of(merge)
        min_mass = min_share * float(self.mass.sum())
        if not criterion.follows_graph:
            return self._merge(criterion).link(n_clusters, n_groups, min_mass)
        if self._lacks_points(n_clusters):
            return self._with_all_columns.link(merge, n_clusters, n_groups, min_share)
        of_points = self._merge(criterion).link(n_clusters, n_groups, min_mass)
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
        of_points = self._label_points(divisions)
        return self._measure(divisions, of_points, self.graph.leaving_shares(of_points))

    def _label_points(self, divisions: Sequence[IntArray]) -> IntArray:
        return np.stack([labels[self.graph.first_row] for labels in divisions])

    def _measure(
        self, divisions: Sequence[IntArray], of_points: IntArray, leaving: FloatArray
    ) -> Figures:
        rows, _, along_tree = self._compared
        return Figures(
            cut=self.graph.cut_shares(of_points, leaving),
            modularity=self.graph.modularities(of_points),
            connection=mean_silhouettes(
                along_tree, [labels[rows] for labels in divisions], self.mass[rows]
            ),
        )

    def rate(self, divisions: Sequence[IntArray]) -> FloatArray:
        """Return how well each of several divisions fits the rows: more is better."""
        return self.measure(divisions).score

    def silhouettes(self, divisions: Sequence[IntArray]) -> FloatArray:
        """Return the mean silhouette of each of several divisions."""
        rows, distances, _ = self._compared
        return mean_silhouettes(distances, [labels[rows] for labels in divisions], self.mass[rows])

    def compare(self, divisions: Sequence[IntArray]) -> ComparedMerges:
        """Compare divisions into the same number of clusters, in the order of ``MERGES``.

        Their valleys count, too. To compare numbers, they do not: with too many clusters, borders
        run through thin rows, too.
        """
        of_points = self._label_points(divisions)
        leaving = self.graph.leaving_shares(of_points)
        figures = self._measure(divisions, of_points, leaving)
        scores = self._score(divisions, figures)
        scores += MERGE.weight * self.graph.valleys(of_points, leaving)
        return ComparedMerges(figures, scores)

    def compare_each(self, of_numbers: Sequence[Sequence[IntArray]]) -> list[ComparedMerges]:
        """Compare divisions into each of several numbers of clusters."""
        figures = self.measure([labels for divisions in of_numbers for labels in divisions])
        compared = []
        start = 0
        for divisions in of_numbers:
            found = figures[start : start + len(divisions)]
            compared.append(ComparedMerges(found, self._score(divisions, found)))
            start += len(divisions)
        return compared

    def _score(self, divisions: Sequence[IntArray], figures: Figures) -> FloatArray:
        """Return the scores of divisions into the same number of clusters; -inf with fewer, of
        which less is cut.
        """
        scores = figures.score + MERGE.weight * self._agreements(divisions)
        n_clusters = np.array([labels.max() for labels in divisions])
        return np.where(n_clusters == n_clusters.max(), scores, -np.inf)

    def _agreements(self, divisions: Sequence[IntArray]) -> FloatArray:
        """Return the mean adjusted Rand index of each division with the others."""
        n_divisions = len(divisions)
        found = np.zeros((n_divisions, n_divisions))
        for one, two in permutations(range(n_divisions), 2):
            found[one, two] = weighted_ari(divisions[one], divisions[two], self.mass)
        mean: FloatArray = found.sum(axis=1) / max(n_divisions - 1, 1)
        return mean


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
