"""What a terminal, a log and a program see; help and completion."""

import io
import re
import subprocess
import sys
import time
import warnings
from multiprocessing import get_context
from multiprocessing.pool import ThreadPool
from pathlib import Path
from types import SimpleNamespace
from typing import get_args

import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from tools import demo, house

from cohirf import CoHiRF, __version__, progress
from cohirf.app.cli import main
from cohirf.app.cli.console import Console, TextGrid, grid_lines, wrap
from cohirf.app.cli.errors import explain, flag_of, one_line
from cohirf.app.cli.fit_options import Merge
from cohirf.app.cli.options import Imputing, Scaling, read_parameters
from cohirf.app.preparation.preparation import IMPUTES, SCALINGS
from cohirf.beyond.merges import NAMES as NAMES_OF_MERGES
from cohirf.wording import setting, writing_settings

COMMANDS = [
    "fit",
    "predict",
    "update",
    "merge",
    "forget",
    "consensus",
    "curate",
    "drift",
    "cut",
    "tree",
    "report",
    "info",
]


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


def plain(text):
    return re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text)


# -- options


def test_choices_are_those_of_the_library():
    (merges,) = CoHiRF._parameter_constraints["merge"]
    assert set(get_args(Merge)) == merges.options == {"auto", *NAMES_OF_MERGES}
    assert get_args(Scaling) == ("auto", *SCALINGS)
    assert get_args(Imputing) == tuple(IMPUTES)


def test_options_become_parameters():
    given = {"views": 3, "max_features": "0.5", "batch_size": "auto", "n_jobs": None}
    parameters = {"views": 3, "max_features": 0.5, "batch_size": "auto"}
    assert read_parameters(given) == parameters
    assert read_parameters(dict(given, batch_size="2GB")) == parameters | {"batch_size": "2GB"}


def test_every_parameter_of_a_message_has_an_option():
    commands = house.program().commands.values()
    flags = {flag for command in commands for one in command.params for flag in one.opts}
    named = ["n_clusters", "random_state", "kinds", "scaling", "overwrite", "batch_size", "drop"]
    named += ["header", "delimiter", "vectors", "places", "impute", "views", "max_features"]
    named += ["min_cluster_size", "checkpoint", "n_jobs", "text", "images", "label_column"]
    assert [name for name in named if flag_of(name) not in flags] == []


@pytest.mark.parametrize("width", [60, 100])
@pytest.mark.parametrize("command", [[], *([name] for name in COMMANDS)])
def test_every_command_has_help_that_fits_into_a_terminal(cohirf, command, width, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(width))
    outcome = cohirf(*command, "--help")
    assert (outcome.code, outcome.err) == (0, "")
    assert f"Usage: {' '.join(['cohirf', *command])}" in outcome.out
    assert max(map(len, outcome.out.splitlines())) <= width
    assert not command or f"cohirf {command[0]} " in outcome.out.partition("Examples:")[2] + " "


def test_the_program_has_as_many_options_as_the_house_rules_allow():
    assert house.count_options(house.program()) <= 110


def test_help_of_fit_lists_what_can_be_set(cohirf):
    out = cohirf("fit", "--help").out
    for flag in ("--clusters", "--seed", "--estimator", "--param", "--label-column", "--json"):
        assert f"│ {flag} " in out, flag
    assert "sc-srgf" in out


def test_without_a_command_there_is_help(cohirf):
    outcome = cohirf()
    assert outcome.code == 2
    assert "Usage: cohirf" in outcome.out + outcome.err


def test_the_version_is_printed(cohirf):
    assert cohirf("--version").out == f"cohirf {__version__}\n"


def test_a_shell_completes_names_of_base_methods(capsys, monkeypatch):
    monkeypatch.setenv("COMP_WORDS", "cohirf fit --estimator sc")
    monkeypatch.setenv("COMP_CWORD", "3")
    monkeypatch.setenv("_COHIRF_COMPLETE", "complete_bash")
    with pytest.raises(SystemExit):
        main([])
    assert capsys.readouterr().out.split() == ["sc-srgf"]


# -- what is printed


@pytest.mark.parametrize("width", [40, 60])
def test_narrow_terminals_get_whole_words(folder, monkeypatch, width):
    out = Terminal()
    err = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    assert (
        main(["fit", "iris.csv", "--drop", "id", "--label-column", "species", "--clusters", "3"])
        == 0
    )
    assert (
        main(
            [
                "fit",
                "iris.csv",
                "--drop",
                "id",
                "--label-column",
                "species",
                "--model",
                "m",
                "--quiet",
            ]
        )
        == 0
    )
    assert main(["info", "m"]) == 0
    assert main(["tree", "m"]) == 0
    lines = [line for text in (out, err) for line in re.split("[\r\n]", plain(text.getvalue()))]
    assert max(map(len, lines)) <= width
    whole = " ".join(plain(out.getvalue()).split())
    assert "Nothing was written: give --out labels.csv to keep the clusters" in whole
    assert "3 clusters in 150 rows" in whole


