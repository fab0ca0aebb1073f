"""cohirf predict, cut, tree, report and info: what can be done with a model."""

import base64
import io
import json
import os
import re
import shutil
import sys
import tracemalloc
import xml.etree.ElementTree as ElementTree
import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import cohirf as package
from cohirf import CoHiRF, FusionHierarchy
from cohirf.app.cli import main
from cohirf.app.cli.summary import describe_sizes
from cohirf.app.preparation import Number
from cohirf.store.models import load_about

NUMBER = Number("a").to_json()
FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture(scope="module")
def fitted(iris):
    return CoHiRF(KMeans(3), random_state=0).fit(StandardScaler().fit_transform(iris[FEATURES]))


def test_predict_prepares_new_rows_as_those_of_the_fit(cohirf, model, iris, fitted):
    new = iris.sample(40, random_state=0)
    new[["species", *FEATURES[::-1], "id"]].to_csv("new.csv", index=False)  # in another order
    outcome = cohirf("predict", model, "new.csv", "--out", "labels.csv")
    assert outcome.code == 0
    labels = pd.read_csv("labels.csv")
    assert labels["id"].tolist() == new["id"].tolist()
    assert labels["cluster"].tolist() == fitted.labels_[new.index].tolist()
    index = adjusted_rand_score(new["species"], labels["cluster"])
    assert outcome.out == (
        "rows      40\n"
        "clusters  3 of 3\n"
        f"sizes     {', '.join(map(str, sorted(np.bincount(labels['cluster']), reverse=True)))}\n"
        f"ARI       {index:.3f}\n"
        "\n"
        "Written: labels.csv (labels)\n"
    )


def test_predict_needs_neither_names_of_rows_nor_classes(cohirf, model, iris, fitted):
    iris[FEATURES].to_parquet("new.parquet")
    outcome = cohirf("predict", model, "new.parquet", "--out", "labels.npy", "--json")
    assert np.load("labels.npy").tolist() == fitted.labels_.tolist()
    document = json.loads(outcome.out)
    assert document["rows"] == 150
    assert "ari" not in document


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda iris: iris.drop(columns="petal_width"),
            "new.parquet has no column 'petal_width', which the model was fitted on: give data "
            "that has all 4 columns of the fit.",
        ),
        (
            lambda iris: iris.assign(petal_width="wide"),
            "new.parquet: column 'petal_width' has 150 cells that are not a number: row 0: "
            "'wide', row 1: 'wide', row 2: 'wide', row 3: 'wide', row 4: 'wide' and 145 more; "
            "give data with columns of the same kind as in the training data.",
        ),
    ],
)
def test_predict_refuses_other_columns(cohirf, model, iris, change, message):
    change(iris).to_parquet("new.parquet")
    outcome = cohirf("predict", model, "new.parquet", "--out", "labels.csv")
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"cohirf: {message}\n")
    assert not Path("labels.csv").exists()


def test_predict_refuses_data_of_another_kind(cohirf, model, iris):
    np.save("new.npy", iris[FEATURES])
    assert cohirf("predict", model, "new.npy", "--out", "labels.csv").err == (
        "cohirf: new.npy has no column names, but the training data had column names: give data "
        "of the same kind.\n"
    )
    cohirf("fit", "new.npy", "--model", "other", "--quiet")
    assert cohirf("predict", "other", "iris.csv", "--out", "labels.csv").err == (
        "cohirf: iris.csv has column names, but the training data had none: give data of the same "
        "kind.\n"
    )


def test_a_model_that_python_saved_takes_its_columns_as_they_are(cohirf, folder, iris):
    X = iris[FEATURES]
    model = CoHiRF(KMeans(3), random_state=0).fit(X)
    model.save("named")
    cohirf("predict", "named", "iris.parquet", "--out", "labels.csv")
    assert pd.read_csv("labels.csv")["cluster"].tolist() == model.labels_.tolist()
    CoHiRF(KMeans(3), random_state=0).fit(X.to_numpy()).save("unnamed")
    np.save("new.npy", X)
    cohirf("predict", "unnamed", "new.npy", "--out", "labels.npy")
    assert np.load("labels.npy").tolist() == model.labels_.tolist()


