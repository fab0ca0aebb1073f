"""Run an experiment: ``python -m experiments iris --budget full``. What was computed before is not computed again."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments import hypercube_noise, hypercube_size, spheres
from experiments.cells import run_cells
from experiments.methods import BASES
from experiments.paper import METRICS
from experiments.real_tables import TABLES
from experiments.tables import write_results

RESULTS = Path(__file__).parent / "results"
FIGURES = {
    "hypercube_noise": hypercube_noise.run,
    "hypercube_size": hypercube_size.run,
    "spheres": spheres.run,
}
BUDGETS = {"small": (4, 2), "full": (60, 5)}  # trials and seeds


def main() -> None:
    """Run what the command line names."""
    arguments = parse()
    n_trials, n_seeds = BUDGETS[arguments.budget]
    folder = arguments.out / arguments.budget
    folder.mkdir(parents=True, exist_ok=True)
    for name in [*TABLES, *FIGURES] if arguments.name == "all" else [arguments.name]:
        if name in TABLES:
            written = run_table(name, n_trials, n_seeds, folder, arguments)
        else:
            written = name
            FIGURES[name](arguments.budget, n_trials, n_seeds, folder, say)
        say(f"written to {folder / written}.md")


def run_table(name: str, n_trials: int, n_seeds: int, folder: Path, arguments: argparse.Namespace) -> str:
    """Tune the rows of a table, all or some of them, write it, and return its name."""
    cells = [
        cell
        for cell in TABLES[name].cells(n_trials, n_seeds)
        if (not arguments.bases or cell.base in arguments.bases)
        and (not arguments.metrics or cell.metric in arguments.metrics)
    ]
    results = run_cells(cells, folder / "cells", arguments.n_jobs, say)
    command = f"python -m experiments {name} --budget {arguments.budget}"
    part = [*(arguments.bases or []), *(arguments.metrics or [])]  # what is no whole table has a file of its own
    written = "_".join([name, *part]).replace(" ", "-")
    write_results(written, results, folder, TABLES[name].heading, command)
    return written


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=["all", *TABLES, *FIGURES])
    parser.add_argument(
        "--budget", choices=BUDGETS, default="small", help="small: 4 trials and 2 seeds; full: 60 and 5"
    )
    parser.add_argument("--bases", nargs="*", choices=BASES, help="of a table, these base methods only")
    parser.add_argument("--metrics", nargs="*", choices=METRICS, help="of a table, these metrics only")
    parser.add_argument("--n-jobs", type=int, default=1, help="how many cells at the same time")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def say(line: str) -> None:
    """Write a line to the log."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a program, not the library


if __name__ == "__main__":
    main()
