"""Settings: what a fit needs of the estimator's parameters, typed, and made once.

Nothing below sees the estimator.

A fit has a *goal*: how many clusters it is to end with, and what follows for its levels. As
published, the base method is told at every level what the user wrote, and the levels run until
nothing fuses. Otherwise the levels only prepare groups of rows, which are then merged by their
means and masses. So a method that is told how many clusters to find is told more inside the levels
wherever that helps, and the levels end as soon as there are few enough groups. The numbers were
chosen on the 14 data sets of ``benchmarks/quality/answers.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

from sklearn.cluster import DBSCAN, BisectingKMeans, KMeans, MiniBatchKMeans

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.choose_medoids import (
    CallableSimilarity,
    SampledMedoid,
    choose_central_medoids,
    choose_sampled_medoids,
    cosine_centrality,
    euclidean_centrality,
    laplacian_similarity,
    rbf_similarity,
)
from cohirf.algorithm.consensus import (
    RELAXED,
    Codes,
    Consensus,
    relaxed_consensus,
    strict_consensus,
)
from cohirf.algorithm.contract_batch import ChooseMedoids, Contraction
from cohirf.algorithm.get_clusters import View, Views
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.randomness import Entropy
from cohirf.beyond.majority import N_CELLS, join_rare_groups, majority_consensus
from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.clusterers.grid_dbscan import MIN_KERNEL_ROWS, GridDBSCAN, computed
from cohirf.clusterers.torch_k_means import TorchKMeans
from cohirf.data import Data
from cohirf.fit_identity import describe_fit
from cohirf.fitting.quick_k_means import ITERATIONS, QuickKMeans
from cohirf.optional import is_installed
from cohirf.parameters import Parameters, remedies_for
from cohirf.planning.memory import read_memory_limit
from cohirf.problems import Remedies
from cohirf.rows.metric_spaces import EUCLIDEAN, find_space

CENTRALITY = {"cosine": cosine_centrality, "euclidean": euclidean_centrality}
SIMILARITY = {"rbf": rbf_similarity, "laplacian": laplacian_similarity}
# Kernels compare pairs of rows, so of a larger cluster a random sample is compared: 1,000 rows take
# 8 MB, all rows of a large batch would take more than there is.
MAX_CANDIDATES = 1000
# With few batches, the finer groups of the strict consensus gave better clusters. With many, they
# are contracted too slowly, and were no better.
FEW_BATCHES = 50
MAJORITY = 0.5
# clusters that K-Means is told for each that is wanted; other methods in several batches, too
FINER = 4
# With many clusters, K-Means is told fewer of them for each: two, as soon as these are so many.
# They are small then.
MANY_INNER = 400
LINKED_PER_CLUSTER = (
    20  # groups in the tree of one batch for each cluster that is wanted; the others join these
)
# of more groups, another level is contracted; of fewer, light ones join heavy ones
MAX_GROUPS = 4 * MAX_LINKED
FINER_IN_ONE_VIEW = 8  # without a consensus of several views, groups are coarser
AUTO_CLUSTERS = 60  # what the method is told if the number of clusters is chosen after the levels


@dataclass(frozen=True)
class Settings:
    """The parameters of a fit, resolved as far as they do not depend on the rows."""

    goal: Goal  # how many clusters the fit is to end with
    # The base method of each view, or the one of all views; None for the default
    methods: tuple[BaseMethod | None, ...]
    # the columns of each view of a list, or None for all; empty if all views are alike
    columns: tuple[Any, ...]
    n_views: int  # number of views, and of features in each
    n_features: int
    # Returns the consensus of a batch, given the number of batches and the goal
    consensus: Callable[[int, Goal], Callable[[Codes], Consensus]]
    choose_medoids: ChooseMedoids  # returns the medoid of each group
    sum_mass: bool  # whether a medoid has the mass of the rows that it represents
    batch_size: int | str | None  # the batch size, or how much memory batches may take
    # Whether several batches are neighbouring rows; None means if the base method finds the number
    # of clusters
    is_local: bool | None
    merge: str  # how groups merge after the levels
    by_direction: bool  # whether rows have length 1, so that directions tell clusters apart
    min_cluster_size: int | float  # smallest size of a cluster, or smallest share of the rows
    max_iter: int  # largest number of levels
    random_state: Any  # the seed
    checkpoint: Any  # where runs are stored, so that a fit can be resumed
    n_jobs: int | None  # number of jobs
    device: str | None  # where batches are computed
    verbose: bool  # whether progress is shown
    # describes the parameters, and facts about the data, for a checkpoint
    describe: Callable[..., dict[str, str]]
    remedies: Remedies  # what to change if the clusters are useless

    @classmethod
    def of(cls, model: Parameters) -> Settings:
        """Return the settings of a model that knows its features.

        Raise for parameters that do not fit them.
        """
        if model.n_jobs == 0:
            raise ValueError("n_jobs=0 is not valid: give 1 or more, or -1 for all cores.")
        if isinstance(model.batch_size, str):
            read_memory_limit(model.batch_size)  # raises for other text
        n_features = model.n_features_in_
        is_listed = isinstance(model.views, list)
        methods = tuple(
            None if each is None else BaseMethod.of(each) for each in validation.list_methods(model)
        )
        return cls(
            goal=Goal.of(model.n_clusters, methods),
            methods=methods,
            columns=tuple(columns for _, columns in validation.list_views(model, n_features))
            if is_listed
            else (),
            n_views=len(methods) if is_listed else int(model.views),
            n_features=n_features
            if is_listed
            else validation.count_view_features(model.max_features, n_features),
            consensus=partial(_choose_consensus, model.consensus),
            choose_medoids=_choose_medoid_function(model.medoid),
            sum_mass=model.medoid_weights,
            batch_size=int(model.batch_size)
            if isinstance(model.batch_size, Integral)
            else model.batch_size,
            is_local=None if model.batches == "auto" else model.batches == "local",
            merge=model.merge,
            by_direction=model.metric == "cosine",
            min_cluster_size=model.min_cluster_size,
            max_iter=int(model.max_iter),
            random_state=model.random_state,
            checkpoint=model.checkpoint,
            n_jobs=model.n_jobs
            if model.device is None
            else 1,  # a device computes one batch after the other
            device=model.device,
            verbose=bool(model.verbose),
            describe=partial(describe_fit, model, metric=model.metric),
            remedies=remedies_for(model),
        )

    @property
    def base(self) -> BaseMethod | None:
        """The base method; of several, one that finds the number of clusters itself."""
        return next(
            (each for each in self.methods if each is not None and each.told is None),
            self.methods[0],
        )

    @property
    def base_name(self) -> str:
        """Name of the class of the base method."""
        if self.base is None:
            return "KMeans"
        return type(self.base.prototype).__name__

    @property
    def takes_k(self) -> bool:
        """Whether all base methods are told the number of clusters."""
        return all(each is None or each.told is not None for each in self.methods)

    @property
    def take_weights(self) -> bool:
        """Whether any base method takes sample weights."""
        return any(each is None or each.weight_argument is not None for each in self.methods)

    @property
    def take_nan(self) -> bool:
        """Whether all base methods support missing values, which the default does not."""
        return all(
            each is not None and validation.takes_nan(each.prototype) for each in self.methods
        )

    def aiming_at(self, n_chosen: int | None) -> Settings:
        """Return the settings after the number of clusters was chosen."""
        if n_chosen is None:
            return self
        return replace(self, goal=replace(self.goal, n_clusters=n_chosen))

    def smallest_wanted(self, total: float) -> float:
        """Return the smallest size of a cluster that the user wants, if this is the total weight of
        all rows.
        """
        if not isinstance(self.min_cluster_size, Integral):
            return float(self.min_cluster_size) * total
        if self.min_cluster_size == 1 and not self.goal.as_published:
            return 0.0  # weights may add up to less than 1
        return float(self.min_cluster_size)


@dataclass(frozen=True)
class Settled:
    """Settings that the parameters may leave open, resolved: the entropy of the fit, and the batch
    size.
    """

    entropy: Entropy
    batch_size: int | None


@dataclass(frozen=True)
class Goal:
    """What a fit ends with."""

    n_clusters: int | None = (
        None  # the number of clusters; None if it is not chosen yet, or found by the base method
    )
    is_chosen: bool = False  # whether the number is chosen, and not given
    as_published: bool = (
        False  # whether the clusters of the last level are the result, however many there are
    )
    is_required: bool = (
        False  # whether the user asked for the number, so that fewer are worth a warning
    )
    is_told: bool = True  # whether the base method is told how many clusters to find

    @classmethod
    def of(cls, n_clusters: int | str | None, methods: tuple[BaseMethod | None, ...]) -> Goal:
        """Return the goal of a model with the given parameter and base methods."""
        if n_clusters == "levels":
            return cls(as_published=True)
        given = [method for method in methods if method is not None]
        is_told = all(method.told is not None for method in given)
        if n_clusters == "auto" or (n_clusters is None and not given):
            return cls(is_chosen=True, is_told=is_told)
        if n_clusters is not None:
            return cls(n_clusters=int(n_clusters), is_required=True, is_told=is_told)
        told = {method.n_told for method in given} - {None}
        if len(told) > 1:
            raise ValueError(
                f"Views are told different numbers of clusters, {told}: set n_clusters of CoHiRF."
            )
        return cls(n_clusters=told.pop() if told and is_told else None, is_told=is_told)

    @property
    def is_found(self) -> bool:
        """Whether the base method finds the number of clusters, and these are the result."""
        return self.n_clusters is None and not self.is_chosen and not self.as_published

    @property
    def n_sought(self) -> int | None:
        """The number of clusters to seek, also if it is to be chosen.

        None if the base method finds it.
        """
        if self.n_clusters is None and self.is_chosen:
            return AUTO_CLUSTERS // FINER
        return self.n_clusters

    def method(self, estimator: Any, *, several_batches: bool, one_view: bool) -> BaseMethod:
        """Return the base method, told as many clusters as it should find inside the levels."""
        wanted = self.n_sought
        if estimator is None:
            estimator = KMeans() if self.as_published else QuickKMeans()
        if isinstance(estimator, BaseMethod):
            method = estimator
        else:
            method = BaseMethod.of(computed(estimator))
        if self.as_published or wanted is None or method.told is None:
            return method
        if self.n_clusters is None:
            return method.telling(AUTO_CLUSTERS, asked=wanted)
        if several_batches:
            return method.telling((FINER_IN_ONE_VIEW if one_view else FINER) * wanted, asked=wanted)
        # K-Means has the criterion of the tree: together they find better clusters than either. In
        # one batch, other methods are told what they are to find.
        if not is_k_means(method):
            return method.telling(wanted, asked=wanted)
        return method.telling(_count_inner(wanted), asked=wanted, max_iter=ITERATIONS)

    @property
    def chooses_merge(self) -> bool:
        """Whether clusters may be connected instead of compact.

        Density-based methods have their own clusters.
        """
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

        In one batch, the heaviest are whole clusters of the base method on which the views agree.
        Groups of several batches are all of similar mass, and all are needed.
        """
        if self.n_sought is None or state.record.n_batches > 1:
            return MAX_LINKED
        return min(LINKED_PER_CLUSTER * self.n_sought, MAX_LINKED)

    def is_reached(self, state: FitState) -> bool:
        """Return whether the levels end: a further one would fuse nothing, or only lose what the
        method has found.
        """
        if self.as_published:
            return state.converged or state.stalled
        all_together = state.record.n_batches == 1 and state.record.rows_held_aside == 0
        # a method that finds the number itself has to see the rows held aside: some of them may be
        # noise
        few_enough = self.is_told and self.n_sought is not None and state.n_active <= MAX_GROUPS
        return all_together or few_enough or state.stalled


