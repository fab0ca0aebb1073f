"""Choose the number of clusters.

For each number of clusters, the rows are merged in the way that fits them
(``beyond/choose_merge.py``), and the figures of this division are added up: its silhouette, or its
connection if that is higher, and half of the modularity less the cut of the neighbour graph. The
number with the highest sum is best. The weights were chosen on the sets of
``benchmarks/quality/rules.py``, which has cross-validated figures, too. The rows and their graph
are those by which the merge of the fit is chosen, too.

Whether there are clusters at all is another question. Divide random halves of the rows into as
many clusters, each by the merge that fits it, and carry the clusters of one half over to the other
by the nearest row. If there are clusters, both agree (Tibshirani and Walther, JCGS 14, 2005, and
Lange et al., Neural Computation 16, 2004). The strength of a division is how much they agree, by
the adjusted Rand index, less half its cut: parts of one cluster can agree by chance, but they
separate near neighbours. How many halves have the clusters of all rows is counted, too.

If halves have the same clusters with a larger number than the best one, the largest such number is
chosen: where some clusters are far from the others, the silhouette would join those that are near
each other, however clear they are. If the best number is weak, there are no clear groups. If its
halves have nothing in common, the rows are only divided in two. (On the 150 mixtures of
``benchmarks/quality/held_out.py``, whose clusters overlap, to divide all that are weak in two costs
0.08 of the adjusted Rand index.)

A few rows that are far from all others are not a cluster. They are cut off before clusters are
counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Annotated

import numpy as np
from sklearn.metrics import pairwise_distances_argmin

from cohirf.beyond.choose_merge import MERGES, ComparedSample, weighted_ari
from cohirf.beyond.criterion import criterion_of
from cohirf.beyond.merge_tree import MAX_LINKED
from cohirf.beyond.merges import DEFAULT, NAMES
from cohirf.beyond.policy import MERGE, NUMBER
from cohirf.in_words import InWords
from cohirf.problems import CRUMB
from cohirf.rows import ranges
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import FloatArray, IntArray

NO_CUTS = (np.nan,) * len(MERGES)


@dataclass(frozen=True, eq=False)
class Choice(InWords):
    """How the clusters of a fit were chosen; ``print`` shows it in words.

    Attributes
    ----------
    n_clusters : int
        The number of clusters.
    merge : str
        How groups of rows were merged to that number: a value of the parameter ``merge``.
    is_merge_given : bool
        Whether the parameter ``merge`` asked for that.
    min_share : float
        Smallest share of the rows, or of their weight, that was counted as a cluster when the
        number was chosen. Rows of smaller parts were set aside.
    n_aside : int
        Number of rows that are noise for that reason.
    n_small : int
        Number of clusters beside the chosen ones: parts that are smaller than ``min_share``, but
        too large for noise.
    cuts : array of float, shape (3,)
        For compact, connected and graph merges: mean over clusters of the share of the ten nearest
        neighbours of a row that are in another cluster, on a sample of rows. NaN if merges were not
        compared.
    scores : array of float, shape (3,)
        By which these merges were compared; the highest was taken, or compact clusters if theirs is
        nearly as high.
    candidates : array of int
        Numbers of clusters that were compared; empty if the number was given.
    figures : array of float
        By which these numbers were compared: silhouette or connection, and half of modularity less
        cut.
    silhouettes : array of float
        Silhouette of each candidate, or its connection if that is higher; NaN for a graph.
    strength : float
        How much two halves of the rows agree on the number of clusters, less half its cut; NaN if
        that was not measured, as in a fit with a given number. If they agree by chance, on the
        number with the highest figure, and two is chosen.
    agreements : array of float
        For each of several random halves of the rows: the adjusted Rand index of the clusters of
        all rows, and of those that the half has on its own, divided into as many by the merge that
        fits it; empty if that was not measured.
    """

    n_clusters: Annotated[int, ranges.counts()]
    merge: Annotated[str, ranges.OneOf(NAMES)] = DEFAULT
    cuts: Annotated[FloatArray, ranges.shares(len(MERGES))] = field(
        default_factory=lambda: np.array(NO_CUTS)
    )
    scores: Annotated[FloatArray, ranges.cells(len(MERGES))] = field(
        default_factory=lambda: np.array(NO_CUTS)
    )
    candidates: Annotated[IntArray, ranges.counts(ranges.ANY)] = field(
        default_factory=lambda: np.empty(0, dtype=np.int64)
    )
    figures: Annotated[FloatArray, ranges.cells("candidates")] = field(
        default_factory=lambda: np.empty(0)
    )
    silhouettes: Annotated[FloatArray, ranges.cells("candidates")] = field(
        default_factory=lambda: np.empty(0)
    )
    strength: Annotated[float, ranges.shares()] = np.nan
    agreements: Annotated[FloatArray, ranges.cells(ranges.ANY)] = field(
        default_factory=lambda: np.empty(0)
    )
    is_merge_given: bool = False
    min_share: Annotated[float, ranges.shares()] = 0.0
    n_aside: Annotated[int, ranges.counts()] = 0
    n_small: Annotated[int, ranges.counts()] = 0

    @property
    def is_given(self) -> bool:
        """Whether the number of clusters was given, and not chosen."""
        return len(self.candidates) == 0 and self.n_clusters > 1

    @property
    def n_halves(self) -> int:
        """Number of random halves of the rows that were divided on their own."""
        return len(self.agreements)

    @property
    def n_same(self) -> int:
        """Number of these that have the same clusters as all rows."""
        return int(np.count_nonzero(self.agreements >= NUMBER.same))

    @property
    def is_compared(self) -> bool:
        """Whether merges were compared."""
        return not bool(np.isnan(self.cuts).any())

    @property
    def cut(self) -> float:
        """Share of near neighbours that the merge cuts.

        NaN if merges were not compared, and if all of them cut all neighbours: then each cluster is
        one point of those that were compared, such as copies of one row.
        """
        if not self.is_compared or np.allclose(self.cuts, 1):
            return float(np.nan)
        return float(self.cuts[MERGES.index(self.merge)])

    @property
    def kind(self) -> str:
        """What clusters the merge makes: the end of a sentence "The clusters are ..."."""
        return criterion_of(self.merge).kind

    @property
    def is_around_means(self) -> bool:
        """Whether the clusters lie around their means, so that a silhouette tells whether they are
        apart.
        """
        return criterion_of(self.merge).around_means

    @property
    def is_clear(self) -> bool:
        """Whether there are clusters at all: these have a higher strength than parts of one
        cloud.
        """
        return bool(np.isnan(self.strength)) or self.strength >= NUMBER.weak

    @property
    def is_strong(self) -> bool:
        """Whether there are clusters, and each half that was looked at has the same ones."""
        return self.n_halves > 0 and self.is_clear and self.n_same == self.n_halves

    @property
    def is_largest(self) -> bool:
        """Whether the largest number that was tried was chosen, so that there may be more
        clusters.
        """
        return len(self.candidates) > 1 and self.n_clusters == self.candidates[-1]

    def explain_largest(self) -> str:
        """Return the warning that the largest number that was tried was chosen."""
        return (
            f"{self.n_clusters} clusters were chosen, the largest number that was tried, so there "
            "may be more: give n_clusters."
        )


@dataclass(frozen=True)
class NumberedDivisions:
    """Divisions of a sample into several numbers of clusters, each by the merge that fits it."""

    numbers: IntArray
    merges: list[str]
    figures: FloatArray
    silhouettes: FloatArray
    cuts: FloatArray

    @classmethod
    def of(cls, sample: ComparedSample, numbers: IntArray, min_share: float) -> NumberedDivisions:
        """Divide a sample into the numbers of clusters that its merges reach."""
        of_merges = [sample.divide(merge, numbers.tolist(), min_share) for merge in MERGES]
        of_numbers = list(zip(*of_merges, strict=True))
        n_found = [max(int(labels.max()) for labels in each) + 1 for each in of_numbers]
        reached = np.flatnonzero(n_found == numbers).tolist()
        if not reached:
            nothing = np.empty(0)
            return cls(numbers[:0], [], nothing, nothing, nothing)
        compared = sample.compare_each([of_numbers[place] for place in reached])
        best = [MERGES.index(each.best) for each in compared]
        divisions = [of_numbers[place][one] for place, one in zip(reached, best, strict=True)]

        def of_best(name: str) -> FloatArray:
            figures = [getattr(each.figures, name) for each in compared]
            return np.array([values[one] for values, one in zip(figures, best, strict=True)])

        cuts = of_best("cut")
        silhouettes = np.maximum(sample.silhouettes(divisions), of_best("connection"))
        figures = silhouettes + NUMBER.graph * (of_best("modularity") - cuts)
        return cls(numbers[reached], [MERGES[one] for one in best], figures, silhouettes, cuts)

    def joined(self, more: NumberedDivisions) -> NumberedDivisions:
        """Return these divisions and others, in the order of their numbers."""
        numbers = np.append(self.numbers, more.numbers)
        order = np.argsort(numbers)
        merges = self.merges + more.merges
        return NumberedDivisions(
            numbers[order],
            [merges[place] for place in order],
            np.append(self.figures, more.figures)[order],
            np.append(self.silhouettes, more.silhouettes)[order],
            np.append(self.cuts, more.cuts)[order],
        )

    @property
    def best(self) -> int:
        """The place of the number with the highest figure, the smaller of equal ones."""
        return int(self.figures.argmax())

    @property
    def best_number(self) -> int:
        """The number with the highest figure; 1 if no number is reached."""
        return int(self.numbers[self.best]) if len(self.numbers) else 1

    def may_agree(self) -> IntArray:
        """Return the places of numbers above the best one on which halves may agree, the largest
        first: where the cut is high, they cannot.
        """
        is_low = NUMBER.graph * self.cuts * self.numbers <= NUMBER.same_part
        return np.flatnonzero(is_low & (self.numbers > self.best_number))[::-1]


def choose_number(
    sample: ComparedSample, rng: np.random.Generator, min_share: float = 0.0
) -> Choice:
    """Choose the number of clusters, each with at least a share of the mass.

    Parameters
    ----------
    sample : ComparedSample
        The rows, or a sample of them.
    rng : Generator
        Splits the rows into halves.
    min_share : float
        Smallest share of a cluster.
    """
    n_rows = sample.points.shape[0]
    n_distinct = container_of(sample.points).count_distinct(sample.points)
    most = min(max(2, n_rows // MERGE.rows_per_cluster), n_distinct)
    if n_rows < MERGE.rows_per_cluster or most < 2:
        return Choice(1)
    min_share = max(min_share, count_crumbs(n_rows) / n_rows)
    tried = _try_numbers(sample, most, min_share)
    if len(tried.numbers) == 0:
        return Choice(1)
    halves = Halves(sample, min_share, rng)
    chosen, found = _choose_place(tried, halves)
    strength = found.strength(float(tried.cuts[chosen]))
    if strength < NUMBER.by_chance:
        chosen = 0
        found = halves.compare(int(tried.numbers[chosen]))
    return Choice(
        int(tried.numbers[chosen]),
        candidates=tried.numbers,
        figures=tried.figures,
        silhouettes=tried.silhouettes,
        strength=strength,
        agreements=found.with_all,
        min_share=min_share,
    )


def rate_number(
    choice: Choice, sample: ComparedSample, rng: np.random.Generator, min_share: float = 0.0
) -> Choice:
    """Return a choice of a number that was given, with how much random halves agree on it.

    It is what ``choose_number`` says of this number, for the same rows and draws.
    """
    n_rows = sample.points.shape[0]
    min_share = max(min_share, count_crumbs(n_rows) / n_rows)
    divided = NumberedDivisions.of(sample, np.array([choice.n_clusters]), min_share)
    if len(divided.numbers) == 0:
        return choice
    found = Halves(sample, min_share, rng).compare(choice.n_clusters)
    strength = found.strength(float(divided.cuts[0]))
    return replace(choice, strength=strength, agreements=found.with_all)


def _choose_place(tried: NumberedDivisions, halves: Halves) -> tuple[int, ComparedHalves]:
    """Return the place of the largest number on which halves agree, or of the best one, and what
    halves have found with it.
    """
    for place in tried.may_agree():
        number = int(tried.numbers[place])
        cut = float(tried.cuts[place])
        least = 1 - NUMBER.same_part / number
        found = halves.compare(number, least + NUMBER.graph * cut)
        if found.strength(cut) >= least:
            return int(place), found
    return tried.best, halves.compare(tried.best_number)


def _try_numbers(sample: ComparedSample, most: int, min_share: float) -> NumberedDivisions:
    """Divide a sample into 2, 3 and more clusters.

    As long as the best number is in the upper half, twice as many are tried.
    """
    last = min(NUMBER.first_numbers, most)
    tried = NumberedDivisions.of(sample, np.arange(2, last + 1), min_share)
    while last < min(2 * tried.best_number, most):
        numbers = _in_steps(last, min(2 * last, most))
        tried = tried.joined(NumberedDivisions.of(sample, numbers, min_share))
        last = min(2 * last, most)
    best = tried.best_number
    ratio = 1 + 1 / NUMBER.first_numbers
    beside = np.arange(max(2, int(best / ratio)), int(best * ratio) + 2)
    others = np.setdiff1d(beside[beside <= most], tried.numbers)
    return tried.joined(NumberedDivisions.of(sample, others, min_share))


def _in_steps(last: int, most: int) -> IntArray:
    """Return numbers above the last one, up to the largest, in steps of a share.

    >>> _in_steps(20, 40).tolist()
    [21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 32, 34, 36, 38, 40]
    >>> _in_steps(80, 100).tolist()
    [84, 88, 92, 97, 100]
    """
    numbers = []
    while last < most:
        last = min(max(last + 1, round(last * (1 + 1 / NUMBER.first_numbers))), most)
        numbers.append(last)
    return np.array(numbers, dtype=np.int64)


@dataclass(frozen=True)
class ComparedHalves:
    """How much random halves agree on the clusters that each finds on its own.

    Adjusted Rand indices, with an entry for each half.
    """

    with_other: FloatArray  # with the clusters of the other half, carried over by the nearest row
    with_all: FloatArray  # with the clusters of all rows

    def strength(self, cut: float) -> float:
        """Return how much halves agree with each other, less half the cut."""
        return max(0.0, float(self.with_other.mean()) - NUMBER.graph * cut)


class Halves:
    """Random halves of a sample, each divided on its own.

    Parameters
    ----------
    sample : ComparedSample
        The rows.
    min_share : float
        Smallest share of a cluster.
    rng : Generator
        Splits the rows.
    """

    def __init__(self, sample: ComparedSample, min_share: float, rng: np.random.Generator) -> None:
        self._sample = sample
        self._min_share = min_share
        self._pairs = [split_in_halves(sample, rng) for _ in range(NUMBER.splits)]

    def compare(self, number: int, least: float = -1.0) -> ComparedHalves:
        """Compare what halves find with a number of clusters.

        It ends as soon as the mean agreement of all halves must be below the least that is needed.
        """
        of_all = self._sample.divide_best(number, self._min_share)
        found: list[ComparedHalves] = []
        lacking = 0.0
        for pair in self._pairs:
            found.append(pair.compare(number, self._min_share, of_all))
            lacking += float((1 - found[-1].with_other).mean())
            if lacking > (1 - least) * len(self._pairs):
                break
        return ComparedHalves(
            np.concatenate([each.with_other for each in found]),
            np.concatenate([each.with_all for each in found]),
        )


def split_in_halves(sample: ComparedSample, rng: np.random.Generator) -> SplitSample:
    """Return two random halves of a sample."""
    n_rows = sample.points.shape[0]
    # halves of many rows would take long, and as many as these agree as well
    some = np.unique(np.linspace(0, n_rows - 1, min(n_rows, MAX_LINKED)).astype(np.int64))
    order = some[rng.permutation(len(some))]
    one = np.sort(order[: len(some) // 2])
    other = np.sort(order[len(some) // 2 :])
    return SplitSample(sample.take(one), sample.take(other), one, other)


@dataclass(frozen=True)
class SplitSample:
    """Two halves of a sample, and which of its rows they have."""

    one: ComparedSample
    other: ComparedSample
    rows: IntArray
    other_rows: IntArray

    @cached_property
    def _nearest(self) -> tuple[IntArray, IntArray]:
        """For each row of either half, the nearest row of the other one."""
        one, other = self.one.points, self.other.points
        return pairwise_distances_argmin(one, other), pairwise_distances_argmin(other, one)

    def compare(self, number: int, min_share: float, of_all: IntArray) -> ComparedHalves:
        """Compare what both find with a number of clusters, given the clusters of all rows."""
        labels = self.one.divide_best(number, min_share)
        of_other = self.other.divide_best(number, min_share)
        with_other = [
            weighted_ari(labels, of_other[self._nearest[0]], self.one.mass),
            weighted_ari(of_other, labels[self._nearest[1]], self.other.mass),
        ]
        with_all = [
            weighted_ari(of_all[self.rows], labels, self.one.mass),
            weighted_ari(of_all[self.other_rows], of_other, self.other.mass),
        ]
        return ComparedHalves(np.array(with_other), np.array(with_all))


def count_crumbs(n_rows: int) -> int:
    """Return the smallest number of rows that can be a cluster, if the number of clusters is
    chosen: from 1 to 4.

    Three that are smaller have at most the share of the rows that may be aside.
    """
    return 1 + min(CRUMB, int(NUMBER.aside * n_rows / CRUMB))
