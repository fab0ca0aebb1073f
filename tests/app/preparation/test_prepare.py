"""Preparation from Python: learned from the data of a fit, applied to other data, kept beside the
model.
"""

import json
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from cohirf import CoHiRF, open_source
from cohirf.app.preparation import DataError, Preparation, prepare
from cohirf.app.preparation.policy import SCALE
from cohirf.sources.policy import READ
from cohirf.store.models import load_about

RNG = np.random.default_rng(0)
FRAME = pd.DataFrame(
    {
        "id": [f"p{i}" for i in range(60)],
        "size": RNG.normal(10, 3, 60),
        "colour": RNG.choice(["red", "blue", "green"], 60),
        "kind": RNG.choice(["a", "b"], 60),
    }
)
FRAME.loc[[3, 7], "size"] = np.nan
OPTIONS = {"id_column": "id", "label_column": "kind"}


def write(folder, kind):
    """Return the table as one of the things that hold tables."""
    if kind == "csv":
        FRAME.to_csv(folder / "data.csv", index=False)
        return folder / "data.csv"
    if kind == "parquet":
        FRAME.to_parquet(folder / "data.parquet")
        return str(folder / "data.parquet")
    return {"pandas": FRAME, "polars": pl.from_pandas(FRAME), "arrow": pa.Table.from_pandas(FRAME)}[
        kind
    ]


@pytest.mark.parametrize("kind", ["csv", "parquet", "pandas", "polars", "arrow"])
def test_files_and_frames_are_prepared_alike(tmp_path, kind):
    prepared = prepare(write(tmp_path, kind), **OPTIONS, scaling="standard")
    filled = FRAME["size"].fillna(FRAME["size"].median())
    counted = FRAME["size"].dropna()
    expected = [(filled - counted.mean()) / counted.std(ddof=0)]
    ones = np.column_stack([FRAME["colour"] == colour for colour in ("blue", "green", "red")]) * 1.0
    # half of the weight, for all levels
    expected += list(((ones - ones.mean(axis=0)) / np.sqrt(2 * ones.var(axis=0).sum())).T)
    np.testing.assert_allclose(prepared.array(), np.column_stack(expected), rtol=1e-12, atol=1e-12)
    assert prepared.feature_names == ["size", "colour=blue", "colour=green", "colour=red"]
    assert [name for part in prepared.ids() for name in part.to_pylist()] == FRAME["id"].tolist()
    classes = prepared.classes()
    assert [classes.names[code] for code in classes.codes] == FRAME["kind"].tolist()


def test_other_data_is_prepared_with_what_was_learned():
    prepared = prepare(FRAME, **OPTIONS, scaling="minmax")
    new = pd.DataFrame(
        {"colour": ["green", "red"], "other": [1, 2], "size": [np.nan, FRAME["size"].max()]}
    )
    rows = prepared.preparation.apply(new)
    low = FRAME["size"].min()
    high = FRAME["size"].max()
    median = FRAME["size"].median()
    np.testing.assert_allclose(
        rows.array(), [[(median - low) / (high - low), 0, 1, 0], [1, 0, 0, 1]]
    )
    assert rows.ids() is None
    assert rows.classes() is None


def test_a_model_keeps_its_preparation(tmp_path):
    prepared = prepare(FRAME, **OPTIONS, scaling="standard")
    model = CoHiRF.as_published(KMeans(3), random_state=0).fit(prepared.rows())
    model.save(tmp_path / "model", preparation=prepared.preparation.to_json())
    kept = Preparation.from_json(load_about(tmp_path / "model").preparation, model.n_features_in_)
    assert kept == Preparation.from_json(json.loads(json.dumps(prepared.preparation.to_json())))
    assert (
        model.predict(kept.apply(FRAME[::-1]).source) == model.predict(prepared.source)[::-1]
    ).all()


def test_arrays_are_scaled_and_their_columns_called_by_number():
    X = RNG.normal(size=(30, 3))
    prepared = prepare(X, drop=[1], scaling="minmax")
    np.testing.assert_allclose(prepared.array(), MinMaxScaler().fit_transform(X[:, [0, 2]]))
    assert [column.name for column in prepared.preparation.kept] == [0, 2]
    assert prepared.feature_names is None


def test_a_source_that_is_open_is_prepared_as_it_is():
    X = RNG.normal(size=(30, 3))
    np.testing.assert_allclose(
        prepare(open_source(X), scaling="standard").array(), StandardScaler().fit_transform(X)
    )


