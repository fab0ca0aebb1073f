"""cohirf fit, end to end."""

import base64
import json
import os
import re
import subprocess
import sys
import warnings
import zlib
from importlib import metadata
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import MinMaxScaler, StandardScaler
from test_sources import PATHS

import cohirf as package
from cohirf import CoHiRF, open_source, progress
from cohirf.app.cli import main
from cohirf.app.cli.options import settle_parameters
from cohirf.app.cli.policy import DEFAULT
from cohirf.app.preparation import prepare
from cohirf.app.preparation.policy import SCALE

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


def data_of(page):
    """Return the data of a report as text."""
    packed = re.search(r'id="report-data"[^>]*>([^<]*)<', page).group(1)
    return zlib.decompress(base64.b64decode(packed)).decode()


def expected_labels(X, base=None, **parameters):
    with warnings.catch_warnings(action="ignore"):  # batches of iris are thin
        return CoHiRF(base, random_state=0, **parameters).fit(X).labels_


# Where it does not matter which clusters are found, one view and one way to merge them are enough.
QUICK = ("--clusters", 3, "--views", 1, "--merge", "compact")


def read_labels(path="labels.csv"):
    return pd.read_csv(path)["cluster"].to_numpy()


def test_a_bare_fit_says_what_it_chose_and_what_came_out(cohirf, folder, iris):
    iris[FEATURES].to_csv("plain.csv", index=False)
    outcome = cohirf("fit", "plain.csv")
    labels = expected_labels(StandardScaler().fit_transform(iris[FEATURES]))
    assert outcome.code == 0
    lines = outcome.err.splitlines()
    assert lines[:2] == [
        "plain.csv: 150 rows, 4 features",
        "chosen: --clusters auto --scale standard --seed 0",
    ]
    assert re.match(r"level 1: 150 -> \d+ rows in 1 batch, 5 of 5 views kept, agr", lines[2])
    assert re.match(
        r"\d+ clusters fit best, with a silhouette of \d\.\d+; .* The clusters are (compact|connected|merged)",
        lines[3],
    )
    assert len(lines) == 4
    sizes = np.bincount(labels)
    table, facts, *_ = outcome.out.split("\n\n")
    heading, *rows = (re.split(r"  +", line) for line in table.splitlines())
    assert heading == ["cluster", "rows", "share", "central row", "name"]
    assert {int(row[0]): int(row[1]) for row in rows} == dict(enumerate(sizes.tolist()))
    assert "petal" in rows[0][4]
    assert re.search(r"^time +[\d.]+ s$", facts, re.MULTILINE)
    assert "peak memory" in facts
    assert "rows out" not in outcome.out  # levels were told while they ran
    assert outcome.out.splitlines()[-2].startswith(
        f"{len(sizes)} clusters in 150 rows. {sizes.max()} rows ("
    )
    assert outcome.out.splitlines()[-1] == (
        "Nothing was written: give --out labels.csv to keep the clusters, --model model.cohirf to "
        "predict and cut later, --report report.html to see a report."
    )
    assert sorted(path.name for path in folder.iterdir()) == [
        "iris.csv",
        "iris.parquet",
        "plain.csv",
    ]


def test_a_fit_says_how_clusters_merged_and_can_be_told_how(cohirf, folder):
    X, _ = make_moons(400, noise=0.05, random_state=0)
    np.save("moons.npy", X)
    command = ("fit", "moons.npy", "--clusters", 2, "--scale", "none")
    line = r"^{}: [\d.]+% of near neighbours are in another cluster \(compact [\d.]+%, graph [\d.]+%\)\.$"
    for options, said in (
        ((), "The clusters are connected"),
        (("--merge", "connected"), "The clusters are connected, as asked for"),
    ):
        outcome = cohirf(*command, *options, "--out", "labels.npy", "--force")
        assert re.search(line.format(said), outcome.err, re.MULTILINE)
        assert (np.load("labels.npy") == expected_labels(X, n_clusters=2, merge="connected")).all()
    assert cohirf(*command, "--merge", "compact", "--out", "labels.npy", "--force").code == 0
    assert (np.load("labels.npy") == expected_labels(X, n_clusters=2, merge="compact")).all()


