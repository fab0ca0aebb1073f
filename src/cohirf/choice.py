"""Choose the number of clusters by prediction strength and silhouette, and say what was chosen and why.

Cluster two halves of the rows, and carry the clusters of one half over to the other by the nearest row. If there are
clusters, both agree. The prediction strength of a number of clusters is how much they agree: the adjusted Rand index.
(Tibshirani and Walther, JCGS 14, 2005, take the worst cluster, which is low as soon as two of many clusters overlap, so
that few are chosen; Lange et al., Neural Computation 16, 2004, the share of rows.) Parts of one cluster can agree by
chance, but they separate near neighbours: half the share of these is subtracted.

If the clusters of the strongest number are connected, numbers are compared by their strength alone: the silhouette of a
long or curved cluster is low. Otherwise they are compared by strength and silhouette, which counts twice. Of all that
are nearly the best, the largest strong one is chosen. If none is strong, there are no clear groups, and the best is
chosen, or a smaller number that is as good.

A few rows that are far from all others are not a cluster. They are cut off before clusters are counted.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.metrics import pairwise_distances_argmin
from sklearn.metrics.pairwise import euclidean_distances

from cohirf.beyond.choose_merge import LargeParts, SampledRows, centre
from cohirf.beyond.merge_tree import link_groups
from cohirf.rows import ranges
from cohirf.rows.grouping import FloatArray, IntArray

COLUMNS = 64  # of the distance matrix that are summed at a time
MAX_CHOICE = 20  # largest number of clusters to choose
N_SPLITS = 3
CHOICE_ROWS = 1000  # both halves together
# Chosen on the sets of benchmarks/quality/ablation.py, on blobs, and on mixtures like those of held_out.py.
CUT_WEIGHT = 0.5
SILHOUETTE_WEIGHT = 2.0
NEARLY, EQUAL = 0.02, 0.01  # how far below the best a number may be, if clusters are clear, and if they are not
WEAK_STRENGTH, CLEAR = 0.5, 0.85  # a cloud of points has less than the first; halves agree from the second on
# Up to so many rows, and one for so many, are not a cluster, however far from the others they are.
MOST_CRUMBS, ROWS_PER_CRUMB = 3, 30


@dataclass(frozen=True, eq=False)
class Choice:
    """How the clusters of a fit were chosen.

    Attributes
    ----------
    n_clusters : int
        The number of clusters.
    merge : {"compact", "connected"}
        How groups of rows were merged to that number.
    is_merge_given : bool
        Whether the parameter ``merge`` asked for that.
    min_share : float
        Smallest share of the rows, or of their weight, that was counted as a cluster when the number was chosen. Rows
        of smaller parts were set aside.
    n_aside : int
        Number of rows that are noise for that reason.
    n_small : int
        Number of clusters beside the chosen ones: parts that are smaller than ``min_share``, but too large for noise.
    compact_cut, connected_cut : float
        For both kinds of merges: mean over clusters of the share of the ten nearest neighbours of a row that are in
        another cluster, on a sample of rows. With ``merge="auto"``, connected clusters were taken if theirs is clearly
        lower. NaN if they were not compared.
    candidates : array of int
        Numbers of clusters that were compared; empty if the number was given.
    strengths : array of float
        Prediction strength of each candidate, less half the share of near neighbours that are in another cluster.
    silhouettes : array of float
        Mean silhouette of each candidate, at most 1.
    is_by_strength : bool
        Whether the candidates were compared by their strength alone.
    """

    n_clusters: Annotated[int, ranges.counts()]
    merge: Annotated[str, ranges.OneOf(("compact", "connected"))] = "compact"
    compact_cut: Annotated[float, ranges.shares()] = np.nan
    connected_cut: Annotated[float, ranges.shares()] = np.nan
    candidates: Annotated[IntArray, ranges.counts(ranges.ANY)] = field(
        default_factory=lambda: np.empty(0, dtype=np.int64)
    )
    strengths: Annotated[FloatArray, ranges.cells("candidates")] = field(default_factory=lambda: np.empty(0))
    silhouettes: Annotated[FloatArray, ranges.cells("candidates")] = field(default_factory=lambda: np.empty(0))
    is_by_strength: bool = False
    is_merge_given: bool = False
    min_share: Annotated[float, ranges.shares()] = 0.0
    n_aside: Annotated[int, ranges.counts()] = 0
    n_small: Annotated[int, ranges.counts()] = 0

    @classmethod
    def of_number(
        cls, candidates: IntArray, strengths: FloatArray, silhouettes: FloatArray, is_connected: Any = False
    ) -> Choice:
        """Choose one of several numbers of clusters, which may be connected; 1 if there is none."""
        if len(candidates) == 0:
            return cls(1)
        strongest = int(strengths.argmax())
        by_shape = np.broadcast_to(is_connected, len(candidates))[strongest] and strengths[strongest] >= WEAK_STRENGTH
        by_strength = bool(by_shape or silhouettes.max() <= 0)
        chosen = cls(1, candidates=candidates, strengths=strengths, silhouettes=silhouettes, is_by_strength=by_strength)
        figures = chosen.figures
        near, equal = (np.flatnonzero(figures >= figures.max() - below) for below in (NEARLY, EQUAL))
        strong = near[strengths[near] >= WEAK_STRENGTH]
        best = int(strong[-1] if len(strong) else equal[0])
        return replace(chosen, n_clusters=int(candidates[best]))

    @property
    def figures(self) -> FloatArray:
        """What the candidates were compared by: strengths, or the mean of these and, twice, of relative silhouettes."""
        if self.is_by_strength or len(self.candidates) == 0:
            return self.strengths
        relative = self.silhouettes / self.silhouettes.max()
        return np.asarray((self.strengths + SILHOUETTE_WEIGHT * relative) / (1 + SILHOUETTE_WEIGHT))

    @property
    def is_given(self) -> bool:
        """Whether the number of clusters was given, and not chosen."""
        return len(self.candidates) == 0 and self.n_clusters > 1

    @property
    def is_strong(self) -> bool:
        """Whether two halves of the rows have the same clusters, if their number was chosen."""
        return len(self.candidates) > 0 and self.strength >= CLEAR

    @property
    def is_clear(self) -> bool:
        """Whether there are clusters at all: these have a higher prediction strength than parts of one cloud."""
        return len(self.candidates) == 0 or self.strength >= WEAK_STRENGTH

    @property
    def strength(self) -> float:
        """Prediction strength of the number that was chosen; NaN if it was given."""
        return float(self.strengths[self.candidates == self.n_clusters][0]) if len(self.candidates) else np.nan

    @property
    def is_largest(self) -> bool:
        """Whether the largest number that is ever tried was chosen, so that there may be more clusters."""
        return len(self.candidates) > 0 and self.n_clusters == MAX_CHOICE

    def describe(self) -> str:
        """Return the choice in a few sentences."""
        parts = (self.describe_number(), self.describe_aside(), self.describe_merge())
        said = " ".join(part for part in parts if part)
        if said:
            return said
        return "There is one cluster." if self.n_clusters == 1 else f"{self.n_clusters:,} clusters were asked for."

    def describe_number(self) -> str:
        """Return why there are so many clusters; nothing if the number was given."""
        if len(self.candidates) == 0:
            return "" if self.is_given else "There is one cluster, and nothing to choose."
        said = self._describe_best()
        more = f" {MAX_CHOICE} is the largest number that is tried, so there may be more: give n_clusters."
        return said + more if self.is_largest else said

    def _describe_best(self) -> str:
        strength = f"a prediction strength of {self.strength:.2f}"
        own = self.candidates == self.n_clusters
        silhouette = f"{strength} and a silhouette of {float(self.silhouettes[own][0]):.2f}"
        highest = f"the highest of all numbers are {self.strengths.max():.2f} and {self.silhouettes.max():.2f}"
        if not self.is_clear:
            return f"There are no clear groups: these {self.n_clusters} have {silhouette}; {highest}."
        if self.is_by_strength:
            best = int(self.candidates[self.strengths.argmax()])
            nearly = "" if best == self.n_clusters else f", nearly as high as {best} ({self.strengths.max():.2f})"
            return f"{self.n_clusters} clusters have {strength}{nearly}."
        return f"{self.n_clusters} clusters have {silhouette}; {highest}."

    def describe_aside(self) -> str:
        """Return how many rows, and small clusters, are beside the chosen clusters, if there are any."""
        said = []
        if self.n_aside:
            rows = "1 row is" if self.n_aside == 1 else f"{self.n_aside:,} rows are"
            said.append(f"{rows} apart from all clusters, too few to be one, and noise.")
        if self.n_small:
            more = "1 more cluster is" if self.n_small == 1 else f"{self.n_small:,} more clusters are"
            said.append(f"{more} small and apart, with less than {self.min_share:.1%} of the rows.")
        return " ".join(said)

    def describe_merge(self) -> str:
        """Return why clusters are compact or connected; nothing if these were not compared and not asked for."""
        what = f"{self.merge.capitalize()} clusters were asked for" if self.is_merge_given else ""
        if np.isnan(self.compact_cut):
            return f"{what}." if what else ""
        what = what or f"The clusters are {self.merge}"
        other, cut, other_cut = "connected", self.compact_cut, self.connected_cut
        if self.merge == "connected":
            other, cut, other_cut = "compact", other_cut, cut
        return f"{what}: {cut:.1%} of near neighbours are in another cluster, with {other} clusters {other_cut:.1%}."


def measure_strengths(
    points: Any, mass: FloatArray, min_mass: float, rng: np.random.Generator
) -> tuple[IntArray, FloatArray]:
    """Return numbers of clusters, and the prediction strength of each: the mean over some splits into two halves."""
    n_half = points.shape[0] // 2
    candidates = np.arange(2, min(MAX_CHOICE, n_half // 2, _count_distinct(points)) + 1)
    if len(candidates) == 0:  # halves of so few rows have no neighbours
        return candidates, np.empty(0)
    strengths = np.zeros((N_SPLITS, 2, len(candidates)))
    for split in range(N_SPLITS):
        order = rng.permutation(points.shape[0])
        parts = (np.sort(order[:n_half]), np.sort(order[n_half:]))
        halves = [Half.of(points[some], mass[some], min_mass / 2, candidates) for some in parts]
        for number, (half, other) in enumerate((halves, halves[::-1])):
            nearest = pairwise_distances_argmin(half.points, other.points)
            for place, (labels, of_other) in enumerate(zip(half.divisions, other.divisions, strict=True)):
                strengths[split, number, place] = predict_strength(labels, of_other[nearest], half.mass)
    return candidates, strengths.mean(axis=(0, 1))


def _count_distinct(points: Any) -> int:
    """Return the number of distinct rows; those of a sparse matrix are not compared."""
    if sparse.issparse(points) or points.shape[0] == 0:
        return int(points.shape[0])
    return len(np.unique(points, axis=0))


def count_crumbs(n_rows: int) -> int:
    """Return the smallest number of rows that can be a cluster, if the number of clusters is chosen: from 1 to 4."""
    return 1 + min(MOST_CRUMBS, n_rows // ROWS_PER_CRUMB)


def choose_number(
    points: Any, rng: np.random.Generator, mass: FloatArray | None = None, min_share: float = 0.0
) -> Choice:
    """Choose the number of clusters of some rows, each with at least a share of their mass."""
    n_rows = points.shape[0]
    points, mass = centre(points), np.ones(n_rows) if mass is None else mass
    min_share = max(min_share, count_crumbs(n_rows) / max(n_rows, 1))
    min_mass = min_share * float(mass.sum())
    candidates, strengths = measure_strengths(points, mass, min_mass, rng)
    if len(candidates) == 0:
        return Choice(1)
    whole, distances = Half.of(points, mass, min_mass, candidates), euclidean_distances(points)
    divisions = whole.divisions
    is_reached = np.array([int(labels.max()) + 1 == k for labels, k in zip(divisions, candidates, strict=True)])
    if not is_reached.any():
        return Choice(1)
    silhouettes = [
        _silhouette_of_clusters(distances, labels, mass)
        for labels, is_used in zip(divisions, is_reached, strict=True)
        if is_used
    ]
    strengths = np.maximum(strengths - CUT_WEIGHT * whole.sample.cut_shares(*divisions), 0)
    figures = strengths[is_reached], np.array(silhouettes), whole.is_connected[is_reached]
    chosen = Choice.of_number(candidates[is_reached], *figures)
    return replace(chosen, min_share=min_share)


def _silhouette_of_clusters(distances: FloatArray, labels: IntArray, mass: FloatArray) -> float:
    """Return the mean silhouette of rows that are in a cluster."""
    some = np.flatnonzero(labels >= 0)
    return mean_silhouette(distances[np.ix_(some, some)], labels[some], mass[some])


@dataclass(frozen=True)
class Half:
    """Some rows, such as one half of them, and how they are divided into each number of clusters.

    A division is by the merges, compact or connected, that cut fewer neighbours. It has -1 in parts that are too small.
    """

    sample: SampledRows
    divisions: list[IntArray]
    is_connected: NDArray[np.bool_]  # whether each of them is by connected merges

    @classmethod
    def of(cls, points: Any, mass: FloatArray, min_mass: float, numbers: IntArray) -> Half:
        """Merge rows to several numbers of clusters."""
        sample = SampledRows(points, mass, min_mass)
        linkages = {None: link_groups(points, mass)} | sample.linkages  # None for compact merges
        merges = [LargeParts(linkage, mass, min_mass) for linkage in linkages.values()]
        labels = [np.stack([parts.label(number) for parts in merges]) for number in numbers.tolist()]
        found = sample.compare_all(labels)
        places = [list(linkages).index(each.gini_bound if each.is_connected else None) for each in found]
        divisions = [of_number[place] for of_number, place in zip(labels, places, strict=True)]
        return cls(sample, divisions, np.array([each.is_connected for each in found]))

    @property
    def points(self) -> Any:
        """Values of the rows."""
        return self.sample.points

    @property
    def mass(self) -> FloatArray:
        """Mass of each row."""
        return self.sample.masses


def predict_strength(labels: IntArray, carried: IntArray, mass: FloatArray | None = None) -> float:
    """Return the adjusted Rand index of the clusters of some rows, and of those that were carried over to them.

    A pair counts as much as the product of the masses of its rows. Rows with the label -1 are in no cluster.
    """
    mass, is_in = np.ones(len(labels)) if mass is None else mass, labels >= 0
    labels, carried, mass = labels[is_in], carried[is_in] + 1, mass[is_in]
    if len(labels) == 0:
        return 0.0
    masses = sparse.coo_array((mass, (labels, carried))).toarray()
    of_itself = float(mass @ mass)  # a row with itself is no pair
    groups = (masses, masses.sum(axis=1), masses.sum(axis=0), masses.sum())
    both, of_labels, of_carried, of_all = (float((group**2).sum()) - of_itself for group in groups)
    by_chance, most = of_labels * of_carried / (of_all or 1), (of_labels + of_carried) / 2
    return (both - by_chance) / (most - by_chance) if most > by_chance else 0.0


def mean_silhouette(distances: NDArray[np.floating[Any]], labels: IntArray, mass: FloatArray | None = None) -> float:
    """Return the mean silhouette; the silhouette of a singleton is 0. Many partitions can share the distances.

    It is the mean of ``(b - a) / max(a, b)``, where ``a`` is the mean distance of a row to the other rows of its
    cluster and ``b`` is its mean distance to the rows of the nearest other cluster. Rows count by their mass.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.choice import mean_silhouette
    >>> x = np.array([0.0, 1.0, 10.0, 11.0])
    >>> round(mean_silhouette(np.abs(x[:, None] - x), np.array([0, 0, 1, 1])), 3)
    0.9
    """
    _, codes = np.unique(labels, return_inverse=True)
    n_rows = len(codes)
    mass = np.ones(n_rows) if mass is None else mass
    sizes = np.bincount(codes, weights=mass)
    members = sparse.csr_array((mass, (codes, np.arange(n_rows))), shape=(len(sizes), n_rows))
    total = 0.0
    for start in range(0, n_rows, COLUMNS):
        sums = members @ distances[:, start : start + COLUMNS].astype(np.float64)
        of_rows = mass[start : start + COLUMNS]
        total += float(of_rows @ silhouettes(sums, sizes, codes[start : start + COLUMNS], of_rows))
    return float(total / mass.sum())


def silhouettes(
    sums: NDArray[np.floating[Any]], sizes: NDArray[Any], own: IntArray, mass: FloatArray | float = 1
) -> NDArray[np.floating[Any]]:
    """Return the silhouette of each of some rows; that of a singleton is 0.

    ``sums`` has the sum of the distances of each row (column) to the rows of each cluster, and is overwritten;
    ``sizes`` has the mass of each cluster, ``own`` the cluster of each row, and ``mass`` its mass.
    """
    at = own, np.arange(len(own))
    others = sizes[own] - mass
    inside = sums[at] / np.where(others > 0, others, 1)
    sums /= sizes[:, None]
    sums[at] = np.inf
    outside = sums.min(axis=0)
    larger = np.maximum(inside, outside)
    is_defined = (others > 0) & (larger > 0)
    return np.where(is_defined, outside - inside, 0) / np.where(is_defined, larger, 1)
