"""Ways to end a fit after its levels: merge groups, or share rows out among cells or points.

Which of them a fit takes is said by its family, in ``families.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.beyond.cuts import cut_linkage
from cohirf.beyond.merge_tree import Groups
from cohirf.beyond.merges import DEFAULT as COMPACT
from cohirf.beyond.size_limits import SizeLimits
from cohirf.choice import Choice
from cohirf.data import Data
from cohirf.data.first_level import DataWeights, FirstLevel
from cohirf.fitting.ending import Ending, LastLevel, end_fit, end_in_clusters
from cohirf.fitting.limited import (
    RowLook,
    cells_of,
    complete_centres,
    find_centres,
    share_out_within,
)
from cohirf.fitting.merging import (
    Chooser,
    Division,
    SampleOfFit,
    divide_by_means,
    divide_by_points,
    leaves_as_candidates,
    linking,
)
from cohirf.fitting.policy import END
from cohirf.fitting.regroup import Regrouped, regroup
from cohirf.fitting.settings import Settings
from cohirf.landmarks import Cells
from cohirf.rows.arrays import as_array
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.rows.storage import Population, Storage


@dataclass(frozen=True)
class EndOfLevels:
    """What the levels have left, and the ways to go on from there."""

    settings: Settings  # parameters
    data: Data  # the data
    weights: DataWeights | None  # sample weights
    n_rows: int  # number of rows that take part
    contraction: Contraction  # how batches were contracted
    first_level: FirstLevel
    last: LastLevel  # the groups that the last level has left
    chosen: Choice | None = None  # the choice of the number of clusters, if it was made before
    chosen_on: SampleOfFit | None = None  # the rows of that choice, whose graph is used again
    limits: SizeLimits | None = None  # of the sizes of clusters

    @property
    def method(self) -> BaseMethod:
        """The base method."""
        return self.contraction.views.method

    @property
    def found_nothing(self) -> bool:
        """Whether all rows are noise."""
        return len(self.last.medoids) == 0

    @property
    def can_share_out(self) -> bool:
        """Whether rows can be assigned to other groups: not if only the leaves are known."""
        return self.first_level.rows is not None

    @property
    def _has_several_batches(self) -> bool:
        return count_batches(self.n_rows, self.contraction.batch_size) > 1

    @property
    def _max_linked(self) -> int:
        return self.settings.family.max_linked(self.last.state)

    @cached_property
    def chooser(self) -> Chooser:
        """Chooses number and merge of the clusters, on samples of the rows."""
        settings = self.settings
        family = settings.family
        total = float(self.first_level.leaves.total_mass.sum())
        min_share = 0.0
        if family.is_chosen and family.n_clusters is None:
            min_share = settings.smallest_wanted(total) / total
        return Chooser(
            family.wanted_merge(settings.merge),
            settings.merge != "auto",
            family.n_clusters,
            self._sampler(),
            self._generator(Draw.CHOICE),
            min_share,
            self.contraction.device,
            self.data.n_features,
        )

    def choose_number(self) -> Choice:
        """Return the number of clusters, which may be given, or have been chosen before."""
        return self.chooser.choose_number() if self.chosen is None else self.chosen

    def keep_groups(self) -> Ending:
        """End with the groups that the levels have left."""
        return end_fit(self.settings, self.first_level, self.last, self._max_linked)

    def merge_groups(self, choice: Choice) -> Ending:
        """End with these groups, merged to the chosen number."""
        k = choice.n_clusters
        ending = end_fit(
            self.settings,
            self.first_level,
            self.last,
            self._max_linked,
            n_clusters=k,
            link=linking(choice.merge, k),
        )
        return replace(ending, choice=choice)

    def end_in_groups(self, choice: Choice) -> Ending:
        """End with the groups, or those of several batches by the merges that fit better."""
        k = choice.n_clusters

        def label(sample: SampleOfFit, merge: str) -> IntArray:
            tree, position = self.last.growing(self._max_linked, None, linking(merge, k))()
            return tree.cut(min(k, tree.n_leaves))[position[sample.leaves]]

        if not self.can_share_out:
            return self.merge_groups(self.chooser.compare(choice, label, has_points=False))
        if not self._has_several_batches:
            return self.merge_groups(choice)
        choice = self.chooser.compare(choice, label)
        if choice.is_around_means:
            return self.merge_groups(choice)
        return self._end_in_points(choice)

    def end_in_cells(self, choice: Choice) -> Ending:
        """Share out rows among cells or points, whichever fits them better, and merge these."""
        k = choice.n_clusters
        min_share = choice.min_share
        divide = cache(partial(self._divide, k, min_share))  # points need no cells

        def label(sample: SampleOfFit, merge: str) -> IntArray:
            return divide(merge).label(sample.values, k, min_share)

        choice = self.chooser.compare(choice, label)
        if not choice.is_around_means:
            return self._end_in_points(choice)
        cells = divide(choice.merge)
        n_parts = cells.count_parts(k, min_share)
        link = linking(choice.merge, k)
        refines = isinstance(cells.cells, Cells)
        return self._share_out(cells, choice, n_clusters=n_parts, link=link, refines=refines)

    def end_within_limits(self, choice: Choice) -> Ending:
        """Share out rows among centres, with clusters whose sizes are within limits."""
        assert self.limits is not None
        k = choice.n_clusters
        division = self._divide(k, 0.0, COMPACT)
        sample = self.chooser.draw(max(END.moved_rows, END.moved_per_cluster * k))
        mass = None
        if self.weights is not None:
            mass = self.weights.take(np.arange(self.data.rows.n_rows))
        total = float(self.data.rows.n_rows if mass is None else mass.sum())
        part = self.limits.scaled(float(sample.mass.sum()) / total)
        n_found = min(k, len(division.rows))
        groups = Groups(division.means, division.mass)
        begin = groups.merged(cut_linkage(division.linkage, n_found), n_found).means
        centres = find_centres(
            sample,
            complete_centres(begin, k, sample),
            part.of_each(k),
            self._generator(Draw.CELLS, k),
        )
        points = as_array(division.means)
        owner = centres.label(points)
        alone = np.setdiff1d(np.arange(k), owner)  # a centre without points is one itself
        look = RowLook(
            centres,
            np.concatenate([points, centres.centres[alone]]),
            np.concatenate([owner, alone]),
        )
        rows = share_out_within(self.first_level, self.data, mass, look, self.limits.of_each(k))
        regrouped = self.regroup(self.first_level, rows.points, look.points, look.owner)
        cells = cells_of(rows, look, regrouped.kept)
        return replace(self.end_regrouped(regrouped, look.owner), choice=choice, cells=cells)

    def regroup(
        self, first_level: FirstLevel, points: IntArray, means: FloatArray, owner: IntArray
    ) -> Regrouped:
        """Return a first level whose leaves are the rows of each point, which have an owner."""
        candidates = leaves_as_candidates(self.first_level, self.last.state, self.data.column_means)
        return regroup(first_level, self.data, self.weights, points, means, owner, candidates)

    def end_regrouped(self, regrouped: Regrouped, owner: IntArray) -> Ending:
        """End with the rows of points, in the clusters that own these; those without are noise."""
        shared = regrouped.first_level
        of_leaf = owner[regrouped.kept]
        last = self._begin_again(shared, of_leaf < 0)
        label = np.unique(of_leaf[of_leaf >= 0], return_inverse=True)[1]
        known = regrouped.known if shared.readable is None else None
        return replace(end_in_clusters(self.settings, shared, last, label), known=known)

    def _begin_again(
        self, shared: FirstLevel, is_noise: NDArray[np.bool_] | None = None
    ) -> LastLevel:
        """Return the leaves of a first level, among which rows were shared out, as groups."""
        values = self.data.rows if shared.readable is None else shared.readable
        fresh = FitState.of_leaves(
            shared.leaves, values, self.n_rows, self.settings.max_iter, Storage()
        )
        return LastLevel.of(
            shared.leaves,
            replace(fresh, record=self.last.state.record),
            labels_noise=False,
            is_noise=is_noise,
        )

    def _divide(self, n_clusters: int, min_share: float, merge: str) -> Division:
        """Return cells around the means of the groups, merged around means."""
        candidates = leaves_as_candidates(self.first_level, self.last.state, self.data.column_means)
        rng = self._generator(Draw.CELLS) if self._has_several_batches else None
        n_cells = self._count_cells(n_clusters)
        link = linking(merge, n_clusters)
        division = divide_by_means(self.last.groups, candidates, n_cells, rng, link)
        division = division.with_far_rows_last(min_share)
        n_parts = division.count_parts(n_clusters, min_share)
        return self.chooser.refine(division, n_parts, min_share, link)

    def _end_in_points(self, choice: Choice) -> Ending:
        """Share out rows among groups of the points of the graph, and merge these as the points
        have merged.
        """
        k = choice.n_clusters
        n_groups = self._count_cells(k)
        sample = self.chooser.sample
        division = divide_by_points(sample, choice.merge, k, n_groups, choice.min_share)
        n_parts = division.count_parts(k, choice.min_share)
        link = linking(choice.merge, k)
        return self._share_out(division, choice, n_clusters=n_parts, link=link)

    def _share_out(self, division: Division, choice: Choice, **merges: Any) -> Ending:
        """Share out rows among the groups of a division, and merge these."""
        shared = division.share_out(self.first_level, self.weights)
        ending = end_fit(
            self.settings,
            shared,
            self._begin_again(shared),
            self._count_cells(choice.n_clusters),
            linkage=division.linkage,
            **merges,
        )
        known = None
        if shared.readable is None:
            means = self.data.column_means
            known = leaves_as_candidates(self.first_level, self.last.state, means)
        return replace(ending, choice=choice, cells=division.cells, known=known)

    def _count_cells(self, n_clusters: int) -> int:
        return max(self.settings.family.n_cells, n_clusters)

    def _sampler(self) -> Callable[[int], SampleOfFit]:
        """Return a function that draws rows of clusters, each sample once.

        Of rows that were read once, leaves.
        """
        known: dict[int, SampleOfFit] = {}

        def draw(n_rows: int) -> SampleOfFit:
            n_drawn = min(n_rows, self.n_rows)
            if n_drawn not in known:
                known[n_drawn] = self._draw_sample(n_drawn)
            return known[n_drawn]

        return draw

    def _draw_sample(self, n_rows: int) -> SampleOfFit:
        """Draw rows of clusters, without noise."""
        sample = SampleOfFit.draw(
            self.first_level,
            Population(self.data.rows, self.weights),
            self.data.column_means,
            n_rows,
            self._generator(Draw.CHOICE, n_rows),
        )
        if self.chosen_on is not None and sample.has_rows_of(self.chosen_on):
            sample = replace(sample, known=self.chosen_on.compared)
        is_noise = self.last.is_noise
        if is_noise.any():
            return sample.at(np.flatnonzero(~is_noise[sample.leaves]))
        return sample

    def _generator(self, draw: Draw, *place: int) -> np.random.Generator:
        return generator_at(self.contraction.views.entropy, draw, *place)