def test_documents_and_info_have_the_choice_in_words(cohirf, folder, apart):
    outcome = cohirf("fit", "iris.csv", *apart, "--clusters", 3, "--model", "model", "--json")
    choice = json.loads(outcome.out)["choice"]
    assert choice.startswith("The clusters are ")
    assert json.loads(cohirf("info", "model", "--json").out)["choice"] == choice
    assert choice in cohirf("info", "model").out.replace("\n", " ")
    of_density = cohirf("fit", "iris.csv", *apart, "--estimator", "dbscan", "--json")
    assert json.loads(of_density.out)["choice"] is None


def test_what_it_chose_can_be_given(cohirf, folder, iris):
    iris[FEATURES].to_csv("plain.csv", index=False)
    chosen = (
        cohirf("fit", "plain.csv", "--out", "a.csv").err.partition("chosen: ")[2].splitlines()[0]
    )
    cohirf("fit", "plain.csv", *chosen.split(), "--out", "b.csv")
    assert Path("a.csv").read_text(encoding="utf-8") == Path("b.csv").read_text(encoding="utf-8")


def test_all_options_of_a_fit_work_together(cohirf, folder, iris):
    command = (
        "fit iris.parquet --estimator dbscan --param eps=0.8 --param min_samples=5 --views 5 "
        "--max-features 0.5 --batch-size 100 --checkpoint ck/ --label-column "
        "species --id-column id --scale standard --out labels.parquet --model model.cohirf "
        "--report report.html --n-jobs 2 --seed 0"
    )
    outcome = cohirf(*command.split())
    assert outcome.code == 0
    X = StandardScaler().fit_transform(iris[FEATURES])
    options = {"views": 5, "max_features": 0.5, "batch_size": 100}
    labels = expected_labels(X, DBSCAN(eps=0.8, min_samples=5), **options)
    table = pq.read_table("labels.parquet")
    assert table.column_names == ["id", "cluster"]
    assert table["id"].to_pylist() == iris["id"].tolist()
    assert table["cluster"].to_pylist() == labels.tolist()
    assert re.search(
        rf"^ARI +{adjusted_rand_score(iris['species'], labels):.3f}$", outcome.out, re.MULTILINE
    )
    assert outcome.out.endswith(
        "Written: labels.parquet (labels), model.cohirf (model), report.html (report)\n"
    )
    assert (package.load("model.cohirf").labels_ == labels).all()
    page = Path("report.html").read_text(encoding="utf-8")
    assert f"cohirf {command}" in page
    assert "setosa" in data_of(page)
    assert sorted(path.name for path in Path("ck").iterdir()) == ["journal", "lock"]


@pytest.mark.parametrize("scale", ["standard", "minmax", "none"])
def test_scaling_is_scikit_learns(cohirf, folder, iris, apart, scale):
    cohirf(
        "fit",
        "iris.parquet",
        *apart,
        "--scale",
        scale,
        "--param",
        "n_clusters=3",
        "--out",
        "labels.csv",
    )
    scaler = {"standard": StandardScaler(), "minmax": MinMaxScaler(), "none": None}[scale]
    X = iris[FEATURES].to_numpy()
    labels = expected_labels(X if scaler is None else scaler.fit_transform(X), KMeans(3))
    assert (read_labels() == labels).all()


def test_data_is_left_as_it_is_for_a_base_method_of_the_users(cohirf, folder, iris, apart):
    outcome = cohirf(
        "fit", "iris.csv", *apart, "--estimator", "dbscan", "--views", 1, "--out", "labels.csv"
    )
    assert "chosen: --scale none --seed 0\n" in outcome.err
    assert (read_labels() == expected_labels(iris[FEATURES].to_numpy(), DBSCAN(), views=1)).all()


@pytest.mark.parametrize(
    ("kind", "scale"), [*((kind, "standard") for kind in PATHS), ("Arrow", "none")]
)
def test_every_format_gives_the_same_clusters(cohirf, folder, iris, kind, scale):
    X = iris[FEATURES].to_numpy()
    data = PATHS[kind].store(X, folder)
    options = ("--scale", scale, "--views", 2, "--clusters", 3, "--out", "labels.npy", "--quiet")
    outcome = cohirf("fit", data, *options)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    X = X if scale == "none" else StandardScaler().fit_transform(X)
    labels = np.load("labels.npy")
    assert labels.dtype == np.int64
    assert adjusted_rand_score(labels, expected_labels(X, views=2, n_clusters=3)) == 1


