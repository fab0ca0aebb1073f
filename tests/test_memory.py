"""The memory of a fit from a source does not grow with the number of rows."""

import tracemalloc

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin

from cohirf import CoHiRF, open_source
from cohirf.data import first_level
from cohirf.summary import vectors

BATCH_ROWS = 10_000


class Bins(ClusterMixin, BaseEstimator):
    """Ten bins along the first feature."""

    def fit(self, X, y=None):
        self.labels_ = (10 * X[:, 0]).astype(np.int32)
        return self


def write_rows(path, n_rows):
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, 3)}
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(n_rows // BATCH_ROWS):
            file.write(rng.random((BATCH_ROWS, 3), dtype=np.float32).data)


def fit_and_trace(source, checkpoint):
    """Return the most bytes that a fit holds, those of mapped files left out, and the model."""
    model = CoHiRF.as_published(
        Bins(), views=1, batch_size=BATCH_ROWS, random_state=0, checkpoint=checkpoint
    )
    tracemalloc.start()
    try:
        model.fit(source)
        return tracemalloc.get_traced_memory()[1], model
    finally:
        tracemalloc.stop()


def most_bytes(folder, n_rows):
    """Return the most bytes held by a fit that writes a checkpoint, and by one that reads it."""
    path = folder / f"{n_rows}.npy"
    write_rows(path, n_rows)
    computed, _ = fit_and_trace(open_source(path), folder / str(n_rows))
    read, model = fit_and_trace(open_source(path), folder / str(n_rows))
    assert model.n_clusters_ == 10
    return computed, read


@pytest.mark.slow
def test_ten_times_the_rows_take_no_more_memory(tmp_path, monkeypatch):
    monkeypatch.setitem(
        vars(first_level.DATA), "numbered_rows", BATCH_ROWS
    )  # 4 million rows at a time
    monkeypatch.setitem(vars(vectors.KEEP), "block_rows", BATCH_ROWS)
    most_bytes(tmp_path, 5 * BATCH_ROWS)  # what is imported or allocated once does not count
    few = most_bytes(tmp_path, 10 * BATCH_ROWS)
    many = most_bytes(tmp_path, 100 * BATCH_ROWS)
    data = 12 * 100 * BATCH_ROWS
    assert many[0] - few[0] < data / 10
    assert many[1] - few[1] < data / 10
