"""predict of the rows of a fit returns labels_ in every row, wherever they are, if groups are
cells.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import BisectingKMeans, KMeans, MiniBatchKMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from cohirf import CoHiRF, load, open_source

TOUCHING = make_blobs(1200, 6, centers=5, center_box=(-2, 2), random_state=0)[0]
CLOUD = np.random.default_rng(0).normal(size=(10_500, 3))  # more rows than landmarks
MOONS = make_moons(1000, noise=0.06, random_state=0)[0]


@pytest.mark.parametrize("X", [TOUCHING, CLOUD, MOONS], ids=["touching", "cloud", "moons"])
@pytest.mark.parametrize("merge", ["compact", "connected"])
def test_in_memory_for_any_shape(X, merge, tmp_path):
    model = CoHiRF(n_clusters=3, merge=merge, random_state=0).fit(X)
    assert model.n_clusters_ == 3
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    np.testing.assert_array_equal(model.predict(X[::-7]), model.labels_[::-7])  # in other blocks
    np.testing.assert_array_equal(model.hierarchy_.cut(n_clusters=3), model.labels_)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict(X), model.labels_)


@pytest.mark.parametrize(
    ("base", "opened"),
    [
        (KMeans(4, n_init=1), np.asarray),
        (KMeans(4, n_init=1), sparse.csr_array),
        (KMeans(4, n_init=1), np.float32),
        (MiniBatchKMeans(4, n_init=1), open_source),
        (BisectingKMeans(4), np.asarray),
    ],
)
def test_in_batches_from_any_kind_of_data(base, opened):
    X = TOUCHING if opened is open_source else opened(TOUCHING)
    data = opened(X) if opened is open_source else X
    model = CoHiRF(base, views=2, batch_size=200, random_state=0).fit(data)
    assert model.n_clusters_ == 4
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("merge", ["compact", "connected"])
def test_on_dask(merge):
    da = pytest.importorskip("dask.array")
    distributed = pytest.importorskip("distributed")
    X = da.from_array(TOUCHING, chunks=((300, 400, 500), (6,)))
    with distributed.Client(
        processes=False, n_workers=1, threads_per_worker=1, dashboard_address=":0"
    ):
        model = CoHiRF(n_clusters=4, merge=merge, views=2, batch_size=400, random_state=0).fit(X)
        labels = np.asarray(model.labels_)
        found = model.predict(X).compute()
    assert model.choice_.merge == merge
    np.testing.assert_array_equal(found, labels)
    np.testing.assert_array_equal(model.predict(TOUCHING), labels)


def test_of_any_method_in_batches_if_clusters_are_connected():
    turn = np.tile(np.linspace(1, 9, 300), 3)
    arm = np.repeat(np.arange(3), 300)
    angle = turn + 2 * np.pi / 3 * arm
    spirals = (turn * [np.cos(angle), np.sin(angle)]).T
    model = CoHiRF(GaussianMixture(3), views=2, batch_size=150, random_state=0).fit(spirals)
    assert model.choice_.merge == "connected"
    assert adjusted_rand_score(arm, model.labels_) == 1
    np.testing.assert_array_equal(model.predict(spirals), model.labels_)


def test_with_weights_of_0():
    weights = np.random.default_rng(0).integers(0, 3, len(TOUCHING)).astype(float)
    model = CoHiRF(n_clusters=4, random_state=0).fit(TOUCHING, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(TOUCHING), model.labels_)


def test_equal_rows_are_in_one_group():
    X = np.repeat(MOONS[:40], 3, axis=0)
    model = CoHiRF(n_clusters=2, merge="connected", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert (model.labels_.reshape(40, 3) == model.labels_[::3, None]).all()


def test_a_rare_cluster_is_found_also_if_no_sample_has_it():
    X, y = make_blobs([40_000, 40_000, 5], centers=[[0, 0], [20, 0], [0, 900]], random_state=0)
    model = CoHiRF(n_clusters=3, merge="compact", random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    assert len(set(model.labels_[y == 2])) == 1
