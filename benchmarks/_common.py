"""What the benchmarks share: options, time and memory, tables, kept results, data, and a small Dask
cluster.
"""

from __future__ import annotations

import argparse
import csv
import json
import multiprocessing
import os
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, cosine_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import Views
from cohirf.planning.memory import peak_bytes, reset_peak

RESULTS = Path(__file__).parent / "results"
# tools/figures.py writes these figures into the pages
PAGES = Path(__file__).parents[1] / "docs" / "results"

# -- options


def make_parser(doc: str | None) -> argparse.ArgumentParser:
    """Return a parser whose help begins with the docstring of the script."""
    return argparse.ArgumentParser(
        description=doc, formatter_class=argparse.RawDescriptionHelpFormatter
    )


def parse(
    parser: argparse.ArgumentParser, argv: Sequence[str] | None, **quick: Any
) -> argparse.Namespace:
    """Parse the options of a script, with ``--quick`` among them.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        Knows all other options.
    argv : sequence of str or None
        What to parse; None means the command line.
    **quick
        What ``--quick`` sets options to. Options on the command line take precedence.
    """
    settings = " ".join(_as_option(name, value) for name, value in quick.items())
    parser.add_argument(
        "--quick", action="store_true", help=f"see in a minute or two that it works: {settings}"
    )
    arguments = parser.parse_args(argv)
    if arguments.quick:
        parser.set_defaults(**quick)
        arguments = parser.parse_args(argv)
    return arguments


def _as_option(name: str, value: Any) -> str:
    values = value if isinstance(value, list | tuple) else [] if value is True else [value]
    return " ".join([f"--{name.replace('_', '-')}", *map(str, values)])


# -- time and memory


def timed(
    function: Callable[[], Any], clock: Callable[[], float] = time.process_time
) -> tuple[float, Any]:
    """Return the seconds that a call takes, and its result.

    Other programs disturb processor time the least.
    """
    started = clock()
    result = function()
    return clock() - started, result


def best_of(repeats: int, function: Callable[[], Any]) -> tuple[float, Any]:
    """Return the shortest time of several calls, and the result of that call."""
    return min((timed(function) for _ in range(repeats)), key=lambda pair: pair[0])


class TimedCalls:
    """Makes a base method add up the time of its calls, over all its clones:
    ``class Timed(TimedCalls, KMeans)``.
    """

    seconds = 0.0

    def fit_predict(self, *data: Any) -> Any:
        """Cluster, and add the time it took."""
        seconds, labels = timed(partial(super().fit_predict, *data), time.thread_time)
        type(self).seconds += seconds
        return labels


def in_fresh_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function of a script in a process of its own, so that its memory is not that of
    earlier calls.

    Function, arguments and result are pickled; exceptions of the function are raised here.
    """
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as executor:
        return executor.submit(function, *arguments).result()


def peak_rise(function: Callable[[], Any]) -> tuple[int, Any]:
    """Return by how many bytes a call raises the peak resident size of this process, and the result
    of the call.
    """
    reset_peak()
    before = peak_bytes()
    result = function()
    return peak_bytes() - before, result


# -- tables --------------------------------------------------------------------------------------------------------

DASH = "\N{EN DASH}"


class Table:
    """Prints a header, and each row as soon as it is known.

    Parameters
    ----------
    columns : dict of str
        Title and format of each column, for example ``{"rows": ">9,", "peak MB": ">8.1f"}``. A cell
        that is a string, such as "-", is printed as it is.
    """

    def __init__(self, columns: dict[str, str]) -> None:
        self.formats = list(columns.values())
        self.cells: list[list[str]] = []
        self.row(*columns)

    def row(self, *cells: Any) -> None:
        """Print one row."""
        pairs = zip(cells, self.formats, strict=True)
        words = [
            format(cell, self._for_text(spec) if isinstance(cell, str) else spec)
            for cell, spec in pairs
        ]
        self.cells.append([word.strip() for word in words])
        print(" ".join(words), flush=True)

    def write(self, folder: Path | None, name: str) -> None:
        """Write all rows as CSV, as ``write_table`` does."""
        write_table(folder, name, self.cells)

    @staticmethod
    def _for_text(spec: str) -> str:
        return re.match(r"[<>]?\d*", spec).group()


def print_markdown(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a Markdown table."""
    print()
    for cells in (header, ["---"] * len(header), *rows):
        print("| " + " | ".join(cells) + " |")


