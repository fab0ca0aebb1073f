"""What a report takes, and what it refuses in which words."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF, open_source
from cohirf.app.explain import write_report
from cohirf.app.explain.study import Transformed, check_study, find_data, find_row_names
from cohirf.app.explain.table import read_rows
from cohirf.app.preparation import prepare

NAMES = [f"column {i}" for i in range(10)]


@pytest.fixture(scope="module")
def model(blobs):
    return CoHiRF.as_published(KMeans(4), views=2, random_state=0).fit(blobs[0])


@pytest.mark.parametrize(
    "hold",
    [
        np.asarray,
        np.asfortranarray,
        lambda X: X.tolist(),
        lambda X: X.astype(np.float32),
        lambda X: pd.DataFrame(X, columns=NAMES),
        lambda X: pl.DataFrame(X, schema=NAMES),
        lambda X: pa.table(dict(zip(NAMES, X.T, strict=True))),
        sparse.csr_array,
        sparse.coo_matrix,
        open_source,
    ],
    ids=[
        "array",
        "fortran",
        "lists",
        "float32",
        "pandas",
        "polars",
        "arrow",
        "csr",
        "coo",
        "source",
    ],
)
def test_rows_are_read_from_whatever_holds_them(blobs, model, hold):
    X, _ = blobs
    study = check_study(model, hold(X), None, None)
    rows = np.array([7, 3, 7, 299])
    found = read_rows(study.data, rows)
    np.testing.assert_allclose(
        found.toarray() if sparse.issparse(found) else found, X[rows], rtol=1e-6
    )


def test_missing_values_are_read_as_means_of_their_column(blobs):
    X = blobs[0].copy()
    X[::3, 2] = np.nan
    model = CoHiRF.as_published(make_pipeline(SimpleImputer(), KMeans(4)), random_state=0).fit(X)
    study = check_study(model, X, None, None)
    assert read_rows(study.data, np.arange(300))[0, 2] == pytest.approx(np.nanmean(X[:, 2]))


def test_features_have_the_names_that_are_given_or_seen_or_numbers(blobs, model):
    X, _ = blobs
    assert check_study(model, X, None, None).feature_names[:2] == ["feature 0", "feature 1"]
    assert check_study(model, pd.DataFrame(X, columns=NAMES), None, None).feature_names == NAMES
    assert check_study(model, X, None, range(10)).feature_names[:2] == ["0", "1"]
    named = CoHiRF.as_published(KMeans(4), random_state=0).fit(pd.DataFrame(X, columns=NAMES))
    assert check_study(named, X, None, None).feature_names == NAMES


def test_classes_have_names_whatever_their_type(blobs, model):
    X, y = blobs
    assert check_study(model, X, y, None).classes.names == ["0", "1", "2", "3"]
    mixed = [("a", None, 2.5, True)[k] for k in y]
    classes = check_study(model, X, mixed, None).classes
    assert sorted(classes.names) == ["2.5", "None", "True", "a"]
    assert [classes.names[code] for code in classes.codes] == [str(value) for value in mixed]


def test_other_data_is_refused(blobs, model):
    X, _ = blobs
    with pytest.raises(
        ValueError,
        match=r"X has 299 rows, but the model was fitted on 300: pass the data of the fit",
    ):
        check_study(model, X[1:], None, None)
    with pytest.raises(
        ValueError,
        match=r"X has 9 features, but the model was fitted on 10: pass the data of the fit",
    ):
        check_study(model, X[:, 1:], None, None)


def test_an_updated_model_asks_for_the_rows_of_all_updates(blobs):
    X, _ = blobs
    updated = CoHiRF(n_clusters=4, random_state=0).fit(X[:200]).partial_fit(X[200:])
    with pytest.raises(
        ValueError,
        match=r"X has 200 rows, but the model has 300 after its updates: pass all rows of",
    ):
        check_study(updated, X[:200], None, None)
    assert check_study(updated, X, None, None) is not None


@pytest.mark.parametrize(
    "change", [lambda X: X[::-1], lambda X: X / X.std(axis=0), lambda X: X[:, ::-1]]
)
def test_data_in_another_order_or_scale_is_refused(blobs, model, change):
    with pytest.raises(
        ValueError, match=r"Row \d+ of X differs from the medoid of cluster \d: pass the data of"
    ):
        check_study(model, change(blobs[0]), None, None)


def test_what_is_no_fitted_model_is_refused(blobs):
    with pytest.raises(TypeError, match=r"KMeans\(\) of type KMeans is not a CoHiRF: pass a"):
        check_study(KMeans(), blobs[0], None, None)
    with pytest.raises(NotFittedError):
        check_study(CoHiRF.as_published(), blobs[0], None, None)


def test_names_and_classes_must_be_as_many_as_columns_and_rows(blobs, model):
    X, y = blobs
    with pytest.raises(
        ValueError, match="feature_names has 2 names, but there are 10 features: pass one for each"
    ):
        check_study(model, X, None, ["a", "b"])
    with pytest.raises(
        ValueError, match=r"y has shape \(10,\), but the data has 300 rows: pass one class for"
    ):
        check_study(model, X, y[:10], None)


def test_a_path_is_not_data(model):
    with pytest.raises(TypeError, match=r"is a path: open it with cohirf\.open_source"):
        check_study(model, "data.npy", None, None)


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "name": [f"p{i}" for i in range(60)],
            "age": rng.integers(18, 80, 60),
            "pay": rng.normal(size=60),
        }
    )


def test_only_the_rows_that_are_needed_are_transformed(people):
    seen = []

    class Counting(StandardScaler):
        def transform(self, X):
            seen.append(len(X))
            return super().transform(X)

    numbers = people[["age", "pay"]]
    scaler = Counting().fit(numbers)
    rows = Transformed(scaler.transform, numbers)
    found = rows.take(np.array([3, 5]))
    assert (rows.n_rows, seen) == (60, [2])
    assert found == pytest.approx(StandardScaler().fit_transform(numbers)[[3, 5]])


def test_a_preparation_gives_back_original_units_and_ids(people):
    prepared = prepare(people, id_column="name", scaling="standard")
    model = CoHiRF(KMeans(3), random_state=0).fit(prepared.rows())
    for X, pipeline in ((prepared, None), (people, prepared.preparation)):
        study = check_study(model, X, None, None, pipeline=pipeline)
        assert study.original.take(np.array([7]))[0] == pytest.approx(
            people.loc[7, ["age", "pay"]].astype(float)
        )
        assert study.name_row(7) == "p7"
        assert study.row_names.column == "name"


def test_a_pipeline_that_ends_with_the_model_is_used_up_to_it(people):
    numbers = people[["age", "pay"]]
    whole = make_pipeline(StandardScaler(), CoHiRF(KMeans(3), random_state=0)).fit(numbers)
    study = check_study(whole[-1], numbers, None, None, pipeline=whole)
    assert study.data.take(np.array([0])) == pytest.approx(whole[0].transform(numbers)[:1])


def test_ids_must_be_as_many_as_rows(people, tmp_path):
    X = people[["age", "pay"]]
    model = CoHiRF(KMeans(3), random_state=0).fit(X)
    with pytest.raises(
        ValueError, match="ids has 2 names, but the data has 60 rows: pass one for each row"
    ):
        write_report(model, X, tmp_path / "a.html", ids=["a", "b"])


def test_a_series_of_ids_gives_them_its_name(people):
    assert find_row_names(people, people["name"]).column == "name"


def test_what_cannot_transform_is_refused(people):
    with pytest.raises(
        TypeError, match=r"pipeline=KMeans\(\) cannot transform|pipeline='x' cannot transform rows"
    ):
        find_data(people, "x")


def test_a_pipeline_that_made_other_data_is_refused(people, tmp_path):
    numbers = people[["age", "pay"]]
    model = CoHiRF(KMeans(3), random_state=0).fit(StandardScaler().fit_transform(numbers))
    with pytest.raises(ValueError, match="differs from the medoid of cluster"):
        write_report(
            model, numbers, tmp_path / "a.html", pipeline=StandardScaler().fit(numbers[:30])
        )
