"""A saved model and new rows, or rows that go: cohirf predict, update, drift, merge and forget."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import wraps
from itertools import zip_longest
from math import isfinite
from pathlib import Path
from typing import Any

import numpy as np

from cohirf import Changes, CoHiRF, Drift, load
from cohirf import merge as merge_models
from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.errors import BadInputError, ExitCode, Interrupted
from cohirf.app.cli.graphs import is_of_graph, open_new_nodes
from cohirf.app.cli.options import ScreenOptions
from cohirf.app.cli.outputs import (
    LABEL_FILES,
    check_file,
    check_ids,
    check_model,
    check_report,
    holding,
    refuse_same,
    save_labels,
    say_written,
)
from cohirf.app.cli.summary import agreement, agreement_rows, describe_sizes, size_rows
from cohirf.app.explain import say_drift
from cohirf.app.preparation import Preparation, Prepared
from cohirf.inspection import find_largest, in_other_units, refuse_limits
from cohirf.sources import NoRowsError, find_format
from cohirf.store import CONTENT_ERRORS, is_model, load_about, one_line, shown
from cohirf.wording import listed


def changing_model(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that locks the file of its argument ``model`` from its first read to its
    last write.

    So two commands that change a model do so one after the other, and none loses what the other has
    done. Commands that only read a model need no lock: a file is replaced as a whole.
    """

    @wraps(command)
    def run(*, model: Path, **given: Any) -> None:
        console = Console(quiet=getattr(given.get("screen"), "quiet", False))
        with console.watching(), holding(model, console):
            command(model=model, **given)

    return run


def predict_file(model: Path, data: Path, screen: ScreenOptions, *, out: Path, force: bool) -> None:
    """Assign the rows of a file to the clusters of a model: cohirf predict."""
    console = Console.on(screen)
    check_file(out, "--out", LABEL_FILES, force=force, data=data)
    refuse_same({"--out": out}, {"MODEL": model})
    fitted, preparation = open_model(model)
    if is_of_graph(fitted):
        source = open_new_nodes(data, model, similar=fitted.metric == "affinity")
        labels = fitted.predict(source)
        document = {"command": "predict", **describe_sizes(labels)}
        names = source.read_new_names(fitted.n_features_in_, fitted.node_names_)
        save_labels(out, labels, console, names=names)
    else:
        prepared = read_new_rows(data, model, preparation, console)
        labels = fitted.predict(prepared.source)
        document = {
            "command": "predict",
            **describe_sizes(labels),
            **agreement(labels, prepared.classes()),
        }
        _save_labels(out, labels, prepared, console)
    document["written"] = {"labels": str(out)}
    rows = [*size_rows(document), *agreement_rows(document)]
    rows[1] = ("clusters", f"{document['clusters']:,} of {fitted.n_clusters_:,}")
    console.show(document, TextGrid(rows), say_written(document["written"]))


