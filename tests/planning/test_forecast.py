"""What a fit would take, played through."""

import math

import pytest

from cohirf.planning.forecast import BatchCost, forecast_levels
from cohirf.planning.probe import Probe


def cost_of(n_survivors, seconds=lambda b: b / 1000, sizes=(100, 1000, 10_000)):
    return BatchCost.learn([Probe(size, n_survivors(size), seconds(size), 1000 * size) for size in sizes])


def test_both_laws_are_learned_from_the_probes():
    cost = cost_of(lambda b: 2, seconds=lambda b: b**2 / 1e6)
    assert cost.seconds(20_000) == pytest.approx(400, rel=0.01)
    assert cost.n_bytes(20_000) == pytest.approx(2e7, rel=0.01)


def test_the_share_of_survivors_is_interpolated_and_then_constant():
    cost = cost_of(lambda b: {100: 100, 1000: 500, 10_000: 1000}[b])
    assert cost.survivors(10) == 10
    assert cost.survivors(1000) == 500
    assert 1000 * 0.5 < cost.survivors(3000) < 3000 * 0.5
    assert cost.survivors(40_000) == 4000


def test_one_batch_is_contracted_and_then_left_alone():
    levels = forecast_levels(10_000, 10_000, cost_of(lambda b: 2), n_jobs=1)
    assert levels.n_levels == 2
    assert levels.seconds == pytest.approx(10, rel=0.01)


def test_the_batch_held_aside_costs_nothing_until_it_is_contracted():
    # 9 batches of 1000 at the first level, what they leave and the tenth batch at the second
    levels = forecast_levels(10_000, 1000, cost_of(lambda b: 0), n_jobs=1)
    assert levels.n_levels == 3
    assert levels.seconds == pytest.approx(10, rel=0.01)


def test_batches_at_the_same_time_take_the_time_of_one():
    levels = forecast_levels(10_000, 1000, cost_of(lambda b: 0), n_jobs=3)
    assert levels.seconds == pytest.approx(4, rel=0.01)


def test_survivors_need_more_levels():
    few, many = (forecast_levels(10**6, 1000, cost_of(lambda b, s=share: int(s * b)), 1) for share in (0.01, 0.7))
    assert many.n_levels > few.n_levels
    assert many.seconds > 2 * few.seconds


def test_batches_that_merge_nothing_take_forever():
    assert forecast_levels(10**5, 1000, cost_of(lambda b: b), 1).seconds == math.inf


def test_one_batch_that_merges_nothing_is_done():
    levels = forecast_levels(10_000, 10_000, cost_of(lambda b: b), n_jobs=1)
    assert levels.n_levels == 1
    assert levels.seconds == pytest.approx(10, rel=0.01)
