"""Fits on a Dask cluster of two workers, against the same fits on one machine."""

import faulthandler
import os
import pickle
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from copy import copy
from types import SimpleNamespace

import dask
import dask.array as da
import joblib
import numpy as np
import pandas as pd
import psutil
import pytest
from benchmarks.faults import count_records
from distributed import Client, LocalCluster, wait
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, __version__, load, open_source, to_dask_array
from cohirf.algorithm.batches import Run
from cohirf.algorithm.runs import RunTask
from cohirf.app.explain import write_report
from cohirf.data.dask_arrays import LazyDaskSource
from cohirf.engines.dask import (
    DaskEngine,
    Worker,
    find_fullest_worker,
    naming_faults,
    refuse_other_packages,
)
from cohirf.fitting import locality
from cohirf.store.files import CheckpointError
from fit_hashes import LastBit

dd = pytest.importorskip("dask.dataframe")
pq = pytest.importorskip("pyarrow.parquet")
pa = pytest.importorskip("pyarrow")

K_MEANS = KMeans(4, n_init=1)
MODELS = {
    "defaults": CoHiRF(n_clusters=4, views=3),
    "defaults, noise": CoHiRF(DBSCAN(eps=1.2)),
    "spanning trees": CoHiRF(HDBSCAN(min_cluster_size=20, copy=True)),
    "k-means": CoHiRF.as_published(K_MEANS, views=3, max_features=0.6),
    "dbscan": CoHiRF.as_published(DBSCAN(eps=1.5), views=2),
    "relaxed": CoHiRF.as_published(K_MEANS, views=3, max_features=0.6, consensus="relaxed"),
    "majority": CoHiRF.as_published(K_MEANS, views=3, max_features=0.6, consensus="majority"),
    "medoid weights": CoHiRF.as_published(
        K_MEANS, views=2, medoid_weights=True, medoid="euclidean"
    ),
    "rbf": CoHiRF.as_published(K_MEANS, views=2, medoid="rbf"),
    "medoid weights in other words": CoHiRF.as_published(
        AgglomerativeClustering(4), views=2, max_features=0.6, medoid_weights=True
    ),
    "small clusters": CoHiRF.as_published(DBSCAN(eps=1.2), views=1, max_iter=3, min_cluster_size=5),
}
FAST_MODELS = ("defaults", "defaults, noise", "k-means", "dbscan", "medoid weights in other words")
CHUNKS = ((350, 25, 25, 550, 550), (3, 2))
pytestmark = [
    pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:The inplace keyword"),  # of pandas, about Dask
]


@pytest.fixture(scope="module")
def client():
    """Two workers in this process.

    Tasks and rows are pickled on their way, as between processes.
    """
    options = {
        "processes": False,
        "protocol": "tcp",
        "threads_per_worker": 1,
        "memory_limit": "2GiB",
    }
    trace = threading.gettrace()
    # to measure coverage in the threads of the cluster takes long, and finds nothing new
    threading.settrace(None)
    with (
        # looks at each thread a hundred times a second
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(n_workers=2, dashboard_address=":0", **options) as cluster,
        Client(cluster) as client,
    ):
        wait([client.submit(len, worker, workers=[worker]) for worker in client.has_what()])
        threading.settrace(trace)
        yield client


