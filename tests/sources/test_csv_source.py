"""CSV files as sources."""

import gzip
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from test_sources import make_data

from cohirf import open_source
from cohirf.sources import SourceChangedError
from cohirf.sources.csv import CsvTable
from cohirf.sources.policy import CSV

NAMES = ["a", "b", "c", "d"]


def write(X, path, delimiter=",", newline="\n"):
    lines = [delimiter.join(NAMES), *(delimiter.join(map(repr, row)) for row in X.tolist())]
    path.write_text(newline.join(lines), encoding="utf-8")
    return path


def test_a_csv_file_that_was_converted_may_go(tmp_path):
    X = make_data()
    source = open_source(write(X, tmp_path / "data.csv"))
    (tmp_path / "data.csv").unlink()
    np.testing.assert_array_equal(source.take([1, 2]), X[[1, 2]])


@pytest.mark.parametrize(
    "name", ["data.csv", "data.CSV", "data.csv.gz", "data.tsv", "data.tsv.gz", "my.data.v2.tsv"]
)
def test_the_ending_says_how_to_read(name, tmp_path):
    X = make_data()
    write(X, tmp_path / name, delimiter="\t" if ".tsv" in name else ",")
    if name.endswith(".gz"):
        (tmp_path / name).write_bytes(gzip.compress((tmp_path / name).read_bytes()))
    np.testing.assert_array_equal(open_source(tmp_path / name).take(np.arange(len(X))), X)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("ending", ["csv", "tsv"])
def test_the_delimiter_is_found(delimiter, ending, tmp_path):
    X = make_data()
    write(X, tmp_path / f"data.{ending}", delimiter=delimiter, newline="\r\n")
    np.testing.assert_array_equal(
        open_source(tmp_path / f"data.{ending}").take(np.arange(len(X))), X
    )


def test_a_delimiter_may_be_given(tmp_path):
    X = make_data()
    write(X, tmp_path / "data.csv", delimiter="!")
    np.testing.assert_array_equal(
        open_source(tmp_path / "data.csv", delimiter="!").take(np.arange(len(X))), X
    )
    with pytest.raises(
        ValueError,
        match=r"data.csv: column 'a!b!c!d' has type string: .* Or is the delimiter not ','\?",
    ):
        open_source(tmp_path / "data.csv")


@pytest.mark.parametrize(
    ("text", "delimiter"),
    [
        ("a;b\n1,5;2,5\n1,5;2,5\n", ";"),  # decimal commas
        ("1,5;2,5\n1,5;2,5\n", ";"),
        ('a,b\n"x;y;z",1\n"x;y",2\n', ","),  # other delimiters in quoted cells
        ("x\n1,5\n2,5\n", ";"),  # one column
        ("x\n1\n2\n", ","),
        ("a,b,c\n1,2,3\n1,2\n1,2,3\n", ","),  # a ragged row
        ("a|b\n1,5|x, y\n", "|"),
    ],
)
def test_the_delimiter_makes_rows_of_equal_length(text, delimiter, tmp_path):
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    assert CsvTable(tmp_path / "data.csv").delimiter == delimiter


@pytest.mark.parametrize("block", [50, 2**20])
@pytest.mark.parametrize(
    ("encoding", "name"),
    [
        ("utf-8", "größe €"),
        ("utf-8-sig", "größe €"),
        ("utf-16", "größe €"),
        ("utf-16-le", "größe €"),
        ("utf-16-be", "größe €"),
        ("utf-32", "größe €"),
        ("cp1252", "größe €"),
        ("latin-1", "größe \x81"),
    ],
)
def test_the_encoding_is_found(encoding, name, block, tmp_path, monkeypatch):
    monkeypatch.setitem(vars(CSV), "block_bytes", block)
    (tmp_path / "data.csv").write_bytes((f"{name},b\n" + "1,2\n" * 50).encode(encoding))
    source = open_source(tmp_path / "data.csv")
    assert source.feature_names == [name, "b"]
    np.testing.assert_array_equal(source.take([0, 49]), [[1, 2], [1, 2]])


