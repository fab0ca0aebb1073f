"""What verbose shows: a bar where somebody watches, lines in a log, nothing without it."""

import io
import sys
from dataclasses import replace
from math import nan
from types import SimpleNamespace

import pytest
import tqdm.auto

from cohirf import LevelRecord, open_source, progress
from cohirf.progress import ContractedLevel, Display, Log, Work, showing, shown_by
from resumable import X, fit, make_model

# batches are tiny here, so that there are many
pytestmark = pytest.mark.filterwarnings("ignore::cohirf.ThinBatchesWarning")

RECORD = LevelRecord(
    level=3,
    n_batches=1,
    rows_in=12_345,
    rows_held_aside=0,
    rows_out=67,
    views_kept=5.0,
    agreement=0.876,
    stability=0.9,
    base_seconds=1.0,
    consensus_seconds=0.25,
    medoid_seconds=0.125,
)


LEVEL = Work("level 1", 10, "batches")
PREFIX = "[CoHiRF] "


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    clock = SimpleNamespace(now=100.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock.now)
    return clock


def watch(monkeypatch):
    """Let errors go to a terminal; in a fixture this would come too early."""
    monkeypatch.setenv("COLUMNS", "200")  # a fast machine has a long rate
    monkeypatch.setitem(vars(progress.POLICY), "bar_seconds", 0.0)
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    return terminal


@pytest.fixture
def notebook(monkeypatch):
    shell = SimpleNamespace(config={"IPKernelApp": {}})
    monkeypatch.setitem(sys.modules, "IPython", SimpleNamespace(get_ipython=lambda: shell))


# -- lines in a log


def test_a_log_gets_a_line_every_ten_seconds(clock, capsys):
    bar = Log(Work("level 2", 5_000, "batches"), PREFIX)
    for number in range(1_000):
        clock.now += 0.025
        bar.advance(1, f"note {number}")
    assert capsys.readouterr().err.splitlines() == [
        "[CoHiRF] level 2: 400 of 5,000 batches, note 399, 40 batches a second, 115 s left",
        "[CoHiRF] level 2: 800 of 5,000 batches, note 799, 40 batches a second, 105 s left",
    ]


def test_a_level_of_a_few_seconds_gets_no_line(clock, capsys):
    bar = Log(Work("level 1", 9, "batches"), PREFIX)
    for _ in range(9):
        clock.now += 1
        bar.advance(1, "")
    assert capsys.readouterr() == ("", "")


def test_work_that_stays_gets_a_line_after_its_last_step(clock, capsys):
    bar = Log(Work("tuning", 3, "trials", stays=True), PREFIX)
    for step in (0, 2, 1):
        clock.now += 1
        bar.advance(step, "best score 0.5")
    assert capsys.readouterr().err == "[CoHiRF] tuning: 3 of 3 trials, best score 0.5\n"


def test_a_line_without_a_step_has_no_pace(clock, capsys):
    bar = Log(Work("tuning", 3, "trials", stays=True), PREFIX)
    clock.now += 10
    bar.advance(0, "no score")
    assert capsys.readouterr().err == "[CoHiRF] tuning: 0 of 3 trials, no score\n"


def test_the_time_left_forgets_batches_that_came_from_a_checkpoint(clock, capsys):
    bar = Log(Work("level 1", 1_000, "batches"), PREFIX)
    for _ in range(900):
        bar.advance(1, "note")
    for _ in range(40):
        clock.now += 1
        bar.advance(1, "note")
    lines = capsys.readouterr().err.splitlines()
    assert [line.partition("note, ")[2] for line in lines[1:]] == [
        "1 batches a second, 80 s left",
        "1 batches a second, 70 s left",
        "1 batches a second, 60 s left",
    ]


# -- bars ----------------------------------------------------------------------------------------------------------


def test_a_terminal_gets_a_bar_that_goes_away(monkeypatch):
    terminal = watch(monkeypatch)
    with showing(Work("level 2", 4, "batches")) as advance:
        advance(3, "3,000 -> 30 rows")
        tqdm.auto.tqdm._instances.pop().refresh()
    shown = terminal.getvalue()
    assert "[CoHiRF] level 2:  75%" in shown
    assert "3/4" in shown
    assert "3,000 -> 30 rows" in shown
    assert shown.endswith("\r")


def test_the_bar_of_work_that_stays_is_left_on_the_terminal(monkeypatch):
    terminal = watch(monkeypatch)
    with showing(Work("tuning", 1, "trials", stays=True)) as advance:
        advance(1, "best score 0.5")
    assert "1/1" in terminal.getvalue().splitlines()[-1]
    assert terminal.getvalue().endswith("\n")


