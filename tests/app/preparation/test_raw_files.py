"""Files and frames are prepared alike.

What was learned is kept, and leads back to the original data.
"""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from examples.synthetic import make_customers, write_customers

from cohirf import CoHiRF
from cohirf.app.explain.study import original_numbers
from cohirf.app.preparation import Preparation, prepare
from cohirf.app.preparation.policy import SCALE
from cohirf.sources.policy import CSV
from cohirf.store.models import load_about

CUSTOMERS, SEGMENTS = make_customers(600, random_state=0)


@pytest.fixture(scope="module")
def in_memory():
    return prepare(CUSTOMERS)


@pytest.mark.parametrize("kind", ["csv", "blocks", "tsv", "utf-16", "parquet", "polars", "arrow"])
def test_a_file_is_prepared_as_the_frame(kind, in_memory, tmp_path, monkeypatch):
    path = tmp_path / ("c.parquet" if kind == "parquet" else "c.tsv" if kind == "tsv" else "c.csv")
    write_customers(tmp_path / path.name.replace("tsv", "csv"), 600, random_state=0)
    if kind == "blocks":
        monkeypatch.setitem(vars(CSV), "block_bytes", 8000)
    elif kind == "tsv":
        CUSTOMERS.to_csv(path, sep="\t", index=False)
    elif kind == "utf-16":
        CUSTOMERS.to_csv(path, encoding="utf-16", index=False)
    data = {"polars": pl.from_pandas(CUSTOMERS), "arrow": pa.Table.from_pandas(CUSTOMERS)}.get(
        kind, path
    )
    prepared = prepare(data)
    assert prepared.preparation == in_memory.preparation
    np.testing.assert_array_equal(prepared.array(), in_memory.array())


def test_out_of_core_rows_are_those_in_memory(in_memory, tmp_path, monkeypatch):
    write_customers(tmp_path / "c.csv", 600, random_state=0)
    monkeypatch.setitem(vars(CSV), "block_bytes", 8000)
    monkeypatch.setitem(vars(SCALE), "in_memory_bytes", 100)
    prepared = prepare(tmp_path / "c.csv")
    assert prepared.rows() is prepared.source
    np.testing.assert_array_equal(
        np.concatenate(list(prepared.source.read_all())), in_memory.array()
    )


def test_a_saved_model_prepares_new_files_as_its_own(in_memory, tmp_path):
    write_customers(tmp_path / "c.csv", 600, random_state=0)
    model = CoHiRF(random_state=0).fit(in_memory.rows())
    model.save(tmp_path / "model", preparation=in_memory.preparation.to_json())
    kept = Preparation.from_json(load_about(tmp_path / "model").preparation, model.n_features_in_)
    assert kept == in_memory.preparation
    assert (
        model.predict(kept.apply(tmp_path / "c.csv").source) == model.predict(in_memory.source)
    ).all()


def test_a_preparation_survives_json(in_memory):
    content = json.loads(json.dumps(in_memory.preparation.to_json()))
    assert Preparation.from_json(content) == in_memory.preparation


@pytest.mark.parametrize("scaling", ["standard", "minmax", "none"])
def test_features_lead_back_to_original_units(scaling):
    prepared = prepare(CUSTOMERS, scaling=scaling)
    preparation = prepared.preparation
    original = preparation.to_original_units(prepared.array())
    place = {feature.name: number for number, feature in enumerate(preparation.features)}
    ages = CUSTOMERS["age"]
    np.testing.assert_allclose(original[ages.notna(), place["age"]], ages.dropna())
    share = original[:, place["newsletter"]].mean()
    assert share == pytest.approx((CUSTOMERS["newsletter"] == "yes").mean())
    first = {
        feature.name: feature.show(original[3, number])
        for number, feature in enumerate(preparation.features)
    }
    assert first["signed_up"] == CUSTOMERS["signed_up"][3]
    assert first["spend"] == f"€{round(float(CUSTOMERS['spend'][3].strip('€').replace(',', ''))):,}"
    assert first["discounted"] == CUSTOMERS["discounted"][3]


@pytest.mark.parametrize("scaling", ["standard", "none"])
def test_constant_pixels_come_back(scaling):
    pixels = pd.DataFrame(
        np.random.default_rng(0).integers(200, size=(50, 6)), columns=[f"p{i}" for i in range(6)]
    )
    pixels[["p0", "p4"]] = [0, 7]
    prepared = prepare(pixels, scaling=scaling)
    assert prepared.feature_names == ["p1", "p2", "p3", "p5"]
    kept = Preparation.from_json(json.loads(json.dumps(prepared.preparation.to_json())))
    restored = original_numbers(replace(prepared, preparation=kept))
    assert restored.n_features == 6
    np.testing.assert_allclose(restored.take(np.arange(50)), pixels)


