"""Tables in memory as arrays."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest

from cohirf.sources.tables import is_table, read_table


def test_missing_cells_of_pandas_own_types_become_nan():
    table = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "unsigned": pd.array([7, 8, 9], dtype="UInt8"),
            "real": pd.array([0.5, None, 2.5], dtype="Float32"),
            "flag": pd.array([True, False, None], dtype="boolean"),
        }
    )
    values, names = read_table(table, None)
    np.testing.assert_array_equal(values, [[1, 7, 0.5, 1], [np.nan, 8, np.nan, 0], [3, 9, 2.5, np.nan]])
    assert values.dtype == np.float64
    assert names == ["whole", "unsigned", "real", "flag"]


def test_columns_that_share_a_number_are_told_apart_by_their_place():
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[7, 7])
    values, names = read_table(table, None)
    assert values.tolist() == [[1, 2], [3, 4]]
    assert names is None
    assert read_table(table, [1])[0].tolist() == [[2], [4]]
    with pytest.raises(ValueError, match="The table has no column 2: give numbers from 0 to 1"):
        read_table(table, [2])


@pytest.mark.parametrize("package", [pd, pl])
def test_columns_of_several_types_become_one_that_holds_all(package):
    table = package.DataFrame({"a": np.array([1, 2], dtype=np.int8), "b": np.array([0.5, 1], dtype=np.float32)})
    values, names = read_table(table, ["b", "a"])
    assert values.tolist() == [[0.5, 1], [1, 2]]
    assert values.dtype == np.float32
    assert names == ["b", "a"]


def test_names_of_several_types_are_refused():
    with pytest.raises(TypeError, match=r"The table has column names of several types, \['a', 1\]"):
        read_table(pd.DataFrame([[1, 2]], columns=["a", 1]), None)


@pytest.mark.parametrize("values", [["x"], [pd.Timestamp("2020-01-01")], pd.array(["x"], dtype="string")])
def test_a_column_without_numbers_is_refused_by_name(values):
    with pytest.raises(ValueError, match="The table: column 'b' has type"):
        read_table(pd.DataFrame({"a": [1.0], "b": values}), None)


def test_arrays_are_not_tables():
    assert is_table(pd.DataFrame({"a": [1]}))
    assert is_table(pl.DataFrame({"a": [1]}).to_arrow())
    assert not is_table(np.zeros((2, 2)))
    assert not is_table(SimpleNamespace(columns=["a"]))
