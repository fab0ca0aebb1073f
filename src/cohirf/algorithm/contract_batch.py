"""Contract one batch: GetClusters, then ChooseMedoids (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.consensus import Codes, Consensus
from cohirf.algorithm.get_clusters import Views, agree_on, get_clusters
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.rows.arrays import look_up, take_rows, to_host
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
    halo: HaloLabels | None = None  # the clusters of rows of the halo, if the batch has one


@dataclass(frozen=True)
class HaloLabels:
    """The clusters that rows of the halo are in: ``rows`` by position in the halo, and the cluster
    of each.

    Rows that are noise, or in no cluster with a row of the batch, are left out; with ``is_core``,
    so are rows that the base method does not call core rows.
    """

    rows: IntArray
    labels: IntArray
    is_core: bool


def contract_batch(
    X: Any,
    mass: Any,
    contraction: Contraction,
    place: Place,
    engine: Engine,
    companions: Any = None,
    n_halo: int = 0,
    labels: Any = None,
    apart: IntArray | None = None,
) -> ContractedBatch:
    """Cluster the rows of ``X``, which have a ``mass``, on every view, and choose the medoids of
    the consensus.

    The base method sees ``companions``, other rows of the data, beside the rows of ``X``. The last
    ``n_halo`` rows of ``X`` belong to other batches: they are clustered, too, but not contracted.
    If the ``labels`` of the base method are known, it is not called. Rows with different numbers in
    ``apart`` are in different clusters of the consensus.
    """
    if labels is None:
        views = contraction.views
        consensus = contraction.consensus
        clusters = get_clusters(X, mass, views, consensus, place, engine, companions, apart)
    else:
        clusters = agree_on(labels, mass, contraction.views.n_views, apart)
    started = perf_counter()
    found = clusters.consensus
    halo = None
    if n_halo:
        n_rows = X.shape[0] - n_halo
        found, halo = _set_halo_apart(found, n_rows, clusters.core)
        X = take_rows(X, slice(0, n_rows))
        mass = None if mass is None else mass[:n_rows]
    rng = generator_at(contraction.views.entropy, Draw.MEDOIDS, *place)
    points = contraction.points(X)
    if contraction.bound_groups is not None:
        found = contraction.bound_groups(points, found, mass)
    of_clusters = found.labels, found.n_clusters
    if contraction.find_centres is None:
        centres = None
    else:
        centres = contraction.find_centres(points, *of_clusters, mass)
    medoids = None if centres is None else centres.medoids
    if medoids is None:
        medoids = contraction.choose_medoids(points, *of_clusters, mass, rng)
    if centres is None:
        if contraction.keeps_means:
            means = cluster_means(points, *of_clusters, mass)
        else:
            means = None
        centres = Centres(medoids, means, count_by_label(*of_clusters), first_rows(*of_clusters))
    return ContractedBatch(
        labels=found.labels,
        medoids=medoids,
        mass=_contracted_mass(mass, found, centres.sizes, contraction),
        means=centres.means,
        sizes=centres.sizes,
        first_rows=centres.first_rows,
        n_noise=found.n_noise,
        stability=clusters.stability.of_row[: X.shape[0]],
        view_stability=clusters.stability.of_view,
        costs=(
            len(found.views_kept),
            clusters.agreement,
            float(clusters.stability.of_view.mean()),
            clusters.base_seconds,
            clusters.consensus_seconds,
            perf_counter() - started,
        ),
        halo=halo,
    )


def _set_halo_apart(
    found: Consensus, n_rows: int, core: IntArray | None
) -> tuple[Consensus, HaloLabels]:
    """Return the consensus of the first ``n_rows`` rows, and the clusters of the other rows."""
    label_of = np.full(
        found.n_clusters, -1, dtype=np.int32 if found.n_clusters < 2**31 else np.int64
    )
    present = np.unique(to_host(found.labels[:n_rows]))  # sorted, so that noise stays last
    label_of[present] = np.arange(len(present))
    first_noise = found.n_clusters - found.n_noise
    own = replace(
        found,
        labels=look_up(label_of, found.labels[:n_rows]),
        n_clusters=len(present),
        n_noise=int((present >= first_noise).sum()),
    )
    of_halo = label_of[to_host(found.labels[n_rows:])]
    is_linked = of_halo >= 0
    if core is not None:
        is_core = np.zeros(found.labels.shape[0], dtype=bool)
        is_core[core] = True
        is_linked &= is_core[n_rows:]
    rows = np.flatnonzero(is_linked)
    return own, HaloLabels(rows, of_halo[rows], is_core=core is not None)


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
