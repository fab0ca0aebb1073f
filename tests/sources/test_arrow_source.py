"""Arrow IPC files as sources."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from source_contract import FileContract, make_data

from cohirf import open_source

NAMES = ["a", "b", "c", "d"]


def write(X, path, batch_rows=300, new=pa.ipc.new_file, compression=None):
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    options = pa.ipc.IpcWriteOptions(compression=compression)
    with pa.OSFile(str(path), "wb") as sink, new(sink, table.schema, options=options) as writer:
        writer.write_table(table, max_chunksize=batch_rows)
    return path


class TestArrow(FileContract):
    names = NAMES

    def store(self, X, folder):
        return write(X, folder / "data.arrow")


class TestOneLongBatch(TestArrow):
    def store(self, X, folder):
        return write(X, folder / "data.ipc", batch_rows=10_000)


class TestCompressed(TestArrow):
    def store(self, X, folder):
        return write(X, folder / "data.feather", compression="lz4")


class TestStream(TestArrow):
    def store(self, X, folder):
        return write(X, folder / "data.arrow", new=pa.ipc.new_stream)


class TestCompressedStream(TestArrow):
    def store(self, X, folder):
        return write(X, folder / "data.arrow", new=pa.ipc.new_stream, compression="zstd")


def test_only_long_batches_that_lie_there_plainly_are_mapped(tmp_path, monkeypatch):
    X = make_data().round()
    options = {"plain": {}, "lz4": {"compression": "lz4"}, "stream": {"new": pa.ipc.new_stream}}
    paths = {name: write(X, tmp_path / f"{name}.arrow", **given) for name, given in options.items()}
    assert not any(open_source(path)._is_mapped for path in paths.values())
    monkeypatch.setattr("cohirf.sources.arrow_ipc.LOADED_BYTES", 1_000)
    assert [name for name, path in paths.items() if open_source(path)._is_mapped] == ["plain"]


@pytest.mark.parametrize("most_loaded", [2**26, 0])
def test_empty_batches_are_passed_over(most_loaded, tmp_path, monkeypatch):
    monkeypatch.setattr("cohirf.sources.arrow_ipc.LOADED_BYTES", most_loaded)
    batches = [pa.record_batch({"x": np.arange(float(n))}) for n in (0, 2, 0, 0, 3, 0)]
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as sink, pa.ipc.new_file(sink, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    np.testing.assert_array_equal(open_source(tmp_path / "data.arrow").take(np.arange(5)).ravel(), [0, 1, 0, 1, 2])


def test_a_null_is_refused_where_it_is_read(tmp_path):
    pd.DataFrame({"x": [0.5, 2.5], "y": [True, None]}).astype({"y": "boolean"}).to_feather(tmp_path / "data.feather")
    source = open_source(tmp_path / "data.feather")
    np.testing.assert_array_equal(source.take([0]), [[0.5, 1]])
    with pytest.raises(ValueError, match=r"data.feather, rows 0 to 1: contains NaN\. .* row 1, column 'y'\."):
        source.take([0, 1])


def test_a_column_that_holds_no_numbers_is_refused_by_name(tmp_path):
    pd.DataFrame({"x": [0.5, 2.5], "who": ["a", "b"]}).to_feather(tmp_path / "data.feather")
    with pytest.raises(ValueError, match=r"data.feather: column 'who' has type (large_)?string: turn it into numbers"):
        open_source(tmp_path / "data.feather")
    assert open_source(tmp_path / "data.feather", columns=["x"]).n_features == 1


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_a_truncated_file_is_refused(kept, new, tmp_path):
    path = write(make_data(), tmp_path / "data.arrow", new=new)
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(ValueError, match=r"data.arrow cannot be read as an Arrow file: .* write it again") as caught:
        open_source(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_damaged_column_names_are_refused(new, tmp_path):
    batch = pa.record_batch({"height": [1.0]})
    with pa.OSFile(str(tmp_path / "data.arrow"), "wb") as sink, new(sink, batch.schema) as writer:
        writer.write_batch(batch)
    content = (tmp_path / "data.arrow").read_bytes()
    (tmp_path / "data.arrow").write_bytes(content.replace(b"height", b"\xa2eight"))
    with pytest.raises(
        ValueError, match=r"data.arrow cannot be read as .*: 'utf-8' codec can't decode .* write it again"
    ):
        open_source(tmp_path / "data.arrow")


def test_a_length_that_is_damaged_is_refused(tmp_path, monkeypatch):
    path = write(make_data(), tmp_path / "data.arrow")

    def refuse(file, fields, first=0):
        raise MemoryError("malloc of size 68116944363979968 failed")

    monkeypatch.setattr("cohirf.sources.arrow_ipc.read_batches", refuse)
    with pytest.raises(MemoryError, match=r"data.arrow needs more memory than there is, or is damaged: malloc of"):
        open_source(path)
