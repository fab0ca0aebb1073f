"""Everything that is refused, with the words it is refused in."""

import datetime
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans, SpectralClustering
from sklearn.exceptions import NotFittedError
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF

day = datetime.datetime(2026, 1, 1)
DATA = {
    "0 rows": (
        np.empty((0, 3)),
        ValueError,
        r"0 sample\(s\) \(shape=\(0, 3\)\) while a minimum of 1 is required",
    ),
    "0 columns": (
        np.empty((3, 0)),
        ValueError,
        r"0 feature\(s\) \(shape=\(3, 0\)\) while a minimum of 1 is required",
    ),
    "1-D": (np.arange(4.0), ValueError, "Expected 2D array, got 1D array instead"),
    "3-D": (np.zeros((2, 2, 2)), ValueError, "Found array with dim 3"),
    "None": (None, TypeError, "X is None: give an array or table with one row per sample"),
    "NaN": (
        np.array([[1.0], [np.nan]]),
        ValueError,
        r"contains NaN.*impute them, for instance with .*SimpleImputer.* Column 0 has 1 such cell, in row 1\.$",
    ),
    "NaN in a table": (
        pd.DataFrame({"size": [1.0, 2.0, 3.0], "age": [1.0, None, None], "n": [1, None, 2]}),
        ValueError,
        r"contains NaN.* Column 'age' has 2 such cells, the first in row 1; column 'n' has 1 such cell, in row 1\.$",
    ),
    "NaN in many columns": (
        np.full((2, 5), np.nan),
        ValueError,
        r"column 2 has 2 such cells, the first in row 0; 2 more columns have some\.$",
    ),
    "infinity": (
        np.array([[1.0], [np.inf]]),
        ValueError,
        r"contains infinity: replace infinite values.* Column 0 has 1 such cell, in row 1\.$",
    ),
    "minus infinity": (
        np.array([[1.0], [-np.inf]]),
        ValueError,
        "contains infinity: replace infinite values",
    ),
    "sparse NaN": (
        sparse.csr_array([[1.0, np.nan]]),
        ValueError,
        r"contains NaN.* Column 1 has 1 such cell, in row 0\.$",
    ),
    "text": (
        np.array([["1.5", "a"]], dtype=object),
        ValueError,
        "X holds values of type object: turn them into numbers",
    ),
    "text in pandas": (
        pd.DataFrame({"size": ["1", "2"], "a": pd.Categorical(["x", "y"])}, dtype=object),
        ValueError,
        "Column 'size' of X holds text, such as '1': turn it into numbers",
    ),
    "complex": (np.array([[1j]]), ValueError, "Complex data not supported"),
    "strings": (
        np.array([["a"]]),
        ValueError,
        "X holds values of type <U1: turn them into numbers first",
    ),
    "numbers as strings": (
        [["1", "2"]],
        ValueError,
        "X holds values of type <U1: turn them into numbers first",
    ),
    "objects": (np.array([[{}]]), TypeError, "float.. argument must be a string or a real number"),
    "dates": (
        np.array([["2026-01-01"]], dtype="M8[D]"),
        ValueError,
        r"X holds values of type datetime64\[D\]: turn them into numbers",
    ),
    "ragged": (
        [[1, 2], [3]],
        ValueError,
        "The rows of X differ in length: give the same number of values in each row",
    ),
    "dict": (
        {"a": [1]},
        TypeError,
        r"X is a dict: give an array or table.*such as pandas.DataFrame\(X\)",
    ),
    "masked": (
        np.ma.masked_array([[1.0, 2.0]], mask=[[False, True]]),
        ValueError,
        r"X is a masked array with 1 masked cells: fill them with X.filled\(value\)",
    ),
    "float64 squares": (
        np.array([[1e200], [1.0]]),
        ValueError,
        r"up to 1e\+200, whose squares overflow float64: scale",
    ),
    "float32 squares": (
        np.float32([[1e30], [1]]),
        ValueError,
        r"up to 1e\+30, whose squares overflow float32: scale",
    ),
    "path": (
        "data.parquet",
        TypeError,
        "X='data.parquet' is a path: open it with cohirf.open_source",
    ),
    "Path": (
        Path("a") / "b.npy",
        TypeError,
        "X='a/b.npy' is a path: open it with cohirf.open_source",
    ),
    "repeated names": (
        pd.DataFrame([[1, 2]], columns=["a", "a"]),
        ValueError,
        "The column name 'a' of X appears more than once: rename the columns",
    ),
    "mixed names": (
        pd.DataFrame({"a": [1.0], 1: [2.0]}),
        TypeError,
        "Feature names are only supported if all input",
    ),
    "pandas dates": (
        pd.DataFrame({"when": [day]}),
        ValueError,
        "Column 'when' of X has type datetime64.*numbers first, for instance into the days since "
        "a fixed date, or",
    ),
    "pandas strings": (
        pd.DataFrame({"who": ["a"]}),
        ValueError,
        # pandas 3, 2
        "Column 'who' of X (has type str|holds text, such as 'a'): turn it into numbers",
    ),
    "pandas dates as objects": (
        pd.DataFrame({"size": [1.0], "when": [day.date()]}),
        ValueError,
        "Column 'when' of X holds dates or times, such as .*: turn it into numbers first, .* "
        "days since a fixed date",
    ),
    "datetime in a list": (
        [[1.0, day], [2.0, day]],
        ValueError,
        "Column 1 of X holds dates or times",
    ),
    "polars dates": (
        pl.DataFrame({"when": [day]}),
        ValueError,
        "Column 'when' of X has type Datetime.* days since",
    ),
    "polars strings": (
        pl.DataFrame({"who": ["a"]}),
        ValueError,
        "Column 'who' of X has type String.*OneHotEncoder",
    ),
    "arrow dates": (
        pa.table({"when": [day]}),
        ValueError,
        "Column 'when' of X has type timestamp.* days since",
    ),
    "arrow strings": (pa.table({"who": ["a"]}), ValueError, "Column 'who' of X has type string"),
}


