"""Run the levels of a fit, from opened data to fitted attributes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cohirf import progress, validation
from cohirf.algorithm.base_method import BaseMethod, find_weight_argument
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.choose_merge import FEWEST_ROWS, explain_vanishing
from cohirf.algorithm.companions import Companions, count_shown
from cohirf.algorithm.connected import MAX_POINTS
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.feature_tally import FeatureTally
from cohirf.algorithm.fuse_batches import find_parts, fuse_leaves, number_parts
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import FitState, LevelRecord, Resources, contract_levels
from cohirf.algorithm.local_batches import Locality
from cohirf.algorithm.merge_tree import Link
from cohirf.algorithm.population import Population
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.reach import links_every_row
from cohirf.algorithm.repeated_warnings import showing_warnings_once
from cohirf.algorithm.runs import Links
from cohirf.algorithm.storage import MemoryStorage, Storage
from cohirf.algorithm.thin_batches import ThinBatchesWarning, explain_thin_batches
from cohirf.algorithm.ward import link_groups
from cohirf.choice import Choice
from cohirf.data import Data
from cohirf.data.data import DataWeights, Setup
from cohirf.data.first_level import FirstLevel
from cohirf.engines import LocalEngine
from cohirf.engines.local import one_thread
from cohirf.error_contexts import warn_caller
from cohirf.explain.verdict import find_problem, ways_to_less_noise
from cohirf.fitting.begin import WrapEngine, begin, check_weights, warn_of_long_fit, watch_engine
from cohirf.fitting.contraction import Settled, make_contraction
from cohirf.fitting.divide import Division, divide_along_tree, divide_by_means
from cohirf.fitting.ending import Ending, LastLevel, Merges, end_fit, end_update, mass_of, smallest_wanted
from cohirf.fitting.goal import Goal
from cohirf.fitting.locality import choose_locality
from cohirf.fitting.merging import (
    Chooser,
    Sample,
    choose_first,
    leaves_as_candidates,
    link_along_tree,
)
from cohirf.fitting.results import collect_results
from cohirf.neighbours.landmarks import Cells
from cohirf.scratch import ScratchStorage
from cohirf.spanning.settings import settings_of
from cohirf.summary.model import Model, base_method_of


@dataclass(frozen=True)
class Fitted:
    """A finished fit.

    Attributes
    ----------
    attributes : dict
        The fitted attributes.
    first_level : FirstLevel
        The first level.
    leaf_labels : array of int
        The label of each leaf.
    settled : Settled
        Entropy and batch size.
    weights : DataWeights or None
        Sample weights.
    tally : array of float
        Sums over the views of the first level; see ``FeatureTally.sums``.
    """

    attributes: dict[str, Any]
    first_level: FirstLevel
    leaf_labels: IntArray
    settled: Settled
    weights: DataWeights | None
    tally: NDArray[np.float64]


def fit_data(
    model: Model, data: Data, sample_weight: Any, known: Settled | None = None, former: IntArray | None = None
) -> Fitted:
    """Fit a model to opened data; entropy and batch size may be ``known``, and then there is no checkpoint.

    Rows may have a ``former`` cluster, or -1: these clusters go on.
    """
    with ExitStack() as stack:
        weights = check_weights(model, data, sample_weight)
        if known is None:
            settled, wrap_engine = begin(model, data, weights, stack)
        else:
            settled, wrap_engine = known, watch_engine(model)
        stack.enter_context(one_thread())
        choice = choose_first(model, data, weights, settled.entropy) if former is None else None
        weighted, n_chosen = weights is not None or model.medoid_weights, None if choice is None else choice.n_clusters
        contraction = make_contraction(model, data, settled, weighted=weighted, n_chosen=n_chosen)
        if known is None:
            warn_of_long_fit(model, data, contraction)
        stack.enter_context(showing_warnings_once())
        tally = FeatureTally(contraction.views, data.n_features)
        n_rows = Population(data.rows, weights).n_rows
        fit = Fit(model, data, weights, n_rows, contraction, wrap_engine, tally, choice)
        setup = fit.prepare(former)
        first_level = data.contract_first_level(weights, setup)
        tally.add_level(1, first_level.leaves)
        of_first_level = tally.sums()
        state, records = fit.climb(first_level, setup.locality)
        ending = fit.end(first_level, state, None if former is None else former[first_level.leaves.rows])
        attributes, clusters = collect_results(model, data, weights, ending, contraction)
        fit.warn_of_problem(clusters.sizes)
        attributes["diagnostics_"] = records
        attributes["n_iter_"] = state.level
        attributes["feature_agreement_"] = tally.mean()
        return Fitted(attributes, ending.first_level, clusters.labels, settled, weights, of_first_level)


@dataclass(frozen=True)
class Fit:
    """The levels of a fit.

    Attributes
    ----------
    model : CoHiRF
        Parameters.
    data : Data
        The data.
    weights : DataWeights or None
        Sample weights.
    n_rows : int
        Number of rows that take part.
    contraction : Contraction
        How batches are contracted.
    wrap_engine : callable
        Wraps an engine, so that it records runs in the checkpoint and shows progress.
    tally : FeatureTally
        Sums up the stability of the views that contained each feature.
    choice : Choice or None
        The choice of the number of clusters, if it was made before the levels.
    warned : list of str
        Warnings about this fit.
    """

    model: Model
    data: Data
    weights: DataWeights | None
    n_rows: int
    contraction: Contraction
    wrap_engine: WrapEngine
    tally: FeatureTally
    choice: Choice | None = None
    warned: list[str] = field(default_factory=list)

    def prepare(self, former: IntArray | None = None) -> Setup:
        """Return what the first level, which sees all rows, needs beside them.

        If the base method is told the number of clusters, groups do not reach over the borders of ``former`` ones.
        """
        self._warn_if_no_two_rows_can_fuse()
        locality, label_batches = choose_locality(self.model, self.data, self.n_rows, self.contraction, self.weights)
        apart = former if self._goal.is_told else None
        if apart is not None and self.weights is not None and self.weights.positive is not None:
            apart = apart[self.weights.positive]
        return self.set_up(locality, label_batches, apart)

    def set_up(
        self, locality: Locality | None = None, label_batches: Any = None, apart: IntArray | None = None
    ) -> Setup:
        """Return what the first level needs beside the rows."""
        engines = self._first_resources
        return Setup(self.contraction, self._n_jobs, engines, locality, label_batches, apart)

    def climb(
        self, first_level: FirstLevel, locality: Locality | None, *, stays: bool = False
    ) -> tuple[FitState, list[LevelRecord]]:
        """Run the levels above the first one; warn if batches are too thin or the fit is unfinished.

        If the leaves stay as they are (``stays``), because their clusters are known, there are no such levels.
        """
        model = self.model
        storage: Storage = ScratchStorage() if first_level.readable is None else MemoryStorage()
        values = self.data.rows if first_level.readable is None else first_level.readable
        kind = None if locality is None else self._find_kind(first_level)
        state = FitState.of_leaves(first_level.leaves, values, self.n_rows, self._max_level, storage, kind)
        records: list[LevelRecord] = []
        if stays:
            states = iter([state])
        elif locality is None:
            states = self._levels(first_level, state, self._later_resources(first_level, storage))
        else:
            states = self._local_levels(first_level, state)
        for after in states:
            state = after
            records.append(state.record)
            if model.verbose:
                progress.say(progress.describe_level(state.record, self.contraction.views.n_views))
        return state, records

    def end(self, first_level: FirstLevel, state: FitState, former: IntArray | None = None) -> Ending:
        """Grow the tree above the levels, and merge clusters to as many as are wanted.

        If leaves have a ``former`` cluster, or -1, these clusters go on. Noise stays noise, unless the base method,
        which is not told the number of clusters, says otherwise.
        """
        model, goal = self.model, self._goal
        is_noise = None if former is None or not goal.is_told else former < 0
        last = LastLevel.of(first_level.leaves, state, labels_noise=not goal.as_published, is_noise=is_noise)
        if former is not None:
            return end_update(model, first_level, last, former)
        number, draw = goal.n_clusters, self._sampler(first_level, last)
        total = float(mass_of(first_level.leaves).sum())
        min_share = smallest_wanted(model, total) / total if goal.is_chosen and number is None else 0.0
        merge = model.merge if goal.chooses_merge else "compact"
        chooser = Chooser(merge, number, draw, self._generator(Draw.CHOICE), min_share)
        choice = self.choice
        if choice is None and (number is not None or goal.is_chosen):
            choice = chooser.choose_number()
        if choice is not None and goal.chooses_merge:
            choice = replace(choice, is_merge_given=model.merge != "auto")
        if choice is None or len(last.medoids) == 0:
            ending = end_fit(model, first_level, last, goal.max_linked(state), Merges(None))
        elif goal.makes_cells(self.contraction.views.method) and first_level.rows is not None:
            ending = self._end_in_cells(first_level, last, chooser, choice)
        else:
            ending = self._end_with_groups(first_level, last, chooser, choice)
        too_close = explain_vanishing(draw(FEWEST_ROWS).values) if choice is not None and ending.n_found == 1 else None
        if too_close is not None:
            self._warn(too_close)
        elif goal.is_required and number is not None and ending.n_found < number:
            self._warn(self._explain_too_few(number, ending.n_found))
        if ending.choice is not None and ending.choice.is_largest:
            self._warn(ending.choice.describe_number())
        if model.verbose and ending.choice is not None:
            progress.say(ending.choice.describe())
        return ending

    def _end_in_cells(self, first_level: FirstLevel, last: LastLevel, chooser: Chooser, choice: Choice) -> Ending:
        """Share out rows among cells or connected groups, whichever fits them better, and merge these."""
        k, min_share = choice.n_clusters, choice.min_share

        @cache  # connected clusters need no cells
        def divide() -> Division:
            candidates = leaves_as_candidates(first_level, last.state, self.data.column_means)
            rng = self._generator(Draw.CELLS) if self._has_several_batches else None
            division = divide_by_means(last.groups, candidates, self._count_cells(k), rng)
            return chooser.refine(division, division.count_parts(k, min_share))

        choice, bound = chooser.compare(choice, lambda sample: divide().label(sample.values, k, min_share))
        if bound is not None:
            return self._end_connected(first_level, last, chooser, choice, bound)
        division = divide()
        n_parts = division.count_parts(k, min_share)
        merges = Merges(n_parts, linkage=division.linkage, refines=isinstance(division.cells, Cells))
        return self._share_out(first_level, last, division, choice, merges)

    def _end_with_groups(self, first_level: FirstLevel, last: LastLevel, chooser: Chooser, choice: Choice) -> Ending:
        """Merge the groups that the levels have left, or those of several batches by the merges that fit better."""
        goal, k = self._goal, choice.n_clusters
        max_linked = goal.max_linked(last.state)
        merges = Merges(k)

        def label(sample: Sample, link: Link = link_groups) -> IntArray:
            tree, position = last.grow(max_linked, link=link)
            return tree.cut(min(k, tree.n_leaves))[position[sample.leaves]]

        if goal.is_told and first_level.rows is None:  # rows cannot be shared out again
            choice, bound = chooser.compare(choice, label, lambda sample, bound: label(sample, link_along_tree(bound)))
            merges = merges if bound is None else Merges(k, link_along_tree(bound))
        elif goal.is_told and self._has_several_batches:
            choice, bound = chooser.compare(choice, label)
            if bound is not None:
                return self._end_connected(first_level, last, chooser, choice, bound)
        ending = end_fit(self.model, first_level, last, max_linked, merges)
        return replace(ending, choice=choice)

    def _end_connected(
        self, first_level: FirstLevel, last: LastLevel, chooser: Chooser, choice: Choice, bound: float
    ) -> Ending:
        """Share out rows among connected groups of a sample of them, and merge these along the spanning tree."""
        k = choice.n_clusters
        division = divide_along_tree(chooser.draw(MAX_POINTS).candidates, bound, self._count_cells(k))
        merges = Merges(division.count_parts(k, choice.min_share), link_along_tree(bound), division.linkage)
        return self._share_out(first_level, last, division, choice, merges)

    def _share_out(
        self, first_level: FirstLevel, last: LastLevel, division: Division, choice: Choice, merges: Merges
    ) -> Ending:
        """Share out rows among the groups of a division, and merge these."""
        means = self.data.column_means
        shared = division.share_out(first_level, self.weights)
        values = self.data.rows if shared.readable is None else shared.readable
        fresh = FitState.of_leaves(shared.leaves, values, self.n_rows, self._max_level, MemoryStorage())
        cells = LastLevel.of(shared.leaves, replace(fresh, record=last.state.record), labels_noise=False)
        ending = end_fit(self.model, shared, cells, self._count_cells(choice.n_clusters), merges)
        known = leaves_as_candidates(first_level, last.state, means) if shared.readable is None else None
        return replace(ending, choice=choice, cells=division.cells, known=known)

    def _count_cells(self, n_clusters: int) -> int:
        return max(self._goal.n_cells, n_clusters)

    def _sampler(self, first_level: FirstLevel, last: LastLevel) -> Callable[[int], Sample]:
        """Return a function that draws rows of clusters, each sample once; of rows that were read once, leaves."""

        @cache
        def draw(n_rows: int) -> Sample:
            rng = self._generator(Draw.CHOICE, n_rows)
            sample = Sample.draw(first_level, self._population, self.data.column_means, n_rows, rng)
            return sample.at(np.flatnonzero(~last.is_noise[sample.leaves])) if last.is_noise.any() else sample

        return draw

    @property
    def _has_several_batches(self) -> bool:
        return count_batches(self.n_rows, self.contraction.batch_size) > 1

    def _generator(self, draw: Draw, *place: int) -> np.random.Generator:
        return generator_at(self.contraction.views.entropy, draw, *place)

    def warn_of_problem(self, sizes: IntArray) -> None:
        """Warn if the clusters, of which each has so many rows, are useless, unless a warning has said why."""
        problem = find_problem(self.model, sizes, self.n_rows - int(sizes.sum()))
        if problem is not None and not self.warned:
            self._warn(problem.message)

    def _warn(self, message: str, category: type[Warning] = ConvergenceWarning) -> None:
        self.warned.append(message)
        warn_caller(message, category)

    def _explain_too_few(self, n_clusters: int, n_found: int) -> str:
        if n_found == 0:
            ways = ways_to_less_noise(self.model)
            return f"All of the rows are noise, so n_clusters={n_clusters} cannot be reached: {ways}."
        name, asked = type(base_method_of(self.model)).__name__, f"n_clusters={n_clusters} cannot be reached:"
        if self.contraction.views.method.told is not None:
            return (
                f"{asked} {name} found only {n_found} groups, or the data has only so many distinct rows. Lower "
                f"n_clusters."
            )
        return (
            f"{asked} {name} found {n_found} clusters, and clusters can only be merged. Lower n_clusters, or "
            f"let the base method find more clusters."
        )

    @property
    def _max_level(self) -> int:
        return max(2, int(self.model.max_iter)) + 1  # the last one merges to the wanted number of clusters

    @cached_property
    def _goal(self) -> Goal:
        return Goal.of(self.model, None if self.choice is None else self.choice.n_clusters)

    @property
    def _population(self) -> Population:
        return Population(self.data.rows, self.weights)

    @property
    def _n_jobs(self) -> int | None:
        """The number of jobs; a device computes one batch, and one view, after the other."""
        return self.model.n_jobs if self.contraction.device is None else 1

    def _first_resources(self, engine: Engine, storage: Storage) -> Resources:
        return Resources(self.wrap_engine(engine), LocalEngine(self._n_jobs), storage)

    def _later_resources(self, first_level: FirstLevel, storage: Storage) -> Resources:
        engine = self.wrap_engine(self.data.later_engine(self._n_jobs))
        return Resources(engine, LocalEngine(self._n_jobs), storage, self._companions(first_level))

    def _companions(self, first_level: FirstLevel) -> Companions | None:
        """Return the companions that replace medoid weights if the base method does not support weights."""
        base = base_method_of(self.model)
        methods = validation.list_methods(self.model)
        take_weights = any(method is None or find_weight_argument(method) is not None for method in methods)
        if not self.model.medoid_weights or take_weights:
            return None
        n_shown = count_shown(BaseMethod.of(base), self.contraction.batch_size)
        return Companions(self.data.rows, self.contraction.views.entropy, n_shown, first_level.leaves.rows)

    def _levels(self, first_level: FirstLevel, state: FitState, resources: Resources) -> Iterator[FitState]:
        """Yield the state after each level."""
        goal = self._goal
        for after in contract_levels(state, self.contraction, self.model.max_iter, resources, goal.is_reached):
            state = after
            if state.level > 1:
                self.tally.add_level(state.level, state.survivors)
            yield state
            thin = explain_thin_batches(state.record, self.contraction.views.method) if state.level == 1 else None
            if thin is not None:
                stops = not goal.as_published  # the paper has no such rule
                self._warn(f"{thin} The fit stops here." if stops else thin, ThinBatchesWarning)
                if stops:
                    return
        self._warn_if_unfinished(state)

    def _local_levels(self, first_level: FirstLevel, state: FitState) -> Iterator[FitState]:
        """Yield the state after the first level, and after the fusion of clusters that reach over several batches."""
        yield state
        parts = self._find_parts(first_level)
        if parts is not None and int(parts.max()) + 1 < len(parts):
            yield fuse_leaves(state, parts)

    def _find_kind(self, first_level: FirstLevel) -> str:
        """Return the kind of a first level with local batches, as in its record."""
        links, local = first_level.links, first_level.local
        if first_level.known is not None:
            return "spanning" if settings_of(self._prototype) is not None else "exact"
        assert local is not None  # batches are local
        if local.n_batches == 1:
            return "all"
        return "exact" if local.is_exact and (self._one_link_is_enough(links) or len(local.halo) == 0) else "local"

    def _one_link_is_enough(self, links: tuple[Links, ...]) -> bool:
        """Return whether a single row in common makes clusters of two batches one.

        A core row of DBSCAN in a batch is a core row of the data, and all rows of a single linkage are.
        """
        return (len(links) > 0 and all(part.by_core for part in links)) or links_every_row(self._prototype)

    def _find_parts(self, first_level: FirstLevel) -> IntArray | None:
        """Return a number for each leaf, the same for parts of one cluster; None if batches have nothing in common."""
        links, local, leaves = first_level.links, first_level.local, first_level.leaves
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
        if self._goal.is_chosen:
            return
        method, n_rows = self.contraction.views.method, self.n_rows
        n_clusters = method.n_clusters if method.asked is None else method.asked
        if n_clusters is not None and n_clusters >= n_rows > 1:
            self._warn(
                f"n_clusters={n_clusters} of {type(base_method_of(self.model)).__name__} is at least the number of "
                f"rows ({n_rows}), so only identical rows fuse: lower n_clusters.",
            )

    def _warn_if_unfinished(self, state: FitState) -> None:
        if state.stalled:
            self._warn(
                f"Levels {state.level - 1} and {state.level} merged nothing in any batch: {state.n_active} clusters "
                f"are left. Raise batch_size above {self.contraction.batch_size}, or choose a base method that merges "
                f"more.",
            )
        elif not self._goal.is_reached(state) and state.idle_levels == 0:
            self._warn(
                f"The last level still merged clusters when max_iter={self.model.max_iter} was reached: "
                f"raise max_iter, or ignore this warning if the fit is meant to stop there.",
            )
