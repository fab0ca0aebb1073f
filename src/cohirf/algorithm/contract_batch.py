"""Contract one batch: GetClusters, then ChooseMedoids (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.consensus import Codes, Consensus, strict_consensus
from cohirf.algorithm.get_clusters import ViewConsensus, Views, get_clusters
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.rows.grouping import IntArray, Mass, count_by_label, first_rows, sum_by_label
from cohirf.rows.metric_spaces import EUCLIDEAN, MetricSpace
from cohirf.rows.storage import Engine

Place = tuple[int, int]  # level and batch, which seed the batch
# from points, their groups and their masses
BoundGroups = Callable[[Any, Consensus, Any], Consensus]
ChooseMedoids = Callable[[Any, Any, int, Any, np.random.Generator], IntArray]


@dataclass(frozen=True)
class Centres:
    """What one pass over the rows of a batch finds out about each cluster."""

    medoids: IntArray | None  # None if they are to be chosen in another way
    means: Any
    sizes: IntArray
    first_rows: IntArray


@dataclass(frozen=True)
class Contraction:
    """How a batch is contracted: the three steps of the paper and their options."""

    views: Views
    consensus: Callable[[Codes], Consensus]
    choose_medoids: ChooseMedoids
    batch_size: int | None
    weighted: bool = False  # whether rows have a mass
    sum_mass: bool = (
        False  # whether a medoid has the total mass of the rows that it represents, or mass 1
    )
    column_means: NDArray[np.floating[Any]] | None = (
        None  # fill values for missing cells when distances are computed
    )
    space: MetricSpace = EUCLIDEAN  # where means and medoids are computed
    keeps_means: bool = False  # whether the means of clusters are needed after the levels
    find_centres: Callable[[Any, Any, int, Any], Centres | None] | None = (
        None  # compiled, if the base method is
    )
    find_nearest: Callable[[Any, Any, Any], IntArray | None] | None = None  # likewise
    bound_groups: BoundGroups | None = None  # joins some of the groups if there are very many
    device: Any = (
        None  # where batches are contracted, if rows are arrays of NumPy and this is another place
    )

    def agree(self, codes: Codes) -> Consensus:
        """Return the consensus of views; of equal ones, each rule gives the strict one."""
        return strict_consensus(codes) if codes.are_equal else self.consensus(codes)

    def points(self, X: Any) -> Any:
        """Return rows as points whose Euclidean distances are computed, without missing cells."""
        if self.column_means is None:
            filled = X
        else:
            filled = fill_missing(X, self.column_means)
        return filled if self.space.embed is None else self.space.points(filled)


@dataclass(frozen=True)
class ContractedBatch:
    """The result of contracting one batch."""

    labels: (
        Any  # the consensus cluster of each row; on the device of the rows, as their stability is
    )
    medoids: IntArray  # the medoid of each cluster, as a position in the batch
    mass: Mass | None  # mass of each medoid
    means: Any  # mean of the rows of each cluster, weighted by their mass, if means are kept
    sizes: IntArray  # number of rows of each cluster
    first_rows: IntArray  # the first row of each cluster, as a position in the batch
    n_noise: int  # the last clusters, this many, are single rows that the base method called noise
    stability: Any  # for each row, the mean over views of the Jaccard index (see ``consensus.py``)
    view_stability: NDArray[np.float64]  # for each view, the mean over rows of the Jaccard index
    # The figures that a level averages: views kept, agreement, stability; and those that it sums
    # up: the time spent in the base method, in the consensus, and in the choice of medoids
    costs: tuple[float, ...]


def contract_batch(
    X: Any, mass: Any, contraction: Contraction, place: Place, engine: Engine
) -> ContractedBatch:
    """Cluster the rows of ``X``, which have a ``mass``, on every view, and choose the medoids of
    the consensus.
    """
    clusters = get_clusters(X, mass, contraction.views, contraction.agree, place, engine)
    return contract_clusters(X, mass, clusters, contraction, place)


def contract_clusters(
    X: Any, mass: Any, clusters: ViewConsensus, contraction: Contraction, place: Place
) -> ContractedBatch:
    """Contract the rows of ``X``, whose clusters are known, to the medoids of these."""
    started = perf_counter()
    found = clusters.consensus
    points = contraction.points(X)
    if contraction.bound_groups is not None:
        found = contraction.bound_groups(points, found, mass)
    rng = generator_at(contraction.views.entropy, Draw.MEDOIDS, *place)
    centres = _find_centres(points, mass, found, contraction, rng)
    assert centres.medoids is not None
    of_view = clusters.stability.of_view
    return ContractedBatch(
        labels=found.labels,
        medoids=centres.medoids,
        mass=_contracted_mass(mass, found, centres.sizes, contraction),
        means=centres.means,
        sizes=centres.sizes,
        first_rows=centres.first_rows,
        n_noise=found.n_noise,
        stability=clusters.stability.of_row,
        view_stability=of_view,
        costs=(
            len(found.views_kept),
            clusters.agreement,
            float(of_view.mean()),
            clusters.base_seconds,
            clusters.consensus_seconds,
            perf_counter() - started,
        ),
    )


def _find_centres(
    points: Any,
    mass: Any,
    found: Consensus,
    contraction: Contraction,
    rng: np.random.Generator,
) -> Centres:
    """Return medoids and means of clusters: in one pass, if the base method is compiled."""
    of_clusters = found.labels, found.n_clusters
    centres = None
    if contraction.find_centres is not None:
        centres = contraction.find_centres(points, *of_clusters, mass)
    if centres is not None and centres.medoids is not None:
        return centres
    medoids = contraction.choose_medoids(points, *of_clusters, mass, rng)
    if centres is not None:
        return replace(centres, medoids=medoids)
    means = None
    if contraction.keeps_means:
        means = cluster_means(points, *of_clusters, mass)
    return Centres(medoids, means, count_by_label(*of_clusters), first_rows(*of_clusters))


def _contracted_mass(
    mass: Any, consensus: Consensus, sizes: IntArray, contraction: Contraction
) -> Mass | None:
    """Return the mass of each medoid: the total mass of its cluster or, without ``sum_mass``, 1."""
    if not contraction.weighted:
        return None
    if not contraction.sum_mass:
        return np.ones(consensus.n_clusters)
    if mass is None:
        return sizes.astype(np.float64)
    return sum_by_label(consensus.labels, mass, consensus.n_clusters)
