"""Run the levels of a model again after its rows have changed: from a summary to a fitted state.

All updates end here. A model that keeps all its rows is fitted to them; of others, the upper levels
run on the groups. Then clusters get the numbers that they had before.
"""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf import progress, validation
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.choice import Choice
from cohirf.data import InMemory
from cohirf.data.first_level import FirstLevel
from cohirf.engines import threads_of_fit
from cohirf.error_contexts import showing_warnings_once
from cohirf.fitting import Fit, fit_data
from cohirf.fitting.contraction import make_contraction
from cohirf.fitting.results import Clusters, Kept, RunLevels, make_state
from cohirf.fitting.settings import Settings, Settled
from cohirf.landmarks import LANDMARK, sample_landmarks
from cohirf.rows.grouping import IntArray, Mass
from cohirf.rows.later import Later
from cohirf.summary.numbers import Changes, Overlap, Step, continue_history, keep_names
from cohirf.summary.rows import RowResults
from cohirf.summary.state import FittedState, KnownValues
from cohirf.summary.summary import RowGroups, Summary, stack


def find_block_size(batch_size: int | None) -> int:
    """Return the number of rows of a block, in which new rows are contracted."""
    return LANDMARK.landmarks if batch_size is None else batch_size


@dataclass(frozen=True, eq=False)
class Transition:
    """The rows of a model after a change, and where those from before it are now."""

    after: (
        Summary  # the summary after the change. Unless clusters go on, its labels are not known yet
    )
    before: IntArray  # for each group from before, the number of its cluster before
    now: IntArray  # the position, after the change, of the group that it belongs to
    sizes: IntArray  # the number of its rows that are still there
    n_rows: int  # number of rows that have come, or gone if it is negative
    # rows whose values are known, besides those of groups; None if there are none
    known: KnownValues | None
    column_means: NDArray[np.floating[Any]] | None  # by which missing cells of groups are replaced
    # for each cluster number before, how many rows of it were forgotten
    lost: dict[int, int] = field(default_factory=dict)
    goes_on: bool = False  # whether the clusters go on, so that those of all rows are known
    n_first: int = (
        0  # numbers below this are those of the first model of a merge, which last before others
    )
    verb: str = "update"  # what changes the rows, as in ``Changes``

    @property
    def former(self) -> IntArray | None:
        """The cluster of each group, if it is known because clusters go on."""
        return self.after.labels if self.goes_on else None


def rerun(settings: Settings, before: FittedState | None, transition: Transition) -> FittedState:
    """Return the state of a model after a change of its rows."""
    after = transition.after
    found, labels = find_clusters(settings, transition)
    choice = found.choice
    if transition.goes_on and before is not None:
        choice = _keep_choice(before.choice, int(after.sizes[labels < 0].sum()))
    numbers, changes = match_numbers(transition, labels, found.n_clusters)
    if settings.verbose:
        progress.say(changes)
    named = np.append(numbers, -1)  # the last entry is that of noise
    next_number = max(after.next_number, int(numbers.max(initial=-1)) + 1)
    summary = replace(after, labels=named[labels], next_number=next_number).settled()
    step = Step.of(changes, summary.labels, summary.sizes)
    history = continue_history(begin_history(before, transition), step)
    names = keep_names({} if before is None else before.names, numbers, history)
    return replace(
        found,
        clusters=found.clusters.renumbered(numbers),
        choice=choice,
        rows=found.rows.renamed(named),
        landmarks=found.landmarks.renamed(named),
        summary=Later.known(summary),
        changes=changes.named(names, {}),
        history=history,
        names=names,
    )


def begin_history(before: FittedState | None, transition: Transition) -> tuple[Step, ...]:
    """Return the history of a model before a change; that of a fit is the fit."""
    if before is None:
        return ()
    return before.history or (Step.first(transition.before, transition.sizes),)


def find_clusters(settings: Settings, transition: Transition) -> tuple[FittedState, IntArray]:
    """Return the state from what a model keeps of its rows, and the cluster of each group.

    Clusters are numbered from 0, and -1 is noise. If clusters go on, they have the rows that they
    had.
    """
    if transition.after.keeps_all:
        found = fit_kept(settings, transition.after, transition.former)
        return found, found.labels
    found = climb(settings, transition)
    return found, found.rows.labels


def _keep_choice(choice: Choice | None, n_noise: int) -> Choice | None:
    """Return the choice of clusters that go on, with the number of rows that are in none of them
    now.
    """
    if choice is None or choice.min_share == 0 or choice.n_aside == n_noise:
        return choice
    return replace(choice, n_aside=n_noise)