def _count_inner(wanted: int) -> int:
    """Return how many clusters K-Means is told in one batch, if so many are wanted."""
    return min(FINER * wanted, max(MANY_INNER, 2 * wanted))


def is_k_means(method: BaseMethod) -> bool:
    """Return whether a base method is a kind of K-Means: it then has the criterion by which
    clusters merge.
    """
    return isinstance(
        method.clusterer, QuickKMeans | KMeans | MiniBatchKMeans | BisectingKMeans | TorchKMeans
    )


def make_contraction(
    settings: Settings,
    data: Data,
    settled: Settled,
    *,
    weighted: bool,
    n_batches: int | None = None,
) -> Contraction:
    """Return how a fit contracts batches of the data.

    Their number follows from their size, unless it is given.
    """
    if n_batches is None:
        n_batches = count_batches(data.rows.n_rows, settled.batch_size)
    goal = settings.goal
    views = _make_views(settings, data.n_features, settled.entropy, several_batches=n_batches > 1)
    device = settings.device if data.device is None else data.device
    sees_all = not settings.columns and views.n_features == data.n_features and device is None
    base = views.method.prototype
    known = None
    if sees_all and views.method.told is None and hasattr(base, "metric"):
        known = find_space(base)
    # A batch may leave fewer groups than views make, if these are very many: enough for all
    # clusters.
    is_bounded = (
        not goal.as_published and goal.is_told and (goal.n_sought or N_CELLS + 1) <= N_CELLS
    )
    return Contraction(
        views=views,
        consensus=settings.consensus(n_batches, goal),
        **_central_rows(settings, views, data, device),
        batch_size=settled.batch_size,
        weighted=weighted,
        sum_mass=settings.sum_mass,
        column_means=data.column_means,
        space=EUCLIDEAN if known is None else known,
        keeps_means=True,
        bound_groups=join_rare_groups if is_bounded and views.n_views > 1 else None,
        device=device,
    )


