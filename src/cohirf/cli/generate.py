"""cohirf generate: write synthetic data of any size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cohirf import datasets
from cohirf.cli.console import Console
from cohirf.cli.errors import BadInputError
from cohirf.cli.options import Screen
from cohirf.cli.values import read_count, read_number
from cohirf.cli.writing import TABLES, check_file, check_room

CELL_BYTES = {".npy": 4, ".parquet": 4, ".csv": 8}  # lower bounds
CUSTOMER_BYTES = {".csv": 100, ".parquet": 20}  # lower bounds for a row
CUSTOMER_FILES = tuple(CUSTOMER_BYTES)


@dataclass(frozen=True)
class Target:
    """Number of rows, seed and output file."""

    n: str
    out: Path
    seed: str
    force: bool


def spheres(target: Target, screen: Screen, noise: str) -> None:
    """Write points on two concentric spheres."""
    options = {"noise": read_number("--noise", noise)}
    _generate(datasets.write_spheres, target, 3, options, screen)


def shapes(target: Target, screen: Screen, noise: str) -> None:
    """Write points of worms, spirals, a ring and lumps, with noise around them."""
    share = read_number("--noise", noise)
    if share > 1:
        raise BadInputError(f"--noise {noise} is not valid: give a share of the rows from 0 to 1.")
    _generate(datasets.write_shapes, target, 2, {"noise": share}, screen)


def hypercube(target: Target, screen: Screen, clusters: str, informative: str, noise: str) -> None:
    """Write points around the corners of a hypercube, plus noise features."""
    options = {
        "n_clusters": read_count("--clusters", clusters),
        "n_informative": read_count("--informative", informative),
        "n_noise": read_count("--noise", noise, least=0),
    }
    if options["n_clusters"] > 2 ** options["n_informative"]:
        raise BadInputError(
            f"--clusters {clusters} is above the {2 ** options['n_informative']} corners of a hypercube with "
            f"--informative {informative}: raise --informative, or lower --clusters."
        )
    n_features = options["n_informative"] + options["n_noise"]
    _generate(datasets.write_hypercube, target, n_features, options, screen)


def blobs(target: Target, screen: Screen, clusters: str, features: str, spread: str) -> None:
    """Write points of spherical Gaussian clusters."""
    n_features = read_count("--features", features)
    options = {
        "n_clusters": read_count("--clusters", clusters),
        "n_features": n_features,
        "spread": read_number("--spread", spread),
    }
    _generate(datasets.write_blobs, target, n_features, options, screen)


def customers(target: Target, screen: Screen) -> None:
    """Write customers of a shop, as a table that nobody has cleaned."""
    check_file(target.out, "--out", CUSTOMER_FILES, force=target.force)  # before its cells are counted by its ending
    segments = datasets.segments_file(target.out)
    _write(
        datasets.write_customers, target, {"segments": segments}, CUSTOMER_BYTES[target.out.suffix.lower()], {}, screen
    )


def _generate(
    write: Callable[..., Path], target: Target, n_features: int, options: dict[str, Any], screen: Screen
) -> None:
    """Check the options and write rows of numbers."""
    check_file(target.out, "--out", TABLES, force=target.force)
    labels = datasets.labels_file(target.out)
    beside = {} if labels == target.out else {"labels": labels}
    _write(write, target, beside, n_features * CELL_BYTES[target.out.suffix.lower()], options, screen)


def _write(
    write: Callable[..., Path],
    target: Target,
    beside: dict[str, Path],
    row_bytes: int,
    options: dict[str, Any],
    screen: Screen,
) -> None:
    """Check the number of rows and the files beside the data, and write all of them."""
    out, n_rows = target.out, read_count("--n", target.n)
    random_state = read_count("--seed", target.seed, least=0)
    for path in beside.values():
        check_file(path, "--out", TABLES, force=target.force)
    check_room(out, "--out", n_rows * row_bytes, "lower --n")
    write(out, n_rows, random_state=random_state, **options)
    written = {"data": str(out)} | {name: str(path) for name, path in beside.items()}
    document = {"command": "generate", "rows": n_rows, "written": written}
    Console.on(screen).show(document, "Written: " + ", ".join(f"{path} ({name})" for name, path in written.items()))
