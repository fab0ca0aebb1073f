"""From the last level of a fit to its fitted attributes: labels, medoids, landmarks, hierarchy."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import join_rows, take_rows, to_host
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.grouping import IntArray, index_dtype, row_blocks
from cohirf.algorithm.left_out import all_others, put_back
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.metric_spaces import EUCLIDEAN, MetricSpace
from cohirf.algorithm.parents import find_roots, get_final_labels, hide_small_clusters, number_by_first_row
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.runs import Survivors
from cohirf.algorithm.storage import ArrayRows, Rows, take_in_order
from cohirf.choice import Choice
from cohirf.data import Data
from cohirf.data.data import DataWeights
from cohirf.data.first_level import FirstLevel
from cohirf.fitting.ending import Ending, smallest_size
from cohirf.fitting.exemplars import RowsAsPoints, find_exemplars
from cohirf.neighbours.landmarks import Cells, Landmarks, NestedCells, sample_landmarks
from cohirf.summary.model import Model
from cohirf.summary.row_map import RowMap
from cohirf.summary.row_results import RowResults


@dataclass(frozen=True)
class Clusters:
    """The final clusters.

    Attributes
    ----------
    first_level : FirstLevel
        Knows the leaf of each row.
    values : Rows
        Values of each leaf.
    labels : array of int
        Label of each leaf, or -1.
    medoids : array of int
        The leaf that is the medoid of each cluster.
    """

    first_level: FirstLevel
    values: Rows
    labels: IntArray
    medoids: IntArray

    @classmethod
    def of(cls, model: Model, data: Data, first_level: FirstLevel, ending: Ending) -> Clusters:
        """Return the clusters that are large enough, numbered by their first row."""
        leaves = first_level.leaves
        min_size, dtype = smallest_size(model, leaves), index_dtype(data.rows.n_rows)
        labels, medoids = label_leaves(ending.state, leaves, ending.is_noise, min_size, dtype)
        return cls(first_level, ending.state.active.values, labels, medoids)

    @cached_property
    def labels_of_rows(self) -> Any:
        """Label of each row of the data, or -1."""
        return self.first_level.label(self.labels)

    @property
    def sizes(self) -> IntArray:
        """Number of rows of each cluster, without rows of weight 0."""
        clustered = self.labels >= 0
        sizes = self.first_level.leaves.sizes[clustered]
        return np.bincount(self.labels[clustered], weights=sizes, minlength=len(self.medoids)).astype(np.int64)


@dataclass(frozen=True)
class KeptRows:
    """The rows that a fit keeps for ``predict``: row number, leaf and values of each."""

    rows: IntArray
    leaves: IntArray
    points: Any


def collect_results(
    model: Model,
    data: Data,
    weights: DataWeights | None,
    ending: Ending,
    contraction: Contraction,
) -> tuple[dict[str, Any], Clusters]:
    """Return the fitted attributes that follow from the last level, and the final clusters."""
    positive, first_level, cells = None if weights is None else weights.positive, ending.first_level, ending.cells
    clusters = Clusters.of(model, data, first_level, ending)
    rng = generator_at(contraction.views.entropy, Draw.LANDMARKS)
    kept = keep_rows(data, positive, clusters, rng) if ending.known is None else keep_known(ending, clusters, rng)
    if positive is not None and cells is None:
        _join_left_out(data, positive, first_level, Landmarks(kept.points, kept.leaves, metric=contraction.space.name))
        clusters = Clusters.of(model, data, first_level, ending)  # a row that joined can be the first of its cluster
    attributes = {
        **describe_clusters(data, positive, clusters, ending, kept, contraction.space),
        "choice_": _count_aside(ending.choice, clusters),
        "batch_size_": contraction.batch_size,
        "_landmarks": Landmarks(
            kept.points, clusters.labels[kept.leaves], _label_cells(cells, clusters.labels), contraction.space.name
        ),
        "_landmark_rows": kept.rows,
        **_look_up_rows(data, clusters, ending),
    }
    return attributes, clusters


def _count_aside(choice: Choice | None, clusters: Clusters) -> Choice | None:
    """Return the choice with the number of rows that are in no cluster, if the number of clusters was chosen."""
    if choice is None or choice.min_share == 0:
        return choice
    return replace(choice, n_aside=int(clusters.first_level.leaves.sizes.sum() - clusters.sizes.sum()))


def keep_rows(data: Data, positive: IntArray | None, clusters: Clusters, rng: np.random.Generator) -> KeptRows:
    """Sample the rows to keep: of rows that were read once, leaves only."""
    first_level, medoids = clusters.first_level, clusters.medoids
    leaves = first_level.leaves
    if first_level.readable is None:
        some = sample_landmarks(clusters.labels, medoids, rng)
        rows, points = leaves.rows[some], take_in_order(clusters.values, some)
    else:
        rows = sample_landmarks(clusters.labels_of_rows, leaves.rows[medoids], rng, candidates=positive)
        some, points = first_level.find_leaves(rows), to_host(first_level.readable.take(rows))
    return KeptRows(rows, some, fill_missing(points, data.column_means))


def _label_cells(cells: Cells | NestedCells | None, labels: IntArray) -> Cells | None:
    """Return cells with the label of their leaf; of nested ones the centres, because clusters consist of these."""
    if cells is None:
        return None
    if isinstance(cells, Cells):
        return Cells(cells.points, labels[cells.labels])
    first_points = np.unique(cells.owner, return_index=True)[1]
    return Cells(cells.centres.points, labels[first_points])


def keep_known(ending: Ending, clusters: Clusters, rng: np.random.Generator) -> KeptRows:
    """Sample the rows to keep among those whose values are known."""
    known, cells = ending.known, ending.cells
    assert known is not None
    assert cells is not None
    leaves = cells.label(known.values)
    medoids = np.searchsorted(known.rows, clusters.first_level.leaves.rows[clusters.medoids])
    some = sample_landmarks(clusters.labels[leaves], medoids, rng)
    return KeptRows(known.rows[some], leaves[some], known.values[some])


def find_central_rows(
    data: Data, positive: IntArray | None, clusters: Clusters, kept: KeptRows, means: Any, space: MetricSpace
) -> tuple[IntArray, Any]:
    """Return number and values of each cluster's most central row: of all rows if these can be read, or of those kept.

    Rows of weight 0 are not among them.
    """
    readable = clusters.first_level.readable
    if readable is None:
        nearest = find_exemplars(ArrayRows(space.points(kept.points)), clusters.labels[kept.leaves], means)
        return kept.rows[nearest], kept.points[nearest]
    labels = clusters.labels_of_rows
    if positive is not None:
        left_out = all_others(data.rows.n_rows, positive)
        labels = put_back(take_rows(labels, positive), np.full(len(left_out), -1), left_out)
    is_plain = data.column_means is None and space.embed is None
    points = readable if is_plain else RowsAsPoints(readable, data.column_means, space)
    rows = find_exemplars(points, labels, means)
    return rows, data.take(rows)


def describe_clusters(
    data: Data,
    positive: IntArray | None,
    clusters: Clusters,
    ending: Ending,
    kept: KeptRows,
    space: MetricSpace = EUCLIDEAN,
) -> dict[str, Any]:
    """Return the attributes that have an entry for each cluster, and the number of clusters."""
    medoids = clusters.medoids
    means = ending.means[np.searchsorted(ending.medoids, medoids)]
    exemplars, exemplar_values = find_central_rows(data, positive, clusters, kept, means, space)
    return {
        "n_clusters_": len(medoids),
        "cluster_numbers_": np.arange(len(medoids)),
        "exemplar_indices_": exemplars.astype(np.int64),
        "exemplars_": exemplar_values,
        "medoid_indices_": clusters.first_level.leaves.rows[medoids].astype(np.int64),
        "medoids_": to_host(take_in_order(clusters.values, medoids)),
    }


def _look_up_rows(data: Data, clusters: Clusters, ending: Ending) -> dict[str, Any]:
    """Return what the attributes with an entry for each row are looked up in, where the rows are."""
    first_level = clusters.first_level
    part, leaves = first_level.part.mapped(data.put_vector), first_level.leaves
    rows = RowResults.of(RowMap((part,)), leaves.rows, clusters.labels, leaves.sizes, ending.state.fusions, ending.tree)
    if not part.is_here:  # nothing is computed until it is asked for, or on a device
        return {"_rows": rows, "labels_": rows.look_up_labels(), **rows.look_up()}
    if "labels_of_rows" in vars(clusters):  # they were needed already
        return {"_rows": rows, "labels_": data.put_vector(clusters.labels_of_rows)}
    return {"_rows": rows}


def label_leaves(
    state: FitState, leaves: Survivors, is_noise: NDArray[np.bool_], min_cluster_size: float, dtype: Any
) -> tuple[IntArray, IntArray]:
    """Return the final label of each leaf, and the leaf that is the medoid of each label (GetFinalLabels).

    Noise, and the leaves of clusters that are too small, have the label -1.
    """
    roots = find_roots(state.fusions.parents, state.fusions.absorbed_at, state.level).astype(dtype)
    labels, medoids = number_by_first_row(*get_final_labels(roots), leaves.first_rows)
    sizes: NDArray[np.float64] = leaves.sizes.astype(np.float64) if leaves.weights is None else leaves.weights
    return hide_small_clusters(labels, medoids, np.where(is_noise, -1, sizes), min_cluster_size)


def _join_left_out(data: Data, positive: IntArray, first_level: FirstLevel, landmarks: Landmarks) -> None:
    """Let each row of weight 0 join the leaf of its nearest landmark, which is the landmark's label."""
    values = data.rows if first_level.readable is None else first_level.readable
    left_out = all_others(data.rows.n_rows, positive)
    leaves = [
        landmarks.label(fill_missing(values.take(left_out[block]), data.column_means))
        for block in row_blocks(len(left_out))
    ]
    first_level.join(left_out, join_rows(leaves))
