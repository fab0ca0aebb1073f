"""The benchmarks of updates: which rows are counted as moved, the order of labels, tables, and
random sequences.
"""

import csv

import numpy as np
import pytest
from sklearn.base import BaseEstimator

_common = pytest.importorskip("benchmarks._common")
sequences = pytest.importorskip("benchmarks.faults.update_sequences")
updates = pytest.importorskip("benchmarks.quality.updates")


class Scripted(BaseEstimator):
    """Gives the rows so far the labels that are in a list, one entry for each update."""

    def __init__(self, script):
        self.script = script
        self.n_updates = 0

    def partial_fit(self, X):
        self.labels_ = np.array(self.script[self.n_updates])
        self.n_updates += 1
        return self


def update(*script):
    return updates.update_in_parts(Scripted(script), np.zeros((len(script[-1]), 1)), len(script))


def test_older_rows_with_another_number_or_none_have_moved():
    assert update([0, 1], [0, 2, 5, 5]).moved == [0.5]
    assert update([0, 1], [0, -1, 5, 5]).moved == [0.5]


def test_rows_that_were_noise_and_new_rows_have_not_moved():
    assert update([0, -1], [0, 3, 1, 1], [0, 3, 1, 1, 2, 2]).moved == [0.0, 0.0]


class FirstFeature(BaseEstimator):
    """The label of a row is its first value."""

    def partial_fit(self, X):
        return self

    def predict(self, X):
        return X[:, 0].astype(int)


def test_labels_of_sorted_updates_are_in_the_order_of_the_rows():
    y = np.array([2, 0, 1, 0, 2, 1])
    case = updates.Case(np.arange(6.0)[:, None], y)
    assert updates.update_by_class(FirstFeature(), case, 3).labels.tolist() == [0, 1, 2, 3, 4, 5]


@pytest.mark.parametrize(
    ("moved", "verdict"),
    [([0.0, 0.01], "in each update"), ([0.0, 0.02], "on average"), ([0.0, 0.03], "no")],
)
def test_the_verdict_is_about_one_percent_of_the_older_rows(moved, verdict):
    assert updates.judge(np.array(moved)) == verdict


def test_tables_have_the_results_of_earlier_runs_and_nothing_for_what_was_not_run(tmp_path, capsys):
    results = _common.Results(tmp_path / "updates.jsonl")
    figures = {"classes": 0.5, "fit": 0.25, "moved": [0.0, 0.03], "seconds": 2.0}
    for way in ("fit", "100"):
        results.of(("shapes", "Birch", way), lambda: figures)
    updates.main(["--methods", "--results", str(tmp_path), "--write", str(tmp_path)])
    with (tmp_path / "updating/ways.csv").open(newline="") as file:
        (indices,) = csv.DictReader(file)
    with (tmp_path / "updating/numbers.csv").open(newline="") as file:
        (numbers,) = csv.DictReader(file)
    assert [indices[way] for way in ("fit", "10", "100", "update, s")] == [
        "0.50",
        "",
        "0.50/0.25",
        "0.020",
    ]
    assert (numbers["mean"], numbers["above 1 %"], numbers["at most 1 %"]) == ("1.50%", "1", "no")
    assert "Birch" in capsys.readouterr().out


@pytest.mark.parametrize(
    "number", [0, 1, 2, *(pytest.param(n, marks=pytest.mark.slow) for n in range(3, 8))]
)
def test_a_random_sequence_of_updates_leaves_a_whole_model(number):
    tally = sequences.Tally()
    sequences.run_sequence(number, tally)
    assert tally.broken == {}
    assert sum(tally.steps.values()) > 0


def test_a_sequence_that_breaks_a_model_is_noted(monkeypatch):
    monkeypatch.setattr(sequences, "count_moved", lambda before, after: -1)
    tally = sequences.Tally()
    for number in range(4):
        sequences.run_sequence(number, tally)
    assert any("n_moved is" in what for what in tally.broken.values())
