"""Measure the figures that README.md and the pages show, and write them there.

    python -m benchmarks.figures --list               the commands, their files and their minutes
    python -m benchmarks.figures                      all of them, in this order
    python -m benchmarks.figures --only digits cost   those that write these files
    python -m benchmarks.figures --kind quality       those of quality, of the algorithm as
    published, or of speed

Each command writes its tables to docs/results, beginning anew without the results of earlier runs.
Then ``tools/figures.py`` writes the figures into the pages. docs/results/measured.csv says when
each command was run. ``pip install ".[peers]"`` installs the packages that we are compared with;
without them, their rows are missing. Texts are not written: read the pages that have changed,
because a sentence beside a figure can be wrong now.
"""

from __future__ import annotations

import argparse
import csv
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

import psutil
from joblib import cpu_count
from tools import figures

from benchmarks._common import PAGES, RESULTS, write_table

MEASURED = "measured"
HEADER = ["files", "command", "date", "machine", "processor minutes"]


@dataclass(frozen=True)
class Command:
    """A benchmark whose tables are on pages.

    Attributes
    ----------
    kind : str
        "quality" if its figures change with the rules for clusters and their number, "published" if
        they are about the algorithm of the paper, "speed" if they change with the machine.
    module : str
        Its module, below benchmarks.
    options : str
        Its options, without those that say where to write.
    files : tuple of str
        What it writes to docs/results, without ".csv".
    minutes : float
        Processor time on one core of the machine where it was last run; an estimate if it writes
        files that are older.
    keeps_results : bool
        Whether it has the option ``--results``.
    """

    kind: str
    module: str
    options: str
    files: tuple[str, ...]
    minutes: float
    keeps_results: bool = False

    @property
    def text(self) -> str:
        """Return what to type."""
        return " ".join(
            filter(None, ["python -m", f"benchmarks.{self.module}", self.options, "--write"])
        )

    def run(self, *, resume: bool) -> float:
        """Run it, and return the minutes of processor time that it took."""
        with tempfile.TemporaryDirectory() as fresh:
            words = [sys.executable, *shlex.split(self.text)[1:]]
            if self.keeps_results:
                words += ["--results", str(RESULTS) if resume else fresh]
            before = _seconds_of_children()
            subprocess.run(words, check=True)
            return (_seconds_of_children() - before) / 60


def _seconds_of_children() -> float:
    times = psutil.Process().cpu_times()
    return times.children_user + times.children_system