@pytest.fixture(scope="module")
def processes():
    """Two workers in processes of their own, each of which imports all packages again: for tests at
    the end.
    """
    # A LocalCluster gives up a worker that is not back in time. The port of the dashboard may be
    # taken.
    with (
        dask.config.set({"distributed.deploy.lost-worker-timeout": "1 hour"}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(scope="module")
def X():  # noqa: N802 - what scikit-learn calls data
    return make_blobs(1500, n_features=5, centers=4, cluster_std=0.8, random_state=3)[0].astype(
        np.float32
    )


@pytest.fixture(scope="module")
def weights():
    return np.random.default_rng(0).uniform(0.5, 2, 1500)


@pytest.fixture(autouse=True)
def watchdog():
    """End a test that hangs: a lost task would wait for ever."""
    faulthandler.dump_traceback_later(600, exit=True, file=sys.__stderr__)
    yield
    faulthandler.cancel_dump_traceback_later()


@pytest.fixture(scope="module")
def fitted(client, X):
    """K-Means in batches, fitted on the cluster: tests look at it, and change nothing."""
    return model_of(MODELS["k-means"]).fit(da.from_array(X, chunks=CHUNKS))


@pytest.fixture(scope="module")
def fitted_here(X):
    """The same fit on one machine."""
    return fit_here(model_of(MODELS["k-means"]), X)


def model_of(model, **options):
    options = {"batch_size": 300, "random_state": 0} | options
    return CoHiRF(**(model.get_params(deep=False) | options))


def fit_here(model, data, **options):
    """Fit a source in this process, although a client is active."""
    with dask.config.set(scheduler="threads"):
        return model.fit(open_source(data), **options)


def assert_same(on_dask, here):
    """Compare all that a fit on Dask says with what the fit of the same rows in the same order says
    here.
    """
    labels, parents, stability = dask.compute(on_dask.labels_, on_dask.parents_, on_dask.stability_)
    assert (labels == here.labels_).all()
    assert (parents == here.parents_).all()
    np.testing.assert_array_equal(stability, here.stability_)
    np.testing.assert_array_equal(on_dask.feature_agreement_, here.feature_agreement_)
    assert on_dask.labels_.dtype == here.labels_.dtype
    assert (on_dask.n_clusters_, on_dask.n_iter_) == (here.n_clusters_, here.n_iter_)
    assert (on_dask.medoid_indices_ == here.medoid_indices_).all()
    assert (on_dask.medoids_ == here.medoids_).all()
    assert (on_dask.exemplar_indices_ == here.exemplar_indices_).all()
    assert (on_dask.exemplars_ == here.exemplars_).all()
    assert (on_dask.hierarchy_.tree.linkage == here.hierarchy_.tree.linkage).all()
    assert (on_dask.landmarks_ == here.landmarks_).all()
    assert (on_dask._state.landmarks.labels == here._state.landmarks.labels).all()
    top = on_dask.hierarchy_
    whole = here.hierarchy_
    assert (top.rows[top.parents] == whole.parents[top.rows]).all()
    for level in range(top.n_levels + 1):
        assert sorted(zip(top.medoids(level), top.sizes(level), strict=True)) == sorted(
            zip(whole.medoids(level + 1), whole.sizes(level + 1), strict=True)
        )
    for there, local in zip(on_dask.diagnostics_, here.diagnostics_, strict=True):
        assert (there.n_batches, there.rows_in, there.rows_out) == (
            local.n_batches,
            local.rows_in,
            local.rows_out,
        )
        assert there.rows_held_aside == local.rows_held_aside
        assert there.agreement == pytest.approx(local.agreement, nan_ok=True)
        assert there.stability == pytest.approx(local.stability)


@pytest.mark.parametrize(
    "name",
    [
        name if name in FAST_MODELS else pytest.param(name, marks=pytest.mark.slow)
        for name in MODELS
    ],
)
def test_a_fit_on_the_cluster_is_the_fit_on_one_machine(name, client, X):
    array = da.from_array(X, chunks=CHUNKS)
    on_dask = model_of(MODELS[name]).fit(array)
    assert on_dask.labels_.chunks == (CHUNKS[0],)
    assert_same(on_dask, fit_here(model_of(MODELS[name]), X))


@pytest.mark.parametrize(
    "name",
    [
        "dbscan",
        *(
            pytest.param(name, marks=pytest.mark.slow)
            for name in ("medoid weights", "small clusters")
        ),
    ],
)
def test_weights_on_the_cluster_count_as_they_do_on_one_machine(name, client, X, weights):
    options = {"min_cluster_size": 30}
    on_dask = model_of(MODELS[name], **options)
    on_dask.fit(da.from_array(X, chunks=CHUNKS), sample_weight=da.from_array(weights, chunks=800))
    here = fit_here(model_of(MODELS[name], **options), X, sample_weight=weights)
    assert_same(on_dask, here)


def test_a_checkpoint_of_other_chunks_is_refused(client, X, tmp_path):
    model = model_of(MODELS["k-means"], checkpoint=tmp_path / "fit")
    model.fit(da.from_array(X, chunks=(300, 5)))
    for data in (da.from_array(X, chunks=(600, 5)), open_source(X), X):
        refused = pytest.raises(
            CheckpointError, match=r"belongs to another fit: (reading|data) was"
        )
        with refused, dask.config.set(scheduler="threads"):  # where a source stays here
            model.fit(data)


@pytest.mark.slow
def test_weights_may_be_a_column_of_a_table(client, X, weights):
    frame = dd.from_array(np.column_stack([X, weights]), chunksize=800, columns=list("abcdew"))
    model = model_of(MODELS["medoid weights"])
    on_dask = model.fit(
        frame[list("abcde")].astype(np.float32), sample_weight=frame["w"]
    ).labels_.compute()
    assert (
        on_dask == fit_here(model_of(MODELS["medoid weights"]), X, sample_weight=weights).labels_
    ).all()


def test_what_needs_the_labels_here_is_refused(fitted, X, tmp_path):
    for ask in (
        fitted.diagnose,
        lambda: fitted.explain(0),
        lambda: write_report(fitted, X, tmp_path / "page.html"),
    ):
        with pytest.raises(ValueError, match="labels_ is a Dask array"):
            ask()


@pytest.mark.parametrize(
    "chunks", [(1500, 5), pytest.param((499, 5), marks=pytest.mark.slow), (190, 5)], ids=str
)
def test_chunks_need_not_match_batches(chunks, client, X, fitted_here):
    array = client.persist(da.from_array(X, chunks=chunks))
    assert_same(model_of(MODELS["k-means"]).fit(array), fitted_here)


def test_dask_without_a_cluster_gives_the_same_fit(X):
    with dask.config.set(scheduler="threads"):
        on_dask = model_of(MODELS["dbscan"]).fit(da.from_array(X, chunks=CHUNKS))
        assert_same(on_dask, fit_here(model_of(MODELS["dbscan"]), X))


@pytest.mark.parametrize(("batches", "times"), [("local", {3, 4}), ("random", {1})])
def test_without_a_cluster_chunks_are_computed_for_each_pass_over_local_batches(batches, times):
    """To assign rows to cells, to label batches and to find exemplars; one chunk once more,
    for its type.
    """
    rows = np.random.default_rng(0).uniform(size=(4000, 2))
    computed = []

    def make(block_info):
        number = block_info[None]["chunk-location"][0]
        computed.append(number)
        return rows[500 * number : 500 * (number + 1)]

    array = da.map_blocks(make, chunks=((500,) * 8, (2,)), dtype=np.float64)
    with dask.config.set(scheduler="threads"):
        model = CoHiRF(DBSCAN(eps=0.05), batches=batches, batch_size=1000, random_state=0)
        model.fit(array)
    assert set(np.bincount(computed).tolist()) <= times


def _thread_of(number):
    return number, threading.get_ident()


def test_later_levels_run_on_the_workers(client):
    run_in = list(DaskEngine(client).run(_thread_of, [(number,) for number in range(40)], 40))
    assert [number for number, _ in run_in] == list(range(40))
    assert threading.get_ident() not in {thread for _, thread in run_in}
    assert list(DaskEngine(client).run(_thread_of, [(7,)], 1)) == [(7, threading.get_ident())]


MISSING = ImportError("No module named 'cohirf'")


@pytest.mark.parametrize(
    ("worker", "scheduler", "message"),
    [
        (MISSING, __version__, r"tcp://one lacks a package \(No module .*install cohirf"),
        ("0.0", __version__, r"tcp://one has version 0\.0 of cohirf: install cohirf"),
        (__version__, MISSING, r"the scheduler lacks a package"),
        (OSError("it died"), __version__, None),  # another worker takes over
    ],
)
def test_a_process_of_the_cluster_without_the_package_is_named(worker, scheduler, message):
    def of_scheduler(*_):
        if isinstance(scheduler, Exception):
            raise scheduler
        return scheduler

    answers = {"tcp://one": worker, "tcp://two": __version__}
    cluster = SimpleNamespace(run=lambda *_, **__: answers, run_on_scheduler=of_scheduler)
    with nullcontext() if message is None else pytest.raises(ModuleNotFoundError, match=message):
        refuse_other_packages(cluster)


class NotesTheLock:
    """Notes whether another thread can take the lock of a client while this is pickled."""

    def __init__(self, lock):
        self.lock = lock
        self.was_free = []

    def __reduce__(self):
        with ThreadPoolExecutor(1) as other:
            self.was_free.append(other.submit(self.lock.acquire, blocking=False).result())
            if self.was_free[-1]:
                other.submit(self.lock.release).result()
        return int, ()


def test_a_task_is_pickled_while_the_client_can_receive_what_it_reads(client):
    noted = NotesTheLock(client._refcount_lock)
    assert len(list(DaskEngine(client).run(_thread_of, [(noted,), (noted,)], 2))) == 2
    assert noted.was_free == [True, True]


# -- files and tables


@pytest.fixture
def parquet(X, tmp_path):
    pq.write_table(
        pa.table({f"f{i}": column for i, column in enumerate(X.T)}), tmp_path / "data.parquet"
    )
    return tmp_path / "data.parquet"


@pytest.mark.slow
def test_a_parquet_file_is_read_by_the_workers(client, parquet, X):
    array = to_dask_array(open_source(parquet), chunks=450)
    assert array.chunks == ((450,) * 3 + (150,), (5,))
    assert_same(
        model_of(MODELS["dbscan"]).fit(array), fit_here(model_of(MODELS["dbscan"]), parquet)
    )


def test_a_table_of_dask_is_fitted_with_the_names_of_its_columns(client, parquet, X):
    frame = dd.read_parquet(parquet).repartition(npartitions=4)
    model = model_of(MODELS["k-means"])
    labels = model.fit_predict(frame)
    assert model.feature_names_in_.tolist() == [f"f{i}" for i in range(5)]
    assert_same(model, fit_here(model_of(MODELS["k-means"]), parquet))
    assert labels.npartitions == frame.npartitions
    assert (model.predict(frame).compute() == model.predict(frame.compute())).all()
    with pytest.raises(ValueError, match="in the place of column 'f0' of the fit"):
        model.predict(frame[["f1", "f0", "f2", "f3", "f4"]])


def test_labels_are_written_chunk_by_chunk(fitted, tmp_path):
    labels = fitted.labels_
    dd.from_dask_array(labels, columns="label").to_frame().to_parquet(tmp_path / "labels")
    files = sorted((tmp_path / "labels").glob("*.parquet"))
    assert [pq.read_metadata(file).num_rows for file in files] == list(CHUNKS[0])
    written = pq.read_table(tmp_path / "labels")["label"].to_numpy()
    assert (written == labels.compute()).all()


def test_sources_of_every_kind_become_arrays_of_dask(X, tmp_path):
    np.save(tmp_path / "data.npy", X)
    array = da.from_array(X, chunks=(500, 5))
    for source in (open_source(X), open_source(tmp_path / "data.npy"), open_source(array)):
        made = to_dask_array(source, chunks=500)
        assert made.chunks == array.chunks
        assert (made.compute() == X).all()


def test_a_source_is_in_one_task_and_not_in_each_of_its_chunks(X, tmp_path):
    folder = tmp_path / "rows"
    folder.mkdir()
    for number in range(40):
        table = pa.table({f"column {i}": column for i, column in enumerate(X[:5].T)})
        pq.write_table(table, folder / f"part-{number}.parquet")
    source = open_source(folder)
    sizes = sorted(
        len(pickle.dumps(task)) for task in to_dask_array(source, 10).__dask_graph__().values()
    )
    assert len(sizes) == 21
    assert sizes[-2] < 3_000
    # a name, a size, a time and a row group for each file; types of columns once
    assert 4_000 < sizes[-1] < 15_000


# -- predict


def test_predict_and_transform_keep_the_chunks(fitted, X):
    array = da.from_array(X, chunks=CHUNKS)
    labels = fitted.predict(array)
    distances = fitted.transform(array)
    assert labels.chunks == (CHUNKS[0],)
    assert (labels.compute() == fitted.predict(X)).all()
    assert distances.chunks == (CHUNKS[0], (fitted.n_clusters_,))
    assert distances.compute() == pytest.approx(fitted.transform(X))


def test_predict_takes_chunks_of_unknown_and_of_no_length(X, fitted_here):
    array = da.from_array(X, chunks=CHUNKS)
    some = array[(da.arange(1500, chunks=(CHUNKS[0],)) < 1000)]
    assert (fitted_here.predict(some).compute() == fitted_here.predict(X[:1000])).all()


def test_predict_refuses_another_number_of_columns(X, fitted_here):
    with pytest.raises(ValueError, match="has 4 columns, but the fit had 5"):
        fitted_here.predict(da.from_array(X[:, :4], chunks=(500, 4)))


# -- what a fit needs


def test_one_batch_of_a_dask_array_is_fitted_like_an_array(client, X, weights):
    array = da.from_array(X, chunks=CHUNKS)
    there = model_of(MODELS["k-means"], batch_size=1250).fit(
        array, sample_weight=da.from_array(weights)
    )
    here = model_of(MODELS["k-means"], batch_size=1250).fit(X, sample_weight=weights)
    assert there.labels_.chunks == there.parents_.chunks == (CHUNKS[0],)
    assert (there.labels_.compute() == here.labels_).all()
    assert there.gather().hierarchy_ == here.hierarchy_


@pytest.mark.slow
def test_auto_plans_with_the_memory_of_a_worker(client, X, capsys):
    model = model_of(MODELS["k-means"], batch_size="auto", verbose=1).fit(
        da.from_array(X, chunks=CHUNKS)
    )
    assert "of 1.29 GB memory" in capsys.readouterr().out  # 60 % of 2 GiB
    assert model.n_clusters_ == 4


def tell(n_threads, memory_limit, memory, managed=0, spilled=0):
    """Return what a scheduler tells of a worker."""
    metrics = {
        "memory": memory,
        "managed_bytes": managed,
        "spilled_bytes": {"memory": spilled, "disk": 0},
    }
    return {"nthreads": n_threads, "memory_limit": memory_limit, "metrics": metrics}


def test_batches_are_planned_for_the_worker_with_the_least_memory_for_a_task(monkeypatch):
    told = [
        tell(1, 1000, 100),
        tell(2, 2000, 700),  # 500 left, for two tasks
        tell(1, 2000, 1100, managed=900, spilled=100),  # 800 of it can go to disk
        tell(3, 0, 5000),  # no limit
    ]
    client = SimpleNamespace(scheduler_info=lambda n_workers: {"workers": dict(enumerate(told))})
    monkeypatch.setattr("cohirf.engines.dask.find_client", lambda: client)
    assert find_fullest_worker() == Worker(2, 2000, 700)
    del told[:2]
    assert find_fullest_worker() == Worker(1, 2000, 300)
    del told[0]
    assert find_fullest_worker() is None


def test_what_a_worker_takes_counts_against_its_limit(client, X, monkeypatch):
    full = Worker(1, 2**31, 2**30 + 2**28)
    monkeypatch.setattr("cohirf.data.on_dask.find_fullest_worker", lambda: full)
    model = model_of(MODELS["k-means"], batch_size="auto")
    with pytest.raises(
        ValueError, match=r"the worker with the least memory left takes 1\.34 GB already"
    ):
        model.fit(da.from_array(X, chunks=CHUNKS))


def test_progress_is_shown_here_and_tasks_have_names_there(client, X, capsys):
    model = model_of(MODELS["k-means"], verbose=1).fit(da.from_array(X, chunks=CHUNKS))
    assert capsys.readouterr().out.startswith("[CoHiRF] level 1: 1,500 -> ")
    names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.task_prefixes))
    assert {"cohirf_contract_batches", "cohirf_summarize"} <= set(names)
    model.labels_.compute()
    assert "cohirf_look_up" in client.run_on_scheduler(
        lambda dask_scheduler: list(dask_scheduler.task_prefixes)
    )


