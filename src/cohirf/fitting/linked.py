"""Fits with links between rows.

Rows that are to be together are moved to their mean before the fit. For K-Means this is exact: its
sums of squares change by the same amount, whatever the clusters are. If pieces that are to be apart
share a cluster, the groups of the fit merge once more, with a price for each such pair; those
clusters are taken if fewer pairs share one. What is left is divided: pieces move to other clusters,
at least cost, and each row of a piece belongs to the group of its piece. The tree is grown within
these clusters, so that none of its merges up to them has a pair that is to be apart.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import sparse
from scipy.cluster.hierarchy import cophenet
from scipy.spatial.distance import squareform

from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.parents import find_roots
from cohirf.beyond.apart import count_broken_pairs, keep_apart, merge_apart
from cohirf.beyond.links import Links
from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.data import Data
from cohirf.data.first_level import DataWeights
from cohirf.fitting.end_of_levels import EndOfLevels
from cohirf.fitting.ending import Ending
from cohirf.fitting.families import TakesNumber
from cohirf.fitting.policy import END
from cohirf.fitting.regroup import read_filled
from cohirf.fitting.settings import Settings
from cohirf.landmarks import Cells, NestedCells, split
from cohirf.rows.arrays import as_array, join_rows, to_host
from cohirf.rows.containers import container_of
from cohirf.rows.distances import relative_squares
from cohirf.rows.grouping import FloatArray, IntArray, Mass, row_blocks
from cohirf.wording import count_of, setting


def find_links(
    settings: Settings, data: Data, weights: DataWeights | None, links: Any
) -> Links | None:
    """Return the links that the user gave, if any; raise if a fit cannot keep them."""
    if links is None:
        return None
    found = Links.of(links, data.rows.n_rows)
    if len(found.rows) == 0:
        return None
    if not isinstance(settings.family, TakesNumber):
        raise ValueError(  # noqa: TRY004 - the type of a parameter's family, not of a value
            f"links need a number of clusters that {setting('n_clusters')} gives, or that is "
            f"chosen, and a method that finds as many: around {settings.base_name} the clusters "
            "are what its levels find, and rows that are moved would be in none of them. Leave "
            f"links out, or give {setting('n_clusters')} and a method such as KMeans."
        )
    if settings.size_limits is not None:
        raise ValueError(
            f"links do not work with {setting('size_limits', settings.size_limits)}: rows would "
            "move from one cluster to another for either. Leave one of them out."
        )
    if settings.min_cluster_size != 1:
        raise ValueError(
            f"links do not work with {setting('min_cluster_size', settings.min_cluster_size)}, "
            "which leaves out the rows of small clusters: leave it out."
        )
    if not data.can_reassign:
        raise TypeError(
            "links need rows in memory or a source in this process: rows on Dask or on a device "
            "stay in the cluster that is nearest."
        )
    if weights is not None:
        mass = weights.take(found.rows)
        if not mass.all():
            row = int(found.rows[int(mass.argmin())])
            raise ValueError(
                f"links has the row {row:,}, whose weight is 0, so that it does not take part in "
                "the fit: leave out its links."
            )
    if settings.family.n_clusters is not None:
        found.refuse_too_few(settings.family.n_clusters)
    return found


def move_together(data: Data, weights: DataWeights | None, links: Links) -> Data:
    """Return the data, in which the rows of each piece are at their mean."""
    rows = links.rows[links.joined]
    if len(rows) == 0:
        return data
    numbers, places = np.unique(links.pieces[links.joined], return_inverse=True)
    mass = np.ones(len(rows)) if weights is None else weights.take(rows)
    values = fill_missing(data.rows.take(rows), data.column_means)
    return data.moved(rows, places, cluster_means(values, places, len(numbers), mass))


def keep_links(levels: EndOfLevels, ending: Ending, links: Links) -> Ending:
    """Return the end of a fit after pieces have moved until all links are kept."""
    leaves = _join_pieces(levels, ending, links)
    clusters = LeafClusters.of(ending, levels.choose_number().n_clusters)
    former = clusters
    n_broken = count_broken_pairs(clusters.label[leaves], links.conflicts)
    if n_broken:
        again = _merge_again(levels, ending, clusters, links, leaves)
        if count_broken_pairs(again.label[leaves], links.conflicts) < n_broken:
            clusters = again
    labels = clusters.label[leaves]
    costs = PieceCosts(levels, clusters, links)
    kept = keep_apart(labels, links.conflicts, costs.measure, clusters.n_clusters)
    if kept is None:
        raise ValueError(
            f"links cannot be kept by {count_of(clusters.n_clusters, 'cluster')}: no way was found "
            "to divide all rows so that linked ones are apart. Raise "
            f"{setting('n_clusters')}, or leave out links."
        )
    moved = np.flatnonzero(kept != labels)
    leaves[moved] = costs.find_leaves(moved, kept[moved])
    now = leaves[links.pieces]
    changed = now != ending.first_level.find_leaves(links.rows)
    if not changed.any() and clusters is former:
        return ending
    points: IntArray = np.array(to_host(ending.first_level.part.leaf_of), dtype=np.int64)
    points[links.rows[changed]] = now[changed]
    return _end_again(levels, ending, clusters, costs, points)


def _join_pieces(levels: EndOfLevels, ending: Ending, links: Links) -> IntArray:
    """Return the leaf of each piece: of the leaves of its rows the one with most mass.

    Equal rows are in one leaf, but for methods that divide them at random.
    """
    leaves = ending.first_level.find_leaves(links.rows)
    weights = levels.weights
    mass = np.ones(len(leaves)) if weights is None else weights.take(links.rows)
    both, position = np.unique(np.column_stack([links.pieces, leaves]), axis=0, return_inverse=True)
    total = np.bincount(position, weights=mass)
    order = np.lexsort((-total, both[:, 0]))
    heaviest = order[np.flatnonzero(np.diff(both[order, 0], prepend=-1))]
    return np.asarray(both[heaviest, 1])


@dataclass(frozen=True)
class LeafClusters:
    """The cluster of each leaf, and points by which rows are assigned to clusters.

    If a fit has found fewer clusters than wanted, the others are empty: any row may be their first.
    """

    label: IntArray  # of each leaf; -1 is noise
    n_found: int  # clusters with leaves
    n_clusters: int  # with empty ones
    leaves: IntArray  # the heaviest of each cluster, in the order of clusters
    means: FloatArray  # their means

    @classmethod
    def of(cls, ending: Ending, n_clusters: int) -> LeafClusters:
        """Return the clusters of the leaves at the end of a fit."""
        state = ending.state
        roots = find_roots(state.fusions.parents, state.fusions.absorbed_at, state.level)
        label = np.where(ending.is_noise, -1, np.searchsorted(ending.medoids, roots))
        return cls.of_labels(ending, label, n_clusters)

    @classmethod
    def of_labels(cls, ending: Ending, label: IntArray, n_clusters: int) -> LeafClusters:
        """Return clusters of which each leaf has the given label, or -1."""
        n_found = int(label.max(initial=-1)) + 1
        mass = ending.first_level.leaves.total_mass
        heaviest = np.argsort(-mass, kind="stable")
        heaviest = heaviest[label[heaviest] >= 0]
        of_clusters = [
            np.sort(heaviest[own[: END.linked_leaves]]) for own in split(label[heaviest])
        ]
        leaves: IntArray = np.concatenate(of_clusters)
        means: FloatArray = as_array(ending.first_level.leaves.means[leaves])
        return cls(label, n_found, max(n_clusters, n_found), leaves, means)


def _merge_again(
    levels: EndOfLevels, ending: Ending, clusters: LeafClusters, links: Links, leaves: IntArray
) -> LeafClusters:
    """Return the clusters after the groups of the tree have merged with a price for each pair of
    pieces that are to be apart: what such a piece costs at the mean of all rows.
    """
    tree = ending.tree.value
    if not 1 < tree.n_leaves <= MAX_LINKED:  # of more, a matrix would be large
        return clusters
    fusions = ending.state.fusions
    clustered = np.flatnonzero(clusters.label >= 0)
    roots = find_roots(fusions.parents, fusions.absorbed_at, tree.level)[clustered]
    group = np.full(len(clusters.label), -1)
    group[clustered] = np.searchsorted(tree.medoids, roots)
    some = np.flatnonzero(leaves >= 0)
    some = some[group[leaves[some]] >= 0]
    members = sparse.csr_array(
        (np.ones(len(some)), (group[leaves[some]], some)), shape=(tree.n_leaves, links.n_pieces)
    )
    mass = PieceCosts(levels, clusters, links).weigh(np.arange(links.n_pieces))
    pairs = links.conflicts.tocoo()
    moved = sparse.csr_array(
        (np.minimum(mass[pairs.row], mass[pairs.col]), (pairs.row, pairs.col)),
        shape=pairs.shape,
    )
    conflicts = (members @ moved @ members.T).toarray()
    np.fill_diagonal(conflicts, 0.0)
    of_leaves = ending.first_level.leaves
    weights = of_leaves.total_mass[clustered]
    means = as_array(of_leaves.means[clustered])
    variance = float((weights @ (means - weights @ means / weights.sum()) ** 2).sum())
    found = merge_apart(
        squareform(cophenet(tree.linkage)),
        conflicts,
        variance / float(weights.sum()),
        clusters.n_clusters,
    )
    label = np.full(len(group), -1)
    label[clustered] = found[group[clustered]]
    return LeafClusters.of_labels(ending, label, clusters.n_clusters)


@dataclass(frozen=True)
class PieceCosts:
    """What it costs to move pieces to a cluster: their mass, times the squared distance to the
    nearest leaf of it.
    """

    levels: EndOfLevels
    clusters: LeafClusters
    links: Links

    def measure(self, pieces: IntArray) -> FloatArray:
        """Return the cost of each piece in each cluster; in an empty one, what is nearest costs.

        Squares of distances lack what all clusters have in common.
        """
        clusters = self.clusters
        starts = np.flatnonzero(np.diff(clusters.label[clusters.leaves], prepend=-1))
        found = np.empty((len(pieces), clusters.n_clusters))
        mass = self.weigh(pieces)
        for block in row_blocks(len(pieces)):
            squares = self._measure_leaves(pieces[block])
            nearest = np.minimum.reduceat(squares, starts, axis=1)
            found[block, : clusters.n_found] = nearest
            found[block, clusters.n_found :] = nearest.min(axis=1, keepdims=True)
            found[block] *= mass[block, None]
        return found

    def find_leaves(self, pieces: IntArray, labels: IntArray) -> IntArray:
        """Return the leaf nearest to each piece in its cluster; new numbers in empty clusters."""
        clusters = self.clusters
        found: IntArray = len(clusters.label) + labels - clusters.n_found
        of_leaf = clusters.label[clusters.leaves]
        known = np.flatnonzero(labels < clusters.n_found)
        for block in row_blocks(len(known)):
            some = known[block]
            squares = self._measure_leaves(pieces[some])
            squares[labels[some][:, None] != of_leaf] = np.inf
            found[some] = clusters.leaves[squares.argmin(axis=1)]
        return found

    def read(self, pieces: IntArray) -> Any:
        """Return the place of each piece."""
        rows = self.links.rows[self.links.firsts[pieces]]
        return fill_missing(self.levels.data.take(rows), self.levels.data.column_means)

    def _measure_leaves(self, pieces: IntArray) -> FloatArray:
        """Return what the squared distance of each piece to each of the heaviest leaves adds."""
        return relative_squares(self.read(pieces), self.clusters.means)

    def weigh(self, pieces: IntArray) -> Mass:
        """Return the mass of pieces."""
        weights = self.levels.weights
        links = self.links
        mass = None if weights is None else weights.take(links.rows)
        of_pieces = np.bincount(links.pieces, weights=mass, minlength=links.n_pieces)
        return of_pieces[pieces].astype(np.float64)


def _end_again(
    levels: EndOfLevels,
    ending: Ending,
    clusters: LeafClusters,
    costs: PieceCosts,
    points: IntArray,
) -> Ending:
    """Return the end of a fit with rows in other leaves: ``points`` has that of each row."""
    means = as_array(ending.first_level.leaves.means)
    owner = clusters.label
    numbers, firsts = np.unique(points, return_index=True)
    opened = numbers >= len(owner)
    if opened.any():  # clusters that were empty
        values = as_array(read_filled(levels.data, np.sort(firsts[opened])))
        values = values[np.argsort(np.argsort(firsts[opened]))]
        points = points.copy()
        is_new = points >= len(owner)
        points[is_new] = len(owner) + np.searchsorted(numbers[opened], points[is_new])
        means = np.concatenate([means, values])
        owner = np.concatenate([owner, clusters.n_found + np.arange(len(values))])
    regrouped = levels.regroup(ending.first_level, points, means, owner)
    found = levels.end_regrouped(regrouped, owner)
    cells = _renumber(ending.cells, regrouped.number, means[len(clusters.label) :])
    return replace(found, choice=ending.choice, cells=cells)


def _renumber(
    cells: Cells | NestedCells | None, number: IntArray, opened: FloatArray
) -> Cells | None:
    """Return cells with the numbers of leaves after rows have moved, and those that were opened."""
    if cells is None:
        return None
    if isinstance(cells, Cells):
        points, leaves, prices = cells.points, cells.labels, cells.prices
    else:
        leaves = np.unique(cells.owner, return_index=True)[1]
        points, prices = cells.centres.points, cells.centres.prices
    assert prices is None  # limits of sizes are not kept together with links
    if len(opened):
        points = join_rows([points, container_of(points).like(points, opened)])
        leaves = np.concatenate([leaves, len(number) - len(opened) + np.arange(len(opened))])
    return Cells(points, number[leaves])
