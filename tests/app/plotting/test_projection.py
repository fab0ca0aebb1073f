"""Rows as points: features as they are, or principal components."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.utils import _safe_indexing

from cohirf.app.plotting.map import project_rows

ROWS = np.arange(30)


def project(X, rows, *given):
    return project_rows(_safe_indexing(X, rows), rows, *given)


@pytest.fixture
def data():
    return np.random.default_rng(0).normal(size=(30, 6)) * [5, 3, 1, 1, 1, 1]


def test_as_many_features_as_axes_are_drawn_as_they_are(data):
    projection = project(data[:, :2], ROWS[::-1], None)
    assert (projection.points == data[::-1, :2]).all()
    assert projection.names == ["feature 0", "feature 1"]


def test_names_of_features_are_used(data):
    assert project(data[:, :2], ROWS, ["a", "b"]).names == ["a", "b"]


def test_more_features_are_projected_and_the_names_say_so(data):
    projection = project(data, ROWS, None)
    assert projection.points.shape == (30, 2)
    assert np.abs(np.corrcoef(projection.points.T)[0, 1]) < 1e-8
    assert projection.names[0].startswith("principal component 1 (")
    assert projection.names[1].endswith("% of variance)")


@pytest.mark.parametrize("convert", [sparse.csr_array, sparse.csr_matrix, pd.DataFrame])
def test_sparse_matrices_and_tables_give_the_same_points(data, convert):
    wanted = np.abs(project(data, ROWS, None).points)
    assert np.allclose(np.abs(project(convert(data), ROWS, None).points), wanted)


def test_a_sparse_matrix_of_two_features_is_drawn_as_it_is(data):
    assert (project(sparse.csr_array(data[:, :2]), ROWS, None).points == data[:, :2]).all()


def test_a_single_feature_is_drawn_against_the_row(data):
    projection = project(data[:, :1], ROWS[10:], None)
    assert (
        projection.points.tolist()
        == [[value, row] for row, value in enumerate(data[:, 0].tolist())][10:]
    )
    assert projection.names == ["feature 0", "row"]


def test_missing_values_count_as_the_mean_of_their_column(data):
    data[3, 1] = np.nan
    points = project(data[:, :2], ROWS, None).points
    assert points[3, 1] == pytest.approx(np.delete(data[:, 1], 3).mean())
    assert np.isfinite(project(data, ROWS, None).points).all()


def test_rows_that_are_all_the_same_are_one_point():
    projection = project(np.ones((30, 6)), ROWS, None)
    assert np.allclose(projection.points, 0)
    assert "0% of variance" in projection.names[0]