def test_data_that_is_too_large_for_memory_stays_a_source(monkeypatch):
    monkeypatch.setitem(vars(SCALE), "in_memory_bytes", 100)
    prepared = prepare(FRAME, **OPTIONS)
    assert prepared.rows() is prepared.source
    assert prepared.rows().n_rows == 60


def test_a_table_in_memory_is_known_again_by_its_content(tmp_path):
    def fit(frame):
        return CoHiRF.as_published(random_state=0, checkpoint=tmp_path / "ck").fit(
            prepare(frame, **OPTIONS).source
        )

    assert (fit(FRAME).labels_ == fit(FRAME.copy()).labels_).all()
    with pytest.raises(ValueError, match="belongs to another fit"):
        fit(FRAME.assign(colour=FRAME["colour"][::-1].to_numpy()))


@pytest.mark.parametrize(
    ("data", "options", "message"),
    [
        (
            FRAME.assign(size=["x", "y"] * 30),
            {"kinds": {"size": "number"}},
            "The table: column 'size' is not a number: none of its cells can be read as one.",
        ),
        (
            FRAME,
            {"drop": ["x"]},
            r"drop=['x']: The table has no such column: it has 'id', 'size', 'colour', 'kind'.",
        ),
        (
            FRAME,
            {"id_column": "id", "drop": ["id"]},
            "The table: column 'id' has two roles, id and dropped: give it one.",
        ),
        (
            FRAME,
            OPTIONS | {"impute": "mode"},
            "impute='mode' is not valid: give 'median' or 'mean' or 'none'.",
        ),
        (
            FRAME,
            OPTIONS | {"scaling": "big"},
            "scaling='big' is not valid: give 'standard' or 'minmax' or 'none'.",
        ),
        (
            np.eye(3),
            {"label_column": "x"},
            "label_column='x': The array has no column names: give a number from 0 to 2.",
        ),
    ],
)
def test_what_cannot_be_prepared_is_refused_in_words_of_python(data, options, message):
    with pytest.raises(ValueError) as caught:  # noqa: PT011 - compared below
        prepare(data, **options)
    assert str(caught.value).startswith(message)


def test_one_stray_cell_among_few_new_rows_is_missing():
    preparation = prepare(FRAME[["size"]], impute="mean").preparation
    new = FRAME[["size"]][:3].astype(object)
    new.iloc[1, 0] = "oops"
    with pytest.warns(
        match="column 'size' has 1 cell that is not a number, which is taken as missing: row 1: 'oops'"
    ):
        assert preparation.apply(new).source.n_rows == 3
    with pytest.raises(
        DataError, match="column 'size' has 1 cell that is not a number: row 0: 'oops'"
    ):
        # a single row does not tell that the rest of the column has numbers
        preparation.apply(new[1:2])


def test_columns_of_another_kind_than_those_of_the_fit_are_refused():
    preparation = prepare(FRAME[["size"]], impute="mean").preparation
    with pytest.raises(
        DataError, match="column 'size' has 60 cells that are not a number: row 0: 'large', row 1"
    ):
        preparation.apply(FRAME[["size"]].assign(size="large"))
    with pytest.raises(ValueError, match="has no column 'size', which the model was fitted on"):
        preparation.apply(FRAME[["kind"]])
    with pytest.raises(
        ValueError, match="The array has no column names, but the training data had column names"
    ):
        preparation.apply(np.eye(3))


def test_a_preparation_that_does_not_fit_the_model_is_refused():
    content = prepare(FRAME, **OPTIONS).preparation.to_json()
    with pytest.raises(ValueError, match="it does not make the features of the model"):
        Preparation.from_json(content, 7)


@pytest.mark.parametrize("value", [np.nan, np.inf, "1x", None])
def test_a_value_that_is_not_a_finite_number_is_refused(value):
    content = prepare(FRAME, **OPTIONS).preparation.to_json()
    with pytest.raises(ValueError, match="it is not one that prepare has learned"):
        Preparation.from_json(content | {"scale": [value]})


def test_a_sparse_matrix_is_taken_as_it_is():
    X = sparse.random_array((30, 4), density=0.5, format="csr", rng=RNG)
    assert (prepare(X, impute="none", scaling="none").array() != X).nnz == 0
    with pytest.raises(
        TypeError,
        match="A sparse matrix is neither filled nor scaled: give impute='none' and scaling",
    ):
        prepare(X)