def test_a_saved_model_says_how_its_data_was_prepared(cohirf, model, iris):
    content = load_about(model).preparation
    assert [
        column["name"] for column in content["columns"] if column["kind"] == "number"
    ] == FEATURES
    assert content["scaling"] == "standard"
    assert np.allclose(content["offset"], iris[FEATURES].mean())
    assert (content["label_column"], content["id_column"]) == ("species", "id")
    assert package.load(model).feature_names_in_.tolist() == FEATURES


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"version": 1}, "it has another format version: use the version of cohirf that wrote it"),
        ({"more": 1}, "it is not one that prepare has learned"),
        ({"columns": "abcd"}, "it is not one that prepare has learned"),
        ({"columns": [NUMBER | {"kind": "huge"}]}, "it is not one that prepare has learned"),
        ({"columns": [NUMBER]}, "it does not make the features of the model"),
        ({"scale": [1.0]}, "it does not make the features of the model"),
        ({"scale": ["x"]}, "it is not one that prepare has learned"),
    ],
)
def test_a_preparation_that_is_none_is_refused(cohirf, model, change, reason):
    package.load(model).save("other", preparation=load_about(model).preparation | change)
    outcome = cohirf("predict", "other", "iris.csv", "--out", "labels.csv")
    assert outcome.code == 2
    assert outcome.err.startswith(f"cohirf: other: its preparation cannot be used: {reason}")
    assert outcome.err.endswith(". Fit and save it again.\n")


def test_a_damaged_model_is_refused_by_name(cohirf, model):
    content = bytearray(model.read_bytes())
    content[-1] ^= 1
    model.write_bytes(content)
    outcome = cohirf("info", model)
    assert outcome.code == 2
    assert outcome.err == (
        f"cohirf: {model.name} cannot be used: its SHA-256 differs. Get an undamaged copy, use the "
        "version of cohirf that wrote it, or fit and save the model again.\n"
    )


# -- cut -----------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def deep_model(iris_files, tmp_path_factory):
    """A model of several levels, to be copied."""
    path = tmp_path_factory.mktemp("fitted") / "deep"
    apart = ("--id-column", "id", "--label-column", "species")
    assert main(["fit", str(iris_files / "iris.csv"), *apart, "--model", str(path), "--quiet"]) == 0
    return path


@pytest.fixture
def deep(folder, deep_model):
    """A model of several levels."""
    return Path(shutil.copy(deep_model, "deep")), package.load("deep").hierarchy_


def test_cut_gives_exactly_so_many_clusters(cohirf, deep):
    path, hierarchy = deep
    outcome = cohirf("cut", path, "--clusters", 7, "--out", "labels.csv")
    expected = hierarchy.cut(n_clusters=7)
    assert pd.read_csv("labels.csv")["cluster"].tolist() == expected.tolist()
    assert expected.max() == 6
    assert "clusters  7\n" in outcome.out
    assert outcome.out.endswith("Written: labels.csv (labels)\n")


def test_cut_prints_without_a_file(cohirf, deep):
    path, hierarchy = deep
    document = json.loads(cohirf("cut", path, "--clusters", 5, "--json").out)
    assert document["clusters"] == 5
    assert document["sizes"] == sorted(
        np.bincount(hierarchy.cut(n_clusters=5)).tolist(), reverse=True
    )
    assert cohirf("cut", path, "--clusters", 5).out.endswith(
        "Nothing was written: give --out labels.csv to keep the clusters.\n"
    )


