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

from cohirf import CoHiRF, open_source
from cohirf.diagnosis.reading import read_rows
from cohirf.report.study import check_study

NAMES = [f"column {i}" for i in range(10)]


@pytest.fixture(scope="module")
def model(blobs):
    return CoHiRF.as_published(KMeans(4), n_views=2, random_state=0).fit(blobs[0])


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
    ids=["array", "fortran", "lists", "float32", "pandas", "polars", "arrow", "csr", "coo", "source"],
)
def test_rows_are_read_from_whatever_holds_them(blobs, model, hold):
    X, _ = blobs
    study = check_study(model, hold(X), None, None)
    rows = np.array([7, 3, 7, 299])
    found = read_rows(study.data, rows)
    np.testing.assert_allclose(found.toarray() if sparse.issparse(found) else found, X[rows], rtol=1e-6)


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
    assert [classes.names[code] for code in classes.code] == [str(value) for value in mixed]


def test_other_data_is_refused(blobs, model):
    X, _ = blobs
    with pytest.raises(ValueError, match=r"X has 299 rows, but the model was fitted on 300: pass the data of the fit"):
        check_study(model, X[1:], None, None)
    with pytest.raises(ValueError, match=r"X has 9 features, but the model was fitted on 10: pass the data of the fit"):
        check_study(model, X[:, 1:], None, None)


@pytest.mark.parametrize("change", [lambda X: X[::-1], lambda X: X / X.std(axis=0), lambda X: X[:, ::-1]])
def test_data_in_another_order_or_scale_is_refused(blobs, model, change):
    with pytest.raises(ValueError, match=r"Row \d+ of X differs from the medoid of cluster \d: pass the data of"):
        check_study(model, change(blobs[0]), None, None)


def test_what_is_no_fitted_model_is_refused(blobs):
    with pytest.raises(TypeError, match=r"KMeans\(\) of type KMeans is not a CoHiRF: pass a"):
        check_study(KMeans(), blobs[0], None, None)
    with pytest.raises(NotFittedError):
        check_study(CoHiRF.as_published(), blobs[0], None, None)


def test_names_and_classes_must_be_as_many_as_columns_and_rows(blobs, model):
    X, y = blobs
    with pytest.raises(ValueError, match="feature_names has 2 names, but there are 10 features: pass one for each"):
        check_study(model, X, None, ["a", "b"])
    with pytest.raises(ValueError, match=r"y has shape \(10,\), but the data has 300 rows: pass one class for"):
        check_study(model, X, y[:10], None)


def test_a_path_is_not_data(model):
    with pytest.raises(TypeError, match=r"is a path: open it with cohirf\.open_source"):
        check_study(model, "data.npy", None, None)
