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
    return [model._landmarks.points, model.medoids_, model.exemplars_, model._summary.groups.values]


def assert_gone(model, X):
    for matrix in kept_values(model):
        matrix = matrix.toarray() if sparse.issparse(matrix) else matrix
        assert not (matrix[:, None] == X[None]).all(axis=2).any()


def check(model, stay, classes):
    assert len(model.labels_) == len(stay)
    assert adjusted_rand_score(model.labels_, classes[stay]) == 1.0
    hierarchy = model.hierarchy_
    FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at, tree=hierarchy.tree)
    assert model._summary.n_rows == len(stay)
    assert sum(model._summary.update_rows) == len(stay)


@pytest.mark.parametrize(("X", "given"), [(BLOBS, False), (BLOBS, True), (sparse.csr_array(BLOBS), True)])
def test_rows_leave_their_groups(X, given, tmp_path):
    model = blocks(X)
    gone = np.random.default_rng(0).permutation(500)[:200]
    stay = np.setdiff1d(np.arange(500), gone)
    model.forget(gone, X=X[gone] if given else None)
    check(model, stay, CLASSES)
    assert_gone(model, BLOBS[gone])
    assert model._summary.sizes.sum() == 300
    assert model.changes_.n_rows == -200
    assert sum(model.changes_.shrunk.values()) == 200
    model.save(tmp_path / "model")
    later = load(tmp_path / "model").partial_fit(X[:50])
    assert adjusted_rand_score(later.labels_, np.append(CLASSES[stay], CLASSES[:50])) == 1.0


def test_means_are_those_of_the_rows_that_stay_if_values_are_given():
    model = blocks()
    gone = np.arange(0, 200, 3)
    model.forget(gone, X=BLOBS[gone])
    summary, stay = model._summary, np.setdiff1d(np.arange(500), gone)
    leaf = summary.row_map.find_leaves(np.arange(summary.row_map.n_rows))
    rows = BLOBS[stay][: len(leaf)]
    for number in range(len(summary.groups)):
        np.testing.assert_allclose(summary.groups.means[number], rows[leaf == number].mean(axis=0))
        assert summary.groups.sizes[number] == (leaf == number).sum()


def test_values_go_with_rows_in_any_order():
    gone = np.array([200, 3, 77])
    one, other = (blocks().forget(rows, X=BLOBS[rows]) for rows in (gone, np.sort(gone)))
    np.testing.assert_array_equal(one._summary.groups.means, other._summary.groups.means)


def test_a_window_of_updates():
    model = blocks()
    model.forget(updates=[0, 1])
    check(model, np.arange(250, 500), CLASSES)
    assert model._summary.update_rows == (0, 0, 125, 125)
    assert model._summary.groups.rows.max() < 250
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
    gone = np.union1d(model._summary.groups.rows, model._landmark_rows)
    stay = np.setdiff1d(np.arange(500), gone)
    model.forget(gone)
    check(model, stay, CLASSES)
    assert_gone(model, BLOBS[gone])


def test_rows_of_weight_0_do_not_keep_a_wrong_label():
    weights = np.ones(500)
    weights[:50] = 0
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2, random_state=0).fit(BLOBS, sample_weight=weights)
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


def test_given_weights_leave_exactly():
    weights = np.random.default_rng(0).integers(4, size=500).astype(float)
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2, random_state=0).fit(BLOBS, sample_weight=weights)
    gone = np.random.default_rng(1).permutation(500)[:300]
    stay = np.setdiff1d(np.arange(500), gone)
    model.forget(gone, X=BLOBS[gone], sample_weight=weights[gone])
    check(model, stay, CLASSES)
    summary = model._summary
    leaf = summary.row_map.find_leaves(np.arange(200))
    np.testing.assert_allclose(summary.groups.weights, np.bincount(leaf, weights=weights[stay]))
    np.testing.assert_array_equal(summary.groups.sizes, np.bincount(leaf, weights=weights[stay] > 0))
    np.testing.assert_array_equal(summary.groups.first_rows, np.unique(leaf, return_index=True)[1])
    for number in range(len(summary.groups)):
        own = leaf == number
        mean = np.average(BLOBS[stay][own], axis=0, weights=weights[stay][own])
        np.testing.assert_allclose(summary.groups.means[number], mean, rtol=1e-6)


def test_rows_of_weight_0_take_no_mass_with_them_if_their_weights_are_given():
    weights = np.ones(500)
    weights[::2] = 0
    model = CoHiRF(n_clusters=3, batch_size=100, random_state=0).fit(BLOBS, sample_weight=weights)
    model.forget(np.arange(0, 500, 2), sample_weight=np.zeros(250))
    assert model._summary.groups.weights.sum() == 250
    assert model._summary.sizes.sum() == 250


def test_weights_that_the_rows_did_not_have_are_refused():
    model = CoHiRF(n_clusters=3, batch_size=100, random_state=0).fit(BLOBS, sample_weight=np.full(500, 2.0))
    with pytest.raises(ValueError, match="sample_weight is larger than the weights of these rows"):
        model.forget(np.arange(50), sample_weight=np.full(50, 1e6))
    assert len(model.labels_) == 500


@pytest.mark.parametrize("nothing", [{"rows": []}, {"rows": np.zeros(375, dtype=bool)}, {"updates": 3}])
def test_without_rows_to_forget_a_model_stays_as_it_is(nothing):
    model = blocks().forget(updates=3)
    changes, history = model.changes_, model.history_
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
        ({"rows": [1, 2], "X": BLOBS[:1]}, ValueError, "X has 1 rows, but 2 are forgotten"),
        ({"rows": [1, 2], "sample_weight": [1, 2]}, ValueError, "have no sample weights: leave sample_weight out"),
    ],
    ids=str,
)
def test_what_cannot_be_forgotten_is_refused(arguments, error, message, fitted):
    labels = fitted.labels_
    with pytest.raises(error, match=message):
        fitted.forget(**arguments)
    assert fitted.labels_ is labels