def test_cut_keeps_the_names_of_rows_where_the_data_is_given(cohirf, deep, iris):
    path, hierarchy = deep
    cohirf("cut", path, "--clusters", 5, "--data", "iris.parquet", "--out", "labels.parquet")
    table = pd.read_parquet("labels.parquet")
    assert table["id"].tolist() == iris["id"].tolist()
    assert table["cluster"].tolist() == hierarchy.cut(n_clusters=5).tolist()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            "--clusters 149",
            "--clusters 149 is not available: pass a number from 1 to N, or that of a level (N).",
        ),
        (
            "--clusters 5 --out labels.csv --data short.csv",
            "The data has not the 150 rows of the fit: give the data of the fit.",
        ),
        (
            "--clusters 5 --out labels.csv --data unnamed.csv",
            "--id-column id: unnamed.csv has no such column: it has 'sepal_length', "
            "'sepal_width', 'petal_length', 'petal_width', 'species'.",
        ),
    ],
)
def test_cut_refuses(cohirf, deep, iris, arguments, message):
    iris[:10].to_csv("short.csv", index=False)
    iris.drop(columns="id").to_csv("unnamed.csv", index=False)
    outcome = cohirf("cut", "deep", *arguments.split())
    # the number of groups depends on rounding
    said = re.sub(r"from 1 to \d+", "from 1 to N", outcome.err)
    said = re.sub(r"level \(.+\)", "level (N)", said)
    assert (outcome.code, said) == (2, f"cohirf: {message}\n")
    assert not list(Path().glob("*labels*"))


def test_cut_says_that_a_model_has_no_names_of_rows(cohirf, folder, iris):
    CoHiRF(random_state=0, n_clusters=3).fit(iris[FEATURES]).save("m")
    assert cohirf("cut", "m", "--clusters", 2, "--data", "iris.csv", "--out", "labels.csv").err == (
        "cohirf: --data iris.csv: the model was fitted without names of rows: leave --data out.\n"
    )


def test_new_files_are_read_as_that_of_the_fit(cohirf, folder, iris):
    iris[FEATURES].to_csv("bare.csv", index=False, header=False, sep="|")
    options = (
        "--no-header",
        "--delimiter",
        "|",
        "--clusters",
        3,
        "--model",
        "bare",
        "--out",
        "fitted.csv",
        "--quiet",
    )
    assert cohirf("fit", "bare.csv", *options).code == 0
    assert cohirf("predict", "bare", "bare.csv", "--out", "labels.csv", "--quiet").code == 0
    assert Path("labels.csv").read_text(encoding="utf-8") == Path("fitted.csv").read_text(
        encoding="utf-8"
    )
    for command in (
        ("drift", "bare", "bare.csv"),
        ("report", "bare", "bare.csv", "--out", "page.html"),
    ):
        assert cohirf(*command).code == 0
    iris[FEATURES].set_axis([f"f{number}" for number in range(4)], axis=1).to_parquet(
        "bare.parquet"
    )
    assert cohirf("predict", "bare", "bare.parquet", "--out", "again.csv", "--quiet").code == 0


# -- tree ----------------------------------------------------------------------------------------------------------


