"""cohirf cut: the clusters of another level of a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from cohirf.cli.console import Console, Grid
from cohirf.cli.errors import BadInputError
from cohirf.cli.models import open_model
from cohirf.cli.options import CsvOptions, Screen
from cohirf.cli.summary import MOST_SIZES, shown_sizes
from cohirf.cli.targets import save_labels
from cohirf.cli.values import read_count
from cohirf.cli.writing import TABLES, check_file, check_ids
from cohirf.hierarchy import FusionHierarchy
from cohirf.preparation import Data
from cohirf.preparation.columns import Column, find_column


def cut(
    model: Path,
    csv: CsvOptions,
    screen: Screen,
    clusters: str | None,
    level: str | None,
    data: Path | None,
    id_column: str | None,
    out: Path | None,
    *,
    escape_formulas: bool,
    force: bool,
) -> None:
    """Cut the hierarchy of a model into fewer or more clusters."""
    console = Console.on(screen)
    if (clusters is None) == (level is None):
        raise BadInputError("cut needs a level: give either --clusters or --level, not both.")
    if id_column is not None and data is None:
        raise BadInputError(
            f"--id-column {id_column!r} is a column of the data: give the data that the model was fitted to "
            f"with --data."
        )
    check_file(out, "--out", TABLES, force=force, data=data)
    fitted, preparation = open_model(model)
    hierarchy = fitted.hierarchy_
    chosen = _level_with(hierarchy, clusters) if clusters is not None else _level(hierarchy, str(level))
    labels = hierarchy.cut(level=chosen)
    sizes = sorted(hierarchy.sizes(chosen).tolist(), reverse=True)
    document = {"command": "cut", "level": chosen, "rows": len(labels), "clusters": len(sizes)}
    document |= {"sizes": sizes[:MOST_SIZES], "written": {} if out is None else {"labels": str(out)}}
    if out is not None:
        ids: Iterator[Any] | None = None
        name: Column | None = None
        if data is not None:
            column = preparation.id_column if id_column is None else id_column
            ids, name = _names_of_rows(Data.open(data, **csv.given()), column)
        check_ids(out, name)
        save_labels(out, labels, ids, name, console, escape=escape_formulas)
    rows = [
        ("level", f"{chosen} of {hierarchy.n_levels}"),
        ("rows", f"{len(labels):,}"),
        ("clusters", f"{len(sizes):,}"),
        ("sizes", shown_sizes(sizes, len(sizes))),
    ]
    written = "Nothing was written: give --out labels.csv to keep the clusters."
    console.show(document, Grid(rows), written if out is None else f"Written: {out} (labels)")


def _names_of_rows(data: Data, column: Column | None) -> tuple[Iterator[Any], Column]:
    """Return the names of the rows, and the column that contains them."""
    if column is None:
        raise BadInputError(f"--data {data.name}: give the --id-column that names its rows.")
    found = find_column(data.name, data.columns, column, f"id_column={str(column)!r}")
    return data.read(found), found


def _level_with(hierarchy: FusionHierarchy, clusters: str) -> int:
    """Return the finest level with at most the given number of clusters."""
    most = read_count("--clusters", clusters)
    counts = hierarchy.cluster_counts().tolist()
    if most < counts[-1]:
        raise BadInputError(
            f"--clusters {most} is not in this hierarchy: its last level has {counts[-1]:,}. Give a larger number, or "
            f"fit again with a base method that merges more."
        )
    return next(level for level, count in enumerate(counts) if count <= most)


def _level(hierarchy: FusionHierarchy, text: str) -> int:
    level = read_count("--level", text, least=0)
    if level > hierarchy.n_levels:
        raise BadInputError(f"--level {level} is not in this hierarchy: give a level from 0 to {hierarchy.n_levels}.")
    return level