def is_log(work):
    with showing(work) as advance:
        return isinstance(getattr(advance, "__self__", None), Log)


def test_a_notebook_gets_a_bar(notebook, monkeypatch):
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert not is_log(LEVEL)


@pytest.mark.parametrize(
    "module",
    [
        SimpleNamespace(get_ipython=lambda: None),
        SimpleNamespace(get_ipython=lambda: SimpleNamespace(config={"TerminalIPythonApp": {}})),
    ],
    ids=["imported only", "IPython in a pipe"],
)
def test_ipython_alone_is_no_notebook(module, monkeypatch):
    monkeypatch.setitem(sys.modules, "IPython", module)
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    assert is_log(LEVEL)


@pytest.mark.parametrize(
    "stream", [None, SimpleNamespace(write=lambda text: None)], ids=["none", "no isatty"]
)
def test_a_stream_that_cannot_tell_is_a_log(stream, monkeypatch):
    monkeypatch.setattr(sys, "stderr", stream)
    assert is_log(LEVEL)


def test_without_tqdm_a_terminal_gets_lines(monkeypatch):
    watch(monkeypatch)
    monkeypatch.setattr(progress, "is_installed", lambda name: False)
    assert is_log(LEVEL)


def test_a_bar_is_closed_when_a_fit_fails(monkeypatch):
    terminal = watch(monkeypatch)
    assert fit(make_model(verbose=1), stop_at=3)[0] is None
    assert terminal.getvalue().endswith("\r")


# -- fits ----------------------------------------------------------------------------------------------------------


def test_nothing_is_shown_unless_asked(capsys, monkeypatch):
    monkeypatch.setitem(vars(progress.POLICY), "log_seconds", 0.0)
    fit(make_model(), open_source(X))
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_log_shows_the_batches_of_levels_that_have_several(n_jobs, capsys, monkeypatch):
    monkeypatch.setitem(vars(progress.POLICY), "log_seconds", 0.0)
    model, _ = fit(make_model(verbose=1, n_jobs=n_jobs))
    shown = capsys.readouterr()
    lines = shown.err.splitlines()
    assert [line.partition(" batches,")[0] for line in lines] == [
        f"[CoHiRF] level 1: {done} of 5" for done in range(1, 6)
    ]
    first = model.diagnostics_[0]
    assert f"200 -> {first.rows_out - first.rows_held_aside} rows" in lines[-1]
    assert shown.out.splitlines() == [
        f"[CoHiRF] {ContractedLevel(record, 1)}" for record in model.diagnostics_
    ]


def test_the_bar_changes_no_result(monkeypatch):
    terminal = watch(monkeypatch)
    watched, _ = fit(make_model(verbose=1), open_source(X))
    assert "[CoHiRF] level 1" in terminal.getvalue()
    assert (watched.parents_ == fit(make_model(), open_source(X))[0].parents_).all()


def test_the_line_after_a_level():
    assert str(ContractedLevel(RECORD, n_views=5)) == (
        "level 3: 12,345 -> 67 rows in 1 batch, 5 of 5 views kept, agreement 0.88, 1.38 s"
    )


def test_a_single_view_has_no_agreement():
    assert str(ContractedLevel(replace(RECORD, agreement=nan), n_views=1)) == (
        "level 3: 12,345 -> 67 rows in 1 batch, 5 of 1 views kept, 1.38 s"
    )


def test_another_display_shows_every_level_and_line(capsys, monkeypatch):
    monkeypatch.setitem(vars(progress.POLICY), "log_seconds", 0.0)
    lines = []
    with shown_by(Display("", lines.append)):
        model, _ = fit(make_model(verbose=1))
    assert lines == [str(ContractedLevel(record, 1)) for record in model.diagnostics_]
    shown = capsys.readouterr()
    assert shown.out == ""
    assert [line.partition(" batches")[0] for line in shown.err.splitlines()] == [
        f"level 1: {done} of 5" for done in range(1, 6)
    ]
    with shown_by(Display("", lines.append, quiet=True)):
        fit(make_model(verbose=1))
    assert capsys.readouterr() == ("", "")
    fit(make_model(verbose=1))
    assert capsys.readouterr().out.count("[CoHiRF]") == len(model.diagnostics_)


@pytest.mark.parametrize("verbose", [0, 1])
def test_a_batch_size_that_was_measured_is_told_to_those_who_ask(verbose, capsys):
    fit(make_model(verbose=verbose, batch_size="auto"))
    assert ("batch_size=" in capsys.readouterr().out) == bool(verbose)
