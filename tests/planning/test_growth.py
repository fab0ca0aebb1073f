"""Laws of growth."""

import numpy as np
import pytest

from cohirf.planning.growth import GrowthLaw, fit_growth

SIZES = [100, 300, 860, 2400, 6900, 19_000]


def measured(function, noise=0.0):
    rng = np.random.default_rng(0)
    return [function(size) * (1 + noise * rng.uniform(-1, 1)) for size in SIZES]


@pytest.mark.parametrize("power", [0, 1, 2, 3])
def test_a_power_is_recovered(power):
    law = fit_growth(SIZES, measured(lambda b: 7.0 * b**power), degree=3, resolution=1e-3)
    assert law.exponent(SIZES[-1]) == pytest.approx(power, abs=0.01)
    assert law(4 * SIZES[-1]) == pytest.approx(7.0 * (4 * SIZES[-1]) ** power, rel=0.01)


@pytest.mark.parametrize(("power", "degree"), [(1, 2), (2, 2), (1, 3), (3, 3)])
def test_a_power_is_recovered_from_noisy_measurements(power, degree):
    law = fit_growth(SIZES, measured(lambda b: 7.0 * b**power, noise=0.1), degree=degree, resolution=1e-3)
    assert law(2 * SIZES[-1]) == pytest.approx(7.0 * (2 * SIZES[-1]) ** power, rel=0.5)
    assert law.exponent(SIZES[-1]) == pytest.approx(power, abs=0.4)


def test_a_fixed_cost_does_not_hide_growth():
    law = fit_growth(SIZES, measured(lambda b: 1e6 + 20.0 * b), degree=2, resolution=1.0)
    assert law(1e6) == pytest.approx(21e6, rel=0.01)


def test_a_higher_power_is_seen_before_it_takes_over():
    law = fit_growth(SIZES, measured(lambda b: 1000.0 * b + 0.02 * b**2), degree=2, resolution=1.0)
    assert law.exponent(SIZES[-1]) < 1.5
    assert law.exponent(1e6) > 1.9
    assert law(1e6) == pytest.approx(1e9 + 2e10, rel=0.01)


@pytest.mark.parametrize("between", [lambda b: b**1.5, lambda b: b * np.log(b), lambda b: b**1.2])
def test_growth_between_two_powers_is_not_underestimated(between):
    law = fit_growth(SIZES, measured(between), degree=2, resolution=1.0)
    for reach in (1, 2, 4):
        assert between(reach * SIZES[-1]) <= 1.02 * law(reach * SIZES[-1]) <= 3 * between(reach * SIZES[-1])


def test_small_amounts_are_not_taken_for_more_than_they_are():
    # what the measurement cannot resolve looks like anything, here like a fixed cost
    amounts = [90_000, 4_000, 120_000, 240_000, 690_000, 1_900_000]
    law = fit_growth(SIZES, amounts, degree=2, resolution=500_000)
    assert 1.0 < law(76_000) / 7_600_000 < 1.3


def test_a_law_does_not_lie_below_the_last_measurement():
    amounts = [*measured(lambda b: 10.0 * b)[:-1], 400_000.0]
    assert fit_growth(SIZES, amounts, degree=1, resolution=1.0)(SIZES[-1]) >= 400_000


def test_nothing_stays_nothing():
    law = fit_growth(SIZES, [0.0] * len(SIZES), degree=2, resolution=1.0)
    assert law(10**6) == 0
    assert law.exponent(10**6) == 0


def test_one_measurement_is_enough_for_a_law():
    assert fit_growth([100], [5.0], degree=2, resolution=1.0)(100) == pytest.approx(5.0)


def test_exponents_are_slopes_in_logarithmic_axes():
    law = GrowthLaw((3.0, 2.0, 0.5))
    slope = np.log(law(1001) / law(999)) / np.log(1001 / 999)
    assert law.exponent(1000) == pytest.approx(slope, rel=1e-4)


@pytest.mark.parametrize(
    ("sizes", "seconds", "degree"),
    [
        ([200, 3200], [5.824256060585307e-05, 8.562771291553373e-05], 2),
        ([150, 3200], [0.00125009632715416, 0.0024181053221193787], 3),
    ],
)
def test_two_short_measurements_are_enough(sizes, seconds, degree):
    """SciPy before 1.15 finds no solution where there are fewer measurements than coefficients."""
    law = fit_growth(sizes, seconds, degree=degree, resolution=0.001)
    assert law(sizes[-1]) >= seconds[-1] * (1 - 1e-9)
