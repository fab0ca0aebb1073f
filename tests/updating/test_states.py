"""What holds for every state of a model, however it came about: by a fit, by updates, by a call
that failed.
"""

from collections import Counter
from copy import deepcopy
from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF, load, merge
from cohirf.app.explain import write_report
from cohirf.facts import FitFacts
from cohirf.rows.later import Later

BLOBS = make_blobs(300, centers=4, random_state=0)[0]
SPREAD = make_blobs(300, centers=4, cluster_std=2.0, random_state=0)[0]


def assert_shares(model):
    for values in (model.stability_, model.feature_agreement_):
        assert ((values > 0) & (values <= 1 + 1e-6) | np.isnan(values)).all()


@pytest.mark.parametrize("n_forgotten", [0, 40])
def test_stability_is_a_share_after_updates(n_forgotten, tmp_path):
    model = (
        CoHiRF(KMeans(3, n_init=1), random_state=0)
        .partial_fit(SPREAD[:150])
        .partial_fit(SPREAD[150:])
    )
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
        found = KMeans(self.n_clusters, n_init=1, random_state=self.random_state).fit(
            X, sample_weight=sample_weight
        )
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
        if sample_weight is not None and np.max(sample_weight) > 1e6:
            raise KeyboardInterrupt
        return super().fit(X, sample_weight=sample_weight)


def spoiling_calls():
    heavy = np.append(1e7, np.ones(49))
    rows = np.random.default_rng(0).normal(size=(50, 5))
    return {
        "negative weights": (
            ValueError,
            lambda model: model.fit(np.ones((50, 5)), sample_weight=np.full(50, -1.0)),
        ),
        "other features": (ValueError, lambda model: model.fit(np.full((50, 7), np.nan))),
        "interrupted fit": (KeyboardInterrupt, lambda model: model.fit(rows, sample_weight=heavy)),
        "interrupted update": (
            KeyboardInterrupt,
            lambda model: model.partial_fit(np.ones((50, 5)), sample_weight=heavy),
        ),
        "too much forgotten": (ValueError, lambda model: model.forget(np.arange(300))),
    }


FIVE_FEATURES = np.hstack([BLOBS, np.random.default_rng(0).normal(size=(300, 3))])


@pytest.fixture(scope="module", params=[False, True], ids=["after a fit", "after an update"])
def fitted(request):
    model = CoHiRF(Interrupted(4, n_init=1), random_state=0).fit(FIVE_FEATURES[:200])
    return model.partial_fit(FIVE_FEATURES[200:]) if request.param else model.fit(FIVE_FEATURES)


@pytest.mark.parametrize("name", spoiling_calls())
def test_a_call_that_fails_leaves_the_model_as_it_was(name, fitted):
    X = FIVE_FEATURES
    model = deepcopy(fitted)
    before = dict(vars(model))
    labels = model.predict(X)
    error, call = spoiling_calls()[name]
    with pytest.raises(error):
        call(model)
    assert vars(model) == before
    np.testing.assert_array_equal(model.predict(X), labels)
    assert model.n_features_in_ == 5


def updated_in_blocks(X, **parameters):
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2, random_state=0, **parameters)
    for part in np.array_split(X, 4):
        model.partial_fit(part)
    return model


def forget_medoids(model):
    """Forget all rows of a model whose values it knows; return the numbers of those that stay."""
    gone = np.union1d(
        model.landmark_indices_, model._state.summary.value.without_pending().groups.rows
    )
    model.forget(gone)
    return np.setdiff1d(np.arange(len(model.labels_) + len(gone)), gone)


def test_the_data_of_a_model_is_recognised_after_its_medoids_were_forgotten(tmp_path):
    model = updated_in_blocks(BLOBS)
    X = BLOBS[forget_medoids(model)]
    assert not (model.medoids_ == X[model.medoid_indices_]).all()
    model.save(tmp_path / "model")
    for held in (model, load(tmp_path / "model")):
        assert held.explain(held.cluster_numbers_[0], X) is not None
        write_report(held, X, tmp_path / "report.html")
        later = held.partial_fit(BLOBS[:60])
        assert later.explain(later.cluster_numbers_[0], np.concatenate([X, BLOBS[:60]])) is not None