def test_a_terminal_gets_bars_and_tables(folder, monkeypatch):
    out = Terminal()
    err = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    monkeypatch.setattr(sys, "stderr", err)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setitem(vars(progress.POLICY), "bar_seconds", 0.0)
    options = ("--drop", "id", "--drop", "species", "--views", "2", "--batch-size", "30")
    assert main(["fit", "iris.csv", *options]) == 0
    shown = plain(err.getvalue())
    assert "level 1:   0%|" in shown
    assert "batches" in shown
    assert re.search(r"level 1: 150 -> \d+ rows in \d+ batches", shown)
    table = plain(out.getvalue())
    assert re.search(r"^cluster +rows +share +central row +name", table)
    assert re.search(r"^peak memory +\d+", table, re.MULTILINE)


def test_names_on_a_terminal_are_not_markup(monkeypatch):
    out = Terminal()
    monkeypatch.setattr(sys, "stdout", out)
    Console().show(
        {}, TextGrid([("[bold]a", "x\x1b[2Jy")], ("[red]h", "i")), TextGrid([("name", "[/]")])
    )
    shown = plain(out.getvalue())
    assert "[bold]a" in shown
    assert "[red]h" in shown
    assert "x\\x1b[2Jy" in shown
    assert "[/]" in shown


def test_a_warning_is_said_once(capsys):
    console = Console()
    with console.watching():
        for _ in range(2):
            warnings.warn("batches are thin", UserWarning, stacklevel=1)
    assert capsys.readouterr().err == "warning: batches are thin\n"


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
            "There is not enough memory: give a --batch-size, as a number of rows or as memory, "
            "such as 2GB.",
        ),
        (
            PermissionError(13, "Permission denied", "a.csv"),
            "a.csv: Permission denied: get permission to access it, or give another path.",
        ),
        (
            OSError(5, "Input/output error", "a.csv"),
            "a.csv: Input/output error: give another path.",
        ),
        (OSError("odd\nthing"), "odd thing"),
    ],
)
def test_errors_are_one_line(error, line):
    assert explain(error) == line


def test_messages_name_parameters_as_python_does_except_in_the_program(cohirf, folder):
    refused = "is above the 2 features of X: give an int from 1 to 2 or a fraction in (0, 1]."
    with pytest.raises(ValueError, match=re.escape(f"max_features=7 {refused}")):
        CoHiRF(max_features=7).fit([[1.0, 2.0], [3.0, 1.0]])
    Path("two.csv").write_text("a,b\n1,2\n3,1.5\n", encoding="utf-8")
    outcome = cohirf("fit", "two.csv", "--max-features", 7)
    assert outcome.err.endswith(f"cohirf: --max-features 7 {refused}\n")


def test_settings_are_written_as_before_when_a_program_has_ended():
    with pytest.raises(ZeroDivisionError), writing_settings(lambda name, *_: f"<{name}>"):  # noqa: PT012
        assert setting("views", 3) == "<views>"
        raise ZeroDivisionError
    assert setting("views", 3) == "views=3"


def test_what_a_terminal_would_obey_is_made_visible():
    assert one_line("a\x1b[31m\nb\x07") == "a\\x1b[31m b\\x07"


def test_without_its_packages_the_program_says_how_to_install_them(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "typer", None)
    assert main(["fit", "x.csv"]) == 2
    assert capsys.readouterr().err == (
        'cohirf: The program cohirf needs typer: install it with pip install "cohirf[cli]", or in '
        "a checkout of cohirf "
        'with pip install ".[cli]".\n'
    )


def test_faults_of_ours_are_not_hidden(cohirf, folder, monkeypatch):
    def fail(*_, **__):
        raise ZeroDivisionError

    monkeypatch.setattr("cohirf.app.cli.info.gather", fail)
    with pytest.raises(ZeroDivisionError):
        cohirf("info", "iris.csv")


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_fault(model):
    command = f"{sys.executable} -m cohirf tree {model} | head -c 8; exit ${{PIPESTATUS[0]}}"
    run = subprocess.run(
        ["bash", "-c", command], capture_output=True, text=True, check=False, cwd=Path.cwd()
    )
    assert run.stdout == "150 rows"
    assert "Traceback" not in run.stderr


