"""Divide all rows among a few groups, each around points that are nearest to its rows: groups are cells.

The levels of a method such as K-Means leave groups of rows, of which some are heavy and many are light. The means of
the heaviest are the centres of cells: each row of the data belongs to the nearest one. If clusters are connected rather
than compact, rows of the data take the place of means: rows that merge early along their spanning tree are one group.

Either way, the group of a row is that of the nearest point. So ``predict`` is the last step of a fit, and agrees with
it in every row.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.cluster import KMeans

from cohirf.algorithm.arrays import join_rows, narrow_indices
from cohirf.algorithm.choose_merge import count_parts, cut_large, cut_linkage
from cohirf.algorithm.connected import SpanningTree, link_connected
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import Groups, MergeTree, link_stages
from cohirf.algorithm.runs import Survivors
from cohirf.algorithm.storage import ArrayRows
from cohirf.algorithm.ward import link_groups, raise_merges
from cohirf.data.first_level import Counts, FirstLevel
from cohirf.fitting.quick_k_means import ITERATIONS
from cohirf.neighbours.landmarks import Cells, NestedCells

FloatArray = NDArray[np.float64]
PASSES = 5  # of K-Means, which begins with clusters of cells, so that few are enough


@dataclass(frozen=True)
class Division:
    """Groups that share out all rows, and their merges.

    Attributes
    ----------
    cells : Cells or NestedCells
        The points, each with the number of its group.
    rows : array of int
        Row number of the medoid of each group. Sorted.
    values : array or CSR matrix
        Values of the medoids.
    means : array or CSR matrix
        Mean of each group.
    mass : array of float
        Mass of each group.
    linkage : array of float
        Merges of the groups up to a single one.
    """

    cells: Cells | NestedCells
    rows: IntArray
    values: Any
    means: Any
    mass: FloatArray
    linkage: FloatArray

    def label(self, X: Any, n_clusters: int, min_share: float = 0.0) -> IntArray:
        """Return the cluster of each row of ``X``, of ``n_clusters`` that have a share of the mass; -1 in others."""
        k, min_mass = min(n_clusters, len(self.rows)), min_share * float(self.mass.sum())
        label: IntArray = cut_large(self.linkage, self.mass, k, min_mass)[self.cells.label(X)]
        return label

    def count_parts(self, n_clusters: int, min_share: float) -> int:
        """Return how many clusters to merge to, so that ``n_clusters`` of them have a share of the mass."""
        return count_parts(self.linkage, self.mass, n_clusters, min_share * float(self.mass.sum()))

    def leaves(self, found: Counts, former: Survivors) -> Survivors:
        """Return the groups as leaves, given their rows; ``former`` are the leaves of the levels."""
        n_groups = len(self.rows)
        return replace(
            former,
            rows=self.rows,
            values=None if former.values is None else ArrayRows(self.values),
            mass=found.sizes.astype(np.float64) if found.weights is None else found.weights,
            sizes=found.sizes,
            first_rows=found.first_rows,
            weights=found.weights,
            means=self.means if found.means is None else found.means,
            is_noise=np.zeros(n_groups, dtype=bool),
            stability=np.full(n_groups, np.nan, dtype=np.float32),  # known to the first level
        )

    def share_out(self, first_level: FirstLevel, weights: Any) -> FirstLevel:
        """Return a first level whose leaves are the groups, after each row has joined the nearest one."""
        return first_level.share_out(self.cells, weights, self.rows, self.leaves)


@dataclass(frozen=True)
class Candidates:
    """Rows that can be medoids: row numbers (sorted), values without missing cells, and masses."""

    rows: IntArray
    values: Any
    mass: FloatArray


def divide_by_means(
    groups: Groups, candidates: Candidates, n_cells: int, rng: np.random.Generator | None = None
) -> Division:
    """Return cells around the means of the heaviest groups, merged by Ward's criterion.

    The medoid of a cell is the candidate that is nearest to its centre. A centre without any candidate is left out.
    Groups of several batches, for which there is a generator, are all of similar mass, and some of the same place: then
    the centres are those of K-Means of the groups.
    """
    if rng is None or len(groups.mass) <= n_cells:
        centres = groups.means[np.sort(np.argsort(-groups.mass, kind="stable")[:n_cells])]
    else:
        k_means = KMeans(n_cells, n_init=1, max_iter=ITERATIONS, random_state=int(rng.integers(2**31)))
        means = narrow_indices(groups.means) if sparse.issparse(groups.means) else groups.means
        centres = _like(k_means.fit(means, sample_weight=groups.mass).cluster_centers_, means)
    n_centres = centres.shape[0]
    nearest = Cells(centres, np.arange(n_centres)).label(candidates.values)
    medoids = _find_nearest(candidates.values, centres, nearest)
    kept = nearest[medoids]  # in the order of medoids, which are sorted
    number = np.full(n_centres, -1)
    number[kept] = np.arange(len(kept))
    mass: FloatArray = np.bincount(number[nearest], weights=candidates.mass, minlength=len(kept)).astype(np.float64)
    means = centres[kept]
    return Division(
        Cells(means, np.arange(len(kept))),
        candidates.rows[medoids],
        candidates.values[medoids],
        means,
        mass,
        link_groups(means, mass),
    )


def divide_by_centres(division: Division, candidates: Candidates, n_clusters: int) -> Division | None:
    """Return the cells of a division within clusters whose centres K-Means has moved, beginning with its clusters.

    A row belongs to the nearest centre first. Returns None if a cluster has no candidate any more.
    """
    values, mass = candidates.values, candidates.mass
    begin = Groups(division.means, division.mass).merged(cut_linkage(division.linkage, n_clusters), n_clusters).means
    begin = begin.toarray() if sparse.issparse(begin) else begin
    k_means = KMeans(n_clusters, init=begin, n_init=1, max_iter=PASSES)
    moved = k_means.fit(narrow_indices(values) if sparse.issparse(values) else values, sample_weight=mass)
    centres = Cells(_like(moved.cluster_centers_, values), np.arange(n_clusters))
    owner = centres.label(division.means)
    alone = np.setdiff1d(np.arange(n_clusters), owner)  # a centre without cells around it is a cell itself
    points, owner = join_rows([division.means, centres.points[alone]]), np.concatenate([owner, alone])
    found = NestedCells(centres, points, owner).label(values)
    medoids = _find_nearest(values, points, found)
    kept = found[medoids]
    if len(np.unique(owner[kept])) < n_clusters:
        return None
    points, owner, number = points[kept], owner[kept], np.full(points.shape[0], -1)
    number[kept] = np.arange(len(kept))
    groups = Groups(values.astype(np.float64), mass).merged(number[found], len(kept))
    return Division(
        NestedCells(centres, points, owner),
        candidates.rows[medoids],
        values[medoids],
        groups.means,
        groups.mass,
        link_stages(groups, [owner]),
    )


def _like(centres: FloatArray, values: Any) -> Any:
    """Return centres as an array, or as a CSR matrix if the values are in one."""
    return type(values)(centres) if sparse.issparse(values) else centres


def divide_along_tree(candidates: Candidates, gini_bound: float, n_groups: int) -> Division:
    """Return groups of candidates that merge early along their spanning tree, and the merges that follow."""
    linkage = link_connected(SpanningTree(candidates.values), candidates.mass, gini_bound)
    tree = MergeTree(np.arange(len(candidates.rows)), linkage, 1)
    n_distinct = 1 + int(np.count_nonzero(linkage[:, 2] > 0))  # equal rows are in one group
    label = tree.cut(min(n_groups, n_distinct))
    groups = Groups(candidates.values.astype(np.float64), candidates.mass)
    n_labels = int(label.max()) + 1
    medoids = groups.find_central(label, n_labels)
    pruned = tree.prune(medoids[label])
    order = np.searchsorted(pruned.medoids, medoids)  # of each label among the medoids, which are sorted
    pieces, by_medoid = groups.merged(label, n_labels), np.argsort(order)
    means, mass = pieces.means[by_medoid], pieces.mass[by_medoid]
    return Division(
        Cells(candidates.values, order[label]),
        candidates.rows[pruned.medoids],
        candidates.values[pruned.medoids],
        means,
        mass,
        raise_merges(pruned.linkage, means, mass),
    )


def _find_nearest(values: Any, centres: Any, nearest: IntArray) -> IntArray:
    """Return, sorted, the candidate that is nearest to each centre that is the nearest of any candidate."""
    difference = values - centres[nearest]
    squares = difference.multiply(difference) if sparse.issparse(difference) else difference**2
    order = np.lexsort((np.asarray(squares.sum(axis=1)).ravel(), nearest))
    return np.sort(order[np.flatnonzero(np.diff(nearest[order], prepend=-1))])
