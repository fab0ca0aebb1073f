"""Rows assigned at least cost, with sizes of clusters within limits."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import linprog

from cohirf.beyond.size_limits import (
    Capacity,
    CheapClusters,
    NearlyCheapest,
    _find_two_lowest,
    assign_within,
    find_imbalance,
    find_prices,
    resolve_limits,
)


def lowest_cost(costs, low, high):
    """Solve the transportation problem as a linear programme."""
    n_rows, n_clusters = costs.shape
    of_row = sparse.kron(sparse.eye(n_rows), np.ones((1, n_clusters)))
    of_cluster = sparse.kron(np.ones((1, n_rows)), sparse.eye(n_clusters))
    bounds = np.r_[np.full(n_clusters, high), np.full(n_clusters, -low)]
    found = linprog(
        costs.ravel(),
        A_eq=of_row,
        b_eq=np.ones(n_rows),
        A_ub=sparse.vstack([of_cluster, -of_cluster]),
        b_ub=bounds,
    )
    return found.fun


def each(n_clusters, low, high):
    """Return the same limits for each cluster."""
    return Capacity(np.full(n_clusters, float(low)), np.full(n_clusters, float(high)))


@pytest.mark.parametrize("seed", range(40))
def test_rows_of_equal_mass_have_the_lowest_cost_of_all_assignments(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(1, 40))
    n_clusters = int(rng.integers(1, min(n_rows, 6) + 1))
    costs = rng.random((n_rows, n_clusters))
    if seed % 2:  # with many ties
        costs = np.floor(5 * costs)
    low = int(rng.integers(0, n_rows // n_clusters + 1))
    high = int(rng.integers(-(-n_rows // n_clusters), n_rows + 1))
    begin = rng.normal(size=n_clusters) * (seed % 3)
    found = assign_within(costs, None, each(n_clusters, low, high), begin, is_counted=True)
    sizes = np.bincount(found.labels, minlength=n_clusters)
    assert low <= sizes.min() <= sizes.max() <= high
    own = costs[np.arange(n_rows), found.labels].sum()
    assert own == pytest.approx(lowest_cost(costs, low, high), abs=1e-9)


def test_each_row_is_in_the_cluster_with_the_lowest_sum_of_cost_and_price():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 3))
    costs = ((X[:, None] - X[:12]) ** 2).sum(axis=2)
    capacity = each(12, 60, 100)
    found = assign_within(costs, None, capacity, np.zeros(12), is_counted=True)
    priced = costs + found.prices
    np.testing.assert_allclose(priced[np.arange(1000), found.labels], priced.min(axis=1))
    sizes = np.bincount(found.labels, minlength=12)
    assert (sizes[found.prices > 1e-9] == 100).all()
    assert (sizes[found.prices < -1e-9] == 60).all()
    assert (found.prices > 1e-9).any()


def test_prices_alone_leave_few_rows_in_the_wrong_cluster():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(4000, 4)) * [3, 1, 1, 1]
    costs = ((X[:, None] - X[:20]) ** 2).sum(axis=2)
    capacity = each(20, 200, 200)
    prices = find_prices(costs, np.ones(4000), capacity, np.zeros(20))
    held = np.bincount((costs + prices).argmin(axis=1), minlength=20).astype(float)
    assert np.abs(find_imbalance(held, capacity, prices)).sum() < 100
    unpriced = np.bincount(costs.argmin(axis=1), minlength=20)
    assert np.abs(unpriced - 200).sum() > 1000


@pytest.mark.parametrize("seed", range(40))
def test_sums_of_weights_are_within_limits(seed):
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(2, 60))
    n_clusters = int(rng.integers(1, min(n_rows, 6) + 1))
    mass = rng.random(n_rows) * 3 + 0.1
    share = mass.sum() / n_clusters
    low = max(0.0, share - mass.max() * rng.uniform(0.5, 1))
    high = share + mass.max() * rng.uniform(0.5, 1)
    costs = rng.random((n_rows, n_clusters))
    limits = each(n_clusters, low, high)
    found = assign_within(costs, mass, limits, np.zeros(n_clusters), is_counted=False)
    held = np.bincount(found.labels, weights=mass, minlength=n_clusters)
    assert low - 1e-9 <= held.min() <= held.max() <= high + 1e-9


def test_equal_weights_are_counted():
    rng = np.random.default_rng(0)
    costs = rng.random((30, 3))
    costs[:, 0] = -1
    mass = np.ones(30)
    mass[:6] = 0  # these count for nothing
    found = assign_within(costs, mass, each(3, 0, 8), np.zeros(3), is_counted=True)
    assert np.bincount(found.labels, weights=mass).tolist() == [8, 8, 8]


def test_weights_that_cannot_be_packed_are_named():
    mass = np.array([3.0, 3.0, 3.0, 1.0])
    with pytest.raises(ValueError, match=r"still 1 above its largest size.*heaviest weighs 3"):
        assign_within(np.zeros((4, 2)), mass, each(2, 0, 5), np.zeros(2), is_counted=False)


@pytest.mark.parametrize(
    ("limits", "mass", "low", "high"),
    [
        ("balanced", None, 3, 4),
        ((2, 5), None, 2, 5),
        ((0.1, 0.5), None, 1, 5),
        ((None, 0.45), None, 0, 4),
        ((1.5, None), None, 2, 10),
        ("balanced", np.full(10, 0.5), 1.5, 2),
        ("balanced", np.r_[np.ones(9), 3.0], 1, 7),
        ((None, 5.5), np.r_[np.ones(9), 3.0], 0, 5.5),
    ],
)
def test_limits_are_counts_shares_or_sums_of_weights(limits, mass, low, high):
    found = resolve_limits(limits, 3, 10, mass)
    assert (found.low, found.high) == (low, high)


@pytest.mark.parametrize(
    ("limits", "mass", "message"),
    [
        ((4, None), None, "3 clusters of at least 4 rows need 12, and the data has 10"),
        ((None, 3), None, "3 clusters of at most 3 rows take 9, and the data has 10"),
        ((5, 2), None, "the smallest size, 5 rows, is above the largest, 2"),
        ((None, 5), np.r_[np.ones(9), 6.0], "row 9 alone has a weight of 6"),
    ],
)
def test_impossible_limits_are_refused_with_the_numbers(limits, mass, message):
    with pytest.raises(ValueError, match=message):
        resolve_limits(limits, 3, 10, mass)


def test_prices_cross_gaps_between_clusters():
    # no row lies at a border where prices begin: nothing says how many rows a change moves
    rng = np.random.default_rng(0)
    sizes = rng.multinomial(3000, rng.dirichlet(np.ones(15)))
    centres = 6 * rng.normal(size=(15, 5))
    X = np.repeat(centres, sizes, axis=0) + rng.normal(size=(3000, 5))
    costs = ((X[:, None] - centres) ** 2).sum(axis=2)
    capacity = each(15, 200, 200)
    assert np.abs(sizes - 200).sum() > 1500
    prices = find_prices(costs, np.ones(3000), capacity, np.zeros(15))
    held = np.bincount((costs + prices).argmin(axis=1), minlength=15).astype(float)
    assert np.abs(find_imbalance(held, capacity, prices)).sum() < 60


def drift(rng, prices, step):
    """Return other prices: a few clusters change much, and the others little."""
    change = rng.normal(size=len(prices))
    change[rng.choice(len(prices), 3, replace=False)] *= 40
    return prices + step * change


def list_near(found):
    """Return rows, clusters and costs of what costs little more than the cheapest cluster."""
    is_near = found.above < found.reach
    order = np.lexsort((found.clusters[is_near], found.rows[is_near]))
    near = found.rows[is_near], found.clusters[is_near], found.above[is_near]
    return np.column_stack(near)[order]


@pytest.mark.parametrize("step", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("has_ties", [False, True])
def test_few_clusters_of_a_row_are_compared_as_all_would_be(step, has_ties):
    rng = np.random.default_rng(0)
    costs = 10 * rng.random((300, 40))
    if has_ties:
        costs = np.floor(costs)
    rows = CheapClusters(costs)
    prices = np.zeros(40)
    few = []
    for _ in range(12):
        prices = np.round(drift(rng, prices, step)) if has_ties else drift(rng, prices, step)
        found = rows.find_two_lowest(prices)
        whole = _find_two_lowest(costs + prices)
        for name in ("best", "second", "best_cost", "second_cost"):
            np.testing.assert_array_equal(getattr(found, name), getattr(whole, name))
        near = rows.find_nearly_cheapest(prices, 1.5)
        all_near = NearlyCheapest.of(costs + prices, 1.5)
        np.testing.assert_array_equal(near.best, all_near.best)
        np.testing.assert_array_equal(near.lowest, all_near.lowest)
        np.testing.assert_array_equal(*map(list_near, (near, all_near)))
        few.append(rows.few is not None)
    assert few[-1]  # else nothing was saved


def test_prices_of_many_rows_begin_with_those_of_a_part():
    rng = np.random.default_rng(0)
    centres = 4 * rng.normal(size=(16, 4))
    X = centres[rng.choice(16, 4000, p=rng.dirichlet(np.ones(16)))] + rng.normal(size=(4000, 4))
    costs = ((X[:, None] - centres) ** 2).sum(axis=2)
    capacity = each(16, 250, 250)
    prices = find_prices(costs, np.ones(4000), capacity, np.zeros(16))
    held = np.bincount((costs + prices).argmin(axis=1), minlength=16).astype(float)
    assert np.abs(find_imbalance(held, capacity, prices)).sum() < 64
