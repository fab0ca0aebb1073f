"""What a terminal, a log and a program see; help and completion."""

import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from cohirf import CoHiRF, __version__
from cohirf.cli import main
from cohirf.cli.console import Console, Grid, LogDisplay
from cohirf.cli.data_options import IMPUTES, SCALES
from cohirf.cli.errors import one_line
from cohirf.cli.estimator_options import FLAGS, EstimatorOptions
from cohirf.cli.estimators import read_parameters
from cohirf.cli.explain import explain
from cohirf.cli.search_options import METRICS
from cohirf.clusterers.names import text_parameters
from cohirf.preparation.preparation import IMPUTES as LIBRARY_IMPUTES
from cohirf.preparation.preparation import SCALINGS
from cohirf.progress import LogBar, Work
from cohirf.tuning import metrics

COMMANDS = ["fit", "tune", "predict", "update", "merge", "drift", "cut", "tree", "report", "info", "demo"]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


# -- options -------------------------------------------------------------------------------------------------------


def test_every_parameter_of_the_estimator_is_an_option():
    assert set(FLAGS) == set(CoHiRF().get_params(deep=False)) - {"estimator", "verbose"}
    short = {"n_clusters": "--clusters", "n_views": "--views", "random_state": "--seed"}
    assert {name: short.get(name, f"--{name.replace('_', '-')}") for name in FLAGS} == FLAGS


def declared_options():
    """Yield the name of each parameter of CoHiRF and what typer is told about its option."""
    hints = get_type_hints(EstimatorOptions, include_extras=True)
    return {name: get_args(hints[name])[1] for name in FLAGS}


def test_the_help_tells_the_defaults_of_the_estimator():
    ours = {
        "random_state": "0",
        "n_jobs": "1",
        "batch_size": "auto from 50,000 rows on, none below",
        "n_clusters": "that of the base method, else auto",
    }
    for name, default in CoHiRF().get_params(deep=False).items():
        if name in FLAGS and default is not False:
            said = ours.get(name, str(default).lower())
            assert declared_options()[name].help.endswith(f" [default: {said}]"), name


def test_the_help_is_about_options():
    for name, declared in declared_options().items():
        assert not re.search(r"`|callable|verbose|None|_", declared.help.replace("sample_weight", "")), name


def test_switches_are_the_parameters_that_are_false_by_default():
    is_switch = {name: parameter.default is False for name, parameter in text_parameters(CoHiRF).items()}
    given = vars(EstimatorOptions())
    assert {name: given[name] is False for name in FLAGS} == {name: is_switch[name] for name in FLAGS}


def test_shells_complete_what_the_library_takes():
    for name, parameter in text_parameters(CoHiRF).items():
        if name in FLAGS and parameter.options:
            assert declared_options()[name].autocompletion("") == list(parameter.options), name
    assert set(METRICS) == set(metrics.METRICS)
    assert (*SCALINGS, "auto") == (*SCALES[1:], "auto")
    assert IMPUTES == LIBRARY_IMPUTES


