"""The same labels and parents, however a fit is run."""

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from cohirf import CoHiRF

X = make_blobs(1500, 12, centers=6, cluster_std=4.0, random_state=0)[0]
MODELS = {
    "strict": CoHiRF(KMeans(6), max_features=0.5, random_state=0),
    "relaxed": CoHiRF(KMeans(6), consensus="relaxed", max_features=0.5, random_state=0),
    "weighted": CoHiRF(KMeans(6), medoid_weights=True, max_features=0.5, random_state=0),
    "majority": CoHiRF(KMeans(6), consensus="majority", n_views=7, max_features=0.5, random_state=0),
    "majority, weighted, batched": CoHiRF(
        KMeans(6), consensus="majority", medoid_weights=True, batch_size=300, max_features=0.5, random_state=0
    ),
    "rbf, few candidates": CoHiRF(KMeans(6), medoid="rbf", max_candidates=20, max_features=0.5, random_state=0),
    "batched": CoHiRF(KMeans(6), batch_size=300, max_features=0.5, random_state=0),
    "dbscan": CoHiRF(DBSCAN(eps=8.0), max_features=0.5, random_state=0),
}


@pytest.fixture(params=MODELS)
def model(request):
    return MODELS[request.param]


def result(model, **options):
    fitted = clone(model).set_params(**options).fit(X)
    return fitted.labels_.tobytes(), fitted.parents_.tobytes(), fitted.predict(X[::-1]).tobytes()


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_jobs_and_backends_do_not_matter(model, backend):
    serial = result(model, n_jobs=1)
    with joblib.parallel_config(backend=backend, max_nbytes=1000):
        assert result(model, n_jobs=2) == serial
    with joblib.parallel_config(backend=backend, n_jobs=2):
        assert result(model, n_jobs=None) == serial
    assert result(model, n_jobs=2) == serial


def test_the_number_of_blas_and_openmp_threads_does_not_matter(model):
    found = set()
    for threads in (1, 2):
        with threadpool_limits(limits=threads):
            found.add(result(model, n_jobs=1))
            found.add(result(model, n_jobs=2))
    assert len(found) == 1


def test_a_refitted_object_gives_the_same_as_a_fresh_one(model):
    refitted = clone(model).fit(X[::2]).fit(X)
    fresh = clone(model).fit(X)
    assert (refitted.parents_ == fresh.parents_).all()
    assert (refitted.labels_ == fresh.labels_).all()


class CountThreads(ClusterMixin, BaseEstimator):
    """Labels every row by the number of threads that BLAS and OpenMP may use."""

    def fit(self, X, y=None):
        self.labels_ = np.full(len(X), max(pool["num_threads"] for pool in threadpool_info()))
        self.labels_[0] = 0
        if self.labels_[1] != 1:
            raise AssertionError(f"{self.labels_[1]} threads")
        return self


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("batch_size", [None, 300])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_base_method_runs_on_one_thread_everywhere(backend, batch_size, n_jobs):
    model = CoHiRF(CountThreads(), max_features=0.5, batch_size=batch_size, n_jobs=n_jobs, random_state=0)
    with threadpool_limits(limits=2), joblib.parallel_config(backend=backend):
        assert model.fit(X).n_clusters_ > 1


def test_another_seed_gives_another_fit():
    parents = {CoHiRF(KMeans(6), max_features=0.5, random_state=seed).fit(X).parents_.tobytes() for seed in range(5)}
    assert len(parents) == 5


def test_a_random_state_instance_moves_on():
    rng = np.random.RandomState(0)
    model = CoHiRF(KMeans(6), max_features=0.5, random_state=rng)
    assert model.fit(X).parents_.tobytes() != model.fit(X).parents_.tobytes()


def test_seeds_of_the_base_do_not_matter():
    first = CoHiRF(KMeans(6, random_state=1), max_features=0.5, random_state=0).fit(X)
    assert (first.parents_ == CoHiRF(KMeans(6, random_state=2), max_features=0.5, random_state=0).fit(X).parents_).all()


def test_the_users_thread_limits_are_restored():
    with threadpool_limits(limits=2):
        before = [pool["num_threads"] for pool in threadpool_info()]
        CoHiRF(n_jobs=2).fit(X)
        assert [pool["num_threads"] for pool in threadpool_info()] == before
