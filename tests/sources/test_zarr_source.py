"""Zarr arrays as sources."""

import os
import shutil

import numpy as np
import pytest
import zarr
from source_contract import FileContract, SourceContract, make_data

from cohirf import open_source
from cohirf.sources import SourceChangedError


class TestZarr(FileContract):
    zarr_format = 3
    types = (*FileContract.types, ">f8")

    def store(self, X, folder):
        zarr.create_array(folder / "data.zarr", data=X, chunks=(300, 3), zarr_format=self.zarr_format)
        return folder / "data.zarr"

    def file(self, data):
        return data / "c" / "3" / "1"


class TestZarrVersion2(TestZarr):
    zarr_format = 2
    types = (*FileContract.types, ">f4", ">f8")

    def file(self, data):
        return data / "3.1"


class TestShards(TestZarr):
    def store(self, X, folder):
        zarr.create_array(folder / "data.zarr", data=X, chunks=(100, 2), shards=(400, 4))
        return folder / "data.zarr"

    def file(self, data):
        return data / "c" / "2" / "0"


class TestZip(FileContract):
    def store(self, X, folder):
        with zarr.storage.ZipStore(folder / "data.zarr.zip", mode="w") as store:
            zarr.create_array(store, data=X, chunks=(300, 3))
        return folder / "data.zarr.zip"


class TestArrayInMemory(SourceContract):
    most_handle_bytes = 60_000  # the array is what is pickled

    def store(self, X, folder):
        return zarr.create_array({}, data=X, chunks=(300, 3))


class TestArrayInAFolder(SourceContract):
    def store(self, X, folder):
        return zarr.create_group(folder / "data.zarr").create_array("X", data=X, chunks=(300, 3))


def test_an_array_in_a_group_is_opened_by_its_path(tmp_path):
    zarr.create_group(tmp_path / "data.zarr").create_array("X", data=make_data())
    assert open_source(tmp_path / "data.zarr" / "X").n_rows == 1_100


@pytest.mark.parametrize("zarr_format", [2, 3])
def test_a_group_is_refused(zarr_format, tmp_path):
    zarr.create_group(tmp_path / "data.zarr", zarr_format=zarr_format).create_array("X", data=make_data())
    with pytest.raises(ValueError, match=r"data.zarr is a group of arrays: open one of them, such as 'X'\."):
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
    with pytest.raises(SourceChangedError, match="c/1/0 was deleted since the array was opened: open it again"):
        source.take(np.arange(1_100))


def test_chunks_that_were_never_written_hold_the_fill_value(tmp_path):
    array = zarr.create_array(tmp_path / "data.zarr", shape=(100, 2), chunks=(10, 2), dtype="f8", fill_value=7)
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
    monkeypatch.setattr("cohirf.sources.zarr.PIECE_BYTES", 1_000)
    array = zarr.create_array({}, data=make_data(), chunks=(600, 4))
    decoded = []
    monkeypatch.setattr(
        zarr.Array, "__getitem__", lambda self, rows: decoded.append(rows) or self.get_basic_selection(rows)
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
    with pytest.raises(ValueError, match=r"data.zarr cannot be read as a Zarr array: .* write it again"):
        source.take(np.arange(1_100))


@pytest.mark.parametrize(
    ("X", "message"),
    [
        (np.zeros(3), r"data.zarr has shape \(3,\): give two dimensions"),
        (np.zeros(()), r"data.zarr has shape \(\): give two dimensions"),
        (np.zeros((2, 2), dtype=complex), "data.zarr holds values of type complex128: turn them into numbers"),
    ],
)
def test_what_is_no_table_of_numbers_is_refused(X, message, tmp_path):
    zarr.create_array(tmp_path / "data.zarr", data=X)
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path / "data.zarr")


def test_what_is_no_zarr_array_is_refused(tmp_path):
    (tmp_path / "data.zarr").write_text("no zip file", encoding="utf-8")
    with pytest.raises(ValueError, match=r"data.zarr cannot be read as a Zarr array: File is not a zip file"):
        open_source(tmp_path / "data.zarr")
    (tmp_path / "cut").mkdir()
    (tmp_path / "cut" / "zarr.json").write_text('{"zarr_format": 3, "node_', encoding="utf-8")
    with pytest.raises(ValueError, match=r"cut cannot be read as a Zarr array: .* write it again"):
        open_source(tmp_path / "cut")
