"""open_source: what it opens, which columns it reads, and the words for what cannot be opened or
read.
"""

import errno
import gzip
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from scipy import sparse

from cohirf import open_source
from cohirf.app.cli.new_rows import csv_format
from cohirf.sources import ArraySource, SourceChangedError, Table, files, open_table
from cohirf.sources.files import FileStamp, naming, one_line, shown
from cohirf.sources.open_source import FILES
from cohirf.sources.source import choose_names, choose_numbers, rows_within


def test_an_open_source_is_left_as_it_is():
    source = open_source(np.eye(3))
    assert open_source(source) is source
    with pytest.raises(
        TypeError, match=r"ArraySource\(.*\) is already a source: choose columns in open_source"
    ):
        open_source(source, columns=[0])


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
        (
            [["1", "a"]],
            ValueError,
            "The array holds values of type <U1: turn them into numbers first",
        ),
        (
            np.ma.masked_equal([[1.0, 2.0]], 2),
            ValueError,
            r"The array has masked cells: fill them with data.filled",
        ),
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
    np.testing.assert_array_equal(
        taken.toarray() if sparse.issparse(taken) else taken, [[0, 1], [1, 0]]
    )
    with pytest.raises(
        TypeError,
        match=r"^The (array|CSR matrix) has no column names: give numbers from 0 to 2, not",
    ):
        open_source(data, columns=["a"])


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("missing.parquet", FileNotFoundError, r"missing.parquet is not a file: check the path\."),
        ("missing", FileNotFoundError, r"missing is not a file: check the path\."),
        (
            "notes.txt",
            ValueError,
            r"notes.txt has an unknown format: give a file whose name ends in .npy, .parquet, ",
        ),
        (
            "data.npz",
            ValueError,
            r"data.npz is opened as a graph only: give graph=True, or --graph",
        ),
        (
            "empty",
            ValueError,
            r"empty is a folder without data: give a folder of Parquet, Arrow or CSV files, or a Zarr array\.",
        ),
        (
            "empty.zarr",
            ValueError,
            r"empty.zarr is a folder without data: give a folder of Parquet, Arrow or CSV files, or a Zarr array\.",
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


@pytest.mark.parametrize("ending", [ending for ending in FILES if ending != ".npy"])
def test_a_wrong_ending_is_told_from_the_content(ending, tmp_path):
    path = tmp_path / f"data{ending}"
    with path.open("wb") as file:
        np.save(file, np.eye(3))
    said = r"cannot be read as (\w+ )*\w+: .*|has NUL bytes, .*"
    with pytest.raises(ValueError, match=rf"^\S*data{ending} ({said})$") as caught:
        open_source(path)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "kind"),
    [("data.parquet", "Parquet"), ("data.arrow", "an Arrow file"), ("data.zarr", "a Zarr array")],
)
def test_a_decoder_that_knows_no_better_says_that_the_file_is_damaged(name, kind, tmp_path):
    (tmp_path / name).write_bytes(b"no")
    with pytest.raises(
        ValueError,
        match=rf"{name} cannot be read as {kind}: .* in another format: write it again, or",
    ):
        open_source(tmp_path / name)


def test_a_path_may_begin_at_home(tmp_path, monkeypatch):
    np.save(tmp_path / "data.npy", np.eye(3))
    monkeypatch.setenv("HOME", str(tmp_path))
    assert open_source("~/data.npy").n_rows == 3


@pytest.mark.parametrize("option", [{"delimiter": ";"}, {"header": False}])
def test_options_of_csv_files_are_for_csv_files(option, tmp_path):
    np.save(tmp_path / "data.npy", np.eye(3))
    for data in (tmp_path / "data.npy", np.eye(3)):
        with pytest.raises(
            TypeError, match=rf"{next(iter(option))} is only for CSV .*files: leave it out"
        ):
            open_source(data, **option)


ROOT = Path(__file__).parents[2]


class Words(Table):
    """A format of files that this package does not know: the lengths of words."""

    format_name = "word"
    options = ("header",)
    n_opened = 0

    def __init__(self, path, header=None):
        Words.n_opened += 1
        self.header = header
        super().__init__(path.name, {"length": "int64"})
        self.lengths = [len(word) for word in path.read_text(encoding="utf-8").split()]

    def read(self, columns, start=0, row_bytes=None):
        yield pa.record_batch(dict.fromkeys(columns, self.lengths))

    def to_source(self, columns=None):
        lengths = np.array(self.lengths, dtype=float)[:, None]
        return ArraySource(lengths, ["length"], name=f"{self.name} ({self.header})")


