"""Rows on the way to a device while it computes.

CPU tensors stand in for those of a device that is not here.
"""

import sys
import threading

import numpy as np
import pytest

from cohirf import CoHiRF, load, open_source
from cohirf.algorithm.batches import Run
from cohirf.algorithm.runs import RunTask
from cohirf.engines import StreamingEngine, streaming
from cohirf.rows.storage import ArrayRows, read_into

torch = pytest.importorskip("torch")
pytest.importorskip("array_api_compat")

X = np.random.default_rng(0).normal(size=(1000, 6)).astype(np.float32)


@pytest.fixture(params=["cpu", *(["cuda"] if torch.cuda.is_available() else [])])
def device(request):
    return request.param


def blocks(values, size=100):
    """Return a task for each block of consecutive rows."""
    n_rows = values.n_rows
    return [
        (RunTask(Run(np.array([0, size]), np.empty(0, np.int64), 0, at), 1, values),)
        for at in range(0, n_rows, size)
    ]


def values_of(task):
    assert torch.is_tensor(task.values.X)
    return task.values.X.cpu().numpy()


@pytest.fixture
def small_pieces(monkeypatch):
    monkeypatch.setitem(vars(streaming.STREAM), "piece_bytes", 7 * X[0].nbytes)


@pytest.mark.parametrize("rows", [ArrayRows(X), open_source(X)], ids=["array", "source"])
def test_each_run_gets_its_rows_in_order(device, rows, small_pieces):
    found = list(StreamingEngine(device).run(values_of, iter(blocks(rows)), 10))
    np.testing.assert_array_equal(np.concatenate(found), X)


def test_rows_of_a_run_need_not_be_consecutive(device, small_pieces):
    numbers = np.flatnonzero(np.arange(1000) % 3 > 0)
    task = RunTask(Run.of_rows(numbers), 1, ArrayRows(X))
    (found,) = StreamingEngine(device).run(values_of, [(task,)], 1)
    np.testing.assert_array_equal(found, X[numbers])


def test_few_runs_are_under_way(device):
    made = []

    def tasks():
        for task in blocks(ArrayRows(X)):
            made.append(task)
            yield task

    outcomes = StreamingEngine(device).run(values_of, tasks(), 10)
    for n_consumed in range(1, 8):
        next(outcomes)
        assert (
            n_consumed + streaming.STREAM.runs_ahead
            <= len(made)
            <= n_consumed + streaming.STREAM.runs_ahead + 1
        )


def test_an_error_of_a_reader_is_raised_after_the_results_before_it(device):
    bad = X.copy()
    bad[450, 2] = np.nan
    outcomes = StreamingEngine(device).run(values_of, blocks(open_source(bad)), 10)
    for _ in range(4):
        next(outcomes)
    with pytest.raises(ValueError, match=r"contains NaN.* The first is in row 450, column 2\."):
        next(outcomes)


def our_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("cohirf-")]


def test_no_thread_is_left_behind(device):
    def stop(task):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        list(StreamingEngine(device).run(stop, blocks(ArrayRows(X)), 10))
    assert our_threads() == []
    outcomes = StreamingEngine(device).run(values_of, blocks(ArrayRows(X)), 10)
    next(outcomes)
    assert our_threads()
    outcomes.close()
    assert our_threads() == []


def test_what_is_decoded_in_order_has_one_reader(device, tmp_path):
    arrow = pytest.importorskip("pyarrow")
    parquet = pytest.importorskip("pyarrow.parquet")
    table = arrow.table({f"c{i}": X[:, i] for i in range(6)})
    parquet.write_table(table, tmp_path / "X.parquet", row_group_size=90)
    outcomes = StreamingEngine(device).run(
        values_of, blocks(open_source(tmp_path / "X.parquet")), 10
    )
    found = [next(outcomes)]
    assert len([thread for thread in our_threads() if thread.name.startswith("cohirf-reader")]) == 1
    np.testing.assert_array_equal(np.concatenate([*found, *outcomes]), X)


@pytest.mark.parametrize("numbers", [slice(20, 50), np.array([3, 4, 90])], ids=["slice", "numbers"])
@pytest.mark.parametrize("rows", [ArrayRows(X), open_source(X)], ids=["array", "source"])
def test_rows_are_read_into_an_array(rows, numbers):
    out = np.empty_like(X[numbers])
    read_into(rows, numbers, out)
    np.testing.assert_array_equal(out, X[numbers])


@pytest.mark.parametrize("data", [X, open_source(X)], ids=["array", "source"])
@pytest.mark.parametrize("batch_size", [None, 120])
def test_labels_are_those_of_a_fit_without_streaming(device, data, batch_size, monkeypatch):
    from cohirf.clusterers import TorchKMeans
    from cohirf.engines import LocalEngine, choice

    def fit():
        model = CoHiRF(
            TorchKMeans(4, n_init=1), views=2, batch_size=batch_size, device=device, random_state=0
        ).fit(data)
        return model.labels_, model.parents_, model.stability_

    streamed = fit()
    monkeypatch.setattr(choice, "StreamingEngine", lambda device: LocalEngine(1))
    for found, expected in zip(streamed, fit(), strict=True):
        assert isinstance(found, np.ndarray)
        np.testing.assert_array_equal(found, expected)


def test_rows_beside_those_of_weight_zero_are_streamed(device):
    from cohirf.clusterers import TorchKMeans

    weights = np.where(np.arange(1000) % 5 > 0, 1.0, 0.0)
    of_array = CoHiRF(
        TorchKMeans(4, n_init=1), views=2, batch_size=150, device=device, random_state=0
    )
    of_array.fit(open_source(X), sample_weight=weights)
    assert of_array.labels_.shape == (1000,)


def test_a_fit_with_a_checkpoint_is_streamed_and_resumed(device, tmp_path):
    from cohirf.clusterers import TorchKMeans

    model = CoHiRF(TorchKMeans(4, n_init=1), views=2, batch_size=150, device=device, random_state=0)
    expected = model.fit(open_source(X)).labels_
    model.set_params(checkpoint=tmp_path / "checkpoint")
    for _ in range(2):
        np.testing.assert_array_equal(model.fit(open_source(X)).labels_, expected)


def test_a_model_of_a_device_is_loaded_where_torch_is_missing(device, tmp_path, monkeypatch):
    from cohirf.clusterers import TorchKMeans

    model = CoHiRF(TorchKMeans(4, n_init=1), views=2, device=device, random_state=0).fit(X)
    model.device = "cuda"
    model.save(tmp_path / "model")
    monkeypatch.setitem(sys.modules, "torch", None)
    loaded = load(tmp_path / "model")
    assert loaded.device == "cuda"
    np.testing.assert_array_equal(loaded.predict(X), model.labels_)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_workers_of_a_cluster_use_their_own_device(device):
    distributed = pytest.importorskip("distributed")
    from cohirf.clusterers import TorchKMeans

    model = CoHiRF(TorchKMeans(4, n_init=1), views=2, batch_size=150, device=device, random_state=0)
    expected = model.fit(open_source(X)).labels_
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=":0"
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        labels = model.fit(open_source(X), client=client).labels_.compute()
    np.testing.assert_array_equal(labels, expected)