@pytest.mark.parametrize(("X", "error", "message"), DATA.values(), ids=DATA)
def test_data_is_refused(X, error, message):
    with pytest.raises(error, match=message):
        CoHiRF.as_published().fit(X)


PARAMETERS = [
    (
        {"max_features": 0},
        "'max_features' parameter of CoHiRF must be an int in the range .1, inf. or a float in",
    ),
    ({"max_features": 0.0}, r"'max_features' .* Got 0.0 instead"),
    ({"max_features": 1.5}, r"'max_features' .* Got 1.5 instead"),
    ({"max_features": float("nan")}, "'max_features' .* Got nan instead"),
    (
        {"max_features": 4},
        "max_features=4 is above the 3 features of X: give an int from 1 to 3 or a fraction in",
    ),
    (
        {"views": 0},
        r"'views' parameter of CoHiRF must be an int in the range \[1, 100000\] or an instance of 'list'. Got 0",
    ),
    (
        {"consensus": 1.1},
        r"'consensus' .* or a float in the range \[0.0, 1.0\]. Got 1.1",
    ),
    ({"consensus": -0.1}, "'consensus' .* Got -0.1 instead"),
    (
        {"batch_size": 1},
        r"'batch_size' .* must be None, an instance of 'str' or an int in the range \[2, inf\). Got 1 instead",
    ),
    ({"max_iter": 0}, "'max_iter' .* Got 0 instead"),
    ({"min_cluster_size": 0}, "'min_cluster_size' .* Got 0 instead"),
    ({"n_jobs": 0}, r"n_jobs=0 is not valid: give 1 or more, or -1 for all cores\."),
    ({"consensus": "loose"}, "'consensus' parameter of CoHiRF must be a str among .*'relaxed'"),
    (
        {"medoid": "manhattan"},
        "'medoid' parameter of CoHiRF must be a str among .*'laplacian'.* or a callable",
    ),
    (
        {"medoid_weights": "yes"},
        "'medoid_weights' parameter of CoHiRF must be an instance of 'bool'",
    ),
]


