"""Limits of the sizes of clusters, and rows assigned at least cost so that these hold.

This is a transportation problem: each row goes to one cluster, a cluster takes between its
smallest and its largest size, and the sum of costs is least. Its dual has a *price* for each
cluster: a row belongs to the cluster with the lowest sum of cost and price. A full cluster has a
price above 0, one that lacks rows has a price below 0, and one in between has none.

Prices are changed all at once until few rows are too many, at first for a part of the rows, and for
soft borders where clusters lie apart. These rows move along shortest paths in a graph of the
clusters, whose edges are the cheapest moves from one to another. That is a flow of minimum cost, so
with rows of equal mass the result is the best one. Rows of different masses are a packing problem,
which nobody solves exactly at this size: rows then move and swap until the limits hold, or an error
says by how much they cannot be kept.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import dijkstra

from cohirf.rows.grouping import FloatArray, IntArray, Mass, row_blocks
from cohirf.wording import count_of, setting


@dataclass(frozen=True)
class LimitPolicy:
    """How prices are found. They only decide how long that takes: moves end at the same result."""

    steps: int = 10  # changes of all prices at once
    halvings: int = 3  # of a change that does not help
    near_per_moved: int = 2  # rows that show how dense borders are: for each that is too many,
    near_per_cluster: int = 4  # and for each cluster
    # of the mean density of borders, added to each: clusters that touch no other one have none
    least_density: float = 1e-6
    # of the gap within which as many rows lie as are imbalanced: the first width of soft borders
    softness: float = 1 / 6
    # Beyond which a row is in its cheapest cluster alone. Of few clusters, smaller shares of other
    # rows are kept: they may be all that joins places far apart.
    soft_widths: float = 12.0
    soft_steps: int = 40  # by which borders become hard
    narrowing: float = 0.35  # of borders, once prices fit their width
    # of changes of prices in directions in which little mass moves, and its change after each
    damping: float = 0.01
    damping_change: float = 10.0
    least_damping: float = 1e-10  # of the largest slope: borders may not join all clusters
    gain: float = 1e-4  # of the dual, as a share of what its slope promises
    # rows, and rows for each cluster, from which on prices begin with those of every fourth row
    coarse_rows: int = 4000
    coarse_per_cluster: int = 100
    coarser: int = 4
    # clusters that are compared for each row, unless another one may be as cheap
    few: int = 12
    fallen: int = 3  # clusters whose prices fell most, which are compared one by one
    # What takes as long as finding these: comparing all clusters for so many times all rows
    compared: float = 2.0
    dense: float = 0.05  # share of values from which on a matrix is multiplied with its zeros
    # imbalanced rows for each cluster that are left to moves, which take longer for each row
    moved_per_cluster: float = 1.0
    swapped: int = 2000  # rows of each of two clusters that are tried for a swap
    # rows near borders that are assigned again: for each that is too many, and for each cluster
    seen_per_moved: float = 2.0
    seen_per_cluster: int = 100
    seen_per_crossed: int = 3  # for each row that is in a wrong cluster after prices have changed
    most_values: int = 2**25  # of their costs, unless sizes need more
    block_values: int = 2**20  # of a temporary matrix of costs
    # of the total mass: sums of weights differ in the last digits
    rounding: float = 1e-12


LIMIT = LimitPolicy()


@dataclass(frozen=True)
class SizeLimits:
    """The smallest and the largest size of each cluster: numbers of rows, or sums of weights."""

    low: float
    high: float

    def of_each(self, n_clusters: int) -> Capacity:
        """Return what each of ``n_clusters`` clusters takes."""
        return Capacity(np.full(n_clusters, self.low), np.full(n_clusters, self.high))

    def scaled(self, factor: float) -> SizeLimits:
        """Return the limits of a sample with so large a share of the mass."""
        return SizeLimits(self.low * factor, self.high * factor)


def check_size_limits(size_limits: Any) -> None:
    """Raise unless a parameter is None, "balanced" or a pair of limits."""
    if size_limits is None or (isinstance(size_limits, str) and size_limits == "balanced"):
        return
    is_pair = isinstance(size_limits, tuple | list) and len(size_limits) == 2
    if not is_pair or not all(_is_limit(limit) for limit in size_limits):
        raise ValueError(
            f"size_limits={size_limits!r} is not valid: give (smallest, largest), each a number of "
            'rows, a share between 0 and 1, or None; or "balanced".'
        )


def _is_limit(limit: Any) -> bool:
    if limit is None:
        return True
    return isinstance(limit, Real) and not isinstance(limit, bool) and float(limit) > 0


def resolve_limits(size_limits: Any, n_clusters: int, n_rows: int, mass: Mass | None) -> SizeLimits:
    """Return the limits that a parameter stands for, or raise if no clusters can have such sizes.

    ``mass`` has the weight of each row, if rows have weights.

    Examples
    --------
    >>> resolve_limits("balanced", 3, 10, None)
    SizeLimits(low=3.0, high=4.0)
    >>> resolve_limits((0.2, None), 3, 10, None)
    SizeLimits(low=2.0, high=10.0)
    """
    unit = 1.0 if mass is None else find_unit(mass)
    if unit is None:
        assert mass is not None
        total = float(mass.sum())
    else:  # rows are counted: a sum of equal weights differs from this in the last digits
        n_counted = n_rows if mass is None else int(np.count_nonzero(mass))
        total = unit * n_counted
    if size_limits == "balanced":
        limits = SizeLimits(total / n_clusters, total / n_clusters)
        if unit is None:
            heaviest = float(mass.max()) if mass is not None else 1.0
            limits = SizeLimits(limits.low - heaviest, limits.high + heaviest)
        else:
            limits = SizeLimits(
                unit * (n_counted // n_clusters), unit * -(-n_counted // n_clusters)
            )
    else:
        low, high = size_limits
        limits = SizeLimits(_resolve(low, total, 0.0), _resolve(high, total, total))
        if unit is not None:  # whole numbers of rows between the limits
            slack = LIMIT.rounding * n_counted
            limits = SizeLimits(
                float(unit * np.ceil(limits.low / unit - slack)),
                float(unit * np.floor(limits.high / unit + slack)),
            )
    refuse_impossible(limits, size_limits, n_clusters, total, mass)
    return limits


def _resolve(limit: Any, total: float, default: float) -> float:
    """Return a limit as a number of rows, or a sum of weights."""
    if limit is None:
        return default
    if not isinstance(limit, Integral) and limit < 1:
        return float(limit) * total
    return float(limit)


def refuse_impossible(
    limits: SizeLimits, size_limits: Any, n_clusters: int, total: float, mass: Mass | None
) -> None:
    """Raise ValueError if no clusters can have such sizes, with the numbers."""
    slack = LIMIT.rounding * total
    unit = "rows" if mass is None else "of weight"
    given = f"{setting('size_limits', size_limits)} is not possible"
    clusters = count_of(n_clusters, "cluster")
    if limits.low > limits.high:
        raise ValueError(
            f"{given}: the smallest size, {limits.low:,g} {unit}, is above the largest, "
            f"{limits.high:,g}."
        )
    if n_clusters * limits.low > total + slack:
        raise ValueError(
            f"{given}: {clusters} of at least {limits.low:,g} {unit} need "
            f"{n_clusters * limits.low:,g}, and the data has {total:,g}. Lower the smallest size "
            f"to {total / n_clusters:,g} or less, or lower {setting('n_clusters')}."
        )
    if n_clusters * limits.high < total - slack:
        raise ValueError(
            f"{given}: {clusters} of at most {limits.high:,g} {unit} take "
            f"{n_clusters * limits.high:,g}, and the data has {total:,g}. Raise the largest size "
            f"to {total / n_clusters:,g} or more, or raise {setting('n_clusters')}."
        )
    if mass is not None and float(mass.max()) > limits.high + slack:
        raise ValueError(
            f"{given}: row {int(mass.argmax()):,} alone has a weight of {float(mass.max()):,g}, "
            f"above the largest size, {limits.high:,g}. Raise the largest size."
        )


# ---- rows assigned at least cost


@dataclass(frozen=True)
class Capacity:
    """The mass that each cluster takes, at least and at most."""

    low: FloatArray
    high: FloatArray

    def can_hold(self, total: float) -> bool:
        """Return whether so much mass may fit."""
        slack = LIMIT.rounding * total
        fits = bool((self.high >= -slack).all() and (self.low <= self.high + slack).all())
        return fits and float(self.low.sum()) - slack <= total <= float(self.high.sum()) + slack

    def in_units(self, unit: float) -> Capacity:
        """Return how many rows of a mass each cluster takes, from limits that are its multiples."""
        return Capacity(np.rint(self.low / unit), np.rint(self.high / unit))

    def excess(self, held: FloatArray) -> FloatArray:
        """Return by how much each cluster is above its largest size; negative below the
        smallest.
        """
        return np.maximum(held - self.high, 0) - np.maximum(self.low - held, 0)


@dataclass(frozen=True)
class Assignment:
    """The cluster of each row, and the prices for which it is the cheapest."""

    labels: IntArray
    prices: FloatArray


def assign_within(
    costs: FloatArray,
    mass: Mass | None,
    capacity: Capacity,
    prices: FloatArray,
    *,
    is_counted: bool,
) -> Assignment:
    """Return the cluster of each row, at the least sum of costs so that sizes are within limits.

    Parameters
    ----------
    costs : array, shape (n_rows, n_clusters)
        Cost of each row in each cluster, for each unit of its mass.
    mass : array, shape (n_rows,), or None
        Mass of each row; None means 1.
    capacity : Capacity
        What each cluster takes.
    prices : array, shape (n_clusters,)
        Prices to begin with, such as those of a sample.
    is_counted : bool
        Whether sizes are numbers of rows: each mass is 1 or 0, and limits are whole numbers.

    Examples
    --------
    >>> costs = np.array([[0.0, 3.0], [0.0, 1.0], [0.0, 2.0]])
    >>> capacity = Capacity(np.array([0.0, 0.0]), np.array([2.0, 2.0]))
    >>> assign_within(costs, None, capacity, np.zeros(2), is_counted=True).labels.tolist()
    [0, 1, 0]
    """
    if mass is None or is_counted:
        return _assign_equal(costs, mass, capacity, prices)
    prices = find_prices(costs, mass, capacity, prices)
    labels: IntArray = (costs + prices).argmin(axis=1)
    return Assignment(_settle(costs, mass, labels, capacity, prices), prices)


def find_unit(mass: Mass) -> float | None:
    """Return the mass of all rows that have any, if it is the same."""
    positive = mass[mass > 0]
    if len(positive) == 0 or np.ptp(positive) > LIMIT.rounding * float(positive.max()):
        return None
    return float(positive[0])


def _assign_equal(
    costs: FloatArray, mass: Mass | None, capacity: Capacity, prices: FloatArray
) -> Assignment:
    """Return the best assignment of rows that count as 1, or as nothing."""
    counted: Any = slice(None) if mass is None else np.flatnonzero(mass > 0)
    of_counted = costs[counted]
    prices = find_prices(of_counted, np.ones(len(of_counted)), capacity, prices)
    labels: IntArray = (of_counted + prices).argmin(axis=1)
    found = _move_along_paths(of_counted, labels, capacity, prices)
    if len(of_counted) == len(costs):
        return found
    labels = (costs + found.prices).argmin(axis=1)
    labels[counted] = found.labels
    return replace(found, labels=labels)


def find_prices(
    costs: FloatArray, mass: Mass, capacity: Capacity, prices: FloatArray
) -> FloatArray:
    """Return prices with which the clusters of lowest cost are about within their limits.

    Steps of Newton's method are quick if rows lie at the borders of clusters. Where these lie in
    gaps between clusters, borders are softened first.
    """
    n_clusters = costs.shape[1]
    if n_clusters == 1:
        return prices.copy()
    fewest = LIMIT.moved_per_cluster * n_clusters * float(mass.mean())
    prices = _find_coarse_prices(costs, mass, capacity, prices)
    rows = CheapClusters(costs)
    prices, lowest = _approach_prices(rows, mass, capacity, prices, fewest)
    excess = find_imbalance(_hold(lowest, mass, n_clusters), capacity, prices)
    if float(np.abs(excess).sum()) <= fewest:
        return prices
    gaps = lowest.second_cost - lowest.best_cost
    n_near = min(int(np.abs(excess).sum() / float(mass.mean())), len(gaps) - 1)
    width = LIMIT.softness * float(np.partition(gaps, n_near)[n_near])
    if not 0 < width < np.inf:
        return prices
    return _soften_borders(rows, mass, capacity, prices, width, fewest)


def _find_coarse_prices(
    costs: FloatArray, mass: Mass, capacity: Capacity, prices: FloatArray
) -> FloatArray:
    """Return prices of a part of the rows, if these are more exact than those given."""
    n_rows, n_clusters = costs.shape
    some = slice(None, None, LIMIT.coarser)
    of_some = mass[some]
    share = float(of_some.sum() / mass.sum())
    fewest = max(LIMIT.coarse_rows, LIMIT.coarse_per_cluster * n_clusters)
    if n_rows < fewest or share == 0:
        return prices
    part = np.ascontiguousarray(costs[some])
    limits = Capacity(share * capacity.low, share * capacity.high)
    held = np.bincount((part + prices).argmin(axis=1), weights=of_some, minlength=n_clusters)
    excess = find_imbalance(held.astype(np.float64), limits, prices)
    # what a sample of so many rows has too many of each cluster at random
    at_random = float(of_some.mean()) * np.sqrt(n_clusters * len(part))
    if float(np.abs(excess).sum()) <= at_random:
        return prices
    return find_prices(part, of_some, limits, prices)


# ---- the cheapest clusters of rows


@dataclass(frozen=True)
class TwoLowest:
    """The two clusters that are cheapest for each row, and their costs with prices."""

    best: IntArray
    second: IntArray
    best_cost: FloatArray
    second_cost: FloatArray


@dataclass(frozen=True)
class NearlyCheapest:
    """The cheapest cluster of each row, and all clusters that cost little more.

    Of a row with several such clusters, all are among them if clusters are few in all.
    """

    reach: float  # what costs little more costs less than this more
    best: IntArray  # of each row
    lowest: FloatArray  # its cost with its price
    # pairs of a row and a cluster
    rows: IntArray
    clusters: IntArray
    above: FloatArray  # what the cluster costs more

    @classmethod
    def of(cls, priced: FloatArray, reach: float, *, keeps_all: bool = False) -> NearlyCheapest:
        """Compare costs with prices, which are overwritten."""
        best: IntArray = priced.argmin(axis=1)
        lowest = priced[np.arange(len(priced)), best]
        priced -= lowest[:, None]
        is_near = priced < reach
        if keeps_all:
            is_near[np.count_nonzero(is_near, axis=1) > 1] = True
        rows, clusters = np.nonzero(is_near)
        return cls(reach, best, lowest, rows, clusters, priced[rows, clusters])

    def count_rows_of(self, most: int) -> int:
        """Return how many rows have at most so many clusters that cost little more."""
        near = self.rows[self.above < self.reach]
        return int(np.count_nonzero(np.bincount(near, minlength=len(self.best)) <= most))

    def replaced(self, some: IntArray, found: NearlyCheapest) -> NearlyCheapest:
        """Return the same with what was found for some rows."""
        self.best[some] = found.best
        self.lowest[some] = found.lowest
        is_other = np.ones(len(self.best), dtype=bool)
        is_other[some] = False
        kept = is_other[self.rows]
        return replace(
            self,
            rows=np.concatenate([self.rows[kept], some[found.rows]]),
            clusters=np.concatenate([self.clusters[kept], found.clusters]),
            above=np.concatenate([self.above[kept], found.above]),
        )


@dataclass
class CheapClusters:
    """The clusters that are cheapest for each row, at prices that change.

    Of many clusters, a few are remembered for each row, with a bound of what the others cost. Only
    rows for which another one may be cheap now are compared with all clusters. What is cheap is the
    same as if all rows were.
    """

    costs: FloatArray  # of each row in each cluster
    few: FewClusters | None = None
    n_compared: int = 0  # rows that were compared with all clusters since

    def find_two_lowest(self, prices: FloatArray) -> TwoLowest:
        """Return the two cheapest clusters of each row; of equal ones, those of lower number."""
        few = self.few
        if few is None:
            self._count(len(self.costs), prices)
            return _find_two_lowest(self.costs + prices)
        found = few.find_two_lowest(prices)
        unsure = few.find_unsure(self.costs, found.second_cost, prices)
        if len(unsure):
            whole = _find_two_lowest(self.costs[unsure] + prices)
            found.best[unsure] = whole.best
            found.second[unsure] = whole.second
            found.best_cost[unsure] = whole.best_cost
            found.second_cost[unsure] = whole.second_cost
            self._count(len(unsure), prices)
        return found

    def find_nearly_cheapest(self, prices: FloatArray, reach: float) -> NearlyCheapest:
        """Return the cheapest cluster of each row, and those that cost less than ``reach`` more."""
        few = self.few
        if few is None:
            keeps_all = len(prices) <= LIMIT.few
            found = NearlyCheapest.of(self.costs + prices, reach, keeps_all=keeps_all)
            self._count(found.count_rows_of(LIMIT.few), prices)
            return found
        found = few.find_nearly_cheapest(prices, reach)
        unsure = few.find_unsure(self.costs, found.lowest + reach, prices)
        if len(unsure) == 0:
            return found
        whole = NearlyCheapest.of(self.costs[unsure] + prices, reach)
        self._count(whole.count_rows_of(LIMIT.few), prices)
        return found.replaced(unsure, whole)

    def _count(self, n_rows: int, prices: FloatArray) -> None:
        """Count rows that few clusters would do for; find these if that takes no longer than rows
        have taken.
        """
        if LIMIT.few >= self.costs.shape[1]:
            return
        self.n_compared += n_rows
        if self.n_compared > LIMIT.compared * len(self.costs):
            self.few = FewClusters.of(self.costs, prices)
            self.n_compared = 0


@dataclass(frozen=True)
class FewClusters:
    """The few clusters that are cheapest for each row at some prices, and a bound of the others."""

    prices: FloatArray
    clusters: IntArray  # of each row, sorted by number
    costs: FloatArray  # of these, without prices
    beyond: FloatArray  # the lowest cost with price of another cluster

    @classmethod
    def of(cls, costs: FloatArray, prices: FloatArray) -> FewClusters:
        """Find the cheapest clusters of each row."""
        n_rows, n_clusters = costs.shape
        clusters = np.empty((n_rows, LIMIT.few), dtype=np.intp)
        beyond = np.empty(n_rows)
        for rows in row_blocks(n_rows, LIMIT.block_values // n_clusters + 1):
            priced = costs[rows] + prices
            order = priced.argpartition(LIMIT.few, axis=1)
            beyond[rows] = np.take_along_axis(priced, order[:, [LIMIT.few]], axis=1)[:, 0]
            clusters[rows] = np.sort(order[:, : LIMIT.few], axis=1)
        return cls(prices, clusters, np.take_along_axis(costs, clusters, axis=1), beyond)

    def find_two_lowest(self, prices: FloatArray) -> TwoLowest:
        """Return the two cheapest of the clusters of each row."""
        found = _find_two_lowest(self.costs + prices[self.clusters])
        each = np.arange(len(self.clusters))
        best = self.clusters[each, found.best]
        return replace(found, best=best, second=self.clusters[each, found.second])

    def find_nearly_cheapest(self, prices: FloatArray, reach: float) -> NearlyCheapest:
        """Return the cheapest of the clusters of each row, and those that cost little more."""
        found = NearlyCheapest.of(self.costs + prices[self.clusters], reach)
        each = np.arange(len(self.clusters))
        return replace(
            found,
            best=self.clusters[each, found.best],
            clusters=self.clusters[found.rows, found.clusters],
        )

    def find_unsure(self, costs: FloatArray, most: FloatArray, prices: FloatArray) -> IntArray:
        """Return the rows of which another cluster may not cost more than given.

        Prices of some clusters may have fallen much: their costs are compared.
        """
        change = prices - self.prices
        fallen = np.argsort(change, kind="stable")[: LIMIT.fallen + 1]
        unsure = np.flatnonzero(~(self.beyond + change[fallen[0]] > most))
        if len(unsure) == 0:
            return unsure
        most = most[unsure]
        is_unsure = ~(self.beyond[unsure] + change[fallen[-1]] > most)
        known = self.clusters[unsure]
        for cluster in fallen[:-1].tolist():
            is_cheap = ~(costs[unsure, cluster] + prices[cluster] > most)
            candidates = np.flatnonzero(is_cheap & ~is_unsure)
            is_other = (known[candidates] != cluster).all(axis=1)
            is_unsure[candidates[is_other]] = True
        still_unsure: IntArray = unsure[is_unsure]
        return still_unsure


def _find_two_lowest(priced: FloatArray) -> TwoLowest:
    """Return the two cheapest clusters of each row; ``priced`` is overwritten."""
    rows = np.arange(len(priced))
    best: IntArray = priced.argmin(axis=1)
    best_cost = priced[rows, best]
    priced[rows, best] = np.inf
    second: IntArray = priced.argmin(axis=1)
    return TwoLowest(best, second, best_cost, priced[rows, second])


def _hold(lowest: TwoLowest, mass: Mass, n_clusters: int) -> FloatArray:
    """Return the mass in each cluster."""
    return np.bincount(lowest.best, weights=mass, minlength=n_clusters).astype(np.float64)


# ---- prices


def _approach_prices(
    rows: CheapClusters, mass: Mass, capacity: Capacity, prices: FloatArray, fewest: float
) -> tuple[FloatArray, TwoLowest]:
    """Return prices after steps of all of them at once, and the two cheapest clusters of each row.

    These are steps of Newton's method for the dual (Kitagawa, Merigot and Thibert, 2019): the mass
    of rows near the border of two clusters says how much mass moves if their prices change. A step
    that does not lower the imbalance is halved. Where borders are empty nothing is known, and the
    steps end.
    """
    lowest = rows.find_two_lowest(prices)
    n_clusters = len(prices)
    excess = find_imbalance(_hold(lowest, mass, n_clusters), capacity, prices)
    share = 1.0
    for _ in range(LIMIT.steps):
        total = float(np.abs(excess).sum())
        if total <= fewest:
            break
        change = _find_step(lowest, mass, excess, (prices != 0) | (excess != 0))
        if not change.any():
            break
        share = min(1.0, 2 * share)
        for _ in range(LIMIT.halvings + 1):
            new = _keep_sides(prices + share * change, prices, capacity)
            found = rows.find_two_lowest(new)
            left = find_imbalance(_hold(found, mass, n_clusters), capacity, new)
            if float(np.abs(left).sum()) < total * (1 - share / 4):
                break
            share /= 2
        else:
            break
        prices = new
        lowest = found
        excess = left
    return prices, lowest


def _find_step(
    lowest: TwoLowest, mass: Mass, excess: FloatArray, is_free: NDArray[np.bool_]
) -> FloatArray:
    """Return changes of prices by which clusters lose their excess, if borders stay as dense.

    Prices that are not free stay.
    """
    n_clusters = len(excess)
    gaps = lowest.second_cost - lowest.best_cost
    moved = int(LIMIT.near_per_moved * float(np.abs(excess).sum()) / float(mass.mean()))
    n_near = min(moved + LIMIT.near_per_cluster * n_clusters, len(gaps)) - 1
    width = float(np.partition(gaps, n_near)[n_near])
    change = np.zeros(n_clusters)
    if not 0 < width < np.inf:
        return change
    near = np.flatnonzero(gaps <= width)
    pair = lowest.best[near] * n_clusters + lowest.second[near]
    counted = np.bincount(pair, weights=mass[near], minlength=n_clusters**2).astype(np.float64)
    with np.errstate(over="ignore"):
        borders = counted.reshape(n_clusters, n_clusters) / width
        borders = borders + borders.T
    slopes = (np.diag(borders.sum(axis=1)) - borders)[np.ix_(is_free, is_free)]
    density = float(np.diag(slopes).mean())
    if 0 < density < np.inf:
        slopes[np.diag_indices_from(slopes)] += LIMIT.least_density * density
        change[is_free] = np.linalg.solve(slopes, excess[is_free])
    return change


@dataclass(frozen=True)
class SoftBorders:
    """Rows shared among clusters whose priced costs are nearly the lowest.

    The share of a cluster falls with what it costs more than the lowest, by a factor of e for each
    ``width``.
    """

    prices: FloatArray
    width: float
    dual: float  # which prices are to raise
    excess: FloatArray  # of each cluster
    hard_excess: FloatArray  # if each row is in its cheapest cluster alone
    shares: sparse.csr_array  # of the rows that are shared, in each cluster
    mass: Mass  # of all rows

    @classmethod
    def of(
        cls, rows: CheapClusters, mass: Mass, capacity: Capacity, prices: FloatArray, width: float
    ) -> SoftBorders:
        """Share out rows."""
        n_clusters = len(prices)
        near = rows.find_nearly_cheapest(prices, LIMIT.soft_widths * width)
        shares = np.exp(near.above / -width)
        sums = np.bincount(near.rows, weights=shares, minlength=len(mass))
        shares /= sums[near.rows]
        hard = np.bincount(near.best, weights=mass, minlength=n_clusters).astype(np.float64)
        held = np.bincount(near.clusters, weights=shares * mass[near.rows], minlength=n_clusters)
        paid = float(np.where(prices > 0, capacity.high, capacity.low) @ prices)
        dual = float(mass @ near.lowest) - width * float(mass @ np.log(sums)) - paid
        excess = find_imbalance(held.astype(np.float64), capacity, prices)
        hard_excess = find_imbalance(hard, capacity, prices)
        is_shared = shares < 1
        places = near.rows[is_shared], near.clusters[is_shared]
        shape = (len(mass), n_clusters)
        matrix = sparse.csr_array((shares[is_shared], places), shape=shape)
        return cls(prices, width, dual, excess, hard_excess, matrix, mass)

    def find_slopes(self) -> FloatArray:
        """Return how the mass of clusters falls with prices."""
        shares = self.shares
        shared = np.flatnonzero(np.diff(shares.indptr))
        mass = self.mass[shared]
        shares = shares[shared]
        if shares.nnz > LIMIT.dense * shares.shape[0] * shares.shape[1]:
            whole = shares.toarray()
            both = whole.T @ (whole * mass[:, None])
        else:
            both = (shares.T @ shares.multiply(mass[:, None])).toarray()
        slopes: FloatArray = np.diag(mass @ shares) - both
        with np.errstate(over="ignore"):
            return slopes / self.width


def _soften_borders(
    rows: CheapClusters,
    mass: Mass,
    capacity: Capacity,
    prices: FloatArray,
    width: float,
    fewest: float,
) -> FloatArray:
    """Return prices for borders of less and less width, from soft to hard ones.

    Each is found by steps of Newton's method, damped as by Levenberg and Marquardt until the dual
    rises: it is smooth, and has one top.
    """
    of_share = partial(SoftBorders.of, rows, mass, capacity)
    soft = of_share(prices, width)
    found = soft
    damping = LIMIT.damping
    n_left = LIMIT.soft_steps
    of_wider = np.inf  # what was imbalanced before borders were narrowed
    while n_left > 0 and float(np.abs(found.hard_excess).sum()) > fewest:
        slopes = soft.find_slopes()
        scale = float(mass.sum()) / len(prices) / soft.width
        if not np.isfinite(slopes).all() or not np.isfinite(scale):
            break
        while n_left > 0:
            new = _step_softly(soft, slopes, damping * scale, capacity)
            after = of_share(new, soft.width)
            n_left -= 1
            if after.dual > soft.dual + LIMIT.gain * float(soft.excess @ (new - soft.prices)):
                break
            damping *= LIMIT.damping_change
        soft = after
        damping /= LIMIT.damping_change
        if np.abs(soft.hard_excess).sum() < np.abs(found.hard_excess).sum():
            found = soft
        of_hard = float(np.abs(soft.hard_excess).sum())
        if np.abs(soft.excess).sum() < of_hard / 2:
            if of_hard >= of_wider:  # so few rows that prices cannot divide them better
                break
            of_wider = of_hard
            soft = of_share(soft.prices, soft.width * LIMIT.narrowing)
            n_left -= 1
    return found.prices


def _step_softly(
    soft: SoftBorders, slopes: FloatArray, damping: float, capacity: Capacity
) -> FloatArray:
    """Return the prices after a damped step of Newton's method."""
    is_free = (soft.prices != 0) | (soft.excess != 0)
    damped = slopes[np.ix_(is_free, is_free)]
    # borders that do not join all clusters have no single solution without it
    least = LIMIT.least_damping * float(np.abs(damped.diagonal()).max(initial=0))
    damped[np.diag_indices_from(damped)] += max(damping, least)
    new = soft.prices.copy()
    new[is_free] += np.linalg.solve(damped, soft.excess[is_free])
    return _keep_sides(new, soft.prices, capacity)