def test_outputs_agree_and_keep_order_and_names(cohirf, folder, iris, apart):
    shuffled = iris.sample(frac=1, random_state=0)
    shuffled.to_parquet("shuffled.parquet")
    for name in ("labels.parquet", "labels.csv"):
        assert cohirf("fit", "shuffled.parquet", *apart, *QUICK, "--out", name).code == 0
    dropped = ("--drop", "id", "--drop", "species")
    assert cohirf("fit", "shuffled.parquet", *dropped, *QUICK, "--out", "labels.npy").code == 0
    tables = pd.read_parquet("labels.parquet"), pd.read_csv("labels.csv")
    for table in tables:
        assert table["id"].tolist() == shuffled["id"].tolist()
        assert table["cluster"].tolist() == np.load("labels.npy").tolist()


@pytest.mark.parametrize("name", ["iris.arrow", "iris.feather"])
def test_columns_are_kept_apart_in_arrow_files(cohirf, folder, iris, name, apart):
    table = pa.Table.from_pandas(iris, preserve_index=False)
    if name == "iris.arrow":
        with pa.OSFile(name, "wb") as sink, pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=40)
    else:
        pyarrow.feather.write_feather(table, name, chunksize=40)
    outcome = cohirf("fit", name, *apart, *QUICK, "--out", "labels.csv")
    labels = pd.read_csv("labels.csv")
    assert labels["id"].tolist() == iris["id"].tolist()
    assert (
        f"ARI          {adjusted_rand_score(iris['species'], labels['cluster']):.3f}\n"
        in outcome.out
    )


def test_names_of_rows_in_csv_stay_as_they_are_written(cohirf, folder, iris):
    names = [f"00{number}" for number in range(148)] + ["9007199254740993", "7"]
    iris.assign(id=names).to_csv("zeros.csv", index=False)
    cohirf(
        "fit", "zeros.csv", "--id-column", "id", "--drop", "species", *QUICK, "--out", "labels.csv"
    )
    assert pd.read_csv("labels.csv", dtype=str)["id"].tolist() == names


def test_numbers_name_rows_as_well(cohirf, folder, iris):
    np.save(
        "numbered.npy",
        np.column_stack([np.arange(150) * 10, iris[FEATURES], iris["species"].factorize()[0]]),
    )
    options = ("--id-column", 0, "--label-column", 5, "--clusters", 3)
    outcome = cohirf("fit", "numbered.npy", *options, "--out", "labels.parquet")
    table = pd.read_parquet("labels.parquet")
    assert table["0"].tolist() == list(range(0, 1500, 10))
    labels = expected_labels(StandardScaler().fit_transform(iris[FEATURES]), n_clusters=3)
    assert table["cluster"].tolist() == labels.tolist()
    assert f"ARI          {adjusted_rand_score(iris['species'], labels):.3f}\n" in outcome.out


def test_a_file_without_header_is_read_when_asked(cohirf, folder, iris):
    iris[FEATURES].to_csv("bare.csv", index=False, header=False, sep=";")
    options = ("--no-header", "--delimiter", ";", "--clusters", 3)
    assert cohirf("fit", "bare.csv", *options, "--out", "labels.csv").code == 0
    assert (
        read_labels()
        == expected_labels(StandardScaler().fit_transform(iris[FEATURES]), n_clusters=3)
    ).all()


def test_large_data_is_read_from_disk_in_batches(cohirf, folder, iris, monkeypatch):
    monkeypatch.setitem(vars(SCALE), "in_memory_bytes", 1000)
    options = ("--param", "n_clusters=3", "--views", 2, "--batch-size", 40)
    assert (
        cohirf(
            "fit",
            "iris.parquet",
            "--drop",
            "id",
            "--drop",
            "species",
            *options,
            "--out",
            "labels.csv",
        ).code
        == 0
    )
    # scaled row by row, as the program does: rounding decides on ties
    rows = np.ascontiguousarray(iris[FEATURES])
    source = open_source(StandardScaler().fit_transform(rows))
    assert (read_labels() == expected_labels(source, KMeans(3), views=2, batch_size=40)).all()


def test_batches_of_dbscan_are_local(cohirf, folder, iris):
    options = ("--estimator", "dbscan", "--param", "eps=0.5", "--scale", "none", "--batch-size", 40)
    assert (
        cohirf(
            "fit",
            "iris.csv",
            "--drop",
            "id",
            "--drop",
            "species",
            *options,
            "--out",
            "labels.csv",
        ).code
        == 0
    )
    same = expected_labels(iris[FEATURES], DBSCAN(eps=0.5), batch_size=40)
    assert (read_labels() == same).all()


