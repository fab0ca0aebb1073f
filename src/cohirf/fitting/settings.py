"""Settings: what a fit needs of the estimator's parameters, typed, and made once.

Nothing below sees the estimator.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
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
from cohirf.algorithm.contract_batch import ChooseMedoids
from cohirf.algorithm.randomness import Entropy
from cohirf.beyond.majority import majority_consensus
from cohirf.fit_identity import describe_fit
from cohirf.fitting.families import Family, choose_family
from cohirf.fitting.policy import GROUP
from cohirf.parameters import Parameters
from cohirf.planning.memory import read_memory_limit
from cohirf.problems import Remedies
from cohirf.validation import Columns
from cohirf.wording import setting

CENTRALITY = {"cosine": cosine_centrality, "euclidean": euclidean_centrality}
SIMILARITY = {"rbf": rbf_similarity, "laplacian": laplacian_similarity}


@dataclass(frozen=True)
class Settings:
    """The parameters of a fit, resolved as far as they do not depend on the rows."""

    family: Family  # what the fit does for its base methods, and how many clusters it ends with
    # The base method of each view, or the one of all views; None for the default
    methods: tuple[BaseMethod | None, ...]
    # the columns of each view of a list, or None for all; empty if all views are alike
    columns: tuple[Any, ...]
    n_views: int  # number of views, and of features in each
    n_features: int
    # Returns the consensus of a batch, given the numbers of batches and of clusters, or None
    consensus: Callable[[int, int | None], Callable[[Codes], Consensus]]
    choose_medoids: ChooseMedoids  # returns the medoid of each group
    sum_mass: bool  # whether a medoid has the mass of the rows that it represents
    batch_size: int | str | None  # the batch size, or how much memory batches may take
    # Whether several batches are neighbouring rows; None means if the base method finds the number
    # of clusters
    is_local: bool | None
    merge: str  # how groups merge after the levels
    by_direction: bool  # whether rows have length 1, so that directions tell clusters apart
    min_cluster_size: int | float  # smallest size of a cluster, or smallest share of the rows
    size_limits: Any  # smallest and largest size of a cluster, or None
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
    def of(cls, given: Parameters, features: Columns) -> Settings:
        """Return the settings of parameters, for data with some features.

        Raise for parameters that do not fit them.
        """
        if given.n_jobs == 0:
            raise ValueError(
                f"{setting('n_jobs', 0)} is not valid: give 1 or more, or -1 for all cores."
            )
        if isinstance(given.batch_size, str):
            read_memory_limit(given.batch_size)  # raises for other text
        is_listed = isinstance(given.views, list)
        methods = tuple(None if each is None else BaseMethod.of(each) for each in given.methods)
        n_features = features.n_features
        if not is_listed:
            n_features = validation.count_view_features(given.max_features, n_features)
        return cls(
            family=choose_family(given.n_clusters, methods),
            methods=methods,
            columns=given.view_columns(features),
            n_views=given.n_views,
            n_features=n_features,
            consensus=partial(_choose_consensus, given.consensus),
            choose_medoids=_choose_medoid_function(given.medoid),
            sum_mass=given.medoid_weights,
            batch_size=int(given.batch_size)
            if isinstance(given.batch_size, Integral)
            else given.batch_size,
            is_local=None if given.batches == "auto" else given.batches == "local",
            merge=given.merge,
            by_direction=given.metric == "cosine",
            min_cluster_size=given.min_cluster_size,
            size_limits=given.size_limits,
            max_iter=int(given.max_iter),
            random_state=given.random_state,
            checkpoint=given.checkpoint,
            n_jobs=given.n_jobs
            if given.device is None
            else 1,  # a device computes one batch after the other
            device=given.device,
            verbose=bool(given.verbose),
            describe=partial(describe_fit, given, metric=given.metric),
            remedies=given.remedies,
        )

    @property
    def base(self) -> BaseMethod | None:
        """The base method; of several, one that finds the number of clusters itself."""
        return next(
            (each for each in self.methods if each is not None and each.number_name is None),
            self.methods[0],
        )

    @property
    def base_name(self) -> str:
        """Name of the class of the base method."""
        if self.base is None:
            return "KMeans"
        return type(self.base.prototype).__name__

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

    def aiming_at(self, n_clusters: int) -> Settings:
        """Return the settings after the number of clusters was chosen."""
        return replace(self, family=self.family.aiming_at(n_clusters))

    def are_local(self, method: Any) -> bool:
        """Return whether the batches of a fit are local, if there are several.

        ``method`` is its base method.
        """
        if self.is_local is None:
            return self.family.are_local(method)
        return self.is_local

    def smallest_wanted(self, total: float) -> float:
        """Return the smallest size of a cluster that the user wants, if this is the total weight of
        all rows.
        """
        if isinstance(self.min_cluster_size, Integral):
            return self.family.least_size(int(self.min_cluster_size))
        return float(self.min_cluster_size) * total


@dataclass(frozen=True)
class Settled:
    """Settings that the parameters may leave open, resolved: the entropy of the fit, and the batch
    size.
    """

    entropy: Entropy
    batch_size: int | None


def _choose_consensus(
    consensus: str | float, n_batches: int, n_clusters: int | None
) -> Callable[[Codes], Consensus]:
    """Return the consensus that a parameter stands for; ``n_clusters`` are wanted, if known."""
    if consensus == "auto":
        consensus = "strict" if 1 < n_batches <= GROUP.few_batches else "majority"
    if consensus == "strict":
        return strict_consensus
    if consensus != "majority":
        return partial(
            relaxed_consensus, threshold=RELAXED if consensus == "relaxed" else float(consensus)
        )
    if n_batches > 1 or n_clusters is None:
        return partial(majority_consensus, majority=GROUP.majority)
    return partial(ample_majority, majority=GROUP.majority, n_clusters=n_clusters)


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
            choose_sampled_medoids, similarity=SIMILARITY[medoid], max_candidates=GROUP.candidates
        )
    limits: dict[str, Any] = {"max_candidates": GROUP.candidates}
    if isinstance(medoid, SampledMedoid):
        limits = {"max_candidates": medoid.most, "share": medoid.share}
    return partial(choose_sampled_medoids, similarity=CallableSimilarity(medoid), **limits)
