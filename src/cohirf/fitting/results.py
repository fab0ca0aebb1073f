"""From the last level of a fit to its state: clusters, landmarks, what updates need."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import mean_of_tally
from cohirf.algorithm.levels import FitState, LevelRecord
from cohirf.algorithm.parents import find_roots, hide_small_clusters, number_by_first_row
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.runs import Survivors
from cohirf.choice import Choice
from cohirf.data import Data, InMemory
from cohirf.data.first_level import DataWeights, FirstLevel
from cohirf.fitting.ending import Ending, smallest_size
from cohirf.fitting.settings import Settings
from cohirf.landmarks import LANDMARK, Cells, Landmarks, NestedCells, sample_landmarks
from cohirf.rows.arrays import join_rows, take_rows, to_host
from cohirf.rows.grouping import (
    IntArray,
    all_others,
    index_dtype,
    put_back,
    row_blocks,
)
from cohirf.rows.later import Later
from cohirf.rows.members import find_exemplars
from cohirf.rows.metric_spaces import MetricSpace
from cohirf.rows.storage import ArrayRows, Rows, take_in_order
from cohirf.scratch import ScratchStorage
from cohirf.summary.policy import KEEP
from cohirf.summary.rows import RowMap, RowResults
from cohirf.summary.state import FinalClusters, FittedState
from cohirf.summary.summary import ContractedBatches, RowGroups, Summary


@dataclass(frozen=True)
class Clusters:
    """The final clusters."""

    ending: Ending
    values: Rows  # values of each leaf
    labels: IntArray  # label of each leaf, or -1
    medoids: IntArray  # the leaf that is the medoid of each cluster

    @classmethod
    def of(cls, settings: Settings, data: Data, ending: Ending) -> Clusters:
        """Return the clusters that are large enough, numbered by their first row."""
        leaves = ending.first_level.leaves
        min_size = smallest_size(settings, leaves)
        dtype = index_dtype(data.rows.n_rows)
        labels, medoids = label_leaves(ending.state, leaves, ending.is_noise, min_size, dtype)
        return cls(ending, ending.state.active.values, labels, medoids)

    @property
    def first_level(self) -> FirstLevel:
        """What knows the leaf of each row."""
        return self.ending.first_level

    @cached_property
    def labels_of_rows(self) -> Any:
        """Label of each row of the data, or -1."""
        return self.first_level.label(self.labels)

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each cluster, without rows of weight 0."""
        clustered = self.labels >= 0
        sizes = self.first_level.leaves.sizes[clustered]
        return np.bincount(
            self.labels[clustered], weights=sizes, minlength=len(self.medoids)
        ).astype(np.int64)


@dataclass(frozen=True)
class Kept:
    """The rows that a fit keeps for ``predict``: row number, leaf and values of each."""

    rows: IntArray
    leaves: IntArray
    points: Any


@dataclass(frozen=True)
class RunLevels:
    """What is known about the levels that were run."""

    records: list[LevelRecord]
    n_levels: int
    # sums over the views of the first level, and of those above it; see ``tally_features``
    first_tally: NDArray[np.float64]
    later_tally: NDArray[np.float64]

    @property
    def feature_agreement(self) -> NDArray[np.float64]:
        """For each feature, the mean agreement of the views that contained it."""
        return mean_of_tally(self.first_tally + self.later_tally)


def collect_results(
    settings: Settings,
    data: Data,
    weights: DataWeights | None,
    ending: Ending,
    contraction: Contraction,
    levels: RunLevels,
) -> FittedState:
    """Return all that a fit has found."""
    positive = None if weights is None else weights.positive
    first_level = ending.first_level
    clusters = Clusters.of(settings, data, ending)
    kept = keep_rows(data, positive, clusters, contraction)
    if positive is not None and ending.cells is None:
        _label_left_out(
            data,
            positive,
            first_level,
            Landmarks(kept.points, kept.leaves, metric=contraction.space.name),
        )
        # a row that joined can be the first of its cluster
        clusters = Clusters.of(settings, data, ending)
    leaves = first_level.leaves
    part = first_level.part.mapped(data.put_vector)
    rows = RowResults.of(
        RowMap((part,)), leaves.rows, clusters.labels, leaves.sizes, ending.state.fusions
    )
    summary = _summarize(settings, data, weights, rows, kept, clusters, contraction, levels)
    found = make_state(data, positive, clusters, kept, rows, contraction, levels)
    return replace(found, summary=summary, is_weighted=weights is not None)


