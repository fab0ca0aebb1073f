"""Every command of the program that README and the documentation show runs, in the order of its
page.
"""

import re
import shlex
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from examples.synthetic import main as make_data
from examples.synthetic import write_data
from sklearn.datasets import make_blobs

from cohirf.app.cli import main

ROOT = Path(__file__).parents[1]
COMMAND = re.compile(r"^ *(?:\$ )?((?:cohirf|python -m examples\.synthetic) [^`│]+)$")
SKIPPED = ("cohirf party ",)  # tests/test_parties.py starts parties
SHORTER = {"--trials 10": "--trials 2"}


def find_commands(path):
    """Return the commands of a page, each with the line below it."""
    lines = path.read_text(encoding="utf-8").splitlines()
    found = []
    for number, line in enumerate(lines):
        if (
            (match := COMMAND.match(line))
            and line.startswith((" ", "$"))
            and not match[1].startswith(SKIPPED)
        ):
            words = match[1]
            end = number
            while words.endswith("\\"):
                end += 1
                words = words[:-1] + lines[end].strip().removeprefix("> ")
            found.append((words, lines[end + 1].strip() if end + 1 < len(lines) else ""))
    return found


def shows_commands(path):
    return len(find_commands(path)) > 0


PAGES = [
    path
    for path in (ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.rst")))
    if shows_commands(path)
]


def write_files(folder):
    """Write the files that pages speak of and do not make."""
    names = ("data.csv", "points.parquet", "data.parquet", "new.parquet")
    X, _ = make_blobs(600, n_features=3, centers=4, cluster_std=0.05, random_state=0)
    table = pd.DataFrame(X, columns=["x0", "x1", "x2"])
    for name in names:
        table.to_csv(name, index=False) if name.endswith("csv") else table.to_parquet(
            name, index=False
        )
    write_data("spheres", folder / "points.npy", 10_000, random_state=0)
    vectors = list(np.random.default_rng(0).normal(size=(500, 8)))
    pd.DataFrame({"embedding": vectors, "body": "some words"}).to_parquet(
        "docs.parquet", index=False
    )
    pd.read_parquet("new.parquet").to_csv("new.csv", index=False)
    for name in ("model", "north", "south", "west"):
        assert (
            main(["fit", "data.csv", "--clusters", "4", "--model", f"{name}.cohirf", "--quiet"])
            == 0
        )


def run(command):
    for shown, shorter in SHORTER.items():
        command = command.replace(shown, shorter)
    words = shlex.split(command.partition(" > ")[0].partition(" | ")[0], comments=True)
    return make_data(words[3:]) if words[0] == "python" else main(words[1:])


def test_pages_with_commands_are_found():
    names = {path.name for path in PAGES}
    assert {"README.md", "command_line.rst", "tutorial.rst", "drift.rst", "texts.rst"} <= names
    assert sum(len(find_commands(path)) for path in PAGES) > 30


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_all_commands_of_a_page_run(path, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if path.name != "tutorial.rst":  # which makes all files itself
        write_files(tmp_path)
    if path.name in ("README.md", "command_line.rst"):  # which make this file themselves
        Path("model.cohirf").unlink()
    for command, below in find_commands(path):
        code = run(command)
        expected = {2} if below.startswith("cohirf: ") else {0, 3} if " drift " in command else {0}
        assert code in expected, (command, capsys.readouterr().err)