@pytest.mark.parametrize(
    ("estimator", "n_bytes", "batched"),
    [(None, 0, False), (KMeans(), 0, False), (DBSCAN(), 0, True), (None, 2**30, True)],
)
def test_what_fits_into_memory_is_one_batch_if_its_time_grows_with_the_rows(
    estimator, n_bytes, batched
):
    settled = settle_parameters({}, 10**6, n_bytes, estimator)
    assert ("batch_size" in settled) == batched


@pytest.mark.slow
def test_from_many_rows_on_the_batch_size_is_measured(cohirf, folder, iris, monkeypatch):
    monkeypatch.setitem(vars(DEFAULT), "batched_rows", 100)
    monkeypatch.setitem(vars(DEFAULT), "batched_bytes", 1000)
    outcome = cohirf("fit", "iris.csv", "--drop", "id", "--drop", "species")
    assert "chosen: --clusters auto --scale standard --seed 0 --batch-size auto\n" in outcome.err
    assert "--batch-size 150: one batch" in outcome.err
    assert (
        "--batch-size"
        not in cohirf(
            "fit", "iris.csv", "--drop", "id", "--drop", "species", "--batch-size", "none"
        ).err
    )


def test_a_document_for_programs(cohirf, folder, iris, apart):
    outcome = cohirf(
        "fit",
        "iris.csv",
        *apart,
        "--views",
        1,
        "--json",
        "--out",
        "labels.csv",
        "--clusters",
        9,
        "--min-cluster-size",
        20,
    )
    assert outcome.out.count("\n") == 1
    document = json.loads(outcome.out)
    labels = read_labels()
    assert document["rows"] == 150
    assert document["features"] == 4
    assert document["clusters"] == labels.max() + 1
    assert document["sizes"] == sorted(np.bincount(labels[labels >= 0]).tolist(), reverse=True)
    assert document["rows_in_no_cluster"] == (labels < 0).sum() > 0
    assert document["ari"] == pytest.approx(adjusted_rand_score(iris["species"], labels))
    assert document["written"] == {"labels": "labels.csv"}
    assert document["levels"][0]["rows_in"] == 150
    assert {level["agreement"] for level in document["levels"]} == {None}
    assert document["peak_bytes"] > 10**7
    assert "level 1: 150 -> " in outcome.err


def test_rows_in_no_cluster_are_counted(cohirf, folder, apart):
    out = cohirf("fit", "iris.csv", *apart, "--clusters", 9, "--min-cluster-size", 20).out
    assert re.search(
        r"^\d clusters? in 150 rows; \d+% of the rows are noise, in no cluster\. ",
        out,
        re.MULTILINE,
    )


def test_a_quiet_fit_prints_nothing(cohirf, folder, apart):
    outcome = cohirf("fit", "iris.csv", *apart, "--quiet", "--batch-size", 30, *QUICK)
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")
    outcome = cohirf("fit", "iris.csv", *apart, "--quiet", "--json", *QUICK)
    assert outcome.err == ""
    assert json.loads(outcome.out)["rows"] == 150


def test_warnings_are_lines_in_words_of_options(cohirf, folder, apart, iris):
    iris.assign(depth=np.where(iris.index % 50 == 7, -999, iris["sepal_width"])).to_csv(
        "deep.csv", index=False
    )
    outcome = cohirf("fit", "deep.csv", *apart, *QUICK, "--json")
    warning = (
        "deep.csv: column 'depth' has 3 cells of -999, far from all others: if these are missing, "
        "give --as depth=number:-999; they are taken as numbers."
    )
    assert f"warning: {warning}\n" in outcome.err
    assert json.loads(outcome.out)["warnings"] == [warning]


def test_labels_that_are_missing_are_left_out_of_the_comparison(cohirf, folder, iris):
    iris.assign(species=iris["species"].where(iris.index % 3 > 0)).to_csv("part.csv", index=False)
    options = ("--drop", "id", "--label-column", "species", *QUICK, "--out", "labels.csv")
    outcome = cohirf("fit", "part.csv", *options, "--report", "report.html")
    known = iris.index % 3 > 0
    index = adjusted_rand_score(iris["species"][known], read_labels()[known])
    assert f"ARI          {index:.3f} over 100 rows\n" in outcome.out
    assert "missing" in data_of(Path("report.html").read_text(encoding="utf-8"))