@pytest.fixture
def small_demo(monkeypatch):
    """Two trials with few rows, in threads: processes would import all packages again, and a test
    stops one of them.
    """
    monkeypatch.setattr("tools.demo.ROWS", dict.fromkeys(demo.ROWS, 400))
    monkeypatch.setattr("tools.demo.get_context", lambda _: SimpleNamespace(Pool=ThreadPool))
    first = demo.make_trials()[:2]
    monkeypatch.setattr("tools.demo.make_trials", lambda: first)
    return first


def test_the_demo_measures_and_writes_a_report(folder, small_demo, capsys):
    demo.demo(Path("page.html"))
    out = capsys.readouterr().out
    lines = out.splitlines()
    assert lines[0].split("  ")[0] == "data"
    assert [line.split("  ")[0] for line in lines[1:3]] == [trial.data for trial in small_demo]
    assert "CoHiRF finds better clusters" in out  # the worms and spirals
    assert "5 groups with names" in out
    assert lines[-1] == "Written: page.html (report)"
    assert "customers.csv" in Path("page.html").read_text(encoding="utf-8")


def test_a_method_that_takes_too_long_is_stopped_and_said_so(monkeypatch):
    monkeypatch.setattr("tools.demo.LIMIT", 0.5)
    monkeypatch.setattr("tools.demo.TIMES_AS_LONG", 0)
    X, y = make_blobs(3_000, random_state=0)
    trial = demo.Trial("blobs", "sleep", X, y, Sleeper(), CoHiRF(n_clusters=3, random_state=0))
    with get_context("spawn").Pool(1) as pool:
        alone, ours = trial.run(pool)
    assert alone.cells == ("over 0.5 s", "-")
    assert ours.index > 0.5
    assert demo.judge(alone, ours).endswith("alone, the method was stopped after 0.5 s")


def test_the_demo_goes_on_after_each_method_that_was_stopped(small_demo, monkeypatch, capsys):
    monkeypatch.setattr("tools.demo.LIMIT", 0.001)
    monkeypatch.setattr("tools.demo.TIMES_AS_LONG", 0)
    monkeypatch.setattr(
        "tools.demo.cluster_customers", lambda out: ([("1", "all")], "Some customers.")
    )
    demo.demo(Path("page.html"))
    assert capsys.readouterr().out.count("alone, the method was stopped") == 2


class Sleeper(KMeans):
    """Takes its time with more than a few rows."""

    def fit_predict(self, X, y=None, sample_weight=None):
        """Sleep, then cluster."""
        time.sleep(60 * (len(X) > demo.FEW))
        return super().fit_predict(X)


@pytest.mark.parametrize(
    ("index", "seconds", "said"),
    [
        (0.9, 1.0, "CoHiRF finds the same clusters, or nearly so, in about the same time"),
        (0.95, 4.0, "CoHiRF finds better clusters, in 4.0 times the time"),
        (0.8, 0.5, "CoHiRF finds worse clusters, 2.0 times as fast"),
    ],
)
def test_the_demo_says_who_is_ahead(index, seconds, said):
    assert demo.judge(demo.Fitted(1.0, 0.9), demo.Fitted(seconds, index)) == said


# -- tables -------------------------------------------------------------------------------------------------------

LEVELS = TextGrid([("1", "150", "0.68"), ("2", "14", "0.9")], ("level", "rows in", "agreement"))
NAMES = TextGrid(
    [("0", "68", "narrow sepal, medium petal length, medium petal width")],
    ("cluster", "rows", "name"),
    True,
)


def test_columns_are_aligned():
    assert grid_lines(LEVELS) == [
        "level  rows in  agreement",
        "1          150       0.68",
        "2           14        0.9",
    ]


@pytest.mark.parametrize("width", [40, 60, 100])
@pytest.mark.parametrize(
    "grid", [LEVELS, NAMES, TextGrid([("sizes", "12, 13, 14, 15 and 200 more of them")])]
)
def test_lines_fit_and_words_stay_whole(grid, width):
    lines = grid_lines(grid, width)
    assert max(map(len, lines)) <= width
    words = {word for row in (*grid.rows, grid.headings) for cell in row for word in cell.split()}
    assert {word.rstrip(",:") for word in " ".join(lines).split()} <= {
        word.rstrip(",") for word in words
    }


def test_text_takes_several_lines_below_its_heading():
    assert grid_lines(NAMES, 44) == [
        "cluster  rows  name",
        "0          68  narrow sepal, medium petal",
        "               length, medium petal width",
    ]


def test_files_get_whole_lines():
    assert wrap("word " * 100, None) == ["word " * 100]
