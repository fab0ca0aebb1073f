"""New rows and a saved model: cohirf predict, update and drift. Rows are prepared as those of the fit were."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from math import isfinite
from pathlib import Path
from typing import Any

from cohirf.cli.console import Console, TextGrid
from cohirf.cli.errors import BadInputError, Interrupted
from cohirf.cli.options import ScreenOptions, read_kinds
from cohirf.cli.outputs import LABEL_FILES, check_file, check_ids, check_report, refuse_data, save_labels, say_written
from cohirf.cli.summary import agreement, agreement_rows, describe_sizes, size_rows
from cohirf.degrees.drift import Drift
from cohirf.estimator import CoHiRF
from cohirf.preparation import Preparation, Prepared
from cohirf.sources.files import one_line, shown
from cohirf.sources.source import NoRowsError, listed
from cohirf.store import is_model, load_model, load_origin, load_preparation, save_model
from cohirf.store.errors import CONTENT_ERRORS
from cohirf.summary.numbers import Changes

MODEL_REMEDY = "give the file that cohirf fit --model wrote"
DRIFTED = 3  # exit status
DRIFT_SHOWN = 8  # clusters and features in a table
CSV = (".csv", ".tsv", ".csv.gz", ".tsv.gz")


def predict(
    model: Path,
    data: Path,
    screen: ScreenOptions,
    *,
    kinds: list[str] | None = None,
    out: Path,
    force: bool = False,
) -> None:
    """Assign new rows to the clusters of a model.

    Examples
    --------
    cohirf predict model.cohirf new.parquet --out labels.parquet
    """
    console = Console.on(screen)
    check_file(out, "--out", LABEL_FILES, force=force, data=data)
    fitted, preparation = open_model(model)
    prepared = read_new_rows(data, model, preparation, console, kinds)
    labels = fitted.predict(prepared.source)
    document = {"command": "predict", **describe_sizes(labels), **agreement(labels, prepared.classes())}
    document["written"] = {"labels": str(out)}
    _save_labels(out, labels, prepared, console)
    rows = [*size_rows(document), *agreement_rows(document)]
    rows[1] = ("clusters", f"{document['clusters']:,} of {fitted.n_clusters_:,}")
    console.show(document, TextGrid(rows), say_written(document["written"]))


def update(
    model: Path,
    screen: ScreenOptions,
    data: Path | None = None,
    *,
    kinds: list[str] | None = None,
    recluster: bool = False,
    report: Path | None = None,
    out: Path | None = None,
    force: bool = False,
) -> None:
    """Add the rows of a file to a model; all clusters go on, and new ones are born beside them.

    Parameters
    ----------
    recluster : bool
        Find the clusters of all rows anew, as a fit does, with or without new rows. Their number is chosen again, and
        rows can change their cluster.
    report : file
        Write how clusters have changed over all updates to this .html file, and say how the new rows differ from those
        before, as cohirf drift does.
    out : file
        Write the cluster of each new row to this .parquet, .csv or .npy file.

    Examples
    --------
    cohirf update model.cohirf january.parquet
    cohirf update model.cohirf february.csv --report changes.html --out labels.csv
    cohirf update model.cohirf --recluster
    """
    console = Console.on(screen)
    if data is None:
        _recluster(model, console, [("--out", out), ("--report", report)], recluster=recluster)
        return
    check_file(out, "--out", LABEL_FILES, force=force, data=data)
    check_report(report, "--report", force=force, data=data)
    refuse_data(model, "MODEL", data)
    fitted, preparation = open_model(model)
    try:
        prepared = read_new_rows(data, model, preparation, console, kinds)
    except NoRowsError:
        _say_empty(model, data, fitted, console)
        return
    classes = prepared.classes()
    found = None if report is None else fitted.drift(prepared.source)  # before the model knows the new rows
    changes = _update(fitted, prepared, console, recluster=recluster)
    save_model(fitted, model, overwrite=True, preparation=load_preparation(model), origin=load_origin(model))
    labels = fitted.labels_[len(fitted.labels_) - prepared.source.n_rows :]
    if out is not None:
        _save_labels(out, labels, prepared, console)
    if report is not None and found is not None:
        from cohirf.report import write_update_report  # slow to import

        write_update_report(fitted, report, title=f"Updates of {model.name}", verdict=_say_drift(found))
    document: dict[str, Any] = {"command": "update", "model": str(model), "data": str(data)}
    document |= {} if found is None else {"drift": _describe_drift(found)}
    document |= {"rows": len(fitted.labels_), "clusters": int(fitted.n_clusters_), "changes": asdict(changes[0])}
    document |= {"reclustered": asdict(changes[1])} if recluster else {}
    document |= agreement(labels, classes) | {"warnings": console.warned}
    written = {"model": model, "labels": out, "report": report}
    document["written"] = {name: str(path) for name, path in written.items() if path is not None}
    facts = [("rows", f"{document['rows']:,}"), ("clusters", f"{document['clusters']:,}"), *agreement_rows(document)]
    drifted: list[TextGrid | str] = [] if found is None else [_drift_grid(found), _say_drift(found)]
    names = {"labels of the new rows" if name == "labels" else name: path for name, path in document["written"].items()}
    console.show(document, *drifted, *say_changes(*changes), TextGrid(facts), say_written(names))


def drift(model: Path, data: Path, *, kinds: list[str] | None = None, json: bool = False) -> int:
    """Say whether new rows look like those of a model (exit status 0), or whether it should be updated (3).

    Examples
    --------
    cohirf drift model.cohirf new.parquet
    cohirf drift model.cohirf new.csv --json
    """
    console = Console(as_json=json)
    fitted, preparation = open_model(model)
    rows = read_new_rows(data, model, preparation, console, kinds)
    with console.watching():
        found = fitted.drift(rows.source)
    document = {"command": "drift", "model": str(model), "data": str(data), **_describe_drift(found)}
    console.show(document, _drift_grid(found), _say_drift(found))
    return DRIFTED if found.has_drifted else 0


def open_model(path: Path) -> tuple[CoHiRF, Preparation]:
    """Load a model and its preparation; a model that was saved from Python has none, and takes columns unchanged."""
    if not path.exists():
        raise BadInputError(f"{shown(path.absolute())} does not exist: {MODEL_REMEDY}.")
    if not is_model(path):
        raise BadInputError(f"{shown(path.absolute())} is not a saved model: {MODEL_REMEDY}.")
    model = load_model(path)
    content = load_preparation(path)
    if content is None:
        return model, _without_changes(model)
    try:
        preparation = Preparation.from_json(content, model.n_features_in_)
    except CONTENT_ERRORS as error:
        raise BadInputError(
            f"{shown(path.absolute())}: its preparation cannot be used: {one_line(error)}. Fit and save it again."
        ) from error
    return model, preparation


def _without_changes(model: CoHiRF) -> Preparation:
    names = getattr(model, "feature_names_in_", range(model.n_features_in_))
    return Preparation.of_numbers(list(names))


def csv_format(data: Path, model: Path) -> dict[str, Any]:
    """Return the delimiter and the header of a CSV file, as they were given for that of the fit."""
    origin = load_origin(model)
    if origin is None or not data.name.lower().endswith(CSV):
        return {}
    return {name: origin.options.get(name) for name in ("delimiter", "header")}


def read_new_rows(
    data: Path, model: Path, preparation: Preparation, console: Console, kinds: list[str] | None = None
) -> Prepared:
    """Prepare the rows of a file, and say which of its columns the model does not know."""
    with console.reading(data):
        prepared = preparation.apply(data, kinds=read_kinds(kinds), **csv_format(data, model))
    if prepared.ignored:
        console.note(f"ignored, because the model was fitted without them: {listed(prepared.ignored)}")
    return prepared


def _save_labels(out: Path, labels: Any, rows: Prepared, console: Console) -> None:
    """Write labels with the names of the rows, if there are any and the file can store them."""
    ids = None if out.suffix.lower() == ".npy" else rows.preparation.id_column
    check_ids(out, ids)
    save_labels(out, labels, None if ids is None else rows.ids(), ids, console)


def _update(model: CoHiRF, data: Prepared | None, console: Console, *, recluster: bool) -> list[Changes]:
    """Update the model, and return what has changed; if the user stops it, the saved model has not been touched."""
    changes: list[Changes] = []
    try:
        with console.watching():
            if data is not None:
                changes.append(model.partial_fit(data.source).changes_)
            if recluster:
                changes.append(model.recluster().changes_)
    except KeyboardInterrupt:
        raise Interrupted("Stopped. The model is as it was before.") from None
    return changes


def _recluster(path: Path, console: Console, outputs: list[tuple[str, Path | None]], *, recluster: bool) -> None:
    """Find the clusters of a model anew, without new rows."""
    needs_rows = next((flag for flag, output in outputs if output is not None), None)
    if not recluster or needs_rows:
        remedy = "or --recluster to find the clusters anew" if not recluster else f"because {needs_rows} is about them"
        raise BadInputError(f"There are no new rows: give a file with them, {remedy}.")
    fitted, _ = open_model(path)
    _update(fitted, None, console, recluster=True)
    save_changed("update", path, fitted, console)


def save_changed(command: str, path: Path, fitted: CoHiRF, console: Console, *, merged: Sequence[Path] = ()) -> None:
    """Save a model without new rows, and say what has changed; ``merged`` are the models that it was made of."""
    content = load_preparation(merged[0] if merged else path)
    save_model(fitted, path, overwrite=True, preparation=content, origin=None if merged else load_origin(path))
    document: dict[str, Any] = {"command": command, "model": str(path)}
    document |= {"models": [str(one) for one in merged]} if merged else {}
    document |= {"rows": len(fitted.labels_), "clusters": int(fitted.n_clusters_), "changes": asdict(fitted.changes_)}
    document |= {"warnings": console.warned, "written": {"model": str(path)}}
    facts = TextGrid([("rows", f"{document['rows']:,}"), ("clusters", f"{document['clusters']:,}")])
    console.show(document, *say_changes(fitted.changes_), facts, say_written(document["written"]))


def _say_empty(path: Path, data: Path, fitted: CoHiRF, console: Console) -> None:
    """Say that a file has no rows, so that there is nothing to update."""
    document: dict[str, Any] = {"command": "update", "model": str(path), "data": str(data), "changes": None}
    document |= {"rows": len(fitted.labels_), "clusters": int(fitted.n_clusters_), "written": {}}
    console.show(document, f"{shown(data)} has no rows: the model stays as it was.")


def say_changes(*changes: Changes) -> list[str]:
    """Return what updates have changed in words, one line for each kind of change."""
    return [line.strip() for change in changes for line in str(change).splitlines()]


def _describe_drift(drift: Drift) -> dict[str, Any]:
    """Return drift as what can be written as JSON."""
    features = [asdict(feature) for feature in drift.features]
    for feature in features:  # a feature that was constant before moves by infinitely many standard deviations
        feature["shift"] = feature["shift"] if isfinite(feature["shift"]) else None
    return {
        "new_rows": drift.n_rows,
        "has_drifted": drift.has_drifted,
        "verdict": drift.verdict,
        "share_outside": drift.share_outside,
        "is_outside": drift.is_outside,
        "shares": [asdict(cluster) for cluster in drift.clusters],
        "features": features,
    }


def _drift_grid(drift: Drift) -> TextGrid:
    """Return a table of the new rows: those outside, the clusters and the features that differ most."""
    rows = [("new rows", f"{drift.n_rows:,}"), ("outside", f"{drift.share_outside:.1%} (usual is 1.0%)")]
    largest = sorted(drift.clusters, key=lambda part: -abs(part.now - part.before))[:DRIFT_SHOWN]
    rows += [(part.name, f"{part.before:.1%} before, {part.now:.1%} now") for part in largest]
    rows += [
        (feature.name, f"shift {feature.shift:+.2f} standard deviations, KS {feature.statistic:.2f}")
        for feature in drift.features[:DRIFT_SHOWN]
    ]
    return TextGrid(rows)


def _say_drift(drift: Drift) -> str:
    """Return the verdict as a sentence."""
    return f"{drift.verdict[0].upper()}{drift.verdict[1:]}."
