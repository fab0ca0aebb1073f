"""Rows that take part in a fit."""

import numpy as np
import pytest

from cohirf.rows.storage import ArrayRows, ArrayWeights, Population, draw_by_mass

X = np.arange(20.0).reshape(10, 2)
WEIGHTS = np.array([0, 1, 0, 2, 3, 0, 0.5, 0, 0, 1])


@pytest.mark.parametrize(
    ("weights", "taking_part"), [(None, list(range(10))), (WEIGHTS, [1, 3, 4, 6, 9])]
)
def test_distinct_rows_that_take_part_are_drawn(weights, taking_part):
    population = Population(ArrayRows(X), None if weights is None else ArrayWeights(weights))
    assert population.n_rows == len(taking_part)
    assert sorted(population.draw(99, np.random.default_rng(0)).tolist()) == taking_part
    some = population.draw(3, np.random.default_rng(0)).tolist()
    assert len(set(some)) == 3
    assert set(some) <= set(taking_part)


def test_rows_are_drawn_in_proportion_to_weight_and_stand_for_their_share():
    rng = np.random.default_rng(0)
    weights = rng.choice([1.0, 3.0], 20_000)
    population = Population(ArrayRows(np.zeros((20_000, 1))), ArrayWeights(weights))
    rows, mass = population.draw_by_weight(1000, rng)
    assert len(rows) == pytest.approx(1000, rel=0.1)
    assert weights[rows].mean() == pytest.approx((1 + 9) / (1 + 3), rel=0.05)
    assert mass == pytest.approx(np.full(len(rows), mass[0]))
    # Kish's effective size
    assert len(population.draw_by_weight(20_000, rng)[0]) == pytest.approx(16_000, rel=0.05)


def test_equal_weights_draw_the_rows_that_are_drawn_without_weights():
    values = ArrayRows(np.zeros((500, 1)))
    plain, weighted = (
        Population(values, weights).draw_by_weight(100, np.random.default_rng(0))
        for weights in (None, ArrayWeights(np.full(500, 0.1)))
    )
    assert (plain[0] == weighted[0]).all()
    assert (plain[1] == weighted[1]).all()


def test_one_heavy_row_does_not_leave_it_alone():
    rows, mass = draw_by_mass(np.r_[1e6, np.ones(200)], 1000, np.random.default_rng(0))
    assert rows[0] == 0
    assert 15 < len(rows) < 45
    assert mass[0] == 1
