"""cohirf generate: synthetic data of the paper, of any size."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

from cohirf import datasets
from cohirf.cli import spec
from cohirf.cli.console import Console
from cohirf.cli.errors import BadInputError
from cohirf.cli.spec import Option, read_count, read_number
from cohirf.cli.writing import TABLES, check_file, check_room

CELL_BYTES = {".npy": 4, ".parquet": 4, ".csv": 8}  # at least

Rows = Annotated[str, Option(("--n",), "Number of rows, such as 1000 or 1e6.", metavar="INT")]
Out = Annotated[
    Path,
    Option(
        ("--out",),
        "The file to write: .npy, with labels in a second file beside it, or .parquet or .csv with a column label.",
        spec.OUTPUT,
        "FILE",
    ),
]
Seed = Annotated[str, Option(("--seed",), "Another seed draws other rows.", metavar="INT", default="0")]
Clusters = Annotated[str, Option(("--clusters",), "Number of clusters.", metavar="INT", default="5")]


def spheres(
    n: Rows,
    out: Out,
    noise: Annotated[
        str, Option(("--noise",), "Standard deviation of the radius.", metavar="FLOAT", default="0.01")
    ] = "0.01",
    seed: Seed = "0",
    force: spec.Force = False,
    json: spec.AsJson = False,
    quiet: spec.Quiet = False,
) -> None:
    """Points on two concentric spheres, of radius 0.5 and 1, in three dimensions."""
    options = {"noise": read_number("--noise", noise)}
    _generate(datasets.write_spheres, n, 3, out, seed, options, Console(json, quiet), force=force)


def hypercube(
    n: Rows,
    out: Out,
    clusters: Clusters = "5",
    informative: Annotated[
        str, Option(("--informative",), "Dimension of the hypercube.", metavar="INT", default="3")
    ] = "3",
    noise: Annotated[str, Option(("--noise",), "Number of features of noise.", metavar="INT", default="10")] = "10",
    seed: Seed = "0",
    force: spec.Force = False,
    json: spec.AsJson = False,
    quiet: spec.Quiet = False,
) -> None:
    """Points around corners of a hypercube with edges of 6 sqrt(dimension), and features of noise."""
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
    _generate(datasets.write_hypercube, n, n_features, out, seed, options, Console(json, quiet), force=force)


def blobs(
    n: Rows,
    out: Out,
    clusters: Clusters = "5",
    features: Annotated[str, Option(("--features",), "Number of features.", metavar="INT", default="2")] = "2",
    spread: Annotated[
        str, Option(("--spread",), "Standard deviation of a cluster.", metavar="FLOAT", default="1")
    ] = "1",
    seed: Seed = "0",
    force: spec.Force = False,
    json: spec.AsJson = False,
    quiet: spec.Quiet = False,
) -> None:
    """Points of round clusters, with centres between -10 and 10."""
    n_features = read_count("--features", features)
    options = {
        "n_clusters": read_count("--clusters", clusters),
        "n_features": n_features,
        "spread": read_number("--spread", spread),
    }
    _generate(
        datasets.write_blobs,
        n,
        n_features,
        out,
        seed,
        options,
        Console(json, quiet),
        force=force,
    )


def _generate(
    write: Callable[..., Path],
    n: str,
    n_features: int,
    out: Path,
    seed: str,
    options: dict[str, Any],
    console: Console,
    *,
    force: bool,
) -> None:
    """Check what is asked for, and write data."""
    n_rows = read_count("--n", n)
    random_state = read_count("--seed", seed, least=0)
    labels = datasets.labels_file(out)
    check_file(out, "--out", TABLES, force=force)
    check_file(labels, "--out", TABLES, force=force)
    check_room(out, "--out", n_rows * n_features * CELL_BYTES[out.suffix.lower()], "lower --n")
    write(out, n_rows, random_state=random_state, **options)
    written = {"data": str(out)} | ({} if labels == out else {"labels": str(labels)})
    document = {"command": "generate", "rows": n_rows, "written": written}
    console.show(document, "Written: " + ", ".join(f"{path} ({name})" for name, path in written.items()))