def make_state(
    data: Data,
    positive: IntArray | None,
    clusters: Clusters,
    kept: Kept,
    rows: RowResults,
    contraction: Contraction,
    levels: RunLevels,
) -> FittedState:
    """Return the state of final clusters, which are numbered from 0, without what updates need."""
    ending = clusters.ending
    labels = clusters.labels
    return FittedState(
        clusters=_describe_clusters(data, positive, clusters, kept, contraction),
        choice=_count_aside(ending.choice, clusters),
        rows=rows,
        tree=ending.tree,
        column_means=data.column_means,
        landmarks=Landmarks(
            kept.points,
            labels[kept.leaves],
            cells=None if ending.cells is None else _name_cells(ending.cells, labels),
            metric=contraction.space.name,
        ),
        landmark_rows=kept.rows,
        batch_size=contraction.batch_size,
        n_levels=levels.n_levels,
        records=levels.records,
        feature_agreement=levels.feature_agreement,
        summary=Later.known(None),
    )


def _summarize(
    settings: Settings,
    data: Data,
    weights: DataWeights | None,
    rows: RowResults,
    kept: Kept,
    clusters: Clusters,
    contraction: Contraction,
    levels: RunLevels,
) -> Later[Summary | None]:
    """Return what a fit keeps for updates: all rows if they are few, or groups of its first level.

    A method that does not take the number of clusters needs all rows.
    """
    leaves = clusters.first_level.leaves
    n_rows = data.rows.n_rows
    has_all = len(kept.rows) == n_rows
    if settings.family.contracts_updates:
        keeps_all = has_all and leaves.batch_sizes.tolist() == [n_rows]
    else:
        keeps_all = n_rows <= KEEP.rows and (has_all or type(data) is InMemory)
    entropy = contraction.views.entropy
    if keeps_all:
        everything = np.arange(n_rows)
        if has_all and data.column_means is None:
            values = kept.points
        else:
            values = data.take(everything)
        mass = None if weights is None else weights.take(everything)
        return Later(
            partial(Summary.of_kept_rows, entropy, contraction.batch_size, values, mass, rows)
        )
    if not settings.family.contracts_updates:
        return Later.known(None)
    return Later.known(_summarize_groups(data, rows, clusters, contraction, levels))


def _summarize_groups(
    data: Data, rows: RowResults, clusters: Clusters, contraction: Contraction, levels: RunLevels
) -> Summary:
    """Return the groups of the first level of a fit that has not kept its rows."""
    first: Any = clusters.first_level.leaves
    if first.values is None:
        values = data.take(first.rows)
    else:
        values = first.values.take(np.arange(len(first.rows)))
    if isinstance(values, np.memmap):  # what grows with the data is on disk
        first = replace(first, means=ScratchStorage().store(first.means))
    empty = Summary.empty(contraction.views.entropy, contraction.batch_size, values[:0])
    return replace(
        empty.fitted(data.rows.n_rows, len(clusters.medoids)),
        groups=RowGroups.of_survivors(first, values, 0),
        row_map=rows.row_map,
        batches=ContractedBatches(first.batch_sizes, first.batch_costs, levels.first_tally),
        labels=clusters.labels.astype(np.int64),
    )


def keep_rows(
    data: Data,
    positive: IntArray | None,
    clusters: Clusters,
    contraction: Contraction,
) -> Kept:
    """Keep all rows if they are few, or a sample; of rows that were read once, leaves only."""
    ending = clusters.ending
    first_level = ending.first_level
    medoids = clusters.medoids
    leaves = first_level.leaves
    n_rows = data.rows.n_rows if positive is None else len(positive)
    rng = generator_at(contraction.views.entropy, Draw.LANDMARKS)
    if ending.known is not None:
        return _keep_known(clusters, rng)
    if first_level.readable is None:
        some = sample_landmarks(clusters.labels, medoids, rng)
        rows = leaves.rows[some]
        points = take_in_order(clusters.values, some)
    else:
        if n_rows <= LANDMARK.landmarks:
            rows = np.arange(n_rows) if positive is None else positive
        else:
            labels = clusters.labels_of_rows
            of_clusters = leaves.rows[medoids]
            rows = sample_landmarks(
                labels, of_clusters, rng, candidates=positive, sizes=clusters.sizes
            )
        some = first_level.find_leaves(rows)
        points = to_host(first_level.readable.take(rows))
    return Kept(
        rows, some, points if data.column_means is None else fill_missing(points, data.column_means)
    )


def _name_cells(cells: Cells | NestedCells, labels: IntArray) -> Cells:
    """Return cells with the label of their leaf.

    Of nested ones the centres, because clusters consist of these.
    """
    if isinstance(cells, Cells):
        return Cells(cells.points, labels[cells.labels])
    first_points = np.unique(cells.owner, return_index=True)[1]
    return Cells(cells.centres.points, labels[first_points], prices=cells.centres.prices)


