"""Odd but valid input has a defined result."""

from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.impute import SimpleImputer
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from cohirf import CoHiRF

BASES = [KMeans(3), DBSCAN(eps=1.0, min_samples=2), GaussianMixture(3)]


def fit(X, base=None, **options):
    return CoHiRF.as_published(KMeans(4) if base is None else base, random_state=0, **options).fit(
        X
    )


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize(
    "X",
    {
        "one row": np.ones((1, 3)),
        "two rows": np.array([[0.0, 1.0], [5.0, 2.0]]),
        "identical rows": np.ones((20, 3)),
        "zero rows": np.zeros((20, 3)),
        "one feature": np.arange(10.0)[:, None],
        "constant feature": np.c_[np.arange(10.0), np.ones(10)],
        "more features than rows": np.random.default_rng(0).normal(size=(5, 200)),
        "duplicates": np.repeat(np.eye(3), 5, axis=0),
    }.items(),
    ids=lambda item: item[0],
)
# identical rows make K-Means and mixtures warn that they found fewer clusters
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_degenerate_data_has_a_defined_result(X, base):
    X = X[1]
    model = fit(X, base)
    assert model.labels_.shape == (len(X),)
    assert sorted(set(model.labels_.tolist())) == list(range(model.n_clusters_))
    assert model.n_iter_ >= 1
    assert (model.predict(X)[model.medoid_indices_] >= 0).all()


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_identical_rows_are_one_cluster():
    assert fit(np.ones((20, 3))).n_clusters_ == 1


def test_one_row_is_one_cluster():
    model = fit(np.array([[3.0, 4.0]]))
    assert model.labels_.tolist() == [0]
    assert model.hierarchy_.n_levels == 0
    assert model.transform([[0.0, 0.0]]).tolist() == [[5.0]]


INTEGERS = np.random.default_rng(0).integers(0, 100, (60, 4))


@cache
def fit_to_integers(is_bool):
    return fit((INTEGERS > 50 if is_bool else INTEGERS).astype(np.float64), max_features=0.5)


@pytest.mark.parametrize(
    "convert",
    {
        "bool": lambda X: X > 50,
        "int8": lambda X: X.astype(np.int8),
        "uint64": lambda X: X.astype(np.uint64),
        "float16": lambda X: X.astype(np.float16),
        "big-endian": lambda X: X.astype(">f8"),
        "Fortran order": np.asfortranarray,
        "negative strides": lambda X: X[::-1, ::-1][::-1, ::-1],
        "list": lambda X: X.tolist(),
        "masked without masked cells": np.ma.masked_array,
        "object": lambda X: X.astype(object),
        "pandas": pd.DataFrame,
        "polars": pl.DataFrame,
        "arrow": lambda X: pa.table({str(j): X[:, j] for j in range(X.shape[1])}),
        "csr": lambda X: sparse.csr_array(X.astype(float)),
    }.items(),
    ids=lambda item: item[0],
)
def test_every_container_gives_the_labels_of_a_float64_array(convert):
    name, convert = convert
    expected = fit_to_integers(is_bool=name == "bool")
    found = fit(convert(INTEGERS), max_features=0.5)
    assert (found.labels_ == expected.labels_).all()
    assert (found.parents_ == expected.parents_).all()


@pytest.mark.parametrize(
    "make",
    [pd.DataFrame, pl.DataFrame, lambda d: pa.table(dict(d))],
    ids=["pandas", "polars", "pa"],
)
def test_tables_give_their_column_names(make):
    frame = make({"a": np.arange(9.0), "b": np.arange(9.0) ** 2})
    model = fit(frame)
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert (model.predict(frame) == model.labels_).all()


