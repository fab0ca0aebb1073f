"""What a saved model has: cohirf cut gives other clusters, tree prints or exports the tree, report
writes a page.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np

from cohirf import CoHiRF
from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.errors import BadInputError, read_count
from cohirf.app.cli.new_rows import csv_format, open_model
from cohirf.app.cli.outputs import (
    LABEL_FILES,
    check_file,
    check_ids,
    check_report,
    refuse_same,
    save_labels,
    say_written,
)
from cohirf.app.cli.policy import OUTPUT
from cohirf.app.cli.summary import describe_sizes, size_rows
from cohirf.app.explain import name_tree, write_tree
from cohirf.app.preparation import Data, Preparation
from cohirf.app.preparation.data import find_column
from cohirf.hierarchy import FusionHierarchy
from cohirf.optional import import_optional
from cohirf.store import load_about, replacing
from cohirf.wording import count_of, setting


def cut_tree(
    model: Path, *, clusters: str, data: Path | None, out: Path | None, json: bool, force: bool
) -> None:
    """Cut the hierarchy of a model into fewer or more clusters: cohirf cut."""
    console = Console(as_json=json)
    check_file(out, "--out", LABEL_FILES, force=force, data=data)
    refuse_same({"--out": out}, {"MODEL": model})
    fitted, preparation = open_model(model)
    labels = fitted.hierarchy_.cut(n_clusters=read_count("--clusters", clusters))
    if out is not None:
        opened = name = None
        if data is not None:  # it has the names of the rows
            opened = Data.open(data, **csv_format(data, model))
            column = preparation.id_column
            if column is None:
                raise BadInputError(
                    f"--data {opened.name}: the model was fitted without names of rows: leave "
                    "--data out."
                )
            name = find_column(
                opened.name, opened.columns, column, setting("id_column", str(column))
            )
        check_ids(out, name)
        save_labels(out, labels, console, opened, [] if name is None else [name])
    document = {
        "command": "cut",
        **describe_sizes(labels),
        "written": {} if out is None else {"labels": str(out)},
    }
    nothing = "give --out labels.csv to keep the clusters."
    console.show(document, TextGrid(size_rows(document)), say_written(document["written"], nothing))


def show_tree(model: Path, *, top: str | None, out: Path | None, force: bool) -> None:
    """Print the tree of a model, or write it to a file: cohirf tree."""
    check_file(out, "--out", (".txt", ".nwk", ".json", ".graphml", ".csv", ".npy"), force=force)
    refuse_same({"--out": out}, {"MODEL": model})
    (fitted, preparation), n_leaves = (
        open_model(model),
        None if top is None else read_count("--top", top),
    )
    if out is None:
        encoding = sys.stdout.encoding or "utf-8"
        if sys.stdout.isatty():
            width = max(OUTPUT.narrowest, shutil.get_terminal_size().columns)
        else:
            width = OUTPUT.widest
        can_draw = "?" not in "├─│└…".encode(encoding, "replace").decode(encoding)
        text = _draw_tree(fitted, preparation, n_leaves, width, drawn=can_draw)
        sys.stdout.write(text.encode(encoding, "backslashreplace").decode(encoding))
        return
    hierarchy = fitted.hierarchy_
    ending = out.suffix.lower()
    if n_leaves is not None and ending != ".txt":
        hierarchy = hierarchy.condense(max_clusters=n_leaves)
    with replacing(out) as file:
        if ending == ".txt":
            file.write(
                _draw_tree(fitted, preparation, n_leaves, OUTPUT.widest, drawn=True).encode()
            )
        elif ending == ".npy":
            np.save(file, hierarchy.to_linkage())
        else:
            file.write(_to_text(hierarchy, ending).encode())
    Console().show({}, say_written({"tree": str(out)}))


def _draw_tree(
    model: CoHiRF, preparation: Preparation, n_leaves: int | None, width: int, *, drawn: bool
) -> str:
    """Return the tree as text, in lines that are cut to the width."""
    named = name_tree(model, n_leaves, preparation)
    if named is None:
        return f"{count_of(len(model.labels_), 'row')} in no cluster: there is no tree.\n"
    return "\n".join([*write_tree(named, width, drawn=drawn), ""])


def _to_text(hierarchy: FusionHierarchy, ending: str) -> str:
    if ending in (".nwk", ".json"):
        return f"{hierarchy.to_newick() if ending == '.nwk' else hierarchy.to_json()}\n"
    if ending == ".graphml":
        networkx = import_optional("networkx", "networkx", "Writing a .graphml file")
        return "\n".join([*networkx.generate_graphml(hierarchy.to_networkx()), ""])
    lines = (",".join(f"{value:.17g}" for value in step) for step in hierarchy.to_linkage())
    return "\n".join(["left,right,height,rows", *lines, ""])


def report_model(model: Path, data: Path, *, out: Path, force: bool) -> None:
    """Write a page on a model: cohirf report."""
    check_report(out, "--out", force=force, data=data)
    refuse_same({"--out": out}, {"MODEL": model})
    fitted, preparation = open_model(model)
    from cohirf.app.explain import write_report  # slow to import

    console = Console()
    origin = load_about(model).origin
    with console.reading(data):
        # the fit took every cell that cannot be read as missing, if the user named the kind of its
        # column
        prepared = preparation.apply(data, **csv_format(data, model), most_bad=1.0)
        write_report(
            fitted, prepared, out, y=prepared.classes(), data_name=data.name, origin=origin
        )
    console.show({}, f"Written: {out} (report)")
