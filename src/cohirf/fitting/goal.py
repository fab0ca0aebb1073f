"""How many clusters a fit is to end with, and what follows for its levels: what the base method is told, when to stop.

As published, the base method is told at every level what the user wrote, and the levels run until nothing fuses.
Otherwise the levels only prepare groups of rows, which are then merged by their means and masses. So a method that is
told how many clusters to find is told more inside the levels wherever that helps, and the levels end as soon as there
are few enough groups. The numbers were chosen on the 14 data sets of ``benchmarks/quality/answers.py``.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.rare_groups import N_CELLS
from cohirf.algorithm.ward import MAX_LINKED
from cohirf.clusterers.grid_dbscan import computed
from cohirf.clusterers.torch_k_means import TorchKMeans
from cohirf.fitting.quick_k_means import ITERATIONS, QuickKMeans
from cohirf.summary.model import Model

FINER = 4  # clusters that K-Means is told for each that is wanted; other methods in several batches, too
# With many clusters, K-Means is told fewer of them for each: two, as soon as these are so many. They are small then.
MANY_INNER = 400
LINKED_PER_CLUSTER = 20  # groups in the tree of one batch for each cluster that is wanted; the others join these
MAX_GROUPS = 4 * MAX_LINKED  # of more groups, another level is contracted; of fewer, light ones join heavy ones
FINER_IN_ONE_VIEW = 8  # without a consensus of several views, groups are coarser
AUTO_CLUSTERS = 60  # what the method is told if the number of clusters is chosen after the levels


@dataclass(frozen=True)
class Goal:
    """What a fit ends with.

    Attributes
    ----------
    n_clusters : int or None
        The number of clusters; None if it is not chosen yet, or found by the base method.
    is_chosen : bool
        Whether the number is chosen, and not given.
    as_published : bool
        Whether the clusters of the last level are the result, however many there are.
    is_required : bool
        Whether the user asked for the number, so that fewer are worth a warning.
    is_told : bool
        Whether the base method is told how many clusters to find.
    """

    n_clusters: int | None = None
    is_chosen: bool = False
    as_published: bool = False
    is_required: bool = False
    is_told: bool = True

    @classmethod
    def of(cls, model: Model, n_chosen: int | None = None) -> Goal:
        """Return the goal of a model, whose number of clusters may have been chosen."""
        if model.n_clusters == "levels":
            return cls(as_published=True)
        methods = [BaseMethod.of(estimator) for estimator in validation.list_methods(model) if estimator is not None]
        is_told = all(method.told is not None for method in methods)
        if model.n_clusters == "auto" or (model.n_clusters is None and not methods):
            return cls(n_clusters=n_chosen, is_chosen=True, is_told=is_told)
        if model.n_clusters is not None:
            return cls(n_clusters=int(model.n_clusters), is_required=True, is_told=is_told)
        told = {method.n_told for method in methods} - {None}
        if len(told) > 1:
            raise ValueError(f"Views are told different numbers of clusters, {told}: set n_clusters of CoHiRF.")
        return cls(n_clusters=told.pop() if told and is_told else None, is_told=is_told)

    @property
    def n_sought(self) -> int | None:
        """The number of clusters to seek, also if it is to be chosen; None if the base method finds it."""
        return AUTO_CLUSTERS // FINER if self.n_clusters is None and self.is_chosen else self.n_clusters

    @property
    def bounds_groups(self) -> bool:
        """Whether a batch may leave fewer groups than views make, if these are very many: enough for all clusters."""
        return not self.as_published and self.is_told and self.n_sought is not None and self.n_sought <= N_CELLS

    def method(self, estimator: Any, *, several_batches: bool, one_view: bool) -> BaseMethod:
        """Return the base method, told as many clusters as it should find inside the levels."""
        wanted = self.n_sought
        if estimator is None:
            estimator = KMeans() if self.as_published else QuickKMeans()
        method = BaseMethod.of(computed(estimator))
        if self.as_published or wanted is None or method.told is None:
            return method
        if self.n_clusters is None:
            return method.telling(AUTO_CLUSTERS, asked=wanted)
        if several_batches:
            return method.telling((FINER_IN_ONE_VIEW if one_view else FINER) * wanted, asked=wanted)
        # K-Means has the criterion of the tree: together they find better clusters than either. In one batch, other
        # methods are told what they are to find.
        if not is_k_means(method):
            return method.telling(wanted, asked=wanted)
        return method.telling(_count_inner(wanted), asked=wanted, max_iter=ITERATIONS)

    @property
    def chooses_merge(self) -> bool:
        """Whether clusters may be connected instead of compact. Density-based methods have their own clusters."""
        return self.is_told and not self.as_published

    def makes_cells(self, method: BaseMethod) -> bool:
        """Return whether rows are shared out among cells in the end, as K-Means does."""
        return self.chooses_merge and is_k_means(method)

    @property
    def n_cells(self) -> int:
        """Number of cells, in one batch and in several."""
        return min(LINKED_PER_CLUSTER * (self.n_sought or 1), MAX_LINKED)

    def max_linked(self, state: FitState) -> int:
        """Return how many groups the tree has, before the lighter ones join them.

        In one batch, the heaviest are whole clusters of the base method on which the views agree. Groups of several
        batches are all of similar mass, and all are needed.
        """
        if self.n_sought is None or state.record.n_batches > 1:
            return MAX_LINKED
        return min(LINKED_PER_CLUSTER * self.n_sought, MAX_LINKED)

    def is_reached(self, state: FitState) -> bool:
        """Return whether the levels end: a further one would fuse nothing, or only lose what the method has found."""
        if self.as_published:
            return state.converged or state.stalled
        all_together = state.record.n_batches == 1 and state.record.rows_held_aside == 0
        # a method that finds the number itself has to see the rows held aside: some of them may be noise
        few_enough = self.is_told and self.n_sought is not None and state.n_active <= MAX_GROUPS
        return all_together or few_enough or state.stalled


def _count_inner(wanted: int) -> int:
    """Return how many clusters K-Means is told in one batch, if so many are wanted."""
    return min(FINER * wanted, max(MANY_INNER, 2 * wanted))


def is_k_means(method: BaseMethod) -> bool:
    """Return whether a base method is a kind of K-Means: it then has the criterion by which clusters merge."""
    return isinstance(method.clusterer, QuickKMeans | KMeans | MiniBatchKMeans | BisectingKMeans | TorchKMeans)
