"""Bad input: exit code 2, one line that names the file, column or option and the remedy, and
nothing written.
"""

import errno
import re
import shlex
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cohirf import CoHiRF
from cohirf.app.preparation.policy import SCALE
from cohirf.sources.open_source import FILES
from systems import linux_only

X = np.random.default_rng(0).normal(size=(200, 3))
TABLE = pd.DataFrame(X, columns=list("abc"))


def with_cell(value):
    table = TABLE.copy()
    table.loc[150, "b"] = value
    return table


def cut_short(path, n_bytes):
    path.write_bytes(path.read_bytes()[:n_bytes])


def write_parquet_parts():
    Path("parts").mkdir()
    TABLE.to_parquet("parts/0.parquet")
    TABLE.assign(b=TABLE["b"] > 0, c="x").to_parquet("parts/1.parquet")


def write_cut_parquet():
    TABLE.to_parquet("data.parquet")
    cut_short(Path("data.parquet"), 1000)


def write_cut_array():
    np.save("data.npy", X)
    cut_short(Path("data.npy"), 1000)


def write_damaged_name():
    with (
        pa.OSFile("data.arrow", "wb") as sink,
        pa.ipc.new_file(sink, pa.schema([("height", pa.float64())])) as writer,
    ):
        writer.write_batch(pa.record_batch({"height": [1.0, 2.0]}))
    Path("data.arrow").write_bytes(Path("data.arrow").read_bytes().replace(b"height", b"\xa2eight"))


