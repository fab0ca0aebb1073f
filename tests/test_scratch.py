"""Scratch files: vectors and rows on disk that leave nothing behind."""

import errno
import gc
import mmap
import os
import re
import weakref

import numpy as np
import pytest
from scipy import sparse

from cohirf import scratch
from cohirf.scratch import ScratchStorage
from descriptors import open_files
from other_systems import OTHER_SYSTEMS, as_on
from systems import linux_only


@pytest.fixture
def storage(tmp_path):
    return ScratchStorage(tmp_path)


def gather(storage, blocks):
    gatherer = storage.gather()
    for block in blocks:
        gatherer.add(block)
    return gatherer.rows()


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.uint16])
def test_a_vector_is_a_writable_memory_map(dtype, storage):
    vector = storage.vector(1000, dtype)
    assert isinstance(vector, np.memmap)
    assert vector.dtype == dtype
    vector[:] = np.arange(1000) % 200
    storage.release()
    assert (vector == np.arange(1000) % 200).all()


def test_vectors_do_not_share_memory(storage):
    first = storage.vector(10, np.int32)
    second = storage.vector(10, np.int32)
    first[:], second[:] = 1, 2
    assert first.sum() == 10


def test_a_vector_may_be_empty(storage):
    assert storage.vector(0, np.int32).shape == (0,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_gathered_blocks_come_back_in_order(dtype, storage):
    X = np.random.default_rng(0).normal(size=(100, 3)).astype(dtype)
    rows = gather(storage, [X[:1], X[1:60], X[60:]])
    assert rows.n_rows == 100
    assert rows.X.dtype == dtype
    assert (rows.X == X).all()
    assert (rows.take(np.array([3, 70])) == X[[3, 70]]).all()


def test_blocks_in_any_memory_layout_are_taken(storage):
    X = np.random.default_rng(0).normal(size=(20, 6))
    rows = gather(storage, [np.asfortranarray(X[:10, ::2]), X[10:, ::2][::-1]])
    assert (np.concatenate([X[:10, ::2], X[10:, ::2][::-1]]) == rows.X).all()


def test_sparse_blocks_stay_in_memory(storage):
    X = sparse.random_array((20, 4), density=0.5, format="csr", rng=0)
    rows = gather(storage, [X[:5], X[5:]])
    assert (rows.X != X).nnz == 0


@linux_only
def test_files_have_no_name_where_the_system_has_such_files(storage, tmp_path):
    vector = storage.vector(1000, np.int32)
    rows = gather(storage, [np.ones((5, 2))])
    assert list(tmp_path.iterdir()) == []
    assert vector.size + rows.n_rows == 1005


@pytest.mark.parametrize("system", OTHER_SYSTEMS)
def test_files_with_a_name_are_removed_with_the_last_array(system, storage, tmp_path):
    with as_on(system):
        vector = storage.vector(1000, np.int32)
        rows = gather(storage, [np.ones((5, 2))])
        vector[:] = 7
        part = vector[10:20]
        assert len(list(tmp_path.iterdir())) == 2
        assert (
            np.memmap(vector.filename, np.int32, "r") == 7
        ).all()  # as a worker of joblib finds it
        storage.mappings.clear()
        del vector, rows
        assert len(list(tmp_path.iterdir())) == 1
        assert (part == 7).all()
        del part
        assert list(tmp_path.iterdir()) == []


@linux_only
def test_a_file_lives_as_long_as_its_array(storage, tmp_path):
    def of_storage():
        gc.collect()
        return sum(str(tmp_path) in name for name in open_files())

    vector = storage.vector(1000, np.int32)
    rows = gather(storage, [np.ones((5, 2))])
    assert of_storage() > 0
    storage.mappings.clear()
    del vector, rows
    assert of_storage() == 0


def test_a_gatherer_that_is_given_up_closes_its_file(storage):
    gatherer = storage.gather()
    gatherer.add(np.ones((5, 2)))
    file = gatherer._file.file
    gone = weakref.ref(gatherer)
    del gatherer
    assert gone() is None
    assert file.closed


def test_the_default_directory_is_the_one_for_temporary_files(monkeypatch, tmp_path):
    monkeypatch.setattr(scratch.tempfile, "tempdir", str(tmp_path))
    assert ScratchStorage().directory == tmp_path


def not_supported(*_):
    raise OSError(errno.EOPNOTSUPP, os.strerror(errno.EOPNOTSUPP))


@linux_only  # others do not tell what a file takes up on disk, or have no such call
@pytest.mark.parametrize("system", ["reserves", "has no such call", "does not support it"])
def test_room_is_taken_before_a_file_is_mapped(system, storage, monkeypatch):
    if system == "has no such call":
        monkeypatch.delattr(os, "posix_fallocate", raising=False)
    if system == "does not support it":
        monkeypatch.setattr(os, "posix_fallocate", not_supported, raising=False)
    taken = []
    map_file = np.memmap

    def memmap(file, **options):
        os.fdatasync(file.fileno())
        taken.append(512 * os.fstat(file.fileno()).st_blocks)
        return map_file(file, **options)

    monkeypatch.setattr(scratch.np, "memmap", memmap)
    vector = storage.vector(2**20, np.int32)
    rows = gather(storage, [np.ones((2**18, 2))])
    assert taken[0] >= vector.nbytes
    assert taken[1] >= rows.X.nbytes
    assert (vector == 0).all()
    assert (rows.X == 1).all()


@pytest.mark.parametrize("name", ["write", "posix_fallocate"])
@pytest.mark.parametrize(
    ("code", "reason"),
    [(errno.ENOSPC, "is full"), (errno.EDQUOT, "cannot be written to (Disk quota exceeded)")],
)
def test_an_error_names_the_directory_and_a_remedy(
    name, code, reason, storage, monkeypatch, tmp_path
):
    def fail(*_):
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, name, fail)
    message = (
        f"[Errno {code}] {tmp_path}, the directory for temporary files of the fit, {reason}: free "
        "some space, or set the environment variable TMPDIR to another directory"
    )
    with pytest.raises(OSError, match=f"^{re.escape(message)}$") as caught:
        gather(storage, [np.ones((5, 2))])
    assert caught.value.errno == code


def test_a_missing_directory_is_named(tmp_path):
    missing = tmp_path / "missing"
    with pytest.raises(
        FileNotFoundError, match=rf"{missing}, the directory .* cannot be written to \(No such file"
    ):
        ScratchStorage(missing).vector(10, np.int32)


def test_memory_is_let_go_of_where_the_system_can(storage, monkeypatch):
    vector = storage.vector(10, np.int32)
    vector[:] = 7
    monkeypatch.delattr(mmap, "MADV_DONTNEED", raising=False)
    storage.release()
    assert (vector == 7).all()
