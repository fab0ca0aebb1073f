"""open_source: which adapter opens what, and the words for what none of them opens."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from cohirf import open_source
from cohirf.sources import ArraySource

FRAME = pd.DataFrame({"x": [1.0, 2.0], "y": [3, 4]})


def test_an_open_source_is_left_as_it_is():
    source = open_source(np.eye(3))
    assert open_source(source) is source
    with pytest.raises(TypeError, match=r"ArraySource\(.*\) is already a source: choose columns in open_source"):
        open_source(source, columns=[0])


@pytest.mark.parametrize(
    "table",
    [FRAME, FRAME.convert_dtypes(), pl.from_pandas(FRAME), pa.Table.from_pandas(FRAME), pa.record_batch(FRAME)],
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
    assert open_source(make({"x": np.ones(3, np.float32), "y": np.ones(3, np.int16)})).dtype == np.float32
    assert open_source(make({"x": np.ones(3, np.float32), "y": np.ones(3, np.int32)})).dtype == np.float64


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
    with pytest.raises(ValueError, match=r"The array, rows 0 to 1: contains NaN\. .* row 1, column 'x'\."):
        source.take([0, 1])


@pytest.mark.parametrize(
    ("table", "error", "message"),
    [
        (
            pd.DataFrame({"who": ["a"]}),
            ValueError,
            "The table: column 'who' has type (str|object): turn it into numbers first",
        ),
        (pd.DataFrame({"who": pd.Categorical(["a"])}), ValueError, "The table: column 'who' has type category"),
        (pl.DataFrame({"who": ["a"]}), ValueError, "The table: column 'who' has type String"),
        (pa.table({"who": ["a"]}), ValueError, "The table: column 'who' has type string"),
        (pa.table({"when": pa.array([1], pa.timestamp("s"))}), ValueError, r"column 'when' has type timestamp\[s\]"),
        (
            pd.DataFrame([[1, 2]], columns=["a", "a"]),
            ValueError,
            "The table: the column name 'a' appears more than once",
        ),
        (pd.DataFrame({"a": [1.0], 1: [2.0]}), TypeError, r"The table has column names of several types, \['a', 1\]"),
        (
            pl.DataFrame({"a": [1.0]}).lazy(),
            TypeError,
            r"A polars LazyFrame is lazy: give the result of its collect",
        ),
    ],
)
def test_a_table_that_cannot_be_used_is_refused(table, error, message):
    with pytest.raises(error, match=message):
        open_source(table)


@pytest.mark.parametrize(
    ("data", "error", "message"),
    [
        (None, TypeError, "A NoneType cannot be opened: give a path, an array or a table"),
        ({"a": [1]}, TypeError, "A dict cannot be opened: give a path, an array or a table"),
        (5.0, TypeError, "A float cannot be opened: give a path, an array or a table"),
        (
            [[1, 2], [3]],
            ValueError,
            "The data cannot be converted to an array: setting an array element with a sequence",
        ),
        ([["1", "a"]], ValueError, "The array holds values of type <U1: turn them into numbers first"),
        (np.ma.masked_equal([[1.0, 2.0]], 2), ValueError, r"The array has masked cells: fill them with data.filled"),
    ],
)
def test_an_object_that_cannot_be_used_is_refused(data, error, message):
    with pytest.raises(error, match=message):
        open_source(data)


def test_lists_and_unmasked_arrays_are_taken():
    for data in ([[1, 2], [3, 4]], np.ma.masked_array([[1, 2], [3, 4]])):
        np.testing.assert_array_equal(open_source(data).take([1]), [[3, 4]])


@pytest.mark.parametrize("data", [np.eye(3), sparse.csr_array(np.eye(3))])
def test_columns_of_an_array_are_chosen_by_number(data):
    taken = open_source(data, columns=[2, 0]).take([0, 2])
    np.testing.assert_array_equal(taken.toarray() if sparse.issparse(taken) else taken, [[0, 1], [1, 0]])
    with pytest.raises(TypeError, match=r"^The (array|CSR matrix) has no column names: give numbers from 0 to 2, not"):
        open_source(data, columns=["a"])


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("missing.parquet", FileNotFoundError, r"missing.parquet is not a file: check the path\."),
        ("missing", FileNotFoundError, r"missing is not a file: check the path\."),
        ("notes.txt", ValueError, r"notes.txt has an unknown format: give a file whose name ends in .npy, .parquet, "),
        ("data.npz", ValueError, r"data.npz has an unknown format: give a file whose name ends in .npy, .parquet, "),
        ("empty", ValueError, r"empty is a folder without data: give a folder of Parquet files or a Zarr array\."),
        (
            "empty.zarr",
            ValueError,
            r"empty.zarr is a folder without data: give a folder of Parquet files or a Zarr array\.",
        ),
        ("folder.npy", ValueError, r"folder.npy is a folder without data"),
    ],
)
def test_a_path_that_cannot_be_opened_is_named(name, error, message, tmp_path):
    for file in ("notes.txt", "data.npz"):
        (tmp_path / file).write_text("", encoding="utf-8")
    for folder in ("empty", "empty.zarr", "folder.npy"):
        (tmp_path / folder).mkdir()
    for path in (tmp_path / name, str(tmp_path / name)):
        with pytest.raises(error, match=message) as caught:
            open_source(path)
        assert "\n" not in str(caught.value)


def test_a_wrong_ending_is_told_from_the_content(tmp_path):
    np.save(tmp_path / "data.npy", np.eye(3))
    for name, kind in [("data.parquet", "Parquet"), ("data.arrow", "an Arrow file"), ("data.zarr", "a Zarr array")]:
        (tmp_path / name).write_bytes((tmp_path / "data.npy").read_bytes())
        with pytest.raises(
            ValueError, match=rf"{name} cannot be read as {kind}: .* in another format: write it again, or"
        ):
            open_source(tmp_path / name)


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    np.save(tmp_path / "data.npy", np.eye(3))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_source("~/data.npy").n_rows == 3


@pytest.mark.parametrize("option", [{"converted": "a.arrow"}, {"delimiter": ";"}, {"header": False}])
def test_options_of_csv_files_are_for_csv_files(option, tmp_path):
    np.save(tmp_path / "data.npy", np.eye(3))
    for data in (tmp_path / "data.npy", np.eye(3)):
        with pytest.raises(TypeError, match=f"{next(iter(option))}= is only for CSV files: leave it out"):
            open_source(data, **option)


def test_optional_packages_are_imported_when_they_are_needed():
    script = "import sys, cohirf; print([name for name in ('zarr', 'dask') if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("name", "package", "extra"),
    [
        ("data.parquet", "pyarrow", "arrow"),
        ("data.arrow", "pyarrow", "arrow"),
        ("data.csv", "pyarrow", "arrow"),
        ("data.zarr", "zarr", "zarr"),
    ],
)
def test_a_missing_package_is_named_with_its_extra(name, package, extra, tmp_path, monkeypatch):
    (tmp_path / name).write_text("x\n1\n", encoding="utf-8")
    for module in [module for module in sys.modules if module.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf'^Reading .* needs {package}: install .* pip install "cohirf\[{extra}\]"'):
        open_source(tmp_path / name)
