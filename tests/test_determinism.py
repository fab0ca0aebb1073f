"""The same labels and parents, however a fit is run."""

import hashlib
import json
import os
import subprocess
import sys
from pathlib import Path

import joblib
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin, clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from threadpoolctl import threadpool_info, threadpool_limits

from cohirf import CoHiRF, open_source
from fit_hashes import hash_fits

X = make_blobs(200, 12, centers=6, cluster_std=4.0, random_state=0)[0]
SMALL = {"views": 3, "max_features": 0.5, "random_state": 0}
MODELS = {
    "strict": CoHiRF.as_published(KMeans(6), **SMALL),
    "relaxed": CoHiRF.as_published(KMeans(6), consensus="relaxed", **SMALL),
    "weighted": CoHiRF.as_published(KMeans(6), medoid_weights=True, **SMALL),
    "majority": CoHiRF.as_published(KMeans(6), consensus="majority", **SMALL | {"views": 5}),
    "majority, weighted, batched": CoHiRF.as_published(
        KMeans(6), consensus="majority", medoid_weights=True, batch_size=100, **SMALL
    ),
    "rbf": CoHiRF.as_published(KMeans(6), medoid="rbf", **SMALL),
    "batched": CoHiRF.as_published(KMeans(6), batch_size=50, **SMALL),
    "dbscan": CoHiRF.as_published(DBSCAN(eps=8.0), **SMALL),
}


@pytest.fixture(params=MODELS)
def name(request):
    return request.param


def hash_fit(fitted):
    found = [fitted.labels_, fitted.parents_, fitted.predict(X[::-1])]
    return hashlib.sha256(b"".join(part.tobytes() for part in found)).hexdigest()


def result(model, **options):
    return hash_fit(clone(model).set_params(**options).fit(X))


@pytest.fixture(scope="module")
def serial():
    """The result of each model with one job, and one thread of BLAS and OpenMP."""
    with threadpool_limits(limits=1):
        return {name: result(model, n_jobs=1) for name, model in MODELS.items()}


# All models with one configuration after the other: a change of it starts new processes. With
# max_nbytes, the data reach them as memory maps.
@pytest.mark.parametrize(
    "config",
    [
        pytest.param({}, marks=pytest.mark.slow),
        {"backend": "threading"},
        {"backend": "loky"},
        pytest.param({"backend": "loky", "max_nbytes": 1000}, marks=pytest.mark.slow),
    ],
    ids=str,
)
def test_jobs_and_backends_do_not_matter(config, serial):
    with joblib.parallel_config(**config):
        assert {name: result(model, n_jobs=2) for name, model in MODELS.items()} == serial
    with joblib.parallel_config(**config, n_jobs=2):
        assert result(MODELS["strict"], n_jobs=None) == serial["strict"]


def test_the_number_of_blas_and_openmp_threads_does_not_matter(name, serial):
    with threadpool_limits(limits=2):
        assert {result(MODELS[name], n_jobs=n_jobs) for n_jobs in (1, 2)} == {serial[name]}


def hash_fits_elsewhere(n_threads):
    """Run fit_hashes.py in a process whose BLAS and OpenMP start with so many threads."""
    threads = dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), str(n_threads)
    )
    script = Path(__file__).with_name("fit_hashes.py")
    run = subprocess.run(
        [sys.executable, script],
        env=os.environ | threads,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


@pytest.mark.slow
# the paper's fits of some seeds stay fine
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_twenty_seeds_have_one_result_each_in_serial_threads_and_processes_with_any_number_of_blas_threads():
    here = hash_fits()
    runs = [here, hash_fits_elsewhere(3 - min(here["threads"], 2))]
    assert runs[0]["threads"] != runs[1]["threads"]
    for name in ("strict", "relaxed and batched"):
        found = [
            hashes for run in runs for way, hashes in run["hashes"].items() if way.endswith(name)
        ]
        assert len(found) == 6
        assert [len(set(of_one_seed)) for of_one_seed in zip(*found, strict=True)] == [1] * 20
        assert len(set(found[0])) > 10


def test_a_refitted_object_gives_the_same_as_a_fresh_one(name, serial):
    assert hash_fit(clone(MODELS[name]).fit(X[::2]).fit(X)) == serial[name]


class CountThreads(ClusterMixin, BaseEstimator):
    """Labels every row by the number of threads that BLAS and OpenMP may use."""

    def fit(self, X, y=None):
        self.labels_ = np.full(len(X), max(pool["num_threads"] for pool in threadpool_info()))
        self.labels_[0] = 0
        if self.labels_[1] != 1:
            raise AssertionError(f"{self.labels_[1]} threads")
        return self


@pytest.mark.parametrize("backend", ["threading", "loky"])
@pytest.mark.parametrize("batch_size", [pytest.param(None, marks=pytest.mark.slow), 100])
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_base_method_runs_on_one_thread_everywhere(backend, batch_size, n_jobs):
    model = CoHiRF.as_published(
        CountThreads(), max_features=0.5, batch_size=batch_size, n_jobs=n_jobs, random_state=0
    )
    with threadpool_limits(limits=2), joblib.parallel_config(backend=backend):
        assert model.fit(X).n_clusters_ > 1


@pytest.mark.parametrize("batch_size", [None, 50])
def test_all_sources_have_one_result_which_is_that_of_an_array_unless_there_are_several_random_batches(
    batch_size, tmp_path
):
    np.save(tmp_path / "rows.npy", X)
    model = CoHiRF(KMeans(6, n_init=1), batch_size=batch_size, random_state=0)
    in_memory, as_source, from_file = (
        hash_fit(clone(model).fit(data))
        for data in (X, open_source(X), open_source(tmp_path / "rows.npy"))
    )
    assert as_source == from_file
    assert (in_memory == from_file) == (batch_size is None)


def test_another_seed_gives_another_fit():
    parents = {
        clone(MODELS["strict"]).set_params(random_state=seed).fit(X).parents_.tobytes()
        for seed in range(4)
    }
    assert len(parents) == 4


def test_a_random_state_instance_moves_on():
    rng = np.random.RandomState(0)
    model = clone(MODELS["strict"]).set_params(random_state=rng)
    assert model.fit(X).parents_.tobytes() != model.fit(X).parents_.tobytes()


def test_seeds_of_the_base_do_not_matter():
    models = [CoHiRF.as_published(KMeans(6, random_state=seed), **SMALL) for seed in (1, 2)]
    assert result(models[0]) == result(models[1])


def test_the_users_thread_limits_are_restored():
    with threadpool_limits(limits=2):
        before = [pool["num_threads"] for pool in threadpool_info()]
        CoHiRF.as_published(n_jobs=2).fit(X)
        assert [pool["num_threads"] for pool in threadpool_info()] == before
