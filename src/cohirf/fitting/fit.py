"""Run the levels of a fit, from opened data to a fitted state."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cohirf import progress
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import tally_features
from cohirf.algorithm.levels import (
    FitState,
    LevelRecord,
    Resources,
    contract_levels,
)
from cohirf.algorithm.randomness import root_entropy
from cohirf.algorithm.runs import PAPER, Steps
from cohirf.beyond.batch_steps import WithCompanions
from cohirf.beyond.choose_merge import explain_vanishing
from cohirf.beyond.companions import Companions, count_shown
from cohirf.beyond.fuse_batches import fuse_leaves
from cohirf.beyond.links import Links
from cohirf.beyond.reach import ThinBatchesWarning, explain_thin_batches
from cohirf.beyond.size_limits import SizeLimits
from cohirf.choice import Choice
from cohirf.data import Data
from cohirf.data.first_level import DataWeights, FirstLevel, Setup
from cohirf.engines import engine_of_views, engine_on_device, threads_of_fit
from cohirf.error_contexts import showing_warnings_once, warn_caller
from cohirf.fitting.begin import open_or_measure, valid_weights, warn_of_long_fit
from cohirf.fitting.contraction import make_contraction
from cohirf.fitting.end_of_levels import EndOfLevels
from cohirf.fitting.ending import Ending, LastLevel, end_update
from cohirf.fitting.limited import find_limits
from cohirf.fitting.linked import find_links, keep_links, move_together
from cohirf.fitting.locality import LocalData, LocalPlan, refuse_pipeline
from cohirf.fitting.merging import SampleOfFit, choose_first
from cohirf.fitting.policy import WARNING
from cohirf.fitting.quick_k_means import QuickKMeans
from cohirf.fitting.results import RunLevels, collect_results
from cohirf.fitting.settings import Settings, Settled
from cohirf.problems import find_problem
from cohirf.rows.grouping import IntArray
from cohirf.rows.storage import Engine, Population, Storage
from cohirf.scratch import ScratchStorage
from cohirf.store.checkpoint import ResumableEngine
from cohirf.summary.state import FittedState
from cohirf.summary.vectors import storage_like
from cohirf.wording import count_of


def fit_data(
    settings: Settings,
    data: Data,
    sample_weight: Any,
    known: Settled | None = None,
    former: IntArray | None = None,
    links: Any = None,
) -> FittedState:
    """Fit opened data; entropy and batch size may be ``known``, and then there is no checkpoint.

    Rows may have a ``former`` cluster, or -1: these clusters go on. Pairs of rows may have
    ``links``.
    """
    with ExitStack() as stack:
        if sample_weight is None:
            weights = None
        else:
            weights = valid_weights(settings, data, sample_weight)
        limits = find_limits(settings, data, weights)
        linked = find_links(settings, data, weights, links)
        if linked is not None:
            data = move_together(data, weights, linked)
        settled = known
        journal = None
        if settled is None:
            settled = Settled(root_entropy(settings.random_state), None)
            journal = None
            if settings.checkpoint is not None or settings.batch_size is not None:
                settled, journal = open_or_measure(settings, data, weights, settled.entropy, stack)
        stack.enter_context(threads_of_fit(settings.n_jobs))
        choice = None
        chosen_on = None
        if former is None and settings.family.chooses_first:
            choice, chosen_on = choose_first(settings, data, weights, settled.entropy)
            settings = settings.aiming_at(choice.n_clusters)
            if linked is not None:
                linked.refuse_too_few(choice.n_clusters)
        weighted = weights is not None or settings.sum_mass
        contraction = make_contraction(settings, data, settled, weighted=weighted)
        if known is None and data.rows.n_rows >= WARNING.rows:
            warn_of_long_fit(settings, data, contraction)
        stack.enter_context(showing_warnings_once())
        if weights is None or weights.positive is None:
            n_rows = data.rows.n_rows
        else:
            n_rows = len(weights.positive)
        fit = Fit(
            settings,
            data,
            weights,
            n_rows,
            contraction,
            choice,
            journal,
            chosen_on,
            limits,
            linked,
        )
        fit.warn_if_no_two_rows_can_fuse()
        plan = fit.plan_local()
        setup = fit.set_up(plan, fit.borders(former))
        first_level = data.contract_first_level(weights, setup)
        of_first_level = tally_features(contraction.views, data.n_features, 1, first_level.leaves)
        state, records, tally = fit.climb(first_level, plan, stays=former is not None)
        ending = fit.end(
            first_level, state, None if former is None else former[first_level.leaves.rows]
        )
        levels = RunLevels(records, state.level, of_first_level, tally)
        found = collect_results(settings, data, weights, ending, contraction, levels)
        fit.warn_of_problem(found.cluster_sizes)
        return replace(found, is_linked=linked is not None)


def _part_noise(former: IntArray) -> IntArray:
    """Return the former cluster of each row as a number that rows share if they may fuse.

    Noise fuses with nothing.

    Examples
    --------
    >>> _part_noise(np.array([2, -1, 0, -1]))
    array([ 2, -1,  0, -2])
    """
    is_noise = former < 0
    return np.where(is_noise, -np.cumsum(is_noise, dtype=np.int64), former)


@dataclass(frozen=True)
class Fit:
    """The levels of a fit."""

    settings: Settings  # parameters
    data: Data  # the data
    weights: DataWeights | None  # sample weights
    n_rows: int  # number of rows that take part
    contraction: Contraction  # how batches are contracted
    # the choice of the number of clusters, if it was made before the levels
    choice: Choice | None = None
    journal: Any = None  # where the checkpoint records runs
    chosen_on: SampleOfFit | None = None  # the rows of that choice, whose graph is used again
    limits: SizeLimits | None = None  # of the sizes of clusters
    links: Links | None = None  # between rows
    warned: list[str] = field(default_factory=list)  # warnings about this fit

    def plan_local(self) -> LocalPlan | None:
        """Return how local batches are made; None if batches are random, or if there is one."""
        method = self.contraction.views.method.prototype
        n_batches = count_batches(self.n_rows, self.contraction.batch_size)
        if n_batches == 1 or not self.settings.are_local(method):
            return None
        refuse_pipeline(method)
        rows = LocalData(self.data, self.n_rows, self.contraction, self.weights)
        return self.settings.family.plan_local(rows)

    def borders(self, former: IntArray | None) -> IntArray | None:
        """Return a number for each row that takes part: rows with different ones do not fuse.

        Groups do not reach over the borders of ``former`` clusters, and former noise is in no
        group.
        """
        if former is None:
            return None
        borders = _part_noise(former)
        if self.weights is None or self.weights.positive is None:
            return borders
        return borders[self.weights.positive]

    def set_up(self, plan: LocalPlan | None, apart: IntArray | None) -> Setup:
        """Return what the first level, which sees all rows, needs beside them."""
        return Setup(
            self.contraction,
            self.settings.n_jobs,
            self._resources,
            None if plan is None else plan.locality,
            None if plan is None else plan.label_batches,
            apart,
        )

    def climb(
        self, first_level: FirstLevel, plan: LocalPlan | None, *, stays: bool = False
    ) -> tuple[FitState, list[LevelRecord], NDArray[np.float64]]:
        """Run the levels above the first one.

        Warn if batches are too thin or the fit is unfinished.

        If the leaves stay as they are (``stays``), because their clusters are known, there are no
        such levels. Returns the last state, the record of each level, and sums over the views of
        levels above the first.
        """
        if first_level.readable is None:
            storage: Storage = ScratchStorage()
        else:
            storage = storage_like(first_level.part.leaf_of)
        if first_level.readable is None:
            values = self.data.rows
        else:
            values = first_level.readable
        kind = None if plan is None else plan.kind_of(first_level)
        state = FitState.of_leaves(
            first_level.leaves, values, self.n_rows, self.settings.max_iter, storage, kind
        )
        records: list[LevelRecord] = []
        tally = np.zeros((2, self.data.n_features))
        views = self.contraction.views
        levels = iter([state]) if stays else self._levels(first_level, state, plan, storage)
        for after in levels:
            state = after
            records.append(state.record)
            if state.level > 1 and plan is None:
                tally += tally_features(views, self.data.n_features, state.level, state.survivors)
            if self.settings.verbose:
                progress.say(progress.ContractedLevel(state.record, views.n_views))
        return state, records, tally

    def _levels(
        self, first_level: FirstLevel, state: FitState, plan: LocalPlan | None, storage: Storage
    ) -> Iterator[FitState]:
        """Yield the state after each level.

        Those of local batches only fuse clusters that reach over several.
        """
        if plan is not None:
            yield state
            parts = plan.find_parts(first_level, self._population.taking_part)
            if parts is not None and int(parts.max()) + 1 < len(parts):
                yield fuse_leaves(state, parts)
            return
        yield state
        if state.record.rows_held_aside and self._are_thin(state.record):
            return
        is_reached = self.settings.family.is_reached
        max_iter = self.settings.max_iter
        if max_iter > 1 and not is_reached(state):
            resources = self._resources(self.data.later_engine(self.settings.n_jobs), storage)
            state = state.with_steps(self._later_steps(first_level))
            for after in islice(
                contract_levels(state, self.contraction, max_iter, resources, is_reached), 1, None
            ):
                state = after
                yield state
        self._warn_if_unfinished(state)

    def _are_thin(self, record: LevelRecord) -> bool:
        """Warn if random batches are too thin for the base method; return whether the fit stops."""
        thin = explain_thin_batches(record, self.contraction.views.method)
        stops = self.settings.family.stops_when_thin
        if thin is not None:
            self._warn(f"{thin} The fit stops here." if stops else thin, ThinBatchesWarning)
        return thin is not None and stops

    def end(
        self, first_level: FirstLevel, state: FitState, former: IntArray | None = None
    ) -> Ending:
        """Grow the tree above the levels, and merge clusters to as many as are wanted.

        If leaves have a ``former`` cluster, or -1, these clusters go on, and noise stays noise.
        """
        settings = self.settings
        is_noise = None if former is None else former < 0
        last = LastLevel.of(
            first_level.leaves,
            state,
            labels_noise=settings.family.labels_noise,
            is_noise=is_noise,
        )
        if former is not None:
            return end_update(settings, first_level, last, former)
        levels = EndOfLevels(
            settings,
            self.data,
            self.weights,
            self.n_rows,
            self.contraction,
            first_level,
            last,
            self.choice,
            self.chosen_on,
            self.limits,
        )
        ending = settings.family.end(levels)
        if self.links is not None:
            ending = keep_links(levels, ending, self.links)
        self._warn_of_ending(ending, levels)
        if settings.verbose and ending.choice is not None:
            progress.say(ending.choice)
        return ending

    def _warn_of_ending(self, ending: Ending, levels: EndOfLevels) -> None:
        """Warn of fewer clusters than asked for, and of a choice at the end of its range."""
        too_close = None
        if ending.choice is not None and ending.n_found == 1:
            too_close = explain_vanishing(levels.chooser.sample.values)
        if too_close is not None:
            self._warn(too_close)
        elif self.settings.family.is_missed(ending.n_found):
            self._warn(self._explain_too_few(ending.n_found))
        if ending.choice is not None and ending.choice.is_largest:
            self._warn(ending.choice.explain_largest())

    def warn_of_problem(self, sizes: IntArray) -> None:
        """Warn if clusters with these numbers of rows are useless, unless a warning has said
        why.
        """
        keeps_noise = self.settings.family.keeps_noise
        problem = find_problem(sizes, self.n_rows - int(sizes.sum()), keeps_noise=keeps_noise)
        if problem is not None and not self.warned:
            self._warn(problem.describe(self.settings.remedies))

    def _warn(self, message: str, category: type[Warning] = ConvergenceWarning) -> None:
        self.warned.append(message)
        warn_caller(message, category)

    def _explain_too_few(self, n_found: int) -> str:
        n_clusters = self.settings.family.n_clusters
        if n_found == 0:
            ways = self.settings.remedies.to_less_noise()
            return (
                f"All of the rows are noise, so n_clusters={n_clusters} cannot be reached: {ways}."
            )
        name = self.settings.base_name
        asked = f"n_clusters={n_clusters} cannot be reached:"
        if self.contraction.views.method.number_name is not None:
            return (
                f"{asked} {name} found only {count_of(n_found, 'group')}, or the data has only "
                "that many distinct rows. Lower n_clusters."
            )
        return (
            f"{asked} {name} found {count_of(n_found, 'cluster')}, and clusters can only be "
            "merged. Lower n_clusters, or let the base method find more clusters."
        )

    @property
    def _population(self) -> Population:
        return Population(self.data.rows, self.weights)

    def _resources(self, engine: Engine, storage: Storage) -> Resources:
        """Return resources with an engine that records runs in the checkpoint and shows
        progress.
        """
        if self.journal is not None:
            engine = ResumableEngine(engine, self.journal)
        if self.settings.verbose:
            engine = progress.WatchedEngine(engine)
        if self.contraction.device is not None:
            of_views = engine_on_device()
        else:
            divides_rows = isinstance(self.contraction.views.method.prototype, QuickKMeans)
            of_views = engine_of_views(self.settings.n_jobs, in_threads=divides_rows)
        return Resources(engine, of_views, storage)

    def _later_steps(self, first_level: FirstLevel) -> Steps:
        """Return how batches of levels above the first are contracted.

        If medoids have masses, and the base method takes no weights, it sees other rows of the data
        beside them.
        """
        settings = self.settings
        if not settings.sum_mass or settings.take_weights:
            return PAPER
        assert settings.base is not None  # the default takes weights
        n_shown = count_shown(settings.base, self.contraction.batch_size)
        entropy = self.contraction.views.entropy
        companions = Companions(self.data.rows, entropy, n_shown, first_level.leaves.rows)
        return WithCompanions(companions.draw)

    def warn_if_no_two_rows_can_fuse(self) -> None:
        """Warn if the base method is to find at least as many clusters as there are rows."""
        n_rows = self.n_rows
        n_clusters = self.settings.family.count_asked(self.contraction.views.method)
        if n_clusters is not None and n_clusters >= n_rows > 1:
            self._warn(
                f"n_clusters={n_clusters} of {self.settings.base_name} is at least the number of "
                f"rows ({n_rows}), so only identical rows fuse: lower n_clusters.",
            )

    def _warn_if_unfinished(self, state: FitState) -> None:
        if state.stalled:
            self._warn(
                f"Levels {state.level - 1} and {state.level} merged nothing in any batch: "
                f"{state.n_active} clusters are left. Raise batch_size above "
                f"{self.contraction.batch_size}, or choose a base method that merges more.",
            )
        elif not self.settings.family.is_reached(state) and state.idle_levels == 0:
            self._warn(
                f"The last level still merged clusters when max_iter={self.settings.max_iter} was "
                "reached: raise max_iter, or ignore this warning if the fit is meant to stop "
                "there.",
            )
