"""Which columns are read."""

import numpy as np
import pytest

from cohirf.sources.columns import choose_names, choose_numbers
from cohirf.sources.source import rows_within


def test_numbers_are_those_of_the_columns():
    assert choose_numbers("data", 3, None) is None
    chosen = choose_numbers("data", 3, np.array([2, 0]))
    assert chosen == [2, 0]
    assert {type(number) for number in chosen} == {int}
    assert choose_numbers("data", 3, lambda number: number != 1) == [0, 2]


@pytest.mark.parametrize("number", [-1, 3])
def test_a_number_beyond_the_columns_is_refused(number):
    with pytest.raises(ValueError, match=f"data has no column {number}: give numbers from 0 to 2"):
        choose_numbers("data", 3, [0, number])


@pytest.mark.parametrize("column", ["a", True, 1.0])
def test_what_is_not_a_number_is_refused(column):
    with pytest.raises(TypeError, match=f"data has no column names: give numbers from 0 to 2, not {column!r}"):
        choose_numbers("data", 3, [column])


def test_names_are_chosen_in_the_order_given():
    assert choose_names("data", ["a", "b", "c"], None) == ["a", "b", "c"]
    assert choose_names("data", ["a", "b", "c"], ["c", "a"]) == ["c", "a"]
    assert choose_names("data", ["a", "b", "c"], lambda name: name > "a") == ["b", "c"]


def test_a_wrong_name_is_refused_with_some_of_the_right_ones():
    with pytest.raises(ValueError, match=r"data has no column 'x': it has 'a', 'b'\."):
        choose_names("data", ["a", "b"], ["x"])
    names = [f"c{number}" for number in range(10)]
    listed = ", ".join(f"'c{number}'" for number in range(8))
    with pytest.raises(ValueError, match=f"data has no column 'x': it has {listed} and 2 more"):
        choose_names("data", names, ["x"])
    with pytest.raises(ValueError, match=f"it has {listed}\\."):
        choose_names("data", names[:8], ["x"])


def test_at_least_one_row_is_read_at_a_time():
    assert [rows_within(100, 30), rows_within(90, 30), rows_within(10, 30)] == [3, 3, 1]