def test_columns_of_an_array_have_no_kinds():
    with pytest.raises(
        ValueError,
        match="The array has no column names: its columns are numbers, and kinds is for",
    ):
        prepare(np.eye(3), kinds={0: "category"})


@pytest.mark.parametrize("piece", [200, 2**23])
def test_statistics_are_those_of_numpy_whatever_the_pieces(monkeypatch, piece):
    monkeypatch.setitem(vars(READ), "piece_bytes", piece)
    X = np.random.default_rng(0).normal(1e6, [1, 5, 0.1], size=(503, 3))
    X[::7, 1] = np.nan
    standard = prepare(X).preparation
    np.testing.assert_allclose(standard.offset, np.nanmean(X, axis=0), rtol=1e-9)
    np.testing.assert_allclose(standard.scale, np.nanstd(X, axis=0), rtol=1e-9)
    np.testing.assert_allclose(standard.fill, np.nanmedian(X, axis=0), rtol=1e-9)
    to_range = prepare(X, scaling="minmax", impute="mean").preparation
    np.testing.assert_allclose(to_range.offset, np.nanmin(X, axis=0), rtol=1e-9)
    np.testing.assert_allclose(
        to_range.scale, np.nanmax(X, axis=0) - np.nanmin(X, axis=0), rtol=1e-9
    )


def test_a_column_of_an_array_without_values_is_named():
    with pytest.raises(ValueError, match=r"column 1 has no values: leave it out with drop=\[1\]"):
        prepare(np.array([[1.0, np.nan], [3.0, np.nan]]))


def test_the_median_of_large_data_is_that_of_evenly_spaced_rows(monkeypatch):
    monkeypatch.setitem(vars(SCALE), "median_cells", 100)
    monkeypatch.setitem(vars(READ), "piece_bytes", 130)
    X = np.random.default_rng(0).normal(size=(1000, 1))
    assert prepare(X).preparation.fill == (np.median(X[::10]),)


def test_a_notebook_shows_what_was_done_as_a_table():
    prepared = prepare(pd.DataFrame({"<b>": ["x", "y"] * 10, "size": np.arange(20.0) ** 2}))
    shown = prepared._repr_html_()
    assert "20 rows, 3 features" in shown
    assert "&lt;b&gt;     category         2  2 levels\n" in shown
    assert prepared.preparation._repr_html_() in shown


def test_a_prepared_table_can_be_fitted_as_it_is():
    prepared = prepare(pd.DataFrame({"size": np.arange(40.0) ** 2, "plan": ["x", "y"] * 20}))
    model = CoHiRF(n_clusters=2, random_state=0).fit(prepared)
    assert (
        model.labels_.tolist()
        == CoHiRF(n_clusters=2, random_state=0).fit(prepared.rows()).labels_.tolist()
    )
    assert model.predict(prepared).tolist() == model.labels_.tolist()


def test_tables_of_pandas_that_arrow_does_not_take():
    size = pd.Series(np.arange(30.0) ** 2)
    parts = prepare(pd.DataFrame({"size": size, "part": pd.cut(size, 3)})).preparation.describe()[1]
    assert (parts.kind, parts.note) == ("category", "3 levels")
    with pytest.raises(
        ValueError,
        match="The table: the column name 'a' appears more than once: rename the columns",
    ):
        prepare(pd.DataFrame(np.eye(3)[:, :2], columns=["a", "a"]))


def test_tables_that_cannot_be_prepared_say_why():
    with pytest.raises(ValueError, match="The table has no columns: give at least one"):
        prepare(pd.DataFrame())
    with pytest.raises(
        ValueError, match="column 'a' has complex numbers: give their parts as two columns instead"
    ):
        prepare(pd.DataFrame({"a": [1 + 2j, 2], "b": [1, 2]}))


def test_learning_holds_no_more_than_a_block_and_the_rows_of_the_median(monkeypatch, tmp_path):
    monkeypatch.setitem(vars(SCALE), "median_cells", 1000)
    monkeypatch.setitem(vars(READ), "piece_bytes", 2**16)
    np.save(tmp_path / "x.npy", np.random.default_rng(0).normal(size=(250_000, 4)))  # 8 MB
    prepare(np.eye(5))  # what is imported now is not measured
    tracemalloc.start()
    prepare(tmp_path / "x.npy")
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2e6
