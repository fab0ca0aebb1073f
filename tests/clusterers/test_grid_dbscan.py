"""GridDBSCAN finds what scikit-learn's DBSCAN finds."""

import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from cohirf import CoHiRF
from cohirf.clusterers import GridDBSCAN
from cohirf.clusterers.grid_dbscan import cell_side, neighbour_offsets
from cohirf.clusterers.grid_kernels import has_close_pair
from cohirf.datasets import make_spheres


@parametrize_with_checks([GridDBSCAN()])
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)


def assert_same_clusters(X, eps, min_samples, weights=None):
    expected = DBSCAN(eps=eps, min_samples=min_samples).fit(X, sample_weight=weights)
    found = GridDBSCAN(eps, min_samples=min_samples).fit(X, sample_weight=weights)
    core = expected.core_sample_indices_
    assert found.core_sample_indices_.tolist() == core.tolist()
    assert found.labels_[core].tolist() == expected.labels_[core].tolist()
    assert (found.labels_ < 0).tolist() == (expected.labels_ < 0).tolist()
    touched = (np.linalg.norm(X[:, None] - X[core][None], axis=2) <= eps * (1 + 1e-12)) & (
        found.labels_[:, None] == expected.labels_[core][None]
    )
    assert (touched.any(axis=1) | (found.labels_ < 0)).all()  # a border row is in a cluster that it touches


@settings(max_examples=200)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 150),
    n_features=st.integers(1, 3),
    on_a_lattice=st.booleans(),  # many distances are exactly eps
    eps=st.sampled_from([0.2, 0.5, 1.0, 1.5, 2.0]),
    min_samples=st.integers(1, 8),
    weighted=st.booleans(),
)
def test_core_rows_clusters_and_noise_are_those_of_scikit_learn(
    seed, n, n_features, on_a_lattice, eps, min_samples, weighted
):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n, n_features)).astype(float) if on_a_lattice else rng.normal(size=(n, n_features))
    weights = rng.integers(0, 4, n).astype(float)
    weights[0] += 1  # scikit-learn refuses weights that are all zero
    assert_same_clusters(X, eps, min_samples, weights if weighted else None)


@pytest.mark.parametrize("eps", [0.1, 0.2, 0.4])
def test_spheres_are_told_apart_at_every_radius_below_their_distance(eps):
    X, y = make_spheres(20_000, random_state=0)
    model = GridDBSCAN(eps).fit(X)
    assert model.algorithm_ == "grid"
    assert adjusted_rand_score(model.labels_, y) == 1


def test_dense_cells_across_a_gap_are_told_apart_without_comparing_all_rows():
    """Two facing planes, a little too far apart: a box test cannot tell, comparing all pairs would take minutes."""
    rng = np.random.default_rng(0)
    n = 200_000
    points = np.concatenate([rng.random((n, 3)), rng.random((n, 3))])
    points[:n, 2] = points[:n, 0] * 0.5
    points[n:, 2] = points[n:, 0] * 0.5 + 0.3
    left, right = np.arange(n), np.arange(n, 2 * n)
    gap = 0.3 / np.sqrt(1.25)  # between the planes
    assert not has_close_pair(points, left, right, (0.99 * gap) ** 2)
    assert has_close_pair(points, left, right, (1.05 * gap) ** 2)


def test_more_features_than_a_grid_pays_for_go_to_scikit_learn():
    X = np.random.default_rng(0).normal(size=(200, 4))
    model = GridDBSCAN(1.0).fit(X)
    assert model.algorithm_ == "scikit-learn"
    assert model.labels_.tolist() == DBSCAN(1.0).fit(X).labels_.tolist()


def test_a_radius_that_is_tiny_against_the_range_goes_to_scikit_learn():
    X = np.array([[0.0], [1e-12], [1.0]])
    model = GridDBSCAN(1e-11, min_samples=2).fit(X)
    assert model.algorithm_ == "scikit-learn"
    assert model.labels_.tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("X", "eps"),
    [
        (1.7e18 + np.random.default_rng(0).integers(0, 40, (2000, 1)) * 256.0, 600.0),  # times in nanoseconds
        (np.random.default_rng(0).integers(0, 10, (2000, 2)) * 0.125 + 1e15, 0.3),
        (np.repeat(1e16 + 2 * np.indices((6, 6)).reshape(2, -1).T.astype(float), 20, axis=0), 4.0),
    ],
)
def test_rows_as_close_as_floating_point_can_tell_are_clustered(X, eps):
    model = GridDBSCAN(eps).fit(X)
    assert model.algorithm_ == "grid"
    assert set(model.labels_) == {0}


def test_weights_that_are_no_counts_go_to_scikit_learn():
    X = np.zeros((10, 2))
    model = GridDBSCAN(0.5, min_samples=1).fit(X, sample_weight=np.full(10, 0.1))
    assert model.algorithm_ == "scikit-learn"
    assert set(model.labels_) == {0}


def test_float32_is_compared_in_float64():
    X, y = make_spheres(5000, random_state=0)
    assert adjusted_rand_score(GridDBSCAN(0.2).fit(X.astype(np.float32)).labels_, y) == 1


def test_a_cell_is_no_wider_than_the_radius_and_neighbours_are_within_the_offsets():
    for n_features in (1, 2, 3):
        assert cell_side(1.0, n_features) * np.sqrt(n_features) < 1.0
        offsets = neighbour_offsets(n_features)
        assert (offsets[0] == 0).all()
        rng = np.random.default_rng(0)
        rows = rng.random((3000, n_features)) * 4
        cells = np.floor(rows / cell_side(1.0, n_features)).astype(int)
        near = np.linalg.norm(rows[:, None] - rows[None], axis=2) <= 1.0
        differences = {tuple(cells[i] - cells[k]) for i, k in zip(*np.nonzero(near), strict=True)}
        assert differences <= set(map(tuple, offsets.tolist()))


def test_it_is_a_base_method_with_weights_and_batches():
    X, y = make_spheres(20_000, random_state=0)
    options = {"n_views": 1, "batch_size": 2000, "random_state": 0}
    for weights in (False, True):
        model = CoHiRF(GridDBSCAN(0.2), medoid_weights=weights, **options).fit(X)
        assert adjusted_rand_score(model.labels_, y) == 1
    slow = CoHiRF(DBSCAN(0.2), **options).fit(X)
    assert adjusted_rand_score(model.labels_, slow.labels_) == 1


def test_the_extra_is_named_where_it_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    with pytest.raises(ImportError, match=r'needs numba: install it with pip install "cohirf\[fast\]"'):
        GridDBSCAN().fit(np.eye(3))
