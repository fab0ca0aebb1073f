"""FittedState: all that a fit or an update has found, of which a model has its fitted attributes.

A fit, an update and a file each return a new state, and change none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.levels import LevelRecord
from cohirf.beyond.merge_tree import MergeTree
from cohirf.choice import Choice
from cohirf.degrees.degrees import Degrees
from cohirf.hierarchy.fusion_hierarchy import check_tree
from cohirf.landmarks import Landmarks
from cohirf.rows import ranges
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.rows.later import Later
from cohirf.rows.texts import Texts
from cohirf.summary.numbers import Changes, Step, positions_of
from cohirf.summary.policy import KEEP
from cohirf.summary.rows import Lookups, RowResults
from cohirf.summary.summary import Summary


def _check_merges(tree: MergeTree, results: RowResults) -> None:
    """Raise ValueError unless the leaves of the tree are groups, which merge pairwise."""
    check_tree(tree, tree.medoids, results.absorbed_at)


def _check_same_rows(summary: Summary, n_rows: int) -> None:
    """Raise ValueError unless the summary is of the rows of the model."""
    if summary.n_rows != n_rows:
        raise ValueError(f"has {summary.n_rows} rows, and the model has {n_rows}")


def _check_history(history: tuple[Step, ...], summary: Summary | None) -> None:
    """Raise ValueError unless the steps are of updates that the model had."""
    n_updates = 1  # the fit; later ones need a summary
    if summary is not None:
        n_updates = len(summary.update_rows)
    last = max((step.update for step in history), default=0)
    if last >= n_updates:
        raise ValueError(f"has an update {last}, and the model had {n_updates}")


@dataclass(frozen=True, eq=False)
class FinalClusters:
    """Number, medoid and exemplar of each cluster, sorted by number."""

    numbers: Annotated[IntArray, ranges.numbers(ranges.ANY, below=KEEP.numbers, is_sorted=True)]
    medoid_indices: Annotated[IntArray, ranges.numbers("numbers", below="n_rows")]
    medoids: Annotated[Any, ranges.cells("numbers", "n_features", filled_by="column_means")]
    exemplar_indices: Annotated[IntArray, ranges.numbers("numbers", below="n_rows")]
    exemplars: Annotated[Any, ranges.cells("numbers", "n_features", filled_by="column_means")]

    def renumbered(self, numbers: IntArray) -> FinalClusters:
        """Return the clusters with other numbers, sorted by these."""
        order = np.argsort(numbers)
        return FinalClusters(
            numbers[order],
            self.medoid_indices[order],
            self.medoids[order],
            self.exemplar_indices[order],
            self.exemplars[order],
        )


@dataclass(frozen=True, eq=False)
class NodeReach:
    """How far new nodes of a graph may be from those of a fit around DBSCAN or HDBSCAN."""

    # the least distance by which a node is reached: infinite if it reaches no others
    core: Annotated[FloatArray, ranges.distances("n_rows")]
    # the largest distance by which a node reaches a cluster and belongs to it
    limits: Annotated[FloatArray, ranges.distances("cluster_numbers")]
    # of the neighbour whose distance is the least by which a new node reaches others; or 0
    rank: Annotated[int, ranges.counts()]


@dataclass(frozen=True, eq=False)
class FittedState:
    """All that a model knows of its rows and clusters."""

    clusters: FinalClusters
    choice: Choice | None  # how number and merge of the clusters were chosen
    rows: RowResults  # results of groups of rows, and the group of each row
    # merges of these groups, up to a single cluster
    tree: Annotated[Later[MergeTree], ranges.Holds(_check_merges, "rows")]
    # means of columns, by which missing cells are replaced; None if no cell may be missing
    column_means: Annotated[NDArray[np.floating[Any]] | None, ranges.measures("n_features")]
    landmarks: Landmarks  # points that ``predict`` takes labels from
    landmark_rows: Annotated[
        IntArray, ranges.numbers("landmarks.labels", below="n_rows", is_sorted=True)
    ]
    batch_size: Annotated[int | None, ranges.counts(least=1)]
    n_levels: Annotated[int, ranges.counts()]  # levels that were run
    records: list[LevelRecord]  # of each level
    feature_agreement: Annotated[FloatArray, ranges.shares("n_features")]
    # what updates need; None if the model cannot be updated
    summary: Annotated[
        Later[Summary | None], ranges.OPTIONAL, ranges.Holds(_check_same_rows, "n_rows")
    ]
    is_weighted: bool = False  # whether rows have other weights than 1
    changes: Changes | None = None  # what the last update has changed
    history: Annotated[tuple[Step, ...], ranges.Holds(_check_history, "summary")] = ()
    names: dict[int, str] = field(default_factory=dict)  # of clusters, by their numbers
    is_linked: bool = False  # whether pairs of rows had links
    reach: NodeReach | None = None  # of a graph, if a method found its clusters by density
    # of a graph whose nodes have names
    node_names: Annotated[Texts | None, ranges.one_for_each("n_rows")] = None

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return self.rows.n_rows

    @property
    def n_clusters(self) -> int:
        """Number of clusters, without noise."""
        return len(self.clusters.numbers)

    @property
    def cluster_numbers(self) -> IntArray:
        """Sorted numbers of the clusters."""
        return self.clusters.numbers

    @property
    def n_features(self) -> int:
        """Number of features of the rows."""
        return len(self.feature_agreement)

    @property
    def may_miss(self) -> bool:
        """Whether cells of new rows may be missing: there is something to replace them by."""
        return self.column_means is not None

    @property
    def cluster_sizes(self) -> IntArray:
        """Number of rows of each cluster, without rows of weight 0."""
        place = positions_of(self.rows.labels, self.cluster_numbers)
        clustered = place >= 0
        sizes = self.rows.sizes[clustered]
        return np.bincount(place[clustered], weights=sizes, minlength=self.n_clusters).astype(
            np.int64
        )

    @cached_property
    def labels(self) -> Any:
        """Cluster of each row, where the rows are."""
        return self.rows.look_up_labels()

    @cached_property
    def lookups(self) -> Lookups:
        """Parent and stability of each row, where the rows are, and the hierarchy."""
        return self.rows.look_up(self.tree.value)

    def count_rows(self) -> IntArray:
        """Return the number of rows that are noise, and then of each cluster; rows of weight 0
        count.
        """
        summary = self.summary.value
        if summary is None:
            labels = self.rows.labels
            sizes = self.rows.row_map.count(self.rows.n_groups)
        else:
            labels = summary.labels
            sizes = summary.sizes
        place = positions_of(labels, self.cluster_numbers) + 1
        return np.bincount(place, weights=sizes, minlength=self.n_clusters + 1).astype(np.int64)

    @cached_property
    def degrees(self) -> Degrees:
        """What degrees of membership and outlier scores are learned from."""
        n_noise, *masses = self.count_rows().tolist()
        return Degrees(
            self.landmarks.in_space,
            self.cluster_numbers,
            n_noise,
            np.array(masses, dtype=np.float64),
        )

    @property
    def n_kept(self) -> int:
        """Number of rows whose values the model has kept."""
        return len(self.known_rows.rows)

    @property
    def known_rows(self) -> KnownValues:
        """The landmarks whose values are those of their rows, and not of stand-ins.

        The others stand for groups of the model, which an update chooses landmarks from anyway.
        """
        known = KnownValues(self.landmark_rows, self.landmarks.points)
        if len(self.unknown_rows) == 0:
            return known
        return known.take(~np.isin(known.rows, self.unknown_rows))

    @property
    def unknown_rows(self) -> IntArray:
        """Numbers of rows for whose values those of a mean stand."""
        summary = self.summary.value
        if summary is None:
            return np.arange(0)
        return summary.unknown_rows

    def refuse_links(self) -> None:
        """Raise if rows have links: an update does not know them."""
        if self.is_linked:
            raise ValueError(
                "A model with links cannot be updated: it keeps the clusters of the links, not the "
                "links. Fit all rows again, with all links, or label new ones by predict."
            )

    def attributes(self) -> dict[str, Any]:
        """Return the fitted attributes of a model, except those that are looked up for each row."""
        return {
            "n_clusters_": self.n_clusters,
            "cluster_numbers_": self.clusters.numbers,
            "medoid_indices_": self.clusters.medoid_indices,
            "medoids_": self.clusters.medoids,
            "exemplar_indices_": self.clusters.exemplar_indices,
            "exemplars_": self.clusters.exemplars,
            "landmark_indices_": self.landmark_rows,
            "landmarks_": self.landmarks.points,
            "choice_": self.choice,
            "n_iter_": self.n_levels,
            "batch_size_": self.batch_size,
            "diagnostics_": self.records,
            "feature_agreement_": self.feature_agreement,
            "changes_": self.changes,
            "history_": self.history,
            "node_names_": self.node_names,
        }

    def gathered(self) -> FittedState:
        """Return the state with what belongs to each row in this process."""
        rows = self.rows.gathered()
        summary = self.summary
        known = summary.value
        if known is not None and known.row_map.elsewhere:
            summary = Later.known(replace(known, row_map=rows.row_map))
        return replace(self, rows=rows, summary=summary)

    def in_this_process(self) -> FittedState:
        """Return the state with the results of a device loaded; those on Dask stay there."""
        return self.gathered() if self.rows.row_map.loads_unasked else self

    def with_names(self, names: Mapping[int, str]) -> FittedState:
        """Return the state with these names of clusters and no others.

        Raises
        ------
        TypeError
            If they are no mapping.
        ValueError
            If a number is none of a cluster, or a name no text.
        """
        if not isinstance(names, Mapping):
            raise TypeError(
                f"names_={names!r} is not valid: give a dict of names by the number of the cluster."
            )
        known = set(self.cluster_numbers.tolist()).union(*(step.numbers for step in self.history))
        strange = [number for number in names if number not in known]
        if strange:
            raise ValueError(
                f"names_ has a name for {strange[0]!r}, which is not the number of a cluster: give "
                "names for numbers in cluster_numbers_."
            )
        unnamed = [
            number for number, name in names.items() if not isinstance(name, str) or not name
        ]
        if unnamed:
            raise ValueError(
                f"names_ has {names[unnamed[0]]!r} as the name of cluster {unnamed[0]}: give a "
                "text, or leave the cluster out."
            )
        # keys may be integers of NumPy
        now = {int(number): str(name) for number, name in names.items()}
        changes = self.changes
        if changes is not None:
            changes = changes.named(now, changes.renamed)
        return replace(self, names=now, changes=changes)

    def named(self, names: Mapping[int, str]) -> FittedState:
        """Return the state with names of some clusters; others keep theirs.

        What the last update has changed, and the last step of the history, say which were renamed.
        """
        pairs = {number: (self.names.get(number, name), name) for number, name in names.items()}
        renamed = {number: (old, new) for number, (old, new) in pairs.items() if old != new}
        now = {**self.names, **names}
        if self.changes is None:
            return replace(self, names=now)
        return replace(
            self,
            names=now,
            changes=self.changes.named(now, renamed),
            history=(*self.history[:-1], self.history[-1].with_renamed(renamed)),
        )


@dataclass(frozen=True, eq=False)
class KnownValues:
    """Rows of which a model knows the values."""

    rows: IntArray  # row numbers
    points: Any  # values; missing cells are filled

    def take(self, some: IntArray | NDArray[np.bool_]) -> KnownValues:
        """Return some of them."""
        return KnownValues(self.rows[some], self.points[some])