def show_table(folder: Path | None, name: str, cells: Sequence[Sequence[str]]) -> None:
    """Print a table, whose first row is the header, as Markdown, and write it as ``write_table``
    does.
    """
    header, *rows = cells
    print_markdown(header, rows)
    write_table(folder, name, cells)


def write_table(folder: Path | None, name: str, cells: Iterable[Sequence[str]]) -> None:
    """Write a table, whose first row is the header, as CSV to the folder that ``--write`` names.

    Parameters
    ----------
    folder : Path or None
        None: nothing is written.
    name : str
        The file without ".csv"; it may be in a folder, "peers/spheres".
    cells : iterable of sequences of str
        The texts that pages show. "-" becomes a dash that is not the bullet of a list there.
    """
    if folder is None:
        return
    path = folder / f"{name}.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerows([DASH if cell == "-" else cell for cell in row] for row in cells)


def add_write_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--write``, the folder for tables as CSV."""
    what = "write the tables as CSV to this folder; without a name, to docs/results, for the pages"
    parser.add_argument("--write", type=Path, nargs="?", const=PAGES, metavar="FOLDER", help=what)


def say_difference(differences: np.ndarray) -> str:
    """Return the mean of differences, and its standard error: ``"+0.045 ± 0.012"``."""
    return f"{differences.mean():+.3f} ± {differences.std(ddof=1) / np.sqrt(len(differences)):.3f}"


def mean_and_spread(values: Sequence[float]) -> str:
    """Return the mean, and the standard deviation if there are several values:
    ``"0.81 ± 0.02"``.
    """
    spread = f" ± {np.std(values, ddof=1):.2f}" if len(values) > 1 else ""
    return f"{np.mean(values):.2f}{spread}"


# -- results that outlive a run


class Results:
    """Figures of fits in a file of JSON lines, so that a run that was stopped continues where it
    was.

    A fit is found by its key, which tells its settings, not the code: delete the file after a
    change of the code.
    """

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        lines = path.read_text(encoding="utf-8").splitlines() if path.exists() else []
        self.found = {tuple(entry["key"]): entry["figures"] for entry in map(json.loads, lines)}

    def of(
        self, key: tuple[Any, ...], run: Callable[[], dict[str, Any]], *, again: bool = False
    ) -> dict[str, Any]:
        """Return the figures of a fit.

        Run it, and write them to the file at once, if they are not there yet.

        With ``again`` it is run in any case, and the new figures replace the old ones.
        """
        if again or key not in self.found:
            self.found[key] = run()
            with self.path.open("a") as file:
                file.write(json.dumps({"key": key, "figures": self.found[key]}) + "\n")
        return self.found[key]


def add_results_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--results``, the folder for files of results."""
    parser.add_argument(
        "--results", type=Path, default=RESULTS, help="folder with the results of earlier runs"
    )


# -- data and fits

DATA_FOLDER = Path(os.environ.get("COHIRF_DATA", "../shared/data"))
BUNDLED = {
    "iris": load_iris,
    "wine": load_wine,
    "breast cancer": load_breast_cancer,
    "digits": load_digits,
}
FILES = (
    "alizadeh-2000-v2",
    "garber-2001",
    "golub-1999-v2",
    "pbmc68k-reduced",
    "coil-20",
    "satimage",
    "usps",
    "pendigits",
    "shuttle",
)


