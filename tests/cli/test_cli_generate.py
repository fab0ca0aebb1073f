"""cohirf generate and demo."""

import json
import os
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from cohirf.cli import demo as cli_demo
from cohirf.datasets import make_hypercube, synthetic, write_blobs, write_customers, write_shapes, write_spheres
from cohirf.store.files import replacing


@pytest.fixture(autouse=True)
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_spheres_are_the_librarys(cohirf, here):
    outcome = cohirf("generate", "spheres", "--n", "1e3", "--out", "s.npy", "--seed", 3, "--noise", 0)
    assert (outcome.code, outcome.out) == (0, "Written: s.npy (data), s_labels.npy (labels)\n")
    write_spheres("again.npy", 1000, noise=0, random_state=3)
    assert (np.load("s.npy") == np.load("again.npy")).all()
    assert (np.load("s_labels.npy") == np.load("again_labels.npy")).all()
    assert len(list(here.iterdir())) == 4


def test_shapes_are_the_librarys(cohirf):
    assert cohirf("generate", "shapes", "--n", 1000, "--out", "s.npy", "--seed", 3, "--noise", 0.2).code == 0
    write_shapes("again.npy", 1000, noise=0.2, random_state=3)
    assert (np.load("s.npy") == np.load("again.npy")).all()
    assert (np.load("s_labels.npy") == np.load("again_labels.npy")).all()


def test_noise_of_shapes_is_a_share(cohirf, here):
    outcome = cohirf("generate", "shapes", "--n", 10, "--out", "s.npy", "--noise", 1.5)
    assert outcome.err == "cohirf: --noise 1.5 is not valid: give a share of the rows from 0 to 1.\n"
    assert outcome.code == 2
    assert list(here.iterdir()) == []


def test_a_hypercube_is_the_papers(cohirf):
    options = ("--clusters", 4, "--informative", 2, "--noise", 7)
    outcome = cohirf("generate", "hypercube", "--n", 500, *options, "--out", "h.parquet", "--json")
    assert json.loads(outcome.out) == {"command": "generate", "rows": 500, "written": {"data": "h.parquet"}}
    table = pd.read_parquet("h.parquet")
    X, y = make_hypercube(500, n_clusters=4, n_informative=2, n_noise=7, random_state=0)
    assert (table.drop(columns="label").to_numpy() == X).all()
    assert (table["label"] == y).all()


def test_blobs_can_be_text(cohirf):
    options = ("--clusters", 3, "--features", 4, "--spread", 0.5)
    assert cohirf("generate", "blobs", "--n", 90, *options, "--out", "b.csv", "--quiet").out == ""
    write_blobs("b.npy", 90, n_clusters=3, n_features=4, spread=0.5, random_state=0)
    assert np.allclose(pd.read_csv("b.csv").drop(columns="label"), np.load("b.npy"))
    assert "ARI          1.000\n" in cohirf("fit", "b.csv", "--label-column", "label", "--param", "n_clusters=3").out


def test_labels_that_exist_are_not_replaced_either(cohirf):
    Path("s_labels.npy").write_text("mine", encoding="utf-8")
    outcome = cohirf("generate", "spheres", "--n", 10, "--out", "s.npy")
    assert outcome.err == "cohirf: --out s_labels.npy exists: give another name, or --force to replace it.\n"
    assert cohirf("generate", "spheres", "--n", 10, "--out", "s.npy", "--force").code == 0
    assert len(np.load("s_labels.npy")) == 10


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no device that is always full")
@pytest.mark.parametrize("name", ["b.npy", "b.parquet", "b.csv"])
def test_an_error_leaves_nothing(name, cohirf, here, monkeypatch):
    @contextmanager
    def replacing_on_a_full_disk(path):
        with replacing(path) as file:
            with Path("/dev/full").open("r+b", buffering=0) as full:
                os.dup2(full.fileno(), file.fileno())
            yield file

    monkeypatch.setattr(synthetic, "replacing", replacing_on_a_full_disk)
    outcome = cohirf("generate", "blobs", "--n", 10, "--out", name)
    assert outcome.code == 2
    assert outcome.err.endswith(": No space left on device: free some disk space, or give a path on another disk.\n")
    assert outcome.err.startswith("cohirf: b")
    assert list(here.iterdir()) == []


def test_the_demo_runs_and_writes_a_report(cohirf, monkeypatch):
    monkeypatch.setattr(cli_demo, "ROWS", 2_000)
    outcome = cohirf("demo", "--out", "page.html")
    assert outcome.code == 0
    lines = outcome.out.splitlines()
    assert lines[0].split() == ["data", "rows", "method", "levels", "clusters", "ARI", "time", "options"]
    assert [line.split()[0] for line in lines[1:9]] == ["iris"] * 2 + ["digits"] * 2 + ["blobs"] * 2 + ["spheres"] * 2
    assert [line.split()[2] for line in lines[1:9:2]] == ["KMeans", "KMeans", "KMeans", "DBSCAN"]
    assert lines[-1] == "Written: page.html (report)"
    assert "Handwritten digits" in Path("page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "size"),
    [
        ("spheres --n 1000 --out a.npy", 12_000),
        ("shapes --n 1500 --out a.npy", 12_000),
        ("hypercube --n 100 --noise 27 --out a.parquet", 12_000),
        ("blobs --n 100 --features 15 --out a.csv", 12_000),
        ("customers --n 120 --out a.csv", 12_000),
    ],
)
def test_data_that_the_disk_has_no_room_for_is_refused(cohirf, here, monkeypatch, options, size):
    free = size - 1
    monkeypatch.setattr("shutil.disk_usage", lambda path: SimpleNamespace(free=free))
    outcome = cohirf("generate", *options.split())
    assert outcome.code == 2
    assert outcome.err == (
        f"cohirf: --out {options.split()[-1]} takes 12 KB or more, but its disk has 12 KB free: lower --n, or give a "
        f"path on another disk.\n"
    )
    assert list(here.iterdir()) == []
    free = size
    assert cohirf("generate", *options.split()).code == 0
    assert Path(options.split()[-1]).stat().st_size >= size


def test_customers_are_the_librarys(cohirf):
    outcome = cohirf("generate", "customers", "--n", 300, "--out", "c.csv", "--seed", 3)
    assert (outcome.code, outcome.out) == (0, "Written: c.csv (data), c_segments.csv (segments)\n")
    write_customers("again.csv", 300, random_state=3)
    assert Path("c.csv").read_bytes() == Path("again.csv").read_bytes()
    assert Path("c_segments.csv").read_bytes() == Path("again_segments.csv").read_bytes()


def test_customers_are_not_an_array(cohirf, here):
    outcome = cohirf("generate", "customers", "--n", 300, "--out", "c.npy")
    assert outcome.code == 2
    assert "c.npy: the kind of file is not known: give a name that ends in .csv or .parquet.\n" in outcome.err
    assert list(here.iterdir()) == []
