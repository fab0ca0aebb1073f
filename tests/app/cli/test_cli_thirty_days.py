"""Thirty days of cohirf update: numbers, history and page are what a person expects.

Kills leave the model whole.
"""

import json
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

from cohirf import load

pytestmark = pytest.mark.slow

CENTRES = np.array([[0, 0, 0], [10, 0, 0], [0, 10, 0], [0, 0, 10], [10, 10, 10]])
RNG = np.random.default_rng(0)
# days
ODD = 7
EMPTY = 12
NEW_COLUMN = 17
HALF_GONE = 22


def write_day(day: int) -> list[int]:
    """Write the customers of a day, 600 for the first and 50 for each other.

    Return the segment of each.
    """
    segments = np.arange(600 if day == 0 else 50) % 5
    if day == EMPTY:
        segments = segments[:0]
    if day == HALF_GONE:  # of segment 4
        segments = np.delete(segments, np.flatnonzero(segments == 4)[::2])
    if day == ODD:
        segments = np.append(segments, np.full(40, 5))
    rows = np.append(CENTRES, [[60, 60, 60]], axis=0)[segments] + RNG.normal(
        size=(len(segments), 3)
    )
    table = pd.DataFrame(rows, columns=["spend", "visits", "age"])
    if day == NEW_COLUMN:
        table["shoe_size"] = RNG.normal(size=len(table))
    table.to_csv(f"day{day}.csv", index=False)
    return segments.tolist()


def kill_an_update(delay: float) -> None:
    """Start an update of the model with the rows of the fit, and kill it after a while."""
    update = [sys.executable, "-m", "cohirf", "update", "model.cohirf", "day0.csv", "--quiet"]
    with subprocess.Popen(update) as process:
        time.sleep(delay)
        process.send_signal(signal.SIGKILL)


def test_thirty_days(cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    segments = write_day(0)
    assert (
        cohirf("fit", "day0.csv", "--model", "model.cohirf", "--clusters", 5, "--quiet").code == 0
    )
    labels = load("model.cohirf").labels_
    for day in range(1, 31):
        arrived = write_day(day)
        if day % 10 == 5:
            kill_an_update(0.2 * day)
            n_before = len(labels)
            model = load("model.cohirf")
            if len(model.labels_) > n_before:  # it was done before it was killed
                assert (
                    cohirf(
                        "forget", "model.cohirf", len(model._state.summary.value.update_rows) - 1
                    ).code
                    == 0
                )
        drift = cohirf("drift", "model.cohirf", f"day{day}.csv", "--json") if day != EMPTY else None
        outcome = cohirf(
            "update", "model.cohirf", f"day{day}.csv", "--json", "--report", "page.html", "--force"
        )
        assert outcome.code == 0, outcome.err
        document = json.loads(outcome.out)
        segments += arrived
        model = load("model.cohirf")
        # no row changes its number
        np.testing.assert_array_equal(model.labels_[: len(labels)], labels)
        labels = model.labels_
        if day == EMPTY:
            assert document["changes"] is None
            continue
        changes = document["changes"]
        assert changes["n_moved"] == 0
        assert changes["born"] == ({"5": 40} if day == ODD else {})
        assert drift.code == (4 if day == ODD else 0)
        assert ("shoe_size" in outcome.err) == (day == NEW_COLUMN)
        assert model.n_clusters_ == (5 if day < ODD else 6)
    clusters = pd.crosstab(segments, labels).to_numpy()
    assert ((clusters > 0).sum(axis=1) == 1).all()  # each segment is one cluster
    assert [str(step) for step in model.history_ if str(step)] == ["new: 5"]
    assert sum(step.n_added for step in model.history_) == len(labels)
    page = (tmp_path / "page.html").read_text()
    assert "How the clusters changed" in page
    assert page.count("new: 5") >= 1
    outcome = cohirf(
        "forget", "model.cohirf", next(step.update for step in model.history_ if str(step))
    )
    assert outcome.code == 0
    assert "gone: 5" in outcome.out
    assert load("model.cohirf").n_clusters_ == 5


def test_a_month_with_two_updates_at_once_a_merge_of_two_sites_and_a_forget_has_no_fault(
    tmp_path, monkeypatch
):
    month_of = pytest.importorskip("benchmarks.faults.thirty_days")
    monkeypatch.chdir(tmp_path)
    month = month_of.run_month()
    assert month.faults == []
    days = {day.number: day for day in month.days}
    assert [day.drift for day in month.days if day.drift] == [4, 3]
    assert [days[number].n_clusters for number in (0, 7, 18, 25, 30)] == [5, 6, 6, 5, 5]
    assert days[12].n_rows == days[11].n_rows  # the empty day
    assert days[15].n_rows == days[14].n_rows + 200  # two files at once
    assert days[7].said == (f'new: 5 "{month.names[5]}"',)
    assert days[25].said == (f'gone: 5 "{month.names[5]}"',)
    assert "\n".join(month_of.tell(month)).endswith("0 faults")
