"""One state out of several, which are those of models of different rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from cohirf.data import InMemory
from cohirf.fitting.settings import Settings
from cohirf.rows.grouping import IntArray
from cohirf.rows.later import Later
from cohirf.summary.numbers import Step
from cohirf.summary.rows import RowMap
from cohirf.summary.state import FittedState, KnownValues
from cohirf.summary.summary import ContractedBatches, RowGroups, Summary, stack
from cohirf.updating.rerun import Transition, find_block_size, find_clusters, rerun
from cohirf.updating.update import goes_on, refuse_rows, summary_of


@dataclass(frozen=True, eq=False)
class Member:
    """A model that is merged with others."""

    settings: Settings
    state: FittedState

    @property
    def summary(self) -> Summary:
        """What it keeps of its rows; an error if it does not keep what a merge needs."""
        return summary_of(self.settings, self.state)


def join(members: Sequence[Member], *, exemplars_only: bool) -> FittedState:
    """Return the state of a model with the rows of all; it has the settings of the first."""
    if exemplars_only:
        members = [replace(member, state=reduce_to_clusters(member)) for member in members]
    settings = members[0].settings
    if depends_on_order(settings):
        order = order_members(members)
    else:
        order = np.arange(len(members))
    column_means = members[order[0]].state.column_means
    transition = replace(join_rows(settings, members), column_means=column_means)
    before = replace(members[0].state, names=join_names(members), history=begin_history(members[0]))
    n_wanted = count_wanted(members)
    if (order[1:] < order[:-1]).any() or n_wanted != settings.family.n_clusters:
        # clusters are found in another order than that of the rows, or more than at the fit; then
        # they go on in this
        in_order = [members[one] for one in order]
        aimed = settings if n_wanted is None else settings.aiming_at(n_wanted)
        found, labels = find_clusters(
            aimed,
            replace(join_rows(aimed, in_order), column_means=column_means, goes_on=False),
        )
        bounds = np.cumsum([len(member.summary.groups) for member in in_order])[:-1]
        of_members = dict(zip(order.tolist(), np.split(labels, bounds), strict=True))
        label = np.concatenate([of_members[number] for number in range(len(members))])
        transition = replace(
            transition, after=replace(transition.after, labels=label), goes_on=True
        )
        before = replace(before, choice=found.choice)
    return rerun(settings, before, transition)


def begin_history(member: Member) -> tuple[Step, ...]:
    """Return the history of the first model; that of a fit is the fit."""
    summary = member.summary
    return member.state.history or (Step.first(summary.labels, summary.sizes),)


def join_names(members: Sequence[Member]) -> dict[int, str]:
    """Return the names of the clusters of all models.

    Those of the second are numbered after the first, and so on.
    """
    names = {}
    start = 0
    for member in members:
        names.update({start + number: name for number, name in member.state.names.items()})
        start += member.summary.next_number
    return names


def depends_on_order(settings: Settings) -> bool:
    """Return whether the clusters of a model depend on the order of its rows, by which random
    numbers are drawn.
    """
    return settings.family.takes_k or settings.family.clusters_last


def count_wanted(members: Sequence[Member]) -> int | None:
    """Return the number of clusters of a merged model, if that is given: clusters that were born
    since the fit count.

    None if the number is chosen, or found by the base method.
    """
    given = members[0].settings.family.n_clusters
    if given is None or len(members) == 1:
        return given
    return max(given, *(member.state.n_clusters for member in members))


def order_members(members: Sequence[Member]) -> IntArray:
    """Return an order of models that is the same however they are given: the largest first, then by
    their values.
    """
    keys = [
        (-member.summary.n_rows, InMemory(member.summary.groups.values).fingerprint())
        for member in members
    ]
    return np.array(sorted(range(len(keys)), key=keys.__getitem__))


def reduce_to_clusters(member: Member) -> FittedState:
    """Return the state of a model with one group for each cluster: its exemplar, its mean and its
    number of rows. No other row is known.
    """
    state = member.state
    summary = member.summary
    groups = summary.groups.completed(state.column_means)
    numbers = state.cluster_numbers
    label = np.searchsorted(numbers, summary.labels)
    rows = state.clusters.exemplar_indices
    order = np.argsort(rows)
    whole = groups.joined(np.zeros(len(numbers), dtype=np.int64), label, 1)
    clusters = replace(
        whole,
        rows=rows,
        values=state.clusters.exemplars,
        stability=np.full(len(numbers), np.nan, dtype=np.float32),
        is_stand_in=np.isin(rows, summary.unknown_rows),
    )
    reduced = replace(
        summary,
        groups=clusters.take(order),
        row_map=summary.row_map.moved(np.argsort(order)[label]),
        batches=_one_batch(member) if summary.keeps_all else summary.batches,
        labels=numbers[order],
    )
    landmarks = replace(
        state.landmarks, points=state.landmarks.points[:0], labels=state.landmarks.labels[:0]
    )
    return replace(
        state,
        summary=Later.known(reduced),
        landmarks=landmarks,
        landmark_rows=state.landmark_rows[:0],
    )


def _one_batch(member: Member) -> ContractedBatches:
    costs = np.array([[member.settings.n_views, np.nan, 1.0, 0.0, 0.0, 0.0]])
    tally = np.zeros((2, member.state.n_features))
    return ContractedBatches(np.array([member.summary.n_rows]), costs, tally)


def join_known_rows(members: Sequence[Member]) -> KnownValues:
    """Return the rows of all models whose values are known."""
    known = [member.state.known_rows for member in members]
    starts = np.cumsum([0, *(member.summary.n_rows for member in members)])
    rows = [each.rows + start for each, start in zip(known, starts, strict=False)]
    return KnownValues(np.concatenate(rows), stack([each.points for each in known]))


def join_rows(settings: Settings, members: Sequence[Member]) -> Transition:
    """Return the change from several models to one with the rows of all."""
    summaries = [member.summary for member in members]
    first = summaries[0]
    numbers = np.cumsum([0, *(summary.next_number for summary in summaries)])
    before = [
        np.where(summary.labels < 0, -1, summary.labels + number)
        for summary, number in zip(summaries, numbers, strict=False)
    ]
    joined = replace(
        first,
        next_number=int(numbers[-1]),
        update_rows=tuple(n_rows for summary in summaries for n_rows in summary.update_rows),
    )
    n_rows = sum(summary.n_rows for summary in summaries)
    sizes = np.concatenate([summary.sizes for summary in summaries])
    family = settings.family
    may_keep_all = family.keeps_rows(n_rows, find_block_size(first.batch_size))
    keeps_all = may_keep_all and all(summary.keeps_all for summary in summaries)
    if not keeps_all and not family.contracts_updates:
        refuse_rows(settings, n_rows)
    after = _join_groups(joined, summaries)
    if not keeps_all:
        after = replace(after, batches=_join_batches(members))
    going_on = len(members) == 1 and goes_on(settings, members[0].state)
    return Transition(
        after,
        np.concatenate(before),
        np.arange(len(sizes)),
        sizes,
        n_rows - first.n_rows,
        known=join_known_rows(members),
        column_means=members[0].state.column_means,
        goes_on=going_on,
        n_first=first.next_number,
        verb="merge",
    )


def _join_groups(joined: Summary, summaries: Sequence[Summary]) -> Summary:
    """Return the summary with the groups of all models."""
    row_starts = np.cumsum([0, *(summary.n_rows for summary in summaries)])
    group_starts = np.cumsum([0, *(len(summary.groups) for summary in summaries)])
    groups = [
        summary.groups.shifted(int(start))
        for summary, start in zip(summaries, row_starts, strict=False)
    ]
    parts = [
        part
        for summary, (start, stop) in zip(summaries, pairwise(group_starts.tolist()), strict=True)
        for part in summary.row_map.moved(np.arange(start, stop)).parts
    ]
    return replace(joined, groups=RowGroups.join(groups), row_map=RowMap(tuple(parts)))


def _join_batches(members: Sequence[Member]) -> ContractedBatches:
    batches = [member.summary.batches for member in members if member.summary.groups.heights.any()]
    if not batches:  # all rows are pending
        batches = [_one_batch(member) for member in members]
    return ContractedBatches(
        np.concatenate([each.sizes for each in batches]),
        np.concatenate([each.costs for each in batches]),
        np.sum([each.tally for each in batches], axis=0),
    )