def test_float32_stays_float32(blobs):
    X = blobs[0].astype(np.float32)
    seen = set()

    class Recorder(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.add(X.dtype)
            return super().fit(X, y, sample_weight)

    model = fit(X, Recorder(4))
    assert seen == {np.dtype(np.float32)}
    assert model.medoids_.dtype == model.transform(X).dtype == np.float32


def test_read_only_and_memory_mapped_data_is_not_touched(blobs, tmp_path):
    np.save(tmp_path / "X.npy", blobs[0])
    X = np.load(tmp_path / "X.npy", mmap_mode="r")
    expected = fit(blobs[0])
    for max_features in (0.6, 1.0):
        model = fit(X, KMeans(4, copy_x=False), max_features=max_features)
        assert adjusted_rand_score(model.labels_, expected.labels_) == 1
    assert (np.load(tmp_path / "X.npy") == blobs[0]).all()


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_sparse_indices_of_both_sizes_are_taken(blobs, dtype):
    X = sparse.csr_array(np.maximum(blobs[0], 0))
    X.indices, X.indptr = X.indices.astype(dtype), X.indptr.astype(dtype)
    model = fit(X)
    assert sparse.issparse(model.medoids_)
    assert (model.labels_ == fit(X.toarray()).labels_).all()
    assert (model.predict(X) == model.labels_).all()
    assert np.allclose(model.transform(X), fit(X.toarray()).transform(X.toarray()))


def test_missing_values_reach_a_base_that_takes_them(blobs):
    X = blobs[0].copy()
    X[::7, 2] = np.nan
    X[:, 5] = np.nan
    X[3, 5] = 1.0
    model = fit(X, make_pipeline(SimpleImputer(), KMeans(4)), max_features=1.0)
    assert adjusted_rand_score(model.labels_, blobs[1]) == 1
    assert (model.predict(X) == model.labels_).all()
    assert np.isfinite(model.transform(X)).all()


def test_rows_with_missing_values_may_be_noise(blobs):
    X = blobs[0].copy()
    X[5, 0] = np.nan
    model = fit(X, HDBSCAN(), max_features=1.0, min_cluster_size=3)
    assert model.labels_[5] == -1
    assert adjusted_rand_score(model.labels_, blobs[1]) > 0.9


def test_a_missing_value_in_new_rows_counts_as_the_mean_of_its_column(blobs):
    X = blobs[0].copy()
    X[0, 0] = np.nan
    base = make_pipeline(SimpleImputer(), KMeans(4))
    model = fit(X, base)
    row = X[[7]].copy()
    row[0, 3] = np.nan
    filled = row.copy()
    filled[0, 3] = X[:, 3].mean()
    assert model.transform(row) == pytest.approx(model.transform(filled), rel=1e-12)


def test_a_missing_value_only_in_new_rows_is_taken(blobs):
    model = fit(blobs[0], make_pipeline(SimpleImputer(), KMeans(4)))
    row = blobs[0][[7]].copy()
    row[0, 3] = np.nan
    assert model.predict(row).tolist() == [model.labels_[7]]
    assert np.isfinite(model.transform(row)).all()


@pytest.mark.parametrize("n_features", [4, 20])
def test_new_rows_may_be_sparse_where_the_data_was_not(n_features):
    X = np.random.default_rng(0).normal(size=(50, n_features))
    model = fit(X)
    assert (model.predict(sparse.csr_array(X)) == model.labels_).all()
    assert model.transform(sparse.csr_array(X)).shape == (50, model.n_clusters_)


def test_the_users_estimator_is_never_touched(blobs):
    base = make_pipeline(SimpleImputer(), KMeans(4, random_state=7))
    fit(blobs[0], base)
    assert base[-1].random_state == 7
    assert not hasattr(base[-1], "labels_")


@pytest.mark.filterwarnings("ignore:n_clusters=8 of KMeans is at least")
@pytest.mark.parametrize("n_features", [1, 20])
@pytest.mark.parametrize(
    ("size", "dtype"), [(1e-150, "f8"), (1e150, "f8"), (1e-40, "f4"), (1e-25, "f4"), (1e15, "f4")]
)
def test_training_rows_of_any_size_whose_squares_do_not_vanish_get_their_labels_back(
    size, dtype, n_features
):
    X = np.repeat(np.arange(1, 6)[:, None] * np.dtype(dtype).type(size), n_features, axis=1)
    model = fit(X, KMeans(8))
    assert model.labels_.tolist() == [0, 1, 2, 3, 4]
    assert model.predict(X).tolist() == [0, 1, 2, 3, 4]
    distances = model.transform(X) / np.dtype(dtype).type(size)
    steps = np.abs(np.subtract.outer(np.arange(5), np.arange(5)))
    assert distances == pytest.approx(steps * np.sqrt(n_features), rel=1e-4, abs=1e-4)


class Signs(KMeans):
    """Puts rows together by the sign of their first cell, in arrays and CSR matrices alike."""

    def fit_predict(self, X, y=None, sample_weight=None):
        first = X[:, [0]].toarray() if sparse.issparse(X) else X[:, [0]]
        return (first.ravel() > 0).astype(int)


# some weights add up to less than min_cluster_size
@pytest.mark.filterwarnings("ignore:All of the rows are noise")
@pytest.mark.parametrize("medoid", ["cosine", "euclidean", "rbf", "laplacian"])
def test_sparse_and_dense_fits_agree_on_signed_data(medoid):
    for seed in range(3):
        X = np.random.default_rng(seed).integers(-1, 2, (30, 4)).astype(float)
        weights = np.random.default_rng(seed).integers(1, 4, 30) * 2.0 ** (200 * (seed % 3 - 1))
        dense, as_csr = (
            CoHiRF.as_published(
                Signs(2), max_features=3, views=3, medoid=medoid, random_state=seed
            ).fit(rows, sample_weight=weights)
            for rows in (X, sparse.csr_matrix(X))
        )
        assert as_csr.medoid_indices_.tolist() == dense.medoid_indices_.tolist()
        assert as_csr.parents_.tolist() == dense.parents_.tolist()


def test_a_pair_of_opposite_sparse_rows_is_fitted():
    model = CoHiRF.as_published(KMeans(1), random_state=0).fit(
        sparse.csr_matrix([[1.0, 0.0], [-1.0, 0.0]])
    )
    assert model.labels_.tolist() == [0, 0]


def test_cells_of_sparse_rows_that_are_stored_twice_are_added_up():
    X = sparse.random(500, 40, density=0.2, format="csr", random_state=0)
    halves = np.repeat(X.data / 2, 2) + np.tile([1.0, -1.0], X.nnz)
    twice = sparse.csr_matrix((halves, np.repeat(X.indices, 2), 2 * X.indptr), shape=X.shape)
    labels = CoHiRF(n_clusters=4, random_state=0).fit_predict(twice)
    np.testing.assert_array_equal(labels, CoHiRF(n_clusters=4, random_state=0).fit_predict(X))
    assert twice.nnz == 2 * X.nnz  # the user's matrix stays