@changing_model
def update_model(
    model: Path,
    screen: ScreenOptions,
    data: Path | None,
    *,
    recluster: bool,
    report: Path | None,
    out: Path | None,
    force: bool,
) -> None:
    """Add the rows of a file to a model, or find its clusters anew: cohirf update."""
    console = Console.on(screen)
    if data is None:
        if out is not None:
            needs_rows = "--out"
        elif report is not None:
            needs_rows = "--report"
        else:
            needs_rows = None
        if not recluster or needs_rows:
            if recluster:
                remedy = f"because {needs_rows} is about them"
            else:
                remedy = "or --recluster to find the clusters anew"
            raise BadInputError(f"There are no new rows: give a file with them, {remedy}.")
        check_model(model, "MODEL", force=True)
        fitted, preparation = open_named(model)
        _update(fitted, preparation, None, console, recluster=True)
        save_changed("update", model, fitted, console)
        return
    check_file(out, "--out", LABEL_FILES, force=force, data=data)
    check_report(report, "--report", force=force, data=data)
    check_model(model, "MODEL", force=True, data=data)
    refuse_same({"MODEL": model, "--out": out, "--report": report}, {})
    fitted, preparation = open_named(model)
    try:
        prepared = read_new_rows(data, model, preparation, console)
    except NoRowsError:
        same: dict[str, Any] = {
            "command": "update",
            "model": str(model),
            "data": str(data),
            "changes": None,
        }
        same |= _sizes(fitted) | {"written": {}}
        console.show(same, f"{shown(data)} has no rows: the model stays as it was.")
        return
    classes = prepared.classes()
    # before the model knows the new rows
    if report is None:
        found = None
    else:
        found = fitted.drift(prepared.source)
    changes = _update(fitted, preparation, prepared, console, recluster=recluster)
    about = load_about(model)
    fitted.save(model, overwrite=True, preparation=about.preparation, origin=about.origin)
    labels = fitted.labels_[len(fitted.labels_) - prepared.source.n_rows :]
    if out is not None:
        _save_labels(out, labels, prepared, console)
    if report is not None and found is not None:
        from cohirf.app.explain.report import write_update_report  # slow to import

        write_update_report(
            fitted, report, title=f"Updates of {model.name}", verdict=_say_drift(found)
        )
    document: dict[str, Any] = {"command": "update", "model": str(model), "data": str(data)}
    document |= {} if found is None else {"drift": _describe_drift(found)}
    document |= _sizes(fitted) | {"changes": asdict(changes[0])}
    document |= {"reclustered": asdict(changes[1])} if recluster else {}
    document |= agreement(labels, classes) | {"warnings": console.warned}
    written = {"model": model, "labels": out, "report": report}
    document["written"] = {name: str(path) for name, path in written.items() if path is not None}
    facts = [
        ("rows", f"{document['rows']:,}"),
        ("clusters", f"{document['clusters']:,}"),
        *agreement_rows(document),
    ]
    names = {
        "labels of the new rows" if name == "labels" else name: path
        for name, path in document["written"].items()
    }
    said = say_lines(*changes) if found is None else say_lines(found, *changes)
    console.show(document, *said, TextGrid(facts), say_written(names))


def compare_file(model: Path, data: Path, *, json: bool) -> int:
    """Compare the rows of a file with the recent past of a model, and return the exit code: cohirf
    drift.
    """
    console = Console(as_json=json)
    fitted, preparation = open_named(model)
    document: dict[str, Any] = {"command": "drift", "model": str(model), "data": str(data)}
    try:
        rows = read_new_rows(data, model, preparation, console)
    except NoRowsError:
        said = f"{shown(data)} has no rows: there is nothing to compare."
        console.show(
            document
            | {"new_rows": 0, "has_drifted": False, "has_new_kind": False, "verdict": said},
            said,
        )
        return 0
    with console.watching():
        found = fitted.drift(rows.source)
    console.show(document | _describe_drift(found), *say_lines(found))
    if found.has_new_kind:
        return ExitCode.NEW_KIND
    return ExitCode.DRIFTED if found.has_drifted else 0


@changing_model
def merge_files(models: list[Path], *, model: Path, json: bool, force: bool) -> None:
    """Merge saved models into one: cohirf merge."""
    console = Console(as_json=json)
    if len(models) < 2:
        raise BadInputError("One model alone cannot be merged: give at least two.")
    check_model(model, "--model", force=force)
    opened = [open_named(path) for path in models]
    first = opened[0][1]
    for path, (_, preparation) in zip(models, opened, strict=True):
        _refuse_other(path, preparation, models[0], first)
    largest = find_largest([fitted for fitted, _ in opened])
    with console.watching():
        merged = merge_models([_in_units_of(opened[largest][1], *one) for one in opened])
        merged.name_clusters(preparation=opened[largest][1])
    save_changed(
        "merge", model, merged, console, merged=models, prepared_as=models[largest], overwrite=force
    )