def test_a_task_takes_its_own_rows_of_a_dask_array_along_and_no_others(X):
    many = np.tile(X, (2, 1))
    task = RunTask(
        Run.of_rows(np.arange(0, 3000, 100)),
        1,
        LazyDaskSource(da.from_array(many, chunks=(1000, -1))),
    )
    pickled = pickle.dumps(task)
    assert len(pickled) < many.nbytes / 10
    assert (pickle.loads(pickled).values.take(np.array([200])) == many[200]).all()


def test_one_chunk_of_several_batches_is_contracted_where_it_is(client, X, fitted_here):
    there = model_of(MODELS["k-means"], n_jobs=2).fit(da.from_array(X, chunks=(1500, -1)))
    assert (there.labels_.compute() == fitted_here.labels_).all()


def test_joblibs_own_dask_backend_gives_the_same_fit(client, X):
    here = model_of(MODELS["k-means"]).fit(X)
    with joblib.parallel_config(backend="dask"):
        there = model_of(MODELS["k-means"]).fit(X)
    assert (there.labels_ == here.labels_).all()
    assert (there.parents_ == here.parents_).all()


def test_a_source_stays_here_unless_a_client_is_given(client, parquet):
    assert isinstance(model_of(MODELS["k-means"]).fit(open_source(parquet)).labels_, np.memmap)


