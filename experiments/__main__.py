"""Run an experiment: ``python -m experiments iris --budget full``.

What was computed before is not computed again.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from experiments import (
    authors,
    hypercube_noise,
    hypercube_size,
    silhouette_sample,
    spheres,
    trial_seeds,
)
from experiments.budgets import BUDGETS
from experiments.cells import Cell, results_of, run_cells
from experiments.keeping import is_kept, pack, unpack
from experiments.methods import BASES, VARIANTS
from experiments.paper import METRICS
from experiments.peak_memory import peak_of
from experiments.real_tables import TABLES
from experiments.tables import write_results

RESULTS = Path(__file__).parent / "results"
FIGURES = {
    "hypercube_noise": hypercube_noise.run,
    "hypercube_size": hypercube_size.run,
    "spheres": spheres.run,
    "trial_seeds": trial_seeds.run,
    "silhouette_sample": silhouette_sample.run,
}
AS_AUTHORS = "authors"
NAMES = (AS_AUTHORS, *TABLES, *FIGURES)


def main() -> None:
    """Run what the command line names."""
    arguments = parse()
    folder = arguments.out / arguments.budget
    unpack(folder / "cells")
    for name in NAMES if arguments.name == "all" else [arguments.name]:
        if name in TABLES:
            run_table(name, folder, arguments)
        elif name == AS_AUTHORS:
            options = {
                "only_kept": arguments.write,
                "n_jobs": arguments.n_jobs,
                "metrics": arguments.metrics,
                "data": arguments.data,
                "bases": arguments.bases,
                "variants": arguments.variants,
                "n_seeds": arguments.seeds,
                "drawn": arguments.drawn,
                "gpu": arguments.gpu,
            }
            authors.run(arguments.budget, folder, say, **options)
        else:
            FIGURES[name](arguments.budget, folder, say, only_kept=arguments.write)
        say(f"written to {folder / name}.md")
        pack(folder / "cells")


def run_table(name: str, folder: Path, arguments: argparse.Namespace) -> None:
    """Tune the rows of a table, all or some of them, and write what there is of it."""
    cells = list(TABLES[name].cells(BUDGETS[arguments.budget]))
    chosen = [
        cell
        for cell in cells
        if (not arguments.bases or cell.base in arguments.bases)
        and (not arguments.metrics or cell.metric in arguments.metrics)
    ]
    if not arguments.write:
        run_cells(chosen, folder / "cells", arguments.n_jobs, say)
    results = results_of(cells, folder / "cells")
    if not results:
        raise SystemExit(f"{folder / 'cells'} has no results for {name}: leave --write out.")
    peaks = {
        (cell.data, cell.base, cell.variant): peak_of(
            cell, folder / "cells", may_fit=not arguments.write
        )
        for cell in cells
        if is_measured(cell) and is_kept(folder / "cells", cell.about())
    }
    command = f"python -m experiments {name} --budget {arguments.budget}"
    write_results(name, results, peaks, folder, TABLES[name].heading, command)


def is_measured(cell: Cell) -> bool:
    """Tell whether the memory of a row is that of this cell."""
    return cell.metric == "ari" and cell.seed == 0


def parse() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(prog="python -m experiments", description=__doc__)
    parser.add_argument("name", choices=["all", *NAMES])
    parser.add_argument(
        "--budget",
        choices=BUDGETS,
        default="small",
        help="small: 3 trials, 2 seeds, 300 rows; full: 60, 5 and all",
    )
    parser.add_argument("--bases", nargs="*", choices=BASES, help="tune these base methods only")
    parser.add_argument("--metrics", nargs="*", choices=METRICS, help="tune for these metrics only")
    parser.add_argument(
        "--data", nargs="*", choices=authors.SIZES, help="of authors, search these data sets only"
    )
    parser.add_argument(
        "--variants", nargs="*", choices=VARIANTS, help="of authors, search these variants only"
    )
    parser.add_argument("--seeds", type=int, help="of authors, search with as many seeds")
    parser.add_argument(
        "--gpu", action="store_true", help="of authors, fuse graphs on a GPU: needs nvcc"
    )
    parser.add_argument(
        "--drawn",
        action="store_true",
        help="of authors, search with the draws and medoids of the authors' program",
    )
    parser.add_argument(
        "--write", action="store_true", help="write what there is, and compute nothing"
    )
    parser.add_argument("--n-jobs", type=int, default=1, help="how many cells at the same time")
    parser.add_argument("--out", type=Path, default=RESULTS)
    return parser.parse_args()


def say(line: str) -> None:
    """Write a line to the log."""
    print(line, file=sys.stderr, flush=True)  # noqa: T201 - a program, not the library


if __name__ == "__main__":
    main()