def test_options_become_parameters():
    options = EstimatorOptions(
        estimator="dbscan",
        n_views="3",
        max_features="0.5",
        medoid_weights=True,
        batch_size="2GB",
        max_iter="7",
        random_state="none",
    )
    assert read_parameters(options.given()) == {
        "n_views": 3,
        "max_features": 0.5,
        "medoid_weights": True,
        "batch_size": "2GB",
        "max_iter": 7,
        "random_state": None,
    }


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["generate"], ["generate", "spheres"]])
def test_every_command_has_help(cohirf, command):
    outcome = cohirf(*command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"Usage: {' '.join(['cohirf', *command])}" in outcome.out
    if command != ["generate"]:
        assert "Examples:" in outcome.out


def test_all_help_of_fit_lists_what_can_be_set(cohirf):
    out = cohirf("fit", "--help-all").out
    for flag in (*FLAGS.values(), "--estimator", "--param", "--label-column", "--out", "--json"):
        assert re.search(rf"^  {flag}\b", out, re.MULTILINE), flag
    assert "sc-srgf" in out


@pytest.mark.parametrize("command", ["fit", "tune"])
def test_help_fits_on_a_screen_and_has_ten_common_options_first(cohirf, command):
    out = cohirf(command, "--help").out
    assert len(out.splitlines()) < 50
    common = out.partition("Common options:\n")[2].partition("\n\n")[0]
    assert len(re.findall(r"^  --", common, re.MULTILINE)) == 10
    n_options = re.search(r"--help-all +Show all (\d+) options", out)[1]
    assert len(re.findall(r"^  -", cohirf(command, "--help-all").out, re.MULTILINE)) == int(n_options)


@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS), ["generate", "hypercube"]])
@pytest.mark.parametrize("width", [40, 60, 100])
def test_help_fits_into_terminals_and_does_not_break_words(cohirf, command, width, monkeypatch):
    flag = "--help-all" if command in (["fit"], ["tune"]) else "--help"
    monkeypatch.setenv("COLUMNS", "100")
    words = set(cohirf(*command, flag).out.split())
    monkeypatch.setenv("COLUMNS", str(width))
    lines = cohirf(*command, flag).out.splitlines()
    assert max(map(len, lines)) <= width
    assert set(" ".join(lines).split()) <= words | {"\\"}


def test_without_a_command_there_is_help(cohirf):
    outcome = cohirf()
    assert outcome.code == 2
    assert "Usage: cohirf" in outcome.out + outcome.err


def test_the_version_is_printed(cohirf):
    assert cohirf("--version").out == f"cohirf {__version__}\n"


def test_a_shell_completes_names_of_base_methods():
    words = {"_COHIRF_COMPLETE": "complete_bash", "COMP_WORDS": "cohirf fit --estimator sc", "COMP_CWORD": "3"}
    command = [sys.executable, "-m", "cohirf"]
    run = subprocess.run(command, env=os.environ | words, capture_output=True, text=True, check=True)
    assert run.stdout.split() == ["sc-srgf"]


# -- what is printed -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_get_whole_words(folder, monkeypatch, width):
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    assert main(["fit", "iris.csv", "--drop", "id", "--label-column", "species", "--clusters", "3"]) == 0
    assert main(["fit", "iris.csv", "--drop", "id", "--label-column", "species", "--model", "m", "--quiet"]) == 0
    assert main(["info", "m"]) == 0
    assert main(["tree", "m"]) == 0
    lines = [line for text in (out, err) for line in re.split("[\r\n]", plain(text.getvalue()))]
    assert max(map(len, lines)) <= width
    whole = " ".join(plain(out.getvalue()).split())
    assert "Nothing was written: give --out labels.csv to keep the clusters" in whole
    assert "3 clusters in 150 rows. The largest has" in whole


def test_a_terminal_gets_bars_and_tables(folder, monkeypatch):
    out, err = Terminal(), Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    options = ("--drop", "id", "--drop", "species", "--views", "2", "--batch-size", "30")
    assert main(["fit", "iris.csv", *options]) == 0
    shown = plain(err.getvalue())
    assert "level 1 " in shown
    assert "batches" in shown
    assert re.search(r"level 1: 150 -> \d+ rows in \d+ batches", shown)
    table = plain(out.getvalue())
    assert re.search(r"^cluster +rows +share +central row +name", table)
    assert re.search(r"^peak memory +\d+", table, re.MULTILINE)