def test_a_source_goes_to_the_cluster_of_the_given_client(client, parquet, X):
    there = model_of(MODELS["k-means"]).fit(open_source(parquet), client=client)
    assert there.labels_.chunks == ((375,) * 4,)  # of one batch each
    assert there.feature_names_in_.tolist() == [f"f{i}" for i in range(5)]
    assert_same(there, fit_here(model_of(MODELS["k-means"]), parquet))


def test_a_client_may_be_chosen(client, X, fitted_here):
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster, set_as_default=False) as other,
    ):
        there = model_of(MODELS["k-means"]).fit(open_source(X), client=other)
        assert "cohirf_contract_batches" in cluster.scheduler.task_prefixes
        with pytest.raises(
            RuntimeError,
            match=r"its client is not the active one: activate the client with client\.as_current",
        ):
            there.gather()
        with other.as_current():
            there.gather()
    assert (there.labels_ == fitted_here.labels_).all()
    with pytest.raises(TypeError, match=r"is not a connected, synchronous distributed\.Client"):
        model_of(MODELS["k-means"]).fit(open_source(X), client=other)


def test_a_client_that_has_nothing_to_do_is_refused(client, X):
    with pytest.raises(
        TypeError, match=r"X is in memory \(ndarray\): give open_source\(X\), or leave client out"
    ):
        model_of(MODELS["k-means"]).fit(X, client=client)
    with pytest.raises(ValueError, match="set batch_size to a number"):
        model_of(MODELS["k-means"], batch_size=None).fit(open_source(X), client=client)
    with pytest.raises(TypeError, match="client='tcp://somewhere' is not a connected"):
        model_of(MODELS["k-means"]).fit(open_source(X), client="tcp://somewhere")


