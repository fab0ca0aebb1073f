"""cohirf update: new rows join a saved model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from cohirf.cli.console import Console
from cohirf.cli.data_options import NewRowsOptions
from cohirf.cli.drift import describe_drift, drift_grid, say_drift
from cohirf.cli.errors import Interrupted
from cohirf.cli.grids import Grid
from cohirf.cli.models import open_model
from cohirf.cli.new_rows import find_ids, read_new_rows
from cohirf.cli.options import Screen
from cohirf.cli.summary import agreement, agreement_rows
from cohirf.cli.targets import save_labels
from cohirf.cli.writing import TABLES, check_file, refuse_data
from cohirf.degrees.drift import Drift
from cohirf.estimator import CoHiRF
from cohirf.optional import import_optional
from cohirf.preparation import Prepared
from cohirf.report import write_update_report
from cohirf.store import load_origin, load_preparation, save_model
from cohirf.summary.numbers import Changes


def update(
    model: Path,
    data: Path,
    out: Path | None,
    report: Path | None,
    reading: NewRowsOptions,
    screen: Screen,
    *,
    escape_formulas: bool,
    force: bool,
) -> None:
    """Add the rows of a file to a model, and save it in the place of the model before."""
    console = Console.on(screen)
    _check_targets(model, data, out, report, force=force)
    fitted, preparation = open_model(model)
    prepared = read_new_rows(data, preparation, reading, console)
    ids, classes = find_ids(prepared, out, reading.id_column), prepared.classes()
    drift = None if report is None else fitted.drift(prepared.source)  # before the model knows the new rows
    _update(fitted, prepared, console)
    save_model(fitted, model, overwrite=True, preparation=load_preparation(model), origin=load_origin(model))
    labels = fitted.labels_[len(fitted.labels_) - prepared.source.n_rows :]
    if out is not None:
        save_labels(out, labels, None if ids is None else prepared.ids(), ids, console, escape=escape_formulas)
    if report is not None and drift is not None:
        write_update_report(fitted, report, title=f"Updates of {model.name}", verdict=say_drift(drift))
    document = {"command": "update", "model": str(model), "data": str(data), **_describe(fitted, drift)}
    written = {"model": model, "labels": out, "report": report}
    document |= agreement(labels, classes) | {"warnings": console.warned}
    document |= {"written": {name: str(path) for name, path in written.items() if path is not None}}
    console.show(document, *_tell(document, fitted.changes_, drift), _say_written(model, out, report))


def _check_targets(model: Path, data: Path, out: Path | None, report: Path | None, *, force: bool) -> None:
    """Refuse files that cannot be written, before the model is changed."""
    check_file(out, "--out", TABLES, force=force, data=data)
    check_file(report, "--report", (".html", ".htm"), force=force, data=data)
    if report is not None:
        import_optional("jinja2", "report", "--report")
    refuse_data(model, "MODEL", data)


def _describe(model: CoHiRF, drift: Drift | None) -> dict[str, Any]:
    """Return the updated model, and how its new rows differ from those before, as what can be written as JSON."""
    drifted = {} if drift is None else {"drift": describe_drift(drift)}
    size = {"rows": len(model.labels_), "clusters": int(model.n_clusters_)}
    return drifted | size | {"changes": asdict(model.changes_)}


def _tell(document: dict[str, Any], changes: Changes, drift: Drift | None) -> list[Grid | str]:
    """Return what people see: how the new rows differ, what has changed, and the size of the model."""
    drifted: list[Grid | str] = [] if drift is None else [drift_grid(drift), say_drift(drift)]
    facts = [("rows", f"{document['rows']:,}"), ("clusters", f"{document['clusters']:,}"), *agreement_rows(document)]
    return [*drifted, *say_changes(changes), Grid(facts)]


def say_changes(changes: Changes) -> list[str]:
    """Return what an update has changed in words, one line for each kind of change."""
    return [line.strip() for line in str(changes).splitlines()]


def _update(model: CoHiRF, data: Prepared, console: Console) -> None:
    """Update the model; if the user stops it, the saved model has not been touched."""
    try:
        with console.watching():
            model.partial_fit(data.source)
    except KeyboardInterrupt:
        raise Interrupted("Stopped. The model is as it was before.") from None


def _say_written(model: Path, out: Path | None, report: Path | None) -> str:
    written = [(model, "model"), (out, "labels of the new rows"), (report, "report")]
    return f"Written: {', '.join(f'{path} ({what})' for path, what in written if path is not None)}"
