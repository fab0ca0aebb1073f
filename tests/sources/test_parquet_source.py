"""Parquet files, and folders of them, as sources."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.utils import check_array
from source_contract import FileContract

from cohirf import open_source

NAMES = ["a", "b", "b.c", "d e"]


def write(X, path, **options):
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    pq.write_table(table, path, row_group_size=300, **options)


class TestParquet(FileContract):
    names = NAMES

    def store(self, X, folder):
        write(X, folder / "data.parquet")
        return folder / "data.parquet"


class TestOneLongRowGroup(TestParquet):
    def store(self, X, folder):
        pl.DataFrame(X, schema=NAMES).write_parquet(folder / "data.parquet", row_group_size=10_000)
        return folder / "data.parquet"


class TestFolderOfParquet(TestParquet):
    def store(self, X, folder):
        parts = folder / "parts"
        parts.mkdir()
        for name, start, stop in [("0.parquet", 0, 30), ("1.pq", 30, 800), ("10.PARQUET", 800, 1_100)]:
            write(X[start:stop], parts / name)
        (parts / "_metadata.parquet").write_text("left out", encoding="utf-8")
        (parts / ".hidden.parquet").write_text("left out", encoding="utf-8")
        (parts / "README.md").write_text("left out", encoding="utf-8")
        return parts

    def file(self, data):
        return data / "10.PARQUET"


def test_files_are_joined_in_the_order_of_their_names(tmp_path):
    for value, name in enumerate(["a.parquet", "b.parquet", "c.parquet"]):
        pq.write_table(pa.table({"x": [float(value)]}), tmp_path / name)
    np.testing.assert_array_equal(open_source(tmp_path).take([0, 1, 2]), [[0], [1], [2]])


@pytest.mark.parametrize("types", [("f4", "i2"), ("f4", "i4"), ("f4", "?"), ("f2", "f2"), ("i8", "?"), ("u8", "f4")])
def test_columns_of_several_types_become_what_scikit_learn_makes_of_the_table(types, tmp_path):
    frame = pd.DataFrame({name: np.arange(4).astype(kind) for name, kind in zip("xy", types, strict=True)})
    frame.to_parquet(tmp_path / "data.parquet")
    taken = open_source(tmp_path / "data.parquet").take(np.arange(4))
    checked = check_array(frame, dtype=(np.float64, np.float32))
    assert taken.dtype == checked.dtype
    np.testing.assert_array_equal(taken, checked)


def test_an_index_of_pandas_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([7, 9], name="id"))
    frame.to_parquet(tmp_path / "data.parquet")
    assert open_source(tmp_path / "data.parquet").feature_names == ["x"]
    np.testing.assert_array_equal(open_source(tmp_path / "data.parquet", columns=["id", "x"]).take([1]), [[9, 2]])


@pytest.mark.parametrize("column", [[1.0, None], [1, None], [True, None]], ids=["float", "int", "bool"])
def test_a_null_is_refused_where_it_is_read(column, tmp_path):
    pq.write_table(pa.table({"x": [0.5, 2.5], "y": column}), tmp_path / "data.parquet")
    source = open_source(tmp_path / "data.parquet")
    np.testing.assert_array_equal(source.take([0]), [[0.5, 1]])
    with pytest.raises(ValueError, match=r"data.parquet, rows 0 to 1: contains NaN\. .* row 1, column 'y'\."):
        source.take([0, 1])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array(["a"]), "string"),
        (pa.array(["a"]).dictionary_encode(), "dictionary<values=string, indices=int32, ordered=0>"),
        (pa.array([1], pa.timestamp("ms")), r"timestamp\[ms\]"),
        (pa.array([1], pa.decimal128(5, 2)), r"decimal128\(5, 2\)"),
        (pa.array([[1.0]]), "list<element: double>"),
        (pa.array([None]), "null"),
    ],
)
def test_a_column_that_holds_no_numbers_is_refused_by_name(column, kind, tmp_path):
    pq.write_table(pa.table({"x": [1.0], "who": column}), tmp_path / "data.parquet")
    with pytest.raises(
        ValueError,
        match=f"data.parquet: column 'who' has type {kind}: turn it into numbers first, "
        r"or leave it out, for instance with columns=lambda name: name != 'who'\.",
    ):
        open_source(tmp_path / "data.parquet")
    assert open_source(tmp_path / "data.parquet", columns=["x"]).n_features == 1


def test_a_column_that_is_not_there_is_named(tmp_path):
    pq.write_table(pa.table({f"c{number}": [1.0] for number in range(10)}), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"data.parquet has no column 'x': it has 'c0', .* 'c7' and 2 more\."):
        open_source(tmp_path / "data.parquet", columns=["x"])
    with pytest.raises(TypeError, match=r"columns='c1' is not a list: give a list of columns, such as \['c1'\]"):
        open_source(tmp_path / "data.parquet", columns="c1")


def test_repeated_column_names_are_refused(tmp_path):
    pq.write_table(pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"data.parquet: the column name 'a' appears more than once: rename the col"):
        open_source(tmp_path / "data.parquet")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            {"x": [1], "y": [1.0]},
            r"1.parquet: column 'x' is int64, but double in .*0.parquet: write the files with the",
        ),
        ({"y": [1.0]}, r"1.parquet: column 'x' is missing, but double in .*0.parquet"),
        ({"x": [1.0], "y": [1.0], "z": [1.0]}, r"1.parquet: column 'z' is double, but missing in .*0.parquet"),
        ({"x": ["a"], "y": [1.0]}, r"1.parquet: column 'x' has type string: turn it into numbers first"),
    ],
)
def test_files_that_differ_in_a_column_are_refused(second, message, tmp_path):
    pq.write_table(pa.table({"x": [1.0], "y": [1.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table(second), tmp_path / "1.parquet")
    with pytest.raises(ValueError, match=message):
        open_source(tmp_path)
    assert open_source(tmp_path, columns=["y"]).n_rows == 2


def test_files_may_have_their_columns_in_another_order(tmp_path):
    pq.write_table(pa.table({"x": [1.0], "y": [2.0]}), tmp_path / "0.parquet")
    pq.write_table(pa.table({"y": [4.0], "x": [3.0]}), tmp_path / "1.parquet")
    np.testing.assert_array_equal(open_source(tmp_path).take([0, 1]), [[1, 2], [3, 4]])


@pytest.mark.parametrize("kept", [0.0, 0.5, 0.99])
def test_a_truncated_file_is_refused(kept, tmp_path):
    write(np.zeros((1_100, 4)), tmp_path / "data.parquet")
    content = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "data.parquet").write_bytes(content[: int(kept * len(content))])
    with pytest.raises(ValueError, match=r"data.parquet cannot be read as Parquet: .* write it again") as caught:
        open_source(tmp_path / "data.parquet")
    assert "\n" not in str(caught.value)


def test_damaged_rows_are_noticed_where_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr("cohirf.sources.parquet.PIECE_BYTES", 1_000)
    X = np.random.default_rng(0).normal(size=(1_100, 4))
    write(X, tmp_path / "data.parquet", write_page_checksum=False, use_dictionary=False)
    content = bytearray((tmp_path / "data.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2_000] = bytes(2_000)
    (tmp_path / "data.parquet").write_bytes(content)
    source = open_source(tmp_path / "data.parquet")
    np.testing.assert_array_equal(source.take(np.arange(300)), X[:300])
    with pytest.raises(ValueError, match=r"data.parquet cannot be read as Parquet: .* write it again"):
        source.take(np.arange(1_100))


def test_a_changed_value_is_noticed_by_the_checksum_of_its_page(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4))
    plain = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    write(X, tmp_path / "data.parquet", **plain)
    content = (tmp_path / "data.parquet").read_bytes()
    value = X[7, 0].tobytes()
    assert content.count(value) == 1
    (tmp_path / "data.parquet").write_bytes(content.replace(value, np.float64(0.5).tobytes()))
    source = open_source(tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"data.parquet cannot be read as Parquet: .* write it again"):
        source.take(np.arange(300))


def test_a_file_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"data.parquet has 0 rows and 1 columns: give at least one of each"):
        open_source(tmp_path / "data.parquet")
