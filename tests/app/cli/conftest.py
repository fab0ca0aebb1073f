"""A folder with iris in it, and the program to run there."""

import functools
import math
import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest
import typer
from sklearn.datasets import load_iris

from cohirf import progress
from cohirf.app.cli import main
from cohirf.beyond.policy import NumberPolicy

# The program makes its commands from their functions when it starts, which takes longer than many a
# test.
typer.main.get_command = functools.cache(typer.main.get_command)

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@dataclass(frozen=True)
class Outcome:
    """What a run of the program left: its exit code and what it printed."""

    code: int
    out: str
    err: str


@pytest.fixture(scope="session")
def iris():
    """Iris as a table with names of plants and species."""
    import pandas as pd  # tests of arrays run without it

    bunch = load_iris()
    table = pd.DataFrame(bunch.data, columns=FEATURES)
    table.insert(0, "id", [f"plant-{number:03}" for number in range(len(table))])
    table["species"] = bunch.target_names[bunch.target]
    return table


@pytest.fixture(scope="session")
def iris_files(iris, tmp_path_factory):
    """A folder with iris.csv and iris.parquet, to be copied."""
    written = tmp_path_factory.mktemp("iris")
    iris.to_csv(written / "iris.csv", index=False)
    iris.to_parquet(written / "iris.parquet", index=False)
    return written


@pytest.fixture
def folder(tmp_path, monkeypatch, iris_files):
    """A working directory with iris.csv and iris.parquet."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(iris_files, tmp_path, dirs_exist_ok=True)
    return tmp_path


@pytest.fixture
def cohirf(capsys, monkeypatch):
    """Return a function that runs the program in this process.

    A slow run prints no more lines than a fast one, and the number of clusters is chosen among a
    few.
    """
    monkeypatch.setitem(vars(progress.POLICY), "log_seconds", math.inf)
    monkeypatch.setattr("cohirf.choice.NUMBER", NumberPolicy(first_numbers=8, splits=1))

    def run(*arguments):
        capsys.readouterr()
        code = main([str(argument) for argument in arguments])
        return Outcome(code, *capsys.readouterr())

    return run


@pytest.fixture(scope="session")
def data_home():
    """Where the larger data sets are."""
    return Path(os.environ.get("COHIRF_DATA", Path(__file__).parents[4] / "shared" / "data"))


APART = ("--id-column", "id", "--label-column", "species")


@pytest.fixture
def apart():
    """Options that keep the names of the plants and the species apart."""
    return APART


@pytest.fixture(scope="session")
def iris_model(iris_files, tmp_path_factory):
    """A saved model of iris, standardised, to be copied."""
    path = tmp_path_factory.mktemp("fitted") / "model"
    options = (*APART, "--param", "n_clusters=3", "--model", str(path), "--quiet")
    assert main(["fit", str(iris_files / "iris.csv"), *options]) == 0
    return path


@pytest.fixture
def model(folder, iris_model):
    """A saved model of iris, standardised."""
    return Path(shutil.copy(iris_model, folder / "model"))
