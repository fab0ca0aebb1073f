"""Thirty days of one model through the program: do numbers, names, history and exit codes stay what
a person expects?

A shop has five kinds of customers. A model is fitted to the first of them, and each day
``cohirf drift`` and ``cohirf update`` get those of the day. Among the thirty days are an odd one,
with customers of a new kind; one without customers; one that comes in two files, which two
processes add at the same time; one on which a kind stays away; a merge with the model of another
site; and the day on which the odd one is forgotten.

    python -m benchmarks.faults.thirty_days [--out docs/results/updating/thirty_days.txt]

prints a line for each day on which something happened, and each fault that it found. The exit
status is 1 if there is one.
"""

from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks._common import make_parser, parse
from cohirf import CoHiRF, load
from cohirf.app.cli import main as program

COLUMNS = ["spend", "visits", "age"]
CENTRES = np.array([[100, 5, 30], [900, 5, 30], [100, 45, 30], [100, 5, 70], [900, 45, 70]])
NEW_KIND = np.array([5000, 300, 30])  # customers that are none: programs
SPREAD = np.array([40, 2, 3])
FIRST_ROWS = 600
DAY_ROWS = 200
SITE_ROWS = 400
ODD_ROWS = 40
ODD = 7
EMPTY = 12
TWO_FILES = 15
MERGED = 18
STAYS_AWAY = 22
FORGOTTEN = 25
LAST = 30
AWAY = 4  # the kind of customers that stays away on one day
# exit statuses of cohirf drift
NOTHING = 0
DRIFTED = 3
OF_A_NEW_KIND = 4


@dataclass(frozen=True)
class Day:
    """What a person sees on one day."""

    number: int
    what: str  # what is odd about the day
    drift: int | None  # exit status of cohirf drift; None if it was not asked
    n_rows: int  # of the model in the evening
    n_clusters: int
    said: tuple[str, ...]  # what the history says about clusters


@dataclass
class Month:
    """A model that goes on from day to day, and what it should be."""

    rng: np.random.Generator
    path: Path = Path("model.cohirf")
    kinds: list[int] = field(default_factory=list)  # kind of each row of the model, in order
    labels: Any = None  # number of the cluster of each row, as on the day before
    names: dict[int, str] = field(default_factory=dict)
    days: list[Day] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)

    def check(self, holds: bool, fault: str) -> None:
        """Note a fault."""
        if not holds:
            self.faults.append(f"day {len(self.days)}: {fault}")

    def write(self, name: str, kinds: list[int]) -> list[int]:
        """Write customers of the given kinds to a file."""
        centres = np.append(CENTRES, [NEW_KIND], axis=0)
        rows = centres[kinds].reshape(-1, 3) + SPREAD * self.rng.normal(size=(len(kinds), 3))
        pd.DataFrame(rows, columns=COLUMNS).to_csv(name, index=False)
        return kinds

    def compare(self, kept: Any = slice(None)) -> CoHiRF:
        """Load the model; no row may have another number than before, and no cluster another
        name.
        """
        model = load(self.path)
        before = self.labels[kept]
        self.check(
            len(model.labels_) == len(self.kinds),
            f"{len(model.labels_)} rows, not {len(self.kinds)}",
        )
        self.check(
            np.array_equal(model.labels_[: len(before)], before), "rows have changed their number"
        )
        same = {number: model.names_.get(number) for number in self.names}
        self.check(same == self.names, f"names have changed: {same}, before {self.names}")
        table = pd.crosstab(np.array(self.kinds), model.labels_[: len(self.kinds)]).to_numpy()
        self.check(
            bool(((table > 0).sum(axis=1) == 1).all()), "a kind of customers is in several clusters"
        )
        self.labels = model.labels_
        self.names = dict(model.names_)
        return model


def run_program(*arguments: object) -> tuple[int, str]:
    """Run the program in this process; return its exit status and what it printed."""
    printed = io.StringIO()
    with redirect_stdout(printed), redirect_stderr(io.StringIO()):
        status = program([str(one) for one in arguments])
    return status, printed.getvalue()


def usual_kinds(n_rows: int) -> list[int]:
    """Return customers of all usual kinds."""
    return [number % len(CENTRES) for number in range(n_rows)]


def kinds_of_day(number: int) -> list[int]:
    """Return the kinds of the customers of a day."""
    usual = usual_kinds(DAY_ROWS)
    if number == ODD:
        return usual + [len(CENTRES)] * ODD_ROWS
    if number == EMPTY:
        return []
    if number == STAYS_AWAY:
        return [kind for kind in usual if kind != AWAY]
    return usual


