"""The coordinator: levels of CoHiRF from labels and ranks alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from numbers import Integral
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.consensus import (
    Consensus,
    fold_views,
    measure_stability,
    relaxed_consensus,
    strict_consensus,
)
from cohirf.algorithm.parents import find_roots, get_final_labels
from cohirf.beyond.majority import majority_consensus
from cohirf.beyond.votes import VotedCodes, group_by_votes
from cohirf.hierarchy import FusionHierarchy
from cohirf.parties.party import NOT_HELD, Party, PartyError, Request
from cohirf.rows.grouping import IntArray, best_by_label, sum_by_label
from cohirf.voting import consensus as vote
from cohirf.voting import read_consensus
from cohirf.wording import number_repeated


@dataclass(frozen=True)
class PartyResult:
    """What parties have found together.

    Attributes
    ----------
    labels : array of int, shape (n_rows,)
        Cluster of each row, numbered by first appearance; with ``n_clusters``, -1 for rows that are
        noise at every party.
    n_clusters : int
        Number of clusters.
    medoid_indices : array of int, shape (n_clusters,)
        The most central row of each cluster, by the mean of its ranks at all parties.
    stability : array of float32, shape (n_rows,)
        Mean over all views of all parties of the Jaccard index between the row's group and its
        cluster in that view.
    hierarchy : FusionHierarchy
        All fusions.
    n_iter : int
        Number of levels.
    """

    labels: IntArray
    n_clusters: int
    medoid_indices: IntArray
    stability: NDArray[np.float32]
    hierarchy: FusionHierarchy
    n_iter: int


def run(
    parties: Sequence[Party],
    *,
    n_clusters: int | None = None,
    consensus: str | float = "strict",
    medoid_weights: bool = False,
    max_iter: int = 100,
) -> PartyResult:
    """Cluster the rows of several parties, all of which are in this process.

    Parameters
    ----------
    parties : list of Party
        The parties, with different names.
    n_clusters : int, default=None
        The number of clusters. The labels of all parties then vote once, as in
        :func:`cohirf.consensus`. None means the algorithm of the paper: levels until nothing fuses,
        however many clusters are left.
    consensus : {"strict", "relaxed", "majority"} or float, default="strict"
        Which rows fuse at a level, as in :class:`cohirf.CoHiRF`.
    medoid_weights : bool, default=False
        Whether base methods and ranks take into account how many rows a medoid stands for.
    max_iter : int, default=100
        Largest number of levels.

    Returns
    -------
    result : PartyResult
        ``labels``, ``n_clusters``, ``medoid_indices``, ``stability``, ``hierarchy`` and ``n_iter``.

    See Also
    --------
    cohirf.parties.run_folder : The same for parties in other processes or on other machines.
    """
    options: dict[str, Any] = {
        "consensus": consensus,
        "medoid_weights": medoid_weights,
        "max_iter": max_iter,
    }
    return coordinate(_InProcess(parties), n_clusters=n_clusters, **options)


class Channel(Protocol):
    """How the coordinator reaches the parties."""

    n_rows: int

    def ask(self, request: Request) -> list[IntArray]:
        """Return the answer of each party, in the order of their names."""


class _InProcess:
    """Parties in this process."""

    def __init__(self, parties: Sequence[Party]) -> None:
        self._parties = sorted(parties, key=lambda party: party.name)
        if not parties:
            raise PartyError("There are no parties: give at least one.")
        names = number_repeated([party.name for party in self._parties])
        check_parties(
            dict(
                zip(
                    names,
                    ((party.n_rows, party.ids_digest) for party in self._parties),
                    strict=True,
                )
            )
        )
        self.n_rows = self._parties[0].n_rows

    def ask(self, request: Request) -> list[IntArray]:
        """Return the answer of each party."""
        answers = []
        for party in self._parties:
            answers.append(party.answer(request))
            party.note({"number": request.number, "kind": request.kind}, answers[-1].tobytes())
        return answers


def check_parties(joined: dict[str, tuple[int, str | None]]) -> None:
    """Raise unless all parties have the same rows in the same order, as far as they tell."""
    (first, (n_rows, digest)), *others = joined.items()
    for name, (n_other, other_digest) in others:
        if n_other != n_rows:
            raise PartyError(
                f"{name} has {n_other:,} rows, but {first} has {n_rows:,}: give the same rows in "
                "the same order, or rows= and n_rows= for a party that does not have all of them."
            )
        if None not in (digest, other_digest) and other_digest != digest:
            raise PartyError(
                f"{name} and {first} have different ids, or the same ids in different orders: give "
                "both the same rows, sorted by id."
            )


def coordinate(
    channel: Channel,
    *,
    n_clusters: int | None = None,
    consensus: str | float = "strict",
    medoid_weights: bool = False,
    max_iter: int = 100,
) -> PartyResult:
    """Run the levels, asking the parties of a channel; see ``run``."""
    session, (needed, threshold) = _Session(channel), read_consensus(consensus)
    if consensus == "refined":
        raise ValueError(
            'consensus="refined" is not valid: give "majority", "strict", "relaxed", or n_clusters.'
        )
    if not isinstance(max_iter, Integral) or max_iter < 1:
        raise ValueError(f"max_iter={max_iter!r} is not valid: give a number of at least 1.")
    if n_clusters is not None:
        return session.vote(n_clusters)
    return session.contract(needed, threshold, max_iter, has_mass=medoid_weights)


class _Session:
    """Numbers the requests of one run."""

    def __init__(self, channel: Channel) -> None:
        self._channel = channel
        self._number = 0
        self.n_rows = channel.n_rows

    def vote(self, n_clusters: int) -> PartyResult:
        """Let the labels of all parties vote once."""
        rows = np.arange(self.n_rows)
        found = vote(np.concatenate(self._ask_labels(1, rows, None), axis=1), n_clusters=n_clusters)
        some = np.flatnonzero(found.labels >= 0)
        medoids = self._ask_medoids(1, some, found.labels[some], found.n_clusters, None)
        self._ask("done", 0, rows, found.labels, None)
        return PartyResult(
            found.labels, found.n_clusters, medoids, found.stability, found.hierarchy, 1
        )

    def contract(
        self, needed: float, threshold: float | None, max_iter: int, *, has_mass: bool
    ) -> PartyResult:
        """Contract level after level, until nothing fuses."""
        if needed == 1:
            agree = strict_consensus
        else:
            agree = partial(majority_consensus, majority=needed)
        if threshold is None:
            agree = agree
        else:
            agree = partial(relaxed_consensus, threshold=threshold)
        active: IntArray = np.arange(self.n_rows)
        parents = active.copy()
        absorbed_at = np.zeros(self.n_rows, dtype=np.uint32)
        stability = np.empty(self.n_rows, dtype=np.float32)
        mass = np.ones(self.n_rows, dtype=np.int64) if has_mass else None
        for level in range(1, max_iter + 1):
            answers = np.concatenate(self._ask_labels(level, active, mass), axis=1)
            codes = fold_views(answers.T, len(active), mass)
            if (
                answers == NOT_HELD
            ).any():  # rows are compared at the parties that have them; noise is no opinion, too
                voted = VotedCodes.of(codes.distinct, codes.counts, codes.mass)
                groups = group_by_votes(voted, needed, None, joins_all=False)
                of_row = groups.merged_to(groups.n_agreed)[groups.of_code][codes.of_row].astype(
                    np.int32
                )
                found = Consensus(of_row, groups.n_agreed, tuple(range(codes.n_views)))
            else:
                found = agree(codes)
            stability[active] = measure_stability(codes, found).of_row
            medoids = self._ask_medoids(level, active, found.labels, found.n_clusters, mass)
            of_active = medoids[found.labels]
            is_absorbed = of_active != active
            parents[active], absorbed_at[active[is_absorbed]] = of_active, level
            order = np.argsort(medoids)
            if mass is not None:
                mass = sum_by_label(found.labels, mass, found.n_clusters).astype(np.int64)[order]
            active = medoids[order]
            if not is_absorbed.any():
                break
        labels, roots = get_final_labels(find_roots(parents, absorbed_at, level))
        self._ask("done", 0, np.arange(self.n_rows), labels, None)
        return PartyResult(
            labels, len(roots), roots, stability, FusionHierarchy(parents, absorbed_at), level
        )

    def _ask_labels(self, level: int, rows: IntArray, mass: IntArray | None) -> list[IntArray]:
        answers = self._ask("label", level, rows, None, mass)
        held = np.any([(labels != NOT_HELD).any(axis=1) for labels in answers], axis=0)
        if not held.all():
            raise PartyError(
                f"No party has row {rows[np.argmin(held)]:,}: leave it out, or let a party add it."
            )
        return answers

    def _ask_medoids(
        self, level: int, rows: IntArray, clusters: IntArray, n_clusters: int, mass: IntArray | None
    ) -> IntArray:
        ranks = self._ask("rank", level, rows, clusters, mass)
        return rows[combine_ranks(ranks, clusters, n_clusters)]

    def _ask(
        self, kind: str, level: int, rows: IntArray, clusters: Any, mass: Any
    ) -> list[IntArray]:
        self._number += 1
        return self._channel.ask(Request(self._number, kind, level, rows, clusters, mass))


def combine_ranks(ranks: Sequence[IntArray], clusters: IntArray, n_clusters: int) -> IntArray:
    """Return the position of the row of each cluster that has the lowest mean rank over the parties
    that have it.

    The rank of a row is divided by the number of rows of its cluster that the party has.
    """
    total = np.zeros(len(clusters))
    n_ranks = np.zeros(len(clusters))
    for of_party in ranks:
        held = of_party >= 0
        sizes = sum_by_label(clusters[held], None, n_clusters)
        total[held] += of_party[held] / sizes[clusters[held]]
        n_ranks += held
    # 2 is worse than any share
    mean = np.divide(total, n_ranks, out=np.full(len(clusters), 2.0), where=n_ranks > 0)
    return best_by_label(-mean, clusters, n_clusters)
