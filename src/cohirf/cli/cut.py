"""cohirf cut: the clusters of another level of a model."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.cli.console import Console
from cohirf.cli.errors import BadInputError
from cohirf.cli.explain import in_words_of_options
from cohirf.cli.grids import Grid
from cohirf.cli.models import open_model
from cohirf.cli.options import CsvOptions, Screen
from cohirf.cli.summary import MOST_SIZES, shown_sizes
from cohirf.cli.targets import save_labels
from cohirf.cli.values import read_count
from cohirf.cli.writing import TABLES, check_file, check_ids
from cohirf.explain.verdict import ways_to_less_noise
from cohirf.hierarchy import FusionHierarchy
from cohirf.preparation import Data
from cohirf.preparation.data import find_column
from cohirf.preparation.kinds import Name


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
    chosen = None if clusters is not None else _level(hierarchy, str(level))
    labels = hierarchy.cut(level=chosen) if chosen is not None else _merge_to(fitted, str(clusters))
    sizes = sorted(np.bincount(labels[labels >= 0]).tolist(), reverse=True)
    document: dict[str, Any] = {"command": "cut", "level": chosen, "rows": len(labels), "clusters": len(sizes)}
    document["rows_in_no_cluster"] = int((labels < 0).sum())
    document |= {"sizes": sizes[:MOST_SIZES], "written": {} if out is None else {"labels": str(out)}}
    if out is not None:
        ids: Iterator[Any] | None = None
        name: Name | None = None
        if data is not None:
            column = preparation.id_column if id_column is None else id_column
            ids, name = _names_of_rows(Data.open(data, **csv.given()), column)
        check_ids(out, name)
        save_labels(out, labels, ids, name, console, escape=escape_formulas)
    rows = [
        *([] if chosen is None else [("level", f"{chosen} of {hierarchy.n_levels}")]),
        ("rows", f"{len(labels):,}"),
        ("clusters", f"{len(sizes):,}"),
        ("sizes", shown_sizes(sizes, len(sizes))),
    ]
    if document["rows_in_no_cluster"]:
        rows.append(("in no cluster", f"{document['rows_in_no_cluster']:,} rows"))
    written = "Nothing was written: give --out labels.csv to keep the clusters."
    console.show(document, Grid(rows), written if out is None else f"Written: {out} (labels)")


def _merge_to(fitted: Any, clusters: str) -> Any:
    """Return the labels of so many clusters; raise if there are none to merge."""
    hierarchy = fitted.hierarchy_
    if fitted.n_clusters_ == 0:
        raise BadInputError(
            f"There are no clusters to merge: all {hierarchy.n_rows:,} rows are noise. Fit the model again: to find "
            f"clusters, {in_words_of_options(ways_to_less_noise(fitted))}."
        )
    return _cut_to(hierarchy, clusters)


def _names_of_rows(data: Data, column: Name | None) -> tuple[Iterator[Any], Name]:
    """Return the names of the rows, and the column that contains them."""
    if column is None:
        raise BadInputError(f"--data {data.name}: give the --id-column that names its rows.")
    found = find_column(data.name, data.columns, column, f"id_column={str(column)!r}")
    return data.read(found), found


def _cut_to(hierarchy: FusionHierarchy, clusters: str) -> IntArray:
    """Return the labels after merging to the given number of clusters."""
    try:
        return hierarchy.cut(n_clusters=read_count("--clusters", clusters))
    except ValueError:
        most = 0 if hierarchy.tree is None else hierarchy.tree.n_leaves
        raise BadInputError(
            f"--clusters {clusters} is not in this hierarchy: give a number from 1 to {most:,}, or --level 0 for "
            f"single rows."
        ) from None


def _level(hierarchy: FusionHierarchy, text: str) -> int:
    level = read_count("--level", text, least=0)
    if level > hierarchy.n_levels:
        raise BadInputError(f"--level {level} is not in this hierarchy: give a level from 0 to {hierarchy.n_levels}.")
    return level
