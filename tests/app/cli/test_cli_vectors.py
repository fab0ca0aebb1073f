"""cohirf fit --vectors and --text, and cohirf curate: files with a column of vectors."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from cohirf import load

SUBJECTS = ["apple", "pear", "train", "bus"]
HOSTILE = [
    "<script>alert(1)</script><img src=x onerror=alert(1)>",
    "=cmd|' /C calc'!A0",
    "x" * 1_000_000,
    "\N{GRINNING FACE}" * 50,
    "\u202e\u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627\x1b[2J",
]


@pytest.fixture
def docs(tmp_path, monkeypatch):
    """A working directory with docs.parquet: 400 texts on four subjects, of which the last ten
    repeat the first.
    """
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    own = np.sort(rng.choice(4, 400, p=[0.7, 0.2, 0.06, 0.04]))
    X = 3 * rng.normal(size=(4, 16))[own] + rng.normal(size=(400, 16))
    X[-10:] = 2 * X[:10] + 0.01
    table = pa.table(
        {
            "id": [f"d{row}" for row in range(400)],
            "body": [f"about a {SUBJECTS[number]}" for number in own],
            "kind": [SUBJECTS[number] for number in own],
            "v": pa.FixedSizeListArray.from_arrays(pa.array(X.ravel().astype(np.float16)), 16),
        }
    )
    pq.write_table(table, "docs.parquet", row_group_size=150)
    return table


def test_texts_are_fitted_by_their_vectors_named_and_reported_on_levels(cohirf, docs):
    outcome = cohirf(
        *(
            "fit",
            "docs.parquet",
            "--vectors",
            "v",
            "--text",
            "body",
            "--clusters",
            "4,2",
            "--id-column",
            "id",
        ),
        *(
            "--label-column",
            "kind",
            "--report",
            "topics.html",
            "--out",
            "labels.csv",
            "--model",
            "m.cohirf",
            "--json",
        ),
    )
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert {name.replace(",", " ").split()[0] for name in document["names"]} == set(SUBJECTS)
    labels = pd.read_csv("labels.csv")
    assert list(labels) == ["id", "cluster", "cluster_2"]
    assert labels[["cluster", "cluster_2"]].drop_duplicates().shape[0] == 4
    assert load("m.cohirf").metric == "cosine"
    assert list(load("m.cohirf").names_.values()) == document["names"]  # updates keep them
    assert "about a apple" in Path("topics.html").read_text(encoding="utf-8")
    assert cohirf("predict", "m.cohirf", "docs.parquet", "--out", "again.csv").code == 0
    np.testing.assert_array_equal(pd.read_csv("again.csv")["cluster"], labels["cluster"])


@pytest.mark.parametrize("kind", ["bytes", "path", "both"])
def test_images_of_typical_rows_are_in_the_report(cohirf, docs, kind):
    from PIL import Image

    Image.new("RGB", (300, 200), "red").save("red.png")
    content = Path("red.png").read_bytes()
    cell = {"bytes": content, "path": "red.png", "both": {"bytes": content, "path": None}}[kind]
    pq.write_table(docs.append_column("image", pa.array([cell] * 399 + [None])), "images.parquet")
    command = ("fit", "images.parquet", "--vectors", "v", "--clusters", "4", "--images", "image")
    assert cohirf(*command, "--text", "id", "--report", "topics.html").code == 0
    shown = (
        Path("topics.html").read_text(encoding="utf-8").count('<img src="data:image/jpeg;base64,')
    )
    assert 11 <= shown <= 12
    assert "--images needs --text: give a column of texts" in cohirf(*command).err
    assert "no such column" in cohirf(*command[:-1], "imag", "--text", "id").err


def test_hostile_texts_do_no_harm_to_the_terminal_the_files_and_the_page(cohirf, docs):
    texts = pa.array([HOSTILE[row % 5] for row in range(400)])
    pq.write_table(docs.set_column(1, "body", texts), "hostile.parquet")
    command = (
        "fit",
        "hostile.parquet",
        "--vectors",
        "v",
        "--text",
        "body",
        "--clusters",
        "4,2",
        "--force",
    )
    shown = cohirf(*command, "--report", "topics.html", "--out", "labels.csv")
    assert shown.code == 0, shown.err
    said = shown.out + shown.err
    assert all(letter.isprintable() or letter == "\n" for letter in said)
    assert max(map(len, said.splitlines())) < 500
    assert all(len(name) < 500 for name in json.loads(cohirf(*command, "--json").out)["names"])
    assert pd.read_csv("labels.csv").shape == (400, 2)
    page = Path("topics.html").read_text(encoding="utf-8")
    assert len(page) < 100_000
    assert page.count("<script") == page.count("</script>") == 1
    assert "<img" not in page
    assert (
        cohirf("curate", "hostile.parquet", "--deduplicate", "0.999", "--out", "kept.parquet").code
        == 0
    )
    assert pq.read_table("kept.parquet")["body"].to_pylist() == texts.to_pylist()[:390]


def test_a_column_that_is_not_there_or_has_no_vectors_is_refused(cohirf, docs):
    for column, message in (
        ("w", "no such column: it has 'id', 'body'"),
        ("body", "this column of docs.parquet has type string"),
    ):
        outcome = cohirf("fit", "docs.parquet", "--vectors", column, "--clusters", "2")
        assert outcome.code == 2
        assert message in outcome.err
    assert "no such column" in cohirf("fit", "docs.parquet", "--vectors", "v", "--text", "w").err
    assert (
        "--clusters 'x' is not valid"
        in cohirf("fit", "docs.parquet", "--vectors", "v", "--clusters", "3,x").err
    )


def test_curate_leaves_out_near_duplicates_and_draws_an_even_sample(cohirf, docs):
    outcome = cohirf(
        "curate", "docs.parquet", "--deduplicate", "0.999", "--out", "kept.parquet", "--json"
    )
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert (document["kept"], document["near_duplicates"]) == (390, 10)
    assert document["removed"][0]["row"] == 390
    assert document["removed"][0]["kept"] == 0
    assert pq.read_table("kept.parquet").equals(docs.slice(0, 390))
    assert (
        "exists: give another name"
        in cohirf("curate", "docs.parquet", "--sample", "5", "--out", "kept.parquet").err
    )
    outcome = cohirf(
        "curate", "docs.parquet", "--deduplicate", "0.999", "--sample", "40", "--out", "kept.npy"
    )
    assert "kept             40" in outcome.out
    kinds = np.asarray(docs["kind"])[np.load("kept.npy")]
    assert np.unique(kinds, return_counts=True)[1].min() >= 5


def test_curate_tells_of_rows_that_are_equal_to_a_removed_row(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("vectors.npy", np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1], [1.0, 0.1]]))
    document = json.loads(cohirf("curate", "vectors.npy", "--deduplicate", "0.9", "--json").out)
    assert [
        (one["row"], one["kept"], round(one["similarity"], 3)) for one in document["removed"]
    ] == [
        (2, 0, 0.995),
        (3, 0, 0.995),
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "curate needs something to do: give --deduplicate 0.95"),
        (["--sample", "5", "--out", "docs.parquet"], "--out docs.parquet is the data itself"),
        (["--sample", "5", "--out", "kept.txt"], "--out kept.txt: the kind of file is not known"),
        (["--deduplicate", "x"], "--deduplicate 'x'"),
        (["--sample", "5", "--vectors", "kind"], "this column of docs.parquet has type string"),
    ],
)
def test_bad_options_of_curate_are_refused(cohirf, docs, arguments, message):
    outcome = cohirf("curate", "docs.parquet", *arguments)
    assert outcome.code == 2
    assert message in outcome.err


def test_curate_asks_for_a_column_of_vectors_if_it_is_not_clear(cohirf, docs):
    pq.write_table(docs.drop_columns("v"), "none.parquet")
    assert (
        "it has none of lists of numbers: give --vectors NAME"
        in cohirf("curate", "none.parquet", "--sample", "5").err
    )
    np.save("rows.npy", np.random.default_rng(0).normal(size=(60, 4)))
    assert cohirf("curate", "rows.npy", "--sample", "5", "--out", "kept.npy").code == 0
    assert len(np.load("kept.npy")) == 5
    assert (
        "give a name that ends in .npy"
        in cohirf("curate", "rows.npy", "--sample", "5", "--out", "k.parquet").err
    )


def test_a_number_that_is_missing_in_a_vector_is_named_with_a_remedy_that_helps(
    cohirf, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    vectors = np.random.default_rng(0).normal(size=(50, 4))
    vectors[3, 1] = np.nan
    pd.DataFrame({"v": list(vectors), "words": "some words"}).to_parquet("docs.parquet")
    assert cohirf("fit", "docs.parquet", "--vectors", "v", "--quiet").err == (
        "cohirf: docs.parquet: the vector in row 3 of column 'v' has a number that is missing or "
        "infinite: give vectors of one length, of numbers only, or leave the row out.\n"
    )
    said = cohirf("fit", "docs.parquet", "--vectors", "words").err
    assert (
        "give a column of lists of numbers, all of one length, in a Parquet or Arrow file or a "
        "data frame" in said
    )


def test_branches_of_the_tree_of_topics_have_the_names_of_topics(cohirf, docs):
    given = ("--vectors", "v", "--text", "body", "--id-column", "id", "--clusters", "4")
    assert cohirf("fit", "docs.parquet", *given, "--model", "docs.cohirf", "--seed", "0").code == 0
    names = load("docs.cohirf").names_
    lines = cohirf("tree", "docs.cohirf").out.splitlines()[1:]
    branches = [line.partition("): ")[2] for line in lines if "cluster " not in line]
    assert len(branches) == 2
    assert all({*branch.split(" / ")} <= {*names.values()} for branch in branches)
    assert sorted(branch.count(" / ") + 1 for branch in branches) in ([2, 2], [2, 3])
