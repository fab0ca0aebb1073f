"""Where are we among the methods of the clustering benchmark suite of M. Gagolewski?

    python -m benchmarks.quality.clustbench [--data FOLDER] [--seeds 3] [--merge auto] [--write]
    python -m benchmarks.quality.clustbench --base spectral --batches 6    what a method loses in
    batches

The suite ("A framework for benchmarking clustering algorithms", SoftwareX 20, 2022) has data sets
with one or several reference labellings, and the partitions that other methods have found. FOLDER
has a folder for each battery, with ``NAME.data.gz`` and ``NAME.labelsI.gz``, and perhaps
``published_ari.csv``: the adjusted Rand index (ARI) of published partitions, a row for each method
and a column for each data set.

The rules are those of the suite: columns without variance are dropped, the values are centred and
divided by one standard deviation of all of them, the method is given the number of clusters of a
reference, the best of all references counts, and rows of class 0, which are noise, are not scored.
The default model is fitted with several seeds, and the mean counts. Lumbermark, which has no
published partitions, is fitted here in the same way, if it is installed
(``pip install ".[peers]"``).

With ``--partitions FOLDER``, the partitions of the first seed are written in the suite's own
format, as ``BATTERY/NAME.resultK.gz``: a column of labels from 1. With ``--base``, a model around
another method is fitted, and with ``--batches`` it is fitted twice to sets with enough rows: to all
of them, and to so many random batches.
"""

from __future__ import annotations

import argparse
import csv
import gzip
from collections.abc import Iterator, Sequence
from importlib import import_module
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.cluster import AgglomerativeClustering, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from threadpoolctl import threadpool_limits

from benchmarks._common import (
    DATA_FOLDER,
    add_write_option,
    make_parser,
    parse,
    say_difference,
    show_table,
    write_table,
)
from cohirf import CoHiRF

OURS = "CoHiRF(n_clusters=k)"
BASES = {
    "default": None,
    "mixture": GaussianMixture(),
    "Ward": AgglomerativeClustering(),
    "spectral": SpectralClustering(affinity="nearest_neighbors"),
}
ROWS_PER_CLASS = 10  # in a batch, at least
CLEARLY = 0.1  # a difference in ARI that is listed
PACKAGES = {"Lumbermark": "lumbermark"}  # classes without published partitions, and their modules
READABLE = {
    "GenieIc|GIc": "GenieIc",
    "fastcluster_ward|fastcluster_ward": "Ward",
    "sklearn_gm|sklearn_gm": "Gaussian mixture",
    "sklearn_kmeans|sklearn_kmeans": "K-Means",
}
ALWAYS_SHOWN = (OURS, *PACKAGES, *READABLE.values())


def readable(method: str) -> str:
    """Return a name for a published method, given the suite's name."""
    variant = method.split("|")[-1]
    if variant.startswith("Genie_G"):
        return f"Genie (Gini {variant.removeprefix('Genie_G')})"
    if variant.startswith("mst_divisive_"):
        return f"divisive along the spanning tree, by {variant.removeprefix('mst_divisive_')}"
    return READABLE.get(method, variant)


def read_sets(
    folder: Path, max_rows: int | None = None
) -> Iterator[tuple[str, np.ndarray, list[np.ndarray]]]:
    """Yield name, values and reference labels of each data set that is not too large."""
    for path in sorted(folder.glob("*/*.data.gz")):
        name = path.name.removesuffix(".data.gz")
        X = np.loadtxt(path, ndmin=2)
        if max_rows is not None and len(X) > max_rows:
            continue
        X = X[:, X.var(axis=0) > 0]
        X = (X - X.mean(axis=0)) / X.std(ddof=1)
        references = [
            np.loadtxt(labels).astype(int)
            for labels in sorted(path.parent.glob(f"{name}.labels*.gz"))
        ]
        yield f"{path.parent.name}/{name}", X, references


def find_partitions(
    X: np.ndarray, references: list[np.ndarray], model: Any
) -> dict[int, np.ndarray]:
    """Return the labels of the model for each number of clusters of the references."""
    numbers = sorted({count_classes(y) for y in references})
    return {k: clone(model).set_params(n_clusters=k).fit_predict(X) for k in numbers}


def count_classes(y: np.ndarray) -> int:
    return len(np.unique(y[y > 0]))


def score(references: list[np.ndarray], found: dict[int, np.ndarray]) -> float:
    """Return the highest ARI of all references."""
    return max(adjusted_rand_score(y[y > 0], found[count_classes(y)][y > 0]) for y in references)


def write_partitions(folder: Path, name: str, found: dict[int, np.ndarray]) -> None:
    """Write labels from 1 in the format of the suite's results."""
    for k, labels in found.items():
        path = folder / f"{name}.result{k}.gz"
        path.parent.mkdir(parents=True, exist_ok=True)
        with gzip.open(path, "wt") as file:
            file.writelines(f"{label}\n" for label in labels + 1)


def read_published(folder: Path) -> dict[str, dict[str, float]]:
    """Return the ARI of published partitions by method and data set.

    None if the file is not there.
    """
    path = folder / "published_ari.csv"
    if not path.exists():
        return {}
    with path.open(newline="") as file:
        return {
            readable(row.pop("method")): {name: float(ari) for name, ari in row.items() if ari}
            for row in csv.DictReader(file)
        }