COMMANDS = (
    Command("quality", "quality.digits", "", ("digits",), 0.4),
    Command("quality", "quality.clustbench", "", ("suite", "suite_lost", "suite_sets"), 0.8),
    Command("quality", "quality.held_out", "", ("held_out",), 0.9),
    Command("quality", "quality.held_out", "--number", ("held_out_number",), 5),
    Command("quality", "quality.quick_iterations", "", ("quick_iterations",), 10),
    Command("quality", "quality.answers", "--batches 1", ("answers", "answers_sets"), 10, True),
    Command(
        "quality", "quality.answers", "--batches 8 40 --seeds 3", ("answers_in_batches",), 40, True
    ),
    Command("quality", "quality.choice", "", ("choice",), 3),
    Command("quality", "quality.choice", "--suite --seeds 1", ("choice_suite",), 1.5),
    Command("quality", "quality.rules", "--first 50000", ("rules", "rules_number"), 25),
    Command("quality", "quality.noise_features", "--defaults", ("noise",), 2, True),
    Command("quality", "quality.graphs", "--first 70000", ("graphs",), 15),
    Command("quality", "quality.cells", "", ("cells",), 2),
    Command("quality", "quality.eps", "", ("eps",), 0.3),
    Command("quality", "quality.tuning", "", ("tuning",), 0.5),
    Command("quality", "quality.diagnose", "--seeds 2", ("diagnose",), 8, True),
    Command(
        "quality",
        "quality.degrees",
        "--parts membership outliers",
        ("membership", "outliers", "outliers_held_out"),
        5,
    ),
    Command("quality", "quality.voting", "", ("voting", "voting_methods"), 30, True),
    Command("quality", "quality.ablation", "", ("ablation",), 25, True),
    Command(
        "quality",
        "quality.updates",
        "--tenths --sets pendigits satimage shuttle usps",
        ("updating/tenths",),
        3,
    ),
    Command("quality", "quality.updates", "", ("updating/ways", "updating/numbers"), 60, True),
    Command("quality", "quality.links", "", ("links",), 12),
    Command("quality", "quality.links", "--alone --rows 1000", ("links_alone",), 2),
    Command(
        "published", "quality.max_features", "", ("iris", "max_features", "max_features_sets"), 10
    ),
    Command("published", "quality.base_methods", "", ("base_methods",), 60, True),
    Command("published", "quality.options", "--seeds 5", ("options",), 120, True),
    Command(
        "published",
        "quality.weight_substitutes",
        "--bases Ward spectral GMM --seeds 2 --sets 7",
        ("weight_substitutes",),
        30,
        True,
    ),
    Command("published", "quality.noise_features", "", ("noise_hypercube",), 10, True),
    Command("published", "quality.noise_features", "--nuisance", ("noise_nuisance",), 15, True),
    Command("speed", "speed.answers", "--clusters 10 100", ("cost",), 8),
    Command("speed", "speed.clusterers", "--only cohirf", ("grid_dbscan_inside",), 0.6),
    Command(
        "speed", "speed.clusterers", "--only dbscan", ("grid_dbscan", "grid_dbscan_features"), 5
    ),
    Command("speed", "speed.voting", "", ("voting_cost",), 5),
    Command("speed", "speed.cores", "--jobs 1 16", ("cores",), 30),
    Command("speed", "speed.growth", "", ("growth",), 4),
    Command(
        "speed", "speed.density", "--seconds 240", ("density/dbscan", "density/hdbscan"), 40, True
    ),
    Command("speed", "speed.graphs", "", ("graph_speed",), 3),
    Command("speed", "speed.size_limits", "", ("size_limits",), 2),
    Command("speed", "speed.peers", "", ("peers/spheres", "peers/blobs", "peers/files"), 25, True),
    Command(
        "speed",
        "speed.peers",
        "--cores 2",
        ("peers/2_cores/spheres", "peers/2_cores/blobs", "peers/2_cores/files"),
        25,
        True,
    ),
)


def note(command: Command, minutes: float) -> None:
    """Write down when and where a command was run."""
    path = PAGES / f"{MEASURED}.csv"
    with path.open(newline="", encoding="utf-8") as file:
        _, *rows = csv.reader(file)
    by_command = {row[1]: row for row in rows}
    machine = f"{platform.machine()}, {cpu_count()} cores"
    by_command[command.text] = [
        " ".join(command.files),
        command.text,
        date.today().isoformat(),
        machine,
        f"{minutes:.1f}",
    ]
    write_table(
        PAGES,
        MEASURED,
        [HEADER, *(by_command[each.text] for each in COMMANDS if each.text in by_command)],
    )


def main(argv: Sequence[str] | None = None) -> None:
    """Run the commands that are asked for, and write the figures into the pages."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    names = [name for command in COMMANDS for name in command.files]
    parser.add_argument(
        "--only", nargs="+", choices=names, default=names, metavar="FILE", help=", ".join(names)
    )
    parser.add_argument(
        "--kind", choices=["quality", "published", "speed"], help="only commands of this kind"
    )
    parser.add_argument(
        "--resume", action="store_true", help="keep results of earlier runs, of the same code"
    )
    parser.add_argument("--list", action="store_true", help="only list the commands")
    arguments = parser.parse_args(argv)
    for command in COMMANDS:
        if not set(command.files) & set(arguments.only) or arguments.kind not in (
            None,
            command.kind,
        ):
            continue
        print(f"\n{command.text}\n{command.minutes:g} min: {', '.join(command.files)}", flush=True)
        if not arguments.list:
            note(command, command.run(resume=arguments.resume))
    if not arguments.list:
        figures.main([])


if __name__ == "__main__":
    main()
