"""Tables with any columns become matrices of numbers."""

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse

from cohirf import open_source
from cohirf.description import read_cells, read_table

ALL = np.arange(4)


def described(X, rows=ALL):
    table = read_table(X, rows)
    return [(feature.name, feature.kind, feature.level) for feature in table.features], table.values


@pytest.mark.parametrize("as_table", [pd.DataFrame, polars.DataFrame, pyarrow.table])
def test_tables_of_all_packages_read_the_same(as_table):
    X = as_table({"age": [31, 45, 27, 52], "region": ["north", "south", "north", "north"]})
    features, values = described(X, np.array([0, 1, 3]))
    assert features == [("age", "number", ""), ("region", "level", "north"), ("region", "level", "south")]
    np.testing.assert_array_equal(values, [[31, 1, 0], [45, 0, 1], [52, 1, 0]])
    assert read_cells(X, np.array([3, 1])) == [{"age": 52, "region": "north"}, {"age": 45, "region": "south"}]


def test_ids_and_constants_are_left_out():
    X = pd.DataFrame({"id": [f"c{i}" for i in range(100)], "kind": ["a"] * 100, "x": np.arange(100.0)})
    assert [name for name, *_ in described(X, np.arange(100))[0]] == ["x"]


def test_dates_are_days_and_missing_cells_are_filled():
    X = pd.DataFrame({"day": pd.to_datetime(["1970-01-02", None, "1970-01-04", "1970-01-03"])})
    features, values = described(X)
    assert features == [("day", "date", "")]
    np.testing.assert_allclose(values[:, 0], [1, 2, 3, 2])


def test_missing_text_is_a_level():
    X = pd.DataFrame({"kind": ["a", None, "a", "b"], "n": [1.0, np.nan, 3.0, np.inf]})
    features, values = described(X)
    assert features[:3] == [("kind", "level", "missing"), ("kind", "level", "a"), ("kind", "level", "b")]
    np.testing.assert_array_equal(values[:, 3], [1, 2, 3, 2])


def test_encoded_categories_are_levels_whatever_their_scale():
    X = pd.DataFrame({"region=north": [-0.5, 2.0, 2.0, -0.5], "active": [0, 1, 1, 0], "won": [True, False, True, True]})
    features, values = described(X)
    assert features == [
        ("region", "level", "north"),
        ("active", "level", "yes"),
        ("won", "level", "yes"),
    ]
    np.testing.assert_array_equal(values, [[0, 0, 1], [1, 1, 0], [1, 1, 1], [0, 0, 1]])


def test_sparse_matrices_stay_sparse():
    X = sparse.csr_array(np.eye(4))
    features, values = described(X)
    assert features[0] == ("feature 0", "term", "")
    assert sparse.issparse(values)
    assert read_cells(X, np.array([2])) == [{"feature 0": 0, "feature 1": 0, "feature 2": 1, "feature 3": 0}]


def test_sources_are_read_by_row(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "X.npy", X)
    table = read_table(open_source(tmp_path / "X.npy"), np.array([1, 3]), ["a", "b", "c"])
    np.testing.assert_array_equal(table.values, X[[1, 3]])
    assert [feature.name for feature in table.features] == ["a", "b", "c"]
