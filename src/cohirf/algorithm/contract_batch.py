"""Contract one batch: GetClusters, then ChooseMedoids (paper, Algorithm 1)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import look_up, take_rows, to_host
from cohirf.algorithm.choose_medoids import cluster_means, fill_missing
from cohirf.algorithm.consensus import Codes, Consensus, consensus_within
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.get_clusters import Views, agree_on, get_clusters
from cohirf.algorithm.grouping import IntArray, sum_by_label
from cohirf.algorithm.metric_spaces import EUCLIDEAN, MetricSpace
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.rare_groups import join_rare_groups

Mass = NDArray[np.float64]
Place = tuple[int, int]  # level and batch, which seed the batch
ChooseMedoids = Callable[[Any, Any, int, Any, np.random.Generator], IntArray]


@dataclass(frozen=True)
class Contraction:
    """How a batch is contracted: the three steps of the paper and their options."""

    views: Views
    consensus: Callable[[Codes], Consensus]
    choose_medoids: ChooseMedoids
    batch_size: int | None
    weighted: bool = False  # whether rows have a mass
    sum_mass: bool = False  # whether a medoid has the total mass of the rows that it represents, or mass 1
    column_means: NDArray[np.floating[Any]] | None = None  # fill values for missing cells when distances are computed
    space: MetricSpace = EUCLIDEAN  # where means and medoids are computed
    keeps_means: bool = False  # whether the means of clusters are needed after the levels
    bounds_groups: bool = False  # whether rare groups are joined if there are very many
    device: Any = None  # where batches are contracted, if rows are arrays of NumPy and this is another place

    def points(self, X: Any) -> Any:
        """Return rows as points whose Euclidean distances are computed, without missing cells."""
        return self.space.points(fill_missing(X, self.column_means))


@dataclass(frozen=True)
class ContractedBatch:
    """The result of contracting one batch.

    Attributes
    ----------
    labels : array of int
        The consensus cluster of each row; on the device of the rows, as their stability is.
    medoids : array of int
        The medoid of each cluster, as a position in the batch.
    mass : array of float or None
        Mass of each medoid.
    means : array, CSR matrix or None
        Mean of the rows of each cluster, weighted by their mass, if means are kept.
    n_noise : int
        The last clusters, this many, are single rows that the base method called noise.
    stability : array of float32
        For each row, the mean over views of the Jaccard index (see ``stability.py``).
    view_stability : array of float
        For each view, the mean over rows of the Jaccard index.
    costs : tuple of float
        The figures that a level averages: views kept, agreement, stability; and those that it sums up: the time spent
        in the base method, in the consensus, and in the choice of medoids.
    halo : HaloLabels or None
        The clusters of rows of the halo, if the batch has one.
    """

    labels: Any
    medoids: IntArray
    mass: Mass | None
    means: Any
    n_noise: int
    stability: Any
    view_stability: NDArray[np.float64]
    costs: tuple[float, ...]
    halo: HaloLabels | None = None


@dataclass(frozen=True)
class HaloLabels:
    """The clusters that rows of the halo are in: ``rows`` by position in the halo, and the cluster of each.

    Rows that are noise, or in no cluster with a row of the batch, are left out; with ``is_core``, so are rows that the
    base method does not call core rows.
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
    """Cluster the rows of ``X``, which have a ``mass``, on every view, and choose the medoids of the consensus.

    The base method sees ``companions``, other rows of the data, beside the rows of ``X``. The last ``n_halo`` rows of
    ``X`` belong to other batches: they are clustered, too, but not contracted. If the ``labels`` of the base method are
    known, it is not called. Rows with different numbers in ``apart`` are in different clusters of the consensus.
    """
    if labels is None:
        consensus = contraction.consensus
        if apart is not None:
            consensus = partial(consensus_within, consensus=consensus, apart=apart)
        clusters = get_clusters(X, mass, contraction.views, consensus, place, engine, companions)
    else:
        clusters = agree_on(labels, mass, contraction.views.n_views)
    started = perf_counter()
    found, halo = clusters.consensus, None
    if n_halo:
        n_rows = X.shape[0] - n_halo
        found, halo = _set_halo_apart(found, n_rows, clusters.core)
        X, mass = take_rows(X, slice(0, n_rows)), None if mass is None else mass[:n_rows]
    rng = generator_at(contraction.views.entropy, Draw.MEDOIDS, *place)
    points = contraction.points(X)
    if contraction.bounds_groups:
        found = join_rare_groups(points, found, mass)
    medoids = contraction.choose_medoids(points, found.labels, found.n_clusters, mass, rng)
    return ContractedBatch(
        labels=found.labels,
        medoids=medoids,
        mass=_contracted_mass(mass, found, contraction),
        means=cluster_means(points, found.labels, found.n_clusters, mass) if contraction.keeps_means else None,
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


def _set_halo_apart(found: Consensus, n_rows: int, core: IntArray | None) -> tuple[Consensus, HaloLabels]:
    """Return the consensus of the first ``n_rows`` rows, and the clusters of the other rows."""
    label_of = np.full(found.n_clusters, -1, dtype=np.int32 if found.n_clusters < 2**31 else np.int64)
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


def _contracted_mass(mass: Any, consensus: Consensus, contraction: Contraction) -> Mass | None:
    """Return the mass of each medoid: the total mass of its cluster or, without ``sum_mass``, 1."""
    if not contraction.weighted:
        return None
    if not contraction.sum_mass:
        return np.ones(consensus.n_clusters)
    return sum_by_label(consensus.labels, mass, consensus.n_clusters)
