"""Arrays as sources: what is special about those in memory, in ``.npy`` files, of Zarr and of
Dask.
"""

import os
import shutil

import dask
import dask.array as da
import numpy as np
import pytest
import zarr
from scipy import sparse
from test_sources import make_data

from cohirf import open_source
from cohirf.sources import ArraySource, SourceChangedError
from cohirf.sources.policy import READ


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
        (
            np.array([[1j]]),
            "The array holds values of type complex128: turn them into numbers first",
        ),
        (
            np.array([["2026-01-01"]], dtype="M8[D]"),
            r"The array holds values of type datetime64\[D\]: turn them",
        ),
        (np.array([[None]]), "The array holds values of type object: turn them into numbers first"),
        (sparse.csr_array(np.array([[1j]])), "The CSR matrix holds values of type complex128"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, message):
    with pytest.raises(ValueError, match=message):
        open_source(X)


@pytest.mark.parametrize(
    ("container", "name"), [(np.asarray, "The array"), (sparse.csr_array, "The CSR matrix")]
)
def test_a_column_that_is_not_there_is_refused(container, name):
    with pytest.raises(ValueError, match=f"{name} has no column 4: give numbers from 0 to 3"):
        open_source(container(make_data()), columns=[0, 4])


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (
            np.zeros(3),
            r"data.npy has shape \(3,\): give two dimensions, one row per sample and one column per feature",
        ),
        (np.zeros((2, 2, 2)), r"data.npy has shape \(2, 2, 2\): give two dimensions"),
        (np.zeros((0, 3)), "data.npy has 0 rows and 3 columns: give at least one of each"),
        (np.array([["a"]]), "data.npy holds values of type <U1: turn them into numbers first"),
        (np.zeros(2, dtype=[("a", "f8"), ("b", "f8")]), r"data.npy has shape \(2,\)"),
        (
            np.array([[{}]]),
            "data.npy cannot be read as .npy: it holds Python objects",
        ),
    ],
)
def test_an_npy_file_without_a_table_of_numbers_is_refused(X, message, tmp_path):
    np.save(tmp_path / "data.npy", X)
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / "data.npy")


@pytest.mark.parametrize(
    "content",
    [b"", b"a,b\n1,2\n", b"\x93NUMPY\x01\x00", b"PK\x03\x04"],
    ids=["empty", "text", "cut", "zip"],
)
def test_what_is_no_npy_file_is_refused(content, tmp_path):
    (tmp_path / "data.npy").write_bytes(content)
    with pytest.raises(
        ValueError,
        match=r"data.npy cannot be read as .npy: .* It is truncated, damaged or in another format: write it",
    ) as caught:
        open_source(tmp_path / "data.npy")
    assert "\n" not in str(caught.value)


def test_a_truncated_npy_file_is_refused(tmp_path):
    np.save(tmp_path / "data.npy", np.zeros((100, 3)))
    content = (tmp_path / "data.npy").read_bytes()
    (tmp_path / "data.npy").write_bytes(content[:-1])
    with pytest.raises(ValueError, match=r"data.npy cannot be read as .npy"):
        open_source(tmp_path / "data.npy")


