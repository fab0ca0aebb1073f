"""cohirf merge: one model out of several saved ones."""

from __future__ import annotations

from dataclasses import asdict, replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

from cohirf.cli.console import Console, TextGrid
from cohirf.cli.errors import BadInputError
from cohirf.cli.new_rows import open_model, say_changes
from cohirf.cli.outputs import check_model
from cohirf.preparation import Preparation
from cohirf.sources.files import shown
from cohirf.store import load_preparation, save_model
from cohirf.updating.merge import merge as merge_models


def merge(
    models: list[Path], *, model: Path, exemplars_only: bool = False, json: bool = False, force: bool = False
) -> None:
    """Merge models of different rows into one, without their data.

    Parameters
    ----------
    models : MODEL
        Files that cohirf fit --model has written.
    model : file
        Save the merged model to this new file.
    exemplars_only : bool
        Reduce each model to its clusters first: their exemplars, means and numbers of rows.

    Examples
    --------
    cohirf merge north/ south/ west/ --model all/
    cohirf merge north/ --exemplars-only --model small/
    """
    console = Console(as_json=json)
    if len(models) < 2 and not exemplars_only:
        raise BadInputError("One model alone cannot be merged: give at least two, or --exemplars-only to reduce it.")
    check_model(model, "--model", force=force)
    opened = [open_model(path) for path in models]
    for path, (_, preparation) in zip(models[1:], opened[1:], strict=True):
        _refuse_other(path, preparation, models[0], opened[0][1])
    with console.watching():
        merged = merge_models([fitted for fitted, _ in opened], exemplars_only=exemplars_only)
    save_model(merged, model, overwrite=force, preparation=load_preparation(models[0]))
    document = {
        "command": "merge",
        "models": [str(path) for path in models],
        "rows": len(merged.labels_),
        "clusters": int(merged.n_clusters_),
        "changes": asdict(merged.changes_),
        "warnings": console.warned,
        "written": {"model": str(model)},
    }
    facts = TextGrid([("rows", f"{document['rows']:,}"), ("clusters", f"{document['clusters']:,}")])
    console.show(document, *say_changes(merged.changes_), facts, f"Written: {model} (model)")


def _refuse_other(path: Path, preparation: Preparation, first: Path, wanted: Preparation) -> None:
    """Refuse a model whose rows were prepared in another way: its values cannot be compared with those of the first.

    Values for missing cells may differ: those of the first model are used from now on.
    """
    pairs = zip_longest(map(_as_learnt, preparation.columns), map(_as_learnt, wanted.columns))
    differing = next((column or other for column, other in pairs if column != other), None)
    if differing is None and (preparation.offset, preparation.scale) == (wanted.offset, wanted.scale):
        return
    what = "the scales differ" if differing is None else f"column {differing.name!r} differs"
    remedy = (
        f"Each file was scaled by its own means, so values of the models cannot be compared. Fit all models in the "
        f"same units: cohirf fit FILE --scale none --model {shown(path)}"
        if differing is None
        else "Fit all models to the same columns, with the same levels."
    )
    raise BadInputError(
        f"{shown(path.absolute())} was prepared in another way than {shown(first.absolute())}: {what}. {remedy}"
    )


def _as_learnt(column: Any) -> Any:
    """Return a column without what describes the cells of one file only: how many are missing, and what fills them."""
    only_here = {"reason": "", "n_missing": 0, "n_bad": 0, "missing": None}
    return replace(column, **{name: value for name, value in only_here.items() if hasattr(column, name)})
