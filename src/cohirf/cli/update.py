"""cohirf update: new rows join a saved model."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

from cohirf.cli.console import Console
from cohirf.cli.drift import describe_drift, drift_grid, say_drift
from cohirf.cli.errors import Interrupted
from cohirf.cli.grids import Grid
from cohirf.cli.models import open_model
from cohirf.cli.options import CsvOptions, Screen
from cohirf.cli.summary import agreement, agreement_rows
from cohirf.cli.targets import save_labels
from cohirf.cli.writing import TABLES, check_file, check_ids, refuse_data
from cohirf.estimator import CoHiRF
from cohirf.optional import import_optional
from cohirf.preparation import Prepared
from cohirf.preparation.roles import listed
from cohirf.report.write import write_update_report
from cohirf.saving import load_origin, load_preparation, save_model
from cohirf.summary.numbers import Changes


def update(
    model: Path,
    data: Path,
    out: Path | None,
    report: Path | None,
    csv: CsvOptions,
    screen: Screen,
    label_column: str | None,
    id_column: str | None,
    *,
    escape_formulas: bool,
    force: bool,
) -> None:
    """Add the rows of a file to a model, and save it in the place of the model before."""
    console = Console.on(screen)
    check_file(out, "--out", TABLES, force=force, data=data)
    check_file(report, "--report", (".html", ".htm"), force=force, data=data)
    if report is not None:  # before the model is changed
        import_optional("jinja2", "report", "--report")
    refuse_data(model, "MODEL", data)
    fitted, preparation = open_model(model)
    with console.watching():
        prepared = preparation.apply(data, label_column=label_column, id_column=id_column, **csv.given())
    if prepared.ignored:
        console.note(f"ignored, because the model was fitted without them: {listed(prepared.ignored)}")
    has_ids = out is None or out.suffix.lower() != ".npy"
    ids, classes = prepared.preparation.id_column if has_ids else id_column, prepared.classes()
    check_ids(out, ids)
    document: dict[str, Any] = {"command": "update", "model": str(model), "data": str(data)}
    shown: list[Grid | str] = []
    if report is not None:
        drift = fitted.drift(prepared.source)
        document["drift"] = describe_drift(drift)
        shown += [drift_grid(drift), say_drift(drift)]
    _update(fitted, prepared, console)
    kept: dict[str, Any] = {"preparation": load_preparation(model), "origin": load_origin(model)}
    save_model(fitted, model, overwrite=True, **kept)
    changes = fitted.changes_
    labels = fitted.labels_[len(fitted.labels_) - prepared.source.n_rows :]
    document |= {"rows": len(fitted.labels_), "clusters": int(fitted.n_clusters_), "changes": asdict(changes)}
    document |= agreement(labels, classes)
    document |= {"warnings": console.warned, "written": {"model": str(model)}}
    if out is not None:
        save_labels(out, labels, prepared.ids(), ids, console, escape=escape_formulas)
        document["written"]["labels"] = str(out)
    if report is not None:
        write_update_report(fitted, report, title=f"Updates of {model.name}", verdict=say_drift(drift))
        document["written"]["report"] = str(report)
    facts = [("rows", f"{document['rows']:,}"), ("clusters", f"{document['clusters']:,}"), *agreement_rows(document)]
    console.show(document, *shown, *say_changes(changes), Grid(facts), _say_written(model, out, report))


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
