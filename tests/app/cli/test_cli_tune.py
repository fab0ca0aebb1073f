"""cohirf tune, end to end."""

import json
import re
import shlex
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF, tuning
from cohirf.app.cli import main

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
SPECIES = ("--drop", "id", "--label-column", "species")
QUICK = (*SPECIES, "--views", "2")  # a trial of many views takes longer


def fit_command(outcome):
    """Return the arguments of the command that is printed."""
    line = next(line for line in outcome.out.splitlines() if line.startswith("cohirf fit "))
    return shlex.split(line)[1:]


def interrupt_after(monkeypatch, n_fits):
    """Stop the search when so many trials are fitted; return where fits are counted."""
    fits = []
    fit = CoHiRF.fit_predict

    def fit_predict(self, X, y=None, **rest):
        if len(fits) == n_fits:
            raise KeyboardInterrupt
        fits.append(self.get_params())
        return fit(self, X, y, **rest)

    monkeypatch.setattr(CoHiRF, "fit_predict", fit_predict)
    return fits


def test_what_is_found_is_what_the_library_finds(cohirf, folder, iris):
    outcome = cohirf("tune", "iris.csv", *SPECIES, "--trials", 3, "--json")
    X = StandardScaler().fit_transform(iris[FEATURES])
    with pytest.warns(
        UserWarning, match="n_clusters=2 is the smallest number of clusters that was tried"
    ):
        found = tuning.tune(CoHiRF(), X, n_trials=3)
    document = json.loads(outcome.out)
    assert document["best_params"] == found.best_params
    assert document["best_score"] == pytest.approx(found.best_score)
    assert document["ari"] == pytest.approx(
        adjusted_rand_score(iris["species"], found.best_estimator.labels_)
    )
    assert document["trials"] == 3
    assert {trial["trial"] for trial in document["best_trials"]} == set(found.table["trial"])
    assert document["sizes"] == sorted(
        np.bincount(found.best_estimator.labels_).tolist(), reverse=True
    )


def test_it_says_what_it_searches_and_what_came_out(cohirf, folder):
    outcome = cohirf("tune", "iris.csv", *SPECIES, "--trials", 5)
    said = outcome.err.splitlines()
    assert said[:3] == [
        "iris.csv: 150 rows, 4 features",
        "chosen: --scale standard --seed 0",
        "searched: max-features 0.3 to 1, views 5 to 10, clusters 2 to 30",
    ]
    assert re.fullmatch(r"trial 0: 0\.\d+ with --max-features 1, --views 5, --clusters 2", said[3])
    assert re.fullmatch(r"tuning: 5 of 5 trials, best score [0-9.]+", said[-2])
    assert said[-1] == (
        "warning: --clusters 2 is the smallest number of clusters that was tried. Scores often "
        "prefer few clusters: look at the next best trials before you use it."
    )
    lines = outcome.out.splitlines()
    assert re.fullmatch(r"silhouette        0\.\d+", lines[0])
    assert re.fullmatch(r"without a search  0\.\d+", lines[1])
    assert re.fullmatch(r"best              max-features [\d.]+, views \d+, clusters \d+", lines[2])
    assert lines[3] == "trials            5"
    heading = next(number for number, line in enumerate(lines) if line.startswith("trial  "))
    assert lines[heading].split() == [
        "trial",
        "silhouette",
        "max-features",
        "views",
        "clusters",
        "time",
    ]
    scores = [float(line.split()[1]) for line in lines[heading + 1 : heading + 6]]
    assert scores == sorted(scores, reverse=True)


