"""One odd day does not destroy a model: clusters go on, and rows of a new kind get a new one."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, load
from cohirf.algorithm.consensus import fold_views, strict_consensus
from cohirf.beyond.batch_steps import divide_consensus
from cohirf.updating.arrivals import find_born

FIVE, _ = make_blobs(500, centers=5, cluster_std=0.6, random_state=0)
RNG = np.random.default_rng(0)
ODD = RNG.normal(size=(100, 2)) * 0.3 + 100
MODELS = {
    "chosen": {},
    "given": {"n_clusters": 5},
    "blocks": {"n_clusters": 5, "batch_size": 60},
    "told": {"estimator": KMeans(5, n_init=1)},
    "density": {"estimator": DBSCAN(0.4), "n_clusters": 5},
}


@pytest.mark.parametrize("name", MODELS)
def test_five_clusters_and_rows_of_a_new_kind_are_five_and_one(name, tmp_path):
    model = CoHiRF(random_state=0, **MODELS[name]).fit(FIVE)
    before = model.labels_.copy()
    choice = model.choice_
    assert model.n_clusters_ == 5
    model.partial_fit(ODD)
    np.testing.assert_array_equal(model.labels_[:500], before)
    np.testing.assert_array_equal(model.labels_[500:], 5)
    np.testing.assert_array_equal(model.predict(ODD), 5)
    assert (model.changes_.born, model.changes_.n_moved) == ({5: 100}, 0)
    assert str(model.history_[-1]) == "new: 5"
    assert model.choice_ is choice
    model.save(tmp_path / "model")
    later = load(tmp_path / "model").partial_fit(
        np.concatenate([FIVE[:30] + 0.01, ODD[:20] + 0.01])
    )
    assert (later.n_clusters_, later.changes_.n_moved) == (6, 0)
    clustered = before >= 0  # with more rows near to it, noise of DBSCAN can get a cluster
    np.testing.assert_array_equal(
        later.forget(updates=1).labels_[:500][clustered], before[clustered]
    )
    assert set(later.cluster_numbers_) == {0, 1, 2, 3, 4, 5}


@pytest.mark.parametrize("name", ["given", "blocks", "told", "density"])
def test_recluster_chooses_again(name):
    model = CoHiRF(random_state=0, **MODELS[name]).fit(FIVE).partial_fit(ODD)
    moved = model.labels_.copy()
    assert model.recluster() is model
    assert model.n_clusters_ == 5
    assert model.changes_.verb == "recluster"
    assert model.changes_.n_moved == (moved != model.labels_).sum() > 0
    assert str(model.changes_).startswith("Update 1: clusters found anew,")


@pytest.mark.parametrize("name", ["given", "blocks"])
def test_known_rows_keep_their_cluster_where_another_is_born(name):
    model = CoHiRF(random_state=0, **MODELS[name]).fit(FIVE)
    known = FIVE[:60] + 0.01
    expected = model.predict(known)
    model.partial_fit(np.concatenate([ODD, known]))
    np.testing.assert_array_equal(model.labels_[500:600], 5)
    np.testing.assert_array_equal(model.labels_[600:], expected)


def test_few_odd_rows_join_the_nearest_cluster():
    model = CoHiRF(random_state=0).fit(FIVE)
    expected = model.predict(ODD[:10])
    np.testing.assert_array_equal(model.partial_fit(ODD[:10]).labels_[500:], expected)
    assert model.changes_.born == {}


def test_noise_stays_noise():
    X = np.concatenate([FIVE, ODD[:10]])
    model = CoHiRF(n_clusters=6, min_cluster_size=20, random_state=0).fit(X)
    assert (model.n_clusters_, (model.labels_ == -1).sum()) == (5, 10)
    model.partial_fit(FIVE[:50] + 0.01)
    assert (model.labels_[500:510] == -1).all()
    assert (model.partial_fit(ODD[20:60]).labels_[-40:] == 5).all()


BOTH = np.concatenate([RNG.normal(50, size=(50, 2)), RNG.normal(-50, size=(50, 2))])
LEVELS = RNG.integers(0, 3, size=(900, 4)).astype(float)
KINDS = {
    "the same kind": (FIVE[:250], FIVE[250:], 0),
    "more rows than known ones": (FIVE[:100], FIVE[100:200], 0),
    "one kind": (FIVE, ODD, 1),
    "two kinds": (FIVE, BOTH, 2),
    "one of two": (FIVE, np.concatenate([FIVE[:100] + 0.01, ODD]), 1),
    "ten rows": (FIVE, ODD[:10], 0),
    "few known rows": (FIVE[:5], ODD, 0),
    "the same rows again": (np.repeat(FIVE[:20], 12, axis=0), np.repeat(FIVE[:20], 12, axis=0), 0),
    "values that are repeated": (LEVELS[:450], LEVELS[450:], 0),
    "a value that is new": (LEVELS[LEVELS[:, 0] < 2], LEVELS[LEVELS[:, 0] == 2] + [5, 0, 0, 0], 1),
    "far from the origin": (FIVE + 1e6, ODD + 1e6, 1),
}


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", KINDS)
def test_clusters_are_born_of_rows_of_a_new_kind(name, kind):
    known, new, n_born = KINDS[name]
    assert find_born(kind(known), kind(new)).max() + 1 == n_born


def test_noise_stays_last_where_a_consensus_is_divided():
    codes = fold_views([np.array([0, 0, 0, 0, 1, 1, -1])], n_rows=7)
    divided = divide_consensus(strict_consensus(codes), np.array([3, 3, 2, 2, 3, 3, 2]))
    np.testing.assert_array_equal(divided.labels, [1, 1, 0, 0, 2, 2, 3])
    assert (divided.n_clusters, divided.n_noise, divided.divides_codes) == (4, 1, True)


def test_rows_that_are_set_aside_are_counted_after_an_update():
    blobs, _ = make_blobs(300, centers=[[0, 0], [20, 0], [0, 20]], random_state=0)
    model = CoHiRF(random_state=0).fit(np.r_[blobs, [[1e4, 1e4]]])
    assert model.choice_.n_aside == 1
    model.forget([300])
    assert (model.choice_.n_aside, np.count_nonzero(model.labels_ == -1)) == (0, 0)