MISSING = (
    "contains NaN. Missing values are allowed only in dense arrays and tables in memory, with a "
    "base method that supports them: impute them, for instance with "
    "cohirf.app.preparation.prepare(X) or sklearn.impute.SimpleImputer, or leave their rows out."
)
DAMAGED = "It is truncated, damaged or in another format: write it again, or give another file."
# how the input is made, the arguments, and the message
FILES_REFUSED = {
    "missing file": (lambda: None, "fit gone.csv", "gone.csv is not a file: check the path."),
    "folder without data": (
        lambda: Path("empty").mkdir(),
        "fit empty",
        "empty is a folder without data: give a folder of Parquet, Arrow or CSV files, or a Zarr array.",
    ),
    "empty CSV": (
        lambda: Path("data.csv").touch(),
        "fit data.csv",
        "data.csv is empty: give a line of column names and a line for each sample.",
    ),
    "no rows": (
        lambda: Path("data.csv").write_text("a,b\n", encoding="utf-8"),
        "fit data.csv",
        "data.csv has 0 rows and 2 columns: give at least one of each.",
    ),
    "no rows to code": (
        lambda: pq.write_table(pa.table({"a": pa.array([], pa.string())}), "data.parquet"),
        "fit data.parquet",
        "data.parquet has 0 rows and 1 columns: give at least one of each.",
    ),
    "no columns": (
        lambda: pq.write_table(pa.table({}), "data.parquet"),
        "fit data.parquet",
        "data.parquet has no columns: give at least one.",
    ),
    "truncated Parquet": (
        write_cut_parquet,
        "fit data.parquet",
        "data.parquet cannot be read as Parquet: Parquet magic bytes not found in footer. Either "
        f"the file is corrupted or this is not a parquet file. {DAMAGED}",
    ),
    "truncated array": (
        write_cut_array,
        "fit data.npy",
        f"data.npy cannot be read as .npy: it ends before its last row. {DAMAGED}",
    ),
    "damaged name": (
        write_damaged_name,
        "fit data.arrow",
        "data.arrow cannot be read as a table: 'utf-8' codec can't decode byte 0xa2 in position "
        f"0: invalid start byte. {DAMAGED}",
    ),
    "three dimensions": (
        lambda: np.save("data.npy", np.zeros((2, 2, 2))),
        "fit data.npy",
        "data.npy has shape (2, 2, 2): give two dimensions, one row per sample and one column "
        "per feature.",
    ),
    "an array of text": (
        lambda: np.save("data.npy", np.array([["a"]])),
        "fit data.npy",
        "data.npy holds values of type <U1: turn them into numbers first.",
    ),
    "unknown kind of file": (
        lambda: Path("data.txt").write_text("1 2", encoding="utf-8"),
        "fit data.txt",
        f"data.txt has an unknown format: give a file whose name ends in {', '.join(FILES)}.",
    ),
    "schema change in a folder": (
        write_parquet_parts,
        "fit parts --drop c",
        "parts/1.parquet: column 'b' is bool, but double in parts/0.parquet: write the files "
        "with the same columns, or leave it out with --drop b.",
    ),
    "text among numbers": (
        lambda: Path("data.csv").write_text("a,b\n1,x\n2,y\n3,x\n", encoding="utf-8"),
        "fit data.csv --as b=number",
        "data.csv: column 'b' is not a number: none of its cells can be read as one.",
    ),
    "ragged CSV": (
        lambda: Path("data.csv").write_text("a,b\n1,2\n3\n", encoding="utf-8"),
        "fit data.csv",
        "data.csv has 2 columns, but line 3 has 1: repair the file, or give the delimiter of the "
        "file with --delimiter if it is not ','.",
    ),
    "a quotation mark that is not closed": (
        lambda: Path("data.csv").write_text('a,b\n"1,2\n' + "3,4\n" * 300_000, encoding="utf-8"),
        "fit data.csv",
        "data.csv has a very long cell that begins on line 2: is a quotation mark not closed? "
        "Repair the file.",
    ),
    "missing values in Parquet": (
        lambda: with_cell(np.nan).to_parquet("data.parquet"),
        "fit data.parquet --impute none",
        "data.parquet: column 'b' has 1 missing cell; fill it with --impute median or --impute "
        "mean, or leave the column out with --drop b.",
    ),
    "missing values in CSV": (
        lambda: with_cell(np.nan).to_csv("data.csv", index=False),
        "fit data.csv --scale none --impute none",
        "data.csv: column 'b' has 1 missing cell; fill it with --impute median or --impute mean, "
        "or leave the column out with --drop b.",
    ),
    "missing values in an array": (
        lambda: np.save("data.npy", with_cell(np.nan)),
        "fit data.npy --impute none",
        f"data.npy, rows 0 to 199: {MISSING} The first is in row 150, column 1.",
    ),
    "a column of nothing": (
        lambda: TABLE.assign(b=np.nan).to_csv("data.csv", index=False),
        "fit data.csv --as b=number",
        "data.csv: column 'b' has no values: leave it out with --drop b.",
    ),
    "infinite values to scale": (
        lambda: np.save("data.npy", with_cell(-np.inf)),
        "fit data.npy --scale minmax",
        "data.npy: column 1 holds infinite values: replace them, or leave the column out with "
        "--drop 1.",
    ),
    "values too large": (
        lambda: np.save("data.npy", with_cell(1e200)),
        "fit data.npy --scale none --impute none",
        "data.npy, rows 0 to 199: holds values up to 1e+200, whose squares overflow float64: "
        "scale the data first.",
    ),
    "nothing but ids and constants": (
        lambda: pd.DataFrame({"a": [f"p{i}" for i in range(30)], "b": 5}).to_parquet(
            "data.parquet"
        ),
        "fit data.parquet",
        "data.parquet has no columns left to cluster: 'a' is left out (30 different values in 30 "
        "rows), 'b' is left out (always 5): say what some of them are with --as NAME=KIND.",
    ),
    "a type without values": (
        lambda: TABLE[["b"]].assign(b=[[1, 2]] * 200).to_parquet("data.parquet"),
        "fit data.parquet",
        "data.parquet has no columns left to cluster: 'b' is left out (has type "
        "list<element: int64>, which holds neither numbers nor text nor dates: give --vectors b "
        "to cluster these vectors): say what some of them are with --as NAME=KIND.",
    ),
    "too many categories": (
        lambda: pd.DataFrame({"a": X[:, 0].tolist() * 300, "b": range(60_000)}).to_parquet(
            "data.parquet", index=False
        ),
        "fit data.parquet --as b=category",
        "data.parquet: column 'b' has more than 10,000 different values, too many for a "
        "category: leave it out with --drop b.",
    ),
    "missing categories": (
        lambda: TABLE.assign(b=["x", None, "y", "x"] * 50).to_parquet("data.parquet"),
        "fit data.parquet --impute none",
        "data.parquet: column 'b' has 50 missing cells; fill them with --impute median or "
        "--impute mean, or leave the column out with --drop b.",
    ),
    "two features of one name": (
        lambda: TABLE.assign(b=["x", "y"] * 100, **{"b=x": X[:, 0]}).to_parquet("data.parquet"),
        "fit data.parquet",
        "data.parquet: two features would be called 'b=x': rename the column 'b=x'.",
    ),
    "a kind that is not one": (
        lambda: TABLE.to_parquet("data.parquet"),
        "fit data.parquet --as b=integer",
        "--as b=integer is not valid: give number, category, boolean, date, id, text, a date "
        "with its format, such as date:%d/%m/%Y, or numbers of which one means missing, such as "
        "number:-999.",
    ),
    "a column that is not of its kind": (
        lambda: TABLE.assign(b=["x", "y"] * 100).to_parquet("data.parquet"),
        "fit data.parquet --as b=date",
        "data.parquet: column 'b' is not a date: none of its cells can be read as one.",
    ),
    "a boolean of three": (
        lambda: TABLE.assign(b=["x", "y", "z", "x"] * 50).to_parquet("data.parquet"),
        "fit data.parquet --as b=boolean",
        "data.parquet: column 'b' is not a boolean, but holds 'x', 'y', 'z': ask for a category "
        "instead.",
    ),
}