@pytest.mark.parametrize(("parameters", "message"), PARAMETERS)
def test_a_parameter_is_refused(parameters, message):
    with pytest.raises(ValueError, match=message):
        CoHiRF.as_published(**parameters).fit(np.eye(3))


class FitlessBase:
    def __repr__(self):
        return "FitlessBase()"


@pytest.mark.parametrize(
    ("base", "error", "message"),
    [
        (
            FitlessBase(),
            TypeError,
            r"estimator=FitlessBase\(\) is not a clustering estimator: give an instance with",
        ),
        ("kmeans", TypeError, "estimator='kmeans' is not a clustering estimator"),
        (
            3,
            TypeError,
            "estimator=3 is not a clustering estimator: for 3 clusters, give n_clusters=3",
        ),
        (KMeans, TypeError, r"estimator=KMeans is a class: give an instance, such as KMeans\(\)"),
        (
            DBSCAN(metric="precomputed"),
            ValueError,
            "works on a precomputed matrix: CoHiRF needs a method",
        ),
        (SpectralClustering(affinity="precomputed"), ValueError, "works on a precomputed matrix"),
        (
            LogisticRegression(),
            TypeError,
            r"estimator=LogisticRegression\(\) is a classifier: it needs labels to learn from, .* such as KMeans",
        ),
        (make_pipeline(StandardScaler(), LogisticRegression()), TypeError, "is a classifier"),
        (LinearRegression(), TypeError, r"estimator=LinearRegression\(\) is a regressor"),
        (
            NeighborhoodComponentsAnalysis(),
            TypeError,
            "is a supervised method: it needs labels to learn from",
        ),
    ],
)
def test_a_base_method_is_refused(base, error, message):
    with pytest.raises(error, match=message):
        CoHiRF.as_published(base).fit(np.eye(3))


def test_sparse_missing_values_are_refused_for_every_base():
    X = sparse.csr_array([[1.0, np.nan], [2.0, 3.0]])
    with pytest.raises(
        ValueError, match="Missing values are allowed only in dense arrays and tables in memory"
    ):
        CoHiRF.as_published(make_pipeline(SimpleImputer(), KMeans(2))).fit(X)


def test_a_model_whose_fit_failed_is_not_fitted():
    model = CoHiRF.as_published(DBSCAN(eps=-1))
    with pytest.raises(ValueError, match="eps"):
        model.fit(np.eye(3))
    with pytest.raises(NotFittedError):
        model.predict(np.eye(3))


def test_sparse_data_is_refused_where_the_base_does_not_take_it():
    with pytest.raises(TypeError, match=r"Sparse data was passed.* but dense data is required"):
        CoHiRF.as_published(GaussianMixture()).fit(sparse.csr_array(np.eye(3)))


def test_an_unknown_parameter_is_refused():
    with pytest.raises(TypeError, match="repetitions"):
        CoHiRF.as_published(repetitions=3)


@pytest.mark.parametrize("method", ["predict", "transform"])
def test_an_unfitted_model_says_so(method):
    with pytest.raises(NotFittedError, match="This CoHiRF instance is not fitted yet"):
        getattr(CoHiRF.as_published(), method)(np.eye(3))


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize("method", ["predict", "transform"])
def test_new_rows_must_have_the_columns_of_the_fit(method):
    frame = pd.DataFrame(np.eye(4), columns=list("abcd"))
    model = CoHiRF.as_published(KMeans(2), random_state=0).fit(frame)
    with pytest.raises(ValueError, match="X has 3 features, but CoHiRF is expecting 4 features"):
        getattr(model, method)(np.eye(3))
    with pytest.raises(
        ValueError, match="Feature names must be in the same order as they were in fit"
    ):
        getattr(model, method)(frame[list("badc")])
    with pytest.raises(TypeError, match="is a path"):
        getattr(model, method)("rows.npy")