def standardise(X: np.ndarray) -> np.ndarray:
    """Return the features that are not constant, with mean 0 and standard deviation 1."""
    X = X[:, X.std(axis=0) > 0].astype(np.float64)
    return (X - X.mean(axis=0)) / X.std(axis=0, ddof=1)


def real_data_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, standardised rows and classes of 13 data sets.

    scikit-learn brings four of them. The others are Parquet files in the folder that the
    environment variable COHIRF_DATA names; those that are not there are left out.
    """
    for name, load in BUNDLED.items():
        X, y = load(return_X_y=True)
        yield name, standardise(X), y
    for name in FILES:
        data = read_file(name)
        if data is not None:
            yield name, *data


def all_sets() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Yield name, standardised rows and classes of 13 real data sets and one synthetic one."""
    yield from real_data_sets()
    X, y = make_blobs(5000, 20, centers=10, cluster_std=5.0, random_state=0)
    yield "blobs", standardise(X), y


def read_file(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return standardised rows and classes of a data set in COHIRF_DATA.

    If it is not there, say so and return None.
    """
    stored = _read_stored(name)
    return None if stored is None else (standardise(stored[0]), stored[1])


def write_npz(names: Sequence[str], folder: Path) -> None:
    """Write data sets of COHIRF_DATA as .npz files, which are read without pandas."""
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        stored = _read_stored(name)
        if stored is not None:
            # names of classes would be pickled
            classes = np.unique(stored[1], return_inverse=True)[1]
            np.savez_compressed(folder / f"{name}.npz", X=stored[0], label=classes)


def _read_stored(name: str) -> tuple[np.ndarray, np.ndarray] | None:
    """Return rows and classes of a data set as they are stored.

    If it is not there, say so and return None.
    """
    path = DATA_FOLDER / f"{name}.parquet"
    if path.exists():
        import pandas as pd

        table = pd.read_parquet(path)
        return table.drop(columns="label").to_numpy(dtype=float), table["label"].to_numpy()
    if path.with_suffix(".npz").exists():
        with np.load(path.with_suffix(".npz")) as arrays:
            return arrays["X"], arrays["label"]
    print(f"{name}: skipped, {path} does not exist; set COHIRF_DATA")
    return None


def seeded(model: Any, seed: int) -> Any:
    """Set every random_state of an estimator, those of nested estimators included."""
    names = [name for name in model.get_params() if name.rsplit("__", 1)[-1] == "random_state"]
    return model.set_params(**dict.fromkeys(names, seed))


def score_fit(model: Any, X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Fit, and return the adjusted Rand index with the classes, the number of clusters, and
    processor seconds.
    """
    seconds, labels = timed(lambda: model.fit_predict(X))
    return {
        "ari": adjusted_rand_score(y, labels),
        "clusters": len(np.unique(labels)),
        "seconds": seconds,
    }


def contraction_of(
    base: Any, n_views: int, n_features: int, entropy: tuple[int, ...] = (0,), **options: Any
) -> Contraction:
    """Return the batch step of a fit: strict consensus, exact cosine medoids, views of so many
    features.
    """
    return Contraction(
        views=Views(BaseMethod.of(base), n_views, n_features, entropy),
        consensus=strict_consensus,
        choose_medoids=partial(choose_central_medoids, centrality=cosine_centrality),
        **({"batch_size": None, "sum_mass": False} | options),
    )


# -- faults and clusters


def flip_bit(content: bytes, rng: np.random.Generator) -> bytes:
    """Return the content of a file with one bit changed."""
    damaged = bytearray(content)
    damaged[rng.integers(len(damaged))] ^= 1 << rng.integers(8)
    return bytes(damaged)


@contextmanager
def two_dask_workers() -> Iterator[Any]:
    """Yield a Dask cluster of two workers with one thread each, and a client that is the
    default.
    """
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        yield cluster
