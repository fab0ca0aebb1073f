"""Which merges follow the levels: compact or connected ones, to how many clusters, of which groups.

A method such as K-Means divides space, so that its rows are shared out among cells (``divide.py``). Other methods keep
the groups that their batches have left. But if connected clusters fit the data better, rows are shared out among
connected parts, whatever the method: groups are too coarse for that. On 22 sets of the benchmark suite, spectral
clustering in six batches lost 0.09 (ARI) with merges of its groups, and gained 0.05 with connected parts.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.arrays import to_host
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.choose_merge import (
    FEWEST_PER_CLUSTER,
    FEWEST_ROWS,
    SampledRows,
    count_sampled,
)
from cohirf.algorithm.connected import SpanningTree, link_connected
from cohirf.algorithm.grouping import IntArray, row_blocks
from cohirf.algorithm.levels import FitState
from cohirf.algorithm.merge_tree import Link
from cohirf.algorithm.population import Population, draw_by_mass
from cohirf.algorithm.randomness import Draw, Entropy, generator_at
from cohirf.algorithm.storage import take_in_order
from cohirf.algorithm.ward import raise_merges
from cohirf.choice import CHOICE_ROWS, Choice, choose_number
from cohirf.data import Data
from cohirf.data.data import DataWeights
from cohirf.data.first_level import FirstLevel
from cohirf.fitting.divide import Candidates, Division, divide_by_centres
from cohirf.fitting.ending import mass_of, smallest_wanted
from cohirf.fitting.goal import Goal
from cohirf.summary.model import Model

FloatArray = NDArray[np.float64]
CLEARLY = 0.9  # cells are better than centres only if they cut fewer neighbours than this share of theirs
FEWEST_MOVED, MOVED_PER_CLUSTER = 10_000, 200  # rows by which the centres of clusters are moved
SAME_WEIGHT = 1e-9  # relative difference of weights of rows, which are rounded where many were added up
FEWEST_AROUND = 5  # with fewer rows for each cluster, centres are not moved


@dataclass(frozen=True, eq=False)
class Sample:
    """Some rows of a fit.

    Attributes
    ----------
    rows : array of int
        Row numbers. Sorted.
    values : array or CSR matrix
        Their values, without missing cells.
    leaves : array of int
        The leaf that each belongs to.
    mass : array of float
        Their masses.
    """

    rows: IntArray
    values: Any
    leaves: IntArray
    mass: FloatArray

    @classmethod
    def draw(
        cls, first_level: FirstLevel, population: Population, column_means: Any, n_rows: int, rng: np.random.Generator
    ) -> Sample:
        """Draw rows by weight; of rows that were read once, those that were held aside, or leaves if these are few."""
        leaves = first_level.leaves
        if first_level.readable is not None:
            rows, mass = population.draw_by_weight(n_rows, rng)
            values = fill_missing(to_host(first_level.readable.take(rows)), column_means)
            return cls(rows, values, first_level.find_leaves(rows), mass)
        single: IntArray = np.flatnonzero(np.isnan(leaves.stability) & (leaves.sizes == 1))
        among = single if len(single) >= FEWEST_ROWS // 2 else np.arange(len(leaves.rows))
        weights = mass_of(leaves)
        per_row = weights[among] / leaves.sizes[among]
        if np.ptp(per_row) > SAME_WEIGHT * per_row.max():
            drawn, mass = draw_by_mass(weights[among], n_rows, rng)
            some = among[drawn]
        else:
            some = among if len(among) <= n_rows else np.sort(rng.choice(among, n_rows, replace=False))
            mass = leaves.sizes[some].astype(np.float64)
        return cls(leaves.rows[some], fill_missing(take_in_order(leaves.values, some), column_means), some, mass)

    def at(self, some: Any) -> Sample:
        """Return some of the rows."""
        return Sample(self.rows[some], self.values[some], self.leaves[some], self.mass[some])

    @cached_property
    def compared(self) -> SampledRows:
        """The rows with their neighbours, which several divisions are compared by."""
        return SampledRows(self.values, self.mass)

    @property
    def candidates(self) -> Candidates:
        """The rows as candidates for medoids."""
        return Candidates(self.rows, self.values, self.mass)


def choose_first(model: Model, data: Data, weights: DataWeights | None, entropy: Entropy) -> Choice | None:
    """Choose the number of clusters before the levels, so that they are those of a fit with this number; if it is open.

    A method that finds clusters itself has to find them first.
    """
    goal, population = Goal.of(model), Population(data.rows, weights)
    if not (goal.is_chosen and goal.is_told):
        return None
    rows, mass = population.draw_by_weight(CHOICE_ROWS, generator_at(entropy, Draw.CHOICE, CHOICE_ROWS))
    values = fill_missing(to_host(data.rows.take(rows)), data.column_means)
    min_share = find_min_share(model, population)
    return choose_number(values, generator_at(entropy, Draw.CHOICE), mass, min_share)


def find_min_share(model: Model, population: Population) -> float:
    """Return the smallest share of a cluster that the user wants."""
    total = float(population.n_rows)
    if population.weights is not None and model.min_cluster_size > 1:
        blocks = row_blocks(population.values.n_rows)
        total = float(sum(population.weights.take(np.arange(block.start, block.stop)).sum() for block in blocks))
    return smallest_wanted(model, total) / total


def leaves_as_candidates(first_level: FirstLevel, state: FitState, column_means: Any) -> Candidates:
    """Return all leaves of the levels as candidates for medoids."""
    leaves = first_level.leaves
    values = to_host(take_in_order(state.active.values, np.arange(len(leaves.rows))))
    return Candidates(leaves.rows, fill_missing(values, column_means), mass_of(leaves))


def link_along_tree(gini_bound: float) -> Link:
    """Return a function that links groups along their spanning tree."""
    return partial(_link_along_tree, gini_bound)


def _link_along_tree(gini_bound: float, means: Any, mass: FloatArray, max_linked: int) -> FloatArray:
    return raise_merges(link_connected(SpanningTree(means), mass, gini_bound), means, mass)


@dataclass(frozen=True)
class Chooser:
    """Chooses number and merge of the clusters of a fit, on samples of its rows.

    Attributes
    ----------
    merge : {"auto", "compact", "connected"}
        What the user wants.
    n_clusters : int or None
        The number of clusters; None if it is to be chosen.
    draw : callable
        Returns a sample of so many rows, which is always the same.
    rng : numpy.random.Generator
        Splits samples into halves.
    min_share : float
        Smallest share of a cluster, if the number is to be chosen.
    """

    merge: str
    n_clusters: int | None
    draw: Callable[[int], Sample]
    rng: np.random.Generator
    min_share: float = 0.0

    def choose_number(self) -> Choice:
        """Return the number of clusters, or choose it."""
        if self.n_clusters is not None:
            return Choice(self.n_clusters)
        sample = self.draw(CHOICE_ROWS)
        return choose_number(sample.values, self.rng, sample.mass, self.min_share)

    def refine(self, division: Division, n_clusters: int) -> Division:
        """Return the division, or the one by centres that follow from it if that cuts fewer neighbours."""
        if not 1 < n_clusters < len(division.rows):
            return division
        sample = self.draw(max(FEWEST_MOVED, MOVED_PER_CLUSTER * n_clusters))
        if len(sample.rows) < FEWEST_AROUND * n_clusters:  # of rows that were read once, few may be known
            return division
        refined = divide_by_centres(division, sample.candidates, n_clusters)
        if refined is None:
            return division
        some = self.draw(count_sampled(n_clusters)).compared
        cuts = [some.cut_share(each.label(some.points, n_clusters)) for each in (division, refined)]
        return division if cuts[0] < CLEARLY * cuts[1] else refined

    def compare(
        self, choice: Choice, label_compact: Callable[[Sample], IntArray], label_connected: Any = None
    ) -> tuple[Choice, float | None]:
        """Return the choice with its merge, and the bound of the Gini index if that is connected.

        ``label_compact`` returns the compact cluster of each row of a sample. Connected clusters are those of the
        sample, unless ``label_connected`` returns them, given a bound.
        """
        k = choice.n_clusters
        sample = None if self.merge == "compact" or k < 2 else self.draw(count_sampled(k))
        if sample is None or len(sample.rows) <= max(k, 2) or (self.merge == "auto" and self._are_few(sample, k)):
            return choice, None
        compared = replace(sample.compared, min_mass=choice.min_share * float(sample.mass.sum()))
        connect = partial(compared.divide, n_clusters=k)
        if label_connected is not None:
            connect = partial(label_connected, sample)
        found = compared.compare(label_compact(sample), connect)
        is_connected = self.merge == "connected" or found.is_connected
        merge = "connected" if is_connected else "compact"
        choice = replace(choice, merge=merge)
        if np.isfinite([found.compact_cut, found.connected_cut]).all():  # otherwise too few clusters have enough rows
            choice = replace(choice, compact_cut=found.compact_cut, connected_cut=found.connected_cut)
        return choice, found.gini_bound if is_connected else None

    @staticmethod
    def _are_few(sample: Sample, n_clusters: int) -> bool:
        return len(sample.rows) < FEWEST_PER_CLUSTER * n_clusters