def test_what_is_in_memory_or_in_one_batch_stays_here(client, parquet, X):
    assert isinstance(model_of(MODELS["k-means"]).fit(X).labels_, np.ndarray)
    assert isinstance(model_of(MODELS["k-means"]).fit(open_source(X)).labels_, np.ndarray)
    assert isinstance(
        model_of(MODELS["k-means"], batch_size=None).fit(open_source(parquet)).labels_, np.ndarray
    )


def test_weights_of_a_source_on_the_cluster_may_be_a_series(client, parquet, X, weights):
    there = model_of(MODELS["dbscan"]).fit(
        open_source(parquet), sample_weight=pd.Series(weights), client=client
    )
    assert_same(there, fit_here(model_of(MODELS["dbscan"]), parquet, sample_weight=weights))


def test_a_fit_is_gathered_in_one_computation(client, parquet, monkeypatch):
    there = model_of(MODELS["k-means"], batch_size=200).fit(open_source(parquet), client=client)
    assert there.labels_.numblocks == (7,)
    graphs = []
    submit = Client._graph_to_futures
    monkeypatch.setattr(
        Client, "_graph_to_futures", lambda *args, **kw: (graphs.append(1), submit(*args, **kw))[1]
    )
    there.gather()
    assert len(graphs) == 1


