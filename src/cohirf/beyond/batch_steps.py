"""How batches are contracted where the paper says nothing: with borders, halos, known labels, and
other rows beside medoids.

Each class here takes the place of ``Steps``, the paper's, for the runs of a level. It carries what
belongs to the rows, gives each run its part, and contracts a batch with it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

import numpy as np

from cohirf.algorithm.batches import Run
from cohirf.algorithm.consensus import Codes, Consensus, strict_consensus
from cohirf.algorithm.contract_batch import (
    ContractedBatch,
    Contraction,
    Place,
    contract_clusters,
)
from cohirf.algorithm.get_clusters import ViewConsensus, agree_on, get_clusters
from cohirf.algorithm.runs import BatchOfRun, ContractedRun, Steps, beside, entries_of
from cohirf.beyond.local_batches import LocalRun
from cohirf.rows import ranges
from cohirf.rows.arrays import join_rows, look_up, put_beside, to_host
from cohirf.rows.grouping import IntArray, Mass
from cohirf.rows.storage import Engine, RunValues

# From the indices of the medoids of a batch, and its place, to values of other rows, or None
DrawCompanions = Callable[[IntArray, Place], Any]


# ---- borders


@dataclass(frozen=True)
class WithinBorders(Steps):
    """Groups do not reach over borders, such as those of the clusters of a model before an
    update.
    """

    # A number for each active row, or for each row of a run: rows with different ones do not fuse.
    # None if there are no borders.
    sides: IntArray | None

    def of_run(self, run: Run, indexed: Run, level: int) -> Steps:
        """Return the part of a run."""
        return replace(self, sides=_part(self.sides, run))

    def contract(
        self, batch: BatchOfRun, contraction: Contraction, engine: Engine
    ) -> ContractedBatch:
        """Contract a batch."""
        return _contract(batch, contraction, engine, self.sides_of(batch))

    def sides_of(self, batch: BatchOfRun) -> IntArray | None:
        """Return the number of each row of a batch."""
        return None if self.sides is None else entries_of(self.sides, batch.offsets)


def _part(vector: Any, run: Run) -> Any:
    return None if vector is None else vector[run.rows]


def _contract(
    batch: BatchOfRun,
    contraction: Contraction,
    engine: Engine,
    sides: IntArray | None = None,
    seen: Any = None,
) -> ContractedBatch:
    """Contract a batch within borders; ``seen`` are the rows that the base method sees."""
    clusters = get_clusters(
        batch.X,
        batch.mass,
        contraction.views,
        _within(sides, contraction.agree),
        batch.place,
        engine,
        seen,
    )
    return contract_clusters(batch.X, batch.mass, clusters, contraction, batch.place)


def _within(
    sides: IntArray | None, agree: Callable[[Codes], Consensus]
) -> Callable[[Codes], Consensus]:
    """Return a consensus within borders."""
    if sides is None:
        return agree
    return lambda codes: divide_consensus(agree(codes), sides)


def divide_consensus(found: Consensus, sides: IntArray) -> Consensus:
    """Return a consensus whose clusters are divided where rows have different numbers in ``sides``.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.algorithm.consensus import fold_views, strict_consensus
    >>> codes = fold_views([np.array([0, 0, 0, 1])], n_rows=4)
    >>> divide_consensus(strict_consensus(codes), np.array([3, 2, 2, 2])).labels
    array([1, 0, 0, 2])
    """
    names, number = np.unique(sides, return_inverse=True)
    pairs, labels = np.unique(
        to_host(found.labels).astype(np.int64) * len(names) + number, return_inverse=True
    )
    n_clusters = len(pairs)  # in the order of the labels, so that noise stays last
    divides = found.divides_codes or n_clusters > found.n_clusters
    return replace(
        found, labels=put_beside(labels, found.labels), n_clusters=n_clusters, divides_codes=divides
    )


# ---- known labels


@dataclass(frozen=True)
class KnownLabels(WithinBorders):
    """The labels of the base method are known, so that it is not called."""

    labels: IntArray  # for each active row, or each row of a run; negative for noise
    seconds: float = 0.0  # the time that it took to find them

    def of_run(self, run: Run, indexed: Run, level: int) -> Steps:
        """Return the part of a run."""
        return replace(self, sides=_part(self.sides, run), labels=self.labels[run.rows])

    def contract(
        self, batch: BatchOfRun, contraction: Contraction, engine: Engine
    ) -> ContractedBatch:
        """Contract a batch."""
        labels = beside(batch.X, self.labels, batch.offsets)
        agree = _within(self.sides_of(batch), strict_consensus)
        clusters = agree_on(labels, batch.mass, contraction.views.n_views, agree)
        return contract_clusters(batch.X, batch.mass, clusters, contraction, batch.place)


# ---- halos


@dataclass(frozen=True)
class Links:
    """Rows that two batches have in common: each is at home in one, and in a cluster of another
    whose halo it is in.
    """

    rows: Annotated[IntArray, ranges.numbers(ranges.ANY, below="n_rows")]  # index of each such row
    # index of the survivor of the cluster that the row is in as a row of the halo
    survivors: Annotated[IntArray, ranges.numbers("rows", below="n_rows")]
    # whether all of these are core rows of a method such as DBSCAN, which belong to one cluster
    # only
    by_core: bool

    @classmethod
    def join(cls, parts: Iterable[Links]) -> Links:
        """Concatenate links."""
        parts = list(parts)
        return cls(
            np.concatenate([part.rows for part in parts]),
            np.concatenate([part.survivors for part in parts]),
            all(part.by_core for part in parts),
        )


@dataclass(frozen=True)
class LinkedRun(ContractedRun):
    """A run of batches with halos."""

    links: Links | None = None  # None if all halos are empty


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


@dataclass(frozen=True)
class BatchWithHalo(ContractedBatch):
    """A contracted batch, and the clusters of its halo."""

    links: Links


@dataclass(frozen=True)
class WithHalos(WithinBorders):
    """The base method clusters the rows of a batch together with those of its halo, which belong to
    other batches.
    """

    # Mass of each active row; for a run, of the halo of each of its batches. None if it is 1
    mass: Any = None

    def of_run(self, run: Run, indexed: Run, level: int) -> Steps:
        """Return the part of a run."""
        assert isinstance(run, LocalRun)
        of_halos = None if self.mass is None else [self.mass[halo] for halo in run.halos]
        return replace(self, sides=_part(self.sides, run), mass=of_halos)

    def contract(
        self, batch: BatchOfRun, contraction: Contraction, engine: Engine
    ) -> ContractedBatch:
        """Contract a batch."""
        run = batch.task.run
        values = batch.task.values
        assert isinstance(run, LocalRun)
        halo = run.halos[batch.number]
        if len(halo) == 0:
            return super().contract(batch, contraction, engine)
        assert values is not None  # whoever has the rows has put them in
        assert not isinstance(values, RunValues)  # they have no halos
        together = join_rows([batch.X, put_beside(values.take(halo), batch.X)])
        sides = self.sides_of(batch)
        if sides is not None:  # clusters are known: no row of the halo has to link any
            sides = np.append(sides, np.full(len(halo), sides.min() - 1))
        mass = self._add_mass(batch, len(halo))
        agree = _within(sides, contraction.agree)
        clusters = get_clusters(together, mass, contraction.views, agree, batch.place, engine)
        own, of_halo = set_halo_aside(clusters, len(halo))
        found = contract_clusters(batch.X, batch.mass, own, contraction, batch.place)
        survivors = run.index(batch.offsets_at(found.medoids))
        links = Links(halo[of_halo.rows], survivors[of_halo.labels], of_halo.is_core)
        return BatchWithHalo(**vars(found), links=links)

    def _add_mass(self, batch: BatchOfRun, n_halo: int) -> Any:
        """Return the mass of the rows of a batch, followed by that of its halo."""
        if batch.mass is None:
            return None
        of_halo: Mass = np.ones(n_halo) if self.mass is None else self.mass[batch.number]
        return join_rows([batch.mass, put_beside(of_halo, batch.mass)])

    def finish(self, run: ContractedRun, batches: Sequence[ContractedBatch]) -> ContractedRun:
        """Return the run with the links of its batches."""
        links = [batch.links for batch in batches if isinstance(batch, BatchWithHalo)]
        return LinkedRun(**vars(run), links=Links.join(links) if links else None)


def set_halo_aside(clusters: ViewConsensus, n_halo: int) -> tuple[ViewConsensus, HaloLabels]:
    """Return the clusters of the rows of a batch, and those of the last ``n_halo`` rows, its
    halo.
    """
    found = clusters.consensus
    n_rows = found.labels.shape[0] - n_halo
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
    if clusters.core is not None:
        is_core = np.zeros(found.labels.shape[0], dtype=bool)
        is_core[clusters.core] = True
        is_linked &= is_core[n_rows:]
    rows = np.flatnonzero(is_linked)
    stability = replace(clusters.stability, of_row=clusters.stability.of_row[:n_rows])
    return (
        replace(clusters, consensus=own, stability=stability),
        HaloLabels(rows, of_halo[rows], is_core=clusters.core is not None),
    )


# ---- companions


@dataclass(frozen=True)
class WithCompanions(Steps):
    """The base method sees companions, other rows of the data, beside the medoids of a batch."""

    draw: DrawCompanions

    def of_run(self, run: Run, indexed: Run, level: int) -> Steps:
        """Return the part of a run: the companions of each batch."""
        numbered = enumerate(indexed.batches(), indexed.first_batch)
        drawn = [
            self.draw(indexed.index(offsets), (level, number)) for number, (offsets, _) in numbered
        ]
        return CompanionsOfRun(drawn)


@dataclass(frozen=True)
class CompanionsOfRun(Steps):
    """Companions of the batches of a run: values of rows, or None."""

    drawn: Sequence[Any]

    def contract(
        self, batch: BatchOfRun, contraction: Contraction, engine: Engine
    ) -> ContractedBatch:
        """Contract a batch; a base method that finds a cluster for each medoid needs no others."""
        companions = put_beside(self.drawn[batch.number], batch.X)
        if companions is None or contraction.views.method.finds_no_fewer_than(len(batch)):
            return super().contract(batch, contraction, engine)
        seen = join_rows([batch.X, companions])
        return _contract(batch, contraction, engine, seen=seen)
