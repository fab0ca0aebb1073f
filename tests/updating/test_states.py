"""What holds for every state of a model, however it came about: by a fit, by updates, by a call that failed."""

from copy import deepcopy

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, load

BLOBS = make_blobs(300, centers=4, random_state=0)[0]
SPREAD = make_blobs(300, centers=4, cluster_std=2.0, random_state=0)[0]


def assert_shares(model):
    for values in (model.stability_, model.feature_agreement_):
        assert ((values > 0) & (values <= 1 + 1e-6) | np.isnan(values)).all()


@pytest.mark.parametrize("n_forgotten", [0, 40])
def test_stability_is_a_share_after_updates(n_forgotten, tmp_path):
    model = CoHiRF(KMeans(3, n_init=1), random_state=0).partial_fit(SPREAD[:150]).partial_fit(SPREAD[150:])
    model.forget(np.arange(n_forgotten))
    assert_shares(model)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").stability_, model.stability_)


class TrimmedKMeans(ClusterMixin, BaseEstimator):
    """K-Means that calls the rows that are furthest from their centre noise."""

    def __init__(self, n_clusters=3, share=0.1, random_state=None):
        self.n_clusters = n_clusters
        self.share = share
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        found = KMeans(self.n_clusters, n_init=1, random_state=self.random_state).fit(X, sample_weight=sample_weight)
        distance = found.transform(X).min(axis=1)
        self.labels_ = np.where(distance > np.quantile(distance, 1 - self.share), -1, found.labels_)
        return self


@pytest.mark.parametrize("batch_size", [None, 50])
@pytest.mark.parametrize("seed", [0, 1, 2, 26])
def test_former_noise_is_in_no_group_of_a_method_that_is_told_k(seed, batch_size):
    X = make_blobs(120, centers=4, cluster_std=2.0, random_state=seed)[0]
    model = CoHiRF(TrimmedKMeans(2, share=0.2), batch_size=batch_size, random_state=seed)
    for part in np.array_split(X, 4):
        model.partial_fit(part)
    assert len(model.labels_) == 120
    assert model.n_clusters_ == 2


class Interrupted(KMeans):
    """K-Means that is interrupted as soon as a row is very heavy."""

    def fit(self, X, y=None, sample_weight=None):
        if np.asarray(sample_weight).max() > 1e6:
            raise KeyboardInterrupt
        return super().fit(X, sample_weight=sample_weight)


def spoiling_calls():
    heavy = np.append(1e7, np.ones(49))
    return {
        "negative weights": (ValueError, lambda model: model.fit(np.ones((50, 5)), sample_weight=np.full(50, -1.0))),
        "other features": (ValueError, lambda model: model.fit(np.full((50, 7), np.nan))),
        "interrupted fit": (KeyboardInterrupt, lambda model: model.fit(np.ones((50, 5)), sample_weight=heavy)),
        "interrupted update": (
            KeyboardInterrupt,
            lambda model: model.partial_fit(np.ones((50, 5)), sample_weight=heavy),
        ),
        "too much forgotten": (ValueError, lambda model: model.forget(np.arange(300))),
    }


@pytest.mark.parametrize("updated", [False, True], ids=["after a fit", "after an update"])
@pytest.mark.parametrize("name", spoiling_calls())
def test_a_call_that_fails_leaves_the_model_as_it_was(name, updated):
    rng = np.random.default_rng(0)
    X = np.hstack([BLOBS, rng.normal(size=(300, 3))])
    model = CoHiRF(Interrupted(4, n_init=1), feature_screen=True, random_state=0).fit(X[:200])
    model = model.partial_fit(X[200:]) if updated else model.fit(X)
    before, labels = deepcopy(vars(model)), model.predict(X)
    error, call = spoiling_calls()[name]
    with pytest.raises(error):
        call(model)
    assert vars(model).keys() == before.keys()
    np.testing.assert_array_equal(model.predict(X), labels)
    np.testing.assert_array_equal(model.relevant_features_, before["relevant_features_"])
    assert model.n_features_in_ == 5