@pytest.mark.parametrize(
    "options",
    [
        "",
        pytest.param("--seed 3 --metric calinski_harabasz", marks=pytest.mark.slow),
        "--estimator dbscan --param min_samples=3 --scale minmax --metric ari",
        pytest.param(
            "--estimator gmm --views 2 --batch-size 60 --impute median --header",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            "--estimator kmeans --param n_init=2 --max-features 2 --batch-size none",
            marks=pytest.mark.slow,
        ),
        "--estimator gmm --clusters 4 --views 2",
    ],
)
def test_the_printed_command_gives_the_same_clusters(cohirf, folder, options):
    Path("iris.csv").rename("-my iris.csv")
    arguments = ("--id-column", "id", "--label-column", "species", "--trials", 3, *options.split())
    outcome = cohirf("tune", *arguments, "--json", "--quiet", "--", "-my iris.csv")
    assert outcome.code == 0
    tuned = json.loads(outcome.out)
    *words, end, path = shlex.split(tuned["fit"])[1:]
    fitted = json.loads(cohirf(*words, "--json", "--quiet", end, path).out)
    assert {name: fitted[name] for name in ("sizes", "ari")} == {
        name: tuned[name] for name in ("sizes", "ari")
    }
    assert fitted["clusters"] > 1


def test_what_is_given_is_not_searched(cohirf, folder):
    options = ("--param", "n_clusters=3", "--views", 4)
    outcome = cohirf("tune", "iris.csv", *SPECIES, "--trials", 3, *options)
    assert "searched: max-features 0.3 to 1\n" in outcome.err
    command = shlex.join(fit_command(outcome))
    assert "--param n_clusters=3 --seed 0 --views 4 --max-features " in command
    outcome = cohirf(
        "tune", "iris.csv", *SPECIES, "--trials", 1, "--estimator", "gmm", "--clusters", 4
    )
    assert "searched: max-features 0.3 to 1, views 5 to 10\n" in outcome.err


