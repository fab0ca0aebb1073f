"""Drift: do new rows look like those of the recent past? Rows outside, shares of clusters, features
that have moved.

Each kind of change must be large enough to matter, and larger than chance explains. The recent past
are the last updates of a model, each a period of its own: what has been so in one of them is no
change. So after an odd day, neither such a day nor a day like those before it is an alarm.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.data import Data
from cohirf.degrees.degrees import Degrees
from cohirf.degrees.policy import DRIFT
from cohirf.in_words import InWords
from cohirf.rows.arrays import as_array
from cohirf.rows.grouping import FloatArray, IntArray, count_with_noise, row_blocks
from cohirf.summary.numbers import Step, call_cluster, positions_of
from cohirf.summary.state import FittedState
from cohirf.updating.arrivals import count_born


@dataclass(frozen=True)
class ClusterDrift:
    """Share of a cluster in the recent past and in new rows.

    Attributes
    ----------
    number : int
        Number of the cluster; -1 is noise.
    before, now : float
        Its share in the recent past, the median of all periods, and in the new rows.
    has_changed : bool
        Whether its shares in all periods differ from that in the new rows by more than 2 points and
        by more than a third of the larger one, and by more than four standard errors.
    name : str
        What the cluster is called: "noise", or its number, and its name if it has been named.
    """

    number: int
    before: float
    now: float
    has_changed: bool
    name: str


@dataclass(frozen=True)
class FeatureDrift:
    """How the distribution of a feature differs between the recent past and new rows.

    Attributes
    ----------
    name : str
        Name of the feature.
    shift : float
        Difference of the means, in standard deviations of a period of the recent past.
    statistic : float
        The largest difference between the two cumulative distributions, from 0 to 1: the statistic
        of Kolmogorov and Smirnov, at 64 quantiles of this period: that with the median of the
        statistics of all periods.
    has_changed : bool
        Whether the statistic is at least 0.1 in all periods, and above what chance explains: in one
        of 1,000 comparisons, some feature is.
    """

    name: str
    shift: float
    statistic: float
    has_changed: bool

    @property
    def has_moved(self) -> bool:
        """Whether the mean has moved, and not only the distribution around it."""
        return abs(self.shift) >= 2 * DRIFT.statistic


@dataclass(frozen=True)
class Drift(InWords):
    """Whether new rows look like those of the recent past of a model; ``print`` shows it in words.

    :func:`cohirf.app.explain.say_drift` says it in a sentence.

    The recent past are the last seven updates with rows, the fit included. Updates with fewer rows
    than there are new ones count together with those before them.

    Attributes
    ----------
    n_rows : int
        Number of new rows.
    share_outside : float
        Share of the new rows that are farther from the landmarks than 99 % of the rows of the model
        are: their outlier scores are above those of these rows.
    is_outside : bool
        Whether this share is at least 3 %, and above the usual 1 % by more than four standard
        errors.
    clusters : list of ClusterDrift
        Share of each cluster before and now, in the order of ``cluster_numbers_``; at last of
        noise, if there is any.
    features : list of FeatureDrift
        Each feature, the one that differs most first.
    new_kinds : list of int
        Number of new rows of each new kind: an update would make a cluster of them, because they
        are near each other and far from all known rows.
    """

    n_rows: int
    share_outside: float
    is_outside: bool
    clusters: list[ClusterDrift]
    features: list[FeatureDrift]
    new_kinds: list[int]

    @property
    def has_new_kind(self) -> bool:
        """Whether an update would make a new cluster."""
        return len(self.new_kinds) > 0

    @property
    def has_drifted(self) -> bool:
        """Whether anything has changed so much that the model should be updated."""
        parts: list[ClusterDrift | FeatureDrift] = [*self.clusters, *self.features]
        return self.has_new_kind or self.is_outside or any(part.has_changed for part in parts)


def find_drift(state: FittedState, data: Data, names: Sequence[str] | None) -> Drift:
    """Compare new rows with the recent past of a model; features may have names."""
    degrees = state.degrees
    n_rows = data.rows.n_rows
    periods = find_periods(state, n_rows)
    baselines = [FeatureBaseline.of(*_weigh_landmarks(state, period)) for period in periods]
    limit = _find_limit(degrees)
    counts = np.zeros(len(degrees.masses) + 1, dtype=np.int64)
    n_outside = 0
    for rows in _read_blocks(state, data):
        points = state.landmarks.move(rows)
        n_outside += int((degrees.outliers.score(points) > limit).sum())
        counts += count_with_noise(
            positions_of(degrees.landmarks.label(points), degrees.numbers), len(degrees.masses)
        )
        count_rows(baselines, rows)
    share = n_outside / n_rows
    usual = 1 - DRIFT.outside
    is_certain = share - usual > DRIFT.certainty * _standard_error(
        usual, len(degrees.clusters), n_rows
    )
    return Drift(
        n_rows,
        share,
        bool(share >= DRIFT.smallest_outside and is_certain),
        list(_compare_clusters(state, periods, np.append(counts[1:], counts[0]))),
        compare_features(baselines, _feature_names(names, state.n_features)),
        count_born(state, data),
    )


def _read_blocks(state: FittedState, data: Data) -> Iterator[Any]:
    """Yield new rows with missing cells filled, block by block."""
    for block in row_blocks(data.rows.n_rows, DRIFT.block_cells // state.n_features + 1):
        yield fill_missing(data.take(np.arange(block.start, block.stop)), state.column_means)


# ---- the recent past


@dataclass(frozen=True, eq=False)
class Period:
    """Rows of a model that came together."""

    start: int  # number of the first row
    stop: int  # one more than that of the last row
    counts: FloatArray  # number of rows of each cluster, and at last of noise


def find_periods(state: FittedState, n_new: int) -> list[Period]:
    """Return the recent past of a model, the last period first: the last updates, of at least
    ``n_new`` rows each.

    A model that does not know its updates, or has its rows elsewhere, has one period with all rows.
    """
    degrees = state.degrees
    summary = state.summary.value
    rows = state.rows
    counts: FloatArray = np.append(degrees.masses, degrees.n_noise)
    everything = Period(0, rows.n_rows, counts)
    if summary is None or rows.row_map.elsewhere:
        return [everything]
    starts = _starts_of_periods(_rows_of_steps(state.history, summary.update_rows), n_new)
    if len(starts) == 1:
        return [everything]
    found = []
    for start, stop in zip(starts, [rows.n_rows, *starts], strict=False):
        labels = positions_of(rows.labels_of(np.arange(start, stop)), degrees.numbers)
        of_noise, *of_clusters = count_with_noise(labels, len(degrees.masses)).tolist()
        found.append(Period(start, stop, np.array([*of_clusters, of_noise], dtype=np.float64)))
    return found


def _rows_of_steps(history: Sequence[Step], update_rows: Sequence[int]) -> list[int]:
    """Return how many rows are left of each step of a history.

    The updates of a merged model came in one step.
    """
    ends = sorted({step.update + 1 for step in history} | {len(update_rows)})
    totals = np.cumsum([0, *update_rows])
    return [int(n_rows) for n_rows in np.diff(totals[[0, *ends]])]


def _starts_of_periods(n_rows: Sequence[int], n_new: int) -> list[int]:
    """Return the first row of each period of the recent past, the last period first.

    >>> _starts_of_periods([600, 50, 0, 50, 20, 40], 50)
    [700, 650, 600, 0]
    """
    starts: list[int] = []
    stop = start = sum(n_rows)
    for of_step in reversed(n_rows):
        start -= of_step
        if stop - start >= max(n_new, 1):
            starts.append(start)
            stop = start
        if len(starts) == DRIFT.periods:
            return starts
    return [*starts[:-1], 0]  # rows that are too few for a period count with the next ones


def _weigh_landmarks(state: FittedState, period: Period) -> tuple[Any, FloatArray]:
    """Return landmarks that stand for the rows of a period, and the number of rows that each stands
    for.
    """
    rows = state.landmark_rows
    clusters = state.degrees.clusters
    n_parts = len(period.counts)
    places = np.where(clusters < 0, n_parts - 1, clusters)
    is_recent = (rows >= period.start) & (rows < period.stop)
    n_recent = np.bincount(places[is_recent], minlength=n_parts)
    stands = is_recent | (n_recent < DRIFT.landmarks)[places]
    n_standing = np.bincount(places[stands], minlength=n_parts)
    some = np.flatnonzero(stands & (period.counts[places] > 0))
    weights = period.counts / np.maximum(n_standing, 1)
    return state.landmarks.points[some], weights[places[some]]


def _find_limit(degrees: Degrees) -> float:
    """Return the quantile of the outlier scores of the rows of a model, which its landmarks stand
    for.
    """
    scores = degrees.outliers.of_landmarks
    order = np.argsort(scores)
    share = np.cumsum(degrees.weights[order])
    return float(scores[order[np.searchsorted(share, DRIFT.outside * share[-1])]])


def _compare_clusters(
    state: FittedState, periods: Sequence[Period], now: IntArray
) -> Iterator[ClusterDrift]:
    n_before: FloatArray = np.array([period.counts.sum() for period in periods])
    shares = np.array([period.counts for period in periods]) / n_before[:, None]
    n_now = int(now.sum())
    numbers = [*state.cluster_numbers.tolist(), -1]
    for number, before, new in zip(numbers, shares.T, (now / n_now).tolist(), strict=True):
        if number < 0 and new == 0 and not before.any():
            continue
        change = np.abs(new - before)
        pooled = (before * n_before + new * n_now) / (n_before + n_now)
        is_large = change >= np.maximum(
            DRIFT.change, DRIFT.relative_change * np.maximum(before, new)
        )
        is_certain = change > DRIFT.certainty * _standard_error(pooled, n_before, n_now)
        has_changed = bool((is_large & is_certain).all())
        if number < 0:
            name = "noise"
        else:
            name = f"cluster {call_cluster(number, state.names)}"
        yield ClusterDrift(number, float(np.median(before)), new, has_changed, name)


def _standard_error(share: Any, n_before: Any, n_now: int) -> Any:
    """Return the standard error of the difference of two shares."""
    return np.sqrt(share * (1 - share) * (1 / n_before + 1 / n_now))


def _feature_names(names: Sequence[str] | None, n_features: int) -> list[str]:
    if names is None:
        return [f"feature {number}" for number in range(n_features)]
    return list(map(str, names))


# ---- features


@dataclass(eq=False)
class FeatureBaseline:
    """Distribution of each feature in the rows of a model, and counts of new rows."""

    edges: list[FloatArray]  # for each feature, values at which distributions are compared, sorted
    # for each value, the share of the rows of the model that are smaller, and not larger
    shares: list[FloatArray]
    mean: FloatArray  # of each feature
    spread: FloatArray  # standard deviation of each feature
    n_effective: float  # number of rows of the model from which all this is known
    # for each value, the number of new rows that are smaller, and not larger
    counts: list[IntArray]
    sums: FloatArray  # of the differences between new rows and the mean
    n_rows: int = 0  # new rows

    @classmethod
    def of(cls, points: Any, weights: FloatArray) -> FeatureBaseline:
        """Describe landmarks that stand for ``weights`` rows each."""
        weights = weights / weights.sum()
        mean = np.asarray(points.T @ weights, dtype=np.float64)
        edges = []
        shares = []
        spread = np.empty(len(mean))
        for number in range(len(mean)):
            values = _column(points, number)
            order = np.argsort(values, kind="stable")
            cumulated = np.cumsum(weights[order])
            wanted = (np.arange(DRIFT.edges) + 0.5) / DRIFT.edges
            at = values[order[np.minimum(np.searchsorted(cumulated, wanted), len(order) - 1)]]
            edges.append(np.unique(at))
            shares.append(np.append(0, cumulated)[_count_below(values[order], edges[-1])])
            spread[number] = np.sqrt(weights @ (values - mean[number]) ** 2)
        counts: list[IntArray] = [
            np.zeros(of_feature.shape, dtype=np.int64) for of_feature in shares
        ]
        return cls(
            edges, shares, mean, spread, 1 / float((weights**2).sum()), counts, np.zeros(len(mean))
        )

    def measure(self) -> tuple[FloatArray, FloatArray]:
        """Return the statistic of each feature, and the shift of its mean in standard
        deviations.
        """
        pairs = zip(self.counts, self.shares, strict=True)
        statistics = np.array([np.abs(count / self.n_rows - share).max() for count, share in pairs])
        with np.errstate(divide="ignore", invalid="ignore"):
            shift = np.nan_to_num(
                self.sums / self.n_rows / self.spread, posinf=np.inf, neginf=-np.inf
            )
        return statistics, shift

    @property
    def limit(self) -> float:
        """The smallest statistic that matters, and is more than chance explains."""
        return max(DRIFT.statistic, self._chance())

    def _chance(self) -> float:
        """Return the statistic that equal distributions exceed in some feature with probability
        ``DRIFT.risk``.
        """
        n_both = self.n_effective * self.n_rows / (self.n_effective + self.n_rows)
        return float(np.sqrt(np.log(2 * len(self.edges) / DRIFT.risk) / (2 * n_both)))


def count_rows(baselines: Sequence[FeatureBaseline], X: Any) -> None:
    """Add new rows to the counts of all baselines."""
    for baseline in baselines:
        baseline.n_rows += X.shape[0]
    for number in range(X.shape[1]):
        values = np.sort(_column(X, number))
        for baseline in baselines:
            baseline.counts[number] += _count_below(values, baseline.edges[number])
            baseline.sums[number] += (values - baseline.mean[number]).sum()


def compare_features(baselines: Sequence[FeatureBaseline], names: list[str]) -> list[FeatureDrift]:
    """Return the features, the one that differs most first.

    The figures of each are those of its median baseline.
    """
    measured = [baseline.measure() for baseline in baselines]
    statistics, shifts = (np.array(part) for part in zip(*measured, strict=True))
    limits = np.array([baseline.limit for baseline in baselines])
    has_changed = np.all(statistics >= limits[:, None], axis=0).tolist()
    median = (np.argsort(statistics, axis=0)[(len(baselines) - 1) // 2], np.arange(len(names)))
    columns = zip(names, shifts[median], statistics[median], has_changed, strict=True)
    found = [
        FeatureDrift(name, float(by), float(statistic), changed)
        for name, by, statistic, changed in columns
    ]
    return sorted(found, key=lambda feature: -feature.statistic)


def _count_below(values: FloatArray, edges: FloatArray) -> IntArray:
    """Return how many of the sorted values are smaller than each edge, and how many are not
    larger.
    """
    return np.stack(
        [np.searchsorted(values, edges, side="left"), np.searchsorted(values, edges, side="right")]
    )


def _column(X: Any, number: int) -> FloatArray:
    return np.asarray(as_array(X[:, [number]])[:, 0], dtype=np.float64)
