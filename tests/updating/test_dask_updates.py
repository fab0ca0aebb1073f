"""Updates with rows on Dask, against the same updates on one machine."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, load, open_source

pytestmark = pytest.mark.slow  # what they show is shown by shorter tests, too

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

X, CLASSES = make_blobs(900, n_features=4, centers=3, random_state=0)
PARTS = np.array_split(np.arange(len(X)), 3)


@pytest.fixture(scope="module")
def client():
    cluster = distributed.LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    )
    with cluster, distributed.Client(cluster) as client:
        yield client


def model():
    return CoHiRF(KMeans(3, n_init=1), batch_size=100, views=2, random_state=0)


def on_dask(rows):
    return da.from_array(X[rows], chunks=(77, 4))


@pytest.mark.parametrize("with_weights", [False, True])
def test_updates_on_a_cluster_are_those_on_one_machine(client, with_weights):
    weights = np.random.default_rng(0).uniform(1, 2, len(X)) if with_weights else None
    here = model()
    there = model()
    for rows in PARTS:
        given = None if weights is None else weights[rows]
        here.partial_fit(X[rows], sample_weight=given)
        there.partial_fit(
            on_dask(rows), sample_weight=None if given is None else da.from_array(given, chunks=50)
        )
    np.testing.assert_array_equal(there.labels_, here.labels_)
    assert there.hierarchy_ == here.hierarchy_


def test_updates_with_dask_arrays_need_no_cluster():
    here = model()
    there = model()
    for rows in PARTS:
        here.partial_fit(X[rows])
        there.partial_fit(on_dask(rows))
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_density_methods_are_updated_with_dask_arrays():
    here, there = (CoHiRF(DBSCAN(1.0), batch_size=200, random_state=0) for _ in range(2))
    for rows in PARTS:
        here.partial_fit(X[rows])
        there.partial_fit(on_dask(rows))
    np.testing.assert_array_equal(there.labels_, here.labels_)


def test_a_model_that_was_fitted_on_dask_keeps_its_results_there(client):
    here = model().fit(open_source(X[PARTS[0]])).partial_fit(X[PARTS[1]])
    there = model().fit(da.from_array(X[PARTS[0]], chunks=(60, 4))).partial_fit(on_dask(PARTS[1]))
    assert isinstance(there.labels_, da.Array)
    assert there.hierarchy_.row_sizes.sum() == len(PARTS[0]) + len(PARTS[1])
    for name in ("labels_", "parents_", "stability_"):
        np.testing.assert_array_equal(getattr(there, name).compute(), getattr(here, name))


def test_a_model_on_dask_is_gathered_saved_and_updated(client, tmp_path):
    there = model().fit(da.from_array(X[PARTS[0]], chunks=(60, 4))).partial_fit(on_dask(PARTS[1]))
    labels = there.labels_.compute()
    there.gather()
    np.testing.assert_array_equal(there.labels_, labels)
    there.save(tmp_path / "model")
    loaded = load(tmp_path / "model")
    for updated in (there, loaded):
        updated.partial_fit(X[PARTS[2]])
        assert isinstance(updated.labels_, np.ndarray)
    np.testing.assert_array_equal(there.labels_, loaded.labels_)
    assert there.hierarchy_ == loaded.hierarchy_