def _central_rows(settings: Settings, views: Views, data: Data, device: Any) -> dict[str, Any]:
    """Return the functions that find the central rows of clusters: compiled ones, if the base
    method is compiled.
    """
    choose = settings.choose_medoids
    is_compiled = isinstance(views.method.prototype, GridDBSCAN) and is_installed("numba")
    if not is_compiled or device is not None or data.rows.n_rows < MIN_KERNEL_ROWS:
        return {"choose_medoids": choose}
    from cohirf.clusterers import central_rows

    by_cosine = getattr(choose, "keywords", {}).get("centrality") is cosine_centrality
    return {
        "choose_medoids": choose,
        "find_centres": partial(central_rows.find_centres, by_cosine=by_cosine),
        "find_nearest": central_rows.nearest_rows,
    }


def _make_views(
    settings: Settings, n_features: int, entropy: Entropy, *, several_batches: bool
) -> Views:
    """Return the views: those of a list, or a number of equal ones."""
    goal = settings.goal
    n_views = settings.n_views
    if not settings.columns:
        base = settings.methods[0]
        is_repeated = (
            settings.n_features == n_features and base is not None and base.is_deterministic
        )
        one_view = n_views == 1 or is_repeated
        given = None if base is None else _computed(base)
        method = goal.method(given, several_batches=several_batches, one_view=one_view)
        return Views(method, n_views, settings.n_features, entropy)
    each = []
    for base, columns in zip(settings.methods, settings.columns, strict=True):
        assert base is not None  # a list has no default
        method = _computed(base)
        # other numbers are what the user wants to differ
        if method.n_told in (
            None,
            goal.n_clusters,
        ):
            method = goal.method(method, several_batches=several_batches, one_view=n_views == 1)
        each.append(View(method, n_features if columns is None else len(columns), columns))
    # What is special for K-Means, or for methods that find the number of clusters, needs all views
    # to be of this kind.
    leading = min(each, key=lambda view: (view.method.told is None, is_k_means(view.method)))
    return Views(
        leading.method, n_views, max(view.n_features for view in each), entropy, tuple(each)
    )


