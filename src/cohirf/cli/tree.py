"""cohirf tree: print the tree of a model, or export its hierarchy."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from cohirf.cli.app import TREE_FORMATS
from cohirf.cli.models import open_model
from cohirf.cli.values import read_count, refuse_unknown
from cohirf.cli.writing import check_file
from cohirf.description import name_tree, write_tree
from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy
from cohirf.optional import import_optional
from cohirf.preparation import Preparation
from cohirf.store.files import replacing

WIDEST, NARROWEST = 10_000, 40  # characters of a line


def tree(
    model: Path,
    format: str,  # noqa: A002 - the option is called so
    top: str | None,
    out: Path | None,
    *,
    force: bool,
) -> None:
    """Print the tree of a model with sizes and names, or write it to a file."""
    refuse_unknown("--format", format, TREE_FORMATS)
    check_file(out, "--out", (), force=force)
    (fitted, preparation), n_leaves = open_model(model), None if top is None else read_count("--top", top)
    if format == "text":
        _write_lines(_lines(fitted, preparation, n_leaves, out), out)
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


def _lines(model: CoHiRF, preparation: Preparation, n_leaves: int | None, out: Path | None) -> list[str]:
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