def test_a_fit_inside_a_task_of_the_cluster_stays_there(client, parquet, fitted_here):
    found = client.submit(_labels_of_a_source, parquet).result()
    assert (found == fitted_here.labels_).all()


def _labels_of_a_source(path):
    labels = model_of(MODELS["k-means"]).fit(open_source(path)).labels_
    assert isinstance(labels, np.memmap)
    return np.array(labels)


@pytest.mark.slow
@pytest.mark.parametrize("batch_size", [300, 1250])
def test_what_is_gathered_is_the_fit_on_one_machine(batch_size, client, X, tmp_path):
    options = {"batch_size": batch_size}
    there = model_of(MODELS["medoid weights"], **options).fit(da.from_array(X, chunks=CHUNKS))
    here = fit_here(model_of(MODELS["medoid weights"], **options), X)
    assert there.gather() is there.gather() is there
    assert there.hierarchy_ == here.hierarchy_
    for name in ("labels_", "parents_", "stability_"):
        assert isinstance(getattr(there, name), np.ndarray)
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
    there.save(tmp_path / "model")
    assert (load(tmp_path / "model").labels_ == here.labels_).all()
    assert there.diagnose().recommendation == here.diagnose().recommendation
    assert there.explain(0, X).equals(here.explain(0, X))
    write_report(there, X, tmp_path / "page.html")


# -- what is refused


def test_unknown_chunk_sizes_are_refused(X):
    array = da.from_array(X, chunks=CHUNKS)
    with pytest.raises(
        ValueError, match=r"unknown chunk sizes.*call array\.compute_chunk_sizes\(\) first"
    ):
        model_of(MODELS["k-means"]).fit(array[array[:, 0] > 0])


def test_no_batch_size_is_refused(X):
    with pytest.raises(
        ValueError,
        match=r'batch_size=None contracts all rows together.*set batch_size to a number or to "auto"',
    ):
        CoHiRF.as_published().fit(da.from_array(X))


@pytest.mark.parametrize("shape", [(3000,), (3000, 5, 1)])
def test_other_than_two_dimensions_are_refused(shape):
    with pytest.raises(ValueError, match=r"The Dask array has shape .* give two dimensions"):
        model_of(MODELS["k-means"]).fit(da.zeros(shape))


def test_what_is_no_table_of_numbers_is_refused(X):
    with pytest.raises(TypeError, match=r"X is a Dask Delayed\w*: pass a Dask array or data frame"):
        model_of(MODELS["k-means"]).fit(dask.delayed(X))
    with pytest.raises(TypeError, match="has chunks of type csr_"):
        model_of(MODELS["k-means"]).fit(
            da.from_array(X, chunks=CHUNKS).map_blocks(sparse.csr_array)
        )
    with pytest.raises(ValueError, match="holds values of type complex64"):
        model_of(MODELS["k-means"]).fit(da.from_array(X * 1j, chunks=CHUNKS))


