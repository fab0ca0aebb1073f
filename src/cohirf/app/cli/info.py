"""cohirf info: describe a model or a data file."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils._pprint import _changed_params

from cohirf import CoHiRF
from cohirf.app.cli.console import Console, TextGrid
from cohirf.app.cli.new_rows import open_model
from cohirf.app.cli.policy import OUTPUT
from cohirf.app.cli.summary import cluster_grid, model_grid, summarize_model
from cohirf.app.explain import describe_clusters
from cohirf.app.preparation import Boolean, Category, Column, Data, LeftOut, Number, Preparation
from cohirf.app.preparation.decide import best_tally, decide_all, find_doubt, uses_comma
from cohirf.app.preparation.evidence import (
    BadColumn,
    Evidence,
    Tally,
    gather,
    gather_numbers,
    say_strays,
)
from cohirf.app.preparation.readings import DateReading
from cohirf.inspection import Totals, count_views
from cohirf.progress import ContractedLevel
from cohirf.sources import Table
from cohirf.store import is_model


def describe_file(
    path: Path, *, delimiter: str | None, header: bool | None, sheet: str | None, json: bool
) -> None:
    """Describe a model or a data file: cohirf info."""
    console = Console(as_json=json)
    if is_model(path):
        _describe_model(path, console)
    else:
        _describe_data(Data.open(path, delimiter=delimiter, header=header, sheet=sheet), console)


def _describe_model(path: Path, console: Console) -> None:
    model, preparation = open_model(path)
    diagnosis = model.diagnose()
    description = describe_clusters(model, preparation=preparation)
    summary = summarize_model(model)
    totals = Totals.of(model.history_)
    base = KMeans() if model.estimator is None else model.estimator
    document = {
        "command": "info",
        "model": str(path),
        "base_method": repr(base),
        "parameters": _describe_parameters(model),
        "preparation": preparation.to_json(),
        **summary,
        "names": [description.name(number) for number in summary["numbers"]],
        "since_the_fit": asdict(totals) if model.history_ else None,
        "diagnosis": {
            "recommendation": diagnosis.recommendation,
            "line": diagnosis.line,
            "findings": [asdict(finding) for finding in diagnosis.findings],
        },
    }
    rows = [
        ("base method", document["base_method"]),
        *document["parameters"].items(),
        *_preparation_rows(preparation),
    ]
    if document["since_the_fit"] is not None:
        rows.append(("since the fit", f"{totals}; the levels are those of the last change"))
    facts = TextGrid([(str(name), str(value)) for name, value in rows])
    said = [] if document["choice"] is None else [document["choice"]]
    findings = [
        f"{finding.question} {finding.answer} {finding.reason}" for finding in diagnosis.findings
    ]
    said += [diagnosis.line, *findings]
    clusters = [cluster_grid(document)] if document["clusters"] else []
    n_views = count_views(model.views)
    levels = [str(ContractedLevel(record, n_views)) for record in model.diagnostics_]
    console.show(document, facts, model_grid(document), *clusters, *levels, *said)


def _describe_parameters(model: CoHiRF) -> dict[str, Any]:
    """Return the parameters that differ from the defaults.

    Values that JSON cannot hold become text.
    """
    changed = {name: value for name, value in _changed_params(model).items() if name != "estimator"}
    return {
        name: value if isinstance(value, bool | int | float) else str(value)
        for name, value in changed.items()
    }


def _preparation_rows(preparation: Preparation) -> list[tuple[str, str]]:
    rows = [("scaling", preparation.scaling)]
    rows += (
        [("missing cells", f"filled ({preparation.impute})")]
        if preparation.fill is not None
        else []
    )
    rows += [
        (f"column {note.column!r}", f"{note.kind}: {note.note}".rstrip(": "))
        for note in preparation.describe()
    ]
    if len(rows) > OUTPUT.columns:
        rows = [*rows[: OUTPUT.columns - 1], (f"... {len(rows) - OUTPUT.columns + 1:,} more", "")]
    return rows


def _describe_data(data: Data, console: Console) -> None:
    table = data.table
    found: list[Evidence] = (
        [*gather_numbers(data.open_numbers(data.columns)).values()]
        if table is None
        else [*gather(table, list(table.types), {}).values()]
    )
    n_rows = found[0].n_rows
    columns = _describe_columns(found, table)
    document = {"command": "info", "data": str(data.origin), "rows": n_rows, "columns": columns}
    figures = ("missing", "distinct", "min", "mean", "max")
    rows = [
        (str(one["name"]), one["kind"], *(_cell(one.get(key)) for key in figures))
        for one in columns
    ]
    if len(rows) > OUTPUT.columns:
        rows = [
            *rows[: OUTPUT.columns - 1],
            (f"... {len(rows) - OUTPUT.columns + 1:,} more", *[""] * 6),
        ]
    notes = [f"{one['name']}: {one['note']}" for one in columns[: OUTPUT.columns] if one["note"]]
    title = f"{data.name}: {n_rows:,} rows, {len(columns):,} columns"
    console.show(document, title, TextGrid(rows, ("column", "kind", *figures)), *notes)


def _describe_columns(found: list[Evidence], table: Table | None) -> list[dict[str, Any]]:
    """Return name, kind and statistics of each column, and the cells that a fit could not read."""
    comma = any(map(uses_comma, found))
    best = [best_tally(one, comma=comma) for one in found]
    if table is None:
        pairs = zip(found, best, strict=True)
        verdicts: list[Column] = [
            Number(one.name, n_bad=tally.n_bad if tally else 0) for one, tally in pairs
        ]
    else:
        verdicts = decide_all(found)
    doubts = [find_doubt(*pair) for pair in zip(found, verdicts, strict=True)]
    strays = [
        _find_strays(verdict, tally, are_taken=table is not None)
        for verdict, tally in zip(verdicts, best, strict=True)
    ]
    rows = [row for problem in strays if problem is not None for row, _ in problem.cells]
    if table is None:
        places = {row: f"row {row}" for row in rows}
    else:
        places = table.find_places(rows)
    return [
        {"name": one.name, "type": one.stored, **_describe_verdict(verdict, problem, doubt, places)}
        | {
            "missing": one.n_missing,
            "distinct": one.n_distinct if one.is_counted else f"over {one.n_distinct:,}",
        }
        | _column_figures(tally, verdict)
        for one, verdict, problem, doubt, tally in zip(
            found, verdicts, strays, doubts, best, strict=True
        )
    ]


def _find_strays(verdict: Column, best: Tally | None, *, are_taken: bool) -> BadColumn | None:
    """Return the cells that a fit would take as missing or, of an array, would refuse."""
    if best is None or not verdict.n_bad or not verdict.features:
        return None
    what = say_strays(verdict.n_bad, verdict.expects, are_taken=are_taken)
    return BadColumn(verdict.name, what, "", verdict.n_bad, best.first)


def _describe_verdict(
    verdict: Column, strays: BadColumn | None, doubt: str | None, places: dict[int, str]
) -> dict[str, Any]:
    """Return the kind of a column, why it has it, and which cells cannot be read."""
    if isinstance(verdict, LeftOut):
        kind = verdict.role
        said = [f"left out: {verdict.reason}"]
    else:
        kind = verdict.kind
        said = [verdict.reason]
    if strays is not None:
        said.append(strays.tell_cells(places))
    if doubt is not None:
        said.append(doubt)
    return {
        "kind": kind,
        "unreadable": 0 if strays is None else strays.n_cells,
        "note": "; ".join(filter(None, said)),
    }


def _column_figures(tally: Tally | None, verdict: Column) -> dict[str, Any]:
    """Return the range of numbers and dates, and the mean of numbers."""
    if tally is None or not tally.n_read or isinstance(verdict, Category | Boolean):
        return {}
    ends = {"min": tally.low, "max": tally.high}
    if isinstance(tally.reading, DateReading):
        moments = {
            key: str(np.datetime64(int(value), "s")).replace("T", " ")
            for key, value in ends.items()
        }
        has_days = tally.reading.has_day or not tally.reading.format
        if has_days:
            return {key: moment.removesuffix(" 00:00:00") for key, moment in moments.items()}
        return {}
    values = {"min": tally.low, "mean": tally.total / tally.n_read, "max": tally.high}
    # JSON holds infinity as text, and None for NaN
    return {
        key: float(one) if isfinite(one) else None if isnan(one) else str(float(one))
        for key, one in values.items()
    }


def _cell(figure: float | str | None) -> str:
    if figure is None:
        return "-"
    return figure if isinstance(figure, str) else f"{figure:,.6g}"