def test_tree_writes_the_format_of_the_ending(cohirf, deep):
    path, hierarchy = deep
    for ending in ("npy", "csv", "nwk", "graphml", "json", "txt"):
        outcome = cohirf("tree", path, "--out", f"t.{ending}")
        assert (outcome.code, outcome.out) == (0, f"Written: t.{ending} (tree)\n")
    assert is_valid_linkage(np.load("t.npy"))
    assert Path("t.nwk").read_text(encoding="utf-8") == f"{hierarchy.to_newick()}\n"
    assert FusionHierarchy.from_json(Path("t.json").read_text(encoding="utf-8")) == hierarchy
    lines = Path("t.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0] == "left,right,height,rows"
    assert (np.loadtxt(lines[1:], delimiter=",") == hierarchy.to_linkage()).all()
    edges = ElementTree.parse("t.graphml").findall(".//{*}edge")
    assert len(edges) == (hierarchy.absorbed_at > 0).sum()
    assert Path("t.txt").read_text(encoding="utf-8") == cohirf("tree", path).out
    assert "exists" in cohirf("tree", path, "--out", "t.nwk").err


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_not_replaced(cohirf, deep):
    os.mkfifo("pipe.txt")
    outcome = cohirf("tree", deep[0], "--out", "pipe.txt", "--force")
    assert outcome.code == 2
    assert (
        outcome.err
        == "cohirf: --out pipe.txt exists and is not a regular file: give another name.\n"
    )
    assert Path("pipe.txt").is_fifo()


def test_tree_may_be_the_top_alone(cohirf, deep):
    path, hierarchy = deep
    assert cohirf("tree", path, "--out", "top.nwk", "--top", 12).code == 0
    assert (
        Path("top.nwk").read_text(encoding="utf-8")
        == f"{hierarchy.condense(max_clusters=12).to_newick()}\n"
    )


def test_a_tree_in_text_has_a_line_for_each_cluster_and_each_merge(cohirf, model):
    fitted = package.load(model)
    lines = cohirf("tree", model).out.splitlines()
    assert lines[0] == "150 rows"
    assert len(lines) == 2 * fitted.n_clusters_ - 1
    assert [
        sum(f"cluster {cluster}, " in line for line in lines)
        for cluster in range(fitted.n_clusters_)
    ] == [1] * fitted.n_clusters_
    assert any("petal" in line for line in lines)


def test_a_tree_in_text_is_of_bounded_height(cohirf, tmp_path):
    X = np.random.default_rng(0).normal(size=(300, 3))
    CoHiRF(n_clusters=60, views=2, random_state=0).fit(X).save(tmp_path / "many")
    assert len(cohirf("tree", tmp_path / "many").out.splitlines()) == 2 * 30 - 1
    assert len(cohirf("tree", tmp_path / "many", "--top", 5).out.splitlines()) == 2 * 5 - 1


def test_a_tree_in_text_can_be_a_file(cohirf, model):
    assert cohirf("tree", model, "--out", "tree.txt").out == "Written: tree.txt (tree)\n"
    assert Path("tree.txt").read_text(encoding="utf-8") == cohirf("tree", model).out


def test_a_tree_can_be_printed_where_lines_cannot_be_drawn(model, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    monkeypatch.setattr(sys, "stdout", stream)
    assert main(["tree", str(model)]) == 0
    stream.flush()
    assert b"|- " in stream.buffer.getvalue()


# -- report and info


def content_of(page):
    """Return the data in a report."""
    packed = re.search(r'id="report-data">(.*?)</script>', page, re.DOTALL)[1]
    return json.loads(zlib.decompress(base64.b64decode(packed)))


def test_report_of_a_saved_model(cohirf, model):
    outcome = cohirf("report", model, "iris.parquet", "--out", "report.html")
    assert (outcome.code, outcome.out) == (0, "Written: report.html (report)\n")
    page = Path("report.html").read_text(encoding="utf-8")
    assert "cohirf fit" in page
    assert "cohirf report" not in page
    summary = content_of(page)
    assert "versicolor" in summary["points"]["class"]["names"]
    assert "petal_length" in [column["name"] for column in summary["columns"]]


def test_report_refuses_other_data(cohirf, model, iris):
    iris[:-1].to_csv("short.csv", index=False)
    outcome = cohirf("report", model, "short.csv", "--out", "report.html")
    assert (outcome.code, outcome.err) == (
        2,
        "cohirf: X has 149 rows, but the model was fitted on 150: pass the data of the fit.\n",
    )


def test_info_of_a_model(cohirf, model):
    outcome = cohirf("info", model)
    lines = [line.split(maxsplit=1) for line in outcome.out.splitlines()]
    assert lines[:2] == [["base", "method            KMeans(n_clusters=3)"], ["random_state", "0"]]
    assert "column 'species'       label: left out: has the known classes\n" in outcome.out
    assert "\nlevel 1: 150 -> " in outcome.out
    assert "Would KMeans alone do better? " in outcome.out
    document = json.loads(cohirf("info", model, "--json").out)
    assert document["diagnosis"]["line"][:50] in outcome.out
    assert {"question", "answer", "reason"} < set(document["diagnosis"]["findings"][0])
    assert [column["name"] for column in document["preparation"]["columns"]][1:5] == FEATURES
    assert document["rows"] == 150


def test_info_of_a_model_names_its_clusters_as_the_fit_did(cohirf, folder, apart):
    fitted = cohirf("fit", "iris.csv", *apart, "--clusters", 3, "--model", "named")
    table = fitted.out.partition("\n\n")[0].splitlines()
    assert table[0].split() == ["cluster", "rows", "share", "central", "row", "name"]
    assert len(table) == 4
    outcome = cohirf("info", "named")
    assert "\n".join(table) in outcome.out
    names = json.loads(cohirf("info", "named", "--json").out)["names"]
    assert all(line.endswith(name) for line, name in zip(table[1:], names, strict=True))


def test_info_of_a_table(cohirf, folder, iris):
    iris.assign(petal_width=iris["petal_width"].where(iris.index > 9)).to_parquet("holes.parquet")
    outcome = cohirf("info", "holes.parquet")
    lines = [line.split() for line in outcome.out.splitlines()]
    assert outcome.out.startswith("holes.parquet: 150 rows, 6 columns\n")
    assert lines[1] == ["column", "kind", "missing", "distinct", "min", "mean", "max"]
    assert lines[2] == ["id", "id", "0", "150", "-", "-", "-"]
    assert lines[3] == ["sepal_length", "number", "0", "35", "4.3", "5.84333", "7.9"]
    assert lines[6][:4] == ["petal_width", "number", "10", str(iris["petal_width"][10:].nunique())]
    assert lines[7] == ["species", "category", "0", "3", "-", "-", "-"]
    assert "id: left out: 150 different values in 150 rows\n" in outcome.out
    document = json.loads(cohirf("info", "holes.parquet", "--json").out)
    assert [column["name"] for column in document["columns"]] == list(iris.columns)


def test_info_tells_of_infinite_values(cohirf, folder):
    np.save("inf.npy", np.array([[1.0, -np.inf], [3.0, 2.0]]))
    columns = json.loads(cohirf("info", "inf.npy", "--json").out)["columns"]
    assert [column["unreadable"] for column in columns] == [0, 1]
    assert columns[1]["min"] == columns[1]["max"] == 2.0
    assert cohirf("info", "inf.npy").out.splitlines()[-1] == (
        "1: has 1 cell that is not a number: row 0: '-inf'"
    )
    assert "infinite" in cohirf("fit", "inf.npy").err


def test_info_of_a_checkpoint_is_refused(cohirf, folder, apart):
    cohirf("fit", "iris.csv", *apart, "--checkpoint", "ck", "--quiet")
    assert cohirf("info", "ck").err == (
        "cohirf: ck is a folder without data: give a folder of Parquet, Arrow or CSV files, or a Zarr array.\n"
    )


def test_info_of_an_array_and_of_text_alone(cohirf, folder, iris):
    np.save("wide.npy", np.arange(60.0).reshape(2, 30))
    out = cohirf("info", "wide.npy").out
    assert out.startswith("wide.npy: 2 rows, 30 columns\n")
    assert "... 11 more" in out
    iris[["id", "species"]].to_csv("text.csv", index=False)
    assert cohirf("info", "text.csv").out.startswith("text.csv: 150 rows, 2 columns\n")
    iris.assign(none=np.nan)[["none", "id"]].to_csv("none.csv", index=False)
    assert cohirf("info", "none.csv").out.splitlines()[2].split() == [
        "none",
        "empty",
        "150",
        "0",
        "-",
        "-",
        "-",
    ]


def test_cut_and_info_of_a_model_of_noise(cohirf, folder, apart):
    options = ("--estimator", "dbscan", "--param", "eps=0.001", "--model", "noise", "--quiet")
    assert cohirf("fit", "iris.csv", *apart, *options).code == 0
    outcome = cohirf("cut", "noise", "--clusters", 2)
    assert (outcome.code, outcome.err) == (
        2,
        "cohirf: --clusters 2 is not available: every row is noise, so there are no clusters to "
        "merge. Change the parameters of the fit so that it finds clusters.\n",
    )
    assert "in no cluster  150 rows\n" in cohirf("info", "noise").out


def test_info_of_a_reduced_model_says_what_cannot_be_known(cohirf, folder, apart):
    assert (
        cohirf("fit", "iris.csv", *apart, "--clusters", 3, "--model", "whole", "--quiet").code == 0
    )
    package.merge([package.load("whole")], exemplars_only=True).save("reduced")
    outcome = cohirf("info", "reduced")
    assert outcome.code == 0, outcome.err
    assert (
        "that the model keeps. A merge with exemplars_only=True keeps only exemplars: diagnose"
        in outcome.out
    )


def test_large_numbers_of_clusters_take_no_memory():
    labels = np.array([2**30, 7, -1, 7])
    tracemalloc.start()
    found = describe_sizes(labels)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found == {"rows": 4, "clusters": 2, "rows_in_no_cluster": 1, "sizes": [2, 1]}
    assert peak < 10**6