def _keep_sides(new: FloatArray, former: FloatArray, capacity: Capacity) -> FloatArray:
    """Return prices that do not cross 0: full clusters and those that lack rows have other targets,
    unless both limits are the same.
    """
    crosses = (new * former < 0) & (capacity.low < capacity.high)
    return np.where(crosses, 0.0, new)


def find_imbalance(held: FloatArray, capacity: Capacity, prices: FloatArray) -> FloatArray:
    """Return by how much each cluster has more mass than its price allows; negative if less.

    A cluster with a price above 0 is to be full, and one with a price below 0 to have its least.
    """
    wanted = np.where(
        prices > 0,
        capacity.high,
        np.where(prices < 0, capacity.low, np.clip(held, capacity.low, capacity.high)),
    )
    return np.asarray(held - wanted)


# ---- rows of equal mass: a flow of minimum cost


@dataclass
class Moves:
    """The cheapest move of a row from each cluster to each other one."""

    costs: FloatArray  # of each row in each cluster
    labels: IntArray  # the cluster of each row
    cheapest: FloatArray  # between clusters; infinite from an empty one
    rows: IntArray  # the row that moves

    @classmethod
    def of(cls, costs: FloatArray, labels: IntArray) -> Moves:
        """Return the moves of rows in clusters."""
        n_clusters = costs.shape[1]
        square = (n_clusters, n_clusters)
        moves = cls(costs, labels, np.full(square, np.inf), np.full(square, -1))
        for cluster in range(n_clusters):
            moves.update(cluster)
        return moves

    def update(self, cluster: int) -> None:
        """Find the moves from a cluster after its rows have changed."""
        own = np.flatnonzero(self.labels == cluster)
        if len(own) == 0:
            self.cheapest[cluster] = np.inf
            return
        costs = self.costs[own]
        costs -= costs[:, cluster].copy()[:, None]
        cheapest = costs.argmin(axis=0)
        self.rows[cluster] = own[cheapest]
        self.cheapest[cluster] = costs[cheapest, np.arange(costs.shape[1])]
        self.cheapest[cluster, cluster] = np.inf

    def move(self, path: list[int]) -> None:
        """Move a row along each edge of a path of clusters."""
        rows = [int(self.rows[former, cluster]) for former, cluster in pairwise(path)]
        for row, cluster in zip(rows, path[1:], strict=True):
            self.labels[row] = cluster
        for row, (former, cluster) in zip(rows, pairwise(path), strict=True):
            self._leave(row, former)
            self._join(row, cluster)

    def _leave(self, row: int, cluster: int) -> None:
        """Find other rows for the moves of one that has left a cluster."""
        stale = np.flatnonzero(self.rows[cluster] == row)
        own = np.flatnonzero(self.labels == cluster)
        if len(own) == 0:
            self.cheapest[cluster] = np.inf
            self.rows[cluster] = -1
            return
        costs = self.costs[np.ix_(own, stale)] - self.costs[own, cluster][:, None]
        cheapest = costs.argmin(axis=0)
        self.rows[cluster, stale] = own[cheapest]
        self.cheapest[cluster, stale] = costs[cheapest, np.arange(len(stale))]
        self.cheapest[cluster, cluster] = np.inf

    def _join(self, row: int, cluster: int) -> None:
        """Compare the moves from a cluster with those of a row that has joined it."""
        costs = self.costs[row] - self.costs[row, cluster]
        is_cheaper = costs < self.cheapest[cluster]
        is_cheaper[cluster] = False
        self.cheapest[cluster, is_cheaper] = costs[is_cheaper]
        self.rows[cluster, is_cheaper] = row