@pytest.mark.parametrize("read_bytes", [16, 2**20])
def test_nul_bytes_are_named_with_their_line(read_bytes, tmp_path, monkeypatch):
    monkeypatch.setitem(vars(CSV), "read_bytes", read_bytes)
    (tmp_path / "data.csv").write_bytes(b"a,b\n" + b"1,2\n" * 50 + b"1,\x002\n" + b"1,2\n" * 50)
    with pytest.raises(
        ValueError, match=r"data\.csv has NUL bytes, the first on line 52: remove them\."
    ):
        open_source(tmp_path / "data.csv")


def test_a_letter_in_the_last_line_decides_the_encoding_too(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(CSV), "read_bytes", 64)
    (tmp_path / "data.csv").write_bytes(
        ("who,b\n" + "Muller,2\n" * 50 + "Müller,3\n").encode("cp1252")
    )
    csv = CsvTable(tmp_path / "data.csv")
    assert csv.encoding == "cp1252"
    assert [cell for batch in csv.read(["who"]) for cell in batch.column(0).to_pylist()][
        -1
    ] == "Müller"


@pytest.mark.parametrize("block", [100, 2**20])
def test_quoted_cells_may_have_line_breaks(block, tmp_path, monkeypatch):
    monkeypatch.setitem(vars(CSV), "block_bytes", block)
    text = "x,note,y\n" + "".join(f'{i},"two\nlines, and ""quotes""",{-i}\n' for i in range(100))
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    source = open_source(tmp_path / "data.csv", columns=["x", "y"])
    np.testing.assert_array_equal(source.take([0, 50, 99]), [[0, 0], [50, -50], [99, -99]])
    csv = CsvTable(tmp_path / "data.csv")
    assert csv.find_places([0, 50, 99]) == {0: "line 2", 50: "line 102", 99: "line 200"}


def test_lines_before_the_names_and_names_that_are_empty(tmp_path):
    (tmp_path / "data.csv").write_text("\n\na,,\n1,2,3\n\n4,5,6\n", encoding="utf-8")
    source = open_source(tmp_path / "data.csv")
    assert source.feature_names == ["a", "column 2", "column 3"]
    np.testing.assert_array_equal(source.take([0, 1]), [[1, 2, 3], [4, 5, 6]])
    assert CsvTable(tmp_path / "data.csv").find_places([0, 1]) == {0: "line 4", 1: "line 6"}


@pytest.mark.parametrize("delimiter", [",", ";"])
@pytest.mark.parametrize(
    "titles", ["Sales by region\n", "Report\n\nMay 2024,,\n", '"A title, with a comma"\n']
)
def test_titles_above_the_names_are_skipped_and_said(titles, delimiter, tmp_path):
    rows = "region,spend,orders\n" + "north,3.5,2\nsouth,4.5,7\n" * 20 + "west,x,1\n"
    (tmp_path / "data.csv").write_text((titles + rows).replace(",", delimiter), encoding="utf-8")
    table = CsvTable(tmp_path / "data.csv")
    assert list(table.types) == ["region", "spend", "orders"]
    assert sum(len(batch) for batch in table.read(["spend"])) == 41
    assert (
        f"{len(titles.split(chr(10))) - titles.split(chr(10)).count('')} title line" in table.format
    )
    first = titles.count("\n") + 2
    assert table.find_places([0, 40]) == {0: f"line {first}", 40: f"line {first + 40}"}