@changing_model
def forget_rows(model: Path, what: list[str], *, rows: bool, json: bool) -> None:
    """Take the rows of some updates, or single rows, out of a model: cohirf forget."""
    console = Console(as_json=json)
    ranges = [(text, re.fullmatch(r"(\d+)(?:-(\d+))?", text)) for text in what]
    if wrong := next((text for text, found in ranges if found is None), None):
        raise BadInputError(
            f"{wrong!r} is not valid: give numbers such as 3, or ranges such as 3-5."
        )
    numbers = [
        one
        for _, found in ranges
        if found
        for one in range(int(found[1]), int(found[2] or found[1]) + 1)
    ]
    check_model(model, "MODEL", force=True)
    fitted, preparation = open_named(model)
    n_rows = len(fitted.labels_)
    with console.watching():
        fitted.forget(**{"rows" if rows else "updates": numbers})
    if len(fitted.labels_) == n_rows:
        raise BadInputError(
            f"{', '.join(what)}: these updates have no rows left, and the model stays as it was."
        )
    fitted.name_clusters(preparation=preparation)
    save_changed("forget", model, fitted, console)


def open_model(path: Path) -> tuple[CoHiRF, Preparation]:
    """Load a model and its preparation.

    A model that was saved from Python has none, and takes columns unchanged.
    """
    if not is_model(path):
        problem = "is not a saved model" if path.exists() else "does not exist"
        raise BadInputError(
            f"{shown(path.absolute())} {problem}: give the file that cohirf fit --model wrote."
        )
    model = load(path)
    content = load_about(path).preparation
    if content is None:
        return model, Preparation.of_numbers(
            list(getattr(model, "feature_names_in_", range(model.n_features_in_)))
        )
    try:
        preparation = Preparation.from_json(content, model.n_features_in_)
    except CONTENT_ERRORS as error:
        raise BadInputError(
            f"{shown(path.absolute())}: its preparation cannot be used: {one_line(error)}. Fit and "
            "save it again."
        ) from error
    return model, preparation


def open_named(path: Path) -> tuple[CoHiRF, Preparation]:
    """Load a model and its preparation.

    Clusters that no command has named yet get the names that the fit has shown.
    """
    model, preparation = open_model(path)
    if not model.names_:
        model.name_clusters(preparation=preparation)
    return model, preparation


def csv_format(data: Path, model: Path) -> dict[str, Any]:
    """Return the options that open a file, as they were given for that of the fit."""
    origin = load_about(model).origin
    if origin is None:
        return {}
    taken = find_format(data.expanduser()).options
    return {name: origin.options.get(name) for name in taken}


def read_new_rows(data: Path, model: Path, preparation: Preparation, console: Console) -> Prepared:
    """Prepare the rows of a file, and say which of its columns the model does not know."""
    with console.reading(data):
        prepared = preparation.apply(data, **csv_format(data, model))
    if prepared.ignored:
        console.note(
            f"ignored, because the model was fitted without them: {listed(prepared.ignored)}"
        )
    return prepared


def _save_labels(out: Path, labels: Any, rows: Prepared, console: Console) -> None:
    """Write labels with the names of the rows, if there are any and the file can store them."""
    ids = None if out.suffix.lower() == ".npy" else rows.preparation.id_column
    check_ids(out, ids)
    save_labels(out, labels, console, rows.data, [] if ids is None else [ids])


def _update(
    model: CoHiRF,
    preparation: Preparation,
    data: Prepared | None,
    console: Console,
    *,
    recluster: bool,
) -> list[Changes]:
    """Update the model, and return what has changed.

    If the user stops it, the saved model has not been touched.
    """
    refuse_limits(model)
    changes: list[Changes] = []
    try:
        with console.watching():
            if data is not None:
                model.partial_fit(data.source).name_clusters(preparation=preparation)
                changes.append(_changes_of(model))
            if recluster:
                model.recluster().name_clusters(preparation=preparation)
                changes.append(_changes_of(model))
    except KeyboardInterrupt:
        raise Interrupted("Stopped. The model is as it was before.") from None
    return changes


def _changes_of(updated: CoHiRF) -> Changes:
    """Return what the last update of a model has changed."""
    assert updated.changes_ is not None  # as after a fit
    return updated.changes_