def _move_along_paths(
    costs: FloatArray, labels: IntArray, capacity: Capacity, prices: FloatArray
) -> Assignment:
    """Return the best assignment, from that with the lowest priced costs.

    One more node stands for all that a cluster has beyond its smallest size: clusters give to it,
    and take from it, at no cost. Successive shortest paths keep reduced costs at 0 or above, so
    that each step has the least cost for the rows that are in their place.
    """
    n_clusters = costs.shape[1]
    moves = Moves.of(costs, labels)
    held = np.bincount(labels, minlength=n_clusters).astype(np.float64)
    excess = find_imbalance(held, capacity, prices)
    flow = held - excess  # what each cluster counts for
    pool = len(labels) - float(flow.sum())  # what the node lacks
    potential = np.append(prices, 0.0)
    while excess.any() or pool:
        reduced = _reduce(moves, flow, capacity, potential)
        wanted = np.append(excess, -pool)
        sources = np.flatnonzero(wanted > 0)
        sinks = np.flatnonzero(wanted < 0)
        if len(sources) == 0 or len(sinks) == 0:
            raise ValueError(_explain_blocked(excess))
        distances, before = _find_paths(reduced, sources)
        sink = int(sinks[distances[sinks].argmin()])
        if not np.isfinite(distances[sink]):
            raise ValueError(_explain_blocked(excess))
        path = [sink]
        while before[path[-1]] >= 0:
            path.append(int(before[path[-1]]))
        path.reverse()
        potential -= np.minimum(distances, distances[sink])
        _follow(path, moves, flow, excess)
        pool -= float(sink == n_clusters) - float(path[0] == n_clusters)
    potential += _find_middle(_reduce(moves, flow, capacity, potential))
    return Assignment(moves.labels, potential[:-1] - potential[-1])


