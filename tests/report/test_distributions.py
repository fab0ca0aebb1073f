"""Distributions of columns: bins on the grid of the numbers, shares of levels."""

import numpy as np
import pandas as pd
import pytest

from cohirf.description import read_table
from cohirf.report.distributions import N_BINS, find_distribution, find_edges, group_features, round_number


def distributions(frame, weights=None):
    table = read_table(frame, np.arange(len(frame)))
    weights = np.ones(len(frame)) if weights is None else weights
    groups = group_features(table.features)
    return {name: find_distribution(table, weights, name, features) for name, features in groups.items()}


@pytest.mark.parametrize("step", [1.0, 0.5, 0.1])
def test_bins_have_as_many_steps_of_the_grid_of_the_numbers(step):
    numbers = step * np.arange(100)
    counts = np.histogram(numbers, find_edges(numbers))[0]
    assert len(counts) <= N_BINS
    assert len(set(counts[:-1].tolist())) == 1  # no bin has a step more than the others: that would look like a peak


def test_numbers_without_a_grid_have_bins_of_equal_width():
    edges = find_edges(np.random.default_rng(0).normal(size=500))
    assert len(edges) == N_BINS + 1
    assert np.diff(edges) == pytest.approx(np.diff(edges)[0])


def test_extreme_numbers_are_in_the_outermost_bins():
    frame = pd.DataFrame({"x": [*np.linspace(0, 1, 999), 1e9]})
    counts = distributions(frame)["x"].count()
    assert sum(counts) == 1000
    assert min(counts) > 30  # one bin for 1e9 alone would leave the others empty


def test_equal_numbers_have_one_bin():
    found = distributions(pd.DataFrame({"x": [3.0, 3.0], "y": [1.0, 2.0]}))
    assert found["x"].count() == [2]


def test_rows_count_as_many_as_they_stand_for():
    found = distributions(pd.DataFrame({"x": [1.0, 2.0, 2.0]}), weights=np.array([10.0, 1.0, 2.0]))
    assert found["x"].count() == [10, 3]
    assert found["x"].count(np.array([1])) == [0, 1]


def test_categories_are_counted_by_level():
    found = distributions(pd.DataFrame({"colour": ["red", "blue", "red", "red"], "x": [1.0, 2.0, 3.0, 4.0]}))
    assert found["colour"].levels == ["blue", "red"]
    assert found["colour"].count() == [1, 3]
    assert found["colour"].describe()["kind"] == "category"


def test_numbers_are_rounded_for_people():
    assert [round_number(x) for x in (36.9999999999999, 0.1234567, 1234567.0, -0.0)] == [37, 0.123457, 1234567, 0]
