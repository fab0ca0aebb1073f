"""``stability_`` and ``feature_agreement_`` of whole fits."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, make_blobs

from cohirf import CoHiRF, open_source

X, Y = make_blobs(300, 6, centers=3, cluster_std=0.5, random_state=0)
DIGITS = load_digits().data


def test_separated_clusters_are_sure():
    model = CoHiRF.as_published(KMeans(3, n_init=5), max_features=0.5, random_state=0).fit(X)
    assert model.stability_.dtype == np.float32
    assert model.stability_.mean() > 0.95
    assert model.feature_agreement_.shape == (6,)
    assert model.feature_agreement_.min() > 0.9


def test_views_that_cannot_differ_are_sure_of_everything():
    model = CoHiRF.as_published(DBSCAN(eps=2.0), views=3, random_state=0).fit(X)
    assert (model.stability_ == 1).all()
    assert (model.feature_agreement_ == 1).all()


def test_rows_between_clusters_are_less_sure_than_rows_inside():
    between = (X[Y == 0].mean(axis=0) + X[Y == 1].mean(axis=0)) / 2
    rows = np.r_[X, between + 0.3 * np.random.default_rng(0).standard_normal((10, 6))]
    options = {"views": 15, "max_features": 0.5, "consensus": "majority", "random_state": 0}
    model = CoHiRF.as_published(KMeans(3, n_init=5), **options).fit(rows)
    assert model.stability_[300:].mean() < model.stability_[:300].mean()


def test_the_first_level_of_the_record_is_the_mean_over_rows():
    model = CoHiRF.as_published(KMeans(10, n_init=1), max_iter=1, random_state=0)
    with pytest.warns(UserWarning, match="max_iter"):
        model.fit(DIGITS)
    assert model.diagnostics_[0].stability == pytest.approx(model.stability_.mean(), rel=1e-5)


def test_rows_that_took_no_part_are_unknown():
    weights = np.ones(len(X))
    weights[:5] = 0
    model = CoHiRF.as_published(KMeans(3), random_state=0).fit(X, sample_weight=weights)
    assert np.isnan(model.stability_[:5]).all()
    assert not np.isnan(model.stability_[5:]).any()


def test_out_of_core_it_is_kept_on_disk_and_is_the_same_for_every_storage():
    options = {"views": 3, "max_features": 0.5, "batch_size": 60, "random_state": 0}
    model = CoHiRF.as_published(KMeans(3, n_init=1), **options).fit(open_source(X))
    assert isinstance(model.stability_, np.memmap)
    assert not np.isnan(model.stability_).any()
    again = CoHiRF.as_published(KMeans(3, n_init=1), n_jobs=2, **options).fit(open_source(X))
    assert (model.stability_ == again.stability_).all()
    assert (model.feature_agreement_ == again.feature_agreement_).all()


def test_a_resumed_fit_has_the_same(tmp_path):
    model = CoHiRF.as_published(
        KMeans(3),
        views=3,
        max_features=0.5,
        batch_size=60,
        checkpoint=tmp_path / "fit",
        random_state=0,
    )
    first = model.fit(X).stability_.copy()
    agreement = model.feature_agreement_
    assert (model.fit(X).stability_ == first).all()
    assert (model.feature_agreement_ == agreement).all()
