"""What is done to data before the fit: coding of text, filling of gaps, scaling.

And that predict does the same.
"""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

from cohirf import CoHiRF, load
from cohirf.app.preparation import Preparation
from cohirf.app.preparation.policy import SCALE
from cohirf.store.models import load_about

# Where it does not matter which clusters are found, one view and one way to merge them are enough.
QUICK = ("--clusters", 2, "--views", 1, "--merge", "compact")


@pytest.fixture
def mixed(tmp_path, monkeypatch):
    """Numbers and texts, with gaps in both."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {"size": rng.normal(10, 3, 120), "colour": rng.choice(["red", "blue", "green"], 120)}
    )
    table["weight"] = rng.normal(5, 1, 120)
    table["shape"] = rng.choice(["round", "long"], 120, p=[0.7, 0.3])
    table.loc[[3, 50], "weight"] = np.nan
    table.loc[[7, 99], "shape"] = np.nan  # None is not missing for scikit-learn
    table.to_csv("mixed.csv", index=False)
    table.to_parquet("mixed.parquet")
    table.astype({"colour": "category", "shape": "category"}).to_parquet("categories.parquet")
    return table


def by_scikit_learn(table, impute):
    """Prepare the same table: coded texts stand where the columns were."""
    texts = make_pipeline(
        SimpleImputer(strategy="constant", fill_value="missing"), OneHotEncoder(sparse_output=False)
    )
    numbers = SimpleImputer(strategy=impute)
    parts = [(numbers, ["size"]), (texts, ["colour"]), (numbers, ["weight"]), (texts, ["shape"])]
    return make_column_transformer(*parts).fit_transform(table)


@pytest.mark.parametrize(
    ("name", "impute"),
    [("mixed.csv", "median"), ("mixed.parquet", "mean"), ("categories.parquet", "median")],
)
def test_coding_and_filling_are_scikit_learns(cohirf, mixed, name, impute):
    options = ("--impute", impute, "--scale", "none", "--param", "n_clusters=4")
    assert (
        cohirf("fit", name, *options, "--model", "model", "--out", "labels.csv", "--quiet").code
        == 0
    )
    X = by_scikit_learn(mixed, impute)
    expected = CoHiRF(KMeans(4), random_state=0).fit(X)
    assert pd.read_csv("labels.csv")["cluster"].tolist() == expected.labels_.tolist()
    model = load("model")
    assert np.allclose(model.medoids_, expected.medoids_)
    assert model.feature_names_in_.tolist() == [
        *("size", "colour=blue", "colour=green", "colour=red"),
        *("weight", "shape=long", "shape=missing", "shape=round"),
    ]


def test_predict_codes_and_fills_as_the_fit_did(cohirf, mixed):
    options = ("--impute", "median", "--scale", "standard", "--param", "n_clusters=4")
    cohirf("fit", "mixed.csv", *options, "--model", "model", "--out", "labels.csv", "--quiet")
    part = mixed[40:60].assign(colour="red")  # categories that are missing do not shift the others
    part.to_parquet("part.parquet")
    assert cohirf("predict", "model", "part.parquet", "--out", "part.csv", "--quiet").code == 0
    content = Preparation.from_json(load_about("model").preparation)
    X = by_scikit_learn(pd.concat([mixed, part]), "median")[120:]
    X[:, 4] = np.where(part["weight"].isna(), mixed["weight"].median(), part["weight"])
    model = load("model")
    expected = model.predict(
        pd.DataFrame((X - content.offset) / content.scale, columns=model.feature_names_in_)
    )
    assert pd.read_csv("part.csv")["cluster"].tolist() == expected.tolist()


def test_scaling_counts_the_cells_that_are_there(cohirf, mixed):
    options = ("--drop", "colour", "--drop", "shape", "--impute", "mean", "--model", "model")
    cohirf("fit", "mixed.csv", *options, *QUICK, "--quiet")
    content = load_about("model").preparation
    assert np.allclose(content["offset"], [mixed["size"].mean(), mixed["weight"].mean()])
    assert np.allclose(content["scale"], [mixed["size"].std(ddof=0), mixed["weight"].std(ddof=0)])
    assert np.allclose(content["fill"][1], mixed["weight"].mean())


def test_true_and_false_are_numbers(cohirf, mixed):
    mixed.dropna().assign(flag=lambda table: table["size"] > 10).to_csv("flags.csv", index=False)
    options = ("--scale", "none", "--model", "model", "--quiet")
    assert cohirf("fit", "flags.csv", *options).code == 0
    assert set(np.unique(load("model").medoids_[:, -1])) <= {0.0, 1.0}


def test_an_unknown_level_is_none_of_the_known_ones_and_named(cohirf, mixed):
    cohirf("fit", "mixed.csv", *QUICK, "--model", "model", "--quiet")
    mixed.assign(colour=mixed["colour"].where(mixed.index != 5, "mauve")).to_csv(
        "new.csv", index=False
    )
    outcome = cohirf("predict", "model", "new.csv", "--out", "labels.csv")
    assert outcome.code == 0
    assert outcome.err == (
        "warning: new.csv: column 'colour' has 1 cell with a level that the training data did not "
        "contain, which is taken as no level: line 7: 'mauve'.\n"
    )
    assert len(pd.read_csv("labels.csv")) == 120


def test_data_without_rows_is_refused(cohirf, mixed):
    cohirf("fit", "mixed.csv", "--impute", "mean", *QUICK, "--model", "model", "--quiet")
    mixed[:0].to_parquet("none.parquet")
    outcome = cohirf("predict", "model", "none.parquet", "--out", "labels.csv")
    assert (outcome.code, outcome.err) == (
        2,
        "cohirf: none.parquet has 0 rows: give at least one.\n",
    )


def test_gaps_that_the_fit_did_not_have_are_filled(cohirf, mixed):
    mixed.dropna().to_csv("full.csv", index=False)
    cohirf("fit", "full.csv", *QUICK, "--model", "model", "--quiet")
    assert cohirf("predict", "model", "mixed.csv", "--out", "labels.csv").code == 0
    assert len(pd.read_csv("labels.csv")) == 120


def test_coded_data_can_be_checkpointed(cohirf, mixed):
    command = ("fit", "mixed.csv", "--impute", "mean", *QUICK, "--checkpoint", "ck", "--quiet")
    assert cohirf(*command, "--out", "a.csv").code == 0
    # the temporary file is another one, the data is the same
    assert cohirf(*command, "--out", "b.csv").code == 0
    assert pd.read_csv("a.csv").equals(pd.read_csv("b.csv"))


def test_a_folder_of_parts_is_coded_as_one_table(cohirf, mixed, tmp_path, monkeypatch):
    monkeypatch.setitem(vars(SCALE), "in_memory_bytes", 0)
    (tmp_path / "parts").mkdir()
    for start in (0, 60):
        mixed[start : start + 60].to_parquet(
            tmp_path / "parts" / f"{start:03}.parquet", index=False
        )
    command = ("--impute", "median", "--checkpoint", "ck", "--quiet", "--out")
    assert cohirf("fit", "parts", *command, "a.csv").code == 0
    assert cohirf("fit", "parts", *command, "b.csv").code == 0
    assert pd.read_csv("a.csv").equals(pd.read_csv("b.csv"))


def test_constant_features_stay_zero(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.column_stack([np.ones(50), np.arange(50.0)]))
    for scale in ("standard", "minmax"):
        assert (
            cohirf("fit", "x.npy", *QUICK, "--scale", scale, "--model", scale, "--quiet").code == 0
        )
        assert load_about(scale).preparation["scale"][0] == 1
        assert (load(scale).medoids_[:, 0] == 0).all()


def test_float32_stays_float32(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", np.random.default_rng(0).normal(size=(50, 2)).astype(np.float32))
    cohirf("fit", "x.npy", *QUICK, "--model", "model", "--quiet")
    assert load("model").medoids_.dtype == np.float32


def test_a_model_of_coded_data_describes_itself(cohirf, mixed):
    cohirf("fit", "mixed.csv", "--impute", "mean", *QUICK, "--model", "model", "--quiet")
    out = cohirf("info", "model").out
    assert "column 'colour'  category: 3 levels\n" in out
    assert "missing cells    filled (mean)\n" in out
    shape = json.loads(cohirf("info", "model", "--json").out)["preparation"]["columns"][3]
    assert (shape["name"], shape["levels"]) == ("shape", ["long", "missing", "round"])