def test_missing_values_are_refused_with_their_place(client, X):
    holes = X.copy()
    holes[1345, 1] = np.nan
    with pytest.raises(
        ValueError, match=r"The Dask array, rows .* The first is in row 1,345, column 1"
    ):
        model_of(MODELS["k-means"]).fit(da.from_array(holes, chunks=CHUNKS))


def test_weights_of_zero_and_of_another_length_are_refused(client, X, weights):
    array = da.from_array(X, chunks=CHUNKS)
    with pytest.raises(ValueError, match=r"minimum 0 .* Leave out rows of weight 0"):
        model_of(MODELS["k-means"]).fit(array, sample_weight=np.r_[0, weights[1:]])
    with pytest.raises(ValueError, match=r"sample_weight has shape \(1499,\), but X has 1500 rows"):
        model_of(MODELS["k-means"]).fit(array, sample_weight=weights[1:])


def test_columns_that_are_no_numbers_are_refused(parquet):
    frame = dd.read_parquet(parquet)
    with pytest.raises(ValueError, match="Column 'name' of X has type"):
        model_of(MODELS["k-means"]).fit(frame.assign(name="somebody"))
    with pytest.raises(TypeError, match="Only some column names of X are strings, such as 'f0'"):
        model_of(MODELS["k-means"]).fit(frame.rename(columns={"f1": 1}))


def test_a_model_is_not_saved_with_labels_that_are_elsewhere(fitted, X, tmp_path):
    model = copy(fitted)
    expected = model.predict(X)
    with pytest.raises(
        TypeError, match=r"call gather\(\) first.*Or write the labels with model\.labels_\.to_zarr"
    ):
        model.save(tmp_path / "model")
    assert (pickle.loads(pickle.dumps(model)).predict(X) == expected).all()


def test_a_cluster_that_is_gone_is_named(X):
    with (
        LocalCluster(n_workers=1, processes=False, dashboard_address=":0") as cluster,
        Client(cluster) as client,
    ):
        # a name of its own: another cluster may hold chunks of the same name, and would be asked
        # for them
        array = client.persist(da.from_array(X, chunks=CHUNKS, name=False))
        wait(array)
    with pytest.raises(
        RuntimeError, match=r"The Dask cluster is gone.* connect to a cluster and repeat the fit"
    ):
        model_of(MODELS["k-means"]).fit(array)


def test_workers_that_die_of_their_task_are_named():
    from distributed.scheduler import KilledWorker

    with (
        pytest.raises(
            RuntimeError,
            match=r"Several workers died while they ran the same batches.* lower batch_size",
        ),
        naming_faults(),
    ):
        raise KilledWorker(
            "cohirf_contract_batches-0", SimpleNamespace(address="tcp://127.0.0.1:1"), 3
        )
    with pytest.raises(ValueError, match="of the base method"), naming_faults():
        raise ValueError("of the base method")


READ = []


def _note_read(block):
    READ.append(len(block))
    return block


def test_workers_gather_the_rows_of_local_batches_and_keep_their_chunks(X, client, monkeypatch):
    monkeypatch.setitem(vars(locality.LOCAL), "density_rows", 1)
    data = da.from_array(X, chunks=(CHUNKS[0], -1)).map_blocks(
        _note_read, dtype=X.dtype, meta=X[:0]
    )
    model = CoHiRF(DBSCAN(eps=0.6), batch_size=100, random_state=0).fit(data)
    assert model.diagnostics_[0].n_batches > 1
    # once for the batches, and once for the values of medoids and exemplars
    assert 0 < len(READ) <= 2 * len(CHUNKS[0]) < model.diagnostics_[0].n_batches
    assert (model.labels_.compute() == clone(model).fit(X).labels_).all()


# -- workers in other processes


@pytest.mark.slow
def test_processes_find_what_one_machine_finds(processes, X, fitted_here):
    assert_same(model_of(MODELS["k-means"]).fit(da.from_array(X, chunks=CHUNKS)), fitted_here)


