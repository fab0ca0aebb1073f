"""Choose the number of clusters, and say what was chosen and why.

For each number of clusters, the rows are merged in the way that fits them
(``beyond/choose_merge.py``), and the figures of this division are added up: its silhouette, or its
connection if that is higher, and half of the modularity less the cut of the neighbour graph. The
number with the highest sum is best. The weights were chosen on the sets of
``benchmarks/quality/rules.py``, which has cross-validated figures, too. Of many rows, several
samples are drawn, the sums are averaged, and the choice says how many of the samples agree with it.

Whether there are clusters at all is another question. Cluster two halves of the rows, and carry the
clusters of one half over to the other by the nearest row. If there are clusters, both agree
(Tibshirani and Walther, JCGS 14, 2005, and Lange et al., Neural Computation 16, 2004). The strength
of a division is how much they agree, by the adjusted Rand index, less half its cut: parts of one
cluster can agree by chance, but they separate near neighbours.

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

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin

from cohirf.beyond.choose_merge import MERGES, SampledRows, weighted_ari
from cohirf.rows import ranges
from cohirf.rows.grouping import FloatArray, IntArray

CHOICE_ROWS = 1000  # of each sample
N_SAMPLES = 3  # of data with more rows
# Numbers up to this are tried first, and twice as many as long as the best is in the upper half.
FIRST_NUMBERS = 20
STEP = 0.05  # larger numbers are tried in steps of this share, and then those beside the best
ROWS_PER_NUMBER = 8  # rows of a sample for each number that is tried
FEWEST_ROWS = 8  # fewer are one cluster
N_SPLITS = 2  # into halves
# of modularity and cut, compared with the silhouette; and of the cut in the strength
GRAPH_WEIGHT = 0.5
# Strengths: halves have nothing in common below the first, and any number is as good as two; a
# cloud of points has less than the second; halves agree from the third on.
BY_CHANCE = 0.1
WEAK_STRENGTH = 0.5
CLEAR = 0.85
# Halves have the same clusters if they differ in less than this part of one cluster: the strength
# is 1 less this part, divided by the number of clusters, or more.
SAME_PART = 0.2
# At most this many rows, and one of this many, are no cluster, however far from the others.
MOST_CRUMBS = 3
ROWS_PER_CRUMB = 30
NO_CUTS = (np.nan,) * len(MERGES)


@dataclass(frozen=True, eq=False)
class Choice:
    """How the clusters of a fit were chosen.

    Attributes
    ----------
    n_clusters : int
        The number of clusters.
    merge : {"compact", "connected", "graph"}
        How groups of rows were merged to that number.
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
        Silhouette of each candidate, or its connection if that is higher.
    strength : float
        How much two halves of the rows agree on the number that was chosen, less half its cut; NaN
        if the number was given. If they agree by chance, on the number with the highest figure,
        and two is chosen.
    n_samples : int
        Number of samples that the number was chosen on.
    n_agreeing : int
        Number of them that would have chosen the same number.
    """

    n_clusters: Annotated[int, ranges.counts()]
    merge: Annotated[str, ranges.OneOf(MERGES)] = "compact"
    cuts: Annotated[FloatArray, ranges.shares(3)] = field(default_factory=lambda: np.array(NO_CUTS))
    scores: Annotated[FloatArray, ranges.cells(3)] = field(
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
    n_samples: Annotated[int, ranges.counts(least=1)] = 1
    n_agreeing: Annotated[int, ranges.counts()] = 1
    is_merge_given: bool = False
    min_share: Annotated[float, ranges.shares()] = 0.0
    n_aside: Annotated[int, ranges.counts()] = 0
    n_small: Annotated[int, ranges.counts()] = 0

    @property
    def is_given(self) -> bool:
        """Whether the number of clusters was given, and not chosen."""
        return len(self.candidates) == 0 and self.n_clusters > 1

    @property
    def n_draws(self) -> int:
        """How often the rows were divided into random halves, to see whether these agree."""
        return N_SPLITS * self.n_samples

    @property
    def is_compared(self) -> bool:
        """Whether compact clusters were compared with others."""
        return not bool(np.isnan(self.cuts).any())

    @property
    def cut(self) -> float:
        """Share of near neighbours that the merge cuts; NaN if merges were not compared."""
        return float(self.cuts[MERGES.index(self.merge)])

    @property
    def is_clear(self) -> bool:
        """Whether there are clusters at all: these have a higher strength than parts of one
        cloud.
        """
        return len(self.candidates) == 0 or self.strength >= WEAK_STRENGTH

    @property
    def is_strong(self) -> bool:
        """Whether two halves of the rows have the same clusters, if their number was chosen."""
        return len(self.candidates) > 0 and self.strength >= CLEAR

    @property
    def is_largest(self) -> bool:
        """Whether the largest number that was tried was chosen, so that there may be more
        clusters.
        """
        return len(self.candidates) > 1 and self.n_clusters == self.candidates[-1]

    def describe(self) -> str:
        """Return the choice in a few sentences."""
        parts = (self.describe_number(), self.describe_aside(), self.describe_merge())
        said = " ".join(part for part in parts if part)
        if said:
            return said
        if self.n_clusters == 1:
            return "There is one cluster."
        return f"{self.n_clusters:,} clusters were asked for."

    def describe_number(self) -> str:
        """Return why there is this number of clusters; nothing if the number was given."""
        if len(self.candidates) == 0:
            if self.is_given:
                return ""
            return "There is one cluster, and nothing to choose."
        said = [self._describe_best()]
        if self.n_agreeing < self.n_samples:
            said.append(
                f"{self.n_agreeing} of {self.n_samples} samples of the rows give this number."
            )
        if self.is_largest:
            said.append(
                f"{self.n_clusters} is the largest number that was tried, so there may be more: "
                "give n_clusters."
            )
        return " ".join(said)

    def _describe_best(self) -> str:
        best = int(self.figures.argmax())
        chosen = int(np.flatnonzero(self.candidates == self.n_clusters)[0])
        agree = (
            f"random halves agree by {self.strength:.2f} (1: the same clusters, 0: by chance, less "
            "half the cut)"
        )
        if not self.is_clear:
            return (
                f"There are no clear groups: the best number, {self.candidates[best]}, has a "
                f"silhouette of {self.silhouettes[best]:.2f}, and {agree}."
            )
        found = f"a silhouette of {self.silhouettes[chosen]:.2f}"
        if chosen > best:
            return (
                f"{self.n_clusters} is the largest number of clusters on which halves of the rows "
                f"agree, with {found}; {agree}."
            )
        return f"{self.n_clusters} clusters fit best, with {found}; {agree}."

    def describe_aside(self) -> str:
        """Return how many rows, and small clusters, are beside the chosen clusters, if there are
        any.
        """
        said = []
        if self.n_aside:
            if self.n_aside == 1:
                rows = "1 row is"
            else:
                rows = f"{self.n_aside:,} rows are"
            said.append(f"{rows} apart from all clusters, too few to be one, and noise.")
        if self.n_small:
            if self.n_small == 1:
                more = "1 more cluster is"
            else:
                more = f"{self.n_small:,} more clusters are"
            said.append(f"{more} small and apart, with less than {self.min_share:.1%} of the rows.")
        return " ".join(said)

    def describe_merge(self) -> str:
        """Return how clusters were merged, and why.

        Nothing if merges were not compared and not asked for.
        """
        name = {
            "compact": "compact",
            "connected": "connected",
            "graph": "merged along the neighbour graph",
        }
        what = f"The clusters are {name[self.merge]}"
        if self.is_merge_given:
            what += ", as asked for"
        if not self.is_compared:
            return f"{what}." if self.is_merge_given else ""
        others = [
            f"{merge} {cut:.1%}"
            for merge, cut in zip(MERGES, self.cuts.tolist(), strict=True)
            if merge != self.merge
        ]
        return (
            f"{what}: {self.cut:.1%} of near neighbours are in another cluster "
            f"({', '.join(others)})."
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
    def of(cls, sample: SampledRows, numbers: IntArray, min_share: float) -> NumberedDivisions:
        """Divide a sample into the numbers of clusters that its merges reach."""
        of_merges = [sample.divide(merge, numbers.tolist(), min_share) for merge in MERGES]
        is_reached = np.zeros(len(numbers), dtype=bool)
        merges = []
        figures = []
        silhouettes = []
        cuts = []
        for place, divisions in enumerate(zip(*of_merges, strict=True)):
            is_reached[place] = max(int(labels.max()) for labels in divisions) + 1 == numbers[place]
            if not is_reached[place]:
                continue
            compared = sample.compare(divisions)
            best = MERGES.index(compared.best)
            found = compared.figures
            silhouettes.append(
                max(sample.silhouette(divisions[best]), float(found.connection[best]))
            )
            figures.append(
                silhouettes[-1] + GRAPH_WEIGHT * (found.modularity[best] - found.cut[best])
            )
            cuts.append(found.cut[best])
            merges.append(compared.best)
        return cls(
            numbers[is_reached], merges, np.array(figures), np.array(silhouettes), np.array(cuts)
        )

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

    def measure_strengths(
        self, sample: SampledRows, least: int, min_share: float, rng: np.random.Generator
    ) -> FloatArray:
        """Return the strength of each division into ``least`` clusters or more; 0 for others."""
        agreed = np.zeros(len(self.numbers))
        halves = split_in_halves(sample, rng)
        merges = np.array(self.merges)
        for merge in np.unique(merges[self.numbers >= least]):
            some = (merges == merge) & (self.numbers >= least)
            agreed[some] = measure_agreement(halves, merge, self.numbers[some], min_share)
        return np.maximum(agreed - GRAPH_WEIGHT * self.cuts, 0.0)


def choose_number(
    samples: Sequence[SampledRows], rng: np.random.Generator, min_share: float = 0.0
) -> Choice:
    """Choose the number of clusters, each with at least a share of the mass.

    Parameters
    ----------
    samples : list of SampledRows
        Samples of the rows. If they have all rows, one is enough.
    rng : Generator
        Splits a sample into halves.
    min_share : float
        Smallest share of a cluster.
    """
    n_rows = min(sample.points.shape[0] for sample in samples)
    most = min(
        max(2, n_rows // ROWS_PER_NUMBER), *(_count_distinct(sample.points) for sample in samples)
    )
    if n_rows < FEWEST_ROWS or most < 2:
        return Choice(1)
    min_share = max(min_share, count_crumbs(n_rows) / n_rows)
    tried = _try_numbers(samples, most, min_share)
    choice = _choose_best(tried)
    if len(choice.candidates) == 0:
        return Choice(1)
    strengths = tried[0].measure_strengths(samples[0], choice.n_clusters, min_share, rng)
    is_candidate = np.isin(tried[0].numbers, choice.candidates)
    strengths = strengths[is_candidate]
    best = int(np.flatnonzero(choice.candidates == choice.n_clusters)[0])
    is_same = (1 - strengths) * choice.candidates <= SAME_PART
    chosen = max([best, *np.flatnonzero(is_same).tolist()])
    strength = float(strengths[chosen])
    if strength < BY_CHANCE:
        chosen = 0
    return replace(
        choice,
        n_clusters=int(choice.candidates[chosen]),
        strength=strength,
        min_share=min_share,
    )


def _try_numbers(
    samples: Sequence[SampledRows], most: int, min_share: float
) -> list[NumberedDivisions]:
    """Divide samples into 2, 3 and more clusters.

    As long as the best number is in the upper half, twice as many are tried.
    """
    last = min(FIRST_NUMBERS, most)
    numbers = np.arange(2, last + 1)
    tried = [NumberedDivisions.of(sample, numbers, min_share) for sample in samples]
    best = _choose_best(tried).n_clusters
    while last < min(2 * best, most):
        tried = _try_more(tried, samples, _in_steps(last, min(2 * last, most)), min_share)
        last = min(2 * last, most)
        best = _choose_best(tried).n_clusters
    nearest = np.arange(max(2, int(best / (1 + STEP))), int(best * (1 + STEP)) + 2)
    others = np.setdiff1d(nearest[nearest <= most], tried[0].numbers)
    return _try_more(tried, samples, others, min_share)


def _try_more(
    tried: Sequence[NumberedDivisions],
    samples: Sequence[SampledRows],
    numbers: IntArray,
    min_share: float,
) -> list[NumberedDivisions]:
    """Return the divisions that were tried and those into other numbers."""
    return [
        former.joined(NumberedDivisions.of(sample, numbers, min_share))
        for former, sample in zip(tried, samples, strict=True)
    ]


def _in_steps(last: int, most: int) -> IntArray:
    """Return numbers above the last one, up to the largest, in steps of a share.

    >>> _in_steps(20, 40).tolist()
    [21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 32, 34, 36, 38, 40]
    >>> _in_steps(80, 100).tolist()
    [84, 88, 92, 97, 100]
    """
    numbers = []
    while last < most:
        last = min(max(last + 1, round(last * (1 + STEP))), most)
        numbers.append(last)
    return np.array(numbers, dtype=np.int64)


def _choose_best(tried: Sequence[NumberedDivisions]) -> Choice:
    """Choose the number with the highest mean figure among those that all samples reach.

    The smaller of equal ones.
    """
    candidates = tried[0].numbers
    for each in tried[1:]:
        candidates = np.intersect1d(candidates, each.numbers)
    if len(candidates) == 0:
        return Choice(1)
    figures = np.array([each.figures[np.isin(each.numbers, candidates)] for each in tried])
    silhouettes = np.array([each.silhouettes[np.isin(each.numbers, candidates)] for each in tried])
    best = int(figures.mean(axis=0).argmax())
    return Choice(
        int(candidates[best]),
        candidates=candidates,
        figures=figures.mean(axis=0),
        silhouettes=silhouettes.mean(axis=0),
        n_samples=len(tried),
        n_agreeing=int((figures.argmax(axis=1) == best).sum()),
    )


def split_in_halves(
    sample: SampledRows, rng: np.random.Generator
) -> list[tuple[SampledRows, SampledRows]]:
    """Return two random halves of a sample, several times."""
    n_rows = sample.points.shape[0]
    pairs = []
    for _ in range(N_SPLITS):
        order = rng.permutation(n_rows)
        parts = (np.sort(order[: n_rows // 2]), np.sort(order[n_rows // 2 :]))
        one, other = (SampledRows(sample.points[rows], sample.mass[rows]) for rows in parts)
        pairs.append((one, other))
    return pairs


def measure_agreement(
    halves: Sequence[tuple[SampledRows, SampledRows]],
    merge: str,
    numbers: Sequence[int] | IntArray,
    min_share: float,
) -> FloatArray:
    """Return how much two halves agree on the clusters that a merge finds, for each number.

    The mean over pairs of halves, and over which of the two is carried over to the other.
    """
    found = []
    for pair in halves:
        divided = [half.divide(merge, [int(each) for each in numbers], min_share) for half in pair]
        for one, other in ((0, 1), (1, 0)):
            nearest = pairwise_distances_argmin(pair[one].points, pair[other].points)
            found.append(
                [
                    weighted_ari(labels, of_other[nearest], pair[one].mass)
                    for labels, of_other in zip(divided[one], divided[other], strict=True)
                ]
            )
    agreed: FloatArray = np.mean(found, axis=0)
    return agreed


def _count_distinct(points: Any) -> int:
    """Return the number of distinct rows; those of a sparse matrix are not compared."""
    if sparse.issparse(points) or points.shape[0] == 0:
        return int(points.shape[0])
    return len(np.unique(points, axis=0))


def count_crumbs(n_rows: int) -> int:
    """Return the smallest number of rows that can be a cluster, if the number of clusters is
    chosen: from 1 to 4.
    """
    return 1 + min(MOST_CRUMBS, n_rows // ROWS_PER_CRUMB)
