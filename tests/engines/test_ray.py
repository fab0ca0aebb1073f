"""Fits on Ray: on a stand-in for it in this process, and, slowly, on workers of Ray itself."""

import os
import sys
import threading
import time

import numpy as np
import psutil
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

import stand_in_ray
from cohirf import CoHiRF, open_source
from cohirf.engines import RayEngine
from cohirf.engines.policy import RAY
from cohirf.engines.ray import find_smallest_node, naming_faults, refuse_unready

K_MEANS = KMeans(4, n_init=1)
MODELS = {
    "defaults": CoHiRF(n_clusters=4, views=3, batch_size=300, random_state=0),
    "k-means": CoHiRF.as_published(
        K_MEANS, views=3, max_features=0.6, batch_size=300, random_state=0
    ),
    "dbscan": CoHiRF(DBSCAN(eps=1.2), batch_size=400, random_state=0),
}


@pytest.fixture(scope="module")
def X():  # noqa: N802 - what scikit-learn calls data
    return make_blobs(1500, n_features=5, centers=4, cluster_std=0.8, random_state=3)[0].astype(
        np.float32
    )


@pytest.fixture
def stand_in():
    stand_in_ray.sent.clear()
    stand_in_ray.cancelled.clear()
    return stand_in_ray


def assert_same(one, other):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.parents_, other.parents_)
    np.testing.assert_array_equal(one.stability_, other.stability_)
    np.testing.assert_array_equal(one.medoid_indices_, other.medoid_indices_)
    np.testing.assert_array_equal(one.landmarks_, other.landmarks_)


@pytest.mark.parametrize("model", ["defaults", "k-means"])
def test_labels_are_those_of_this_process(model, X, stand_in, tmp_path):
    np.save(tmp_path / "X.npy", X)
    source = open_source(tmp_path / "X.npy")
    expected = MODELS[model].fit(source)
    expected_labels = expected.labels_.copy()
    assert not stand_in.sent
    assert_same(MODELS[model].fit(source, client=stand_in), expected)
    assert (MODELS[model].labels_ == expected_labels).all()
    assert len(stand_in.sent) > 2
    # a handle of the file, and no rows of it
    assert max(len(call.packed) for call in stand_in.sent[:2]) < X.nbytes / 4


def test_a_checkpoint_goes_on_in_this_process(X, stand_in, tmp_path):
    model = CoHiRF(**MODELS["k-means"].get_params(deep=False))
    model.set_params(checkpoint=tmp_path / "checkpoint")
    expected = model.fit(open_source(X), client=stand_in).labels_.copy()
    journal = (tmp_path / "checkpoint" / "journal").read_bytes()
    assert (model.fit(open_source(X)).labels_ == expected).all()
    assert (tmp_path / "checkpoint" / "journal").read_bytes() == journal  # nothing was repeated


def test_a_bounded_number_of_calls_is_sent_and_the_others_are_cancelled(stand_in):
    results = RayEngine(stand_in).run(abs, ((-number,) for number in range(1000)), 1000)
    assert next(results) == 0
    assert len(stand_in.sent) == 2 * RAY.calls_ahead
    results.close()
    assert len(stand_in.cancelled) == 2 * RAY.calls_ahead - 1


def test_an_error_of_a_task_is_raised_as_it_was():
    class TaskError(Exception):
        cause = ZeroDivisionError("division by zero")

    with pytest.raises(ZeroDivisionError), naming_faults():
        raise TaskError


def test_an_error_of_ray_says_what_to_do():
    error = type("WorkerCrashedError", (Exception,), {"__module__": "ray.exceptions"})
    words = r"several workers died.*WorkerCrashedError"
    with pytest.raises(RuntimeError, match=words), naming_faults():
        raise error("The worker died.\nLong story")


def test_a_package_that_workers_lack_is_named():
    error = type("TaskError", (Exception,), {"cause": ModuleNotFoundError("No module named 'a'")})
    with pytest.raises(ModuleNotFoundError, match=r"lacks a package.*'a'"), naming_faults():
        raise error


def test_the_machine_with_the_least_memory_for_each_task(stand_in):
    assert find_smallest_node(stand_in) == (6_000_000_000, 4)