def score_packages(X: np.ndarray, references: list[np.ndarray]) -> dict[str, float]:
    """Return the scores of the packages that are installed; none of them depends on a seed."""
    classes = {
        name: getattr(import_module(module), name)
        for name, module in PACKAGES.items()
        if find_spec(module)
    }
    return {
        name: score(references, find_partitions(X, references, method()))
        for name, method in classes.items()
    }


def rank(ours: dict[str, float], published: dict[str, dict[str, float]]) -> list[tuple[str, float]]:
    """Return methods and their mean ARI over those of our data sets that they have partitions of.

    The best first.
    """
    means = {
        method: float(np.mean([of_sets[name] for name in ours if name in of_sets]))
        for method, of_sets in published.items()
        if any(name in of_sets for name in ours)
    }
    return sorted(
        [*means.items(), (OURS, float(np.mean([*ours.values()])))], key=lambda pair: -pair[1]
    )


def mean_score(X: np.ndarray, references: list[np.ndarray], model: CoHiRF, n_seeds: int) -> float:
    """Return the mean score of several seeds."""
    fits = (
        find_partitions(X, references, model.set_params(random_state=seed))
        for seed in range(n_seeds)
    )
    return float(np.mean([score(references, found) for found in fits]))


def compare_batches(arguments: argparse.Namespace, model: CoHiRF) -> None:
    """Print what a method loses in batches, on each set and in the mean."""
    differences = []
    for name, X, references in islice(
        read_sets(arguments.data, arguments.max_rows), arguments.sets
    ):
        batch_size = len(X) // arguments.batches
        if batch_size < ROWS_PER_CLASS * max(count_classes(y) for y in references):
            continue
        whole, parts = (
            mean_score(X, references, clone(model).set_params(batch_size=size), arguments.seeds)
            for size in (None, batch_size)
        )
        differences.append(parts - whole)
        print(
            f"{name:28} {len(X):6,} rows  {whole:.3f}  in batches {parts:.3f}  "
            f"{parts - whole:+.3f}",
            flush=True,
        )
    print(
        f"\n{arguments.base}, {arguments.batches} batches minus one, {len(differences)} sets: "
        f"{say_difference(np.array(differences))}"
    )


def compare_published(arguments: argparse.Namespace, model: CoHiRF) -> None:
    """Print our score on each set, our place among the other methods, and the sets on which another
    is better.
    """
    others = read_published(arguments.data)
    ours = {}
    sets = [["set", "rows", OURS, *PACKAGES, "best other", "method"]]
    for name, X, references in islice(
        read_sets(arguments.data, arguments.max_rows), arguments.sets
    ):
        ours[name] = mean_score(X, references, model, arguments.seeds)
        if arguments.partitions is not None:
            found = find_partitions(X, references, model.set_params(random_state=0))
            write_partitions(arguments.partitions, name, found)
        for package, ari in score_packages(X, references).items():
            others.setdefault(package, {})[name] = ari
        sets.append(row_of_set(name, len(X), ours[name], others))
        print("  ".join(sets[-1]), flush=True)
    if not ours:
        raise SystemExit(
            f"{arguments.data} has no data sets: give a copy of the suite with --data."
        )
    show_table(arguments.write, "suite", table_of_places(ours, others, arguments.top))
    show_table(arguments.write, "suite_lost", table_of_losses(sets))
    write_table(arguments.write, "suite_sets", sets)


def row_of_set(
    name: str, n_rows: int, ari: float, others: dict[str, dict[str, float]]
) -> list[str]:
    """Return our score on a data set, those of the packages, and the best of all others."""
    of_others = {method: of_sets[name] for method, of_sets in others.items() if name in of_sets}
    best = max(of_others, key=of_others.__getitem__, default="-")
    shown = [of_others.get(method) for method in (*PACKAGES, best)]
    return [
        name,
        f"{n_rows:,}",
        f"{ari:.3f}",
        *("-" if each is None else f"{each:.3f}" for each in shown),
        best,
    ]


def table_of_places(
    ours: dict[str, float], others: dict[str, dict[str, float]], top: int
) -> list[list[str]]:
    """Return the best methods and those that are always shown, with their places."""
    ranking = rank(ours, others)
    return [["method", "mean ARI", "place"]] + [
        [method, f"{mean:.3f}", f"{place} of {len(ranking)}"]
        for place, (method, mean) in enumerate(ranking, start=1)
        if place <= top or method in ALWAYS_SHOWN
    ]


def table_of_losses(sets: list[list[str]]) -> list[list[str]]:
    """Return those rows of the table of sets on which another method is clearly better."""
    header, *rows = sets
    is_lost = [
        best != "-" and float(best) - float(ari) > CLEARLY for _, _, ari, *_, best, _ in rows
    ]
    return [header, *(row for row, lost in zip(rows, is_lost, strict=True) if lost)]


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--data", type=Path, default=DATA_FOLDER / "clustbench")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--merge", default="auto", choices=("auto", "compact", "connected"))
    parser.add_argument("--base", default="default", choices=BASES)
    parser.add_argument("--batches", type=int, default=1)
    parser.add_argument("--sets", type=int, default=None, help="only the first so many")
    parser.add_argument("--max-rows", type=int, default=None, help="leave out larger sets")
    parser.add_argument("--top", type=int, default=10, help="how many methods the ranking shows")
    parser.add_argument(
        "--partitions", type=Path, metavar="FOLDER", help="write our partitions there"
    )
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=1, sets=3)
    compare = compare_published if arguments.batches == 1 else compare_batches
    with threadpool_limits(1):
        compare(arguments, CoHiRF(BASES[arguments.base], merge=arguments.merge))


if __name__ == "__main__":
    main()