def add_two_files_at_once(month: Month) -> None:
    """Add the two halves of a day in two processes that start at the same time."""
    halves = [month.write(f"half{half}.csv", usual_kinds(DAY_ROWS // 2)) for half in (0, 1)]
    update = [sys.executable, "-m", "cohirf", "update", str(month.path)]
    together = [subprocess.Popen([*update, f"half{half}.csv", "--quiet"]) for half in (0, 1)]
    statuses = [process.wait() for process in together]
    month.check(statuses == [0, 0], f"exit statuses of two updates at once are {statuses}")
    month.kinds += [kind for half in halves for kind in half]


def merge_other_site(month: Month) -> None:
    """Merge the model with one that another site has fitted to its own customers."""
    kinds = month.write("site.csv", usual_kinds(SITE_ROWS))
    month.check(
        run_program("fit", "site.csv", "--clusters", 5, "--model", "site.cohirf")[0] == 0,
        "the site's fit",
    )
    both = Path("both.cohirf")
    status, _ = run_program("merge", month.path, "site.cohirf", "--model", both)
    month.check(status == 0, f"exit status of the merge is {status}")
    month.path = both
    month.kinds += kinds


def forget_odd_day(month: Month) -> Any:
    """Take the odd day out of the model again; return which of the rows stay."""
    rows = load(month.path)._state.summary.value.update_rows
    start = sum(rows[:ODD])
    stays = np.ones(len(month.kinds), dtype=bool)
    stays[start : start + rows[ODD]] = False
    status, _ = run_program("forget", month.path, ODD)
    month.check(status == 0, f"exit status of forget is {status}")
    month.kinds = [kind for kind, is_left in zip(month.kinds, stays, strict=True) if is_left]
    return stays


def expected_drift(number: int) -> int:
    """Return the exit status of cohirf drift that a person expects on a day."""
    return {ODD: OF_A_NEW_KIND, STAYS_AWAY: DRIFTED}.get(number, NOTHING)


def run_day(month: Month, number: int) -> None:
    """Go through one day."""
    kept: Any = slice(None)
    drift: int | None = None
    what = ""
    if number == TWO_FILES:
        what = "two files at once"
        add_two_files_at_once(month)
    elif number == MERGED:
        what = "merge with another site"
        merge_other_site(month)
    elif number == FORGOTTEN:
        what = f"day {ODD} is forgotten"
        kept = forget_odd_day(month)
    else:
        what = {ODD: "a new kind", EMPTY: "no customers", STAYS_AWAY: "a kind stays away"}.get(
            number, ""
        )
        kinds = month.write("day.csv", kinds_of_day(number))
        drift, _ = run_program("drift", month.path, "day.csv", "--json")
        month.check(drift == expected_drift(number), f"exit status of drift is {drift}")
        status, printed = run_program(
            "update", month.path, "day.csv", "--json", "--report", "page.html", "--force"
        )
        month.check(status == 0, f"exit status of update is {status}")
        is_untouched = json.loads(printed)["changes"] is None
        month.check(
            is_untouched == (number == EMPTY), "an empty day must leave the model, and no other day"
        )
        month.kinds += kinds
    model = month.compare(kept)
    changed = len(model.labels_) != month.days[-1].n_rows
    said = tuple(model.history_[-1].tell(model.names_)) if changed else ()
    month.days.append(Day(number, what, drift, len(model.labels_), model.n_clusters_, said))


def run_month() -> Month:
    """Run the thirty days in the current folder."""
    month = Month(np.random.default_rng(0))
    month.kinds = month.write("first.csv", usual_kinds(FIRST_ROWS))
    status, _ = run_program("fit", "first.csv", "--clusters", 5, "--model", month.path)
    month.check(status == 0, f"exit status of the fit is {status}")
    model = load(month.path)
    month.labels = model.labels_
    month.days.append(Day(0, "fit", None, len(model.labels_), model.n_clusters_, ()))
    for number in range(1, LAST + 1):
        run_day(month, number)
    check_end(month)
    return month


def check_end(month: Month) -> None:
    """Note what is wrong with the history and the page after the month."""
    model = load(month.path)
    added = sum(step.n_added for step in model.history_)
    month.check(
        added == len(model.labels_),
        f"the history counts {added} rows, and there are {len(model.labels_)}",
    )
    verbs = [step.verb for step in model.history_]
    month.check((verbs.count("merge"), verbs.count("forget")) == (1, 1), f"the history has {verbs}")
    page = Path("page.html").read_text(encoding="utf-8")
    named = [name for name in month.names.values() if name.split(",")[0] not in page]
    month.check(not named, f"the page does not show {named}")


def tell(month: Month) -> Iterator[str]:
    """Yield the lines of a table of the month, and its faults."""
    told = [
        day for day in month.days if day.what or day.drift or day.said or day.number in (1, LAST)
    ]
    yield f"{'day':>3}  {'drift':>5}  {'rows':>5}  {'clusters':>8}  what happened"
    for day in told:
        drift = "" if day.drift is None else day.drift
        yield f"{day.number:>3}  {drift:>5}  {day.n_rows:>5,}  {day.n_clusters:>8}  {day.what or 'as usual'}"
        for said in day.said:
            what, _, clusters = said.partition(": ")
            yield from (f"{'':27}{what}: {one}" for one in re.split(r", (?=\d)", clusters))
    yield ""
    yield f"{len(month.days) - len(told)} other days as usual: drift 0, and all clusters went on as they were"
    yield f"{len(month.faults)} faults"
    yield from month.faults


def main(argv: Sequence[str] | None = None) -> int:
    """Run the month and print what happened."""
    parser = make_parser(__doc__)
    parser.add_argument("--out", type=Path, help="also write the table to this file")
    options = parse(parser, argv)
    out = None if options.out is None else options.out.absolute()
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        month = run_month()
    text = "\n".join(tell(month))
    print(text)
    if out is not None:
        out.write_text(f"{text}{os.linesep}", encoding="utf-8")
    return int(bool(month.faults))


if __name__ == "__main__":
    sys.exit(main())
