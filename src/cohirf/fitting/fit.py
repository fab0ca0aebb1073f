"""Run the levels of a fit, from opened data to a fitted state."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache
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
    DrawCompanions,
    FitState,
    LevelRecord,
    Resources,
    contract_levels,
)
from cohirf.algorithm.randomness import Draw, generator_at, root_entropy
from cohirf.algorithm.runs import Links
from cohirf.beyond.choose_merge import explain_vanishing
from cohirf.beyond.companions import Companions, count_shown
from cohirf.beyond.local_batches import Locality, find_parts, fuse_leaves, number_parts
from cohirf.beyond.reach import ThinBatchesWarning, explain_thin_batches, links_every_row
from cohirf.choice import Choice
from cohirf.data import Data
from cohirf.data.first_level import DataWeights, FirstLevel, Setup
from cohirf.engines import local_engine
from cohirf.engines.local import one_thread
from cohirf.error_contexts import showing_warnings_once, warn_caller
from cohirf.fitting.begin import LOOKED_AT_ROWS, open_or_measure, valid_weights, warn_of_long_fit
from cohirf.fitting.ending import Ending, LastLevel, end_fit, end_update
from cohirf.fitting.locality import choose_locality
from cohirf.fitting.merging import (
    Chooser,
    Division,
    SampleOfFit,
    choose_first,
    divide_by_means,
    divide_by_points,
    leaves_as_candidates,
    linking,
)
from cohirf.fitting.results import RunLevels, collect_results
from cohirf.fitting.settings import Settings, Settled, make_contraction
from cohirf.landmarks import Cells
from cohirf.problems import find_problem
from cohirf.rows.grouping import IntArray
from cohirf.rows.storage import Engine, Population, SerialEngine, Storage
from cohirf.scratch import ScratchStorage
from cohirf.spanning.settings import settings_of
from cohirf.store.checkpoint import ResumableEngine
from cohirf.summary.rows import storage_like
from cohirf.summary.state import FittedState


def fit_data(
    settings: Settings,
    data: Data,
    sample_weight: Any,
    known: Settled | None = None,
    former: IntArray | None = None,
) -> FittedState:
    """Fit opened data; entropy and batch size may be ``known``, and then there is no checkpoint.

    Rows may have a ``former`` cluster, or -1: these clusters go on.
    """
    with ExitStack() as stack:
        if sample_weight is None:
            weights = None
        else:
            weights = valid_weights(settings, data, sample_weight)
        settled = known
        journal = None
        if settled is None:
            settled = Settled(root_entropy(settings.random_state), None)
            journal = None
            if settings.checkpoint is not None or settings.batch_size is not None:
                settled, journal = open_or_measure(settings, data, weights, settled.entropy, stack)
        stack.enter_context(one_thread())
        choice = None
        chosen_on = None
        if former is None and settings.goal.is_chosen and settings.goal.is_told:
            choice, chosen_on = choose_first(settings, data, weights, settled.entropy)
            settings = settings.aiming_at(choice.n_clusters)
        weighted = weights is not None or settings.sum_mass
        contraction = make_contraction(settings, data, settled, weighted=weighted)
        if known is None and data.rows.n_rows >= LOOKED_AT_ROWS:
            warn_of_long_fit(settings, data, contraction)
        stack.enter_context(showing_warnings_once())
        if weights is None or weights.positive is None:
            n_rows = data.rows.n_rows
        else:
            n_rows = len(weights.positive)
        fit = Fit(settings, data, weights, n_rows, contraction, choice, journal, chosen_on)
        setup = fit.prepare(former)
        first_level = data.contract_first_level(weights, setup)
        of_first_level = tally_features(contraction.views, data.n_features, 1, first_level.leaves)
        state, records, tally = fit.climb(first_level, setup.locality, stays=former is not None)
        ending = fit.end(
            first_level, state, None if former is None else former[first_level.leaves.rows]
        )
        levels = RunLevels(records, state.level, of_first_level, tally)
        found = collect_results(settings, data, weights, ending, contraction, levels)
        fit.warn_of_problem(found.cluster_sizes)
        return found


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
    warned: list[str] = field(default_factory=list)  # warnings about this fit

    def prepare(self, former: IntArray | None = None) -> Setup:
        """Return what the first level, which sees all rows, needs beside them.

        Groups do not reach over the borders of ``former`` clusters, and former noise is in no
        group.
        """
        self._warn_if_no_two_rows_can_fuse()
        locality = None
        label_batches = None
        if self._has_several_batches:
            found = choose_locality(
                self.settings, self.data, self.n_rows, self.contraction, self.weights
            )
            locality, label_batches = found
        apart = None if former is None else _part_noise(former)
        if apart is not None and self.weights is not None and self.weights.positive is not None:
            apart = apart[self.weights.positive]
        return self.set_up(locality, label_batches, apart)

    def set_up(
        self,
        locality: Locality | None = None,
        label_batches: Any = None,
        apart: IntArray | None = None,
    ) -> Setup:
        """Return what the first level needs beside the rows."""
        return Setup(
            self.contraction, self.settings.n_jobs, self._resources, locality, label_batches, apart
        )

    def climb(
        self, first_level: FirstLevel, locality: Locality | None, *, stays: bool = False
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
        kind = None if locality is None else self._find_kind(first_level)
        state = FitState.of_leaves(
            first_level.leaves, values, self.n_rows, self.settings.max_iter, storage, kind
        )
        records: list[LevelRecord] = []
        tally = np.zeros((2, self.data.n_features))
        views = self.contraction.views
        for after in (
            iter([state]) if stays else self._levels(first_level, state, locality, storage)
        ):
            state = after
            records.append(state.record)
            if state.level > 1 and locality is None:
                tally += tally_features(views, self.data.n_features, state.level, state.survivors)
            if self.settings.verbose:
                progress.say(progress.describe_level(state.record, views.n_views))
        return state, records, tally

    def _levels(
        self, first_level: FirstLevel, state: FitState, locality: Locality | None, storage: Storage
    ) -> Iterator[FitState]:
        """Yield the state after each level.

        Those of local batches only fuse clusters that reach over several.
        """
        if locality is not None:
            yield state
            parts = self._find_parts(first_level)
            if parts is not None and int(parts.max()) + 1 < len(parts):
                yield fuse_leaves(state, parts)
            return
        yield state
        if state.record.rows_held_aside and self._are_thin(state.record):
            return
        is_reached = self.settings.goal.is_reached
        max_iter = self.settings.max_iter
        if max_iter > 1 and not is_reached(state):
            resources = self._later_resources(first_level, storage)
            for after in islice(
                contract_levels(state, self.contraction, max_iter, resources, is_reached), 1, None
            ):
                state = after
                yield state
        self._warn_if_unfinished(state)

    def _are_thin(self, record: LevelRecord) -> bool:
        """Warn if random batches are too thin for the base method; return whether the fit stops."""
        thin = explain_thin_batches(record, self.contraction.views.method)
        stops = not self.settings.goal.as_published
        if thin is not None:  # the paper has no such rule, and goes on
            self._warn(f"{thin} The fit stops here." if stops else thin, ThinBatchesWarning)
        return thin is not None and stops

    def end(
        self, first_level: FirstLevel, state: FitState, former: IntArray | None = None
    ) -> Ending:
        """Grow the tree above the levels, and merge clusters to as many as are wanted.

        If leaves have a ``former`` cluster, or -1, these clusters go on, and noise stays noise.
        """
        settings, goal = self.settings, self.settings.goal
        is_noise = None if former is None else former < 0
        last = LastLevel.of(
            first_level.leaves, state, labels_noise=not goal.as_published, is_noise=is_noise
        )
        if former is not None:
            return end_update(settings, first_level, last, former)
        if goal.n_clusters is None and not goal.is_chosen:
            return end_fit(settings, first_level, last, goal.max_linked(state))
        number = goal.n_clusters
        draw = self._sampler(first_level, last)
        total = float(first_level.leaves.total_mass.sum())
        if goal.is_chosen and number is None:
            min_share = settings.smallest_wanted(total) / total
        else:
            min_share = 0.0
        merge = settings.merge if goal.chooses_merge else "compact"
        device = self.contraction.device
        rng = self._generator(Draw.CHOICE)
        is_given = goal.chooses_merge and merge != "auto"
        chooser = Chooser(
            merge, is_given, number, draw, rng, min_share, device, self.data.n_features
        )
        choice = chooser.choose_number() if self.choice is None else self.choice
        if len(last.medoids) == 0:
            ending = end_fit(settings, first_level, last, goal.max_linked(state))
        elif goal.makes_cells(self.contraction.views.method) and first_level.rows is not None:
            ending = self._end_in_cells(first_level, last, chooser, choice)
        else:
            ending = self._end_with_groups(first_level, last, chooser, choice)
        self._warn_of_ending(ending, chooser, number)
        if settings.verbose and ending.choice is not None:
            progress.say(ending.choice.describe())
        return ending

    def _warn_of_ending(self, ending: Ending, chooser: Chooser, number: int | None) -> None:
        """Warn of fewer clusters than asked for, and of a choice at the end of its range."""
        too_close = explain_vanishing(chooser.sample.values) if ending.n_found == 1 else None
        if too_close is not None:
            self._warn(too_close)
        elif self.settings.goal.is_required and number is not None and ending.n_found < number:
            self._warn(self._explain_too_few(number, ending.n_found))
        if ending.choice is not None and ending.choice.is_largest:
            self._warn(ending.choice.describe_number())

    def _end_in_cells(
        self, first_level: FirstLevel, last: LastLevel, chooser: Chooser, choice: Choice
    ) -> Ending:
        """Share out rows among cells or connected groups, whichever fits them better, and merge
        these.
        """
        k = choice.n_clusters
        min_share = choice.min_share

        @cache  # connected clusters need no cells
        def divide() -> Division:
            candidates = leaves_as_candidates(first_level, last.state, self.data.column_means)
            if self._has_several_batches:
                rng = self._generator(Draw.CELLS)
            else:
                rng = None
            division = divide_by_means(last.groups, candidates, self._count_cells(k), rng)
            division = division.with_far_rows_last(min_share)
            return chooser.refine(division, division.count_parts(k, min_share), min_share)

        choice = chooser.compare(choice, lambda sample: divide().label(sample.values, k, min_share))
        if choice.merge != "compact":
            return self._end_in_points(first_level, last, chooser, choice)
        division = divide()
        n_parts = division.count_parts(k, min_share)
        refines = isinstance(division.cells, Cells)
        return self._share_out(
            first_level, last, division, choice, n_clusters=n_parts, refines=refines
        )

    def _end_with_groups(
        self, first_level: FirstLevel, last: LastLevel, chooser: Chooser, choice: Choice
    ) -> Ending:
        """Merge the groups that the levels have left, or those of several batches by the merges
        that fit better.
        """
        goal = self.settings.goal
        k = choice.n_clusters
        max_linked = goal.max_linked(last.state)

        def label(sample: SampleOfFit, merge: str = "compact") -> IntArray:
            tree, position = last.growing(max_linked, None, linking(merge, k))()
            return tree.cut(min(k, tree.n_leaves))[position[sample.leaves]]

        if goal.is_told and first_level.rows is None:  # rows cannot be shared out again
            choice = chooser.compare(choice, label, label)
        elif goal.is_told and self._has_several_batches:
            choice = chooser.compare(choice, label)
            if choice.merge != "compact":
                return self._end_in_points(first_level, last, chooser, choice)
        link = linking(choice.merge, k)
        ending = end_fit(self.settings, first_level, last, max_linked, n_clusters=k, link=link)
        return replace(ending, choice=choice)

    def _end_in_points(
        self, first_level: FirstLevel, last: LastLevel, chooser: Chooser, choice: Choice
    ) -> Ending:
        """Share out rows among groups of the points of the graph, and merge these as the points
        have merged.
        """
        k = choice.n_clusters
        n_groups = self._count_cells(k)
        division = divide_by_points(chooser.sample, choice.merge, k, n_groups, choice.min_share)
        n_parts = division.count_parts(k, choice.min_share)
        link = linking(choice.merge, k)
        return self._share_out(first_level, last, division, choice, n_clusters=n_parts, link=link)

    def _share_out(
        self,
        first_level: FirstLevel,
        last: LastLevel,
        division: Division,
        choice: Choice,
        **merges: Any,
    ) -> Ending:
        """Share out rows among the groups of a division, and merge these."""
        means = self.data.column_means
        shared = division.share_out(first_level, self.weights)
        values = self.data.rows if shared.readable is None else shared.readable
        fresh = FitState.of_leaves(
            shared.leaves, values, self.n_rows, self.settings.max_iter, Storage()
        )
        cells = LastLevel.of(
            shared.leaves, replace(fresh, record=last.state.record), labels_noise=False
        )
        merges["linkage"] = division.linkage
        ending = end_fit(
            self.settings, shared, cells, self._count_cells(choice.n_clusters), **merges
        )
        if shared.readable is None:
            known = leaves_as_candidates(first_level, last.state, means)
        else:
            known = None
        return replace(ending, choice=choice, cells=division.cells, known=known)

    def _count_cells(self, n_clusters: int) -> int:
        return max(self.settings.goal.n_cells, n_clusters)

    def _sampler(self, first_level: FirstLevel, last: LastLevel) -> Callable[[int], SampleOfFit]:
        """Return a function that draws rows of clusters, each sample once.

        Of rows that were read once, leaves.
        """

        @cache
        def draw(n_rows: int) -> SampleOfFit:
            if n_rows > self.n_rows:
                return draw(self.n_rows)
            rng = self._generator(Draw.CHOICE, n_rows)
            sample = SampleOfFit.draw(
                first_level, self._population, self.data.column_means, n_rows, rng
            )
            if self.chosen_on is not None and sample.has_rows_of(self.chosen_on):
                sample = replace(sample, known=self.chosen_on.compared)
            if last.is_noise.any():
                return sample.at(np.flatnonzero(~last.is_noise[sample.leaves]))
            return sample

        return draw

    @property
    def _has_several_batches(self) -> bool:
        return count_batches(self.n_rows, self.contraction.batch_size) > 1

    def _generator(self, draw: Draw, *place: int) -> np.random.Generator:
        return generator_at(self.contraction.views.entropy, draw, *place)

    def warn_of_problem(self, sizes: IntArray) -> None:
        """Warn if the clusters, of which each has so many rows, are useless, unless a warning has
        said why.
        """
        goal = self.settings.goal
        keeps_noise = goal.as_published and not self.settings.takes_k
        problem = find_problem(sizes, self.n_rows - int(sizes.sum()), keeps_noise=keeps_noise)
        if problem is not None and not self.warned:
            self._warn(problem.describe(self.settings.remedies))

    def _warn(self, message: str, category: type[Warning] = ConvergenceWarning) -> None:
        self.warned.append(message)
        warn_caller(message, category)

    def _explain_too_few(self, n_clusters: int, n_found: int) -> str:
        if n_found == 0:
            ways = self.settings.remedies.to_less_noise()
            return (
                f"All of the rows are noise, so n_clusters={n_clusters} cannot be reached: {ways}."
            )
        name = self.settings.base_name
        asked = f"n_clusters={n_clusters} cannot be reached:"
        if self.contraction.views.method.told is not None:
            return (
                f"{asked} {name} found only {n_found} groups, or the data has only so many "
                "distinct rows. Lower n_clusters."
            )
        return (
            f"{asked} {name} found {n_found} clusters, and clusters can only be merged. Lower "
            "n_clusters, or let the base method find more clusters."
        )

    @property
    def _population(self) -> Population:
        return Population(self.data.rows, self.weights)

    def _resources(
        self, engine: Engine, storage: Storage, draw_companions: DrawCompanions | None = None
    ) -> Resources:
        """Return resources with an engine that records runs in the checkpoint and shows
        progress.
        """
        if self.journal is not None:
            engine = ResumableEngine(engine, self.journal)
        if self.settings.verbose:
            engine = progress.WatchedEngine(engine)
        if self.contraction.device is not None:
            of_views: Engine = SerialEngine()
        else:
            of_views = local_engine(self.settings.n_jobs)
        return Resources(engine, of_views, storage, draw_companions)

    def _later_resources(self, first_level: FirstLevel, storage: Storage) -> Resources:
        """Return the resources of levels above the first.

        If medoids have masses, and the base method takes no weights, it sees other rows of the data
        beside them.
        """
        settings = self.settings
        draw = None
        if settings.sum_mass and not settings.take_weights:
            assert settings.base is not None  # the default takes weights
            n_shown = count_shown(settings.base, self.contraction.batch_size)
            entropy = self.contraction.views.entropy
            draw = Companions(self.data.rows, entropy, n_shown, first_level.leaves.rows).draw
        return self._resources(self.data.later_engine(self.settings.n_jobs), storage, draw)

    def _find_kind(self, first_level: FirstLevel) -> str:
        """Return the kind of a first level with local batches, as in its record."""
        links = first_level.links
        local = first_level.local
        if first_level.known is not None:
            if settings_of(self._prototype) is not None:
                return "spanning"
            return "exact"
        assert local is not None  # batches are local
        if local.n_batches == 1:
            return "all"
        if local.is_exact and (self._one_link_is_enough(links) or len(local.halo) == 0):
            return "exact"
        return "local"

    def _one_link_is_enough(self, links: tuple[Links, ...]) -> bool:
        """Return whether a single row in common makes clusters of two batches one.

        A core row of DBSCAN in a batch is a core row of the data, and all rows of a single linkage
        are.
        """
        return (len(links) > 0 and all(part.by_core for part in links)) or links_every_row(
            self._prototype
        )

    def _find_parts(self, first_level: FirstLevel) -> IntArray | None:
        """Return a number for each leaf, the same for parts of one cluster.

        None if batches have nothing in common.
        """
        links = first_level.links
        local = first_level.local
        leaves = first_level.leaves
        if first_level.known is not None:
            return number_parts(first_level.known)
        if not links or local is None:
            return None
        batch = None
        if not self._one_link_is_enough(links):
            taking_part = self._population.taking_part
            batch = local.find_batches(
                leaves.rows if taking_part is None else np.searchsorted(taking_part, leaves.rows)
            )
        return find_parts(links, first_level.part.leaf_of, leaves, batch)

    @property
    def _prototype(self) -> Any:
        return self.contraction.views.method.prototype

    def _warn_if_no_two_rows_can_fuse(self) -> None:
        if self.settings.goal.is_chosen:
            return
        method = self.contraction.views.method
        n_rows = self.n_rows
        n_clusters = method.n_clusters if method.asked is None else method.asked
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
        elif not self.settings.goal.is_reached(state) and state.idle_levels == 0:
            self._warn(
                f"The last level still merged clusters when max_iter={self.settings.max_iter} was "
                "reached: raise max_iter, or ignore this warning if the fit is meant to stop "
                "there.",
            )
