"""Rows that other processes of this machine read from a temporary file."""

import gc
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse

from cohirf.rows.storage import ArrayRows, SomeRows
from cohirf.scratch import SMALL_BYTES, ScratchStorage, share_rows
from cohirf.sources import ArraySource

RNG = np.random.default_rng(0)
LARGE = RNG.normal(size=(20_000, 8))  # 1.3 MB
SMALL = LARGE[:50].copy()
SPARSE = sparse.random_array((20_000, 20), density=0.5, format="csr", rng=np.random.default_rng(0))
SOME = np.array([1, 4, 30])
MATRICES = {
    "small": SMALL,
    "dense": LARGE,
    "float32": LARGE.astype(np.float32).repeat(2, axis=0),
    "Fortran order": np.asfortranarray(LARGE),
    "part of an array": np.concatenate([LARGE, LARGE])[10:-10:2],
    "csr_array": SPARSE,
    "csr_matrix": sparse.csr_matrix(SPARSE),
    "small csr_array": SPARSE[:50],
}


def send(rows):
    return pickle.loads(pickle.dumps(rows))


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def path_of(shared):
    _, (stored, *_) = shared.__reduce__()
    return Path(stored.filename)


@pytest.mark.parametrize("kind", MATRICES)
def test_rows_arrive_as_they_are(kind):
    X = MATRICES[kind]
    received = send(share_rows(ArrayRows(X)))
    assert received.n_rows == X.shape[0]
    assert (type(received.X) is type(X)) or isinstance(received.X, np.memmap)
    assert received.X.dtype == X.dtype
    assert_array_equal(dense(received.X), dense(X))
    assert_array_equal(dense(received.take(SOME)), dense(X[SOME]))


@pytest.mark.parametrize("X", [SMALL, LARGE, SPARSE], ids=["small", "large", "sparse"])
def test_a_source_arrives_with_the_names_of_its_features(X):
    names = [f"feature {number}" for number in range(X.shape[1])]
    source = ArraySource(X, names)
    received = send(share_rows(source))
    assert list(received.feature_names) == names
    assert received.fingerprint() == source.fingerprint()
    assert_array_equal(dense(received.take(SOME)), dense(X[SOME]))


@pytest.mark.parametrize("n_rows", [100, 19_000])
@pytest.mark.parametrize("values", [ArrayRows(LARGE), ArraySource(LARGE)], ids=["array", "source"])
def test_a_subset_of_rows_arrives_with_its_numbers(values, n_rows):
    numbers = np.sort(RNG.choice(len(LARGE), n_rows, replace=False))
    received = send(share_rows(SomeRows(values, numbers)))
    assert received.n_rows == n_rows
    assert_array_equal(received.take(SOME), LARGE[numbers[SOME]])


def test_rows_of_other_kinds_are_not_changed():
    rows = object()
    assert share_rows(rows) is rows


def test_rows_that_are_shared_are_not_shared_again():
    for rows in (ArrayRows(LARGE), ArraySource(LARGE)):
        shared = share_rows(rows)
        assert share_rows(shared) is shared


def test_the_process_that_shares_rows_reads_them_from_memory():
    assert share_rows(ArrayRows(LARGE)).take(np.arange(len(LARGE))) is LARGE


def test_a_small_array_is_sent_with_the_task():
    assert SMALL.nbytes < SMALL_BYTES
    assert SMALL.tobytes() in pickle.dumps(share_rows(ArrayRows(SMALL)))


def test_a_large_array_is_sent_as_a_handle_and_is_written_once():
    assert LARGE.nbytes > SMALL_BYTES
    shared = share_rows(ArrayRows(LARGE))
    sent = pickle.dumps(shared)
    assert len(sent) < 2_000
    assert pickle.dumps(shared) == sent  # with the same path


@pytest.mark.parametrize("rows", [ArrayRows(LARGE), ArraySource(LARGE)], ids=["array", "source"])
def test_the_file_is_gone_when_the_rows_are_deleted(rows):
    shared = share_rows(rows)
    path = path_of(shared)
    assert path.stat().st_size == LARGE.nbytes
    del shared
    gc.collect()
    assert not path.exists()


def test_a_reader_keeps_its_rows_when_the_file_is_gone():
    shared = share_rows(ArrayRows(LARGE))
    received = send(shared)
    del shared
    gc.collect()
    assert_array_equal(received.X, LARGE)


def test_no_file_is_written_before_rows_are_sent(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "missing"))
    shared = share_rows(ArrayRows(LARGE))
    assert_array_equal(shared.take(SOME), LARGE[SOME])
    with pytest.raises(OSError, match="the directory for temporary files of the fit"):
        pickle.dumps(shared)


def test_a_scratch_file_is_not_copied(tmp_path):
    stored = ScratchStorage(tmp_path).store(LARGE)
    assert path_of(share_rows(ArrayRows(stored))) == Path(stored.filename)


@pytest.mark.parametrize("n_rows", [50, 20_000])
def test_a_memory_map_of_the_user_arrives_with_its_values_in_memory(n_rows, tmp_path):
    LARGE[:n_rows].tofile(tmp_path / "rows")
    mapped = np.memmap(tmp_path / "rows", dtype=LARGE.dtype, mode="c", shape=(n_rows, 8))
    mapped[0] = 7.0  # in memory only
    for X in (mapped, mapped[::-1], np.asarray(mapped)[::-1]):
        assert_array_equal(send(share_rows(ArrayRows(X))).X, np.asarray(X))


@pytest.mark.parametrize("kind", ["dense", "csr_array"])
def test_a_change_by_a_reader_does_not_reach_others(kind):
    X = MATRICES[kind].copy()
    before = dense(X).copy()
    shared = share_rows(ArrayRows(X))
    first = send(shared)
    second = send(shared)
    values = first.X.data if sparse.issparse(X) else first.X
    values[:10] = 7.0
    assert (dense(first.X) == 7.0).any()
    assert_array_equal(dense(second.X), before)
    assert_array_equal(dense(send(shared).X), before)
    assert_array_equal(dense(X), before)
