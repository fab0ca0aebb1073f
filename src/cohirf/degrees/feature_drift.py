"""Features of new rows, and whether their distributions are those of a model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.degrees.pieces import Floats

N_EDGES = 64  # values at which distributions are compared
SMALLEST_STATISTIC = 0.1  # difference of two distributions that matters
RISK = 1e-3  # of a false alarm, for all features together


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


@dataclass(eq=False)
class FeatureBaseline:
    """Distribution of each feature in the rows of a model, and counts of new rows.

    Attributes
    ----------
    edges : list of array of float
        For each feature, values at which distributions are compared, sorted.
    shares : list of array of float
        For each of these values, the share of the rows of the model that are smaller, and that are not larger.
    mean, spread : array of float
        Mean and standard deviation of each feature.
    n_effective : float
        Number of rows of the model from which all this is known.
    counts : list of array of int
        For each of these values, the number of new rows that are smaller, and that are not larger.
    sums : array of float
        Sum of the differences between new rows and the mean.
    n_rows : int
        Number of new rows.
    """

    edges: list[Floats]
    shares: list[Floats]
    mean: Floats
    spread: Floats
    n_effective: float
    counts: list[IntArray]
    sums: Floats
    n_rows: int = 0

    @classmethod
    def of(cls, points: Any, weights: Floats) -> FeatureBaseline:
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
        """Return the statistic that equal distributions exceed in at most one of so many cases, in any feature."""
        n_both = self.n_effective * self.n_rows / (self.n_effective + self.n_rows)
        return float(np.sqrt(np.log(2 * len(self.edges) / RISK) / (2 * n_both)))


def _count_below(values: Floats, edges: Floats) -> IntArray:
    """Return how many of the sorted values are smaller than each edge, and how many are not larger."""
    return np.stack([np.searchsorted(values, edges, side="left"), np.searchsorted(values, edges, side="right")])


def _column(X: Any, number: int) -> NDArray[np.float64]:
    column = X[:, [number]].toarray()[:, 0] if sparse.issparse(X) else X[:, number]
    return np.asarray(column, dtype=np.float64)
