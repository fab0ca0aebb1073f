"""What a terminal, a log and a program see; help and completion."""

import io
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from cohirf import CoHiRF, __version__
from cohirf.cli import app, main
from cohirf.cli.console import Console, Grid, LogDisplay
from cohirf.cli.docstrings import parameter_texts
from cohirf.cli.errors import explain, one_line
from cohirf.cli.estimator_options import estimator_options, flags, read_parameters
from cohirf.progress import LogBar

COMMANDS = ["fit", "tune", "predict", "cut", "tree", "report", "info", "demo"]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


# -- options -------------------------------------------------------------------------------------------------------


def test_every_parameter_of_the_estimator_is_an_option():
    known = set(CoHiRF().get_params(deep=False)) - {"estimator", "verbose"}
    assert set(estimator_options()) == known
    assert flags()["n_views"] == "--views"
    assert flags()["random_state"] == "--seed"


def test_help_and_defaults_come_from_the_estimator():
    texts, defaults = parameter_texts(CoHiRF), CoHiRF().get_params(deep=False)
    options = estimator_options()
    assert options["max_iter"].option.help == texts["max_iter"]
    for name in ("n_views", "consensus", "majority", "max_iter", "medoid"):
        assert options[name].option.default == str(defaults[name])
    for name, option in options.items():
        assert not re.search(r"`|callable|verbose|None|_", option.option.help.replace("sample_weight", "")), name


def test_options_become_parameters():
    given = {"n_views": "3", "max_features": "0.5", "medoid_weights": True, "scale_views": False, "consensus": None}
    given |= {"batch_size": "auto", "memory_limit": "2GB", "max_iter": "7", "random_state": "none"}
    assert read_parameters(given) == {
        "n_views": 3,
        "max_features": 0.5,
        "medoid_weights": True,
        "batch_size": "auto",
        "memory_limit": "2GB",
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


def test_the_help_of_fit_lists_what_can_be_set(cohirf):
    out = cohirf("fit", "--help").out
    for flag in (*flags().values(), "--estimator", "--param", "--label-column", "--out", "--json"):
        assert f" {flag} " in out
    assert "sc-srgf" in out


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


def test_a_terminal_gets_bars_and_drawn_tables(folder, monkeypatch):
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
    assert re.search(r"rows +150", table)
    assert "────" in table
    assert "views kept" in table


def test_names_on_a_terminal_are_no_markup(monkeypatch):
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
    bar = LogDisplay(quiet=False).open_bar(1, 5)
    assert isinstance(bar, LogBar)
    bar.advance(10, 2)
    assert capsys.readouterr().err.startswith("level 1: 1 of 5 batches, 10 -> 2 rows, ")
    assert LogDisplay(quiet=False).open_bar(1, 1) is None
    assert LogDisplay(quiet=True).open_bar(1, 5) is None


def test_a_warning_is_said_once(capsys):
    console = Console()
    with console.watching():
        for _ in range(2):
            warnings.warn("batch_size=5 is thin: raise batch_size, or set redraws=20.", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == ("warning: --batch-size 5 is thin: raise --batch-size, or set --redraws 20.\n")


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
            "There is not enough memory: lower --batch-size, or set --memory-limit with --batch-size auto.",
        ),
        (
            PermissionError(13, "Permission denied", "a.csv"),
            "a.csv: Permission denied: ask for the right to it, or give another path.",
        ),
        (OSError(5, "Input/output error", "a.csv"), "a.csv: Input/output error: give another path."),
        (OSError("odd\nthing"), "odd thing"),
        (
            ValueError("max_iter.csv and a/n_jobs/b are odd: raise n_jobs."),
            "max_iter.csv and a/n_jobs/b are odd: raise --n-jobs.",
        ),
        (
            ValueError("max_iter=3 and batch_size are n_clusters=2, my_max_iter=4"),
            "--max-iter 3 and --batch-size are n_clusters=2, my_max_iter=4",
        ),
    ],
)
def test_errors_are_one_line_in_words_of_options(error, line):
    assert explain(error, flags()) == line


def test_what_a_terminal_would_obey_is_made_visible():
    assert one_line("a\x1b[31m\nb\x07") == "a\\x1b[31m b\\x07"


def test_without_its_packages_the_program_says_how_to_install_them(capsys, monkeypatch):
    def lack(name, extra):
        raise ImportError(f'This needs {name}: install it with pip install "cohirf[{extra}]".')

    monkeypatch.setattr(app, "import_optional", lack)
    app.build_command.cache_clear()
    assert main(["fit", "x.csv"]) == 2
    assert capsys.readouterr().err == 'cohirf: This needs typer: install it with pip install "cohirf[cli]".\n'


def test_faults_of_ours_are_not_hidden(cohirf, folder, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("cohirf.cli.info.measure", fail)
    with pytest.raises(ZeroDivisionError):
        cohirf("info", "iris.csv")
    monkeypatch.setattr("cohirf.cli.app.build_command", lambda: (_ for _ in ()).throw(ImportError("broken")))
    with pytest.raises(ImportError, match="broken"):
        main(["info"])


def test_a_reader_that_leaves_early_is_no_fault(model):
    command = f"{sys.executable} -m cohirf tree {model} --format json | head -c 10; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", command], capture_output=True, text=True, check=False, cwd=Path.cwd())
    assert run.stdout == '{"format":'
    assert "Traceback" not in run.stderr
