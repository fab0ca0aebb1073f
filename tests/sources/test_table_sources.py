"""Tables as sources: what is special about Parquet files, Arrow files and data frames."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.utils import check_array
from test_sources import NAMES, make_data, save_arrow

from cohirf import open_source
from cohirf.sources import ArraySource
from cohirf.sources.policy import READ
from cohirf.sources.tables import ArrowTable, is_frame, read_frame

FRAME = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]})


def write_parquet(X, path, **options):
    pq.write_table(
        pa.table(dict(zip(NAMES, X.T, strict=True))), path, row_group_size=300, **options
    )


def test_files_are_joined_in_the_order_of_their_names(tmp_path):
    for value, name in enumerate(["a.parquet", "b.parquet", "c.parquet"]):
        pq.write_table(pa.table({"x": [float(value)]}), tmp_path / name)
    np.testing.assert_array_equal(open_source(tmp_path).take([0, 1, 2]), [[0], [1], [2]])


@pytest.mark.parametrize(
    "types", [("f4", "i2"), ("f4", "i4"), ("f4", "?"), ("i8", "?"), ("u8", "f4")]
)
def test_columns_of_several_types_become_what_scikit_learn_makes_of_the_table(types, tmp_path):
    frame = pd.DataFrame(
        {name: np.arange(4).astype(kind) for name, kind in zip("xy", types, strict=True)}
    )
    frame.to_parquet(tmp_path / "data.parquet")
    taken = open_source(tmp_path / "data.parquet").take(np.arange(4))
    checked = check_array(frame, dtype=(np.float64, np.float32))
    assert taken.dtype == checked.dtype
    np.testing.assert_array_equal(taken, checked)


def test_an_index_of_pandas_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2.0]}, index=pd.Index([7, 9], name="id"))
    frame.to_parquet(tmp_path / "data.parquet")
    assert open_source(tmp_path / "data.parquet").feature_names == ["x"]
    np.testing.assert_array_equal(
        open_source(tmp_path / "data.parquet", columns=["id", "x"]).take([1]), [[9, 2]]
    )


@pytest.mark.parametrize(
    "column", [[1.0, None], [1, None], [True, None]], ids=["float", "int", "bool"]
)
def test_a_null_of_a_parquet_file_is_refused_where_it_is_read(column, tmp_path):
    pq.write_table(pa.table({"x": [0.5, 2.5], "y": column}), tmp_path / "data.parquet")
    source = open_source(tmp_path / "data.parquet")
    np.testing.assert_array_equal(source.take([0]), [[0.5, 1]])
    with pytest.raises(
        ValueError, match=r"data.parquet, rows 0 to 1: contains NaN\. .* row 1, column 'y'\."
    ):
        source.take([0, 1])


@pytest.mark.parametrize(
    ("column", "kind"),
    [
        (pa.array(["a"]), "string"),
        (
            pa.array(["a"]).dictionary_encode(),
            "dictionary<values=string, indices=int32, ordered=0>",
        ),
        (pa.array([1], pa.timestamp("ms")), r"timestamp\[ms\]"),
        (pa.array([1], pa.decimal128(5, 2)), r"decimal128\(5, 2\)"),
        (pa.array([["a"]]), "list<element: string>"),
        (pa.array([None]), "null"),
    ],
)
def test_a_column_of_a_parquet_file_that_holds_no_numbers_is_refused_by_name(
    column, kind, tmp_path
):
    pq.write_table(pa.table({"x": [1.0], "who": column}), tmp_path / "data.parquet")
    with pytest.raises(
        ValueError,
        match=f"data.parquet: column 'who' has type {kind}: turn it into numbers first, "
        r"or leave it out, for instance with columns=lambda name: name != 'who'\.",
    ):
        open_source(tmp_path / "data.parquet")
    assert open_source(tmp_path / "data.parquet", columns=["x"]).n_features == 1


VECTORS = np.random.default_rng(0).normal(size=(700, 5))
MISSING = [*VECTORS[:500].tolist(), None]
SHORT = [*VECTORS[:500].tolist(), [1.0, 2.0]]


def as_lists(kind, stored):
    flat = pa.array(VECTORS.ravel().astype(stored.to_pandas_dtype()), stored)
    if kind == "fixed":
        return pa.FixedSizeListArray.from_arrays(flat, 5)
    ends = np.arange(0, 3501, 5)
    if kind == "large":
        return pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), flat)
    return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), flat)


@pytest.mark.parametrize("kind", ["plain", "large", "fixed"])
def test_a_column_of_vectors_is_as_many_features_in_every_kind_of_table(kind, tmp_path):
    for stored in (pa.float16(), pa.float32(), pa.float64()):
        table = pa.table({"text": ["a"] * 700, "v": as_lists(kind, stored), "x": np.arange(700.0)})
        pq.write_table(table, tmp_path / "data.parquet", row_group_size=300)
        with pa.ipc.new_file(str(tmp_path / "data.arrow"), table.schema) as writer:
            writer.write_table(table, max_chunksize=170)
        for data in (tmp_path / "data.parquet", tmp_path / "data.arrow", table, table.to_pandas()):
            source = open_source(data, columns=["v"])
            assert (source.n_features, source.feature_names) == (5, None)
            assert source.dtype == (np.float64 if stored == pa.float64() else np.float32)
            rows = np.array([0, 299, 300, 699])
            np.testing.assert_array_equal(
                source.take(rows), VECTORS[rows].astype(stored.to_pandas_dtype())
            )
        both = open_source(tmp_path / "data.parquet", columns=["x", "v"])
        assert both.feature_names == ["x", "v[0]", "v[1]", "v[2]", "v[3]", "v[4]"]
        np.testing.assert_array_equal(
            both.take([7])[0], [7.0, *VECTORS[7].astype(stored.to_pandas_dtype())]
        )


@pytest.mark.parametrize("open_frame", [pl.DataFrame, pd.DataFrame, pa.table])
@pytest.mark.parametrize(
    ("vectors", "fault"), [(MISSING, "is missing"), (SHORT, "has 2 numbers, and that of row 0")]
)
def test_a_vector_that_is_missing_or_of_another_length_is_named_by_its_row(
    open_frame, vectors, fault, tmp_path
):
    pq.write_table(pa.table({"v": vectors}), tmp_path / "data.parquet", row_group_size=300)
    for data in (tmp_path / "data.parquet", open_frame({"v": vectors})):
        with pytest.raises(ValueError, match=f"the vector in row 500 of column 'v' {fault}"):
            open_source(data).take(np.arange(501))


def test_a_missing_vector_of_a_fixed_length_and_a_nan_are_named_by_their_row(tmp_path):
    fixed = pa.array([[1.0, 2.0], None], pa.list_(pa.float32(), 2))
    pq.write_table(pa.table({"v": fixed}), tmp_path / "fixed.parquet")
    with pytest.raises(ValueError, match="the vector in row 1 of column 'v' is missing"):
        open_source(tmp_path / "fixed.parquet").take([0, 1])
    pq.write_table(pa.table({"v": [[1.0, 2.0], [3.0, None]]}), tmp_path / "nan.parquet")
    with pytest.raises(
        ValueError, match="the vector in row 1 of column 'v' has a number that is missing"
    ):
        open_source(tmp_path / "nan.parquet").take([0, 1])
    pq.write_table(pa.table({"v": [None, [3.0, 4.0]]}), tmp_path / "first.parquet")
    with pytest.raises(ValueError, match="the vector in row 0 of column 'v' is missing"):
        open_source(tmp_path / "first.parquet")


def test_a_column_that_is_not_there_is_named(tmp_path):
    pq.write_table(
        pa.table({f"c{number}": [1.0] for number in range(10)}), tmp_path / "data.parquet"
    )
    with pytest.raises(
        ValueError, match=r"data.parquet has no column 'x': it has 'c0', .* 'c7' and 2 more\."
    ):
        open_source(tmp_path / "data.parquet", columns=["x"])
    with pytest.raises(
        TypeError, match=r"columns='c1' is not a list: give a list of columns, such as \['c1'\]"
    ):
        open_source(tmp_path / "data.parquet", columns="c1")


def test_repeated_column_names_are_refused(tmp_path):
    pq.write_table(
        pa.table([pa.array([1.0]), pa.array([2.0])], names=["a", "a"]), tmp_path / "data.parquet"
    )
    with pytest.raises(
        ValueError,
        match=r"data.parquet: the column name 'a' appears more than once: rename the col",
    ):
        open_source(tmp_path / "data.parquet")


@pytest.mark.parametrize(
    ("second", "message"),
    [
        (
            {"x": [1], "y": [1.0]},
            r"1.parquet: column 'x' is int64, but double in .*0.parquet: write the files with the",
        ),
        ({"y": [1.0]}, r"1.parquet: column 'x' is missing, but double in .*0.parquet"),
        (
            {"x": [1.0], "y": [1.0], "z": [1.0]},
            r"1.parquet: column 'z' is double, but missing in .*0.parquet",
        ),
        ({"x": ["a"], "y": [1.0]}, r"1.parquet: column 'x' is string, but double in .*0.parquet"),
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
def test_a_truncated_parquet_file_is_refused(kept, tmp_path):
    write_parquet(np.zeros((1_100, 4)), tmp_path / "data.parquet")
    content = (tmp_path / "data.parquet").read_bytes()
    (tmp_path / "data.parquet").write_bytes(content[: int(kept * len(content))])
    with pytest.raises(
        ValueError, match=r"data.parquet cannot be read as Parquet: .* write it again"
    ) as caught:
        open_source(tmp_path / "data.parquet")
    assert "\n" not in str(caught.value)


def test_damaged_rows_are_noticed_where_they_are_read(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(READ), "piece_bytes", 1_000)
    X = np.random.default_rng(0).normal(size=(1_100, 4))
    write_parquet(X, tmp_path / "data.parquet", write_page_checksum=False, use_dictionary=False)
    content = bytearray((tmp_path / "data.parquet").read_bytes())
    content[len(content) // 2 : len(content) // 2 + 2_000] = bytes(2_000)
    (tmp_path / "data.parquet").write_bytes(content)
    source = open_source(tmp_path / "data.parquet")
    np.testing.assert_array_equal(source.take(np.arange(300)), X[:300])
    with pytest.raises(
        ValueError, match=r"data.parquet cannot be read as Parquet: .* write it again"
    ):
        source.take(np.arange(1_100))


def test_a_changed_value_is_noticed_by_the_checksum_of_its_page(tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 4))
    plain = {"use_dictionary": False, "compression": "none", "write_page_checksum": True}
    write_parquet(X, tmp_path / "data.parquet", **plain)
    content = (tmp_path / "data.parquet").read_bytes()
    value = X[7, 0].tobytes()
    assert content.count(value) == 1
    (tmp_path / "data.parquet").write_bytes(content.replace(value, np.float64(0.5).tobytes()))
    source = open_source(tmp_path / "data.parquet")
    with pytest.raises(
        ValueError, match=r"data.parquet cannot be read as Parquet: .* write it again"
    ):
        source.take(np.arange(300))


def test_a_file_without_rows_is_refused(tmp_path):
    pq.write_table(pa.table({"x": pa.array([], pa.float64())}), tmp_path / "data.parquet")
    with pytest.raises(
        ValueError, match=r"data.parquet has 0 rows and 1 columns: give at least one of each"
    ):
        open_source(tmp_path / "data.parquet")


def test_a_file_without_columns_is_refused(tmp_path):
    pq.write_table(pa.table({}), tmp_path / "data.parquet")
    with pytest.raises(ValueError, match=r"data\.parquet has no columns: give at least one\."):
        open_source(tmp_path / "data.parquet")


def test_only_long_batches_that_lie_there_plainly_are_mapped(tmp_path, monkeypatch):
    mapped = []
    read = ArrowTable._read_mapped
    monkeypatch.setattr(
        ArrowTable,
        "_read_mapped",
        lambda self, *args: mapped.append(self.name) or read(self, *args),
    )
    X = make_data().round()
    options = {"plain": {}, "lz4": {"compression": "lz4"}, "stream": {"new": pa.ipc.new_stream}}
    for most, expected in ((2**26, []), (1_000, ["plain.arrow"])):
        monkeypatch.setitem(vars(READ), "loaded_bytes", most)
        for name, given in options.items():
            source = open_source(save_arrow(f"{name}.arrow", **given)(X, tmp_path))
            np.testing.assert_array_equal(source.take([0, 900]), X[[0, 900]])
        assert [name.rpartition("/")[2] for name in mapped] == expected


@pytest.mark.parametrize("most_loaded", [2**26, 0])
def test_empty_batches_are_passed_over(most_loaded, tmp_path, monkeypatch):
    monkeypatch.setitem(vars(READ), "loaded_bytes", most_loaded)
    batches = [pa.record_batch({"x": np.arange(float(n))}) for n in (0, 2, 0, 0, 3, 0)]
    with (
        pa.OSFile(str(tmp_path / "data.arrow"), "wb") as sink,
        pa.ipc.new_file(sink, batches[0].schema) as writer,
    ):
        for batch in batches:
            writer.write_batch(batch)
    np.testing.assert_array_equal(
        open_source(tmp_path / "data.arrow").take(np.arange(5)).ravel(), [0, 1, 0, 1, 2]
    )


@pytest.mark.parametrize("kept", [0.0, 0.01, 0.5, 0.99])
@pytest.mark.parametrize("new", [pa.ipc.new_file, pa.ipc.new_stream])
def test_a_truncated_arrow_file_is_refused(kept, new, tmp_path):
    path = save_arrow(new=new)(make_data(), tmp_path)
    path.write_bytes(path.read_bytes()[: int(kept * path.stat().st_size)])
    with pytest.raises(
        ValueError, match=r"data.arrow cannot be read as an Arrow file: .* write it again"
    ) as caught:
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
        ValueError,
        match=r"data.arrow cannot be read as .*: 'utf-8' codec can't decode .* write it again",
    ):
        open_source(tmp_path / "data.arrow")


def test_a_length_that_is_damaged_is_refused(tmp_path, monkeypatch):
    path = save_arrow()(make_data(), tmp_path)

    def refuse(self, file, fields, start=0):
        raise MemoryError("malloc of size 68116944363979968 failed")

    monkeypatch.setattr(ArrowTable, "_read_batches", refuse)
    with pytest.raises(
        MemoryError, match=r"data.arrow needs more memory than there is, or is damaged: malloc of"
    ):
        open_source(path)


@pytest.mark.parametrize(
    "table",
    [
        FRAME,
        FRAME.convert_dtypes(),
        pl.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME),
        pa.record_batch(FRAME),
    ],
    ids=["pandas", "pandas of its own types", "polars", "Arrow table", "Arrow batch"],
)
def test_a_table_becomes_an_array_with_names(table):
    source = open_source(table)
    assert isinstance(source, ArraySource)
    assert source.feature_names == ["x", "y"]
    np.testing.assert_array_equal(source.take([0, 1]), [[1, 3], [2, 4]])
    chosen = open_source(table, columns=["y"])
    assert chosen.feature_names == ["y"]
    np.testing.assert_array_equal(chosen.take([1]), [[4]])
    with pytest.raises(ValueError, match=r"The table has no column 'z': it has 'x', 'y'\."):
        open_source(table, columns=["z"])


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame, pa.table])
def test_a_table_of_single_precision_stays_so(make):
    assert (
        open_source(make({"x": np.ones(3, np.float32), "y": np.ones(3, np.int16)})).dtype
        == np.float32
    )
    assert (
        open_source(make({"x": np.ones(3, np.float32), "y": np.ones(3, np.int32)})).dtype
        == np.float64
    )


def test_a_table_with_numbered_columns_has_no_names():
    frame = pd.DataFrame(np.eye(3))
    assert open_source(frame).feature_names is None
    np.testing.assert_array_equal(open_source(frame, columns=[2, 0]).take([0]), [[0, 1]])


@pytest.mark.parametrize(
    "table",
    [
        pd.DataFrame({"x": [1.0, None]}),
        pd.DataFrame({"x": pd.array([1, None], "Int64")}),
        pl.DataFrame({"x": [1, None]}),
    ],
    ids=["pandas", "pandas of its own types", "polars"],
)
def test_missing_cells_of_a_table_are_refused_where_they_are_read(table):
    source = open_source(table)
    np.testing.assert_array_equal(source.take([0]), [[1]])
    with pytest.raises(
        ValueError, match=r"The array, rows 0 to 1: contains NaN\. .* row 1, column 'x'\."
    ):
        source.take([0, 1])


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (
            pd.DataFrame({"who": ["a"]}),
            ValueError,
            "The table: column 'who' has type (str|object): turn it into numbers first",
        ),
        (
            pd.DataFrame({"who": pd.Categorical(["a"])}),
            ValueError,
            "The table: column 'who' has type category",
        ),
        (pl.DataFrame({"who": ["a"]}), ValueError, "The table: column 'who' has type String"),
        (pa.table({"who": ["a"]}), ValueError, "The table: column 'who' has type string"),
        (
            pa.table({"when": pa.array([1], pa.timestamp("s"))}),
            ValueError,
            r"column 'when' has type timestamp\[s\]",
        ),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            ValueError,
            "The table: the column name 'a' appears more than once",
        ),
        (
            pd.DataFrame({"a": [1.0], 1: [2.0]}),
            TypeError,
            r"The table has column names of several types, \['a', 1\]",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(table, error, message):
    with pytest.raises(error, match=message):
        open_source(table)


def test_missing_cells_of_pandas_own_types_become_nan():
    table = pd.DataFrame(
        {
            "whole": pd.array([1, None, 3], dtype="Int64"),
            "unsigned": pd.array([7, 8, 9], dtype="UInt8"),
            "real": pd.array([0.5, None, 2.5], dtype="Float32"),
            "flag": pd.array([True, False, None], dtype="boolean"),
        }
    )
    values, names = read_frame(table, None)
    np.testing.assert_array_equal(
        values, [[1, 7, 0.5, 1], [np.nan, 8, np.nan, 0], [3, 9, 2.5, np.nan]]
    )
    assert values.dtype == np.float64
    assert names == ["whole", "unsigned", "real", "flag"]


def test_columns_that_share_a_number_are_told_apart_by_their_place():
    table = pd.DataFrame([[1.0, 2.0], [3.0, 4.0]], columns=[7, 7])
    values, names = read_frame(table, None)
    assert values.tolist() == [[1, 2], [3, 4]]
    assert names is None
    assert read_frame(table, [1])[0].tolist() == [[2], [4]]
    with pytest.raises(ValueError, match="The table has no column 2: give numbers from 0 to 1"):
        read_frame(table, [2])


@pytest.mark.parametrize("package", [pd, pl])
def test_columns_of_several_types_become_one_that_holds_all(package):
    table = package.DataFrame(
        {"a": np.array([1, 2], dtype=np.int8), "b": np.array([0.5, 1], dtype=np.float32)}
    )
    values, names = read_frame(table, ["b", "a"])
    assert values.tolist() == [[0.5, 1], [1, 2]]
    assert values.dtype == np.float32
    assert names == ["b", "a"]


def test_arrays_are_not_tables():
    assert is_frame(pd.DataFrame({"a": [1]}))
    assert is_frame(pl.DataFrame({"a": [1]}).to_arrow())
    assert not is_frame(np.zeros((2, 2)))
    assert not is_frame(SimpleNamespace(columns=["a"]))
