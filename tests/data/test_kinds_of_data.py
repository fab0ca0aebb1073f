"""Data in memory, in a source and on Dask answer the same questions in the same way."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from cohirf.data import InMemory, InSource, OnDask
from cohirf.data.dask_arrays import DaskTable, LazyDaskSource
from cohirf.sources import ArraySource, open_source

X = np.random.default_rng(0).normal(size=(60, 4))


def in_npy_file(X, folder):
    path = folder / f"{len(list(folder.iterdir()))}.npy"
    np.save(path, X)
    return InSource(open_source(path))


def on_dask(X, _):
    da = pytest.importorskip("dask.array")
    return OnDask(LazyDaskSource(da.from_array(X, chunks=(17, 4))))


KINDS = {
    "array": lambda X, _: InMemory(X),
    "CSR matrix": lambda X, _: InMemory(sparse.csr_array(X)),
    "source": lambda X, _: InSource(ArraySource(X)),
    "file": in_npy_file,
    "Dask": on_dask,
}


@pytest.fixture(params=KINDS)
def opened(request, tmp_path):
    """Return a function that opens rows as one kind of data."""
    return lambda X: KINDS[request.param](X, tmp_path)


def dense(rows):
    return rows.toarray() if sparse.issparse(rows) else np.asarray(rows)


def test_shape_and_type_are_those_of_the_rows(opened):
    for dtype in (np.float64, np.float32):
        data = opened(X.astype(dtype))
        assert (data.rows.n_rows, data.n_features) == X.shape
        assert data.dtype == dtype


def test_rows_are_taken_in_any_order(opened):
    rows = np.array([40, 3, 59, 0, 17])
    assert_array_equal(dense(opened(X).take(rows)), X[rows])


@pytest.mark.parametrize("kind", ["array", "source", "Dask"])
def test_the_fingerprint_tells_the_values(kind, tmp_path):
    first = X
    same = X.copy()
    other = X.copy()
    other[59, 3] += 1e-12
    one, two, three = (KINDS[kind](rows, tmp_path).fingerprint() for rows in (first, same, other))
    assert one == two != three


@pytest.mark.parametrize("kind", ["source", "file", "Dask"])
def test_a_function_of_rows_gives_a_vector_or_columns(kind, tmp_path):
    def total(rows):
        return dense(rows).sum(axis=1)

    def two_columns(rows):
        return dense(rows)[:, :2]

    data = (
        KINDS[kind](X, tmp_path)
        if kind != "Dask"
        else DaskTable(on_dask(X, tmp_path).rows.array, None)
    )
    assert_array_equal(np.asarray(data.map_rows(total, None, np.float64)), X.sum(axis=1))
    assert_array_equal(np.asarray(data.map_rows(two_columns, 2, np.float64)), X[:, :2])


def test_weights_are_those_of_the_rows(opened):
    given = np.arange(1.0, 61.0)
    weights = opened(X).check_weights(given)
    assert weights.positive is None
    assert_array_equal(weights.take(np.array([0, 9, 59])), [1.0, 10.0, 60.0])


@pytest.mark.parametrize(
    "bad", [np.zeros(60), np.full(60, -1.0), np.ones(59)], ids=["zero", "negative", "too few"]
)
def test_bad_weights_are_refused(opened, bad):
    with pytest.raises(ValueError, match="weight"):
        opened(X).check_weights(bad)


def test_rows_of_weight_zero_do_not_take_part(tmp_path):
    given = np.ones(60)
    given[[0, 7]] = 0
    for kind in ("array", "file"):
        assert_array_equal(
            KINDS[kind](X, tmp_path).check_weights(given).positive, np.delete(np.arange(60), [0, 7])
        )


def test_memory_of_batches_counts_a_process_for_each_job(opened):
    if isinstance(opened(X), OnDask):
        pytest.skip("batches run on the workers of a cluster")
    assert (opened(X).room(10**9, 3).n_jobs, opened(X).room(10**9, 3).in_processes) == (3, True)
    assert opened(X).room(10**9, 1).in_processes is False


def test_rows_and_leaves_of_a_source_take_their_values(tmp_path):
    room = KINDS["source"](X, tmp_path).room(10**9, 1)
    assert (room.row_bytes, room.leaf_bytes) == (X[0].nbytes, X[0].nbytes)
