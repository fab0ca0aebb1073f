"""Tables with any columns become matrices of numbers; prepared ones in their original units."""

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
from scipy import sparse

from cohirf import open_source
from cohirf.app.explain.study import find_units, original_numbers, tell_columns
from cohirf.app.explain.table import read_cells, read_prepared, read_table
from cohirf.app.preparation import prepare

ALL = np.arange(4)


def described(X, rows=ALL):
    table = read_table(X, rows)
    return [(feature.name, feature.kind, feature.level) for feature in table.features], table.values


@pytest.mark.parametrize("as_table", [pd.DataFrame, polars.DataFrame, pyarrow.table])
def test_tables_of_all_packages_read_the_same(as_table):
    X = as_table({"age": [31, 45, 27, 52], "region": ["north", "south", "north", "north"]})
    features, values = described(X, np.array([0, 1, 3]))
    assert features == [
        ("age", "number", ""),
        ("region", "level", "north"),
        ("region", "level", "south"),
    ]
    np.testing.assert_array_equal(values, [[31, 1, 0], [45, 0, 1], [52, 1, 0]])
    assert read_cells(X, np.array([3, 1])) == [
        {"age": 52, "region": "north"},
        {"age": 45, "region": "south"},
    ]


def test_ids_and_constants_are_left_out():
    X = pd.DataFrame(
        {"id": [f"c{i}" for i in range(100)], "kind": ["a"] * 100, "x": np.arange(100.0)}
    )
    assert [name for name, *_ in described(X, np.arange(100))[0]] == ["x"]


def test_dates_are_days_and_missing_cells_are_filled():
    X = pd.DataFrame({"day": pd.to_datetime(["1970-01-02", None, "1970-01-04", "1970-01-03"])})
    features, values = described(X)
    assert features == [("day", "date", "")]
    np.testing.assert_allclose(values[:, 0], [1, 2, 3, 2])


def test_missing_text_is_a_level():
    X = pd.DataFrame({"kind": ["a", None, "a", "b"], "n": [1.0, np.nan, 3.0, np.inf]})
    features, values = described(X)
    assert features[:3] == [
        ("kind", "level", "missing"),
        ("kind", "level", "a"),
        ("kind", "level", "b"),
    ]
    np.testing.assert_array_equal(values[:, 3], [1, 2, 3, 2])


def test_encoded_categories_are_levels_whatever_their_scale():
    X = pd.DataFrame(
        {
            "region=north": [-0.5, 2.0, 2.0, -0.5],
            "active": [0, 1, 1, 0],
            "won": [True, False, True, True],
        }
    )
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
    assert read_cells(X, np.array([2])) == [
        {"feature 0": 0, "feature 1": 0, "feature 2": 1, "feature 3": 0}
    ]


def test_sources_are_read_by_row(tmp_path):
    X = np.arange(12.0).reshape(4, 3)
    np.save(tmp_path / "X.npy", X)
    table = read_table(open_source(tmp_path / "X.npy"), np.array([1, 3]), ["a", "b", "c"])
    np.testing.assert_array_equal(table.values, X[[1, 3]])
    assert [feature.name for feature in table.features] == ["a", "b", "c"]


@pytest.fixture(scope="module")
def prepared():
    rng = np.random.default_rng(0)
    n = 60
    moments = pd.Timestamp("2024-03-04") + pd.to_timedelta(np.where(np.arange(n) < 30, 8, 21), "h")
    frame = pd.DataFrame(
        {
            "id": [f"c{i}" for i in range(n)],
            "spend": [f"€{value:,.2f}" for value in rng.uniform(10, 2000, n)],
            "region": rng.choice(["North", "South", "East"], n),
            "member": rng.choice(["yes", "no"], n),
            "last_order": (moments + pd.to_timedelta(rng.integers(0, 300, n), "D")).strftime(
                "%Y-%m-%d %H:%M"
            ),
        }
    )
    return frame, prepare(frame)


def read_all(made):
    return read_prepared(made, np.arange(60))


def values_of(table, name, level=""):
    (place,) = (
        i
        for i, feature in enumerate(table.features)
        if (feature.name, feature.level) == (name, level)
    )
    return table.values[:, place]


def test_numbers_have_their_own_unit_again(prepared):
    frame, made = prepared
    rows = np.array([3, 11, 40])
    spend = frame["spend"].str.replace("[€,]", "", regex=True).astype(float)
    assert values_of(read_prepared(made, rows), "spend") == pytest.approx(spend[rows])
    assert find_units(made) == {"spend": "€"}


def test_pixels_that_are_constant_are_part_of_an_image():
    pixels = np.random.default_rng(0).integers(0, 255, (40, 4)).astype(float)
    pixels[:, 2] = 255
    numbers = original_numbers(prepare(pd.DataFrame(pixels, columns=list("abcd"))))
    assert (numbers.n_rows, numbers.n_features) == (40, 4)
    assert numbers.take(np.array([5, 7])) == pytest.approx(pixels[[5, 7]])


def test_categories_and_booleans_are_levels(prepared):
    frame, made = prepared
    table = read_all(made)
    assert values_of(table, "region", "South") == pytest.approx(
        (frame["region"] == "South").to_numpy(float)
    )
    assert values_of(table, "member", "yes") == pytest.approx(
        (frame["member"] == "yes").to_numpy(float)
    )
    assert values_of(table, "member", "no") == pytest.approx(
        (frame["member"] == "no").to_numpy(float)
    )


def test_hours_become_times_of_the_day(prepared):
    table = read_all(prepared[1])
    assert values_of(table, "last_order hour", "morning").tolist() == [1] * 30 + [0] * 30
    assert values_of(table, "last_order hour", "evening").tolist() == [0] * 30 + [1] * 30


def test_dates_are_days(prepared):
    frame, made = prepared
    table = read_all(made)
    days = (pd.to_datetime(frame["last_order"]) - pd.Timestamp(0)) / pd.Timedelta("1D")
    assert (
        table.features[[feature.kind for feature in table.features].index("date")].name
        == "last_order"
    )
    assert values_of(table, "last_order") == pytest.approx(days, abs=1)


def test_what_was_done_with_each_column_is_told(prepared):
    told = tell_columns(prepared[1])
    assert [row[0] for row in told["rows"]] == ["id", "spend", "region", "member", "last_order"]
    assert len(told["headings"]) == len(told["rows"][0])
    assert told["rows"][0][1] == "id"
