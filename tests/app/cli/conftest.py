"""A folder with iris in it, for tests of the program; the fixture that runs it is in
``tests/conftest.py``.
"""

import functools
import os
import shutil
from pathlib import Path

import pytest
import typer
from sklearn.datasets import load_iris

from cohirf.app.cli import main

# The program makes its commands from their functions when it starts, which takes longer than many a
# test.
typer.main.get_command = functools.cache(typer.main.get_command)

FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


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