def _reduce(
    moves: Moves, flow: FloatArray, capacity: Capacity, potential: FloatArray
) -> FloatArray:
    """Return the length of each edge, with potentials: 0 or above; infinite if there is none."""
    n_clusters = len(flow)
    graph = np.full((n_clusters + 1, n_clusters + 1), np.inf)
    graph[:-1, :-1] = moves.cheapest
    graph[:-1, -1] = np.where(flow < capacity.high, 0.0, np.inf)
    graph[-1, :-1] = np.where(flow > capacity.low, 0.0, np.inf)
    return np.maximum(graph + potential - potential[:, None], 0)


def _find_middle(reduced: FloatArray) -> FloatArray:
    """Return changes of potentials after which no edge has length 0, but those of cycles that do.

    Potentials from shortest paths are an end of what fits: rows that have moved lie on a border.
    The distances to any one node fit as well, and so does the mean over all nodes.

    Examples
    --------
    >>> _find_middle(np.array([[np.inf, 0.0], [4.0, np.inf]]))
    array([0., 2.])
    """
    is_edge = np.isfinite(reduced)
    longest = float(reduced[is_edge].max(initial=0.0))
    distances = np.where(is_edge, reduced, longest)  # so that there is a path between any two
    np.fill_diagonal(distances, 0.0)
    for node in range(len(distances)):
        np.minimum(distances, distances[:, [node]] + distances[node], out=distances)
    return np.asarray(distances.mean(axis=1))


