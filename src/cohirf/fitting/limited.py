"""End a fit within limits of the sizes of clusters.

Centres move as in K-Means, on a sample of the rows, which is assigned to them within limits. Then
each row of the data belongs to the centre with the lowest sum of squared distance and price, and
rows near borders change clusters until the sizes are exact. That changes prices, and rows for which
another cluster is cheaper then are assigned again, until there are none. So ``predict``, which
compares the same sums, agrees with the fit in all rows but exact ties, unless weights differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.cluster import kmeans_plusplus

from cohirf.algorithm.choose_medoids import cluster_means
from cohirf.beyond.merges import DEFAULT as COMPACT
from cohirf.beyond.size_limits import (
    LIMIT,
    Assignment,
    Capacity,
    SizeLimits,
    assign_within,
    find_imbalance,
    find_prices,
    find_unit,
    resolve_limits,
)
from cohirf.data import Data
from cohirf.data.first_level import DataWeights, FirstLevel
from cohirf.fitting.families import TakesNumber, is_k_means
from cohirf.fitting.merging import SampleOfFit
from cohirf.fitting.policy import END
from cohirf.fitting.regroup import read_filled
from cohirf.fitting.settings import Settings
from cohirf.landmarks import Cells, NestedCells, split
from cohirf.rows.arrays import as_array, narrow_indices
from cohirf.rows.containers import container_of
from cohirf.rows.distances import relative_squares
from cohirf.rows.grouping import FloatArray, IntArray, Mass, row_blocks
from cohirf.rows.members import squared_distances_to
from cohirf.wording import setting

LOOK = np.dtype([("point", np.int32), ("margin", np.float32)])


def find_limits(settings: Settings, data: Data, weights: DataWeights | None) -> SizeLimits | None:
    """Return the limits of sizes, if there are any; raise if they cannot be kept."""
    if settings.size_limits is None:
        return None
    given = setting("size_limits", settings.size_limits)
    family = settings.family
    if not isinstance(family, TakesNumber) or family.n_clusters is None or family.is_chosen:
        raise ValueError(
            f"{given} needs a number of clusters: give {setting('n_clusters')}, and a base method "
            "that takes it, such as KMeans, or none."
        )
    if not all(method is None or is_k_means(method) for method in settings.methods):
        raise ValueError(
            f"{given} does not work around {settings.base_name}: sizes are kept by moving rows to "
            "the next centre, and its clusters have none. Leave it out, or give KMeans."
        )
    if settings.merge not in ("auto", COMPACT):
        raise ValueError(
            f"{given} does not work with {setting('merge', settings.merge)}: sizes are kept by "
            "moving rows to the next centre, so clusters are compact. Leave the merge out."
        )
    if settings.min_cluster_size != 1:
        raise ValueError(
            f"{given} does not work with "
            f"{setting('min_cluster_size', settings.min_cluster_size)}, which leaves out the rows "
            "of small clusters: give the smallest size of a cluster as a limit."
        )
    if not data.can_reassign:
        raise TypeError(
            f"{given} needs rows in memory or a source in this process: rows on Dask or on a "
            "device stay in the cluster that is nearest."
        )
    n_rows = data.rows.n_rows
    mass = None if weights is None else weights.take(np.arange(n_rows))
    return resolve_limits(settings.size_limits, family.n_clusters, n_rows, mass)


# ---- centres


@dataclass(frozen=True)
class PricedCentres:
    """Centres of clusters, with prices: a row belongs to the lowest sum of squared distance and
    price.
    """

    centres: FloatArray
    prices: FloatArray

    def measure(self, X: Any) -> FloatArray:
        """Return the squared distance of each row to each centre, without what is common to all
        centres.
        """
        return relative_squares(X, self.centres)

    def label(self, X: Any) -> IntArray:
        """Return the centre of each row."""
        return np.asarray((self.measure(X) + self.prices).argmin(axis=1))


def complete_centres(centres: Any, n_clusters: int, sample: SampleOfFit) -> FloatArray:
    """Return as many centres as clusters: rows that are far from the others are added to fewer."""
    found: FloatArray = as_array(centres).astype(np.float64)
    values = as_array(sample.values)
    while len(found) < n_clusters:
        squares = relative_squares(values, found).min(axis=1) + (values**2).sum(axis=1)
        found = np.concatenate([found, values[[int(squares.argmax())]]])
    return found[:n_clusters]


def find_centres(
    sample: SampleOfFit, begin: FloatArray, capacity: Capacity, rng: np.random.Generator
) -> PricedCentres:
    """Return centres of clusters of a sample within limits, with a low sum of squared distances.

    They begin with those of clusters without limits. Of a small sample, they also begin with rows
    that are drawn at random, so that a large cluster has several centres, or far from each other.
    """
    n_clusters = len(begin)
    first = PricedCentres(begin, np.zeros(n_clusters))
    is_large = len(sample.rows) * n_clusters > END.limited_values
    n_of_part = END.limited_part * len(sample.rows)
    if is_large and n_of_part >= END.limited_rows_per_cluster * n_clusters:
        return _move_by_degrees(sample, first, capacity, rng)
    found, least = _move_within(sample, first, capacity)
    n_starts = min(END.limited_starts, END.limited_values // (len(sample.rows) * n_clusters))
    if n_clusters == 1 or len(sample.rows) < n_clusters:
        return found
    for start in range(1, n_starts):
        if start % 2:
            drawn = sample.values[np.sort(rng.choice(len(sample.rows), n_clusters, replace=False))]
        else:
            drawn = _draw_apart(sample, n_clusters, rng)
        begin = as_array(drawn).astype(np.float64)
        other, cost = _move_within(sample, PricedCentres(begin, np.zeros(n_clusters)), capacity)
        if cost < least:
            found = other
            least = cost
    return found


def _move_by_degrees(
    sample: SampleOfFit, first: PricedCentres, capacity: Capacity, rng: np.random.Generator
) -> PricedCentres:
    """Return centres that have moved on a part of a sample, and then on all of it.

    Their first steps are the longest, and need no more than a part.
    """
    n_drawn = int(END.limited_part * len(sample.rows))
    part = sample.at(np.sort(rng.choice(len(sample.rows), n_drawn, replace=False)))
    share = float(part.mass.sum() / sample.mass.sum())
    of_part = Capacity(share * capacity.low, share * capacity.high)
    found = _move_within(part, first, of_part, is_rough=True)[0]
    return _move_within(sample, found, capacity, is_rough=True)[0]


def _draw_apart(sample: SampleOfFit, n_clusters: int, rng: np.random.Generator) -> Any:
    """Draw rows that are far from each other, as K-Means++ does."""
    return kmeans_plusplus(
        narrow_indices(sample.values),
        n_clusters,
        sample_weight=sample.mass,
        random_state=int(rng.integers(2**31)),
    )[0]


def _move_within(
    sample: SampleOfFit,
    found: PricedCentres,
    capacity: Capacity,
    *,
    is_rough: bool = False,
) -> tuple[PricedCentres, float]:
    """Move centres as K-Means does, with clusters of a sample within limits; also return the sum of
    squared distances.
    """
    n_clusters = len(found.centres)
    labels = None
    cost = np.inf
    value = np.inf
    tolerance = END.limited_rough if is_rough else END.limited_tolerance
    variance = container_of(sample.values).column_moments(sample.values)[1].sum()
    least_gain = tolerance * float(variance * sample.mass.sum())
    for _ in range(END.limited_iterations):
        costs = found.measure(sample.values)
        prices = find_prices(costs, sample.mass, capacity, found.prices)
        former = labels
        labels = (costs + prices).argmin(axis=1)
        centres = container_of(sample.values).like(sample.values, found.centres)
        squares = as_array(squared_distances_to(centres, sample.values, labels))
        # what ``costs`` lack depends on the centres, if values are far from 0
        cost = float(squares @ sample.mass)
        found = replace(found, prices=prices)
        former_value = value
        value = cost
        if is_rough:
            # The value of the dual, which prices that are a bit wrong change least. It is below
            # that of any sizes within limits, so that it compares no starts.
            paid = float(np.where(prices > 0, capacity.high, capacity.low) @ prices)
            value = float((squares + prices[labels]) @ sample.mass) - paid
        is_done = abs(value - former_value) < least_gain
        if is_done or (former is not None and np.array_equal(labels, former)):
            break
        present = np.unique(labels)
        moved = found.centres.copy()
        means = cluster_means(
            sample.values, np.searchsorted(present, labels), len(present), sample.mass
        )
        moved[present] = as_array(means)
        # an empty one would stay where it was, which another one may have now: equal centres have
        # no border
        empty = np.setdiff1d(np.arange(n_clusters), present)[: len(labels)]
        if len(empty):
            moved[empty] = as_array(sample.values[_find_far(sample, costs, labels, len(empty))])
        found = replace(found, centres=moved)
    return found, cost


def _find_far(sample: SampleOfFit, costs: FloatArray, labels: IntArray, n_far: int) -> IntArray:
    """Return the rows that are farthest from the centres of their clusters."""
    own = costs[np.arange(len(labels)), labels]
    squares = own + (as_array(sample.values) ** 2).sum(axis=1)
    return np.argsort(-squares, kind="stable")[:n_far]


# ---- all rows


@dataclass(frozen=True)
class RowLook:
    """What is found out about each row: the point that it belongs to, and how near the border of
    its cluster it is.
    """

    centres: PricedCentres
    points: FloatArray
    owner: IntArray  # the centre of each point

    def __call__(self, X: Any) -> Any:
        """Return point and margin of each row."""
        found = np.empty(X.shape[0], dtype=LOOK)
        n_block = max(1, LIMIT.block_values // len(self.centres.centres))
        for block in row_blocks(X.shape[0], n_block):
            found[block] = self._look(X[block])
        return found

    def _look(self, X: Any) -> Any:
        found = np.empty(X.shape[0], dtype=LOOK)
        priced = self.centres.measure(X)
        priced += self.centres.prices
        rows = np.arange(len(priced))
        nearest: IntArray = priced.argmin(axis=1)
        least = priced[rows, nearest]
        priced[rows, nearest] = np.inf
        found["margin"] = priced.min(axis=1) - least
        found["point"] = self.find_points(X, nearest)
        return found

    def find_points(self, X: Any, clusters: IntArray) -> IntArray:
        """Return the nearest point of the cluster of each row."""
        points = np.empty(len(clusters), dtype=np.int64)
        own_points = split(self.owner)
        for rows in split(clusters):
            own = own_points[clusters[rows[0]]]
            points[rows] = own[relative_squares(X[rows], self.points[own]).argmin(axis=1)]
        return points


@dataclass(frozen=True)
class LimitedRows:
    """All rows of the data, in points of clusters whose sizes are within limits."""

    points: IntArray  # the point of each row
    centres: PricedCentres


def share_out_within(
    first_level: FirstLevel, data: Data, mass: Mass | None, look: RowLook, capacity: Capacity
) -> LimitedRows:
    """Assign all rows to points, so that the sizes of clusters are within limits."""
    assert first_level.rows is not None
    unit = None if mass is None else find_unit(mass)
    if unit is not None:
        assert mass is not None
        mass = (mass > 0).astype(np.float64)  # counts of rows have no rounding
        capacity = capacity.in_units(unit)
    found = first_level.rows.map_rows(look, None, LOOK)
    clusters = look.owner[found["point"]]
    rows, moved = _correct(data, mass, clusters, found["margin"], look.centres, capacity)
    points = found["point"].astype(np.int64)
    for block in row_blocks(len(rows)):
        X = read_filled(data, rows[block])
        points[rows[block]] = look.find_points(X, moved.labels[block])
    return LimitedRows(points, replace(look.centres, prices=moved.prices))


def _correct(
    data: Data,
    mass: Mass | None,
    clusters: IntArray,
    margins: Any,
    centres: PricedCentres,
    capacity: Capacity,
) -> tuple[IntArray, Assignment]:
    """Return rows near borders, and the assignment of these with which sizes are exact.

    Other rows stay where they are. That is the best for all rows, if their clusters are still the
    cheapest; otherwise, those that others would suit better are assigned again as well.
    """
    n_rows = len(clusters)
    n_clusters = len(centres.prices)
    is_counted = mass is None or find_unit(mass) == 1
    held = np.bincount(clusters, weights=mass, minlength=n_clusters).astype(np.float64)
    imbalance = np.abs(find_imbalance(held, capacity, centres.prices))
    if mass is not None:
        imbalance *= n_rows / float(mass.sum())
    if not imbalance.any():
        return np.arange(0), Assignment(np.arange(0), centres.prices)
    rows = _find_near_borders(margins, clusters, imbalance)
    costs = _measure(data, rows, centres)
    prices = centres.prices
    while True:
        own = None if mass is None else mass[rows]
        fixed = held - np.bincount(clusters[rows], weights=own, minlength=n_clusters)
        room = Capacity(np.maximum(capacity.low - fixed, 0), capacity.high - fixed)
        if len(rows) == n_rows or room.can_hold(len(rows) if own is None else float(own.sum())):
            found = assign_within(costs, own, room, prices, is_counted=is_counted)
            prices = found.prices
            if len(rows) * n_clusters > LIMIT.most_values:
                return rows, found
            others = _find_crossed(data, clusters, margins, centres, prices, rows)
        else:
            others = rows[:0]
            while len(others) == 0:  # there are some: not all rows were seen
                imbalance *= 4
                others = np.setdiff1d(_find_near_borders(margins, clusters, imbalance), rows)
        if len(others) == 0:
            return rows, found
        costs = np.concatenate([costs, _measure(data, others, centres)])
        rows = np.concatenate([rows, others])
        order = np.argsort(rows)
        rows = rows[order]
        costs = costs[order]


def _find_near_borders(margins: Any, clusters: IntArray, imbalance: FloatArray) -> IntArray:
    """Return the rows that are nearest to a border: of all rows, and of each cluster as many as may
    have to leave it.
    """
    n_seen = np.ceil(LIMIT.seen_per_moved * imbalance)
    n_clusters = len(imbalance)
    near = [_find_nearest(margins, int(n_seen.sum()) + LIMIT.seen_per_cluster * n_clusters)]
    for own in split(clusters):
        cluster = int(clusters[own[0]])
        near.append(own[_find_nearest(margins[own], int(n_seen[cluster]))])
    return np.unique(np.concatenate(near))


def _find_nearest(margins: Any, n_near: int) -> IntArray:
    """Return the rows that are nearest to a border."""
    if n_near >= len(margins):
        return np.arange(len(margins))
    return np.sort(np.argpartition(margins, n_near)[:n_near])


def _measure(data: Data, rows: IntArray, centres: PricedCentres) -> FloatArray:
    """Return the cost of rows in each cluster, without its price."""
    blocks = [centres.measure(read_filled(data, rows[block])) for block in row_blocks(len(rows))]
    return np.concatenate(blocks)


def _find_crossed(
    data: Data,
    clusters: IntArray,
    margins: Any,
    centres: PricedCentres,
    prices: FloatArray,
    seen: IntArray,
) -> IntArray:
    """Return the rows for which another cluster is cheaper at other prices, except those seen; and
    as many again that are near a border now.
    """
    change = prices - centres.prices
    # margins are rounded to float32
    may_cross = margins * (1 - 1e-6) < change[clusters] - change.min()
    may_cross[seen] = False
    rows = np.flatnonzero(may_cross)
    left = np.empty(len(rows))
    for block in row_blocks(len(rows), max(1, LIMIT.block_values // len(prices))):
        priced = centres.measure(read_filled(data, rows[block])) + prices
        each = np.arange(len(priced))
        own = clusters[rows[block]]
        cost = priced[each, own]
        priced[each, own] = np.inf
        left[block] = priced.min(axis=1) - cost
    n_crossed = int(np.count_nonzero(left < 0))
    if n_crossed == 0:
        return rows[:0]
    return rows[_find_nearest(left, LIMIT.seen_per_crossed * n_crossed)]


def cells_of(limited: LimitedRows, look: RowLook, kept: IntArray) -> NestedCells:
    """Return the cells that new rows belong to: those of points that have rows."""
    clusters, owner = np.unique(look.owner[kept], return_inverse=True)
    centres = limited.centres
    return NestedCells(
        Cells(
            centres.centres[clusters],
            np.arange(len(clusters)),
            prices=centres.prices[clusters],
        ),
        look.points[kept],
        owner,
    )
