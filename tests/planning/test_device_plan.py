"""The batch size for a device, whose free memory is given."""

import numpy as np
import pytest

from cohirf import CoHiRF, open_source
from cohirf.beyond.policy import CELL
from cohirf.engines.policy import STREAM
from cohirf.planning import plan
from cohirf.planning.plan import plan_for_device
from cohirf.planning.policy import PLAN

X = np.random.default_rng(0).normal(size=(1000, 8)).astype(np.float32)
ROW = X[0].nbytes


@pytest.fixture
def free(monkeypatch):
    """Let a device have some free memory."""
    return lambda n_bytes: monkeypatch.setattr(plan, "free_bytes", lambda _: n_bytes)


def test_all_rows_are_one_batch_if_they_fit(free):
    needed = 1000 * (ROW * 1.5 + PLAN.device_bytes) / PLAN.usable
    free(needed)
    assert plan_for_device("cuda", ROW, 0.5, None, 1000) is None
    free(needed - 1)
    assert plan_for_device("cuda", ROW, 0.5, None, 1000) < 1000


def test_there_is_room_for_the_runs_that_are_read_ahead(free):
    free(10**6)
    size = plan_for_device("cuda", ROW, 0.5, None, 10**9)
    largest = CELL.largest_batch * size
    # the runs, one of them without its held-aside rows, a view of it, and what belongs to its rows
    needed = largest * (ROW * (1 + STREAM.runs_ahead) + ROW + ROW / 2 + PLAN.device_bytes)
    assert 0.98 * PLAN.usable * 10**6 < needed <= PLAN.usable * 10**6


def test_rows_that_are_on_the_device_need_no_copy(free):
    free(10**5)
    assert plan_for_device(X, ROW, 0.5, None, 10**9) > 2 * plan_for_device(
        "cuda", ROW, 0.5, None, 10**9
    )


def test_a_memory_limit_replaces_the_free_memory(free):
    free(0)
    assert plan_for_device("cuda", ROW, 0.5, 10**6, 10**9) > 2


@pytest.mark.parametrize("data", [X, open_source(X)], ids=["array", "source"])
def test_fits_have_batches_that_fit_into_the_device(data, free):
    pytest.importorskip("torch")
    from cohirf.clusterers import TorchKMeans

    free(10**5)
    model = CoHiRF(
        TorchKMeans(3, n_init=1), views=2, batch_size="auto", device="cpu", random_state=0
    ).fit(data)
    assert model.batch_size_ == plan_for_device("cpu", ROW, 1.0, None, 1000)
    assert 1 < model.diagnostics_[0].n_batches < 20
    free(10**9)
    assert model.fit(data).batch_size_ is None