def test_a_feature_knows_the_column_it_comes_from(in_memory):
    found = {feature.name: feature for feature in in_memory.preparation.features}
    assert (found["spend"].column, found["spend"].kind, found["spend"].unit) == (
        "spend",
        "number",
        "€",
    )
    assert (found["region=North"].column, found["region=North"].level) == ("region", "North")
    assert found["last_order: hour (sine)"].cycle == "hour"
    assert [feature.name for feature in in_memory.preparation.features] == in_memory.feature_names


def test_each_number_has_the_same_weight_and_what_has_levels_half_of_it(in_memory):
    variance = {}
    expected = {}
    for feature, one in zip(
        in_memory.preparation.features, in_memory.array().var(axis=0), strict=True
    ):
        variance[feature.column, feature.cycle] = (
            variance.get((feature.column, feature.cycle), 0) + one
        )
        expected[feature.column, feature.cycle] = (
            0.5 if feature.kind in ("category", "boolean") else 1.0
        )
    assert variance == pytest.approx(expected, abs=0.05)  # filled cells take away a little
    assert expected["region", None] == expected["newsletter", None] == 0.5


def test_original_cells_are_those_of_the_data(in_memory, tmp_path):
    write_customers(tmp_path / "c.csv", 600, random_state=0)
    rows = [5, 1, 5]
    expected = CUSTOMERS.iloc[rows]
    for prepared in (in_memory, prepare(tmp_path / "c.csv")):
        cells = prepared.original(rows)
        assert list(cells) == list(CUSTOMERS)
        assert cells["customer_id"] == expected["customer_id"].tolist()
        assert cells["spend"] == expected["spend"].tolist()
    assert prepare(np.eye(3)).original([2]) == {0: [0.0], 1: [0.0], 2: [1.0]}


def test_new_levels_are_zeros_and_named(in_memory):
    new = CUSTOMERS[:3].assign(region="Moon")
    with pytest.warns(
        UserWarning,
        match="'region' has 3 cells with a level that the training data did not contain",
    ):
        prepared = in_memory.preparation.apply(new)
    values = in_memory.preparation.to_original_units(prepared.array())
    assert np.allclose(
        [
            values[:, number]
            for number, name in enumerate(prepared.feature_names)
            if "region" in name
        ],
        0,
    )


def test_new_columns_are_ignored_and_listed_and_lacking_ones_named_at_once(in_memory):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        prepared = in_memory.preparation.apply(
            CUSTOMERS.assign(more=1.0).drop(columns=["country", "comment"])
        )
    assert prepared.ignored == ["more"]
    with pytest.raises(
        ValueError, match="has no column 'age', 'region', which the model was fitted on"
    ):
        in_memory.preparation.apply(CUSTOMERS.drop(columns=["age", "region"]))


def test_few_new_cells_that_cannot_be_read_are_missing_and_many_are_refused(in_memory):
    spend = CUSTOMERS["spend"].where(CUSTOMERS.index != 7, "much")
    with pytest.warns(
        UserWarning, match="'spend' has 1 cell that is not a number in €.*: row 7: 'much'"
    ):
        in_memory.preparation.apply(CUSTOMERS.assign(spend=spend))
    with pytest.raises(
        ValueError, match="column 'spend' has 600 cells that are not a number in €: row 0: 'much'"
    ):
        in_memory.preparation.apply(CUSTOMERS.assign(spend="much"))


def test_a_preparation_does_not_learn_from_new_data(in_memory):
    part = in_memory.preparation.apply(CUSTOMERS[:50])
    np.testing.assert_array_equal(part.array(), in_memory.array()[:50])


def test_new_cells_that_cannot_be_read_are_filled_and_told(in_memory):
    new = CUSTOMERS.assign(spend=CUSTOMERS["spend"].where(CUSTOMERS.index % 2 > 0, "much"))
    with pytest.warns(
        UserWarning,
        match="'spend' has 300 cells that are not a number in €, which are taken as missing",
    ):
        prepared = in_memory.preparation.apply(new)
    spend = prepared.feature_names.index("spend")
    median = in_memory.preparation.fill[spend]
    assert np.allclose(
        in_memory.preparation.to_original_units(prepared.array())[::2, spend], median
    )
    others = [number for number in range(len(prepared.feature_names)) if number != spend]
    np.testing.assert_array_equal(prepared.array()[:, others], in_memory.array()[:, others])


def test_a_column_of_which_most_cells_cannot_be_read_is_refused(in_memory):
    with pytest.raises(ValueError, match="'spend' has 600 cells that are not a number in €"):
        in_memory.preparation.apply(CUSTOMERS.assign(spend="much"))
    days = pd.to_datetime(CUSTOMERS["signed_up"]).dt.strftime("%m/%d/%y")
    with pytest.raises(
        ValueError, match="'signed_up' has 600 cells that are not a date in the format %Y-%m-%d"
    ):
        in_memory.preparation.apply(CUSTOMERS.assign(signed_up=days))