def test_a_new_medoid_is_the_known_row_nearest_to_the_mean_in_euclidean_distance():
    X = make_blobs(300, n_features=5, centers=3, random_state=0)[0]
    model = CoHiRF(KMeans(3, n_init=1), batch_size=60, views=2, random_state=0).fit(X)
    gone = model._state.summary.value.groups.rows
    model.forget(gone)
    left = np.delete(X, gone, axis=0)
    leaves = model._state.summary.value.groups
    leaf_of = model._state.summary.value.row_map.find_leaves(np.arange(len(left)))
    for leaf, mean in enumerate(leaves.means):
        own = np.flatnonzero(leaf_of == leaf)
        assert leaves.rows[leaf] == own[np.linalg.norm(left[own] - mean, axis=1).argmin()]


def count_moved(before, after):
    return int(((before >= 0) & (before != after)).sum())


@pytest.mark.parametrize("batch_size", [None, 40])
def test_changes_count_rows_of_weight_0(batch_size):
    rng = np.random.default_rng(0)
    weights = (rng.random(300) < 0.5).astype(float)
    model = CoHiRF(KMeans(3, n_init=1), batch_size=batch_size, views=2, random_state=0)
    sizes = {}
    labels = np.empty(0, dtype=int)
    for part in np.array_split(np.arange(300), 6):
        model.partial_fit(SPREAD[part], sample_weight=weights[part])
        now = Counter(model.labels_.tolist())
        changes = model.changes_
        assert changes.n_moved == count_moved(labels, model.labels_[: len(labels)])
        assert changes.born == {number: now[number] for number in now if number not in sizes}
        assert changes.grown == {
            n: now[n] - sizes[n] for n in now.keys() & sizes.keys() if now[n] > sizes[n]
        }
        assert model.history_[-1].n_rows == len(model.labels_)
        sizes = now
        labels = model.labels_.copy()
    model.forget(np.arange(100))
    assert model.changes_.n_moved == count_moved(labels[100:], model.labels_)
    assert model.history_[-1].sizes == Counter(model.labels_.tolist())


def test_columns_of_transform_have_the_numbers_of_clusters():
    model = updated_in_blocks(BLOBS)
    model.set_params(n_clusters=2).forget(model.labels_ == 0)
    numbers = model.cluster_numbers_.tolist()
    assert numbers != [0, 1]
    assert model.get_feature_names_out().tolist() == [f"cohirf{number}" for number in numbers]
    table = model.set_output(transform="pandas").transform(BLOBS)
    for number, medoid in zip(numbers, model.medoids_, strict=True):
        np.testing.assert_allclose(table[f"cohirf{number}"], np.linalg.norm(BLOBS - medoid, axis=1))


def test_outlier_scores_do_not_exist_if_a_row_is_not_kept():
    weighted = CoHiRF(n_clusters=3, random_state=0).fit(
        BLOBS, sample_weight=np.append(0.0, np.ones(299))
    )
    with pytest.raises(AttributeError, match="kept 299 of 300"):
        _ = weighted.outlier_scores_


def test_an_updated_model_of_noise_alone_can_be_saved(tmp_path):
    with pytest.warns(ConvergenceWarning, match="noise"):
        model = CoHiRF(DBSCAN(1e-3), random_state=0).partial_fit(SPREAD)
    assert model.n_clusters_ == 0
    model.save(tmp_path / "model")
    assert (load(tmp_path / "model").labels_ == -1).all()


@pytest.mark.parametrize("batch_size", [None, 100])
def test_the_state_says_whether_rows_have_weights(batch_size, tmp_path):
    model = CoHiRF(n_clusters=3, batch_size=batch_size, random_state=0).fit(BLOBS)
    assert not model._state.is_weighted
    model.partial_fit(BLOBS[:50], sample_weight=np.full(50, 2.0))
    assert model._state.is_weighted
    model.save(tmp_path / "model")
    assert load(tmp_path / "model")._state.is_weighted
    plain = CoHiRF(n_clusters=3, batch_size=batch_size, random_state=0).fit(BLOBS)
    assert merge([plain, model])._state.is_weighted
    assert not merge([plain, plain])._state.is_weighted


def test_facts_of_a_fit_do_not_make_what_updates_need():
    given = CoHiRF(n_clusters=3, random_state=0).fit(BLOBS)
    unmade = Later(lambda: pytest.fail("what updates need was made"))
    given._become(replace(given._state, summary=unmade))
    assert FitFacts.of(given).choice.n_halves > 0
    weighted = CoHiRF(n_clusters=3, random_state=0).fit(BLOBS, sample_weight=np.full(300, 2.0))
    assert FitFacts.of(weighted).choice.n_halves == 0