def test_names_that_repeat_get_numbers(tmp_path):
    (tmp_path / "data.csv").write_text("x,y,x,x (2),x\n1,2,3,4,5\n", encoding="utf-8")
    assert open_source(tmp_path / "data.csv").feature_names == ["x", "y", "x (3)", "x (2)", "x (4)"]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("1,2\n3,4\n", ["f0", "f1"]),
        ("5.1,3.5,setosa\n4.9,3,setosa\n", ["f0", "f1", "f2"]),
        ("0.5,0.41,0.41.1\n1,2,3\n", ["f0", "f1", "f2"]),  # numbers that pandas has made unique
        ("1,2\nNA,4\n", ["f0", "f1"]),
        ("country,1990,1991,1992\nChad,1,2,3\n", None),
        ("1990,1991,1992\n1,2,3\n", None),  # numbers that count are names
        ("2020,2010,2000\n1,2,3\n", None),
        ("1990,1992,2001\n1,2,3\n", None),  # years
        ("3,9,4\n1,2,3\n", ["f0", "f1", "f2"]),
        ("1,2\na,b\n", None),
        ("5.1,3.5,kind\n4.9,3,setosa\n", None),
    ],
)
def test_a_first_line_of_numbers_over_numbers_is_data(tmp_path, text, names):
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    table = CsvTable(tmp_path / "data.csv")
    assert list(table.types) == (names or text.split("\n")[0].split(","))
    assert ("its first line is data" in table.format) == (names is not None)


def test_whether_the_first_line_has_names_can_be_said(tmp_path):
    (tmp_path / "data.csv").write_text("1,2\n3,4\n", encoding="utf-8")
    for header in (None, False):
        nameless = open_source(tmp_path / "data.csv", header=header)
        assert nameless.feature_names == ["f0", "f1"]
        np.testing.assert_array_equal(nameless.take([0, 1]), [[1, 2], [3, 4]])
    assert open_source(tmp_path / "data.csv", header=True).feature_names == ["1", "2"]


def test_numbers_may_become_fractions_late(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(CSV), "block_bytes", 100)
    (tmp_path / "data.csv").write_text("x\n" + "1\n" * 1_000 + "0.5\n-1e3\n", encoding="utf-8")
    np.testing.assert_array_equal(
        open_source(tmp_path / "data.csv").take([999, 1_000, 1_001]), [[1], [0.5], [-1_000]]
    )


def test_text_that_comes_late_is_named(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(CSV), "block_bytes", 100)
    (tmp_path / "data.csv").write_text("x,y\n" + "1,2\n" * 1_000 + "1,oops\n", encoding="utf-8")
    with pytest.raises(
        ValueError,
        match=r"data.csv: column 'y' holds 'oops', which is not a number: turn it into numbers first, or leave",
    ):
        open_source(tmp_path / "data.csv")
    assert open_source(tmp_path / "data.csv", columns=["x"]).n_rows == 1_001


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"data.csv is empty: give a line of column names and a line for each sample\."),
        ("x,y\n", r"data.csv has 0 rows and 2 columns: give at least one of each\."),
        (
            "x,y\n1,2\n3\n",
            r"data.csv has 2 columns, but line 3 has 1: repair the file, or give the delimiter of the file",
        ),
        (
            "x,who\n1,ann\n",
            r"data.csv: column 'who' has type string: turn it into numbers first, or leave it out,",
        ),
        (
            "x,when\n1,2026-01-01\n",
            r"data.csv: column 'when' has type date32\[day\]: turn it into numbers first",
        ),
    ],
)
def test_what_cannot_be_converted_is_refused(text, message, tmp_path):
    (tmp_path / "data.csv").write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message) as caught:
        open_source(tmp_path / "data.csv")
    assert "\n" not in str(caught.value)


def test_an_error_of_the_system_is_not_taken_for_one_of_the_content(tmp_path):
    table = CsvTable(write(make_data(), tmp_path / "data.csv"))
    (tmp_path / "data.csv").unlink()
    with pytest.raises(FileNotFoundError, match=r"data\.csv"):
        next(table.read(list(table.types)))


@pytest.mark.parametrize(("columns", "error"), [([], ValueError), ("f0", TypeError)])
def test_a_wrong_choice_of_columns_is_not_taken_for_a_fault_of_the_file(columns, error, tmp_path):
    write(make_data(), tmp_path / "data.csv")
    with pytest.raises(error, match=r"^columns="):
        open_source(tmp_path / "data.csv", columns=columns)


@pytest.mark.parametrize("delimiter", ["", ";;", "ö", "\n", '"'])
def test_a_delimiter_that_is_not_one_character_is_refused(delimiter, tmp_path):
    write(make_data(), tmp_path / "data.csv")
    with pytest.raises(
        ValueError, match=r"delimiter=.* is not valid: give one character, such as ; or a tab\."
    ):
        open_source(tmp_path / "data.csv", delimiter=delimiter)


