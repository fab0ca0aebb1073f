"""Which merges follow the levels, to how many clusters, of which groups.

A method such as K-Means divides space, so that its rows are shared out among cells. Other methods
keep the groups that their batches have left. But if merges that follow the neighbour graph fit the
data better, rows are shared out among the points of the graph, whatever the method: groups are too
coarse for that. On 22 sets of the benchmark suite, spectral clustering in six batches lost 0.09
(ARI) with merges of its groups, and gained 0.05 with connected parts.

The levels of a method such as K-Means leave groups of rows, of which some are heavy and many are
light. The means of the heaviest are the centres of cells: each row of the data belongs to the
nearest one. If clusters are not compact, rows of the data, the points of the graph, take the place
of means: rows that merge early are one group.

Either way, the group of a row is that of the nearest point. So ``predict`` is the last step of a
fit, and agrees with it in every row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin_min
from sklearn.neighbors import NearestNeighbors

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.algorithm.runs import Survivors
from cohirf.beyond.choose_merge import MERGES, ComparedSample, centre
from cohirf.beyond.criterion import criterion_of
from cohirf.beyond.cuts import count_parts, cut_large, cut_linkage
from cohirf.beyond.merge_tree import (
    MAX_LINKED,
    Groups,
    Link,
    MergeTree,
    link_groups,
    link_stages,
    merge_last,
    raise_merges,
)
from cohirf.beyond.neighbour_graph import count_graph_rows
from cohirf.beyond.policy import GRAPH, MERGE
from cohirf.choice import Choice, choose_number, count_crumbs
from cohirf.data import Data
from cohirf.data.first_level import Counts, DataWeights, FirstLevel
from cohirf.fitting.policy import END, QUICK
from cohirf.fitting.settings import Settings
from cohirf.landmarks import Cells, NestedCells
from cohirf.rows.arrays import as_array, join_rows, narrow_indices, put_on_device, to_host
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import ROUNDING, FloatArray, IntArray, row_blocks
from cohirf.rows.storage import ArrayRows, Population, draw_by_mass, take_in_order


@dataclass(frozen=True)
class Division:
    """Groups that share out all rows, and their merges."""

    cells: Cells | NestedCells  # the points, each with the number of its group
    rows: IntArray  # row number of the medoid of each group. Sorted.
    values: Any  # values of the medoids
    means: Any  # mean of each group
    mass: FloatArray  # mass of each group
    linkage: FloatArray  # merges of the groups up to a single one

    def label(self, X: Any, n_clusters: int, min_share: float = 0.0) -> IntArray:
        """Return the cluster of each row of ``X``, of ``n_clusters`` that have a share of the mass;
        -1 in others.
        """
        k = min(n_clusters, len(self.rows))
        min_mass = min_share * float(self.mass.sum())
        label: IntArray = cut_large(self.linkage, self.mass, k, min_mass)[self.cells.label(X)]
        return label

    def count_parts(self, n_clusters: int, min_share: float) -> int:
        """Return how many clusters to merge to, so that ``n_clusters`` of them have a share of the
        mass.
        """
        return count_parts(self.linkage, self.mass, n_clusters, min_share * float(self.mass.sum()))

    def with_far_rows_last(self, min_share: float) -> Division:
        """Return the division with merges in which a few far rows are the last to join, whatever
        the criterion says.

        Far are groups, of fewer rows together than a cluster may have, that are much farther from
        all larger groups than any of these is from the next one. Ward's criterion merges a single
        row early, because its mass is small.
        """
        few = min_share * float(self.mass.sum())
        small = np.flatnonzero(self.mass < few)
        large = np.flatnonzero(self.mass >= few)
        if len(small) == 0 or len(large) < 2:
            return self
        gaps = pairwise_distances_argmin_min(self.means[small], self.means[large])[1]
        between = NearestNeighbors(n_neighbors=1).fit(self.means[large]).kneighbors()[0]
        far = small[gaps > END.far * between.max()]
        if len(far) == 0 or float(self.mass[far].sum()) >= few:
            return self
        return replace(self, linkage=merge_last(self.linkage, far))

    def leaves(self, found: Counts, former: Survivors) -> Survivors:
        """Return the groups as leaves, given their rows.

        ``former`` are the leaves of the levels.
        """
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
        """Return a first level whose leaves are the groups, after each row has joined the nearest
        one.
        """
        return first_level.share_out(self.cells.label, weights, self.rows, self.leaves)


def divide_by_means(
    groups: Groups,
    candidates: SampleOfFit,
    n_cells: int,
    rng: np.random.Generator | None = None,
    link: Link = link_groups,
) -> Division:
    """Return cells around the means of the heaviest groups, and their merges.

    The medoid of a cell is the candidate that is nearest to its centre. A centre without any
    candidate is left out. Groups of several batches, for which there is a generator, are all of
    similar mass, and some of the same place: then the centres are those of K-Means of the groups.
    """
    if rng is None or len(groups.mass) <= n_cells:
        centres = groups.means[np.sort(np.argsort(-groups.mass, kind="stable")[:n_cells])]
    else:
        k_means = KMeans(
            n_cells, n_init=1, max_iter=QUICK.iterations, random_state=int(rng.integers(2**31))
        )
        means = narrow_indices(groups.means)
        found = k_means.fit(means, sample_weight=groups.mass).cluster_centers_
        centres = container_of(means).like(means, found)
    n_centres = centres.shape[0]
    nearest = Cells(centres, np.arange(n_centres)).label(candidates.values)
    medoids = _nearest_candidates(candidates.values, centres, nearest)
    kept = nearest[medoids]  # in the order of medoids, which are sorted
    number = np.full(n_centres, -1)
    number[kept] = np.arange(len(kept))
    mass: FloatArray = np.bincount(
        number[nearest], weights=candidates.mass, minlength=len(kept)
    ).astype(np.float64)
    means = centres[kept]
    return Division(
        Cells(means, np.arange(len(kept))),
        candidates.rows[medoids],
        candidates.values[medoids],
        means,
        mass,
        link(means, mass, MAX_LINKED),
    )


def divide_by_centres(
    division: Division,
    candidates: SampleOfFit,
    n_clusters: int,
    device: Any = None,
    link: Link = link_groups,
) -> Division | None:
    """Return the cells of a division within clusters whose centres K-Means has moved, beginning
    with its clusters.

    A row belongs to the nearest centre first. Returns None if a cluster has no candidate any more.
    Rows of a device are compared there.
    """
    values = candidates.values
    mass = candidates.mass
    there = put_on_device(values, device)
    begin = (
        Groups(division.means, division.mass)
        .merged(cut_linkage(division.linkage, n_clusters), n_clusters)
        .means
    )
    begin = as_array(begin)
    moved = container_of(there).move_centres(
        there, put_on_device(mass, device), begin, QUICK.iterations
    )
    moved = container_of(values).like(values, moved)
    if moved.shape[0] < n_clusters:
        return None
    centres = Cells(moved, np.arange(n_clusters))
    owner = centres.label(division.means)
    # a centre without cells around it is a cell itself
    alone = np.setdiff1d(np.arange(n_clusters), owner)
    points = join_rows([division.means, centres.points[alone]])
    owner = np.concatenate([owner, alone])
    found = to_host(NestedCells(centres, points, owner).label(there))
    medoids = _nearest_candidates(values, points, found)
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
        link_stages(groups, [owner], link=link),
    )


def divide_by_points(
    candidates: SampleOfFit, merge: str, n_clusters: int, n_groups: int, min_share: float = 0.0
) -> Division:
    """Return groups of candidates that merge early, and the merges that follow.

    If clusters have a smallest share, because their number was chosen, a few far rows merge last.
    """
    linkage = candidates.compared.link(merge, n_clusters, n_groups, min_share)
    if min_share > 0:
        linkage = merge_last(linkage, find_far(candidates.values))
    tree = MergeTree(np.arange(len(candidates.rows)), linkage, 1)
    n_distinct = 1 + int(np.count_nonzero(linkage[:, 2] > 0))  # equal rows are in one group
    label = tree.cut(min(n_groups, n_distinct))
    groups = Groups(candidates.values.astype(np.float64), candidates.mass)
    n_labels = int(label.max()) + 1
    medoids = groups.find_central(label, n_labels)
    pruned = tree.prune(medoids[label])
    # of each label among the medoids, which are sorted
    order = np.searchsorted(pruned.medoids, medoids)
    pieces = groups.merged(label, n_labels)
    by_medoid = np.argsort(order)
    means = pieces.means[by_medoid]
    mass = pieces.mass[by_medoid]
    return Division(
        Cells(candidates.values, order[label]),
        candidates.rows[pruned.medoids],
        candidates.values[pruned.medoids],
        means,
        mass,
        raise_merges(pruned.linkage, means, mass),
    )


def find_far(points: Any) -> IntArray:
    """Return the few points, if any, that are much farther from their third neighbour than all
    other points are.

    Examples
    --------
    >>> import numpy as np
    >>> find_far(np.append(np.linspace(0, 1, 100), [70.0, 90.0]).reshape(-1, 1)).tolist()
    [101, 100]
    """
    most = count_crumbs(points.shape[0]) - 1
    if most == 0:
        return np.empty(0, dtype=np.int64)
    gaps = NearestNeighbors(n_neighbors=most).fit(centre(points)).kneighbors()[0][:, -1]
    order = np.argsort(-gaps, kind="stable")[: most + 1]
    is_step = gaps[order[:-1]] > END.far * gaps[order[1:]]
    n_far = int(np.flatnonzero(is_step)[-1]) + 1 if is_step.any() else 0
    return order[:n_far]


def _nearest_candidates(values: Any, centres: Any, nearest: IntArray) -> IntArray:
    """Return, sorted, the candidate that is nearest to each centre that is the nearest of any
    candidate.
    """
    distances = np.empty(len(nearest))
    for block in row_blocks(len(nearest)):
        distances[block] = container_of(centres).measure_own(values[block], centres, nearest[block])
    order = np.lexsort((distances, nearest))
    return np.sort(order[np.flatnonzero(np.diff(nearest[order], prepend=-1))])


@dataclass(frozen=True, eq=False)
class SampleOfFit:
    """Some rows of a fit, which can be medoids."""

    rows: IntArray  # row numbers. Sorted.
    values: Any  # their values, without missing cells
    leaves: IntArray  # the leaf that each belongs to
    mass: FloatArray  # their masses
    known: ComparedSample | None = None  # the same rows, if they were compared before

    @classmethod
    def draw(
        cls,
        first_level: FirstLevel,
        population: Population,
        column_means: Any,
        n_rows: int,
        rng: np.random.Generator,
    ) -> SampleOfFit:
        """Draw rows by weight; of rows that were read once, those that were held aside, or leaves
        if these are few.
        """
        leaves = first_level.leaves
        if first_level.readable is not None:
            rows, mass = population.draw_by_weight(n_rows, rng)
            values = fill_missing(to_host(first_level.readable.take(rows)), column_means)
            return cls(rows, values, first_level.find_leaves(rows), mass)
        single: IntArray = np.flatnonzero(np.isnan(leaves.stability) & (leaves.sizes == 1))
        if len(single) >= GRAPH.compared_rows:
            among = single
        else:
            among = np.arange(len(leaves.rows))
        weights = leaves.total_mass
        per_row = weights[among] / leaves.sizes[among]
        if np.ptp(per_row) > ROUNDING * per_row.max():
            drawn, mass = draw_by_mass(weights[among], n_rows, rng)
            some = among[drawn]
        else:
            if len(among) <= n_rows:
                some = among
            else:
                some = np.sort(rng.choice(among, n_rows, replace=False))
            mass = leaves.sizes[some].astype(np.float64)
        return cls(
            leaves.rows[some],
            fill_missing(take_in_order(leaves.values, some), column_means),
            some,
            mass,
        )

    def at(self, some: Any) -> SampleOfFit:
        """Return some of the rows."""
        return SampleOfFit(self.rows[some], self.values[some], self.leaves[some], self.mass[some])

    def without_hubs(self, n_clusters: int | None) -> SampleOfFit:
        """Return the rows without hubs, which are among the neighbours of most other rows.

        The neighbours of a hub have nothing in common but the hub, so merges along it mean nothing,
        and as a point of the sample it would take most rows of the data. But one that is as heavy
        as a cluster is one: a hub stays if it has the mean mass of so many clusters.
        """
        if len(self.rows) < 2:
            return self
        graph = self.compared.graph
        is_left_out = graph.is_hub
        if n_clusters is not None:
            is_left_out = is_left_out & (n_clusters * graph.mass < graph.mass.sum())
        if not is_left_out.any():
            return self
        return self.at(np.flatnonzero(~is_left_out[graph.point_of_row]))

    def has_rows_of(self, other: SampleOfFit) -> bool:
        """Return whether both samples have the same rows with the same masses."""
        return np.array_equal(self.rows, other.rows) and np.array_equal(self.mass, other.mass)

    @cached_property
    def compared(self) -> ComparedSample:
        """The rows with their neighbour graph, which several divisions are compared by."""
        return self.known or ComparedSample(centre(self.values), self.mass)


def choose_first(
    settings: Settings, data: Data, weights: DataWeights | None, entropy: Entropy
) -> tuple[Choice, SampleOfFit]:
    """Choose the number of clusters before the levels, so that they are those of a fit with this
    number.

    Also return the rows that it was chosen on, whose graph tells which merge fits.
    """
    population = Population(data.rows, weights)
    n_rows = min(count_graph_rows(data.n_features), population.n_rows)
    rows, mass = population.draw_by_weight(n_rows, generator_at(entropy, Draw.CHOICE, n_rows))
    values = fill_missing(to_host(data.rows.take(rows)), data.column_means)
    sample = SampleOfFit(rows, values, np.full(len(rows), -1), mass)  # no row has a leaf yet
    min_share = find_min_share(settings, population)
    rng = generator_at(entropy, Draw.CHOICE)
    return choose_number(sample.without_hubs(None).compared, rng, min_share), sample


def find_min_share(settings: Settings, population: Population) -> float:
    """Return the smallest share of a cluster that the user wants."""
    total = float(population.n_rows)
    if population.weights is not None and settings.min_cluster_size > 1:
        blocks = row_blocks(population.values.n_rows)
        total = float(
            sum(
                population.weights.take(np.arange(block.start, block.stop)).sum()
                for block in blocks
            )
        )
    return settings.smallest_wanted(total) / total


def leaves_as_candidates(
    first_level: FirstLevel, state: FitState, column_means: Any
) -> SampleOfFit:
    """Return all leaves of the levels as candidates for medoids."""
    leaves = first_level.leaves
    values = to_host(state.active.values.take(np.arange(len(leaves.rows))))
    return SampleOfFit(
        leaves.rows,
        fill_missing(values, column_means),
        np.arange(len(leaves.rows)),
        leaves.total_mass,
    )


def linking(merge: str, n_clusters: int) -> Link:
    """Return a function that links groups by a merge, to fit a number of clusters."""
    return criterion_of(merge).link_groups or partial(_link_as_rows, merge, n_clusters)


def _link_as_rows(
    merge: str, n_clusters: int, means: Any, mass: FloatArray, max_linked: int
) -> FloatArray:
    """Return the linkage of groups whose means are merged as rows with masses, in a new graph."""
    linkage = ComparedSample(means, mass).link(merge, n_clusters, max_linked)
    return raise_merges(linkage, means, mass)


@dataclass(frozen=True)
class Chooser:
    """Chooses number and merge of the clusters of a fit, on samples of its rows."""

    merge: str  # what is wanted
    is_merge_given: bool  # whether the user wants it
    n_clusters: int | None  # the number of clusters; None if it is to be chosen
    draw: Callable[[int], SampleOfFit]  # returns a sample of this size, which is always the same
    rng: np.random.Generator  # splits samples into halves
    min_share: float = 0.0  # smallest share of a cluster, if the number is to be chosen
    device: Any = None  # where the rows of the data are, if they are on a device
    n_features: int = 2  # of the rows

    def choose_number(self) -> Choice:
        """Return the number of clusters, or choose it."""
        if self.n_clusters is not None:
            return Choice(self.n_clusters)
        return choose_number(self.sample.compared, self.rng, self.min_share)

    def refine(
        self,
        division: Division,
        n_clusters: int,
        min_share: float = 0.0,
        link: Link = link_groups,
    ) -> Division:
        """Return the division by centres that follow from a division, if these can be moved."""
        if not 1 < n_clusters < len(division.rows):
            return division
        sample = self.draw(max(END.moved_rows, END.moved_per_cluster * n_clusters))
        # of rows that were read once, few may be known
        if len(sample.rows) < MERGE.rows_per_cluster * n_clusters:
            return division
        refined = divide_by_centres(division, sample, n_clusters, self.device, link)
        if refined is None:
            return division
        return refined.with_far_rows_last(min_share)

    @cached_property
    def sample(self) -> SampleOfFit:
        """The rows whose graph tells which merge fits, without light hubs."""
        return self.draw(count_graph_rows(self.n_features)).without_hubs(self.n_clusters)

    def compare(
        self,
        choice: Choice,
        label: Callable[[SampleOfFit, str], IntArray],
        *,
        has_points: bool = True,
    ) -> Choice:
        """Return the choice with its merge.

        ``label`` returns the cluster of each row of a sample by a merge, as the fit would end.
        Where it can end in points, it is asked for merges around means only: others divide the
        rows of the sample.
        """
        k = choice.n_clusters
        if k < 2:
            return choice
        asked = None
        if self.merge != "auto":
            asked = replace(choice, merge=self.merge, is_merge_given=self.is_merge_given)
            if asked.is_around_means:  # needs no sample
                return asked
        sample = self.sample
        if len(sample.rows) <= max(k, 2) or (self.merge == "auto" and self._are_few(sample, k)):
            return choice
        if asked is not None and self.merge not in MERGES:
            return asked
        divisions = []
        for merge in MERGES:
            if has_points and not criterion_of(merge).around_means:
                divisions += sample.compared.divide(merge, [k], choice.min_share)
            else:
                divisions.append(label(sample, merge))
        found = sample.compared.compare(divisions)
        choice = asked or replace(choice, merge=found.best, is_merge_given=self.is_merge_given)
        if not np.isfinite(found.figures.cut).all():  # too few clusters have enough rows
            return choice
        scores = np.where(np.isfinite(found.scores), found.scores, np.nan)
        return replace(choice, cuts=found.figures.cut, scores=scores)

    @staticmethod
    def _are_few(sample: SampleOfFit, n_clusters: int) -> bool:
        return len(sample.rows) < MERGE.rows_per_cluster * n_clusters
