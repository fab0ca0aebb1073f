"""Dask arrays as sources."""

import dask
import dask.array as da
import numpy as np
import pytest
from source_contract import SourceContract, make_data

from cohirf import open_source
from cohirf.sources.dask import ChunkSource


class TestDask(SourceContract):
    most_handle_bytes = 60_000  # the chunks of the array are in its graph

    def store(self, X, folder):
        return da.from_array(X, chunks=((300, 200, 600), (3, 1)))


class TestLazyDask(TestDask):
    def store(self, X, folder):
        return (da.from_array(X, chunks=(400, 4)) * 2) / 2 if X.dtype == float else super().store(X, folder)


def test_unknown_chunk_sizes_are_refused():
    array = da.from_array(make_data(), chunks=(300, 4))
    array = array[array[:, 0] > 0]
    with pytest.raises(
        ValueError, match=r"The Dask array has unknown chunk sizes, shape .* call array.compute_chunk_sizes\(\) first\."
    ):
        open_source(array)
    assert open_source(array.compute_chunk_sizes()).n_rows == (make_data()[:, 0] > 0).sum()


def test_each_chunk_is_computed_once_and_in_the_calling_thread(monkeypatch):
    computed = []
    array = da.from_array(make_data(), chunks=(300, 4)).map_blocks(
        lambda block: computed.append(len(block)) or block, meta=np.empty((0, 4))
    )
    computed.clear()
    source = open_source(array)
    with dask.config.set(scheduler="threads"):
        for start in range(0, 1_100, 50):
            source.take(np.arange(start, start + 50))
    assert computed == [300, 300, 300, 200]


def test_tables_of_dask_are_refused():
    class Frame:
        __module__ = "dask.dataframe"
        to_dask_array = None

    with pytest.raises(TypeError, match=r"give the result of its to_dask_array\(lengths=True\)"):
        open_source(Frame())


@pytest.mark.parametrize("shape", [(), (3,), (2, 2, 2)])
def test_other_than_two_dimensions_are_refused(shape):
    with pytest.raises(ValueError, match=r"The Dask array has shape .* give two dimensions"):
        open_source(da.zeros(shape))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_chunk_in_memory_has_the_row_numbers_of_the_array(dtype):
    X = make_data(dtype)
    source = ChunkSource(X[300:500], 300, len(X))
    assert (source.n_rows, source.n_features) == X.shape
    for rows in (np.arange(310, 330), np.array([300, 305, 499])):
        taken = source.take(rows)
        assert taken.dtype == dtype
        np.testing.assert_array_equal(taken, X[rows])
    X[301, 2] = np.nan
    with pytest.raises(ValueError, match="The Dask array, rows 300 to 302: contains NaN"):
        source.take(np.arange(300, 303))