def test_without_any_label_there_is_no_comparison(cohirf, folder, iris):
    iris.assign(species=np.nan).to_csv("none.csv", index=False)
    outcome = cohirf("fit", "none.csv", "--drop", "id", "--label-column", "species", *QUICK)
    assert "ARI          no row has a class\n" in outcome.out


def test_an_index_of_pandas_is_no_feature(cohirf, folder, iris):
    iris.set_index("id").drop(columns="species").to_parquet("indexed.parquet")
    assert "indexed.parquet: 150 rows, 4 features\n" in cohirf("fit", "indexed.parquet", *QUICK).err
    cohirf("fit", "indexed.parquet", "--id-column", "id", *QUICK, "--out", "labels.csv")
    assert pd.read_csv("labels.csv")["id"].tolist() == iris["id"].tolist()


def texts(column):
    """Return the values of a column as text, and None where one is missing: pandas 2 and 3 mark
    these differently.
    """
    return [
        None if missing else str(value)
        for missing, value in zip(column.isna(), column, strict=True)
    ]


@pytest.mark.parametrize("out", ["labels.parquet", "labels.csv"])
def test_names_of_rows_may_be_missing_and_of_any_type(cohirf, folder, iris, out):
    names = {
        "text": [None] * 60 + [f"n{i}" for i in range(90)],
        "category": pd.Categorical(["a", "b", None] * 50),
        "date": pd.date_range("2026-01-01", periods=150),
        "number": np.arange(150) * 1.5,
    }
    for kind, ids in names.items():
        table = pa.Table.from_pandas(iris[FEATURES].assign(name=ids), preserve_index=False)
        pq.write_table(table, "named.parquet", row_group_size=50)
        outcome = cohirf(
            "fit",
            "named.parquet",
            "--id-column",
            "name",
            "--out",
            out,
            *QUICK,
            "--force",
            "--quiet",
        )
        assert outcome.code == 0, outcome.err
        found = (
            pd.read_parquet(out)["name"] if out.endswith("parquet") else pd.read_csv(out)["name"]
        )
        found = pd.to_datetime(found) if kind == "date" else found
        assert texts(found) == texts(pd.Series(ids)), kind


def test_force_replaces_what_is_there(cohirf, folder, apart):
    Path("labels.csv").write_text("old", encoding="utf-8")
    Path("report.html").write_text("old", encoding="utf-8")
    options = (*QUICK, "--out", "labels.csv", "--model", "model", "--report", "report.html")
    assert cohirf("fit", "iris.csv", *apart, *QUICK, "--model", "model", "--quiet").code == 0
    assert cohirf("fit", "iris.csv", *apart, *options, "--force", "--seed", 1).code == 0
    assert read_labels().shape == (150,)
    assert package.load("model").random_state == 1
    assert "old" not in Path("report.html").read_text(encoding="utf-8")[:3]


def test_force_replaces_no_folder_that_is_no_model(cohirf, folder, apart):
    Path("mine").mkdir()
    Path("mine/precious.txt").write_text("x", encoding="utf-8")
    outcome = cohirf("fit", "iris.csv", *apart, "--model", "mine", "--force")
    assert outcome.code == 2
    assert (
        outcome.err == "cohirf: --model mine exists and is not a saved model: give another name.\n"
    )
    assert Path("mine/precious.txt").exists()


@pytest.mark.parametrize("name", ["dörte a\nb.csv", "-dash.csv", "[red]x\x1b[31m.csv"])
def test_odd_file_names_are_names(cohirf, folder, name, apart):
    Path("iris.csv").rename(name)
    outcome = cohirf(
        "fit", *apart, *QUICK, "--out", f"out {name}", "--report", f"{name}.html", "--", name
    )
    assert outcome.code == 0
    assert "\x1b" not in outcome.out + outcome.err
    assert len(pd.read_csv(f"out {name}")) == 150
    assert Path(f"{name}.html").exists()