def test_a_format_is_one_class_and_its_endings(tmp_path, monkeypatch):
    monkeypatch.setitem(FILES, ".words", Words)
    path = tmp_path / "data.words"
    path.write_text("a bb ccc", encoding="utf-8")
    source = open_source(path, header=True)
    assert source.name == "data.words (True)"
    np.testing.assert_array_equal(source.take([1, 2]), [[2], [3]])
    assert open_table(path).header is None
    with pytest.raises(TypeError, match=r"^sheet is only for spreadsheet files: leave it out"):
        open_source(path, sheet="x")
    with pytest.raises(TypeError, match=r"^header is only for CSV and spreadsheet and word files"):
        open_source(np.eye(3), header=True)


def test_the_program_opens_a_file_once_and_the_next_one_with_the_options_of_the_fit(
    tmp_path, monkeypatch, cohirf
):
    monkeypatch.setitem(FILES, ".words", Words)
    path = tmp_path / "data.words"
    path.write_text("a bb cccccccc " * 20, encoding="utf-8")
    Words.n_opened = 0
    model, *written = (tmp_path / name for name in ("model", "labels.csv", "page.html"))
    outputs = ("--model", model, "--out", written[0], "--report", written[1])
    assert cohirf("fit", path, "--clusters", 2, "--no-header", *outputs).code == 0
    assert Words.n_opened == 1
    assert csv_format(path, model) == {"header": False}


@pytest.mark.parametrize("ending", FILES)
def test_an_ending_is_on_the_pages_that_list_them(ending):
    page = (ROOT / "docs" / "scale" / "files.rst").read_text(encoding="utf-8")
    table = page.partition("Supported formats\n")[2].partition("\nExtras are")[0]
    assert f"``{ending}``" in table
    assert f"``{ending}``" in open_source.__doc__.partition("columns :")[0]


@pytest.mark.parametrize("format_name", sorted({one.format_name for one in FILES.values()}))
def test_a_format_is_named_in_the_help_of_the_program_and_on_its_page(format_name, cohirf):
    assert format_name
    page = (ROOT / "docs" / "start" / "command_line.rst").read_text(encoding="utf-8")
    listed = page.partition("The formats are those of")[2].partition("\n\n")[0]
    assert re.search(rf"\b{format_name.strip('.')}", listed)
    assert re.search(rf"\b{format_name.strip('.')}", cohirf("fit", "--help").out)


def test_optional_packages_are_imported_when_they_are_needed():
    script = "import sys, cohirf; print([name for name in ('zarr', 'dask') if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"


EXTRAS = {"pyarrow": "arrow", "zarr": "zarr", "python_calamine": "excel"}


@pytest.mark.parametrize("ending", [ending for ending in FILES if ending != ".npy"])
def test_a_missing_package_is_named_with_its_extra(ending, tmp_path, monkeypatch):
    path = tmp_path / f"data{ending}"
    lines = b"x\n1\n"
    path.write_bytes(gzip.compress(lines) if ending.endswith(".gz") else lines)
    for module in [module for module in sys.modules if module.partition(".")[0] in EXTRAS]:
        monkeypatch.delitem(sys.modules, module)
    for package in EXTRAS:
        monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=r"^Reading .* needs") as caught:
        open_source(path)
    found = re.search(r'needs (\w+): install .* pip install "cohirf\[(\w+)\]"', str(caught.value))
    assert found, caught.value
    assert EXTRAS[found[1]] == found[2]


def test_numbers_are_those_of_the_columns():
    assert choose_numbers("data", 3, None) is None
    chosen = choose_numbers("data", 3, np.array([2, 0]))
    assert chosen == [2, 0]
    assert {type(number) for number in chosen} == {int}
    assert choose_numbers("data", 3, lambda number: number != 1) == [0, 2]


@pytest.mark.parametrize("number", [-1, 3])
def test_a_number_beyond_the_columns_is_refused(number):
    with pytest.raises(ValueError, match=f"data has no column {number}: give numbers from 0 to 2"):
        choose_numbers("data", 3, [0, number])