def test_names_on_a_terminal_are_not_markup(monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    Console().show({}, Grid([("[bold]a", "x\x1b[2Jy")], ("[red]h", "i")), Grid([("name", "[/]")]))
    shown = plain(out.getvalue())
    assert "[bold]a" in shown
    assert "[red]h" in shown
    assert "x\\x1b[2Jy" in shown
    assert "[/]" in shown


def test_a_log_has_lines_for_levels_of_several_batches(capsys, monkeypatch):
    monkeypatch.setattr("cohirf.progress.LOG_SECONDS", 0.0)
    level = Work("level 1", 5, "batches")
    bar = LogDisplay(quiet=False).open(level)
    assert isinstance(bar, LogBar)
    bar.advance(1, "10 -> 2 rows")
    assert capsys.readouterr().err.startswith("level 1: 1 of 5 batches, 10 -> 2 rows, ")
    assert LogDisplay(quiet=False).open(Work("level 1", 1, "batches")) is None
    assert LogDisplay(quiet=True).open(level) is None


def test_a_warning_is_said_once(capsys):
    console = Console()
    with console.watching():
        for _ in range(2):
            warnings.warn("batch_size=5 is thin: raise batch_size, or set n_views=20.", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == ("warning: --batch-size 5 is thin: raise --batch-size, or set --views 20.\n")


def test_a_stream_that_lacks_letters_gets_their_numbers(monkeypatch):
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stderr", io.TextIOWrapper(raw, encoding="ascii"))
    Console().note("dörte.csv: 3 rows")
    assert raw.getvalue() == b"d\\xf6rte.csv: 3 rows\n"


def test_many_levels_are_not_all_shown(cohirf, folder, iris):
    iris.drop(columns=["id", "species"]).to_csv("plain.csv", index=False)
    out = cohirf("fit", "plain.csv", "--views", 12, "--param", "n_init=1").out
    levels = re.findall(r"^(\d+|\.\.\.) ", out, re.MULTILINE)
    assert len(levels) <= 12


# -- errors --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (
            MemoryError(),
            "There is not enough memory: lower --batch-size, or set it to the memory to use, such as 2GB.",
        ),
        (
            PermissionError(13, "Permission denied", "a.csv"),
            "a.csv: Permission denied: get permission to access it, or give another path.",
        ),
        (OSError(5, "Input/output error", "a.csv"), "a.csv: Input/output error: give another path."),
        (OSError("odd\nthing"), "odd thing"),
        (
            ValueError("max_iter.csv and a/n_jobs/b are odd: raise n_jobs."),
            "max_iter.csv and a/n_jobs/b are odd: raise --n-jobs.",
        ),
        (
            ValueError("max_iter=3 and batch_size are n_clusters=2, my_max_iter=4"),
            "--max-iter 3 and --batch-size are --clusters 2, my_max_iter=4",
        ),
    ],
)
def test_errors_are_one_line_in_words_of_options(error, line):
    assert explain(error) == line


def test_what_a_terminal_would_obey_is_made_visible():
    assert one_line("a\x1b[31m\nb\x07") == "a\\x1b[31m b\\x07"


def test_without_its_packages_the_program_says_how_to_install_them(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["fit", "x.csv"]) == 2
    assert capsys.readouterr().err == (
        'cohirf: The program cohirf needs typer: install it with pip install "cohirf[cli]", or in a checkout of cohirf '
        'with pip install ".[cli]".\n'
    )


def test_faults_of_ours_are_not_hidden(cohirf, folder, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("cohirf.cli.info.gather", fail)
    with pytest.raises(ZeroDivisionError):
        cohirf("info", "iris.csv")


def test_a_reader_that_leaves_early_is_no_fault(model):
    command = f"{sys.executable} -m cohirf tree {model} --format json | head -c 10; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert run.stdout == '{"format":'
    assert "Traceback" not in run.stderr


def test_the_help_of_as_published_names_all_that_it_sets(cohirf):
    published = CoHiRF.as_published().get_params()
    changed = {name for name, value in CoHiRF().get_params().items() if published[name] != value}
    out = " ".join(cohirf("fit", "--help-all").out.split())
    said = out[out.index("The algorithm of the paper") : out.index("unless one of these is given")]
    assert all(FLAGS[name] in said for name in changed)