def test_a_truncated_archive_is_refused(tmp_path):
    content = gzip.compress(b"x,y\n" + b"1,2\n" * 1_000)
    (tmp_path / "data.csv.gz").write_bytes(content[: len(content) // 2])
    with pytest.raises(
        ValueError, match=r"data.csv.gz cannot be read as CSV: Compressed file ended before the end"
    ):
        open_source(tmp_path / "data.csv.gz")


def test_an_empty_cell_is_refused_where_it_is_read(tmp_path):
    (tmp_path / "data.csv").write_text("x,y\n1,2\n3,\n", encoding="utf-8")
    source = open_source(tmp_path / "data.csv")
    np.testing.assert_array_equal(source.take([0]), [[1, 2]])
    with pytest.raises(
        ValueError, match=r"data.csv, rows 1 to 1: contains NaN\. .* row 1, column 'y'\."
    ):
        source.take([1])


def test_a_conversion_that_failed_leaves_nothing_behind(tmp_path, monkeypatch):
    monkeypatch.setitem(vars(CSV), "block_bytes", 100)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    (tmp_path / "data.csv").write_text("x\n" + "1\n" * 1_000 + "oops\n", encoding="utf-8")
    with pytest.raises(ValueError, match="oops"):
        open_source(tmp_path / "data.csv")
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == [tmp_path / "data.csv"]


def test_a_csv_file_that_changes_while_it_is_converted_is_noticed(tmp_path, monkeypatch):
    csv = write(make_data(), tmp_path / "data.csv")
    infer = CsvTable.infer_types

    def infer_and_touch(self, *args):
        os.utime(csv, ns=(10**18, 10**18))
        return infer(self, *args)

    monkeypatch.setattr(CsvTable, "infer_types", infer_and_touch)
    with pytest.raises(SourceChangedError, match=r"data.csv has changed since it was opened"):
        open_source(csv)


def test_the_temporary_file_is_gone_with_the_source(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    csv = write(make_data(), tmp_path / "data.csv")
    path = os.fspath(open_source(csv)._table.path)
    assert not Path(path).exists()
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


def test_a_source_that_was_sent_away_reads_the_temporary_file(tmp_path):
    X = make_data()
    sent = pickle.dumps(open_source(write(X, tmp_path / "data.csv")))
    np.testing.assert_array_equal(pickle.loads(sent).take([1, 2]), X[[1, 2]])


def test_a_temporary_file_that_cannot_be_reached_is_explained(tmp_path):
    source = open_source(write(make_data(), tmp_path / "data.csv"))
    # on another machine, there may be something else
    os.utime(source._table.path, ns=(10**18, 10**18))
    with pytest.raises(
        SourceChangedError,
        match=r"data.csv was converted to a temporary file that this process cannot read: write",
    ):
        source.take([0])


@pytest.mark.slow
def test_the_temporary_file_is_gone_when_the_process_ends(tmp_path):
    csv = write(make_data(), tmp_path / "data.csv")
    script = (
        "import os, sys; from cohirf import open_source; source = open_source(sys.argv[1]);child "
        "= os.fork() if hasattr(os, 'fork') else 1;"
        "child or sys.exit();"  # the end of a fork must not take the file away
        "child == 1 or os.waitpid(child, 0);assert source.take([0]).shape == (1, 4);"
        "print(os.path.realpath(source._table.path))"
    )
    environment = os.environ | {"TMPDIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-c", script, csv],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip().startswith(str(tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == ["data.csv"]


@pytest.mark.parametrize("sign", [";", "|", "\t"])
def test_a_header_that_fits_decides_the_delimiter(sign, tmp_path):
    lines = ["a,b,note", *(f"{row},{row**2},x{sign} {row}" for row in range(30))]
    (tmp_path / "data.csv").write_text("\n".join(lines), encoding="utf-8")
    table = CsvTable(tmp_path / "data.csv")
    assert list(table.types) == ["a", "b", "note"]
    assert table.delimiter == ","