OPTIONS_REFUSED = {
    "output exists": (
        "--out old.csv",
        "--out old.csv exists: give another name, or --force to replace it.",
    ),
    "output of unknown kind": (
        "--out labels.xls",
        "--out labels.xls: the kind of file is not known: give a name that ends in .parquet or "
        ".csv or .npy.",
    ),
    "output nowhere": (
        "--out no/labels.csv",
        "--out no/labels.csv: there is no folder no: create it first.",
    ),
    "output is a folder": ("--out sub.csv", "--out sub.csv is a folder: give the name of a file."),
    "report of unknown kind": (
        "--report report.pdf",
        "--report report.pdf: the kind of file is not known: give a name that ends in .html or "
        ".htm.",
    ),
    "model is a file": (
        "--model old.csv",
        "--model old.csv exists and is not a saved model: give another name.",
    ),
    "no place for ids": (
        "--id-column 0 --out labels.npy",
        "--out labels.npy: an array cannot store --id-column '0': give a name that ends in "
        ".parquet or .csv.",
    ),
    "unknown column": (
        "--label-column species",
        "--label-column species: x.npy has no column names: give a number from 0 to 2.",
    ),
    "a column twice": (
        "--label-column 1 --drop 1",
        "x.npy: column 1 has two roles, label and dropped: give it one.",
    ),
    "nothing left": (
        "--drop 0 --drop 1 --drop 2",
        "x.npy has no columns left to cluster: drop fewer columns.",
    ),
    "too many features": (
        "--max-features 7",
        "--max-features 7 is above the 3 features of X: give an int from 1 to 3 or a "
        "fraction in (0, 1].",
    ),
    "a fraction above 1": (
        "--max-features 1.5",
        "--max-features: max_features='1.5' is not valid: give an int in the range [1, inf) or a float in the "
        "range (0.0, 1.0].",
    ),
    "jobs": ("--n-jobs 0", "--n-jobs 0 is not valid: give 1 or more, or -1 for all cores."),
    "memory in words": (
        "--batch-size 1",
        '--batch-size 1 is not valid: give a number of rows, "auto", or the memory that the '
        "fit may use, such "
        'as "500MB", "2GB" or "1.5GiB" (units: B, KB, KiB, MB, MiB, GB, GiB, TB, TiB).',
    ),
    "checkpoint nowhere": (
        "--checkpoint no/ck",
        "no/ck: The checkpoint was not opened (No such file or directory): give a directory that "
        "can be written to, or a new one in a directory that exists.",
    ),
    "checkpoint of something else": (
        "--checkpoint sub.csv",
        "--checkpoint sub.csv contains 'mine.txt', which does not belong to a checkpoint of "
        "this version of cohirf: give an empty or new directory.",
    ),
    "unknown base method": (
        "--estimator dbscn",
        "--estimator: 'dbscn' is not the name of a base method: give one of "
        "affinity-propagation, agglomerative, birch, bisecting-kmeans, dbscan, gmm, grid-dbscan, "
        "hdbscan, kernel-kmeans, kmeans, mean-shift, minibatch-kmeans, optics, sc-srgf, "
        "spectral, torch-kmeans.",
    ),
    "unknown parameter": (
        "--param eps=1",
        "--param: 'eps' is not a parameter of kmeans: give some of n_clusters, init, n_init, "
        "max_iter, tol, verbose, random_state, copy_x, algorithm.",
    ),
    "parameter without value": (
        "--param eps",
        "--param 'eps' is not valid: give KEY=VALUE, such as --param n_clusters=5.",
    ),
    "value out of range": (
        "--estimator dbscan --param eps=-1",
        "--param: eps='-1' is not valid: give a float in the range (0.0, inf).",
    ),
    "a kind without a column": (
        "--as number",
        "--as 'number' is not valid: give NAME=KIND, such as --as zip=category.",
    ),
    "a delimiter for an array": (
        "--delimiter ;",
        "--delimiter is only for CSV files: leave it out.",
    ),
    "unknown option": (
        "--vews 3",
        "No such option: --vews (Possible options: --eps, --vectors, --views). Try cohirf fit "
        "--help.",
    ),
}


