"""Rows that are forgotten leave nothing behind that the model keeps of single rows."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, FusionHierarchy, load
from cohirf.summary.summary import stack

BLOBS, CLASSES = make_blobs(500, n_features=4, centers=3, random_state=0)
MOONS, CRESCENTS = make_moons(900, noise=0.05, random_state=0)


def blocks(X=BLOBS, **parameters):
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2, random_state=0, **parameters)
    for part in np.array_split(np.arange(X.shape[0]), 4):
        model.partial_fit(X[part])
    return model


@pytest.fixture(scope="module")
def fitted():
    """A model that tests look at, and do not change."""
    return blocks()


def kept_values(model):
    """Return the rows whose values a model keeps, as a list of matrices."""
    return [
        model.landmarks_,
        model.medoids_,
        model.exemplars_,
        model._state.summary.value.groups.values,
    ]


def assert_gone(model, X):
    for matrix in kept_values(model):
        matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
        assert not (matrix[:, None] == X[None]).all(axis=2).any()


def check(model, stay, classes):
    assert len(model.labels_) == len(stay)
    assert adjusted_rand_score(model.labels_, classes[stay]) == 1.0
    hierarchy = model.hierarchy_
    FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at, tree=hierarchy.tree)
    assert model._state.summary.value.n_rows == len(stay)
    assert sum(model._state.summary.value.update_rows) == len(stay)


@pytest.mark.parametrize("X", [BLOBS, sparse.csr_array(BLOBS)])
def test_rows_leave_their_groups(X, tmp_path):
    model = blocks(X)
    gone = np.random.default_rng(0).permutation(500)[:200]
    stay = np.setdiff1d(np.arange(500), gone)
    model.forget(gone)
    check(model, stay, CLASSES)
    assert_gone(model, BLOBS[gone])
    assert model._state.summary.value.sizes.sum() == 300
    assert model.changes_.n_rows == -200
    assert sum(model.changes_.shrunk.values()) == 200
    model.save(tmp_path / "model")
    later = load(tmp_path / "model").partial_fit(X[:50])
    assert adjusted_rand_score(later.labels_, np.append(CLASSES[stay], CLASSES[:50])) == 1.0


def test_rows_leave_in_any_order():
    gone = np.array([200, 3, 77])
    one, other = (blocks().forget(rows) for rows in (gone, np.sort(gone)))
    np.testing.assert_array_equal(
        one._state.summary.value.groups.first_rows, other._state.summary.value.groups.first_rows
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)


def test_a_window_of_updates():
    model = blocks()
    model.forget(updates=[0, 1])
    check(model, np.arange(250, 500), CLASSES)
    assert model._state.summary.value.update_rows == (0, 0, 125, 125)
    assert model._state.summary.value.groups.rows.max() < 250
    model.partial_fit(BLOBS[:125]).forget(updates=2)
    check(model, np.r_[375:500, 0:125], CLASSES)


def test_forgetting_an_update_at_once_is_to_have_never_seen_it_while_all_rows_are_kept():
    model = CoHiRF(n_clusters=3, views=2, random_state=0)
    for part in np.array_split(BLOBS, 4):
        model.partial_fit(part)
    whole = CoHiRF(n_clusters=3, views=2, random_state=0).fit(BLOBS[:375])
    model.forget(updates=3)
    assert adjusted_rand_score(model.labels_, whole.labels_) == 1.0


def test_a_cluster_without_rows_is_gone():
    model = blocks()
    number = int(model.labels_[0])
    model.set_params(n_clusters=2).forget(model.labels_ == number)
    assert model.changes_.gone == [number]
    assert number not in model.cluster_numbers_


def test_a_medoid_that_is_not_there_any_more_is_replaced_by_the_mean_if_no_row_is_known():
    model = blocks()
    gone = np.union1d(model._state.summary.value.groups.rows, model.landmark_indices_)
    stay = np.setdiff1d(np.arange(500), gone)
    model.forget(gone)
    check(model, stay, CLASSES)
    assert_gone(model, BLOBS[gone])


def test_rows_of_weight_0_do_not_keep_a_wrong_label():
    weights = np.ones(500)
    weights[:50] = 0
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2, random_state=0).fit(
        BLOBS, sample_weight=weights
    )
    gone = np.arange(50, 300)
    model.forget(gone)
    check(model, np.setdiff1d(np.arange(500), gone), CLASSES)


def test_nothing_that_a_model_has_learnt_of_forgotten_rows_stays():
    model = CoHiRF(n_clusters=3, random_state=0).fit(BLOBS)
    model.membership(BLOBS[:1])
    model.forget(np.arange(100))
    assert all(row.tobytes() not in pickle.dumps(model) for row in BLOBS[:100])


def test_medoids_of_sparse_rows_are_replaced():
    X = sparse.csr_array(BLOBS)
    model = CoHiRF(n_clusters=3, batch_size=50, random_state=0).fit(X)
    model.forget(np.arange(100))
    check(model, np.arange(100, 500), CLASSES)
    assert_gone(model, BLOBS[:100])


def test_rows_put_together_have_the_narrow_indices_that_base_methods_require():
    wide = sparse.csr_array(BLOBS)
    wide.indices, wide.indptr = wide.indices.astype(np.int64), wide.indptr.astype(np.int64)
    joined = stack([wide, wide])
    assert joined.indices.dtype == joined.indptr.dtype == np.int32


def test_the_average_weight_of_its_group_leaves_with_a_row():
    weights = np.random.default_rng(0).integers(1, 4, size=500).astype(float)
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2, random_state=0).fit(
        BLOBS, sample_weight=weights
    )
    gone = np.random.default_rng(1).permutation(500)[:300]
    before = model._state.summary.value.groups
    leaf = model._state.summary.value.row_map.find_leaves(np.arange(500))
    stay = np.setdiff1d(np.arange(500), gone)
    expected = (before.weights / before.sizes)[leaf[stay]].sum()
    model.forget(gone)
    check(model, stay, CLASSES)
    groups = model._state.summary.value.groups
    leaf = model._state.summary.value.row_map.find_leaves(np.arange(200))
    np.testing.assert_allclose(groups.weights.sum(), expected)
    np.testing.assert_array_equal(groups.sizes, np.bincount(leaf))
    np.testing.assert_array_equal(groups.first_rows, np.unique(leaf, return_index=True)[1])


@pytest.mark.parametrize(
    "nothing", [{"rows": []}, {"rows": np.zeros(375, dtype=bool)}, {"updates": 3}]
)
def test_without_rows_to_forget_a_model_stays_as_it_is(nothing):
    model = blocks().forget(updates=3)
    changes = model.changes_
    history = model.history_
    model.forget(**nothing)
    assert model.changes_ is changes
    assert model.history_ is history


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({}, TypeError, "either rows or updates"),
        ({"rows": [1], "updates": 0}, TypeError, "either rows or updates"),
        ({"rows": [500]}, ValueError, "pass row numbers from 0 to 499"),
        ({"rows": [1, 1]}, ValueError, "a row number twice"),
        ({"rows": [0.5]}, TypeError, "must be a list of row numbers"),
        ({"updates": 4}, ValueError, "no update 4: it has updates 0, its fit, to 3"),
        ({"rows": np.ones(500, dtype=bool)}, ValueError, "All 500 rows would be forgotten"),
    ],
    ids=str,
)
def test_what_cannot_be_forgotten_is_refused(arguments, error, message, fitted):
    labels = fitted.labels_
    with pytest.raises(error, match=message):
        fitted.forget(**arguments)
    assert fitted.labels_ is labels
