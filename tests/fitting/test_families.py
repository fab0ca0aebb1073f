"""What a fit does for each family of base methods."""

import math
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    AgglomerativeClustering,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.decomposition import PCA
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline

from cohirf import CoHiRF
from cohirf.algorithm.base_method import BaseMethod
from cohirf.clusterers import GridDBSCAN, KernelKMeans, TorchKMeans
from cohirf.clusterers.quick_start import quick_start
from cohirf.fitting.families import (
    AsPublished,
    FindsDensity,
    FindsNumber,
    SpansTrees,
    TakesNumber,
    is_k_means,
)
from cohirf.fitting.merging import find_min_share
from cohirf.fitting.policy import QUICK
from cohirf.fitting.quick_k_means import QuickKMeans
from cohirf.fitting.settings import Settings
from cohirf.validation import Columns


def family_of(model):
    """Return the family of a model of four features."""
    return Settings.of(model._parameters, Columns(4)).family


def told(model, *, several_batches=False, one_view=False):
    """Return what the base method of a model is told, and how many clusters are asked for."""
    family = family_of(model)
    given = BaseMethod.of(family.default_method() if model.estimator is None else model.estimator)
    method = family.inner_method(given, several_batches=several_batches, one_view=one_view)
    return method.n_told, method.asked


@pytest.mark.parametrize(
    ("model", "family"),
    [
        (CoHiRF(), TakesNumber(is_chosen=True)),
        (CoHiRF(KMeans(5)), TakesNumber(5)),
        (CoHiRF(GaussianMixture(4)), TakesNumber(4)),
        (CoHiRF(make_pipeline(PCA(3), KMeans(6))), TakesNumber(6)),
        (CoHiRF(KernelKMeans(6, n_components=50)), TakesNumber(6)),
        (CoHiRF(KMeans(5), n_clusters=3), TakesNumber(3, is_required=True)),
        (CoHiRF(KMeans(5), n_clusters="auto"), TakesNumber(is_chosen=True)),
        (CoHiRF(AgglomerativeClustering(None, distance_threshold=1.0)), FindsNumber()),
        (CoHiRF(views=[KMeans(5), DBSCAN()]), FindsNumber()),
        (CoHiRF(DBSCAN()), FindsDensity()),
        (CoHiRF(GridDBSCAN(), n_clusters=3), FindsDensity(3, is_required=True)),
        (CoHiRF(DBSCAN(), n_clusters="auto"), FindsDensity(is_chosen=True)),
        (CoHiRF(HDBSCAN(copy=True)), SpansTrees()),
        (CoHiRF.as_published(KMeans(5)), AsPublished(method=TakesNumber())),
        (CoHiRF.as_published(DBSCAN()), AsPublished(method=FindsDensity())),
    ],
)
def test_the_family_follows_from_what_the_user_wrote(model, family):
    assert family_of(model) == family


def test_views_that_are_told_different_numbers_need_one_of_the_model():
    with pytest.raises(ValueError, match="told different numbers"):
        family_of(CoHiRF(views=[KMeans(5), KMeans(6), DBSCAN()]))


@pytest.mark.parametrize(
    ("model", "merge"),
    [
        (CoHiRF(KMeans(5)), "auto"),
        (CoHiRF(DBSCAN(), n_clusters=3), "compact"),
        (CoHiRF.as_published(KMeans(5)), "compact"),
        (CoHiRF.as_published(DBSCAN()), "compact"),
    ],
)
def test_only_methods_that_take_k_may_find_connected_clusters(model, merge):
    assert family_of(model).wanted_merge("auto") == merge


@pytest.mark.parametrize(
    ("model", "last"),
    [
        (CoHiRF(), True),
        (CoHiRF(KMeans(5)), True),
        (CoHiRF(DBSCAN()), False),
        (CoHiRF(DBSCAN(), n_clusters="auto"), True),
        (CoHiRF.as_published(KMeans(5)), False),
    ],
)
def test_clusters_last_in_updates_where_their_number_is_sought(model, last):
    assert family_of(model).clusters_last is last


def test_k_means_is_told_more_and_other_methods_only_in_batches():
    assert told(CoHiRF(KMeans(5))) == (20, 5)
    assert told(CoHiRF(n_clusters=5)) == (20, 5)
    assert told(CoHiRF(make_pipeline(PCA(2), MiniBatchKMeans(3)))) == (12, 3)
    assert told(CoHiRF(SpectralClustering(5))) == (5, 5)
    assert told(CoHiRF(SpectralClustering(5)), several_batches=True) == (20, 5)
    assert told(CoHiRF(AgglomerativeClustering(5)), several_batches=True, one_view=True) == (40, 5)
    assert told(CoHiRF(GaussianMixture(5), n_clusters=3), several_batches=True) == (12, 3)
    assert told(CoHiRF()) == (60, 15)


@pytest.mark.parametrize("several_batches", [False, True])
def test_a_base_method_that_is_given_is_the_one_that_runs(several_batches):
    for method in (KMeans(5), KMeans(5, n_init=1), MiniBatchKMeans(5)):
        given = BaseMethod.of(method)
        inner = family_of(CoHiRF(method)).inner_method(
            given, several_batches=several_batches, one_view=False
        )
        assert type(inner.prototype) is type(method)


