"""How long do DBSCAN and HDBSCAN take in local batches, with how much memory, and do they find what
they find alone?

    python -m benchmarks.speed.density                                    n = 2e4 to 2e7, all
    methods that are installed python -m benchmarks.speed.density --cores 1
    only on one core, not on all of them as well python -m benchmarks.speed.density --methods CoHiRF
    --again           measures ours again; others are in the file python -m benchmarks.speed.density
    --write                            writes the tables of the documentation

The data are shapes in two dimensions with a tenth of noise. DBSCAN has ``min_samples=10`` and a
radius of 30 / sqrt(n), so that a row has as many neighbours for any n. HDBSCAN has
``min_cluster_size = n // 200``, and its core distances are those of the tenth neighbour. CoHiRF
reads a .npy file, in local batches of 20,000 rows, or of 2,000 for n = 2e4; the other methods have
their rows in memory.

Each fit runs in a process of its own. On one core, seconds are processor time; on several, time by
the clock. The peak memory is that of the process with its children, packages and data. The index
with the truth has noise as one cluster; agreement is the index with the labels of the first method
in the table that could fit these rows, and "same noise" the share of rows that both call noise, or
neither. Packages are imported and kernels compiled before the clock starts. A method that passes a
limit of time or memory is not run on more rows.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from examples.synthetic import labels_file, make_shapes
from joblib import cpu_count
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import (
    Results,
    Table,
    add_results_option,
    add_write_option,
    make_parser,
    parse,
)
from benchmarks._watched import Limits, run_watched
from cohirf import CoHiRF, open_source
from cohirf.clusterers import GridDBSCAN

Figures = dict[str, Any]
SIZES = (20_000, 200_000, 2_000_000, 20_000_000)
REFERENCE = 200_000  # fits of fewer rows are too short to compare their time per row
COMPILE_ROWS = 2_000  # rows of the fit before the one that is measured
NEIGHBOURS = 10
COLUMNS = {
    "method": "<25",
    "cores": ">5",
    "rows": ">10,",
    "seconds": ">8.2f",
    "µs a row": ">8.2f",
    "/ at 2e5": ">8.2f",
    "peak MB": ">7,.0f",
    "ARI": ">6.3f",
    "agreement": ">9.4f",
    "same noise": ">10.6f",
}


# -- methods


def dbscan_settings(n: int) -> dict[str, Any]:
    return {"eps": 30 / n**0.5, "min_samples": NEIGHBOURS}


def hdbscan_settings(n: int) -> dict[str, Any]:
    return {"min_cluster_size": max(n // 200, 5), "min_samples": NEIGHBOURS}


def hdbscan_of_sklearn(n: int) -> HDBSCAN:
    # it counts the row itself
    return HDBSCAN(**hdbscan_settings(n) | {"min_samples": NEIGHBOURS + 1}, copy=True)


def from_package(module: str, name: str, settings: Callable[[int], dict[str, Any]], n: int) -> Any:
    return getattr(import_module(module), name)(**settings(n))


def in_batches(make: Callable[[int], Any], n: int) -> CoHiRF:
    return CoHiRF(make(n), batch_size=min(20_000, n // 10), random_state=0)


@dataclass(frozen=True)
class Method:
    """A row of the tables.

    Parameters
    ----------
    name : str
        Its title.
    make : callable
        Returns the estimator for a number of rows.
    package : str
        The package that it needs.
    is_parallel : bool
        Whether it is also run on several cores.
    is_compiled : bool
        Whether its kernels are compiled at their first use, and cached.
    """

    name: str
    make: Callable[[int], Any]
    package: str = "sklearn"
    is_parallel: bool = False
    is_compiled: bool = False

    @property
    def is_ours(self) -> bool:
        """Whether it runs in batches, and reads a file."""
        return self.name.startswith("CoHiRF")


def grid_dbscan(n: int) -> GridDBSCAN:
    return GridDBSCAN(**dbscan_settings(n))


def dbscan_of_sklearn(n: int) -> DBSCAN:
    return DBSCAN(**dbscan_settings(n))


TABLES = {
    "dbscan": (
        Method("DBSCAN", dbscan_of_sklearn),
        Method("GridDBSCAN", grid_dbscan, is_compiled=True),
        Method(
            "package dbscan",
            partial(from_package, "dbscan", "sklDBSCAN", dbscan_settings),
            "dbscan",
        ),
        Method("CoHiRF(DBSCAN)", partial(in_batches, dbscan_of_sklearn), is_parallel=True),
        Method(
            "CoHiRF(GridDBSCAN)",
            partial(in_batches, grid_dbscan),
            is_parallel=True,
            is_compiled=True,
        ),
    ),
    "hdbscan": (
        Method(
            "fast_hdbscan",
            partial(from_package, "fast_hdbscan", "HDBSCAN", hdbscan_settings),
            "fast_hdbscan",
            is_parallel=True,
            is_compiled=True,
        ),
        Method(
            "package hdbscan",
            partial(from_package, "hdbscan", "HDBSCAN", hdbscan_settings),
            "hdbscan",
        ),
        Method("HDBSCAN", hdbscan_of_sklearn),
        Method(
            "CoHiRF(HDBSCAN)",
            partial(in_batches, hdbscan_of_sklearn),
            is_parallel=True,
            is_compiled=True,
        ),
    ),
}
BY_NAME = {method.name: method for methods in TABLES.values() for method in methods}


# -- fits ----------------------------------------------------------------------------------------------------------


@dataclass
class Fit:
    """A method on a file, as a task for ``run_watched``.

    ``reference`` is a file with the labels of the first method that could fit these rows; if it is
    not there, this one is the first.
    """

    method: str
    n: int
    path: Path
    reference: Path
    cores: int

    def prepare(self) -> None:
        """Read the rows, if they are to be in memory, and fit a few of them, which imports and
        compiles.
        """
        warnings.simplefilter("ignore")
        method = BY_NAME[self.method]
        few = np.load(self.path, mmap_mode="r")[:COMPILE_ROWS].astype(np.float32)
        method.make(COMPILE_ROWS).fit_predict(few)
        self.X = open_source(self.path) if method.is_ours else np.load(self.path)
        self.model = method.make(self.n)
        if method.is_ours:
            self.model.set_params(n_jobs=self.cores)

    def run(self) -> None:
        """Fit all rows."""
        self.labels = self.model.fit_predict(self.X)

    def result(self) -> Figures:
        """Return the adjusted Rand index with the truth, and how far the labels are those of the
        reference.
        """
        labels = np.asarray(self.labels, dtype=np.int32)
        if not self.reference.exists():
            np.save(self.reference, labels)
        first = np.load(self.reference)
        return {
            "ari": adjusted_rand_score(np.load(labels_file(self.path)), labels),
            "agreement": adjusted_rand_score(first, labels),
            "noise": float(((labels < 0) == (first < 0)).mean()),
        }


class Compilation(Fit):
    """The preparation alone, which leaves compiled kernels in their cache."""

    def run(self) -> None:
        """Do nothing."""

    def result(self) -> Figures:
        """Return no figures."""
        return {}


def fit(method: Method, n: int, folder: Path, limits: Limits) -> Figures:
    """Fit a number of rows in a fresh process, and return the figures."""
    path = folder / f"shapes-{n}.npy"
    if not path.exists():
        X, y = make_shapes(n, random_state=0)
        np.save(labels_file(path), y)
        np.save(path, X.astype(np.float32))
    table = next(table for table, methods in TABLES.items() if method in methods)
    arguments = (method.name, n, path, folder / f"{table}-{n}.npy", limits.cores)
    if method.is_compiled:  # in another process: a compiler does not give all its memory back
        run_watched(Compilation(*arguments), limits)
    return run_watched(Fit(*arguments), limits)


# -- tables --------------------------------------------------------------------------------------------------------


def measure(methods: Sequence[Method], arguments: argparse.Namespace, results: Results) -> Table:
    """Print the figures of methods on all sizes as soon as they are known, and return the table."""
    table = Table(COLUMNS)
    machine = f"{platform.machine()}, {cpu_count()} cores"
    for method in methods:
        is_chosen = (
            method.name.startswith(tuple(arguments.methods))
            and find_spec(method.package) is not None
        )
        for cores in (
            arguments.cores if method.is_parallel else [n for n in arguments.cores if n == 1]
        ):
            limits = Limits(arguments.seconds, arguments.megabytes, cores)
            found: dict[int, Figures] = {}
            for n in (n for n in SIZES if n <= arguments.largest):
                key = (machine, method.name, n, cores, arguments.seconds, arguments.megabytes)
                if not is_chosen and key not in results.found:
                    continue
                run = partial(fit, method, n, arguments.folder, limits)
                found[n] = results.of(key, run, again=arguments.again and is_chosen)
                table.row(*row_of(method.name, cores, n, found))
                if "gave_up" in found[n]:
                    break
    return table


def row_of(name: str, cores: int, n: int, found: dict[int, Figures]) -> list[Any]:
    """Return the cells of a row; ``found`` has the figures of each number of rows."""
    figures = found[n]
    if "gave_up" in figures:
        return [name, cores, n, figures["gave_up"], *["-"] * (len(COLUMNS) - 4)]
    per_row = figures["seconds"] / n
    ratio = (
        per_row / (found[REFERENCE]["seconds"] / REFERENCE)
        if n >= REFERENCE and REFERENCE in found
        else "-"
    )
    quality = (figures["ari"], figures["agreement"], figures["noise"])
    return [
        name,
        cores,
        n,
        figures["seconds"],
        1e6 * per_row,
        ratio,
        figures["peak"] / 1e6,
        *quality,
    ]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument(
        "--data", nargs="+", choices=TABLES, default=list(TABLES), help="which tables"
    )
    parser.add_argument(
        "--methods",
        nargs="+",
        default=[""],
        metavar="NAME",
        help="those whose names begin with this",
    )
    parser.add_argument(
        "--again", action="store_true", help="run these methods even if they have results"
    )
    parser.add_argument("--largest", type=float, default=SIZES[-1], help="leave out larger data")
    parser.add_argument(
        "--cores", nargs="+", type=int, default=sorted({1, cpu_count()}), help="numbers of cores"
    )
    parser.add_argument(
        "--seconds", type=float, default=300.0, help="a method gives up after so many seconds"
    )
    parser.add_argument(
        "--megabytes", type=float, default=8000.0, help="a method gives up if it takes more memory"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path(tempfile.gettempdir()) / "cohirf-density",
        help="for data",
    )
    add_results_option(parser)
    add_write_option(parser)
    arguments = parse(parser, argv, largest=20_000, seconds=30.0)
    arguments.folder.mkdir(exist_ok=True, parents=True)
    results = Results(arguments.results / "density.jsonl")
    for name in arguments.data:
        print(f"\n{name}")
        measure(TABLES[name], arguments, results).write(arguments.write, f"density/{name}")


if __name__ == "__main__":
    main()