@pytest.mark.skipif(sys.platform != "linux", reason="other systems refuse such names")
@pytest.mark.parametrize("kind", ["csv.gz", "parquet"])
def test_names_of_files_need_not_be_in_utf_8(cohirf, folder, iris, kind):
    source, out, page = (
        os.fsdecode(b"d\xf6rte." + end) for end in (kind.encode(), b"out.parquet", b"html")
    )
    if kind.startswith("csv"):
        iris.to_csv(f"plain.{kind}", index=False)
    else:
        getattr(iris, f"to_{kind}")(f"plain.{kind}")
    Path(f"plain.{kind}").rename(source)
    options = ("--id-column", "id", "--label-column", "species", *QUICK)
    outcome = cohirf("fit", source, *options, "--out", out, "--report", page, "--model", "model")
    assert outcome.code == 0, outcome.err
    with Path(out).open("rb") as file:
        assert pd.read_parquet(file)["id"].tolist() == iris["id"].tolist()
    assert Path(page).exists()
    assert cohirf("predict", "model", source, "--out", out, "--force").code == 0


def test_hostile_column_names_stay_text(cohirf, folder, iris):
    names = ["<script>alert(1)</script>", "x\x1b[2J", "[bold]b[/bold]", "d"]
    iris[FEATURES].set_axis(names, axis=1).to_parquet("hostile.parquet")
    outcome = cohirf(
        "fit", "hostile.parquet", *QUICK, "--report", "report.html", "--model", "model"
    )
    assert outcome.code == 0
    assert "<script>alert" not in Path("report.html").read_text(encoding="utf-8")
    described = cohirf("info", "hostile.parquet")
    assert "x\\x1b[2J" in described.out
    assert "\x1b" not in described.out
    assert package.load("model").feature_names_in_.tolist() == names


@pytest.mark.parametrize(
    ("name", "options", "least"),
    [
        pytest.param("shuttle", "--param n_clusters=2", 0.1, marks=pytest.mark.slow),
        pytest.param("pendigits", "", 0.5, marks=pytest.mark.slow),
    ],
)
def test_real_data(cohirf, folder, data_home, name, options, least):
    path = data_home / f"{name}.parquet"
    if not path.exists():
        pytest.skip(f"{path} is not there: set COHIRF_DATA to the folder of the data sets")
    options = (*options.split(), "--views", 2, "--clusters", 10, "--label-column", "label")
    outcome = cohirf("fit", path, *options, "--out", "labels.parquet", "--json")
    assert outcome.code == 0
    document = json.loads(outcome.out)
    assert document["ari"] > least
    y = pd.read_parquet(path)["label"]
    assert document["ari"] == pytest.approx(
        adjusted_rand_score(y, pd.read_parquet("labels.parquet")["cluster"])
    )


def test_the_installed_program_is_this_one():
    run = subprocess.run(
        [sys.executable, "-m", "cohirf", "--version"], capture_output=True, text=True, check=True
    )
    assert run.stdout == f"cohirf {package.__version__}\n"
    scripts = metadata.entry_points(group="console_scripts", name="cohirf")
    assert all(entry.load() is main for entry in scripts)


