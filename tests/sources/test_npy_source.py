"""``.npy`` files as sources."""

import numpy as np
import pytest
from source_contract import FileContract

from cohirf import open_source


class TestNpy(FileContract):
    types = (*FileContract.types, ">f4", ">f8", ">i4", ">u2")

    def store(self, X, folder):
        np.save(folder / "data.npy", X)
        return folder / "data.npy"


class TestNpyInFortranOrder(TestNpy):
    def store(self, X, folder):
        return super().store(np.asfortranarray(X), folder)


class TestNpyOfAnotherType(TestNpy):
    def store(self, X, folder):
        return super().store(X.astype(">f8") if X.dtype == float else X, folder)


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"data.npy has shape \(3,\): give two dimensions, one row per sample and one column per feature"),
        (np.zeros((2, 2, 2)), r"data.npy has shape \(2, 2, 2\): give two dimensions"),
        (np.zeros((0, 3)), "data.npy has 0 rows and 3 columns: give at least one of each"),
        (np.array([["a"]]), "data.npy holds values of type <U1: turn them into numbers first"),
        (np.zeros(2, dtype=[("a", "f8"), ("b", "f8")]), r"data.npy has shape \(2,\)"),
        (np.array([[{}]]), "data.npy cannot be read as .npy: Array can't be memory-mapped: Python objects in dtype"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, message, tmp_path):
    np.save(tmp_path / "data.npy", X)
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / "data.npy")


@pytest.mark.parametrize(
    "content", [b"", b"a,b\n1,2\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04"], ids=["empty", "text", "cut", "zip"]
)
def test_what_is_no_npy_file_is_refused(content, tmp_path):
    (tmp_path / "data.npy").write_bytes(content)
    with pytest.raises(
        ValueError, match=r"data.npy cannot be read as .npy: .* It is truncated, damaged or in another format: write it"
    ) as caught:
        open_source(tmp_path / "data.npy")
    assert "\n" not in str(caught.value)


def test_a_truncated_file_is_refused(tmp_path):
    np.save(tmp_path / "data.npy", np.zeros((100, 3)))
    content = (tmp_path / "data.npy").read_bytes()
    (tmp_path / "data.npy").write_bytes(content[:-1])
    with pytest.raises(ValueError, match=r"data.npy cannot be read as .npy"):
        open_source(tmp_path / "data.npy")


def test_columns_are_chosen_by_number(tmp_path):
    np.save(tmp_path / "data.npy", np.eye(3))
    for columns, error, message in [
        ([3], ValueError, r"data.npy has no column 3: give numbers from 0 to 2\."),
        ([-1], ValueError, r"data.npy has no column -1: give numbers from 0 to 2\."),
        (["a"], TypeError, r"data.npy has no column names: give numbers from 0 to 2, not 'a'\."),
        ([True], TypeError, r"data.npy has no column names: give numbers from 0 to 2, not True\."),
        ([], ValueError, r"columns= selects no column: choose at least one\."),
        (lambda column: column > 5, ValueError, r"columns= selects no column: choose at least one\."),
        ([1, 1], ValueError, r"columns=\[1, 1\] lists 1 more than once: give each column once\."),
        (1, TypeError, r"columns=1 is not a list: give a list of columns, such as \[1\]\."),
    ]:
        with pytest.raises(error, match=message):
            open_source(tmp_path / "data.npy", columns=columns)


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    np.save(tmp_path / "data.npy", np.eye(3))
    source = open_source(tmp_path / "data.npy")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("pathlib.Path.open", refuse)
    with pytest.raises(PermissionError, match=r"Permission denied: '.*data.npy'"):
        source.take([0])


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("stored", ["f8", "f2"])
def test_a_file_that_is_cut_while_it_is_read_gives_no_rows(order, stored, tmp_path, monkeypatch):
    np.save(tmp_path / "data.npy", np.ones((100, 3), dtype=stored, order=order))
    source = open_source(tmp_path / "data.npy")
    content = (tmp_path / "data.npy").read_bytes()
    (tmp_path / "data.npy").write_bytes(content[:-30])
    monkeypatch.setattr("cohirf.sources.files.FileStamp.refuse_changes", lambda self: None)
    with pytest.raises(ValueError, match=r"data.npy cannot be read as .npy: it ends before"):
        source.take(np.arange(100))
