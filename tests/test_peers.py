"""The comparison with other packages: its rows, its limits, and results that are merged with
earlier ones.
"""

import csv
import sys
import time
from dataclasses import dataclass, replace

import numpy as np
import pytest

_common = pytest.importorskip("benchmarks._common")
_watched = pytest.importorskip("benchmarks._watched")
peers = pytest.importorskip("benchmarks.speed.peers")

SMALL = peers.Case("spheres", 400, 2, eps=0.4, batch_size=200, batch_eps=0.6)
LARGER = peers.Case("spheres", 800, 2, eps=0.4, batch_size=200, batch_eps=0.6)
LIMITS = _watched.Limits(seconds=60.0, megabytes=4000.0, cores=1)
FIGURES = {"seconds": 0.5, "peak": 300_000_000, "ari": 0.25}


@pytest.mark.parametrize(
    "method", [method for method in peers.METHODS if method.package in ("scikit-learn", "cohirf")]
)
def test_a_method_accepts_its_settings_and_clusters(method):
    X = np.random.default_rng(0).normal(size=(SMALL.rows, 3)).astype(np.float32)
    assert method.make(SMALL, 1).fit_predict(X).shape == (SMALL.rows,)


def test_methods_with_this_name_are_as_published():
    methods = [method for method in peers.METHODS if "as_published" in method.name]
    assert {method.make(SMALL, 1).n_clusters for method in methods} == {"levels"}


def test_figures_are_found_by_machine_data_method_limits_and_settings():
    row = peers.Row(peers.BY_NAME["KMeans"], LIMITS)
    other_limits = peers.Row(row.method, _watched.Limits(seconds=10.0, megabytes=4000.0, cores=1))
    other_settings = peers.Case("spheres", 400, 3, eps=0.4, batch_size=200, batch_eps=0.6)
    keys = {row.key(SMALL), row.key(LARGER), other_limits.key(SMALL), row.key(other_settings)}
    assert len(keys) == 4


def figures_of(tmp_path, row, **options):
    results = _common.Results(tmp_path / "peers.jsonl")
    files = dict.fromkeys((SMALL, LARGER), tmp_path / "absent.npy")
    return peers.figures_of(row, files, results, **({"run": False, "again": False} | options))


def write_results(tmp_path, row, *found):
    results = _common.Results(tmp_path / "peers.jsonl")
    for case, figures in zip((SMALL, LARGER), found, strict=False):
        results.of(row.key(case), lambda: figures, again=True)  # noqa: B023 - called at once


def test_methods_that_are_not_run_have_the_figures_of_earlier_runs(tmp_path):
    row = peers.Row(peers.BY_NAME["KMeans"], LIMITS)
    assert figures_of(tmp_path, row) == [None, None]
    write_results(tmp_path, row, FIGURES)
    assert figures_of(tmp_path, row) == [FIGURES, None]


def test_the_latest_figures_count(tmp_path):
    row = peers.Row(peers.BY_NAME["KMeans"], LIMITS)
    write_results(tmp_path, row, FIGURES)
    write_results(tmp_path, row, FIGURES | {"seconds": 0.1})
    assert figures_of(tmp_path, row)[0]["seconds"] == 0.1


def test_a_method_that_gave_up_is_left_out_on_more_rows(tmp_path):
    row = peers.Row(peers.BY_NAME["KMeans"], LIMITS)
    gave_up = {"gave_up": "over 60 s", "error": ""}
    write_results(tmp_path, row, gave_up, FIGURES)
    assert figures_of(tmp_path, row, run=True) == [gave_up, peers.LEFT_OUT]


def test_all_methods_have_the_cores_that_were_asked_for():
    alone, together = (
        [row.title for row in peers.rows_of("spheres", replace(LIMITS, cores=n))] for n in (1, 4)
    )
    assert together == [f"{title}, 4 cores" for title in alone]
    assert "CoHiRF(DBSCAN)" in alone
    assert "CoHiRF.as_published(KMeans), 1 view" not in alone


def test_cells_show_figures_or_why_there_are_none():
    assert peers.cell(FIGURES) == "0.50 s, 300 MB, 0.25"
    assert peers.cell(FIGURES | {"ari": -0.0001}) == "0.50 s, 300 MB, 0.00"
    assert peers.cell({"gave_up": "over 4,000 MB", "error": ""}) == "over 4,000 MB"
    assert peers.cell(peers.LEFT_OUT) == "-"
    assert peers.cell(None) == "not run"


@pytest.mark.slow
def test_the_script_measures_and_writes_tables(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(peers.TABLES, "spheres", [SMALL])
    folders = {"--folder": "data", "--results": "results", "--write": "tables"}
    options = [word for name, folder in folders.items() for word in (name, str(tmp_path / folder))]
    peers.main(["--data", "spheres", "--methods", "DBSCAN", *options])
    shown = capsys.readouterr().out
    with (tmp_path / "tables/peers/spheres.csv").open(newline="") as file:
        header, *rows = csv.reader(file)
    assert header == ["method", "400 rows"]
    assert [row[0] for row in rows] == ["DBSCAN"]
    assert rows[0][1].endswith(" MB, 1.00")
    assert rows[0][1] in shown


@dataclass
class Sleeper:
    """A task that computes, allocates, fails or starts children."""

    kind: str

    def prepare(self):
        if self.kind == "fails early":
            raise ValueError("three features at most\nand more")

    def run(self):
        if self.kind == "computes":
            while True:
                pass
        if self.kind == "waits":
            time.sleep(60)
        if self.kind == "allocates":
            self.kept = [np.ones(10_000_000 // 8) for _ in range(100)]
            time.sleep(60)
        if self.kind == "fails":
            raise MemoryError
        if self.kind == "crashes":
            sys.exit(3)

    def result(self):
        return {"ari": 1.0}


def run(kind, seconds=60.0, megabytes=4000.0):
    return _watched.run_watched(Sleeper(kind), _watched.Limits(seconds, megabytes, cores=1))


@pytest.mark.slow
def test_a_task_gives_up_at_its_limits_and_at_errors():
    assert run("computes", seconds=0.5) == {"gave_up": "over 0.5 s", "error": ""}
    assert run("allocates", megabytes=500.0) == {"gave_up": "over 500 MB", "error": ""}
    assert run("fails early") == {"gave_up": "ValueError", "error": "three features at most"}
    assert run("fails") == {"gave_up": "MemoryError", "error": ""}
    assert run("crashes")["gave_up"] == "crashed"


@pytest.mark.slow
def test_a_task_without_a_processor_gives_up_by_the_clock_and_says_so(monkeypatch):
    monkeypatch.setattr(_watched, "PATIENCE", 2)
    assert run("waits", seconds=0.5) == {"gave_up": "over 1 s by the clock", "error": ""}


@pytest.mark.slow
def test_a_task_that_ends_has_time_peak_and_result():
    figures = run("ends")
    assert figures["seconds"] < 1
    assert figures["peak"] > 10e6
    assert figures["ari"] == 1.0