@pytest.mark.slow
def test_the_installed_program_fits(folder):  # as test_cli_stop.py does, until it is stopped
    command = "fit iris.csv --drop id --label-column species --clusters 3 --json"
    run = subprocess.run(
        [sys.executable, "-m", "cohirf", *command.split()],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(run.stdout)["rows"] == 150
    assert "\x1b" not in run.stderr


def test_the_document_has_the_names_and_the_headline(cohirf, folder, apart):
    document = json.loads(cohirf("fit", "iris.csv", *apart, *QUICK, "--json").out)
    assert len(document["names"]) == len(set(document["names"])) == 3
    assert document["sizes"] == sorted(document["sizes"], reverse=True)
    assert document["headline"].startswith(f"3 clusters in 150 rows. {document['sizes'][0]} rows (")


@pytest.fixture
def regions(folder):
    rng = np.random.default_rng(0)
    columns = {
        "region": np.repeat(["north", "south", "west"], 100),
        "a": rng.normal(size=300),
        "b": rng.normal(size=300),
    }
    pd.DataFrame(columns).to_csv("regions.csv", index=False)


def test_a_category_whose_levels_are_the_clusters_stays_and_the_way_without_it_is_offered(
    cohirf, regions
):
    outcome = cohirf("fit", "regions.csv", "--json")
    document = json.loads(outcome.out)
    assert "They are nearly the levels of region." in document["headline"]
    assert "To find groups in the other columns, leave region out." in document["headline"]
    assert "kinds of rows" not in document["headline"]
    assert (
        "The clusters say little more than region: give --drop region to cluster by the other "
        "columns." in outcome.err
    )
    assert document["columns"][0]["kind"] == "category"
    without = json.loads(cohirf("fit", "regions.csv", "--drop", "region", "--json").out)
    assert "region" not in without["headline"]


def test_a_column_that_clusters_follow_and_are_apart_without_stays(cohirf, folder):
    rng = np.random.default_rng(0)
    group = np.repeat([0, 1, 2], 60)
    apart = pd.DataFrame({"a": 20 * group + rng.normal(size=180), "b": rng.normal(size=180)})
    apart.assign(of_last=np.where(group == 2, "ja", "nein")).to_csv("apart.csv", index=False)
    outcome = cohirf("fit", "apart.csv", "--json")
    assert "Without of_last, they are clearly apart" in json.loads(outcome.out)["headline"]
    assert "--drop" not in outcome.err


def test_the_clusters_of_the_program_are_those_of_the_library_on_the_prepared_table(
    cohirf, regions
):
    cohirf("fit", "regions.csv", "--seed", 3, "--out", "labels.csv")
    prepared = prepare(Path("regions.csv"), scaling="standard")
    model = CoHiRF(n_clusters="auto", random_state=3).fit(prepared.array())
    assert pd.read_csv("labels.csv")["cluster"].tolist() == model.labels_.tolist()


def test_many_clusters_are_counted_below_the_largest(cohirf, folder, apart):
    out = cohirf("fit", "iris.csv", *apart, "--clusters", 20).out
    assert re.search(r"^\.\.\. +8 more$", out, re.MULTILINE)


def test_files_are_written_before_clusters_are_described(cohirf, folder, apart, monkeypatch):
    def fail(*_, **__):
        raise ValueError("no words")

    monkeypatch.setattr("cohirf.app.cli.fit.describe_clusters", fail)
    outcome = cohirf("fit", "iris.csv", *apart, *QUICK, "--out", "labels.csv", "--model", "model")
    assert "no words" in outcome.err
    assert (folder / "labels.csv").exists()
    assert (folder / "model").exists()


def test_a_large_file_is_announced_before_it_is_read(cohirf, folder, monkeypatch):
    monkeypatch.setitem(vars(DEFAULT), "progress_bytes", 1000)
    assert cohirf("fit", "iris.csv", "--label-column", "nothing").err.startswith(
        "reading iris.csv (0 MB)\n"
    )
    monkeypatch.setitem(vars(progress.POLICY), "log_seconds", 0.0)
    said = cohirf("fit", "iris.parquet", *QUICK).err
    assert "reading: 150 of 150 rows, looking at the cells, " in said
    assert "reading: 150 of 150 rows, computing means, " in said


@pytest.mark.parametrize("name", ["out.csv", "out.parquet"])
def test_the_columns_of_the_data_are_kept_beside_the_clusters(cohirf, regions, name):
    cohirf("fit", "regions.csv", *QUICK, "--out", name, "--keep")
    kept = pd.read_csv(name) if name.endswith("csv") else pd.read_parquet(name)
    given = pd.read_csv("regions.csv")
    assert kept.columns.tolist() == [*given.columns, "cluster"]
    assert kept["region"].tolist() == given["region"].tolist()
    np.testing.assert_array_equal(kept["a"].astype(float), given["a"])
    cohirf("fit", "regions.csv", *QUICK, "--out", "plain.csv")
    assert kept["cluster"].tolist() == pd.read_csv("plain.csv")["cluster"].tolist()


@pytest.mark.parametrize(
    ("data", "out", "said"),
    [
        ("regions.csv", "out.npy", "give --out with a .parquet or .csv file"),
        ("rows.npy", "out.csv", "is an array without column names: leave --keep out"),
        ("done.csv", "out.csv", "has a column 'cluster' already: rename it in the data"),
        ("cut.csv", "out.csv", "has a column 'cluster_2' already: rename it in the data"),
    ],
)
def test_what_cannot_be_kept_is_refused(cohirf, regions, data, out, said):
    np.save("rows.npy", np.random.default_rng(0).normal(size=(50, 2)))
    pd.read_csv("regions.csv").assign(cluster=1.5).to_csv("done.csv", index=False)
    pd.read_csv("regions.csv").assign(cluster_2=1.5).to_csv("cut.csv", index=False)
    outcome = cohirf("fit", data, "--clusters", 3, "--out", out, "--keep")
    assert outcome.code != 0
    assert said in " ".join(outcome.err.split())


def test_sizes_are_within_limits(cohirf, tmp_path):
    path = tmp_path / "rows.csv"
    X, _ = make_blobs([150, 30, 20], random_state=0)
    pd.DataFrame(X, columns=["a", "b"]).to_csv(path, index=False)
    labels = tmp_path / "labels.csv"
    limits = ("--min-size", "60", "--max-size", "0.35")
    model = tmp_path / "model.cohirf"
    outcome = cohirf("fit", path, "--clusters", 3, *limits, "--out", labels, "--model", model)
    assert outcome.code == 0
    outcome = cohirf("update", model, path)
    assert outcome.code == 2
    assert "cannot be updated" in outcome.err
    sizes = pd.read_csv(labels).iloc[:, -1].value_counts()
    assert sizes.between(60, 70).all()
    assert len(sizes) == 3
    outcome = cohirf("fit", path, "--clusters", 3, "--min-size", 80, "--force")
    assert outcome.code == 2
    assert "--min-size 80 is not possible: 3 clusters of at least 80 rows need 240" in outcome.err
    for size in ("0", "-1", "many"):
        outcome = cohirf("fit", path, "--clusters", 3, f"--max-size={size}", "--force")
        assert outcome.code == 2
        assert f"--max-size '{size}' is not valid: give a number above 0." in outcome.err


@pytest.fixture(scope="module")
def people(tmp_path_factory):
    path = tmp_path_factory.mktemp("people") / "people.csv"
    X = np.random.default_rng(0).normal(size=(90, 2)) + 5 * (np.arange(90) % 3)[:, None]
    table = pd.DataFrame(X, columns=["a", "b"])
    table.insert(0, "id", [f"p{row}" for row in range(90)])
    table.to_csv(path, index=False)
    return path


@pytest.mark.parametrize(
    ("lines", "options"),
    [
        ("first,second,link\n1,3,1\n0,6,-1\n", ()),
        ("1,3,together\n0,6,apart\n", ()),
        ("1,3,1\n0,6,-1\n", ()),
        ("p0,p6,Apart\np1,p3,Together\n", ("--id-column", "id")),
        ("first,second,link\np1,p3,1\np0,p6,-1\n", ("--id-column", "id")),
    ],
)
def test_links_of_a_table_are_kept(cohirf, people, tmp_path, lines, options):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(lines)
    out = tmp_path / "labels.csv"
    outcome = cohirf("fit", people, "--clusters", 3, "--links", pairs, "--out", out, *options)
    assert outcome.code == 0, outcome.err
    labels = pd.read_csv(out)["cluster"]
    assert labels[1] == labels[3]
    assert labels[0] != labels[6]


@pytest.mark.parametrize(
    ("lines", "options", "message"),
    [
        ("a,b\n1,2\n", (), "has 2 columns: give a table with three columns"),
        ("a,b,link\n1,x,1\n", (), "has cells that are no row numbers"),
        ("a,b,link\n1,2,maybe\n", (), "has the link 'maybe'"),
        ("a,b,link\n1,200,1\n", (), "the data has 90 rows"),
        ("a,b,link\np1,p200,1\n", ("--id-column", "id"), "has 'p200', which no row"),
        ("a,b,link\n1,2,1\n1,2,-1\n", (), "together by the links 1 - 2"),
        (
            "a,b,link\n1,2,1\n",
            ("--estimator", "dbscan"),
            "around DBSCAN the clusters are what",
        ),
    ],
)
def test_tables_that_are_no_links_are_refused(cohirf, people, tmp_path, lines, options, message):
    pairs = tmp_path / "pairs.csv"
    pairs.write_text(lines)
    outcome = cohirf("fit", people, "--clusters", 3, "--links", pairs, *options)
    assert outcome.code == 2
    assert message in outcome.err


def test_ids_of_several_rows_are_no_links(cohirf, people, tmp_path):
    table = pd.read_csv(people)
    table["id"] = table["id"].replace("p5", "p4")
    path = tmp_path / "twice.csv"
    table.to_csv(path, index=False)
    pairs = tmp_path / "pairs.csv"
    pairs.write_text("a,b,link\np4,p6,1\n")
    options = ("--clusters", 3, "--links", pairs, "--id-column", "id")
    outcome = cohirf("fit", path, *options)
    assert outcome.code == 2
    assert "has 'p4', which several rows" in outcome.err
