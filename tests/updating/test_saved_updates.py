"""A model with updates is saved with all that later updates need."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons

from cohirf import CoHiRF, load

BLOBS, _ = make_blobs(400, n_features=4, centers=3, random_state=0)
MOONS, _ = make_moons(600, noise=0.05, random_state=0)

CASES = {
    "pending": (CoHiRF(n_clusters=3, views=2), BLOBS),
    "blocks": (CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2), BLOBS),
    "blocks, CSR": (CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2), sparse.csr_array(BLOBS)),
    "density": (CoHiRF(DBSCAN(0.2)), MOONS),
}


@pytest.fixture(params=CASES)
def model_and_rows(request):
    model, X = CASES[request.param]
    model = CoHiRF(**model.get_params(deep=False)).set_params(random_state=0)
    n_rows = X.shape[0]
    for start, stop in ((0, n_rows // 2), (n_rows // 2, n_rows - 100)):
        model.partial_fit(X[start:stop])
    return model, X


def update(model, X):
    model.partial_fit(X[-100:])
    return model


def assert_same_results(one, other):
    for name in (
        "labels_",
        "parents_",
        "stability_",
        "cluster_numbers_",
        "medoid_indices_",
        "exemplar_indices_",
    ):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name))
    assert one.hierarchy_ == other.hierarchy_
    assert one.changes_ == other.changes_
    assert one.history_ == other.history_
    assert one._state.summary.value.update_rows == other._state.summary.value.update_rows


def test_a_loaded_or_pickled_model_is_updated_as_the_saved_one(model_and_rows, tmp_path):
    model, X = model_and_rows
    model.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    pickled = pickle.loads(pickle.dumps(model))
    assert_same_results(loaded, model)
    expected = update(model, X)
    for copy in (loaded, pickled):
        assert_same_results(update(copy, X), expected)
    expected.save(tmp_path / "updated")
    load(tmp_path / "updated").save(tmp_path / "again")
    assert (tmp_path / "updated").read_bytes() == (tmp_path / "again").read_bytes()
