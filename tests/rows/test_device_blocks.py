"""Work in blocks goes on with smaller ones if the memory of a device is full."""

import sys
import warnings
from types import SimpleNamespace

import pytest

from cohirf.rows.arrays import in_blocks, naming_full_memory


class OutOfMemoryError(RuntimeError):
    """The name that torch and CuPy give to the error."""


def run(n_rows, block_rows, room):
    """Work through rows with memory for ``room`` of them.

    Return the blocks that were done, and the warnings.
    """
    done = []

    def work(block):
        if block.stop - block.start > room:
            raise OutOfMemoryError
        done.append((block.start, block.stop))

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        in_blocks(work, n_rows, block_rows)
    return done, [str(warning.message) for warning in caught]


@pytest.mark.parametrize(("n_rows", "block_rows"), [(10, 4), (10, 100), (1, 1), (5, 0)])
def test_every_row_is_in_one_block(n_rows, block_rows):
    done, caught = run(n_rows, block_rows, room=n_rows)
    assert [row for start, stop in done for row in range(start, stop)] == list(range(n_rows))
    assert max(stop - start for start, stop in done) <= max(1, block_rows)
    assert caught == []


def test_blocks_are_halved_until_they_fit_and_a_warning_says_so():
    done, caught = run(20, 12, room=3)
    assert [row for start, stop in done for row in range(start, stop)] == list(range(20))
    assert {stop - start for start, stop in done} <= {2, 3}
    assert caught == [
        f"The memory of the device is full: the fit goes on with blocks of {step} rows, which "
        "takes longer."
        for step in (6, 3)
    ]


def test_memory_that_ends_later_halves_the_blocks_that_are_left():
    left = [2]

    def work(block):
        if block.start >= 4 and left[0]:
            left[0] -= 1
            raise OutOfMemoryError
        done.extend(range(block.start, block.stop))

    done = []
    with pytest.warns(RuntimeWarning, match="memory of the device is full"):
        in_blocks(work, 12, 4)
    assert done == list(range(12))


def test_a_single_row_that_does_not_fit_and_other_errors_are_raised():
    with pytest.raises(OutOfMemoryError), pytest.warns(RuntimeWarning, match="blocks of 1 rows"):
        in_blocks(lambda block: (_ for _ in ()).throw(OutOfMemoryError), 2, 2)
    with pytest.raises(ZeroDivisionError):
        in_blocks(lambda block: 1 / 0, 8, 4)


def test_memory_that_libraries_hold_is_freed_first(monkeypatch):
    freed = []
    pool = SimpleNamespace(free_all_blocks=lambda: freed.append("cupy"))
    cuda = SimpleNamespace(is_available=lambda: True, empty_cache=lambda: freed.append("torch"))
    monkeypatch.setitem(sys.modules, "cupy", SimpleNamespace(get_default_memory_pool=lambda: pool))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda))
    run(4, 4, room=2)
    assert freed == ["torch", "cupy"]


def test_a_batch_that_does_not_fit_is_named_with_a_remedy():
    with (
        pytest.raises(
            MemoryError,
            match=r"A batch of 1,200 rows does not fit .* lower batch_size, .* memory to use",
        ),
        naming_full_memory(1200, "cpu"),
    ):
        raise OutOfMemoryError
    with pytest.raises(ZeroDivisionError), naming_full_memory(1200, "cpu"):
        _ = 1 / 0


def test_the_free_memory_of_a_cuda_device_is_named(monkeypatch):
    cuda = SimpleNamespace(
        mem_get_info=lambda name: (3 * 2**29, 2**33) if name == "cuda:1" else None
    )
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(cuda=cuda, Tensor=type(None)))
    with (
        pytest.raises(MemoryError, match=r"1\.5 of 8\.0 GiB are free"),
        naming_full_memory(5, "cuda:1"),
    ):
        raise OutOfMemoryError