@pytest.mark.parametrize("column", ["a", True, 1.0])
def test_what_is_not_a_number_is_refused(column):
    with pytest.raises(
        TypeError, match=f"data has no column names: give numbers from 0 to 2, not {column!r}"
    ):
        choose_numbers("data", 3, [column])


def test_names_are_chosen_in_the_order_given():
    assert choose_names("data", ["a", "b", "c"], None) == ["a", "b", "c"]
    assert choose_names("data", ["a", "b", "c"], ["c", "a"]) == ["c", "a"]
    assert choose_names("data", ["a", "b", "c"], lambda name: name > "a") == ["b", "c"]


def test_a_wrong_name_is_refused_with_some_of_the_right_ones():
    with pytest.raises(ValueError, match=r"data has no column 'x': it has 'a', 'b'\."):
        choose_names("data", ["a", "b"], ["x"])
    names = [f"c{number}" for number in range(10)]
    listed = ", ".join(f"'c{number}'" for number in range(8))
    with pytest.raises(ValueError, match=f"data has no column 'x': it has {listed} and 2 more"):
        choose_names("data", names, ["x"])
    with pytest.raises(ValueError, match=f"it has {listed}\\."):
        choose_names("data", names[:8], ["x"])


def test_at_least_one_row_is_read_at_a_time():
    assert [rows_within(100, 30), rows_within(90, 30), rows_within(10, 30)] == [3, 3, 1]


def test_a_path_is_shown_as_a_user_would_type_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "folder" / "data.npy") == str(Path("folder", "data.npy"))
    assert shown(tmp_path.parent / "data.npy") == str(tmp_path.parent / "data.npy")
    assert shown(tmp_path / "two\nlines.npy") == repr("two\nlines.npy")


def test_a_message_becomes_one_short_line_without_its_full_stop():
    assert one_line(ValueError("  it is\n damaged. ")) == "it is damaged"
    assert one_line(ValueError("x" * 401)) == "x" * 400


def test_content_is_size_time_and_chunks_from_the_first_to_the_last(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(files.READ), "stamp_bytes", 4)
    (tmp_path / "file").write_bytes(b"0123456789")
    stamp = FileStamp.of(tmp_path / "file")
    head, *chunks = stamp.content(3)
    assert head == f"10 {(tmp_path / 'file').stat().st_mtime_ns}".encode()
    assert chunks == [b"0123", b"3456", b"6789"]
    (tmp_path / "file").write_bytes(b"01")
    assert list(FileStamp.of(tmp_path / "file").content(3))[1:] == [b"01"]


def test_an_error_of_the_system_keeps_its_type_and_names_the_file():
    with pytest.raises(PermissionError) as caught, naming("data.npy", ".npy"):
        raise PermissionError(errno.EACCES, "no", "elsewhere")
    assert caught.value.errno == errno.EACCES
    assert caught.value.filename == "data.npy"


@pytest.mark.parametrize("error", [KeyError("header"), OSError("no number")])
def test_any_other_error_says_that_the_file_is_damaged(error):
    with (
        pytest.raises(ValueError, match=r"data\.npy cannot be read as \.npy: .*(header|no number)"),
        naming("data.npy", ".npy"),
    ):
        raise error


def test_a_format_may_explain_its_errors_and_what_names_the_file_is_explained():
    with (
        pytest.raises(ValueError, match=r"^data\.csv, line 3: bad cell$"),
        naming("data.csv", "CSV", "data.csv, line 3: {}".format),
    ):
        raise RuntimeError("bad cell")
    already = ValueError("data.csv has 0 rows")
    with (
        pytest.raises(ValueError, match="0 rows") as caught,
        naming("data.csv", "CSV", "again: {}".format),
    ):
        raise already
    assert caught.value is already


def test_too_little_memory_names_the_file():
    with (
        pytest.raises(MemoryError, match=r"data\.npy needs more memory .* is damaged: 9 GB\."),
        naming("data.npy", ".npy"),
    ):
        raise MemoryError("9 GB.")


@pytest.mark.parametrize("error", [SourceChangedError("changed"), ImportError("needs pyarrow")])
def test_errors_that_explain_themselves_stay_as_they_are(error):
    with pytest.raises(type(error)) as caught, naming("data.npy", ".npy"):
        raise error
    assert caught.value is error
