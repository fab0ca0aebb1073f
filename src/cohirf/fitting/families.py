"""Families of methods, and what a fit does for each: takes k, finds k, DBSCAN, HDBSCAN, published.

A fit asks its family how many clusters to seek, how many the base method finds inside the levels,
how batches of neighbours are made, when the levels end, and what follows them. As published, the
base method finds at every level what the user wrote, and the levels run until nothing fuses. For
the other families the levels only prepare groups of rows, which are then merged by their means and
masses. So a method that takes the number of clusters finds more inside the levels wherever that
helps, and the levels end as soon as there are few enough groups. The numbers were chosen on
the 14 data sets of ``benchmarks/quality/answers.py``.

``Family`` has what most families do, and each class below it what is special. To add a family,
write its class here, and name it in ``choose_family``, the only place that asks which it is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from sklearn.cluster import DBSCAN, BisectingKMeans, KMeans, MiniBatchKMeans

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.levels import FitState
from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.beyond.merges import DEFAULT
from cohirf.beyond.policy import MAJORITY
from cohirf.clusterers.quick_start import QuickStartKMeans
from cohirf.clusterers.torch_k_means import TorchKMeans
from cohirf.fitting.locality import (
    LocalData,
    LocalPlan,
    LocalSize,
    count_dense,
    count_spanned,
    find_density,
    find_spanning,
    finds_number_itself,
    plan_by_reach,
    plan_density,
    plan_spanning,
    refuse_obstacle,
)
from cohirf.fitting.policy import GROUP, QUICK
from cohirf.fitting.quick_k_means import QuickKMeans
from cohirf.planning.plan import Room
from cohirf.spanning.settings import is_hdbscan
from cohirf.summary.policy import KEEP

if TYPE_CHECKING:
    from cohirf.fitting.end_of_levels import EndOfLevels
    from cohirf.fitting.ending import Ending


@dataclass(frozen=True)
class Family:
    """What a fit does with the base methods of one kind."""

    # the number of clusters; None if it is not chosen yet, or found by the base method
    n_clusters: int | None = None
    is_chosen: bool = False  # whether the number is chosen, and not given
    # whether the user asked for the number, so that fewer are worth a warning
    is_required: bool = False

    # ---- the number of clusters

    @property
    def n_sought(self) -> int | None:
        """The number of clusters to seek, also if it is to be chosen.

        None if the base method finds it.
        """
        if self.n_clusters is None and self.is_chosen:
            return GROUP.unknown // GROUP.finer
        return self.n_clusters

    @property
    def chooses_first(self) -> bool:
        """Whether the number is chosen before the levels, which are then those of this number."""
        return False

    def aiming_at(self, n_clusters: int) -> Family:
        """Return the family after the number of clusters was chosen."""
        return replace(self, n_clusters=n_clusters)

    # ---- inside a level

    @property
    def takes_k(self) -> bool:
        """Whether all base methods take the number of clusters."""
        return False

    @property
    def bounds_groups(self) -> bool:
        """Whether a batch may leave fewer groups than its views make, if these are very many."""
        return False

    # ---- updates

    @property
    def contracts_updates(self) -> bool:
        """Whether new rows are contracted in blocks. Otherwise an update is a fit to all rows: the
        clusters depend on their density.
        """
        return False

    def keeps_rows(self, n_rows: int, block_size: int) -> bool:
        """Return whether a model of ``n_rows`` keeps all of them, so that an update is a fit to
        all.
        """
        return n_rows <= KEEP.rows

    # ---- the base method

    def default_method(self) -> Any:
        """Return the base method of a model without one."""
        return QuickKMeans()

    def inner_method(
        self, method: BaseMethod, *, several_batches: bool, one_view: bool
    ) -> BaseMethod:
        """Return the base method, which finds as many clusters as it should inside the levels."""
        wanted = self.n_sought
        if wanted is None or method.number_name is None:
            return method
        if self.n_clusters is None:
            return method.telling(GROUP.unknown, asked=wanted)
        # K-Means has the criterion of the tree: together they find better clusters than either, and
        # its finer groups need not be the best ones
        limits = {"max_iter": QUICK.iterations} if is_k_means(method) else {}
        if several_batches:
            finer = GROUP.finer_in_one_view if one_view else GROUP.finer
            if isinstance(method.prototype, QuickStartKMeans):
                limits = QUICK.of_several_batches
            return method.telling(finer * wanted, asked=wanted, **limits)
        # in one batch, other methods seek what they are to find
        if not is_k_means(method):
            return method.telling(wanted, asked=wanted)
        return method.telling(_count_inner(wanted), asked=wanted, **limits)

    def count_asked(self, method: BaseMethod) -> int | None:
        """Return how many clusters a base method is asked for; None if nobody has asked."""
        if self.is_chosen:
            return None
        return method.n_clusters if method.asked is None else method.asked

    # ---- batches of neighbours

    def are_local(self, method: Any) -> bool:
        """Return whether several batches are neighbouring rows, if the user leaves it open."""
        return False

    def plan_local(self, rows: LocalData) -> LocalPlan:
        """Return how local batches are made and labelled.

        Raise if they would cut clusters where they meet.
        """
        return plan_by_reach(rows)

    def size_local(self, rows: LocalData, room: Room, *, must_fit: bool) -> LocalSize:
        """Return what is known of the size of local batches.

        They ``must_fit`` into the room, or only should.
        """
        return LocalSize()

    # ---- the end of the levels

    @property
    def stops_when_thin(self) -> bool:
        """Whether the levels end if random batches are too thin for the base method."""
        return True

    def is_reached(self, state: FitState) -> bool:
        """Return whether the levels end: a further one would fuse nothing, or only lose what the
        method has found.
        """
        all_together = state.record.n_batches == 1 and state.record.rows_held_aside == 0
        return all_together or state.stalled

    # ---- what follows them

    @property
    def labels_noise(self) -> bool:
        """Whether rows that the base method calls noise in the end are in no cluster."""
        return True

    @property
    def keeps_noise(self) -> bool:
        """Whether clusters of one row are wanted, because the base method calls rows noise."""
        return False

    @property
    def is_found(self) -> bool:
        """Whether the base method finds the number of clusters, and its clusters are the result."""
        return self.n_sought is None

    @property
    def clusters_last(self) -> bool:
        """Whether the clusters go on in an update, whatever the levels find."""
        return self.n_sought is not None

    @property
    def n_cells(self) -> int:
        """Number of cells, in one batch and in several."""
        return min(GROUP.linked_per_cluster * (self.n_sought or 1), MAX_LINKED)

    def max_linked(self, state: FitState) -> int:
        """Return how many groups the tree has, before the lighter ones join them.

        In one batch, the heaviest are whole clusters of the base method on which the views agree.
        Groups of several batches are all of similar mass, and all are needed.
        """
        if self.n_sought is None or state.record.n_batches > 1:
            return MAX_LINKED
        return self.n_cells

    def wanted_merge(self, merge: str) -> str:
        """Return the merge that the fit ends with, given the parameter: "auto" if it is chosen.

        The parameter has an effect on methods that take the number of clusters alone. The others,
        such as DBSCAN, make the clusters themselves; if a number is given, these merge as by
        default.
        """
        return DEFAULT

    def least_size(self, min_cluster_size: int) -> float:
        """Return the smallest weight of a cluster, given the smallest number of its rows.

        With 1, clusters have any weight: weights of rows may add up to less than 1.
        """
        return 0.0 if min_cluster_size == 1 else float(min_cluster_size)

    def is_missed(self, n_found: int) -> bool:
        """Return whether ``n_found`` clusters are fewer than the user asked for."""
        return self.is_required and self.n_clusters is not None and n_found < self.n_clusters

    def end(self, levels: EndOfLevels) -> Ending:
        """End a fit after its levels."""
        if self.n_sought is None:
            return levels.keep_groups()
        choice = levels.choose_number()
        if levels.found_nothing:
            return levels.keep_groups()
        return levels.merge_groups(choice)


@dataclass(frozen=True)
class TakesNumber(Family):
    """Methods that take the number of clusters, such as K-Means.

    The number is given, or chosen before the levels. Clusters are compact or connected, whichever
    fits the rows better.
    """

    @property
    def chooses_first(self) -> bool:
        """Whether the number is chosen before the levels, which are then those of this number."""
        return self.is_chosen

    @property
    def takes_k(self) -> bool:
        """Whether all base methods take the number of clusters."""
        return True

    @property
    def contracts_updates(self) -> bool:
        """Whether new rows are contracted in blocks."""
        return True

    def keeps_rows(self, n_rows: int, block_size: int) -> bool:
        """Return whether a model of ``n_rows`` keeps all of them: those of one block."""
        return count_batches(n_rows, block_size) == 1

    @property
    def bounds_groups(self) -> bool:
        """Whether a batch may leave fewer groups than its views make: enough for all clusters."""
        return self.n_sought is not None and self.n_sought <= MAJORITY.n_cells

    def is_reached(self, state: FitState) -> bool:
        """Return whether the levels end: there are few enough groups to merge them."""
        return state.n_active <= GROUP.most or super().is_reached(state)

    def wanted_merge(self, merge: str) -> str:
        """Return the merge that the fit ends with, given the parameter: "auto" if it is chosen."""
        return merge

    def end(self, levels: EndOfLevels) -> Ending:
        """End with cells of K-Means, which divides space, and with groups of other methods."""
        choice = levels.choose_number()
        if levels.found_nothing:
            return levels.keep_groups()
        if levels.limits is not None:
            return levels.end_within_limits(choice)
        if levels.can_share_out and is_k_means(levels.method):
            return levels.end_in_cells(choice)
        return levels.end_in_groups(choice)


@dataclass(frozen=True)
class FindsNumber(Family):
    """Methods that find the number of clusters, such as OPTICS or mean shift.

    If a number is wanted all the same, their clusters are merged.
    """

    def are_local(self, method: Any) -> bool:
        """Return whether several batches are neighbouring rows, which have the density of all."""
        return finds_number_itself(method)


@dataclass(frozen=True)
class FindsDensity(FindsNumber):
    """DBSCAN: in local batches, its labels are computed from overlapping batches."""

    def plan_local(self, rows: LocalData) -> LocalPlan:
        """Return how local batches are made and labelled."""
        density = find_density(rows)
        if density is None:
            return super().plan_local(rows)
        return plan_density(rows, density)

    def size_local(self, rows: LocalData, room: Room, *, must_fit: bool) -> LocalSize:
        """Return what is known of the size of local batches: all of it, if kernels label them."""
        density = find_density(rows)
        if density is None:
            return LocalSize()
        if not density.has_kernels:
            return LocalSize(may_grow=True)
        return LocalSize(True, count_dense(rows.data, room.memory_limit, must_fit=must_fit))


@dataclass(frozen=True)
class SpansTrees(FindsNumber):
    """HDBSCAN: in local batches, its labels follow from one spanning tree of all rows."""

    def plan_local(self, rows: LocalData) -> LocalPlan:
        """Return how local batches are made and labelled."""
        spanned = find_spanning(rows)
        if spanned is not None:
            return plan_spanning(rows, spanned)
        plan = super().plan_local(rows)
        refuse_obstacle(rows)
        return plan

    def size_local(self, rows: LocalData, room: Room, *, must_fit: bool) -> LocalSize:
        """Return what is known of the size of local batches: all of it, if trees label them."""
        spanned = find_spanning(rows)
        if spanned is None:
            return LocalSize()
        n_rows = count_spanned(rows.data, spanned, room if must_fit else None)
        return LocalSize(True, min(rows.n_rows, n_rows))


@dataclass(frozen=True)
class AsPublished(Family):
    """The paper's algorithm: the clusters of the last level are the result, however many.

    Batches, which the paper leaves open, are those of the ``method`` family.
    """

    method: Family = field(default_factory=FindsNumber)

    @property
    def takes_k(self) -> bool:
        """Whether all base methods take the number of clusters."""
        return self.method.takes_k

    @property
    def contracts_updates(self) -> bool:
        """Whether new rows are contracted in blocks."""
        return self.method.contracts_updates

    def keeps_rows(self, n_rows: int, block_size: int) -> bool:
        """Return whether a model of ``n_rows`` keeps all of them."""
        return self.method.keeps_rows(n_rows, block_size)

    def default_method(self) -> Any:
        """Return the base method of a model without one."""
        return KMeans()

    def inner_method(
        self, method: BaseMethod, *, several_batches: bool, one_view: bool
    ) -> BaseMethod:
        """Return the base method as the user wrote it."""
        return method

    def are_local(self, method: Any) -> bool:
        """Return whether several batches are neighbouring rows, if the user leaves it open."""
        return self.method.are_local(method)

    def plan_local(self, rows: LocalData) -> LocalPlan:
        """Return how local batches are made and labelled."""
        return self.method.plan_local(rows)

    def size_local(self, rows: LocalData, room: Room, *, must_fit: bool) -> LocalSize:
        """Return what is known of the size of local batches."""
        return self.method.size_local(rows, room, must_fit=must_fit)

    @property
    def stops_when_thin(self) -> bool:
        """Whether the levels end if random batches are too thin: the paper has no such rule."""
        return False

    def is_reached(self, state: FitState) -> bool:
        """Return whether the levels end: nothing fuses any more."""
        return state.converged or state.stalled

    @property
    def labels_noise(self) -> bool:
        """Whether rows that the base method calls noise in the end are in no cluster."""
        return False

    @property
    def keeps_noise(self) -> bool:
        """Whether clusters of one row are wanted, because the base method calls rows noise."""
        return not self.takes_k

    @property
    def is_found(self) -> bool:
        """Whether the base method finds the clusters: the levels do."""
        return False

    def least_size(self, min_cluster_size: int) -> float:
        """Return the smallest weight of a cluster."""
        return float(min_cluster_size)


def choose_family(n_clusters: int | str | None, methods: Sequence[BaseMethod | None]) -> Family:
    """Return the family of a model with the given parameter and base methods.

    A method is None if it is the default.
    """
    kind = _kind_of([method for method in methods if method is not None])
    if n_clusters == "levels":
        return AsPublished(method=kind())
    if n_clusters == "auto" or (n_clusters is None and all(method is None for method in methods)):
        return kind(is_chosen=True)
    if n_clusters is not None:
        return kind(n_clusters=int(n_clusters), is_required=True)
    n_told = _find_told(methods)
    return kind(n_clusters=n_told if kind is TakesNumber else None)


def _kind_of(methods: Sequence[BaseMethod]) -> type[Family]:
    """Return the class of the given base methods; one of DBSCAN or HDBSCAN if all are that."""
    if all(method.number_name is not None for method in methods):
        return TakesNumber
    if all(isinstance(method.prototype, DBSCAN) for method in methods):
        return FindsDensity
    if all(is_hdbscan(method.prototype) for method in methods):
        return SpansTrees
    return FindsNumber


def _find_told(methods: Sequence[BaseMethod | None]) -> int | None:
    """Return the number of clusters that all methods are to find; raise if it differs."""
    told = {method.n_told for method in methods if method is not None} - {None}
    if len(told) > 1:
        raise ValueError(
            f"Views are told different numbers of clusters, {told}: set n_clusters of CoHiRF."
        )
    return told.pop() if told else None


def _count_inner(wanted: int) -> int:
    """Return how many clusters K-Means is to find in one batch, if ``wanted`` are wanted."""
    return min(GROUP.finer * wanted, max(GROUP.many_inner, 2 * wanted))


def is_k_means(method: BaseMethod) -> bool:
    """Return whether a base method is a kind of K-Means: it then has the criterion by which
    clusters merge.
    """
    return isinstance(
        method.clusterer, QuickKMeans | KMeans | MiniBatchKMeans | BisectingKMeans | TorchKMeans
    )
