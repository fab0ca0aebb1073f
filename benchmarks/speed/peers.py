"""How do other clustering methods compare with ours, in time, memory and quality, up to the size
where each gives up?

    python -m benchmarks.speed.peers                                  all methods that are installed
    python -m benchmarks.speed.peers --methods cohirf --again         measures ours again; others
    are in the file python -m benchmarks.speed.peers --write                          writes the
    tables of the documentation

``pip install ".[peers]"`` installs the other packages. Each fit runs in a process of its own, on
one core or on ``--cores``. A cell shows seconds (processor time on one core, time by the clock on
several), the peak memory of the process with its children, packages and data, and the adjusted Rand
index with the true classes, where noise counts as one cluster. Packages are imported, data is read
and kernels are compiled before the clock starts. A method that passes a limit of time or memory is
not run on more rows of the same data.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from operator import attrgetter
from pathlib import Path
from typing import Any

import numpy as np
from examples.synthetic import labels_file, write_data
from joblib import cpu_count
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import (
    Results,
    Table,
    add_results_option,
    add_write_option,
    make_parser,
    parse,
    read_file,
    write_table,
)
from benchmarks._watched import Limits, run_watched
from cohirf.clusterers import GridDBSCAN

Figures = dict[str, Any]
LEFT_OUT: Figures = {"gave_up": "-", "error": ""}
OURS = "cohirf"
COHIRF = "cohirf:CoHiRF.as_published"
MIN_SAMPLES = 5
K_MEANS_BATCH = 10_000
# rows of the fit before the one that is measured; our DBSCAN loads its kernels from 2,000 rows on
COMPILE_ROWS = 4_000


# -- data ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """A data set of one size, and what a user knows about it.

    Parameters
    ----------
    data : str
        "spheres" and "blobs" are drawn, others are files; see ``prepare``.
    rows : int
        Number of rows.
    n_clusters : int
        True number of classes.
    eps : float
        Radius for DBSCAN on all rows.
    batch_size : int
        Rows for DBSCAN in CoHiRF.
    batch_eps : float
        Radius for DBSCAN on that many rows, which lie farther apart.
    """

    data: str
    rows: int
    n_clusters: int
    eps: float
    batch_size: int
    batch_eps: float

    @property
    def title(self) -> str:
        """Return the title of its column; only tables of drawn data are about one data set."""
        return f"{self.rows:,} rows" if self.data in DRAWN else f"{self.data}, {self.rows:,} rows"

    @property
    def min_cluster_size(self) -> int:
        """Return the smallest cluster that HDBSCAN reports: a hundredth of the rows."""
        return max(self.rows // 100, MIN_SAMPLES)


# eps: on the spheres, rows have from 60 to 250 neighbours; on blobs, nearly all rows have five. On
# files, it is the percentile (50, 75, 90, 95 or 99) of the distance to the fifth neighbour with
# which DBSCAN has the highest ARI.
TABLES = {
    "spheres": [
        Case("spheres", 20_000, 2, eps=0.1, batch_size=2_000, batch_eps=0.2),
        Case("spheres", 200_000, 2, eps=0.05, batch_size=20_000, batch_eps=0.2),
        Case("spheres", 2_000_000, 2, eps=0.02, batch_size=20_000, batch_eps=0.2),
        Case("spheres", 20_000_000, 2, eps=0.01, batch_size=20_000, batch_eps=0.2),
    ],
    "blobs": [
        Case("blobs", 20_000, 10, eps=9.0, batch_size=2_000, batch_eps=10.0),
        Case("blobs", 200_000, 10, eps=9.0, batch_size=2_000, batch_eps=10.0),
        Case("blobs", 2_000_000, 10, eps=9.0, batch_size=2_000, batch_eps=10.0),
    ],
    "files": [
        Case("shuttle", 58_000, 7, eps=0.25, batch_size=20_000, batch_eps=0.375),
        Case("pendigits", 10_992, 10, eps=1.08, batch_size=5_000, batch_eps=0.98),
    ],
}
DRAWN = {
    "spheres": partial(write_data, "spheres"),
    "blobs": partial(write_data, "blobs", n_clusters=10, n_features=50),
}


def prepare_all(cases: Iterable[Case], folder: Path) -> dict[Case, Path]:
    """Return a file with the rows of each case; cases whose data is not here are left out."""
    folder.mkdir(exist_ok=True, parents=True)
    return {case: path for case in cases if (path := prepare(case, folder))}


def prepare(case: Case, folder: Path) -> Path | None:
    """Return a file with the rows of a case as float32, its classes beside it.

    None if there is no such data here.
    """
    path = folder / f"{case.data}-{case.rows}.npy"
    if path.exists():
        return path
    if case.data in DRAWN:
        DRAWN[case.data](path, case.rows, random_state=0)
        return path
    data = read_file(case.data)
    if data is None:
        return None
    X, y = data
    np.save(labels_file(path), np.unique(y, return_inverse=True)[1])
    # some packages do not accept other orders
    np.save(path, np.ascontiguousarray(X, dtype=np.float32))
    return path


# -- methods


class FaissKMeans:
    """K-Means of faiss, with the interface of scikit-learn."""

    def __init__(self, n_clusters: int, seed: int) -> None:
        self.n_clusters = n_clusters
        self.seed = seed

    def fit_predict(self, X: np.ndarray) -> np.ndarray:
        """Cluster the rows."""
        import faiss

        model = faiss.Kmeans(X.shape[1], self.n_clusters, seed=self.seed)
        model.train(X)
        return model.index.search(X, 1)[1].ravel()


class QuickTreeHDBSCAN:
    """HDBSCAN whose spanning tree is of quitefastmst, and whose clusters scikit-learn finds in it."""

    def __init__(self, min_cluster_size: int, min_samples: int) -> None:
        self.min_cluster_size = min_cluster_size
        self.min_samples = min_samples

    def fit_predict(self, X: np.ndarray) -> np.ndarray:
        """Cluster the rows."""
        from quitefastmst import mst_euclid
        from sklearn.cluster._hdbscan._linkage import MST_edge_dtype, make_single_linkage
        from sklearn.cluster._hdbscan._tree import tree_to_labels

        # scikit-learn counts the row itself among its neighbours, this package does not
        found = mst_euclid(np.ascontiguousarray(X, dtype=np.float64), M=self.min_samples - 1)
        lengths, ends = found[:2]
        order = np.argsort(lengths, kind="stable")
        tree = np.empty(len(lengths), dtype=MST_edge_dtype)
        tree["current_node"], tree["next_node"] = ends[order].T
        tree["distance"] = lengths[order]
        merges = make_single_linkage(tree)
        labels, _ = tree_to_labels(merges, self.min_cluster_size, "eom", False, 0.0, None)
        return labels


@dataclass(frozen=True)
class Method:
    """A row of the tables.

    Parameters
    ----------
    name : str
        Its title.
    package : str
        The package to install.
    path : str
        Module and class, "module:Class", with the method ``fit_predict``.
    settings : callable
        Returns the parameters of the class for a case and a number of cores. Others are at their
        defaults.
    tables : tuple of str
        The tables it is in; by default all.
    is_compiled : bool
        Whether its kernels are compiled at their first use, and cached.
    """

    name: str
    package: str
    path: str
    settings: Callable[[Case, int], dict[str, Any]]
    tables: tuple[str, ...] = tuple(TABLES)
    is_compiled: bool = False

    def make(self, case: Case, cores: int) -> Any:
        """Return the estimator for a case."""
        module, name = self.path.split(":")
        return attrgetter(name)(import_module(module))(**self.settings(case, cores))

    def installed_version(self) -> str | None:
        """Return the version of the package, or None."""
        try:
            return version(self.package)
        except PackageNotFoundError:
            return None


def hdbscan_settings(case: Case, jobs: dict[str, int]) -> dict[str, Any]:
    return {"min_cluster_size": case.min_cluster_size, "min_samples": MIN_SAMPLES} | jobs


def k_means_settings(case: Case) -> dict[str, Any]:
    return {"n_clusters": case.n_clusters, "random_state": 0}


def dbscan_settings(case: Case) -> dict[str, Any]:
    return {"eps": case.eps, "min_samples": MIN_SAMPLES}


def batches_of_k_means(case: Case, cores: int, **options: Any) -> dict[str, Any]:
    """Return the parameters of CoHiRF around K-Means.

    Weights as our documentation recommends for K-Means.
    """
    shared = {
        "medoid_weights": True,
        "batch_size": K_MEANS_BATCH,
        "n_jobs": cores,
        "random_state": 0,
    }
    return {"estimator": KMeans(case.n_clusters, n_init=1)} | shared | options


def batches_of_dbscan(case: Case, cores: int) -> dict[str, Any]:
    base = GridDBSCAN(eps=case.batch_eps, min_samples=MIN_SAMPLES)
    shared = {"batch_size": case.batch_size, "n_jobs": cores, "random_state": 0}
    return {"estimator": base, "views": 1, "min_cluster_size": 2, "batches": "random"} | shared


def cohirf_of_dbscan(case: Case, cores: int) -> dict[str, Any]:
    """Return the parameters of CoHiRF around DBSCAN, which it computes itself, with the radius of
    all rows.
    """
    return {"estimator": DBSCAN(**dbscan_settings(case)), "n_jobs": cores, "random_state": 0}


def batches_of_hdbscan(case: Case, cores: int) -> dict[str, Any]:
    """Return the parameters of CoHiRF around HDBSCAN, whose spanning trees it computes, in batches
    of its own size.
    """
    base = HDBSCAN(**hdbscan_settings(case, {}), copy=True)
    return {
        "estimator": base,
        "batch_size": max(2, case.rows // 2),
        "n_jobs": cores,
        "random_state": 0,
    }


METHODS = (
    Method(
        "KMeans", "scikit-learn", "sklearn.cluster:KMeans", lambda case, _: k_means_settings(case)
    ),
    Method(
        "MiniBatchKMeans",
        "scikit-learn",
        "sklearn.cluster:MiniBatchKMeans",
        lambda case, _: k_means_settings(case),
    ),
    Method(
        "faiss Kmeans",
        "faiss-cpu",
        "benchmarks.speed.peers:FaissKMeans",
        lambda case, _: {"n_clusters": case.n_clusters, "seed": 0},
    ),
    Method(
        "DBSCAN",
        "scikit-learn",
        "sklearn.cluster:DBSCAN",
        lambda case, cores: dbscan_settings(case) | {"n_jobs": cores},
    ),
    Method("package dbscan", "dbscan", "dbscan:sklDBSCAN", lambda case, _: dbscan_settings(case)),
    Method(
        "HDBSCAN",
        "scikit-learn",
        "sklearn.cluster:HDBSCAN",
        lambda case, cores: hdbscan_settings(case, {"n_jobs": cores, "copy": True}),
    ),
    Method(
        "package hdbscan",
        "hdbscan",
        "hdbscan:HDBSCAN",
        lambda case, cores: hdbscan_settings(case, {"core_dist_n_jobs": cores}),
    ),
    Method(
        "fast_hdbscan",
        "fast-hdbscan",
        "fast_hdbscan:HDBSCAN",
        lambda case, _: hdbscan_settings(case, {}),
        is_compiled=True,
    ),
    Method(
        "hdbscan-rs", "hdbscan-rs", "hdbscan_rs:HDBSCAN", lambda case, _: hdbscan_settings(case, {})
    ),
    Method(
        "HDBSCAN of quitefastmst",
        "quitefastmst",
        "benchmarks.speed.peers:QuickTreeHDBSCAN",
        lambda case, _: hdbscan_settings(case, {}),
    ),
    Method(
        "genieclust",
        "genieclust",
        "genieclust:Genie",
        lambda case, _: {"n_clusters": case.n_clusters},
    ),
    Method(
        "lumbermark",
        "lumbermark",
        "lumbermark:Lumbermark",
        lambda case, _: {"n_clusters": case.n_clusters},
    ),
    Method(
        "GridDBSCAN",
        OURS,
        "cohirf.clusterers:GridDBSCAN",
        lambda case, _: dbscan_settings(case),
        is_compiled=True,
    ),
    Method("CoHiRF(DBSCAN)", OURS, "cohirf:CoHiRF", cohirf_of_dbscan, is_compiled=True),
    Method("CoHiRF(HDBSCAN)", OURS, "cohirf:CoHiRF", batches_of_hdbscan, is_compiled=True),
    Method(
        "CoHiRF(KMeans)",
        OURS,
        "cohirf:CoHiRF",
        lambda case, cores: {"n_clusters": case.n_clusters, "n_jobs": cores, "random_state": 0},
        is_compiled=True,
    ),
    Method("CoHiRF.as_published(GridDBSCAN)", OURS, COHIRF, batches_of_dbscan, is_compiled=True),
    Method(
        "CoHiRF.as_published(KMeans), 1 view",
        OURS,
        COHIRF,
        lambda case, cores: batches_of_k_means(case, cores, views=1),
        tables=("blobs", "files"),
    ),
    Method(
        "CoHiRF.as_published(KMeans), 10 views",
        OURS,
        COHIRF,
        lambda case, cores: batches_of_k_means(case, cores, views=10, consensus="majority"),
        tables=("blobs", "files"),
    ),
)
BY_NAME = {method.name: method for method in METHODS}


# -- fits ----------------------------------------------------------------------------------------------------------


@dataclass
class Fit:
    """A method on a case, as a task for ``run_watched``."""

    method: str
    case: Case
    path: Path
    cores: int

    def prepare(self) -> None:
        """Read the rows, and fit a few of them, which imports and compiles."""
        warnings.simplefilter("ignore")
        self.X = np.load(self.path)
        # few rows are farther apart, and are all noise
        eps = self.case.eps * (self.case.rows / COMPILE_ROWS) ** 0.5
        few = replace(self.case, rows=COMPILE_ROWS, batch_size=COMPILE_ROWS // 2, eps=eps)
        BY_NAME[self.method].make(few, 1).fit_predict(self.X[:COMPILE_ROWS])
        self.model = BY_NAME[self.method].make(self.case, self.cores)

    def run(self) -> None:
        """Fit all rows."""
        self.labels = self.model.fit_predict(self.X)

    def result(self) -> dict[str, float]:
        """Return the adjusted Rand index with the classes."""
        return {"ari": adjusted_rand_score(np.load(labels_file(self.path)), self.labels)}


class Compilation(Fit):
    """The preparation alone, which leaves compiled kernels in their cache."""

    def run(self) -> None:
        """Do nothing."""

    def result(self) -> dict[str, float]:
        """Return no figures."""
        return {}


@dataclass(frozen=True)
class Row:
    """A method on a number of cores."""

    method: Method
    limits: Limits

    @property
    def title(self) -> str:
        """Return the name of the method, and its cores unless it has one."""
        return self.method.name + (f", {self.limits.cores} cores" if self.limits.cores > 1 else "")

    def key(self, case: Case) -> tuple[Any, ...]:
        """Return what figures are found by: other machines, limits and settings have other
        figures.
        """
        machine = f"{platform.machine()}, {cpu_count()} cores"
        limits = (self.limits.cores, self.limits.seconds, self.limits.megabytes)
        settings = self.method.settings(case, self.limits.cores)
        return (machine, case.data, case.rows, self.method.name, *limits, str(settings))

    def run(self, case: Case, path: Path) -> Figures:
        """Fit a case and return its figures."""
        arguments = (self.method.name, case, path, self.limits.cores)
        # in another process: a compiler does not give all its memory back
        if self.method.is_compiled:
            run_watched(Compilation(*arguments), self.limits)
        return run_watched(Fit(*arguments), self.limits)


def rows_of(table: str, limits: Limits) -> Iterator[Row]:
    """Yield the rows of a table: each method with these limits."""
    return (Row(method, limits) for method in METHODS if table in method.tables)


def figures_of(
    row: Row, files: dict[Case, Path], results: Results, *, run: bool, again: bool
) -> list[Figures | None]:
    """Return the figures of a method on each case, from earlier results or from a new run.

    None if there are none.

    Once a method has given up on a data set, it is not run on more rows, and the figures are
    ``LEFT_OUT``.
    """
    found: list[Figures | None] = []
    gave_up_on: set[str] = set()
    for case, path in files.items():
        key = row.key(case)
        if case.data in gave_up_on:
            found.append(LEFT_OUT)
        elif run or key in results.found:
            found.append(results.of(key, partial(row.run, case, path), again=again and run))
            if "gave_up" in found[-1]:
                gave_up_on.add(case.data)
        else:
            found.append(None)
    return found


# -- tables --------------------------------------------------------------------------------------------------------


def cell(figures: Figures | None) -> str:
    """Return the text of a cell: seconds, peak memory and adjusted Rand index, or why there are
    none.
    """
    if figures is None:
        return "not run"
    if "gave_up" in figures:
        return figures["gave_up"]
    ari = round(figures["ari"], 2) + 0.0  # not -0.00
    return f"{figures['seconds']:.2f} s, {figures['peak'] / 1e6:,.0f} MB, {ari:.2f}"


def print_table(
    titles: Sequence[str], rows: Iterable[tuple[str, list[Figures | None]]]
) -> list[list[str]]:
    """Print rows as soon as they are known, then the messages of errors.

    Return the cells with the header.
    """
    table = Table({"method": "<34"} | dict.fromkeys(titles, ">28"))
    cells = [["method", *titles]]
    errors = []
    for title, found in rows:
        if not any(found):
            continue
        cells.append([title, *map(cell, found)])
        table.row(*cells[-1])
        errors += [
            f"{title}: {each['gave_up']}: {each['error']}"
            for each in found
            if each and each.get("error")
        ]
    for error in errors:
        print(error)
    return cells


def print_packages() -> None:
    """Print the versions of the packages, and which are not installed."""
    versions = {method.package: method.installed_version() for method in METHODS}
    print(", ".join(f"{package} {found}" for package, found in versions.items() if found))
    missing = [package for package, found in versions.items() if not found]
    if missing:
        print(f'not installed: {", ".join(missing)}; pip install ".[peers]"')


def make_options() -> argparse.ArgumentParser:
    names = [*BY_NAME, *dict.fromkeys(method.package for method in METHODS)]
    folder = Path(tempfile.gettempdir()) / "cohirf-peers"
    parser = make_parser(__doc__)
    parser.add_argument(
        "--data", nargs="+", choices=TABLES, default=list(TABLES), help="which tables"
    )
    parser.add_argument(
        "--methods", nargs="+", choices=names, default=names, metavar="NAME", help=", ".join(names)
    )
    parser.add_argument(
        "--again", action="store_true", help="run these methods even if they have results"
    )
    parser.add_argument("--largest", type=int, default=20_000_000, help="leave out larger data")
    parser.add_argument(
        "--seconds", type=float, default=30.0, help="a method gives up after so many seconds"
    )
    parser.add_argument(
        "--megabytes", type=float, default=4000.0, help="a method gives up if it takes more memory"
    )
    parser.add_argument("--cores", type=int, default=1, help="cores for each method")
    parser.add_argument("--folder", type=Path, default=folder, help="for the data")
    add_results_option(parser)
    add_write_option(parser)
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    arguments = parse(make_options(), argv, data=["spheres"], largest=20_000, seconds=10.0)
    limits = Limits(arguments.seconds, arguments.megabytes, arguments.cores)
    results = Results(arguments.results / "peers.jsonl")

    def is_to_run(method: Method) -> bool:
        is_chosen = method.name in arguments.methods or method.package in arguments.methods
        return is_chosen and method.installed_version() is not None

    def measure(row: Row) -> tuple[str, list[Figures | None]]:
        run = is_to_run(row.method)
        return row.title, figures_of(row, files, results, run=run, again=arguments.again)

    folder = "peers" if arguments.cores == 1 else f"peers/{arguments.cores}_cores"
    print_packages()
    for name in arguments.data:
        print(f"\n{name}")
        files = prepare_all(
            [case for case in TABLES[name] if case.rows <= arguments.largest], arguments.folder
        )
        cells = print_table([case.title for case in files], map(measure, rows_of(name, limits)))
        write_table(arguments.write, f"{folder}/{name}", cells)


if __name__ == "__main__":
    main()
