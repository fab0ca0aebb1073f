"""Drift: do new rows look like those of a model? Rows outside, shares of clusters, and features that have moved.

Each kind of change must be large enough to matter, and larger than chance explains.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.data.open_data import open_training_data
from cohirf.degrees.degrees import Degrees, degrees_of
from cohirf.engines.dask import is_dask
from cohirf.explain.words import percent
from cohirf.rows.grouping import FloatArray, IntArray, count_with_noise, row_blocks
from cohirf.sources.source import count_of
from cohirf.summary.model import Model, state_of
from cohirf.summary.numbers import positions_of

OUTSIDE = 0.99  # rows are outside if they score above this quantile of the rows of the model
SMALLEST_OUTSIDE = 0.03  # share of rows outside that matters
SMALLEST_CHANGE = 0.02  # of the share of a cluster, in all rows
SMALLEST_RELATIVE_CHANGE = 1 / 3  # of the share of a cluster, relative to the larger one
CERTAINTY = 4.0  # standard errors by which shares differ
MOST_FINDINGS = 3  # clusters and features in a verdict
SHOWN_FEATURES = 5
READ_CELLS = 2**22
N_EDGES = 64  # values at which distributions are compared
SMALLEST_STATISTIC = 0.1  # difference of two distributions that matters
RISK = 1e-3  # of a false alarm, for all features together


@dataclass(frozen=True)
class ClusterDrift:
    """Share of a cluster in the rows of a model and in new rows.

    Attributes
    ----------
    number : int
        Number of the cluster; -1 is noise.
    before, now : float
        Its share in the rows of the model, and in the new rows.
    has_changed : bool
        Whether the two differ by more than 2 points and by more than a third of the larger one, and by more than four
        standard errors.
    """

    number: int
    before: float
    now: float
    has_changed: bool

    @property
    def name(self) -> str:
        """The cluster in words."""
        return "noise" if self.number < 0 else f"cluster {self.number}"

    def __str__(self) -> str:
        verb = "grew" if self.now > self.before else "shrank"
        return f"{self.name} {verb} from {percent(self.before)} to {percent(self.now)}"


@dataclass(frozen=True)
class FeatureDrift:
    """How the distribution of a feature differs between the rows of a model and new rows.

    Attributes
    ----------
    name : str
        Name of the feature.
    shift : float
        Difference of the means, in standard deviations of the rows of the model.
    statistic : float
        The largest difference between the two cumulative distributions, from 0 to 1: the statistic of Kolmogorov and
        Smirnov, at 64 quantiles of the rows of the model.
    has_changed : bool
        Whether the statistic is at least 0.1, and above what chance explains: in one of 1,000 comparisons, some feature
        is.
    """

    name: str
    shift: float
    statistic: float
    has_changed: bool

    def __str__(self) -> str:
        if abs(self.shift) < 2 * SMALLEST_STATISTIC:
            return f"{self.name} has another distribution"
        return f"{self.name} moved {'up' if self.shift > 0 else 'down'} by {abs(self.shift):.1f} standard deviations"


@dataclass(frozen=True, repr=False)
class Drift:
    """Whether new rows look like those of a model; ``print`` shows it in words.

    Attributes
    ----------
    n_rows : int
        Number of new rows.
    share_outside : float
        Share of the new rows that are farther from the landmarks than 99 % of the rows of the model are: their outlier
        scores are above those of these rows.
    is_outside : bool
        Whether this share is at least 3 %, and above the usual 1 % by more than four standard errors.
    clusters : list of ClusterDrift
        Share of each cluster before and now, in the order of ``cluster_numbers_``; at last of noise, if there is any.
    features : list of FeatureDrift
        Each feature, the one that differs most first.
    """

    n_rows: int
    share_outside: float
    is_outside: bool
    clusters: list[ClusterDrift]
    features: list[FeatureDrift]

    @property
    def has_drifted(self) -> bool:
        """Whether anything has changed so much that the model should be updated."""
        parts: list[ClusterDrift | FeatureDrift] = [*self.clusters, *self.features]
        return self.is_outside or any(part.has_changed for part in parts)

    @property
    def verdict(self) -> str:
        """What has changed and what to do, in one sentence."""
        if not self.has_drifted:
            return "the new rows look like those of the model"
        return f"{'; '.join(self._findings())}: update the model"

    def _findings(self) -> Iterator[str]:
        changed = sorted((part for part in self.clusters if part.has_changed), key=lambda part: -_change(part))
        yield from _name_some(changed, "cluster")
        if self.is_outside:
            yield f"{percent(self.share_outside)} of the new rows are far from everything (usual is 1%)"
        yield from _name_some([feature for feature in self.features if feature.has_changed], "feature")

    def __repr__(self) -> str:
        lines = [f"Drift of {self.n_rows:,} new rows: {self.verdict}"]
        lines += [f"  outside: {self.share_outside:.1%} (usual is 1.0%)"]
        shown = sorted(self.clusters, key=lambda part: -_change(part))[:SHOWN_FEATURES]
        lines += [f"  {part.name}: {part.before:.1%} before, {part.now:.1%} now" for part in shown]
        lines += [
            f"  {part.name}: shift {part.shift:+.2f} standard deviations, KS {part.statistic:.2f}"
            for part in self.features[:SHOWN_FEATURES]
        ]
        return "\n".join(lines)


def find_drift(model: Model, X: Any) -> Drift:
    """Compare new rows with those of a model."""
    if is_dask(X):
        raise TypeError(
            "drift reads rows in this process, but X is on Dask: pass X.compute(), or a sample of its rows."
        )
    degrees = degrees_of(model)
    baseline = FeatureBaseline.of(state_of(model).landmarks.points, degrees.weights)
    limit = _find_limit(degrees)
    counts, n_outside, n_rows = np.zeros(len(degrees.masses) + 1, dtype=np.int64), 0, 0
    for rows in _read_blocks(model, X):
        n_rows += rows.shape[0]
        points = state_of(model).landmarks.move(rows)
        n_outside += int((degrees.outliers.score(points) > limit).sum())
        counts += count_with_noise(positions_of(degrees.landmarks.label(points), degrees.numbers), len(degrees.masses))
        baseline.count(rows)
    share = n_outside / n_rows
    usual = 1 - OUTSIDE
    is_certain = share - usual > CERTAINTY * _standard_error(usual, len(degrees.clusters), n_rows)
    names = _feature_names(model)
    return Drift(
        n_rows,
        share,
        bool(share >= SMALLEST_OUTSIDE and is_certain),
        list(_compare_clusters(degrees, counts)),
        baseline.compare(names),
    )


def _read_blocks(model: Model, X: Any) -> Iterator[Any]:
    """Yield new rows with missing cells filled, block by block."""
    data = open_training_data(model, X, on_cluster=False, is_first=False)
    n_rows = data.rows.n_rows
    for block in row_blocks(n_rows, READ_CELLS // model.n_features_in_ + 1):
        yield fill_missing(data.take(np.arange(block.start, block.stop)), state_of(model).column_means)


def _find_limit(degrees: Degrees) -> float:
    """Return the quantile of the outlier scores of the rows of a model, which its landmarks stand for."""
    scores = degrees.outliers.of_landmarks
    order = np.argsort(scores)
    share = np.cumsum(degrees.weights[order])
    return float(scores[order[np.searchsorted(share, OUTSIDE * share[-1])]])


def _compare_clusters(degrees: Degrees, counts: IntArray) -> Iterator[ClusterDrift]:
    rows: FloatArray = np.append(degrees.masses, degrees.n_noise)
    now = np.append(counts[1:], counts[0])
    n_before, n_now = int(rows.sum()), int(now.sum())
    for number, old, new in zip([*degrees.numbers.tolist(), -1], rows / n_before, now / n_now, strict=True):
        if number < 0 and old == 0 == new:
            continue
        change, pooled = abs(new - old), (old * n_before + new * n_now) / (n_before + n_now)
        is_large = change >= max(SMALLEST_CHANGE, SMALLEST_RELATIVE_CHANGE * max(old, new))
        is_certain = change > CERTAINTY * _standard_error(pooled, n_before, n_now)
        yield ClusterDrift(number, float(old), float(new), bool(is_large and is_certain))


def _standard_error(share: float, n_before: int, n_now: int) -> float:
    """Return the standard error of the difference of two shares."""
    return float(np.sqrt(share * (1 - share) * (1 / n_before + 1 / n_now)))


def _feature_names(model: Model) -> list[str]:
    names = getattr(model, "feature_names_in_", None)
    return [f"feature {number}" for number in range(model.n_features_in_)] if names is None else list(map(str, names))


def _change(part: ClusterDrift) -> float:
    return abs(part.now - part.before)


def _name_some(parts: list[Any], what: str) -> Iterator[str]:
    yield from map(str, parts[:MOST_FINDINGS])
    if len(parts) > MOST_FINDINGS:
        yield f"{count_of(len(parts) - MOST_FINDINGS, f'more {what}')} changed"


# ---- features


@dataclass(eq=False)
class FeatureBaseline:
    """Distribution of each feature in the rows of a model, and counts of new rows."""

    edges: list[FloatArray]  # for each feature, values at which distributions are compared, sorted
    shares: list[FloatArray]  # for each value, the share of the rows of the model that are smaller, and not larger
    mean: FloatArray  # of each feature
    spread: FloatArray  # standard deviation of each feature
    n_effective: float  # number of rows of the model from which all this is known
    counts: list[IntArray]  # for each value, the number of new rows that are smaller, and not larger
    sums: FloatArray  # of the differences between new rows and the mean
    n_rows: int = 0  # new rows

    @classmethod
    def of(cls, points: Any, weights: FloatArray) -> FeatureBaseline:
        """Describe landmarks that stand for ``weights`` rows each."""
        weights = weights / weights.sum()
        mean = np.asarray(points.T @ weights, dtype=np.float64)
        edges, shares, spread = [], [], np.empty(len(mean))
        for number in range(len(mean)):
            values = _column(points, number)
            order = np.argsort(values, kind="stable")
            cumulated = np.cumsum(weights[order])
            wanted = (np.arange(N_EDGES) + 0.5) / N_EDGES
            at = values[order[np.minimum(np.searchsorted(cumulated, wanted), len(order) - 1)]]
            edges.append(np.unique(at))
            shares.append(np.append(0, cumulated)[_count_below(values[order], edges[-1])])
            spread[number] = np.sqrt(weights @ (values - mean[number]) ** 2)
        counts: list[IntArray] = [np.zeros(of_feature.shape, dtype=np.int64) for of_feature in shares]
        return cls(edges, shares, mean, spread, 1 / float((weights**2).sum()), counts, np.zeros(len(mean)))

    def count(self, X: Any) -> None:
        """Add new rows."""
        self.n_rows += X.shape[0]
        for number, edges in enumerate(self.edges):
            values = _column(X, number)
            self.counts[number] += _count_below(np.sort(values), edges)
            self.sums[number] += (values - self.mean[number]).sum()

    def compare(self, names: list[str]) -> list[FeatureDrift]:
        """Return the features, the one that differs most first."""
        pairs = zip(self.counts, self.shares, strict=True)
        statistics = np.array([np.abs(count / self.n_rows - share).max() for count, share in pairs])
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.nan_to_num(self.sums / self.n_rows / self.spread, posinf=np.inf, neginf=-np.inf)
        limit = max(SMALLEST_STATISTIC, self._chance())
        found = [
            FeatureDrift(name, float(by), float(statistic), bool(statistic >= limit))
            for name, by, statistic in zip(names, shift, statistics, strict=True)
        ]
        return sorted(found, key=lambda feature: -feature.statistic)

    def _chance(self) -> float:
        """Return the statistic that equal distributions exceed with probability ``RISK``, in any feature."""
        n_both = self.n_effective * self.n_rows / (self.n_effective + self.n_rows)
        return float(np.sqrt(np.log(2 * len(self.edges) / RISK) / (2 * n_both)))


def _count_below(values: FloatArray, edges: FloatArray) -> IntArray:
    """Return how many of the sorted values are smaller than each edge, and how many are not larger."""
    return np.stack([np.searchsorted(values, edges, side="left"), np.searchsorted(values, edges, side="right")])


def _column(X: Any, number: int) -> FloatArray:
    column = X[:, [number]].toarray()[:, 0] if sparse.issparse(X) else X[:, number]
    return np.asarray(column, dtype=np.float64)