def test_a_quiet_search_prints_nothing(cohirf, folder):
    outcome = cohirf("tune", "iris.csv", *QUICK, "--trials", 2, "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (0, "", "")


def test_a_terminal_gets_a_bar(folder, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.setattr("cohirf.progress.BAR_SECONDS", 0.0)
    assert main(["tune", "iris.csv", *QUICK, "--trials", "3"]) == 0
    shown = re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", capsys.readouterr().err)
    assert re.search(r"tuning: 100%\|█+\| 3/3 \[.+best score 0\.\d+\]", shown)


def fail_above(monkeypatch, most):
    """Let fits of more clusters fail."""
    fit = CoHiRF.fit_predict

    def fit_predict(self, X, y=None, **rest):
        if self.n_clusters > most:
            raise ValueError(f"there are no {self.n_clusters} clusters")
        return fit(self, X, y, **rest)

    monkeypatch.setattr(CoHiRF, "fit_predict", fit_predict)


def test_trials_that_fail_are_counted(cohirf, folder, monkeypatch):
    fail_above(monkeypatch, 12)
    outcome = cohirf("tune", "iris.csv", *QUICK, "--trials", 8)
    assert outcome.code == 0
    failed = re.search(
        r"^failed +(\d), most often with ValueError: there are no \d+ clusters$",
        outcome.out,
        re.MULTILINE,
    )
    assert 0 < int(failed[1]) < 8


def test_if_all_trials_fail_the_error_is_said(cohirf, folder, monkeypatch):
    fail_above(monkeypatch, 0)
    outcome = cohirf("tune", "iris.csv", *QUICK, "--trials", 2, "--quiet")
    assert outcome.code == 2
    assert outcome.err.startswith(
        "cohirf: All 2 trials failed, the last one with ValueError: there are no "
    )


def test_a_warning_says_that_nothing_was_found(cohirf, folder):
    options = ("--estimator", "dbscan", "--param", "eps=100", "--views", 2, "--trials", 3)
    outcome = cohirf("tune", "iris.csv", *SPECIES, *options)
    assert (
        "warning: None of the 3 trials found more than one cluster, or fewer than there are rows: "
        "give fewer parameters, or another --estimator.\n"
    ) in outcome.err


def test_rows_without_a_class_are_left_out_of_the_comparison(cohirf, folder, iris):
    iris.assign(species=iris["species"].where(iris.index % 3 > 0)).to_csv("part.csv", index=False)
    document = json.loads(
        cohirf("tune", "part.csv", *QUICK, "--metric", "ari", "--trials", 3, "--json").out
    )
    assert document["best_score"] == pytest.approx(document["ari"])
    assert document["rows_with_class"] == 100
    iris.assign(species=np.nan).to_csv("none.csv", index=False)
    assert cohirf("tune", "none.csv", *QUICK, "--metric", "ari", "--quiet").err == (
        "cohirf: --metric ari compares with known classes, and no row has one: give another "
        "--metric.\n"
    )


def test_a_silhouette_of_some_rows_is_said_to_be_so(cohirf, folder, monkeypatch):
    monkeypatch.setattr("cohirf.tuning.search_space.SILHOUETTE_ROWS", 100)
    line = "silhouette: that of 100 random rows, the same ones in each trial\n"
    assert line in cohirf("tune", "iris.csv", *QUICK, "--trials", 1).err
    assert (
        line
        not in cohirf(
            "tune", "iris.csv", *QUICK, "--trials", 1, "--metric", "calinski_harabasz"
        ).err
    )


@pytest.mark.slow
def test_a_batch_size_that_was_measured_is_in_the_printed_command(cohirf, folder, monkeypatch):
    monkeypatch.setattr("cohirf.app.cli.options.BATCHED_ROWS", 100)
    monkeypatch.setattr("cohirf.app.cli.options.BATCHED_BYTES", 1000)
    outcome = cohirf(
        "tune", "iris.csv", *SPECIES, "--estimator", "kmeans", "--views", 2, "--trials", 1
    )
    assert re.search(r"--batch-size \d+", shlex.join(fit_command(outcome)))


def test_data_beyond_memory_is_refused(cohirf, folder):
    outcome = cohirf("tune", "iris.csv", *SPECIES, "--batch-size", "1MB", "--quiet")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == (
        "cohirf: iris.csv: a search holds all rows in memory, which takes 275 KB, and this "
        "process may take another 0 B: tune on a file with a sample of the rows, and fit this one "
        "with what it finds.\n"
    )


# -- stop and go on


def test_a_search_that_is_stopped_goes_on_and_fits_nothing_twice(cohirf, folder, monkeypatch):
    command = ("tune", "iris.csv", *QUICK, "--trials", "3", "--storage", "my trials.db", "--json")
    with monkeypatch.context() as patched:
        before = interrupt_after(patched, 2)
        outcome = cohirf(*command)
    assert (outcome.code, outcome.out) == (130, "")
    assert outcome.err.splitlines()[-1] == (
        "cohirf: Stopped. my trials.db keeps the trials that are done. To go on, run the same "
        f"command: cohirf {shlex.join(command)}"
    )
    with monkeypatch.context() as patched:
        after = interrupt_after(patched, 1000)
        resumed = json.loads(cohirf(*command).out)["best_trials"]
    assert (len(before), len(after)) == (2, 1)
    whole = json.loads(cohirf("tune", "iris.csv", *QUICK, "--trials", 3, "--json").out)[
        "best_trials"
    ]
    assert [(trial["score"], trial["n_clusters"]) for trial in resumed] == [
        (trial["score"], trial["n_clusters"]) for trial in whole
    ]


def test_without_storage_a_search_that_is_stopped_is_lost(cohirf, folder, monkeypatch):
    interrupt_after(monkeypatch, 2)
    outcome = cohirf("tune", "iris.csv", *QUICK, "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (
        130,
        "",
        "cohirf: Stopped. The trials so far are lost: with --storage trials.db they are kept, "
        "and the same command goes on.\n",
    )


@pytest.mark.slow
def test_storage_of_another_search_is_refused(cohirf, folder):
    command = ("tune", "iris.csv", *SPECIES, "--trials", 2, "--storage", "trials.db", "--quiet")
    assert cohirf(*command).code == 0
    assert cohirf(*command, "--seed", 1).err == (
        "cohirf: trials.db has a search with other seeds. Give another --storage.\n"
    )


def test_timeout_begins_no_more_trials(cohirf, folder):
    assert (
        json.loads(cohirf("tune", "iris.csv", *QUICK, "--timeout", 0, "--json").out)["trials"] == 1
    )


# -- errors --------------------------------------------------------------------------------------------------------

REFUSED = {
    "no classes": (
        "--drop species --metric ari",
        "--metric ari compares with known classes: name their column with --label-column.",
    ),
    "unknown metric": (
        "--metric rand",
        "--metric 'rand' is not valid: give silhouette, calinski_harabasz or ari.",
    ),
    "no trials": (
        "--trials 0",
        "--trials '0' is not valid: give a whole number from 1 on, such as 1000 or 1e6.",
    ),
    "time in words": ("--timeout soon", "--timeout 'soon' is not valid: give a number from 0 on."),
    "no seed": (
        "--seed none",
        "--seed 'none' is not valid: give a number; all trials have the same seed.",
    ),
    "nothing left": (
        "--param n_clusters=3 --views 3 --max-features 0.5",
        "Nothing is left to search: give fewer parameters.",
    ),
    "no ranges": (
        "--estimator optics",
        "--estimator optics has no search space: give one of agglomerative, birch, "
        "bisecting-kmeans, dbscan, gmm, grid-dbscan, hdbscan, kernel-kmeans, kmeans, "
        "minibatch-kmeans, sc-srgf, spectral, torch-kmeans; or tune it in Python, where "
        "cohirf.tuning.tune takes a search_space.",
    ),
    "storage nowhere": (
        "--storage no/t.db",
        "--storage no/t.db: there is no folder no: create it first.",
    ),
    "storage is a folder": ("--storage sub", "--storage sub is a folder: give the name of a file."),
    "storage is the data": (
        "--storage iris.csv",
        "--storage iris.csv is the data itself: give another name.",
    ),
    "storage is something else": (
        "--label-column species --drop id --storage notes.txt",
        "notes.txt cannot be used as --storage: file is not a database. Give the path of a new "
        "SQLite file.",
    ),
    "nothing to cluster": (
        "--id-column id --label-column species --drop sepal_length --drop sepal_width --drop "
        "petal_length --drop petal_width",
        "iris.csv has no columns left to cluster: drop fewer columns.",
    ),
}


@pytest.mark.parametrize(("arguments", "message"), REFUSED.values(), ids=REFUSED)
def test_bad_input_is_refused_in_one_line(cohirf, folder, arguments, message):
    Path("sub").mkdir()
    Path("notes.txt").write_text("What I want to remember is not in a database.", encoding="utf-8")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    outcome = cohirf("tune", "iris.csv", *arguments.split(), "--quiet")
    assert (outcome.code, outcome.out, outcome.err) == (2, "", f"cohirf: {message}\n")
    assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before


def test_without_optuna_it_says_how_to_install_it(cohirf, folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "optuna", None)
    monkeypatch.setitem(sys.modules, "optuna.distributions", None)
    outcome = cohirf("tune", "iris.csv", *SPECIES)
    assert outcome.code == 2
    assert 'pip install "cohirf[tune]"' in outcome.err


def test_a_search_is_bounded_by_default_and_need_not_be(cohirf, folder, monkeypatch):
    given = []

    def record(*_, timeout, **__):
        given.append(timeout)
        raise ValueError("enough")

    monkeypatch.setattr(tuning, "tune", record)
    monkeypatch.setattr("cohirf.tuning.first_trials", lambda *_: [])
    cohirf("tune", "iris.csv", *SPECIES)
    cohirf("tune", "iris.csv", *SPECIES, "--timeout", "none")
    cohirf("tune", "iris.csv", *SPECIES, "--timeout", "5")
    assert given == [60.0, None, 5.0]