def _computed(base: BaseMethod) -> BaseMethod:
    """Return the base method; for scikit-learn's DBSCAN, a method that computes the same labels."""
    if type(base.prototype) is DBSCAN:
        return BaseMethod.of(computed(base.prototype))
    return base


def _choose_consensus(
    consensus: str | float, n_batches: int, goal: Goal
) -> Callable[[Codes], Consensus]:
    """Return the consensus that a parameter stands for."""
    if consensus == "auto":
        consensus = "strict" if 1 < n_batches <= FEW_BATCHES else "majority"
    if consensus == "strict":
        return strict_consensus
    if consensus != "majority":
        return partial(
            relaxed_consensus, threshold=RELAXED if consensus == "relaxed" else float(consensus)
        )
    if n_batches > 1 or goal.n_clusters is None:
        return partial(majority_consensus, majority=MAJORITY)
    return partial(ample_majority, majority=MAJORITY, n_clusters=goal.n_clusters)


def ample_majority(codes: Codes, majority: float, n_clusters: int) -> Consensus:
    """Return the majority consensus, or the strict one if that leaves fewer than ``n_clusters``
    groups.
    """
    found = majority_consensus(codes, majority)
    if found.n_clusters - found.n_noise >= n_clusters:
        return found
    return strict_consensus(codes)


def _choose_medoid_function(medoid: Any) -> ChooseMedoids:
    """Return the function for a name in ``CENTRALITY`` (exact) or ``SIMILARITY`` (sampled), or for
    a callable.
    """
    if not callable(medoid):
        if medoid in CENTRALITY:
            return partial(choose_central_medoids, centrality=CENTRALITY[medoid])
        return partial(
            choose_sampled_medoids, similarity=SIMILARITY[medoid], max_candidates=MAX_CANDIDATES
        )
    limits: dict[str, Any] = {"max_candidates": MAX_CANDIDATES}
    if isinstance(medoid, SampledMedoid):
        limits = {"max_candidates": medoid.most, "share": medoid.share}
    return partial(choose_sampled_medoids, similarity=CallableSimilarity(medoid), **limits)