def _sizes(fitted: CoHiRF) -> dict[str, Any]:
    numbers = fitted.cluster_numbers_.tolist()
    names = {number: fitted.names_[number] for number in numbers if number in fitted.names_}
    return {"rows": len(fitted.labels_), "clusters": int(fitted.n_clusters_), "names": names}


def save_changed(
    command: str,
    path: Path,
    fitted: CoHiRF,
    console: Console,
    *,
    merged: Sequence[Path] = (),
    prepared_as: Path | None = None,
    overwrite: bool = True,
) -> None:
    """Save a model without new rows, and say what has changed.

    ``merged`` are the models that it was made of, and ``prepared_as`` is the one whose units its
    values have.
    """
    about = load_about(prepared_as or path)
    origin = None if merged else about.origin
    fitted.save(path, overwrite=overwrite, preparation=about.preparation, origin=origin)
    document: dict[str, Any] = {"command": command, "model": str(path)}
    document |= {"models": [str(one) for one in merged]} if merged else {}
    document |= _sizes(fitted) | {"changes": asdict(_changes_of(fitted))}
    document |= {"warnings": console.warned, "written": {"model": str(path)}}
    facts = TextGrid([("rows", f"{document['rows']:,}"), ("clusters", f"{document['clusters']:,}")])
    console.show(document, *say_lines(_changes_of(fitted)), facts, say_written(document["written"]))


def say_lines(*found: Drift | Changes) -> list[str]:
    """Return drift and changes in words, in lines."""
    return [line.strip() for one in found for line in str(one).splitlines()]


def _describe_drift(drift: Drift) -> dict[str, Any]:
    """Return drift as what can be written as JSON."""
    features = [asdict(feature) for feature in drift.features]
    # a feature that was constant before moves by infinitely many standard deviations
    for feature in features:
        feature["shift"] = feature["shift"] if isfinite(feature["shift"]) else None
    return {
        "new_rows": drift.n_rows,
        "has_drifted": drift.has_drifted,
        "has_new_kind": drift.has_new_kind,
        "new_kinds": drift.new_kinds,
        "verdict": say_drift(drift),
        "share_outside": drift.share_outside,
        "is_outside": drift.is_outside,
        "shares": [asdict(cluster) for cluster in drift.clusters],
        "features": features,
    }


def _say_drift(drift: Drift) -> str:
    """Return the verdict as a sentence."""
    said = say_drift(drift)
    return f"{said[0].upper()}{said[1:]}."


def _in_units_of(first: Preparation, model: CoHiRF, preparation: Preparation) -> CoHiRF:
    """Return a model with its values in the units of another preparation of the same columns."""
    if (preparation.offset, preparation.scale) == (first.offset, first.scale):
        return model
    n_features = len(preparation.features)
    (offset, scale), (new_offset, new_scale) = (
        (np.array(one.offset or np.zeros(n_features)), np.array(one.scale or np.ones(n_features)))
        for one in (preparation, first)
    )
    converted: CoHiRF = in_other_units(model, scale / new_scale, (offset - new_offset) / new_scale)
    return converted


def _refuse_other(path: Path, preparation: Preparation, first: Path, wanted: Preparation) -> None:
    """Refuse a model whose rows have other features than those of the first."""
    # missing cells are of one file only: the values of the largest model fill them from now on
    only_here: dict[str, Any] = {"reason": "", "n_missing": 0, "n_bad": 0, "missing": None}
    kept: Any = (
        [
            replace(one, **{name: only_here[name] for name in only_here if hasattr(one, name)})
            for one in learnt.kept
        ]
        for learnt in (preparation, wanted)
    )
    pairs = zip_longest(*kept)
    differing = next((column or other for column, other in pairs if column != other), None)
    if differing is not None:
        raise BadInputError(
            f"{shown(path.absolute())} was prepared in another way than {shown(first.absolute())}: "
            f"column {differing.name!r} differs. Fit all models to the same columns, with the same "
            "levels, or add the data of the one to the other, which prepares it in the same way: "
            f"cohirf update {shown(first)} DATA"
        )