def fit_kept(settings: Settings, summary: Summary, former: IntArray | None) -> FittedState:
    """Fit a model to all its rows, which it has kept.

    Clusters of rows from before, the ``former`` ones, go on.
    """
    values = summary.groups.values
    weights = summary.groups.weights
    fills = isinstance(values, np.ndarray) and settings.take_nan
    data = InMemory(values, validation.column_means(values) if fills else None)
    settled = Settled(summary.entropy, summary.batch_size)
    return fit_data(settings, data, weights, settled, former)


def climb(settings: Settings, transition: Transition) -> FittedState:
    """Run the upper levels on the groups of a summary, in batches of the size of its blocks."""
    summary = transition.after
    former = transition.former
    with ExitStack() as contexts:
        contexts.enter_context(threads_of_fit(settings.n_jobs))
        contexts.enter_context(showing_warnings_once())
        groups = summary.groups.completed(transition.column_means)
        batches = summary.batches
        data = InMemory(groups.values, transition.column_means)
        weighted = groups.weights is not None or settings.sum_mass
        settled = Settled(summary.entropy, find_block_size(summary.batch_size))
        contraction = make_contraction(
            settings, data, settled, weighted=weighted, n_batches=len(batches.sizes) + 1
        )
        if weighted:
            mass = upper_mass(groups, sum_mass=settings.sum_mass)
        else:
            mass = None
        first_level = FirstLevel.of_groups(groups.as_survivors(data.rows, mass, batches))
        fit = Fit(settings, data, None, summary.n_rows, contraction)
        state, records, tally = fit.climb(first_level, None, stays=former is not None)
        ending = fit.end(first_level, state, former)
        clusters = Clusters.of(settings, data, ending)
        fit.warn_of_problem(clusters.sizes)
        kept = keep_landmarks(transition, data, clusters)
        rows = RowResults.of(
            summary.row_map, groups.rows, clusters.labels, summary.sizes, ending.state.fusions
        )
        levels = RunLevels(records, state.level, batches.tally, tally)
        found = make_state(data, None, clusters, kept, rows, contraction, levels)
        is_weighted = groups.weights is not None
        return replace(found, batch_size=summary.batch_size, is_weighted=is_weighted)


def upper_mass(groups: RowGroups, *, sum_mass: bool) -> Mass:
    """Return the mass of groups in the upper levels: their total weight or, without ``sum_mass``, 1
    for each medoid.

    Rows that the first level has not clustered are not medoids, and keep their weight.
    """
    if sum_mass:
        return groups.mass
    return np.where(np.isnan(groups.stability), groups.mass, 1.0)


def keep_landmarks(transition: Transition, data: InMemory, clusters: Clusters) -> Kept:
    """Choose rows to keep for ``predict``: among those that stand for groups and those that were
    kept before.
    """
    summary = transition.after
    own = clusters.first_level.leaves.rows
    rows = own
    leaves = np.arange(len(own))
    points = fill_missing(data.X, data.column_means)
    if transition.known is not None:
        others = transition.known.take(~np.isin(transition.known.rows, own))
        if len(others.rows):
            rows = np.concatenate([own, others.rows])
            leaves = np.concatenate([leaves, summary.row_map.find_leaves(others.rows)])
            points = stack([points, others.points])
    order = np.argsort(rows)
    medoids = np.searchsorted(rows[order], own[clusters.medoids])
    rng = generator_at(summary.entropy, Draw.LANDMARKS)
    some = order[sample_landmarks(clusters.labels[leaves[order]], medoids, rng)]
    return Kept(rows[some], leaves[some], points[some])


# ---- numbers that last


def match_numbers(
    transition: Transition, labels: IntArray, n_clusters: int
) -> tuple[IntArray, Changes]:
    """Return the number of each cluster, and what has changed.

    ``labels`` has the cluster of each group of rows, numbered from 0 by first row, or -1.
    """
    after = transition.after
    overlap = Overlap.of(transition.before, labels[transition.now], transition.sizes)
    numbers = overlap.match(n_clusters, after.next_number, transition.n_first)
    clustered = labels >= 0
    rows_in = np.bincount(
        labels[clustered], weights=after.sizes[clustered], minlength=n_clusters
    ).astype(np.int64)
    update = len(after.update_rows) - 1
    changes = overlap.describe(
        numbers, rows_in, update, transition.n_rows, transition.lost, transition.n_first
    )
    return numbers, replace(changes, verb=transition.verb)
