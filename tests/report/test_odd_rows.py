"""Rows to look at: with the values that say why."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.report.study import check_study
from cohirf.report.summarize import Options, summarize


@pytest.fixture(scope="module")
def odd():
    """Two clusters, a row with a strange spend (row 80), and one half way between the clusters (row 81)."""
    rng = np.random.default_rng(0)
    age = np.r_[rng.normal(20, 1, 40), rng.normal(60, 1, 40), 20, 40]
    spend = np.r_[rng.normal(5, 1, 80), 60, 5]
    plan = np.r_[np.repeat(["basic", "gold"], 40), ["basic", "gold"]]
    frame = pd.DataFrame({"age": age, "spend": spend, "plan": plan})
    pipeline = make_column_transformer((StandardScaler(), ["age", "spend"])).fit(frame)
    model = CoHiRF(KMeans(2), n_clusters=2, random_state=0).fit(pipeline.transform(frame))
    names = [f"person {i}" for i in range(82)]
    summary = summarize(check_study(model, frame, None, None, pipeline=pipeline, ids=names), Options("Odd"))
    return summary["odd"], [column["name"] for column in summary["columns"]]


def test_a_loose_row_tells_what_is_unusual_in_its_own_units(odd):
    found, columns = odd
    row = next(row for row in found["loose"] if row["called"] == "person 80")
    place, value, usual = row["values"][0]
    assert (columns[place], value) == ("spend", 60)
    assert usual == pytest.approx(6.3, abs=0.5)
    assert row["distance"] > 2


def test_a_row_between_two_clusters_tells_where_these_differ(odd):
    found, columns = odd
    row = next(row for row in found["border"] if row["called"] == "person 81")
    told = {columns[place]: (value, sorted(typical)) for place, value, *typical in row["values"]}
    value, (young, old) = told["age"]
    assert value == pytest.approx(40)
    assert (young, old) == (pytest.approx(20, abs=1), pytest.approx(60, abs=1))
    assert told["plan"][0] == "gold"


def test_a_level_that_is_common_in_the_cluster_is_not_unusual(odd):
    found, columns = odd
    row = next(row for row in found["loose"] if row["called"] == "person 80")
    assert "plan" not in [columns[place] for place, *_ in row["values"]]
