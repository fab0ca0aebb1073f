"""One cell that is wrong changes no other row, and is named."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.explain import describe_clusters, make_headline
from cohirf.app.preparation import prepare

RNG = np.random.default_rng(0)
GROUP = np.arange(150) % 3
COLOURS = np.array(["red", "green", "blue"])
DAYS = (400 * GROUP + RNG.integers(100, size=150)).astype("timedelta64[D]")
TABLE = pd.DataFrame(
    {
        "age": (20 + 15 * GROUP + 2 * RNG.normal(size=150)).round(1).astype(str),
        "spend": [f"€{value:.2f}" for value in 50 + 100 * (GROUP == 1) + 5 * RNG.normal(size=150)],
        "colour": COLOURS[np.where(RNG.random(150) < 0.9, GROUP, RNG.integers(3, size=150))],
        "member": np.where(RNG.random(150) < 0.3 + 0.4 * (GROUP == 2), "yes", "no"),
        "joined": (np.datetime64("2020-01-01") + DAYS).astype(str),
    }
)
ROW = 7


def fit(table):
    """Return the labels of a table, and what was said about its cells."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rows = prepare(table).array()
    return CoHiRF(random_state=0).fit(rows).labels_, [str(one.message) for one in caught]


@pytest.fixture(scope="module")
def clean():
    return fit(TABLE)[0]


@pytest.mark.parametrize(
    ("column", "cell", "is_told"),
    [
        ("age", "oops", True),
        ("age", None, False),
        ("spend", "?!", True),
        ("colour", "purpel", False),
        ("colour", None, False),
        ("member", "perhaps", False),
        ("joined", "soon", True),
        ("joined", None, False),
    ],
)
def test_a_cell_that_cannot_be_read_changes_no_other_row(clean, column, cell, is_told):
    table = TABLE.copy()
    table.loc[ROW, column] = cell
    labels, told = fit(table)
    others = np.arange(len(TABLE)) != ROW
    assert adjusted_rand_score(clean[others], labels[others]) == 1
    assert any(f"row {ROW}: '{cell}'" in one for one in told) == is_told


@pytest.mark.parametrize(
    ("column", "cell"), [("age", "99999"), ("spend", "€9999999"), ("joined", "2099-01-01")]
)
def test_a_cell_that_is_far_off_changes_no_other_row_and_its_row_is_in_no_cluster(
    clean, column, cell
):
    table = TABLE.copy()
    table.loc[ROW, column] = cell
    labels, _ = fit(table)
    others = np.arange(len(TABLE)) != ROW
    assert adjusted_rand_score(clean[others], labels[others]) == 1
    assert labels[ROW] == -1


def tell(table):
    """Return the description of a table, and its opening."""
    prepared = prepare(table)
    model = CoHiRF(random_state=0).fit(prepared)
    description = describe_clusters(model, prepared)
    return description, make_headline(description, model.diagnose(), prepared)


def list_odd_rows(description):
    return [one.row for one in description.badly_fitting.loose]


@pytest.fixture(scope="module")
def told():
    return tell(TABLE)


@pytest.mark.parametrize(
    ("column", "cell"), [("age", "99999"), ("spend", "€9999999"), ("joined", "2099-01-01")]
)
def test_a_cell_that_is_far_off_changes_no_name_and_no_advice(told, column, cell):
    table = TABLE.copy()
    table.loc[ROW, column] = cell
    description, headline = tell(table)
    assert [one.name for one in description.clusters] == [one.name for one in told[0].clusters]
    assert description.repeated == told[0].repeated
    assert headline.trust == told[1].trust
    assert ROW in list_odd_rows(description)


def test_a_total_line_changes_nothing_and_is_listed():
    base = RNG.normal(size=(120, 3))
    base += np.arange(120)[:, None] % 3 * [10, 4, 0] + [20, 50, 5]
    table = pd.DataFrame(base.round(2), columns=["staff", "sales", "returns"])
    table.insert(0, "shop", [f"shop {number}" for number in range(120)])
    total = pd.DataFrame([{"shop": "Total", **table.drop(columns="shop").sum()}])
    clean, before = tell(table)
    description, headline = tell(pd.concat([table, total], ignore_index=True))
    assert [one.name for one in description.clusters] == [one.name for one in clean.clusters]
    assert description.sizes.tolist() == clean.sizes.tolist()
    assert "Total lies apart from all others, and is in no cluster." in headline.exceptions
    assert headline.trust == before.trust
    assert 120 in list_odd_rows(description)


def test_a_latitude_that_lacks_a_digit_changes_no_other_row_and_is_listed():
    places = np.repeat([[48.856, 2.35], [45.76, 4.83], [43.3, 5.37]], 60, axis=0)
    places += 0.02 * RNG.normal(size=places.shape)
    table = pd.DataFrame(places.round(3), columns=["lat", "lon"])
    table["spend"] = RNG.gamma(4, 10, 180).round(2)
    clean, _ = tell(table)
    table.loc[ROW, "lat"] = 8.856
    description, _ = tell(table)
    assert [one.name for one in description.clusters] == [one.name for one in clean.clusters]
    assert (description.model.labels_ == clean.model.labels_).sum() == 179
    assert ROW in list_odd_rows(description)
