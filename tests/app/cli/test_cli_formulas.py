"""Names of rows that a spreadsheet would run as formulas: they are counted in a warning."""

import json

import pandas as pd
import pytest

NAMES = [
    "=cmd|' /C calc'!A0",
    "+SUM(A1)",
    "-2+3",
    "@now",
    "\tx",
    "\rx",
    "-5",
    "+1.5e-3",
    "plain",
    "a=b",
]
WARNING = (
    "labels.csv: 6 cells begin with =, +, -, @, a tab or a line break, which a spreadsheet would "
    "run as a formula: import the column as text, or write a .parquet file."
)


@pytest.fixture
def named(tmp_path, monkeypatch):
    """A table whose rows are named by formulas, numbers and words."""
    monkeypatch.chdir(tmp_path)
    table = pd.DataFrame({"name": NAMES, "a": range(10), "b": [0, 5] * 5})
    table.to_parquet("data.parquet")
    return table


def fit(cohirf, *options):
    return cohirf(
        *("fit", "data.parquet", "--id-column", "name", "--param", "n_clusters=2", "--out"),
        *options,
    )


def test_formulas_are_counted_once_with_a_remedy(cohirf, named):
    outcome = fit(cohirf, "labels.csv", "--json")
    assert outcome.err.count(f"warning: {WARNING}\n") == 1
    assert json.loads(outcome.out)["warnings"] == [WARNING]
    assert pd.read_csv("labels.csv", dtype=str)["name"].str.strip().tolist() == [
        name.strip() for name in NAMES
    ]


def test_a_parquet_file_keeps_names_as_they_are(cohirf, named):
    assert "warning" not in fit(cohirf, "labels.parquet").err
    assert pd.read_parquet("labels.parquet")["name"].tolist() == NAMES


def test_predict_and_cut_warn_too(cohirf, named):
    fit(cohirf, "labels.parquet", "--model", "model")
    for command in (
        ("predict", "model", "data.parquet"),
        ("cut", "model", "--clusters", 1, "--data", "data.parquet"),
    ):
        assert WARNING in cohirf(*command, "--out", "labels.csv", "--force").err


def test_numbers_are_not_text(cohirf, named):
    named.assign(name=-named["a"]).to_parquet("data.parquet")
    assert "warning" not in fit(cohirf, "labels.csv").err
    assert pd.read_csv("labels.csv")["name"].tolist() == (-named["a"]).tolist()
