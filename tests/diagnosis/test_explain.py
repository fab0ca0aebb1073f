"""explain: which features made a cluster."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris, make_blobs

import cohirf.diagnosis.explain
from cohirf import CoHiRF, open_source
from cohirf.diagnosis.effects import measure_effects, measure_spread

pytest.importorskip("pandas")

IRIS = load_iris(as_frame=True).data


@pytest.fixture(scope="module")
def model():
    return CoHiRF.as_published(
        KMeans(3, n_init=1), n_views=10, max_features=0.5, consensus="majority", random_state=0
    ).fit(IRIS)


def test_effects_are_those_of_the_report_on_all_rows(model):
    X = IRIS.to_numpy()
    expected = measure_effects(X, measure_spread(X), model.labels_, np.array([1]))
    table = model.explain(1, IRIS).loc[list(IRIS.columns)]
    np.testing.assert_allclose(table["effect"], expected.effect[0])
    np.testing.assert_allclose(table["mean"], expected.mean[0])
    np.testing.assert_allclose(table["mean_elsewhere"], expected.mean_elsewhere[0])
    np.testing.assert_allclose(table["views_agree"], model.feature_agreement_)


def test_the_strongest_come_first(model):
    effects = model.explain(0, IRIS)["effect"].abs()
    assert effects.is_monotonic_decreasing


def test_blocks_add_up(model, monkeypatch):
    whole = model.explain(0, IRIS)
    monkeypatch.setattr(cohirf.diagnosis.explain, "BLOCK_CELLS", 28)
    in_blocks = model.explain(0, IRIS)
    np.testing.assert_allclose(in_blocks.to_numpy(), whole.to_numpy())


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array, open_source])
def test_data_is_read_from_whatever_holds_it(container):
    X = IRIS.to_numpy()
    fitted = CoHiRF.as_published(KMeans(3, n_init=1), random_state=0).fit(container(X))
    dense = CoHiRF.as_published(KMeans(3, n_init=1), random_state=0).fit(X)
    fitted.labels_ = dense.labels_  # the values are looked at here
    fitted.medoid_indices_, fitted.medoids_ = dense.medoid_indices_, dense.medoids_
    np.testing.assert_allclose(fitted.explain(0, container(X))["effect"], dense.explain(0, X)["effect"], atol=1e-9)


def test_large_numbers_keep_their_digits(model):
    far = CoHiRF.as_published(KMeans(3, n_init=1), n_views=10, max_features=0.5, random_state=0).fit(IRIS + 1e7)
    far.labels_, far.medoid_indices_ = model.labels_, model.medoid_indices_
    far.medoids_ = model.medoids_ + 1e7
    np.testing.assert_allclose(far.explain(0, IRIS + 1e7)["effect"], model.explain(0, IRIS)["effect"], rtol=1e-6)


def test_without_data_it_is_made_from_the_rows_that_were_kept(model):
    np.testing.assert_allclose(model.explain(2).to_numpy(), model.explain(2, IRIS).to_numpy())


def test_noise_features_are_in_views_that_agree_less():
    X, _ = make_blobs(500, 4, centers=3, cluster_std=1.0, random_state=1)
    X = np.c_[X, 3 * np.random.default_rng(0).standard_normal((500, 4))]
    model = CoHiRF.as_published(KMeans(3), n_views=60, max_features=3, consensus="majority", random_state=0).fit(X)
    assert model.feature_agreement_[:4].mean() > model.feature_agreement_[4:].mean() + 0.1


@pytest.mark.parametrize("cluster", [99, -1, 0.5, "a"])
def test_a_cluster_that_is_not_there_is_named(model, cluster):
    with pytest.raises(
        ValueError,
        match=f"cluster={cluster!r} is not a cluster of this model: pass an int from 0 to {model.n_clusters_ - 1}",
    ):
        model.explain(cluster, IRIS)


def test_the_only_cluster_has_no_effects():
    model = CoHiRF.as_published(KMeans(1, n_init=1), random_state=0).fit(IRIS)
    assert (model.explain(0, IRIS)["effect"] == 0).all()


@pytest.mark.filterwarnings("ignore:All of the rows are noise")
def test_a_model_of_noise_says_that_it_has_no_clusters_to_explain():
    model = CoHiRF(DBSCAN(eps=1e-6), random_state=0).fit(np.random.default_rng(0).normal(size=(50, 3)))
    with pytest.raises(ValueError, match="cluster=0 is not a cluster of this model: it has none, because every row"):
        model.explain(0)