def _keep_known(clusters: Clusters, rng: np.random.Generator) -> Kept:
    """Sample the rows to keep among those whose values are known."""
    known = clusters.ending.known
    assert known is not None
    leaves = clusters.first_level.find_leaves(known.rows)
    medoids = np.searchsorted(known.rows, clusters.first_level.leaves.rows[clusters.medoids])
    some = sample_landmarks(clusters.labels[leaves], medoids, rng)
    return Kept(known.rows[some], leaves[some], known.values[some])


def find_central_rows(
    data: Data,
    positive: IntArray | None,
    clusters: Clusters,
    kept: Kept,
    means: Any,
    contraction: Contraction,
) -> tuple[IntArray, Any]:
    """Return number and values of each cluster's most central row: of all rows if these can be
    read, or of those kept.

    Rows of weight 0 are not among them.
    """
    readable = clusters.first_level.readable
    space = contraction.space
    if readable is None:
        nearest = find_exemplars(
            ArrayRows(space.points(kept.points)), clusters.labels[kept.leaves], means
        )
        return kept.rows[nearest], kept.points[nearest]
    labels = clusters.labels_of_rows
    if positive is not None:
        left_out = all_others(data.rows.n_rows, positive)
        labels = put_back(take_rows(labels, positive), np.full(len(left_out), -1), left_out)
    is_plain = data.column_means is None and space.embed is None
    if is_plain:
        points = readable
    else:
        points = AsPoints(readable, data.column_means, space)
    rows = None
    if contraction.find_nearest is not None:
        rows = contraction.find_nearest(points, labels, means)
    if rows is None:
        rows = find_exemplars(points, labels, means)
    return rows, data.take(rows)


def _describe_clusters(
    data: Data,
    positive: IntArray | None,
    clusters: Clusters,
    kept: Kept,
    contraction: Contraction,
) -> FinalClusters:
    """Return medoid and exemplar of each cluster, which are numbered from 0."""
    medoids = clusters.medoids
    means = clusters.ending.means[np.searchsorted(clusters.ending.medoids, medoids)]
    exemplars, exemplar_values = find_central_rows(
        data, positive, clusters, kept, means, contraction
    )
    return FinalClusters(
        numbers=np.arange(len(medoids)),
        medoid_indices=clusters.first_level.leaves.rows[medoids].astype(np.int64),
        medoids=to_host(take_in_order(clusters.values, medoids)),
        exemplar_indices=exemplars.astype(np.int64),
        exemplars=exemplar_values,
    )


def _count_aside(choice: Choice | None, clusters: Clusters) -> Choice | None:
    """Return the choice with the numbers of rows in no cluster, and of small clusters beside the
    chosen ones.
    """
    if choice is None or choice.min_share == 0:
        return choice
    n_aside = int(clusters.first_level.leaves.sizes.sum() - clusters.sizes.sum())
    return replace(choice, n_aside=n_aside, n_small=max(len(clusters.sizes) - choice.n_clusters, 0))


def label_leaves(
    state: FitState,
    leaves: Survivors,
    is_noise: NDArray[np.bool_],
    min_cluster_size: float,
    dtype: Any,
) -> tuple[IntArray, IntArray]:
    """Return the final label of each leaf, and the leaf that is the medoid of each label
    (GetFinalLabels).

    Noise, and the leaves of clusters that are too small, have the label -1.
    """
    roots = find_roots(state.fusions.parents, state.fusions.absorbed_at, state.level)
    medoids, label = np.unique(roots, return_inverse=True)
    labels, medoids = number_by_first_row(label.astype(dtype), medoids, leaves.first_rows)
    return hide_small_clusters(
        labels, medoids, np.where(is_noise, -1, leaves.total_mass), min_cluster_size
    )


def _label_left_out(
    data: Data, positive: IntArray, first_level: FirstLevel, landmarks: Landmarks
) -> None:
    """Let each row of weight 0 join the leaf of its nearest landmark, which is the landmark's
    label.
    """
    values = data.rows if first_level.readable is None else first_level.readable
    left_out = all_others(data.rows.n_rows, positive)
    leaves = [
        landmarks.label(fill_missing(values.take(left_out[block]), data.column_means))
        for block in row_blocks(len(left_out))
    ]
    first_level.join(left_out, join_rows(leaves))


@dataclass(frozen=True)
class AsPoints:
    """Rows as points whose Euclidean distances are computed: missing cells are replaced by the
    means of columns.
    """

    rows: Rows
    column_means: NDArray[np.floating[Any]] | None
    space: MetricSpace

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    def take(self, rows: IntArray) -> Any:
        """Return the points of the given rows."""
        return self.space.points(fill_missing(self.rows.take(rows), self.column_means))
