"""cohirf update, merge and drift: models that go on."""

import errno
import json
import re
import shutil
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from examples.synthetic import write_customers
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF, load
from cohirf.app.cli import main, new_rows
from cohirf.app.cli.console import Console
from cohirf.store.files import locked
from cohirf.store.models import load_about

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture
def halves(folder, iris):
    """Two files with every other row of iris."""
    for number in (0, 1):
        iris.iloc[number::2].to_csv(f"half{number}.csv", index=False)
    return folder


@pytest.fixture(scope="module")
def first_model(iris, tmp_path_factory):
    """A model of the first half, to be copied."""
    made = tmp_path_factory.mktemp("half")
    iris.iloc[::2].to_csv(made / "half0.csv", index=False)
    options = (
        "--id-column",
        "id",
        "--label-column",
        "species",
        "--clusters",
        "3",
        "--model",
        str(made / "model"),
    )
    assert main(["fit", str(made / "half0.csv"), *options, "--quiet"]) == 0
    return made / "model"


@pytest.fixture
def first(halves, first_model):
    """A model of the first half."""
    return Path(shutil.copy(first_model, halves / "model"))


def test_update_adds_rows_and_prints_what_has_changed(cohirf, first, iris):
    before = load_about(first).preparation, load_about(first).origin
    outcome = cohirf("update", first, "half1.csv", "--out", "labels.csv")
    assert outcome.code == 0, outcome.err
    model = load(first)
    assert len(model.labels_) == 150
    assert (load_about(first).preparation, load_about(first).origin) == before
    labels = pd.read_csv("labels.csv")
    assert labels["id"].tolist() == iris["id"].iloc[1::2].tolist()
    assert labels["cluster"].tolist() == model.labels_[75:].tolist()
    lines = outcome.out.splitlines()
    changes = [line.strip() for line in str(model.changes_).splitlines()]
    assert lines[: len(changes)] == changes
    assert "rows      150" in lines
    assert lines[-1] == f"Written: {first} (model), labels.csv (labels of the new rows)"


def test_update_equals_partial_fit_of_prepared_rows(cohirf, first, iris):
    assert cohirf("update", first, "half1.csv", "--json", "--quiet").code == 0
    rows = iris[FEATURES].to_numpy()
    scaled = (rows - rows[::2].mean(axis=0)) / rows[::2].std(axis=0)
    expected = CoHiRF(n_clusters=3, random_state=0).fit(scaled[::2]).partial_fit(scaled[1::2])
    np.testing.assert_array_equal(load(first).labels_, expected.labels_)


def test_update_reports_drift_before_the_update(cohirf, first, iris):
    shifted = iris.iloc[1::2].assign(petal_length=iris["petal_length"] + 5)
    shifted.to_csv("shifted.csv", index=False)
    document = json.loads(
        cohirf("update", first, "shifted.csv", "--report", "changes.html", "--json").out
    )
    assert document["drift"]["has_drifted"]
    assert document["drift"]["features"][0]["name"] == "petal_length"
    assert document["changes"]["n_rows"] == 75
    assert document["rows"] == 150
    assert document["written"]["report"] == "changes.html"
    page = (first.parent / "changes.html").read_text()
    assert "How the clusters changed" in page
    assert "petal_length" in page


def test_a_report_of_an_update_does_not_replace_a_file(cohirf, first):
    (first.parent / "changes.html").write_text("mine")
    outcome = cohirf("update", first, "half1.csv", "--report", "changes.html")
    assert outcome.code != 0
    assert (first.parent / "changes.html").read_text() == "mine"
    assert len(load(first).labels_) == 75


def test_update_of_a_model_that_python_saved_keeps_it_without_preparation(cohirf, halves, iris):
    CoHiRF(KMeans(3, n_init=1), random_state=0).fit(iris[FEATURES]).save("plain")
    assert cohirf("update", "plain", "iris.csv").code == 0
    assert load_about("plain").preparation is None
    assert len(load("plain").labels_) == 300


def test_an_update_that_fails_leaves_the_model(cohirf, first, iris):
    iris.drop(columns="petal_width").to_csv("lacking.csv", index=False)
    outcome = cohirf("update", first, "lacking.csv")
    assert outcome.code != 0
    assert "has no column 'petal_width'" in outcome.err
    assert len(load(first).labels_) == 75


