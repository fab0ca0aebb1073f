"""cohirf merge, forget: one model out of several saved ones, and a model without some of its rows."""

from __future__ import annotations

import re
from dataclasses import replace
from itertools import zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from cohirf.cli.console import Console
from cohirf.cli.errors import BadInputError
from cohirf.cli.new_rows import open_model, save_changed
from cohirf.cli.outputs import check_model
from cohirf.estimator import CoHiRF
from cohirf.preparation import Preparation
from cohirf.sources.files import shown
from cohirf.updating.merge import in_other_units
from cohirf.updating.merge import merge as merge_models


def merge(models: list[Path], *, model: Path, json: bool = False, force: bool = False) -> None:
    """Merge models of different rows into one, without their data; values are converted to the units of the first.

    Parameters
    ----------
    models : MODEL
        Files that cohirf fit --model has written.
    model : file
        Save the merged model to this new file.

    Examples
    --------
    cohirf merge north.cohirf south.cohirf west.cohirf --model all.cohirf
    """
    console = Console(as_json=json)
    if len(models) < 2:
        raise BadInputError("One model alone cannot be merged: give at least two.")
    check_model(model, "--model", force=force)
    opened = [open_model(path) for path in models]
    first = opened[0][1]
    fitted = []
    for path, (other, preparation) in zip(models, opened, strict=True):
        _refuse_other(path, preparation, models[0], first)
        fitted.append(other if _units(preparation) == _units(first) else _convert(other, preparation, first))
    with console.watching():
        merged = merge_models(fitted)
    save_changed("merge", model, merged, console, merged=models)


def forget(model: Path, what: list[str], *, rows: bool = False, json: bool = False) -> None:
    """Take all rows of some updates out of a model again; an update keeps its number.

    Parameters
    ----------
    what : UPDATES
        Numbers of updates, or ranges such as 3-5, as cohirf update prints them; 0 is the fit.
    rows : bool
        The numbers are those of single rows, counted from 0 over all data so far.

    Examples
    --------
    cohirf forget model.cohirf 0
    cohirf forget model.cohirf --rows 17 200-299
    """
    console = Console(as_json=json)
    numbers = [number for text in what for number in _read_range(text)]
    fitted, _ = open_model(model)
    n_rows = len(fitted.labels_)
    with console.watching():
        fitted.forget(**{"rows" if rows else "updates": numbers})
    if len(fitted.labels_) == n_rows:
        raise BadInputError(f"{', '.join(what)}: these updates have no rows left, and the model stays as it was.")
    save_changed("forget", model, fitted, console)


def _read_range(text: str) -> range:
    """Return the numbers that a number or a range stands for."""
    found = re.fullmatch(r"(\d+)(?:-(\d+))?", text)
    if found is None:
        raise BadInputError(f"{text!r} is not valid: give numbers such as 3, or ranges such as 3-5.")
    return range(int(found[1]), int(found[2] or found[1]) + 1)


def _units(preparation: Preparation) -> tuple[Any, Any]:
    return preparation.offset, preparation.scale


def _convert(model: CoHiRF, preparation: Preparation, wanted: Preparation) -> CoHiRF:
    """Return a model with its values in the units of another preparation of the same columns."""
    n_features = len(preparation.features)
    (offset, scale), (new_offset, new_scale) = (
        (np.zeros(n_features) if offset is None else np.array(offset), np.array(scale or np.ones(n_features)))
        for offset, scale in map(_units, (preparation, wanted))
    )
    converted: CoHiRF = in_other_units(model, scale / new_scale, (offset - new_offset) / new_scale)
    return converted


def _refuse_other(path: Path, preparation: Preparation, first: Path, wanted: Preparation) -> None:
    """Refuse a model whose rows have other features than those of the first.

    Values for missing cells may differ: those of the first model are used from now on.
    """
    pairs = zip_longest(map(_as_learnt, preparation.kept), map(_as_learnt, wanted.kept))
    differing = next((column or other for column, other in pairs if column != other), None)
    if differing is not None:
        raise BadInputError(
            f"{shown(path.absolute())} was prepared in another way than {shown(first.absolute())}: column "
            f"{differing.name!r} differs. Fit all models to the same columns, with the same levels, or add the data of "
            f"the one to the other, which prepares it in the same way: cohirf update {shown(first)} DATA"
        )


def _as_learnt(column: Any) -> Any:
    """Return a column without what describes the cells of one file only: how many are missing, and what fills them."""
    only_here = {"reason": "", "n_missing": 0, "n_bad": 0, "missing": None}
    return replace(column, **{name: value for name, value in only_here.items() if hasattr(column, name)})