def _explain_blocked(excess: FloatArray) -> str:
    n_rows = float(np.maximum(np.abs(excess).sum(), 1))
    return (
        f"{setting('size_limits')} cannot be kept: {count_of(int(n_rows), 'row')} should change "
        "clusters, and no row can be moved. Widen the limits, or scale columns with huge values."
    )


def _find_paths(reduced: FloatArray, sources: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the distance of each node to the nearest source, and the node before it on the way."""
    of_edge, to = np.nonzero(np.isfinite(reduced))
    # of a sparse matrix, edges of length 0 are edges
    graph = sparse.csr_array((reduced[of_edge, to], (of_edge, to)), shape=reduced.shape)
    distances, before, _ = dijkstra(graph, indices=sources, return_predecessors=True, min_only=True)
    return distances, before


def _follow(path: list[int], moves: Moves, flow: FloatArray, excess: FloatArray) -> None:
    """Move a row along each edge between clusters, and change what clusters count for elsewhere."""
    pool = len(flow)
    for former, node in pairwise(path):
        if node == pool:
            flow[former] += 1
        elif former == pool:
            flow[node] -= 1
    if path[0] != pool:
        excess[path[0]] -= 1
    if path[-1] != pool:
        excess[path[-1]] += 1
    parts = np.split(path, np.flatnonzero(np.array(path) == pool))
    for part in parts:
        clusters = [node for node in part.tolist() if node != pool]
        if len(clusters) > 1:
            moves.move(clusters)


# ---- rows of different masses


@dataclass
class Packing:
    """Rows of different masses in clusters, which move and swap until sizes are within limits."""

    costs: FloatArray  # priced, of each row in each cluster, for a unit of mass
    mass: Mass
    labels: IntArray
    capacity: Capacity

    @property
    def held(self) -> FloatArray:
        """The mass in each cluster."""
        return np.bincount(self.labels, weights=self.mass, minlength=self.costs.shape[1]).astype(
            np.float64
        )

    def find_faults(self) -> FloatArray:
        """Return by how much each cluster is above its limits, or below them."""
        slack = LIMIT.rounding * float(self.mass.sum())
        faults = self.capacity.excess(self.held)
        return np.where(np.abs(faults) <= slack, 0.0, faults)

    def improve(self, cluster: int) -> bool:
        """Move a row into a cluster or out of it, or swap two; return whether that helps."""
        return self._move(cluster) or self._swap(cluster)

    def _gains(self, source: Any, target: Any, moved: Any) -> FloatArray:
        """Return by how much faults fall if mass moves between clusters."""
        held = self.held
        low, high = self.capacity.low, self.capacity.high

        def fault(cluster: Any, change: Any) -> Any:
            now = held[cluster] + change
            return np.maximum(now - high[cluster], 0) + np.maximum(low[cluster] - now, 0)

        before = fault(source, 0.0) + fault(target, 0.0)
        return np.asarray(before - fault(source, -moved) - fault(target, moved))

    def _move(self, cluster: int) -> bool:
        n_clusters = self.costs.shape[1]
        if self.find_faults()[cluster] > 0:
            rows = np.flatnonzero(self.labels == cluster)
            rows = np.repeat(rows, n_clusters)
            target = np.tile(np.arange(n_clusters), len(rows) // n_clusters)
        else:
            rows = np.arange(len(self.labels))
            target = np.full(len(rows), cluster)
        source = self.labels[rows]
        gains = np.where(source == target, 0.0, self._gains(source, target, self.mass[rows]))
        rise = self.mass[rows] * (self.costs[rows, target] - self.costs[rows, source])
        best = _cheapest(rise, gains, float(self.mass.sum()))
        if best is None:
            return False
        self.labels[rows[best]] = target[best]
        return True

    def _swap(self, cluster: int) -> bool:
        found = []
        for other in range(self.costs.shape[1]):
            if other == cluster:
                continue
            own, rise_of_own = self._nearest_rows(cluster, other)
            theirs, rise_of_theirs = self._nearest_rows(other, cluster)
            if len(own) == 0 or len(theirs) == 0:
                continue
            moved = self.mass[own][:, None] - self.mass[theirs]
            gains = self._gains(cluster, other, moved)
            rise = rise_of_own[:, None] + rise_of_theirs
            best = _cheapest(rise.ravel(), gains.ravel(), float(self.mass.sum()))
            if best is not None:
                pair = np.unravel_index(best, moved.shape)
                price = float(rise[pair] / gains[pair])
                found.append((price, int(own[pair[0]]), int(theirs[pair[1]]), other))
        if not found:
            return False
        _, own_row, their_row, other = min(found)
        self.labels[own_row] = other
        self.labels[their_row] = cluster
        return True

    def _nearest_rows(self, cluster: int, other: int) -> tuple[IntArray, FloatArray]:
        """Return rows of a cluster for which another one is nearest, and by how much costs rise."""
        rows = np.flatnonzero(self.labels == cluster)
        rise = self.mass[rows] * (self.costs[rows, other] - self.costs[rows, cluster])
        nearest = np.argsort(rise, kind="stable")[: LIMIT.swapped]
        return rows[nearest], rise[nearest]


def _cheapest(rise: FloatArray, gains: FloatArray, total: float) -> int | None:
    """Return the change with the least rise of costs for what it gains, if any gains something."""
    helps = np.flatnonzero(gains > LIMIT.rounding * total)
    if len(helps) == 0:
        return None
    return int(helps[np.argmin(rise[helps] / gains[helps])])


def _settle(
    costs: FloatArray, mass: Mass, labels: IntArray, capacity: Capacity, prices: FloatArray
) -> IntArray:
    """Return labels with which sizes are within limits, from those of lowest priced costs."""
    packing = Packing(costs + prices, mass, labels, capacity)
    faults = packing.find_faults()
    while faults.any():
        by_fault = np.argsort(-np.abs(faults), kind="stable").tolist()
        if not any(packing.improve(cluster) for cluster in by_fault if faults[cluster] != 0):
            raise ValueError(_explain_packing(packing))
        faults = packing.find_faults()
    return packing.labels


def _explain_packing(packing: Packing) -> str:
    faults = packing.find_faults()
    worst = int(np.abs(faults).argmax())
    side = "above its largest" if faults[worst] > 0 else "below its smallest"
    fault = f"{abs(float(faults[worst])):,.6g} {side} size"
    return (
        f"{setting('size_limits')} cannot be kept with these weights: no row can be moved or "
        f"swapped, and a cluster is still {fault}. Rows are not divided, and the heaviest weighs "
        f"{float(packing.mass.max()):,.6g}: widen the limits by as much."
    )