def test_an_update_that_is_stopped_leaves_the_model(cohirf, first, monkeypatch):
    def stop(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(CoHiRF, "partial_fit", stop)
    outcome = cohirf("update", first, "half1.csv")
    assert outcome.err.splitlines()[-1] == "cohirf: Stopped. The model is as it was before."
    assert len(load(first).labels_) == 75


def test_merge_makes_one_model_of_several(cohirf, halves, apart):
    for number in (0, 1):
        options = ("--clusters", 3, "--scale", "none", "--model", f"site{number}", "--quiet")
        assert cohirf("fit", f"half{number}.csv", *apart, *options).code == 0
    outcome = cohirf("merge", "site0", "site1", "--model", "all")
    assert outcome.code == 0, outcome.err
    merged = load("all")
    assert len(merged.labels_) == 150
    assert outcome.out.startswith(str(merged.changes_).splitlines()[0])
    assert outcome.out.splitlines()[-1] == "Written: all (model)"
    assert cohirf("predict", "all", "iris.csv", "--out", "labels.csv").code == 0


def test_merge_converts_values_to_the_units_of_the_largest_model(cohirf, first, apart, iris):
    iris.iloc[3::2].assign(petal_length=iris["petal_length"] * 10).to_csv("half1.csv", index=False)
    assert (
        cohirf("fit", "half1.csv", *apart, "--clusters", 3, "--model", "other", "--quiet").code == 0
    )
    rows = iris[FEATURES].to_numpy().copy()
    rows[3::2, 2] *= 10
    scaled = (rows - rows[::2].mean(axis=0)) / rows[::2].std(axis=0)
    parts = {first: scaled[::2], "other": scaled[3::2]}
    found = {}
    for order in ((first, "other"), ("other", first)):
        outcome = cohirf("merge", *order, "--model", "all", "--force")
        assert outcome.code == 0, outcome.err
        assert load_about("all").preparation == load_about(first).preparation
        merged = load("all")
        np.testing.assert_allclose(
            merged.medoids_, np.concatenate([parts[one] for one in order])[merged.medoid_indices_]
        )
        bounds = [len(parts[order[0]])]
        found[order] = dict(zip(order, np.split(merged.labels_, bounds), strict=True))
    one, other = (np.concatenate([labels[first], labels["other"]]) for labels in found.values())
    assert adjusted_rand_score(one, other) == 1.0


def test_merge_refuses_models_with_other_columns_and_says_how_to_go_on(cohirf, first, iris, apart):
    iris.drop(columns="petal_width").to_csv("lacking.csv", index=False)
    assert (
        cohirf("fit", "lacking.csv", *apart, "--clusters", 3, "--model", "other", "--quiet").code
        == 0
    )
    outcome = cohirf("merge", "model", "other", "--model", "all")
    assert "column 'petal_width' differs" in outcome.err
    assert outcome.err.endswith("which prepares it in the same way: cohirf update model DATA\n")
    assert not (first.parent / "all").exists()


def test_forget_takes_out_updates_or_rows(cohirf, first):
    assert cohirf("update", first, "half1.csv", "--quiet").code == 0
    outcome = cohirf("forget", first, 1)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("Update 1: 75 rows forgotten, 0 older rows have another number\n")
    assert len(load(first).labels_) == 75
    again = cohirf("forget", first, 1)
    assert (again.code, again.err) == (
        2,
        "cohirf: 1: these updates have no rows left, and the model stays as it was.\n",
    )
    said = cohirf("info", first).out
    assert re.search(
        r"^since the fit +1 update added 75 rows; 75 rows forgotten in 1 call; the levels",
        said,
        re.MULTILINE,
    )
    document = json.loads(cohirf("forget", first, "--rows", 3, "10-12", "--json").out)
    assert (document["command"], document["rows"], document["changes"]["n_rows"]) == (
        "forget",
        71,
        -4,
    )
    for wrong, words in (
        ("x", "'x' is not valid: give numbers"),
        ("7", "has no update 7: it has updates 0, its fit, to 1"),
    ):
        outcome = cohirf("forget", first, wrong)
        assert outcome.code == 2
        assert words in outcome.err
    assert len(load(first).labels_) == 71


def test_update_with_recluster_finds_the_clusters_anew(cohirf, first):
    document = json.loads(cohirf("update", first, "half1.csv", "--recluster", "--json").out)
    assert (document["changes"]["verb"], document["reclustered"]["verb"]) == ("update", "recluster")
    outcome = cohirf("update", first, "--recluster")
    assert outcome.out.startswith(
        "Update 1: clusters found anew, 0 older rows have another number\n"
    )
    for options in ((), ("--recluster", "--out", "labels.csv")):
        outcome = cohirf("update", first, *options)
        assert (outcome.code, "There are no new rows: give a file with them" in outcome.err) == (
            2,
            True,
        )


def test_an_update_without_rows_leaves_the_model_and_says_so(cohirf, first, iris):
    before = first.read_bytes()
    for name in ("empty.csv", "empty.parquet"):
        table = iris.iloc[:0]
        table.to_csv(name, index=False) if name.endswith("csv") else table.to_parquet(
            name, index=False
        )
        outcome = cohirf("update", first, name)
        assert (outcome.code, outcome.out) == (
            0,
            f"{name} has no rows: the model stays as it was.\n",
        )
    assert first.read_bytes() == before


def test_merge_of_one_model_is_refused(cohirf, first):
    assert (
        "One model alone cannot be merged: give at least two"
        in cohirf("merge", first, "--model", "all").err
    )


def test_merge_does_not_replace_a_model_unasked(cohirf, first):
    outcome = cohirf("merge", first, first, "--model", first)
    assert "exists: give another name, or --force" in outcome.err


def test_drift_says_that_rows_look_alike(cohirf, first):
    outcome = cohirf("drift", first, "half1.csv")
    assert outcome.code == 0
    assert (
        outcome.out.splitlines()[0]
        == "Drift of 75 new rows: the new rows look like those of the recent past"
    )


def test_drift_says_what_has_changed(cohirf, first, iris):
    iris[iris["species"] == "setosa"].to_csv("setosa.csv", index=False)
    outcome = cohirf("drift", first, "setosa.csv")
    assert outcome.code == 3
    assert outcome.out.splitlines()[0].endswith(": update the model")
    assert "grew from 33% to 100%" in outcome.out
    document = json.loads(cohirf("drift", first, "setosa.csv", "--json").out)
    assert document["has_drifted"]
    assert len(document["shares"]) == 3
    assert len(document["features"]) == 4


def test_files_with_other_missing_cells_can_be_merged(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, seed in (("a", 3), ("b", 4)):
        write_customers(f"{name}.csv", 400, random_state=seed)
        assert (
            cohirf("fit", f"{name}.csv", "--scale", "none", "--clusters", 5, "--model", name).code
            == 0
        )
    merged = cohirf("merge", "a", "b", "--model", "both")
    assert (merged.code, load("both").n_clusters_) == (0, 5)


def test_an_update_says_once_what_it_did(cohirf, first):
    outcome = cohirf("update", first, "half1.csv")
    assert "warning" not in outcome.err
    assert (outcome.out + outcome.err).count("Update 1:") == 1


def test_a_day_without_rows_is_the_same_for_drift_and_update(cohirf, first, iris):
    iris.iloc[:0].to_csv("nothing.csv", index=False)
    drift = cohirf("drift", first, "nothing.csv")
    assert (drift.code, drift.out) == (0, "nothing.csv has no rows: there is nothing to compare.\n")
    document = json.loads(cohirf("drift", first, "nothing.csv", "--json").out)
    assert (document["new_rows"], document["has_drifted"], document["has_new_kind"]) == (
        0,
        False,
        False,
    )
    assert cohirf("update", first, "nothing.csv").code == 0


def test_drift_has_an_exit_status_for_rows_of_a_new_kind(cohirf, first, iris):
    odd = iris.iloc[:20].assign(**dict.fromkeys(FEATURES, 50.0))
    odd[FEATURES] += np.random.default_rng(0).normal(size=(20, 4))
    pd.concat([iris.iloc[1::2], odd]).to_csv("odd.csv", index=False)
    outcome = cohirf("drift", first, "odd.csv")
    assert outcome.code == 4
    assert "20 of the new rows are of a new kind" in outcome.out
    assert json.loads(cohirf("drift", first, "odd.csv", "--json").out)["new_kinds"] == [20]
    help_text = " ".join(cohirf("drift", "--help").out.split())
    assert "3 if shares of clusters" in help_text
    assert "4 if rows are of a new kind" in help_text


def test_names_last_as_numbers_do(cohirf, first):
    names = json.loads(cohirf("info", first, "--json").out)["names"]
    numbers = json.loads(cohirf("info", first, "--json").out)["numbers"]
    outcome = cohirf("update", first, "half1.csv")
    model = load(first)
    assert model.names_ == dict(zip(numbers, names, strict=True))
    assert f'{numbers[0]} "{names[0]}"' in outcome.out
    assert "renamed" not in outcome.out


def test_merged_models_keep_the_names_of_the_first(cohirf, first, apart):
    assert (
        cohirf("fit", "half1.csv", *apart, "--clusters", 3, "--model", "other", "--quiet").code == 0
    )
    assert cohirf("update", first, "half1.csv", "--quiet").code == 0
    before = load(first).names_
    assert cohirf("merge", first, "other", "--model", "all").code == 0
    merged = load("all")
    assert {number: merged.names_[number] for number in merged.cluster_numbers_.tolist()} == before


# ---- at the same time


def run_at_once(*commands):
    """Run commands at the same time, each in a process of its own; return their exit codes."""
    started = [
        subprocess.Popen(
            [sys.executable, "-m", "cohirf", *command.split()], stderr=subprocess.PIPE, text=True
        )
        for command in commands
    ]
    return [(process.communicate()[1], process.returncode)[1] for process in started]


@pytest.mark.slow
def test_commands_that_change_a_model_at_the_same_time_all_take_effect(first):
    before = len(load("model").labels_)
    codes = run_at_once(
        "update model half1.csv --quiet",
        "update model half1.csv --quiet",
        "forget model --rows 0-9",
    )
    after = load("model")
    assert codes == [0, 0, 0]
    assert len(after.labels_) == before + 2 * 75 - 10
    assert len(after.history_) == 4
    assert not list(Path().glob(".*"))


def test_a_command_waits_until_another_one_has_changed_the_model_and_says_so(first, monkeypatch):
    is_waiting = threading.Event()
    codes = []
    note = Console.note

    def noting(self, *parts):
        if parts == ("waiting until another command has changed model",):
            is_waiting.set()
        note(self, *parts)

    monkeypatch.setattr(Console, "note", noting)
    with locked(Path("model"), lambda: None):
        other = threading.Thread(
            target=lambda: codes.append(main(["update", "model", "half1.csv"]))
        )
        other.start()
        assert is_waiting.wait(60)
        about = load_about("model")
        load("model").forget([0, 1]).save("model", overwrite=True, preparation=about.preparation)
    other.join()
    assert codes == [0]
    assert len(load("model").labels_) == 75 - 2 + 75


def test_a_fit_replaces_a_model_after_a_command_that_is_changing_it(first, monkeypatch):
    is_waiting = threading.Event()
    codes = []
    note = Console.note

    def noting(self, *parts):
        if parts == ("waiting until another command has changed model",):
            is_waiting.set()
        note(self, *parts)

    monkeypatch.setattr(Console, "note", noting)
    command = "fit iris.csv --drop id --drop species --clusters 3 --model model --force --quiet"
    with locked(Path("model"), lambda: None):
        other = threading.Thread(target=lambda: codes.append(main(command.split())))
        other.start()
        assert is_waiting.wait(120)
        load("model").forget([0, 1]).save("model", overwrite=True)
    other.join()
    assert codes == [0]
    assert len(load("model").labels_) == 150


@pytest.mark.parametrize(
    "command", ["predict model half1.csv --out labels.csv", "info model", "cut model --clusters 2"]
)
def test_commands_that_read_a_model_do_not_wait(cohirf, first, command):
    with locked(Path("model"), lambda: None):
        assert cohirf(*command.split()).code == 0


def test_a_model_in_a_folder_that_cannot_be_written_to_is_told_before_the_update(
    cohirf, first, monkeypatch
):
    def refuse(folder):
        raise OSError(errno.EROFS, "Read-only file system", str(folder))

    monkeypatch.setattr("cohirf.app.cli.outputs.check_writable", refuse)
    monkeypatch.setattr(CoHiRF, "partial_fit", lambda *_: pytest.fail("the rows were added"))
    for command in ("update model half1.csv", "update model --recluster", "forget model 0"):
        outcome = cohirf(*command.split())
        assert outcome.code == 2
        assert outcome.err == (
            "cohirf: MODEL model: the folder cannot be written to (Read-only file system): give "
            "another path.\n"
        )
    assert cohirf("info", "model").code == 0


def test_a_merge_does_not_replace_a_model_that_was_written_meanwhile(cohirf, first, monkeypatch):
    shutil.copy("model", "south")

    def merge_slowly(models):
        shutil.copy("south", "all")
        return merge_models(models)

    merge_models = new_rows.merge_models
    monkeypatch.setattr(new_rows, "merge_models", merge_slowly)
    outcome = cohirf("merge", "model", "south", "--model", "all")
    assert outcome.code == 2
    assert "The path already exists" in outcome.err
    assert Path("all").read_bytes() == Path("south").read_bytes()
