"""Arrays, CSR matrices and memory-mapped arrays as sources."""

import numpy as np
import pytest
from scipy import sparse
from source_contract import SourceContract, make_data

from cohirf import open_source
from cohirf.sources import ArraySource


class TestArray(SourceContract):
    most_handle_bytes = 40_000  # the array is what is pickled
    types = (*SourceContract.types, ">f4", ">f8", ">i4")

    def store(self, X, folder):
        return X


class TestFortranOrder(TestArray):
    def store(self, X, folder):
        return np.asfortranarray(X)


class TestMemoryMap(TestArray):
    def store(self, X, folder):
        np.save(folder / "data.npy", X)
        return np.load(folder / "data.npy", mmap_mode="r")


class TestCsr(TestArray):
    most_handle_bytes = 80_000
    types = tuple(kind for kind in SourceContract.types if kind != "f2")  # scipy has no such matrices

    def store(self, X, folder):
        return sparse.csr_array(X)

    def dense(self, taken):
        assert sparse.issparse(taken)
        assert taken.format == "csr"
        return taken.toarray()

    def check_that_a_cell_is_named(self, message):
        assert "The first" not in message

    def test_rows_are_new_memory_in_c_order(self, source, X):
        for rows in (np.arange(len(X)), np.arange(40), np.array([1, 5])):
            source.take(rows).data[:] = -1
            np.testing.assert_array_equal(source.take(rows).toarray(), X[rows])

    def fitted_alike(self, X):
        return sparse.csr_array(X)


def test_the_array_itself_is_kept():
    X = np.eye(3)
    assert open_source(X).X is X
    assert repr(open_source(X)) == "ArraySource(The array: 3 rows x 3 features, float64)"


def test_other_sparse_formats_become_csr():
    assert open_source(sparse.coo_array(np.eye(3))).X.format == "csr"


def test_the_fingerprint_of_an_array_sees_every_value():
    X = np.zeros((200_000, 2))
    before = ArraySource(X).fingerprint()
    X[123_456, 1] = 1e-300
    assert ArraySource(X).fingerprint() != before


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"The array has shape \(3,\): give two dimensions, one row per sample"),
        (np.zeros((2, 2, 2)), r"The array has shape \(2, 2, 2\): give two dimensions"),
        (np.zeros((0, 3)), "The array has 0 rows and 3 columns: give at least one of each"),
        (np.zeros((3, 0)), "The array has 3 rows and 0 columns: give at least one of each"),
        (np.array([["a"]]), "The array holds values of type <U1: turn them into numbers first"),
        (np.array([[1j]]), "The array holds values of type complex128: turn them into numbers first"),
        (np.array([["2026-01-01"]], dtype="M8[D]"), r"The array holds values of type datetime64\[D\]: turn them"),
        (np.array([[None]]), "The array holds values of type object: turn them into numbers first"),
        (sparse.csr_array(np.array([[1j]])), "The CSR matrix holds values of type complex128"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        open_source(X)


@pytest.mark.parametrize(("container", "name"), [(np.asarray, "The array"), (sparse.csr_array, "The CSR matrix")])
def test_a_column_that_is_not_there_is_refused(container, name):
    with pytest.raises(ValueError, match=f"{name} has no column 4: give numbers from 0 to 3"):
        open_source(container(make_data()), columns=[0, 4])
