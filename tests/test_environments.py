"""tools/environments.py uses what README installs, and notices what is not enough."""

import re
import subprocess

import pytest
from tools import environments
from tools.environments import ENVIRONMENTS, README, Environment, Use, commands_of


def test_every_installation_that_readme_shows_is_tried():
    shown = set(re.findall(r'pip install (?:cohirf |"cohirf\[([\w,]+)\]")', README))
    tried = [set(extras.split(",")) for extras in ENVIRONMENTS]
    assert shown
    assert [
        extras for extras in shown if not any(set(extras.split(",")) <= one for one in tried)
    ] == []


def test_commands_of_readme_are_tried_without_comments_and_on_one_line():
    console = (
        '$ pip install "cohirf[cli]"\n$ cohirf fit a.csv \\\n      --quiet   # so\n$ cohirf info\n'
    )
    assert commands_of(console) == ["cohirf fit a.csv --quiet", "cohirf info"]
    used = [use.what for use in ENVIRONMENTS["cli"]]
    assert {"fit", "predict", "cut"} <= {
        line.split()[1] for line in used if line.startswith("cohirf ")
    }


@pytest.mark.parametrize(
    ("use", "is_right"),
    [
        (Use("", ("a",), "two", n_lines=2), True),
        (Use("", ("a",), "two", n_lines=1), False),
        (Use("", ("a",), "three"), False),
        (Use("", ("a",), code=1), False),
    ],
)
def test_exit_code_output_and_number_of_lines_are_compared(use, is_right, tmp_path, monkeypatch):
    done = subprocess.CompletedProcess(["a"], 0, stdout="one\ntwo\n")
    monkeypatch.setattr(Environment, "run", lambda self, words: done)
    wrong = Environment("cli", tmp_path).try_out(use)
    assert (wrong is None) == is_right


def test_the_program_fails_if_one_use_does(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(environments, "build_wheel", lambda folder: tmp_path)
    monkeypatch.setattr(Environment, "install", lambda self, wheel: None)
    monkeypatch.setattr(
        Environment,
        "try_out",
        lambda self, use: "not there" if use.what == "cohirf --help" else None,
    )
    assert environments.main() == 1
    assert "cohirf[cli]: cohirf --help: WRONG: not there" in capsys.readouterr().out