def refused(outcome, message):
    """Check that nothing but one line was said, and which."""
    assert outcome.err == f"cohirf: {message}\n"
    assert outcome.out == ""
    assert outcome.code == 2


@pytest.mark.parametrize(
    ("make", "arguments", "message"), FILES_REFUSED.values(), ids=FILES_REFUSED
)
def test_files_are_refused(cohirf, tmp_path, monkeypatch, make, arguments, message):
    monkeypatch.chdir(tmp_path)
    make()
    before = sorted(tmp_path.rglob("*"))
    refused(
        cohirf(*arguments.split(), "--quiet", "--out", "labels.csv", "--model", "model"), message
    )
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize(("arguments", "message"), OPTIONS_REFUSED.values(), ids=OPTIONS_REFUSED)
def test_options_are_refused(cohirf, tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    np.save("x.npy", X)
    Path("old.csv").write_text("old", encoding="utf-8")
    Path("sub.csv").mkdir()
    Path("sub.csv/mine.txt").touch()
    before = sorted(tmp_path.rglob("*"))
    refused(cohirf("fit", "x.npy", *arguments.split(), "--quiet"), message)
    assert sorted(tmp_path.rglob("*")) == before
    assert Path("old.csv").read_text(encoding="utf-8") == "old"


@pytest.mark.parametrize(
    ("option", "value"),
    [("--views", "0"), ("--views", "many"), ("--scale", "big"), ("--impute", "0"), ("--seed", "x")],
)
def test_a_value_that_an_option_does_not_take_is_refused_in_one_line(cohirf, folder, option, value):
    outcome = cohirf("fit", "iris.csv", option, value)
    assert (outcome.code, outcome.out, outcome.err.count("\n")) == (2, "", 1)
    assert outcome.err.startswith(f"cohirf: Invalid value for '{option}': ")
    assert outcome.err.endswith(" Try cohirf fit --help.\n")


@pytest.mark.parametrize("delimiter", ["", ";;", "\\t", "é", '"', "\n"])
@pytest.mark.parametrize("command", [("fit",), ("info",)])
def test_a_delimiter_is_one_character(cohirf, folder, command, delimiter):
    shown = shlex.quote(delimiter) if delimiter.isprintable() else repr(delimiter)
    refused(
        cohirf(*command, "iris.csv", "--delimiter", delimiter),
        f"--delimiter {shown} is not valid: give one character, such as ; or a tab.",
    )


def test_a_column_that_is_called_like_an_option_keeps_its_name(cohirf, folder):
    pd.DataFrame({"n_jobs": ["x", "y", "x"], "label_column": [1, 2, 4]}).to_csv(
        "data.csv", index=False
    )
    refused(
        cohirf("fit", "data.csv", "--as", "n_jobs=number"),
        "data.csv: column 'n_jobs' is not a number: none of its cells can be read as one.",
    )


def test_names_of_columns_are_listed(cohirf, folder):
    refused(
        cohirf("fit", "iris.csv", "--label-column", "speces"),
        "--label-column speces: iris.csv has no such column: it has 'id', 'sepal_length', "
        "'sepal_width', 'petal_length', 'petal_width', 'species'.",
    )


def test_many_names_are_not_all_listed(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame(np.zeros((3, 12))).rename(columns="c{}".format).to_csv("wide.csv", index=False)
    outcome = cohirf("fit", "wide.csv", "--id-column", "x")
    assert outcome.err.endswith(
        "it has 'c0', 'c1', 'c2', 'c3', 'c4', 'c5', 'c6', 'c7' and 4 more.\n"
    )


def test_ids_must_not_be_called_cluster(cohirf, folder, iris):
    iris.rename(columns={"id": "cluster"}).to_csv("data.csv", index=False)
    refused(
        cohirf(
            "fit", "data.csv", "--id-column", "cluster", "--drop", "species", "--out", "labels.csv"
        ),
        "--id-column 'cluster' has the name of the cluster column: rename it in the data.",
    )


def test_names_of_rows_that_change_their_type_are_refused_before_the_fit(
    cohirf, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    Path("parts").mkdir()
    TABLE.assign(id=range(200)).to_parquet("parts/0.parquet")
    names = pa.array(["x"] * len(TABLE), pa.string())
    pq.write_table(pa.Table.from_pandas(TABLE).append_column("id", names), "parts/1.parquet")
    refused(
        cohirf("fit", "parts", "--id-column", "id", "--out", "labels.csv"),
        "parts/1.parquet: column 'id' is string, but int64 in parts/0.parquet: write the files "
        "with the same columns.",
    )


def test_missing_values_in_a_late_batch_name_its_rows(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(vars(SCALE), "in_memory_bytes", 100)
    np.save("data.npy", with_cell(np.nan))
    options = (
        "--batch-size",
        20,
        "--scale",
        "none",
        "--impute",
        "none",
        "--quiet",
        "--out",
        "labels.csv",
    )
    outcome = cohirf("fit", "data.npy", *options)
    refused(outcome, f"data.npy, rows 0 to 199: {MISSING} The first is in row 150, column 1.")
    assert not Path("labels.csv").exists()


def test_a_file_that_changes_during_the_fit_is_refused(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(vars(SCALE), "in_memory_bytes", 100)
    np.save("data.npy", X)
    fit = CoHiRF.fit

    def fit_later(self, source, **options):
        np.save("data.npy", X[:100])
        return fit(self, source, **options)

    monkeypatch.setattr(CoHiRF, "fit", fit_later)
    refused(
        cohirf(
            "fit",
            "data.npy",
            "--batch-size",
            20,
            "--scale",
            "none",
            "--quiet",
            "--out",
            "labels.csv",
        ),
        "data.npy has changed since it was opened: open it again, and leave it as it is until "
        "the fit is done.",
    )


@pytest.mark.parametrize(
    "command", ["fit iris.csv --drop id --drop species", "predict model iris.csv"]
)
def test_the_data_is_never_replaced(cohirf, model, command):
    before = Path("iris.csv").read_bytes()
    refused(
        cohirf(*command.split(), "--out", "./iris.csv", "--force"),
        "--out iris.csv is the data itself: give another name.",
    )
    assert Path("iris.csv").read_bytes() == before


def test_a_model_that_exists_is_not_replaced(cohirf, model):
    before = model.read_bytes()
    refused(
        cohirf("fit", "iris.csv", "--drop", "id", "--drop", "species", "--model", "model"),
        "--model model exists: give another name, or --force to replace it.",
    )
    assert model.read_bytes() == before


def test_a_checkpoint_of_another_fit_is_refused(cohirf, folder, apart):
    command = ("fit", "iris.csv", *apart, "--checkpoint", "ck", "--quiet")
    assert cohirf(*command).code == 0
    refused(
        cohirf(*command, "--seed", 1),
        "--checkpoint ck belongs to another fit: --seed was 0 and is 1. Give another "
        "directory, or repeat the fit it belongs to.",
    )


def test_memory_below_what_python_takes_is_refused(cohirf, folder, apart):
    outcome = cohirf("fit", "iris.csv", *apart, "--batch-size", "1MB", "--quiet")
    assert outcome.code == 2
    assert outcome.err.startswith(
        "cohirf: --batch-size: 1 MB of memory is too little: the program takes "
    )
    assert re.search(
        r"before it reads iris\.csv\. Give at least --batch-size \d+MB\.\n$", outcome.err
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit", "Missing argument 'DATA'. Try cohirf fit --help."),
        ("nothing", "No such command 'nothing'. Try cohirf --help."),
        (
            "predict gone iris.csv --out l.csv",
            "gone does not exist: give the file that cohirf fit --model wrote.",
        ),
        (
            "predict sub iris.csv --out l.csv",
            "sub is not a saved model: give the file that cohirf fit --model wrote.",
        ),
        (
            "cut gone --clusters 2",
            "gone does not exist: give the file that cohirf fit --model wrote.",
        ),
        ("cut gone", "Missing option '--clusters'. Try cohirf cut --help."),
        (
            "tree gone --out tree.newick",
            "--out tree.newick: the kind of file is not known: give a name that ends in .txt or "
            ".nwk or .json or .graphml or .csv or .npy.",
        ),
        ("info gone.csv", "gone.csv is not a file: check the path."),
        ("info none.parquet", "none.parquet has no columns: give at least one."),
    ],
)
def test_other_commands_refuse_in_the_same_way(cohirf, folder, arguments, message):
    Path("sub").mkdir()
    pq.write_table(pa.table({}), "none.parquet")
    before = sorted(folder.rglob("*"))
    refused(cohirf(*arguments.split()), message)
    assert sorted(folder.rglob("*")) == before


def test_a_folder_without_the_right_to_write_is_refused(cohirf, folder, apart, monkeypatch):
    def refuse(folder):
        raise PermissionError(errno.EACCES, "Permission denied", str(folder))

    monkeypatch.setattr("cohirf.app.cli.outputs.check_writable", refuse)
    refused(
        cohirf("fit", "iris.csv", *apart, "--out", "labels.csv"),
        "--out labels.csv: the folder cannot be written to (Permission denied): give another path.",
    )


@linux_only
def test_a_folder_in_which_no_file_can_be_made_is_refused_also_for_root(cohirf, folder, apart):
    for flag, name in (("--out", "labels.csv"), ("--model", "model"), ("--report", "report.html")):
        outcome = cohirf("fit", "iris.csv", *apart, flag, f"/proc/{name}")
        assert outcome.code == 2
        assert outcome.err.startswith(
            f"cohirf: {flag} /proc/{name}: the folder cannot be written to ("
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ("fit iris.csv --out a.csv --model ./a.csv", "--model a.csv is also --out"),
        ("fit iris.csv --out sub/../a.csv --model a.csv", "--model a.csv is also --out"),
        ("fit iris.csv --model a.html --report a.html", "--report a.html is also --model"),
        ("fit iris.csv --out ck/a.csv --checkpoint ck", "--out ck/a.csv is inside the checkpoint"),
        ("predict model.npy iris.csv --out model.npy --force", "--out model.npy is also MODEL"),
        ("predict model.npy iris.csv --out link.npy --force", "--out link.npy is also MODEL"),
        ("update model.npy iris.csv --out model.npy --force", "--out model.npy is also MODEL"),
        ("cut model.npy --clusters 2 --out model.npy --force", "--out model.npy is also MODEL"),
        ("tree model.npy --out model.npy --force", "--out model.npy is also MODEL"),
        ("report model.html iris.csv --out model.html --force", "--out model.html is also MODEL"),
    ],
)
def test_one_path_is_not_given_twice(cohirf, model, arguments, message):
    Path("sub").mkdir()
    Path("ck").mkdir()
    model.rename("model.npy")
    shutil.copy("model.npy", "model.html")
    Path("link.npy").hardlink_to("model.npy")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}
    refused(cohirf(*arguments.split()), f"{message}: give another path.")
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


def test_nothing_is_written_among_the_files_of_the_data(cohirf, folder, iris):
    Path("parts").mkdir()
    iris.to_parquet("parts/a.parquet")
    before = Path("parts/a.parquet").read_bytes()
    apart = ("--drop", "species", "--id-column", "id", "--force")
    for flag, target in (
        ("--out", "parts/a.parquet"),
        ("--out", "parts/b.parquet"),
        ("--model", "parts/model"),
    ):
        outcome = cohirf("fit", "parts", *apart, flag, target)
        assert outcome.code == 2
        assert (
            outcome.err
            == f"cohirf: {flag} {target} is inside the folder of the data: give another path.\n"
        )
    assert [file.name for file in Path("parts").iterdir()] == ["a.parquet"]
    assert Path("parts/a.parquet").read_bytes() == before


def test_a_column_whose_squares_overflow_is_left_out(cohirf, folder):
    pd.DataFrame({"a": np.arange(9.0), "b": np.arange(9) * 1e200}).to_csv("huge.csv", index=False)
    assert (
        "b  other   left out: holds values up to 8e+200, whose squares overflow\n"
        in cohirf("fit", "huge.csv").err
    )


def test_a_model_and_a_checkpoint_do_not_share_a_folder(cohirf, folder, apart):
    outcome = cohirf("fit", "iris.csv", *apart, "--model", "here", "--checkpoint", "./here")
    assert (outcome.code, outcome.err) == (
        2,
        "cohirf: --model here is also --checkpoint: give another path.\n",
    )