@pytest.mark.slow
def test_twenty_seeds_give_one_fit_each_in_serial_threads_processes_and_dask(processes):
    X = np.random.default_rng(0).uniform(size=(450, 4))
    array = da.from_array(X, chunks=(250, 4))
    options = {"views": 2, "max_features": 0.5, "consensus": "relaxed", "batch_size": 150}

    def fit(seed, data, n_jobs=None):
        return np.asarray(
            CoHiRF.as_published(LastBit(), random_state=seed, n_jobs=n_jobs, **options)
            .fit(data)
            .labels_
        ).tobytes()

    distinct = set()
    for seed in range(20):
        found = {fit(seed, array), *(fit(seed, open_source(X), n_jobs) for n_jobs in (1, 2))}
        with joblib.parallel_config(backend="loky", n_jobs=2):
            found.add(fit(seed, open_source(X)))
        assert len(found) == 1
        distinct |= found
    assert len(distinct) > 10


# -- loss ----------------------------------------------------------------------------------------------------------


class LoggedKMeans(KMeans):
    """K-Means that writes down what it is called for, in a file that its worker can find, and takes
    its time.
    """

    def __init__(self, n_clusters=8, log=None, seconds=0.0, random_state=None):
        super().__init__(n_clusters, n_init=1, random_state=random_state)
        self.log = log
        self.seconds = seconds

    def fit(self, X, y=None, sample_weight=None):
        time.sleep(self.seconds)
        descriptor = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(descriptor, f"{os.getpid()} {len(X)} {X[0, 0]!r}\n".encode())
        os.close(descriptor)
        return super().fit(X)


def fit_logged(data, log, checkpoint):
    model = CoHiRF.as_published(
        LoggedKMeans(4, str(log), 0.1),
        views=1,
        batch_size=75,
        random_state=0,
        checkpoint=checkpoint,
    )
    return model.fit(data)


def read_calls(log):
    return (
        [line.split(maxsplit=1) for line in log.read_text(encoding="utf-8").splitlines()]
        if log.exists()
        else []
    )


def wait_for(condition, seconds=300):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "waited too long"
        time.sleep(0.01)


def _count_running(dask_worker):
    """Return how many tasks a worker runs, those included that nobody waits for."""
    return len(dask_worker.state.executing)


@pytest.mark.slow
@pytest.mark.parametrize("n_calls", [2, 7])
def test_a_killed_worker_costs_no_label(n_calls, processes, X, tmp_path):
    log = tmp_path / "calls"
    expected = fit_here(CoHiRF.as_published(K_MEANS, views=1, batch_size=75, random_state=0), X)
    killed = []

    def kill():
        wait_for(lambda: len(read_calls(log)) >= n_calls)
        killed.append(int(read_calls(log)[-1][0]))
        psutil.Process(killed[0]).kill()

    killer = threading.Thread(target=kill)
    killer.start()
    model = fit_logged(da.from_array(X, chunks=(250, 5)), log, None)
    killer.join()
    assert killed[0] != os.getpid()
    assert_same(model, expected)


@pytest.mark.slow
def test_a_killed_fit_resumes_and_repeats_no_committed_batch(processes, X, tmp_path):
    log = tmp_path / "calls"
    script = tmp_path / "fit.py"
    script.write_text(
        """
import sys
import dask.array as da
import numpy as np
from distributed import Client
from test_dask_fits import fit_logged

address, data, log, checkpoint = sys.argv[1:]
with Client(address):
    fit_logged(da.from_array(np.load(data), chunks=(150, 5)), log, checkpoint)
""",
        encoding="utf-8",
    )
    np.save(tmp_path / "data.npy", X)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)}
    names = [processes.scheduler.address, tmp_path / "data.npy", log, tmp_path / "checkpoint"]
    fit = subprocess.Popen([sys.executable, script, *map(str, names)], env=environment)
    journal = tmp_path / "checkpoint" / "journal"
    wait_for(lambda: count_records(journal) > 0)
    fit.kill()
    fit.wait()
    wait_for(
        lambda: (
            not any(processes.processing().values())
            and not any(processes.run(_count_running).values())
        )
    )
    log.unlink()
    with dask.config.set(scheduler="threads"):
        fit_logged(open_source(X), tmp_path / "in order", None)
    # of the first of ten runs
    committed = {call for _, call in read_calls(tmp_path / "in order")[:2]}

    model = fit_logged(da.from_array(X, chunks=(150, 5)), log, tmp_path / "checkpoint")
    assert not committed & {call for _, call in read_calls(log)}
    assert_same(
        model, fit_here(CoHiRF.as_published(K_MEANS, views=1, batch_size=75, random_state=0), X)
    )
    with pytest.raises(CheckpointError, match="belongs to another fit: reading was"):
        fit_logged(da.from_array(X, chunks=(500, 5)), log, tmp_path / "checkpoint")