def test_as_published_the_base_method_is_left_as_it_is():
    for several_batches in (False, True):
        assert told(CoHiRF.as_published(KMeans(5)), several_batches=several_batches) == (5, None)
    assert told(CoHiRF.as_published()) == (8, None)


@pytest.mark.parametrize("several_batches", [False, True])
def test_iterations_of_k_means_are_limited_and_the_users_method_is_not_changed(several_batches):
    base = make_pipeline(PCA(2), KMeans(3, max_iter=200))
    method = family_of(CoHiRF(base)).inner_method(
        BaseMethod.of(base), several_batches=several_batches, one_view=False
    )
    assert method.clusterer.max_iter == 10
    assert base[-1].get_params()["max_iter"] == 200
    few = TakesNumber(3).inner_method(
        BaseMethod.of(KMeans(3, max_iter=4)), several_batches=several_batches, one_view=False
    )
    assert few.clusterer.max_iter == 4


def test_k_means_in_several_batches_takes_few_steps_from_centres_among_few_rows():
    given = BaseMethod.of(quick_start(KMeans(3)))
    for several_batches, most in ((False, (10, math.inf)), (True, (3, 10))):
        method = TakesNumber(3).inner_method(given, several_batches=several_batches, one_view=False)
        assert (method.clusterer.max_iter, method.clusterer.seed_rows) == most
    assert AsPublished().inner_method(given, several_batches=True, one_view=False) is given


def test_k_means_on_torch_is_a_kind_of_k_means_and_kernel_k_means_is_not():
    assert is_k_means(BaseMethod.of(TorchKMeans(3)))
    assert not is_k_means(BaseMethod.of(KernelKMeans(3)))


def test_a_small_batch_is_told_fewer_but_not_fewer_than_asked_for():
    class Recorder(KMeans):
        calls: ClassVar[list[int]] = []

        def fit_predict(self, X, y=None, sample_weight=None):
            self.calls.append(self.n_clusters)
            return super().fit_predict(X)

    method = TakesNumber(4).inner_method(
        BaseMethod.of(Recorder(4, n_init=1)), several_batches=True, one_view=False
    )
    rng = np.random.default_rng(0)
    for n_rows in (60, 24, 6):
        method.label_rows(rng.normal(size=(n_rows, 2)), rng)
    assert Recorder.calls == [16, 8, 4]
    # fewer rows than asked for
    assert method.label_rows(np.array([[1.0], [2.0], [1.0]]), rng).tolist() == [
        0,
        1,
        0,
    ]


def state(n_active, n_batches=1, rows_held_aside=0, **facts):
    record = SimpleNamespace(n_batches=n_batches, rows_held_aside=rows_held_aside)
    return SimpleNamespace(
        **{"n_active": n_active, "record": record, "stalled": False, "converged": False} | facts
    )


def test_levels_end_when_all_rows_were_together_or_few_enough_are_left():
    finds = FindsNumber()
    knows = TakesNumber(5)
    assert finds.is_reached(state(10**6))
    assert not finds.is_reached(state(10, n_batches=3, rows_held_aside=4))
    assert knows.is_reached(state(8000, n_batches=3, rows_held_aside=4))
    assert not knows.is_reached(state(8001, n_batches=3, rows_held_aside=4))
    assert knows.is_reached(state(8001, n_batches=3, stalled=True))
    published = AsPublished()
    assert not published.is_reached(state(10))
    assert published.is_reached(state(10, converged=True))
    assert published.is_reached(state(10, n_batches=2, stalled=True))


def test_the_quick_k_means_fits_a_sample_and_assigns_all_rows(monkeypatch):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(400, 2)), rng.normal(size=(400, 2)) + 20])
    whole = QuickKMeans(2, random_state=0).fit_predict(X)
    monkeypatch.setitem(vars(QUICK), "rows_per_cluster", 20)
    sizes = []
    monkeypatch.setattr(
        "cohirf.rows.containers.numpy_arrays.KMeans.fit",
        lambda self, X, sample_weight=None, fit=KMeans.fit: (
            sizes.append(X.shape[0]) or fit(self, X, None, sample_weight)
        ),
    )
    sampled = QuickKMeans(2, random_state=0).fit_predict(X)
    assert sizes == [40]
    assert len(set(zip(whole.tolist(), sampled.tolist(), strict=True))) == 2
    weights = np.where(np.arange(800) < 400, 1.0, 2.0)
    assert len(QuickKMeans(2, random_state=0).fit(X, sample_weight=weights).labels_) == 800


def test_the_smallest_share_of_a_cluster_is_one_of_the_weight_of_all_rows(monkeypatch):
    monkeypatch.setattr("cohirf.rows.blocks.BLOCK_ROWS", 3)
    settings = SimpleNamespace(min_cluster_size=9, smallest_wanted=lambda total: 9.0)
    rows = {"n_rows": 12, "values": SimpleNamespace(n_rows=8)}
    weights = np.arange(1.0, 9.0)  # in three blocks
    assert find_min_share(settings, SimpleNamespace(weights=weights, **rows)) == 9 / 36
    assert find_min_share(settings, SimpleNamespace(weights=None, **rows)) == 9 / 12
