"""What a fit on Dask asks of its scheduler: few tasks, and few bytes at a time."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cohirf import CoHiRF, open_source, to_dask_array
from cohirf.data.dask_arrays import spread_source
from cohirf.data.policy import DATA
from cohirf.engines.policy import DASK

dask = pytest.importorskip("dask")
pytest.importorskip("distributed")
engine = pytest.importorskip("cohirf.engines.dask")


@pytest.fixture
def path(tmp_path):
    X = np.random.default_rng(0).normal(size=(3_000, 3)).astype(np.float32)
    np.save(tmp_path / "X.npy", X)
    return tmp_path / "X.npy"


def count_tasks(monkeypatch, fit):
    """Return how many tasks each graph of a fit has when it goes to Dask, by the name of its
    result.
    """
    counts = {}
    own = engine.fused

    def noted(lazy):
        found = own(lazy)
        counts[lazy.name.rpartition("-")[0]] = len(found.__dask_graph__())
        return found

    monkeypatch.setattr(engine, "fused", noted)
    fit()
    return counts


def fit(array):
    model = CoHiRF.as_published(KMeans(3, n_init=1), views=2, batch_size=100, random_state=0)
    return model.fit(array).labels_


def test_a_run_is_one_task_from_the_reading_of_its_rows_on(path, monkeypatch):
    array = spread_source(open_source(path), 100)  # chunks of whole batches
    n_chunks = array.numblocks[0]
    counts = count_tasks(monkeypatch, lambda: fit(array))
    assert counts["cohirf_contract_batches"] == n_chunks
    assert counts["cohirf_summarize"] == n_chunks


def test_labels_are_those_of_this_process_with_and_without_weights(path):
    source = open_source(path)
    weights = np.random.default_rng(1).uniform(0.5, 2, size=3_000)
    model = CoHiRF(n_clusters=3, batch_size=100, random_state=0)
    for given in (None, weights):
        expected = model.fit(source, sample_weight=given).labels_.copy()
        array = to_dask_array(source, chunks=250)
        np.testing.assert_array_equal(model.fit(array, sample_weight=given).labels_, expected)


def test_a_small_source_goes_with_its_tasks_and_a_large_one_once(path, monkeypatch):
    small = to_dask_array(open_source(path), chunks=300)
    assert len(small.__dask_graph__()) == 10
    monkeypatch.setitem(vars(DATA), "sent_bytes", 10)
    large = to_dask_array(open_source(path), chunks=300)
    assert len(large.__dask_graph__()) == 11
    np.testing.assert_array_equal(small, large)


def test_dask_does_not_take_apart_what_a_task_holds():
    class Opaque:
        def __dask_tokenize__(self):
            raise AssertionError("it was looked at")

    lazy = engine.map_chunks(np.add, [Opaque(), Opaque()], [], (1, 1), "name", object)
    graph = dict(engine.fused(lazy).__dask_graph__())
    assert len({dask.base.tokenize(task) for task in graph.values()}) == 2


class Held:
    """A client whose results wait until they are asked for."""

    def __init__(self):
        self.sent = 0
        self.most = 0
        self.waiting = 0

    def nthreads(self):
        return {"a worker": 50}

    def submit(self, call, bundle, **_):
        self.sent += 1
        self.waiting += 1
        self.most = max(self.most, self.waiting)

        def result():
            self.waiting -= 1
            return call(bundle)

        return SimpleNamespace(result=result)


@pytest.mark.parametrize(("limit", "most"), [(2**30, 80), (250_000, 4), (1, 2)])
def test_bytes_that_pass_through_the_scheduler_are_limited(limit, most, monkeypatch):
    monkeypatch.setitem(vars(DASK), "bytes_ahead", limit)
    client = Held()
    tasks = ((np.full(10_000, number, np.float64),) for number in range(80))
    results = [int(one) for one in engine.DaskEngine(client).run(np.sum, tasks, 80)]
    assert results == [10_000 * number for number in range(80)]
    assert client.sent == 80
    assert client.most == most


def test_fused_arrays_have_the_values_of_the_lazy_ones():
    da = pytest.importorskip("dask.array")
    a = da.from_array(np.arange(24.0).reshape(6, 4), chunks=(2, 4))
    twice = a + 1
    for lazy in (twice * 2, (a[:, 0] - 1), da.concatenate([twice, twice]), a.T @ a):
        np.testing.assert_array_equal(engine.fused(lazy).compute(), lazy.compute())