def test_columns_of_an_npy_file_are_chosen_by_number(tmp_path):
    np.save(tmp_path / "data.npy", np.eye(3))
    for columns, error, message in [
        ([3], ValueError, r"data.npy has no column 3: give numbers from 0 to 2\."),
        ([-1], ValueError, r"data.npy has no column -1: give numbers from 0 to 2\."),
        (["a"], TypeError, r"data.npy has no column names: give numbers from 0 to 2, not 'a'\."),
        ([True], TypeError, r"data.npy has no column names: give numbers from 0 to 2, not True\."),
        ([], ValueError, r"columns= selects no column: choose at least one\."),
        (
            lambda column: column > 5,
            ValueError,
            r"columns= selects no column: choose at least one\.",
        ),
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


def test_an_array_in_a_group_is_opened_by_its_path(tmp_path):
    zarr.create_group(tmp_path / "data.zarr").create_array("X", data=make_data())
    assert open_source(tmp_path / "data.zarr" / "X").n_rows == 1_100


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_is_refused(zarr_format, tmp_path):
    zarr.create_group(tmp_path / "data.zarr", zarr_format=zarr_format).create_array(
        "X", data=make_data()
    )
    with pytest.raises(
        ValueError, match=r"data.zarr is a group of arrays: open one of them, such as 'X'\."
    ):
        open_source(tmp_path / "data.zarr")
    with pytest.raises(ValueError, match=r"data.zarr is a group of arrays"):
        open_source(zarr.open_group(tmp_path / "data.zarr", mode="r"))


def test_an_empty_group_is_refused(tmp_path):
    zarr.create_group(tmp_path / "data.zarr")
    with pytest.raises(ValueError, match=r"data.zarr is a group of arrays: open one of them"):
        open_source(tmp_path / "data.zarr")


def test_a_chunk_that_was_removed_is_noticed(tmp_path):
    zarr.create_array(tmp_path / "data.zarr", data=make_data() + 1, chunks=(300, 4))
    source = open_source(tmp_path / "data.zarr")
    (tmp_path / "data.zarr" / "c" / "1" / "0").unlink()
    with pytest.raises(
        SourceChangedError, match="c/1/0 was deleted since the array was opened: open it again"
    ):
        source.take(np.arange(1_100))


def test_chunks_that_were_never_written_hold_the_fill_value(tmp_path):
    array = zarr.create_array(
        tmp_path / "data.zarr", shape=(100, 2), chunks=(10, 2), dtype="f8", fill_value=7
    )
    array[:10] = 1
    assert open_source(tmp_path / "data.zarr").take(np.arange(100)).sum() == 2 * (10 + 90 * 7)


def test_a_folder_that_takes_the_place_of_another_is_noticed(tmp_path):
    for name in ("data.zarr", "older.zarr"):
        zarr.create_array(tmp_path / name, data=make_data(), chunks=(300, 4))
    for file in (tmp_path / "older.zarr").rglob("*"):
        os.utime(file, ns=(10**18, 10**18))
    source = open_source(tmp_path / "data.zarr")
    shutil.rmtree(tmp_path / "data.zarr")
    (tmp_path / "older.zarr").rename(tmp_path / "data.zarr")
    with pytest.raises(SourceChangedError, match=r"zarr.json has changed since it was opened"):
        source.take(np.arange(10))


def test_a_chunk_longer_than_the_blocks_is_decoded_once(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(READ), "piece_bytes", 1_000)
    array = zarr.create_array({}, data=make_data(), chunks=(600, 4))
    decoded = []
    monkeypatch.setattr(
        zarr.Array,
        "__getitem__",
        lambda self, rows: decoded.append(rows) or self.get_basic_selection(rows),
    )
    source = open_source(array)
    for start in range(0, 1_100, 50):
        source.take(np.arange(start, start + 50))
    assert decoded == [slice(0, 600), slice(600, 1_100)]


def test_damaged_chunks_are_noticed_where_they_are_read(tmp_path):
    zarr.create_array(tmp_path / "data.zarr", data=make_data(), chunks=(300, 4))
    chunk = tmp_path / "data.zarr" / "c" / "2" / "0"
    chunk.write_bytes(chunk.read_bytes()[:100])
    source = open_source(tmp_path / "data.zarr")
    with pytest.raises(
        ValueError, match=r"data.zarr cannot be read as a Zarr array: .* write it again"
    ):
        source.take(np.arange(1_100))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"data.zarr has shape \(3,\): give two dimensions"),
        (np.zeros(()), r"data.zarr has shape \(\): give two dimensions"),
        (
            np.zeros((2, 2), dtype=complex),
            "data.zarr holds values of type complex128: turn them into numbers",
        ),
    ],
)
def test_a_zarr_array_without_a_table_of_numbers_is_refused(X, message, tmp_path):
    zarr.create_array(tmp_path / "data.zarr", data=X)
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / "data.zarr")


def test_what_is_no_zarr_array_is_refused(tmp_path):
    (tmp_path / "data.zarr").write_text("no zip file", encoding="utf-8")
    with pytest.raises(
        ValueError, match=r"data.zarr cannot be read as a Zarr array: File is not a zip file"
    ):
        open_source(tmp_path / "data.zarr")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "zarr.json").write_text('{"zarr_format": 3, "node_', encoding="utf-8")
    with pytest.raises(ValueError, match=r"cut cannot be read as a Zarr array: .* write it again"):
        open_source(tmp_path / "cut")


def test_unknown_chunk_sizes_are_refused():
    array = da.from_array(make_data(), chunks=(300, 4))
    array = array[array[:, 0] > 0]
    with pytest.raises(
        ValueError,
        match=r"The Dask array has unknown chunk sizes, shape .* call array.compute_chunk_sizes\(\) first\.",
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
def test_dask_arrays_of_other_than_two_dimensions_are_refused(shape):
    with pytest.raises(ValueError, match=r"The Dask array has shape .* give two dimensions"):
        open_source(da.zeros(shape))
