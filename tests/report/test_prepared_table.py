"""Prepared rows, turned back into their original units."""

import numpy as np
import pandas as pd
import pytest

from cohirf.description.prepared import read_prepared
from cohirf.preparation import prepare
from cohirf.report.prepared_table import UnscaledRows, find_units, tell_columns


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
            "last_order": (moments + pd.to_timedelta(rng.integers(0, 300, n), "D")).strftime("%Y-%m-%d %H:%M"),
        }
    )
    return frame, prepare(frame)


def read_all(made):
    return read_prepared(made.preparation, made.source.take(np.arange(60)), np.arange(60))


def values_of(table, name, level=""):
    (place,) = (i for i, feature in enumerate(table.features) if (feature.name, feature.level) == (name, level))
    return table.values[:, place]


def test_numbers_have_their_own_unit_again(prepared):
    frame, made = prepared
    rows = np.array([3, 11, 40])
    spend = frame["spend"].str.replace("[€,]", "", regex=True).astype(float)
    assert values_of(read_prepared(made.preparation, made.source.take(rows), rows), "spend") == pytest.approx(
        spend[rows]
    )
    assert find_units(made) == {"spend": "€"}
    assert UnscaledRows(made).take(rows)[:, 0] == pytest.approx(spend[rows])


def test_categories_and_booleans_are_levels(prepared):
    frame, made = prepared
    table = read_all(made)
    assert values_of(table, "region", "South") == pytest.approx((frame["region"] == "South").to_numpy(float))
    assert values_of(table, "member", "yes") == pytest.approx((frame["member"] == "yes").to_numpy(float))
    assert values_of(table, "member", "no") == pytest.approx((frame["member"] == "no").to_numpy(float))


def test_hours_become_times_of_the_day(prepared):
    table = read_all(prepared[1])
    assert values_of(table, "last_order hour", "morning").tolist() == [1] * 30 + [0] * 30
    assert values_of(table, "last_order hour", "evening").tolist() == [0] * 30 + [1] * 30


def test_dates_are_days(prepared):
    frame, made = prepared
    table = read_all(made)
    days = (pd.to_datetime(frame["last_order"]) - pd.Timestamp(0)) / pd.Timedelta("1D")
    assert table.features[[feature.kind for feature in table.features].index("date")].name == "last_order"
    assert values_of(table, "last_order") == pytest.approx(days, abs=1)


def test_what_was_done_with_each_column_is_told(prepared):
    told = tell_columns(prepared[1])
    assert [row[0] for row in told["rows"]] == ["id", "spend", "region", "member", "last_order"]
    assert len(told["headings"]) == len(told["rows"][0])
    assert told["rows"][0][1] == "id"
