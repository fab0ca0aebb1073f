"""The memory of a fit from a source does not grow with the number of rows."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin

from cohirf import CoHiRF, open_source

STATUS, CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")
BATCH_ROWS = 10_000


class Bins(ClusterMixin, BaseEstimator):
    """Ten bins along the first feature."""

    def fit(self, X, y=None):
        self.labels_ = (10 * X[:, 0]).astype(np.int32)
        return self


def peak_bytes():
    return 1024 * int(STATUS.read_text().split("VmHWM:")[1].split()[0])


def write_rows(path, n_rows):
    rng = np.random.default_rng(0)
    with path.open("wb") as file:
        header = {"descr": "<f4", "fortran_order": False, "shape": (n_rows, 3)}
        np.lib.format.write_array_header_1_0(file, header)
        for _ in range(n_rows // BATCH_ROWS):
            file.write(rng.random((BATCH_ROWS, 3), dtype=np.float32).data)


def rise_of_peak(source, checkpoint):
    """Return by how many bytes a fit raises the peak resident size, and the model."""
    model = CoHiRF(Bins(), n_views=1, batch_size=BATCH_ROWS, random_state=0, checkpoint=checkpoint)
    CLEAR.write_text("5")  # the peak begins anew
    before = peak_bytes()
    model.fit(source)
    return peak_bytes() - before, model


def rises_of_peak(folder, n_rows):
    """Return the rise in a fit that writes a checkpoint, and in one that reads it; and the bytes of the vectors."""
    path = folder / f"{n_rows}.npy"
    write_rows(path, n_rows)
    computed, _ = rise_of_peak(open_source(path), folder / str(n_rows))
    read, model = rise_of_peak(open_source(path), folder / str(n_rows))
    assert model.n_clusters_ == 10
    vectors = (model.parents_, model.hierarchy_.absorbed_at, model.labels_)
    return computed, read, sum(vector.nbytes for vector in vectors)


@pytest.mark.skipif(not CLEAR.exists(), reason="there is no /proc here to measure with")
def test_ten_times_the_rows_take_no_more_memory_beyond_the_vectors(tmp_path):
    rises_of_peak(tmp_path, 5 * BATCH_ROWS)  # what is imported or allocated once is no part of it
    few = rises_of_peak(tmp_path, 10 * BATCH_ROWS)
    *many, vectors = rises_of_peak(tmp_path, 100 * BATCH_ROWS)
    data = 12 * 100 * BATCH_ROWS
    assert many[0] - few[0] < vectors + data / 3
    assert many[1] - few[1] < vectors + data / 3
