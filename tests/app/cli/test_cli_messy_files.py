"""Messy files: each is clustered as it is, or refused with one clear message."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from examples.synthetic import make_customers, write_customers
from sklearn.metrics import adjusted_rand_score

from cohirf.app.preparation.policy import SCALE

RNG = np.random.default_rng(0)
N = 120
GROUP = np.repeat([0, 1, 2], N // 3)
SIZE = 10.0 * GROUP + RNG.normal(size=N)
WEIGHT = 1000 * GROUP**2 + 50 * RNG.normal(size=N)


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def write(lines, encoding="utf-8", name="data.csv", newline="\n"):
    Path(name).write_bytes((newline.join(lines) + newline).encode(encoding))
    return name


def rows(delimiter=",", *more):
    """Return lines of names and cells: two numbers and some more columns, which are called a, b and
    so on.
    """
    names = ["size", "weight", *"abcdefgh"[: len(more)]]
    columns = [[f"{value:.3f}" for value in SIZE], [f"{value:.3f}" for value in WEIGHT], *more]
    return [delimiter.join(names), *(delimiter.join(cells) for cells in zip(*columns, strict=True))]


def clusters(cohirf, name, *options, least=1.0):
    """Cluster a file, check that the groups are found, and return the kinds of columns and what was
    said.
    """
    outcome = cohirf(
        "fit", name, *options, "--clusters", 3, "--out", "labels.csv", "--json", "--force"
    )
    assert outcome.code == 0, outcome.err
    assert adjusted_rand_score(GROUP, pd.read_csv("labels.csv")["cluster"]) >= least
    columns = {column["name"]: column for column in json.loads(outcome.out)["columns"]}
    return {name: column["kind"] for name, column in columns.items()}, outcome.err


NUMBER_NAMES = {"size": "number", "weight": "number"}


def test_quoted_cells_with_line_breaks_and_delimiters(cohirf):
    notes = [f'"note {number},\nwith ""two"" lines, and more of them"' for number in range(N)]
    kinds, said = clusters(cohirf, write(rows(",", notes)))
    assert kinds == NUMBER_NAMES | {"a": "text"}
    assert (
        "a       text    left out: 120 different texts in 120 rows, of 8 words on average" in said
    )


def test_tabs(cohirf):
    assert clusters(cohirf, write(rows("\t"), name="data.tsv"))[0] == NUMBER_NAMES
    kinds, said = clusters(cohirf, write(rows("|"), name="data.csv"))
    assert kinds == NUMBER_NAMES
    assert said.startswith("data.csv: 120 rows, 2 features (cells separated by '|')\n")
    assert clusters(cohirf, write(rows(","), name="commas.tsv"))[0] == NUMBER_NAMES


def test_decimal_commas_thousands_currencies_and_percents(cohirf):
    prices = [f"{value:,.2f} €".translate(str.maketrans(",.", ".,")) for value in WEIGHT]
    shares = [f"{value / 30:.1f}%".replace(".", ",") for value in SIZE]
    lines = [line.replace(".", ",") if number else line for number, line in enumerate(rows(";"))]
    lines = [f"{line};{more}" for line, more in zip(lines, ["price", *prices], strict=True)]
    lines = [f"{line};{more}" for line, more in zip(lines, ["share", *shares], strict=True)]
    kinds, said = clusters(cohirf, write(lines))
    assert kinds == NUMBER_NAMES | {"price": "number", "share": "number"}
    assert "price   number  decimal comma, in €\n" in said
    assert "share   number  decimal comma, in %\n" in said


@pytest.mark.parametrize(
    ("encoding", "newline"),
    [("utf-8-sig", "\r\n"), ("utf-16", "\r\n"), ("cp1252", "\n"), ("latin-1", "\r\n")],
)
def test_byte_order_marks_and_old_encodings(cohirf, encoding, newline):
    towns = [["Zürich", "Genève", "Málaga"][group] for group in GROUP]
    lines = [line.replace("size,weight,a", "größe,gewicht,ort") for line in rows(",", towns)]
    kinds, said = clusters(cohirf, write(lines, encoding, newline=newline))
    assert kinds == {"größe": "number", "gewicht": "number", "ort": "category"}
    told = {"utf-8-sig": "", "utf-16": " (read as UTF-16)"}.get(encoding, " (read as Windows-1252)")
    assert said.startswith(f"data.csv: 120 rows, 5 features{told}\n")
    assert json.loads(cohirf("info", "data.csv", "--json").out)["columns"][2]["distinct"] == 3


def test_ragged_rows_are_refused_with_their_lines(cohirf):
    lines = rows(",", [f'"{number}\n"' for number in range(N)])
    lines[5] += ",extra"
    lines[9] = lines[9].partition(",")[0]
    outcome = cohirf("fit", write(lines))
    assert (outcome.code, outcome.err) == (
        2,
        "cohirf: data.csv has 3 columns, but line 10 has 4, line 18 has 1: repair the file, or "
        "give the delimiter of the file with --delimiter if it is not ','.\n",
    )


def test_empty_columns_and_names(cohirf):
    lines = [f"{line},," for line in rows(",", [""] * N)]
    kinds, said = clusters(cohirf, write(lines))
    assert kinds == NUMBER_NAMES | {"a": "empty", "column 4": "empty", "column 5": "empty"}
    assert "column 4  empty   left out: has no values\n" in said


def test_dates(cohirf):
    days = [
        f"{1 + number % 28:02}.{1 + number % 12:02}.{2015 + GROUP[number]}" for number in range(N)
    ]
    moments = [
        f"2024-02-{1 + number % 28:02} {8 + number % 3:02}:{number % 60:02}" for number in range(N)
    ]
    kinds, said = clusters(cohirf, write(rows(",", days, moments)))
    assert kinds == NUMBER_NAMES | {"a": "date", "b": "date"}
    assert "a       date    elapsed days\n" in said
    assert "b       date    elapsed days, hour as sine and cosine\n" in said


def test_ids_are_not_features_but_copied_to_the_output(cohirf):
    numbers = [str(1_000_000 + number) for number in RNG.permutation(N)]
    codes = [f"{number:04x}-{number}" for number in range(N)]
    lines = rows(",", numbers, codes)
    lines[0] = "size,weight,customer_id,code"
    kinds, said = clusters(cohirf, write(lines))
    assert kinds == NUMBER_NAMES | {"customer_id": "id", "code": "id"}
    assert (
        "code         id      left out: 120 different values in 120 rows; names the rows\n" in said
    )
    labels = pd.read_csv("labels.csv")
    assert labels.columns.tolist() == ["code", "cluster"]
    assert labels["code"].tolist() == codes


def test_a_hundred_columns(cohirf):
    wide = pd.DataFrame(
        SIZE[:, None] + RNG.normal(size=(N, 100)), columns=[f"x{number}" for number in range(100)]
    )
    wide["x7"] = "same"
    wide["x9"] = [f"row {number}" for number in range(N)]
    wide["x11"] = wide["x11"].where(wide.index > 3)
    wide.to_csv("wide.csv", index=False)
    kinds, said = clusters(cohirf, "wide.csv")
    assert [kinds[name] for name in ("x0", "x7", "x9", "x11", "x99")] == [
        "number",
        "constant",
        "id",
        "number",
        "number",
    ]
    lines = said.partition("chosen")[0].splitlines()
    assert len(lines) == 5
    assert lines[1] == "x0, x1, x2 and 94 more  number"


def test_one_stray_in_many_rows_is_missing_and_told_with_its_line(cohirf):
    lines = rows(",", [f'"{number}\n{number}"' for number in range(N)])
    lines[17] = lines[17].replace(f"{SIZE[16]:.3f}", "x")
    kinds, said = clusters(cohirf, write(lines), least=0.9)  # the row of the stray may go elsewhere
    assert kinds["size"] == "number"
    assert (
        "warning: data.csv: column 'size' has 1 cell that is not a number, which is taken as "
        "missing: line 34: 'x'.\n" in said
    )


def test_several_doubtful_columns_are_told_in_one_run(cohirf):
    lines = rows(",", ["7"] * 100 + ["seven"] * 20, ["2024-01-05"] * 90 + ["spring"] * 30)
    kinds, said = clusters(cohirf, write(lines), least=0)
    assert kinds == NUMBER_NAMES | {"a": "category", "b": "category"}
    assert (
        "column 'a' has 100 of 120 cells that are numbers, and others such as 'seven': it is taken "
        "as a category; give --as a=number to take the others as missing." in said
    )
    assert "column 'b' has 90 of 120 cells that are dates, and others such as 'spring'" in said


def test_decisions_can_be_overruled(cohirf):
    numbers = [str(number % 5) for number in range(N)]
    write(rows(",", numbers, [str(number) for number in range(N)], ["same"] * N))
    kinds, said = clusters(
        cohirf, "data.csv", "--as", "a=category", "--as", "b=number", "--scale", "none"
    )
    assert kinds == NUMBER_NAMES | {"a": "category", "b": "number", "c": "constant"}
    assert "a       category  as you asked: 5 levels\n" in said


def test_missing_cells_are_filled_and_told(cohirf):
    lines = rows(",", [["red", "blue", ""][number % 3] for number in range(N)])
    lines[3] = "," + lines[3].partition(",")[2]
    _, said = clusters(cohirf, write(lines), least=0)  # colours are noise
    assert "size    number    1 cell missing, filled with the median, " in said
    assert "a       category  2 levels; 40 cells missing, which are a level\n" in said


@pytest.mark.parametrize("in_memory", [0, 2**28])
def test_customers_from_the_raw_file_to_predictions(cohirf, monkeypatch, in_memory):
    monkeypatch.setitem(vars(SCALE), "in_memory_bytes", in_memory)
    write_customers("customers.csv", 600, random_state=0)
    options = ("--clusters", 5, "--model", "model", "--out", "labels.csv", "--quiet")
    assert cohirf("fit", "customers.csv", *options).code == 0
    labels = pd.read_csv("labels.csv")
    assert adjusted_rand_score(make_customers(600, random_state=0)[1], labels["cluster"]) > 0.95
    customers = pd.read_csv("customers.csv")
    assert labels["customer_id"].tolist() == customers["customer_id"].tolist()
    customers[::-1].assign(loyal=True, region="Moon").to_parquet("new.parquet")
    outcome = cohirf("predict", "model", "new.parquet", "--out", "new.csv")
    assert outcome.code == 0
    assert "ignored, because the model was fitted without them: 'loyal'\n" in outcome.err
    assert (
        "column 'region' has 600 cells with a level that the training data did not contain"
        in outcome.err
    )
    assert adjusted_rand_score(pd.read_csv("new.csv")["cluster"][::-1], labels["cluster"]) > 0.9


def test_ids_that_were_found_do_not_keep_labels_from_an_array(cohirf):
    write_customers("customers.csv", 100, random_state=0)
    assert (
        cohirf("fit", "customers.csv", "--out", "labels.npy", "--quiet", "--model", "model").code
        == 0
    )
    assert np.load("labels.npy").shape == (100,)
    assert cohirf("predict", "model", "customers.csv", "--out", "new.npy", "--quiet").code == 0
    assert np.load("new.npy").shape == (100,)


def test_lines_of_the_table_are_as_wide_as_the_terminal():
    from cohirf.app.cli.console import grid_lines
    from cohirf.app.cli.summary import column_grid
    from cohirf.app.preparation import prepare

    table = column_grid(prepare(make_customers(100, random_state=0)[0]).preparation)
    assert max(map(len, grid_lines(table, 50))) <= 50


def fit_and_spoil(cohirf):
    """Fit a model, and write a file in which every fifth size is text."""
    lines = write(rows(","))
    assert cohirf("fit", lines, "--clusters", 2, "--model", "model", "--quiet").code == 0
    spoilt = pd.read_csv("data.csv").astype({"size": object})
    spoilt.loc[::5, "size"] = "n.n."
    spoilt.to_csv("spoilt.csv", index=False)


@pytest.mark.parametrize(
    "arguments",
    [
        ("predict", "model", "spoilt.csv", "--out", "labels.csv"),
        ("update", "model", "spoilt.csv"),
        ("drift", "model", "spoilt.csv"),
    ],
    ids=lambda arguments: arguments[0],
)
def test_commands_for_new_rows_take_strays_as_missing(cohirf, arguments):
    fit_and_spoil(cohirf)
    outcome = cohirf(*arguments)
    # filled cells have drifted
    assert outcome.code == (3 if arguments[0] == "drift" else 0), outcome.err
    assert (
        "column 'size' has 24 cells that are not a number, which are taken as missing: line 2: "
        "'n.n.'" in outcome.err
    )


def test_a_report_takes_strays_as_the_fit_did(cohirf):
    fit_and_spoil(cohirf)
    spoilt = pd.read_csv("spoilt.csv").assign(name=range(120))
    spoilt["size"] = spoilt["size"].where(np.arange(120) % 3 == 0, "n.n.")  # more than half
    spoilt.to_csv("spoilt.csv", index=False)
    wish = ("--as", "size=number", "--as", "name=id")
    assert (
        cohirf("fit", "spoilt.csv", *wish, "--clusters", 2, "--model", "of_spoilt", "--quiet").code
        == 0
    )
    assert cohirf("report", "of_spoilt", "spoilt.csv", "--out", "report.html").code == 0


def test_info_tells_cells_that_a_fit_takes_as_missing(cohirf):
    lines = rows(",", [f'"{number}\n{number}"' for number in range(N)])
    lines[17] = lines[17].replace(f"{SIZE[16]:.3f}", "x")
    outcome = cohirf("info", write(lines))
    told = "has 1 cell that is not a number, which is taken as missing: line 34: 'x'"
    assert f"size: {told}\n" in outcome.out
    columns = json.loads(cohirf("info", "data.csv", "--json").out)["columns"]
    assert [column["unreadable"] for column in columns] == [1, 0, 0]
    assert columns[0]["note"] == told


def test_info_tells_what_is_not_sure_about_a_column(cohirf):
    write(rows(",", ["7"] * 100 + ["seven"] * 20))
    column = json.loads(cohirf("info", "data.csv", "--json").out)["columns"][2]
    assert (column["kind"], column["unreadable"]) == ("category", 0)
    assert column["note"] == (
        "2 levels; has 100 of 120 cells that are numbers, and others such as 'seven': it is taken "
        "as a category; give --as a=number to take the others as missing"
    )