def test_what_cannot_be_used_is_refused(stand_in, monkeypatch, X):
    model = MODELS["k-means"]
    with pytest.raises(TypeError, match="X is in memory"):
        model.fit(X, client=stand_in)
    with pytest.raises(ValueError, match="batch_size=None"):
        CoHiRF(n_clusters=4, batch_size=None).fit(open_source(X), client=stand_in)
    with pytest.raises(TypeError, match="X is on Dask"):
        model.fit(pytest.importorskip("dask.array").from_array(X), client=stand_in)
    monkeypatch.setattr(stand_in, "cluster_resources", dict)
    with pytest.raises(ValueError, match="no CPU"):
        refuse_unready(stand_in)
    monkeypatch.setattr(stand_in, "is_initialized", lambda: False)
    with pytest.raises(TypeError, match=r"ray\.init"):
        model.fit(open_source(X), client=stand_in)


def test_another_version_on_one_machine_is_refused(stand_in, monkeypatch):
    monkeypatch.setattr("cohirf.engines.ray.__version__", "0.0.1")
    versions = {"node:10.0.0.0": "0.0.1", "node:10.0.0.1": "0.0.2"}  # the others run no tasks
    monkeypatch.setattr(stand_in, "get", lambda call: versions[next(iter(call.given["resources"]))])
    with pytest.raises(ModuleNotFoundError, match=r"10\.0\.0\.1 has version 0\.0\.2 .* 0\.0\.1"):
        refuse_unready(stand_in)
    versions["node:10.0.0.1"] = "0.0.1"
    refuse_unready(stand_in)


# ---- workers of Ray


class SlowKMeans(KMeans):
    """K-Means that takes its time, and writes down which process ran it."""

    def __init__(self, n_clusters=4, n_init=1, log="", seconds=0.0):
        super().__init__(n_clusters, n_init=n_init)
        self.log = log
        self.seconds = seconds

    def fit(self, X, y=None, sample_weight=None):
        with open(self.log, "a", encoding="utf-8") as log:  # noqa: PTH123 - one short write
            log.write(f"{os.getpid()}\n")
        time.sleep(self.seconds)
        return super().fit(X)


@pytest.fixture(scope="module")
def ray():
    """Two workers; what they import is found as it is here."""
    ray = pytest.importorskip("ray", reason='Ray is not installed: pip install -e ".[ray]"')
    ray.init(
        num_cpus=2,
        include_dashboard=False,
        object_store_memory=100_000_000,
        log_to_driver=False,
        _system_config={"worker_niceness": 0},  # 15 by default: a busy machine would not run them
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join(sys.path)}},
    )
    yield ray
    ray.shutdown()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # of Ray, about itself
@pytest.mark.parametrize("model", MODELS)
def test_labels_are_those_of_this_process_on_workers(model, X, ray, tmp_path):
    np.save(tmp_path / "X.npy", X)
    source = open_source(tmp_path / "X.npy")
    expected = MODELS[model].fit(source).labels_.copy()
    np.testing.assert_array_equal(MODELS[model].fit(source, client=ray).labels_, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_ten_killed_workers_cost_no_label(X, ray, tmp_path):
    np.save(tmp_path / "X.npy", X)
    source = open_source(tmp_path / "X.npy")
    log = tmp_path / "log"
    log.touch()
    options = {"views": 1, "batch_size": 30, "random_state": 0}
    here = SlowKMeans(log=os.devnull)
    expected = CoHiRF.as_published(here, **options).fit(source).labels_.copy()
    killed = []
    done = threading.Event()

    def kill():
        n_seen = 0
        while len(killed) < 10 and not done.is_set():
            calls = log.read_text(encoding="utf-8").split()
            if len(calls) >= n_seen + 3 and int(calls[-1]) not in (os.getpid(), *killed):
                n_seen = len(calls)
                killed.append(int(calls[-1]))
                psutil.Process(killed[-1]).kill()
            time.sleep(0.02)

    killer = threading.Thread(target=kill)
    killer.start()
    slow = SlowKMeans(log=str(log), seconds=0.2)
    model = CoHiRF.as_published(slow, **options).fit(source, client=ray)
    done.set()
    killer.join()
    assert len(killed) == 10
    np.testing.assert_array_equal(model.labels_, expected)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_results_do_not_fill_the_object_store(ray):
    """Ten times as many bytes pass through it as it holds."""
    tasks = ((np.full(500_000, number),) for number in range(250))
    for number, result in enumerate(RayEngine(ray).run(np.negative, tasks, 250)):
        assert result[0] == -number
        assert result.flags.writeable
