"""The hierarchy of a model: cohirf cut gives the clusters of another level, cohirf tree prints or exports the tree."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.cli.console import NARROWEST, Console, TextGrid
from cohirf.cli.errors import BadInputError, in_words_of_options, read_count
from cohirf.cli.new_rows import csv_format, open_model
from cohirf.cli.outputs import LABEL_FILES, check_file, check_ids, save_labels, say_written
from cohirf.cli.summary import MOST_SIZES, shown_sizes
from cohirf.description import name_tree, write_tree
from cohirf.estimator import CoHiRF
from cohirf.explain.verdict import ways_to_less_noise
from cohirf.hierarchy import FusionHierarchy
from cohirf.optional import import_optional
from cohirf.preparation import Data, Preparation
from cohirf.preparation.data import find_column
from cohirf.store.files import replacing

WIDEST = 10_000  # characters of a line of a file


def cut(
    model: Path,
    *,
    clusters: str | None = None,
    level: str | None = None,
    data: Path | None = None,
    out: Path | None = None,
    escape_formulas: bool = False,
    json: bool = False,
    force: bool = False,
) -> None:
    """Cut the hierarchy of a model into fewer or more clusters.

    Parameters
    ----------
    clusters : int
        Merge the clusters of the model to exactly this many.
    level : int
        Cut at this level; at level 0 every row is its own cluster.
    data : data
        The data of the fit; the names of its rows are copied to the output.

    Examples
    --------
    cohirf cut model.cohirf --clusters 8 --out labels.parquet
    """
    console = Console(as_json=json)
    if (clusters is None) == (level is None):
        raise BadInputError("cut needs a level: give either --clusters or --level, not both.")
    check_file(out, "--out", LABEL_FILES, force=force, data=data)
    fitted, preparation = open_model(model)
    hierarchy = fitted.hierarchy_
    chosen = None if clusters is not None else _level(hierarchy, str(level))
    labels = hierarchy.cut(level=chosen) if chosen is not None else _merge_to(fitted, str(clusters))
    sizes = sorted(np.bincount(labels[labels >= 0]).tolist(), reverse=True)
    document: dict[str, Any] = {"command": "cut", "level": chosen, "rows": len(labels), "clusters": len(sizes)}
    document["rows_in_no_cluster"] = int((labels < 0).sum())
    document |= {"sizes": sizes[:MOST_SIZES], "written": {} if out is None else {"labels": str(out)}}
    if out is not None:
        ids, name = (None, None) if data is None else _names_of_rows(data, model, preparation)
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
    console.show(
        document, TextGrid(rows), say_written(document["written"], "give --out labels.csv to keep the clusters.")
    )


def _names_of_rows(path: Path, model: Path, preparation: Preparation) -> tuple[Any, Any]:
    """Return the names of the rows, and the column that contains them."""
    data, column = Data.open(path, **csv_format(path, model)), preparation.id_column
    if column is None:
        raise BadInputError(f"--data {data.name}: the model was fitted without names of rows: leave --data out.")
    found = find_column(data.name, data.columns, column, f"id_column={str(column)!r}")
    return data.read(found), found


def _merge_to(fitted: CoHiRF, clusters: str) -> IntArray:
    """Return the labels of this number of clusters; raise if there are none to merge."""
    hierarchy = fitted.hierarchy_
    if fitted.n_clusters_ == 0:
        raise BadInputError(
            f"There are no clusters to merge: all {hierarchy.n_rows:,} rows are noise. Fit the model again: to find "
            f"clusters, {in_words_of_options(ways_to_less_noise(fitted))}."
        )
    return _cut_to(hierarchy, clusters)


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


def tree(
    model: Path,
    *,
    format: str = "text",  # noqa: A002 - the option is called so
    top: str | None = None,
    out: Path | None = None,
    force: bool = False,
) -> None:
    """Print the tree of a model with sizes and names, or write it to a file.

    Parameters
    ----------
    format : {"text", "newick", "json", "linkage", "graphml"}, default=text
        text for people; newick or graphml for tree viewers, linkage for SciPy (CSV, or .npy), json for
        cohirf.FusionHierarchy.
    top : int, default=in text, the clusters, and at most 30; else the whole tree
        Only the top of the tree, with at most this many leaves. In text, a number above that of the clusters also shows
        parts of clusters.
    out : file, default=standard output
        The file to write.

    Examples
    --------
    cohirf tree model.cohirf
    cohirf tree model.cohirf --top 60
    cohirf tree model.cohirf --format newick > tree.nwk
    cohirf tree model.cohirf --format linkage --out linkage.npy
    """
    check_file(out, "--out", (), force=force)
    (fitted, preparation), n_leaves = open_model(model), None if top is None else read_count("--top", top)
    if format == "text":
        _write_lines(_text_lines(fitted, preparation, n_leaves, out), out)
        return
    hierarchy = fitted.hierarchy_ if n_leaves is None else fitted.hierarchy_.condense(max_clusters=n_leaves)
    if out is None:
        sys.stdout.write(_to_text(hierarchy, format))
        return
    with replacing(out) as file:
        if format == "linkage" and out.suffix.lower() == ".npy":
            np.save(file, hierarchy.to_linkage())
        else:
            file.write(_to_text(hierarchy, format).encode())


def _text_lines(model: CoHiRF, preparation: Preparation, n_leaves: int | None, out: Path | None) -> list[str]:
    """Return the tree as text; in a terminal, lines are cut to its width."""
    named = name_tree(model, n_leaves, preparation)
    if named is None:
        return [f"{len(model.labels_):,} rows, all of them noise: there is no tree."]
    is_terminal = out is None and sys.stdout.isatty()
    width = max(NARROWEST, shutil.get_terminal_size().columns) if is_terminal else WIDEST
    return write_tree(named, width, drawn=out is not None or _can_show("├─│└…", sys.stdout.encoding))


def _can_show(letters: str, encoding: str | None) -> bool:
    try:
        letters.encode(encoding or "ascii")
    except UnicodeEncodeError:
        return False
    return True


def _write_lines(lines: list[str], out: Path | None) -> None:
    text = "\n".join([*lines, ""])
    if out is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    with replacing(out) as file:
        file.write(text.encode())


def _to_text(hierarchy: FusionHierarchy, format: str) -> str:  # noqa: A002 - the option is called so
    if format == "newick":
        return f"{hierarchy.to_newick()}\n"
    if format == "json":
        return f"{hierarchy.to_json()}\n"
    if format == "graphml":
        networkx = import_optional("networkx", "networkx", "--format graphml")
        return "\n".join([*networkx.generate_graphml(hierarchy.to_networkx()), ""])
    lines = (",".join(f"{value:.17g}" for value in step) for step in hierarchy.to_linkage())
    return "\n".join(["left,right,height,rows", *lines, ""])
