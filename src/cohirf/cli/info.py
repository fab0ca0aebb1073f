"""cohirf info: describe a model or a data file."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite, isnan
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from cohirf.cli.console import Console
from cohirf.cli.explain import in_words_of_options
from cohirf.cli.grids import Grid
from cohirf.cli.models import is_model, open_model
from cohirf.cli.options import CsvOptions, Screen
from cohirf.cli.summary import describe_model, level_grid, model_grid
from cohirf.diagnosis import Diagnosis
from cohirf.estimator import CoHiRF
from cohirf.preparation import Boolean, Category, Column, Data, LeftOut, Number, Preparation
from cohirf.preparation.decide import best_tally, decide, uses_comma
from cohirf.preparation.evidence import Evidence, gather, gather_numbers
from cohirf.preparation.kinds import Name
from cohirf.preparation.problems import Problem
from cohirf.preparation.readings import DateReading
from cohirf.preparation.tables import Table

MOST_COLUMNS = 20  # shown in the table


def info(path: Path, csv: CsvOptions, screen: Screen) -> None:
    """Describe a model or a data file."""
    console = Console.on(screen)
    if path.is_dir() and is_model(path):
        _describe_model(path, console)
    else:
        _describe_data(Data.open(path, **csv.given()), console)


def _describe_model(path: Path, console: Console) -> None:
    model, preparation = open_model(path)
    diagnosis = model.diagnose()
    base = KMeans() if model.estimator is None else model.estimator
    document = {
        "command": "info",
        "model": str(path),
        "base_method": repr(base),
        "parameters": _changed_parameters(model),
        "preparation": preparation.to_json(),
        **describe_model(model),
        "diagnosis": {
            "recommendation": diagnosis.recommendation,
            "line": in_words_of_options(diagnosis.line),
            "findings": [asdict(finding) for finding in diagnosis.findings],
            "advice": diagnosis.advice,
        },
    }
    rows = [("base method", document["base_method"]), *document["parameters"].items(), *_preparation_rows(preparation)]
    facts = Grid([(str(name), str(value)) for name, value in rows])
    said = [in_words_of_options(part) for part in say_diagnosis(diagnosis)]
    console.show(document, facts, model_grid(document), level_grid(document), *said)


def say_diagnosis(diagnosis: Diagnosis) -> list[str]:
    """Return a diagnosis as paragraphs."""
    findings = [f"{finding.question} {finding.answer} {finding.reason}" for finding in diagnosis.findings]
    return [diagnosis.line, *findings, *(f"To try: {tip}." for tip in diagnosis.advice)]


def _changed_parameters(model: CoHiRF) -> dict[str, Any]:
    """Return the parameters that differ from the defaults; values that JSON cannot hold become text."""
    defaults = CoHiRF().get_params(deep=False)
    given = {name: value for name, value in model.get_params(deep=False).items() if name != "estimator"}
    changed = {name: value for name, value in given.items() if value is not defaults[name] and value != defaults[name]}
    return {name: value if isinstance(value, bool | int | float) else str(value) for name, value in changed.items()}


def _preparation_rows(preparation: Preparation) -> list[tuple[str, str]]:
    rows = [("scaling", preparation.scaling)]
    rows += [("missing cells", f"filled ({preparation.impute})")] if preparation.fill is not None else []
    rows += [(f"column {note.column!r}", f"{note.kind}: {note.note}".rstrip(": ")) for note in preparation.describe()]
    if len(rows) > MOST_COLUMNS:
        rows = [*rows[: MOST_COLUMNS - 1], (f"... {len(rows) - MOST_COLUMNS + 1:,} more", "")]
    return rows


def _describe_data(data: Data, console: Console) -> None:
    found = gather_numbers(data.open_numbers(data.columns)) if data.table is None else _look_at_table(data.table)
    n_rows = next(iter(found.values())).n_rows
    comma = any(uses_comma(evidence) for evidence in found.values())
    columns = [_describe_column(evidence, comma=comma) for evidence in found.values()]
    document = {"command": "info", "data": str(data.origin), "rows": n_rows, "columns": columns}
    rows = [
        (
            str(column["name"]),
            column["kind"],
            *(_cell(column.get(key)) for key in ("missing", "distinct", "min", "mean", "max")),
        )
        for column in columns
    ]
    if len(rows) > MOST_COLUMNS:
        more = f"... {len(rows) - MOST_COLUMNS + 1:,} more"
        rows = [*rows[: MOST_COLUMNS - 1], (more, *[""] * 6)]
    console.show(
        document,
        f"{data.name}: {n_rows:,} rows, {len(columns):,} columns",
        Grid(rows, ("column", "kind", "missing", "distinct", "min", "mean", "max")),
        *(f"{column['name']}: {column['note']}" for column in columns[:MOST_COLUMNS] if column["note"]),
    )


def _look_at_table(table: Table) -> dict[Name, Evidence]:
    return dict(gather(table, list(table.types), {}).items())


def _describe_column(found: Evidence, *, comma: bool) -> dict[str, Any]:
    """Return name, kind and statistics of a column."""
    verdict = Number(found.name) if isinstance(found.name, int) else decide(found, comma=comma)
    described: dict[str, Any] = {"name": found.name, "type": found.stored}
    if isinstance(verdict, Problem):
        described |= {"kind": "unclear", "note": in_words_of_options(verdict.what)}
    elif isinstance(verdict, LeftOut):
        described |= {"kind": verdict.role, "note": f"left out: {verdict.reason}"}
    else:
        described |= {"kind": verdict.kind, "note": verdict.reason}
    described |= {"missing": found.n_missing, "distinct": found.n_distinct}
    if not found.is_counted:
        described["distinct"] = f"over {found.n_distinct:,}"
    return described | _figures(found, verdict, comma=comma)


def _figures(found: Evidence, verdict: Column | Problem, *, comma: bool) -> dict[str, Any]:
    """Return the range of numbers and dates, and the mean of numbers."""
    tally = best_tally(found, comma=comma)
    if tally is None or not tally.n_read or isinstance(verdict, Category | Boolean | Problem):
        return {}
    if isinstance(tally.reading, DateReading):
        low, high = (_show_moment(moment) for moment in (tally.low, tally.high))
        return {"min": low, "max": high} if tally.reading.has_day or not tally.reading.format else {}
    values = {"min": tally.low, "mean": tally.total / tally.n_read, "max": tally.high}
    return {key: _figure(value) for key, value in values.items()}


def _show_moment(seconds: float) -> str:
    return str(np.datetime64(int(seconds), "s")).replace("T", " ").removesuffix(" 00:00:00")


def _figure(value: float) -> float | str | None:
    """Return a number in a form that JSON can hold: infinity as text, and None for NaN."""
    if isfinite(value):
        return float(value)
    return None if isnan(value) else str(float(value))


def _cell(figure: float | str | None) -> str:
    if figure is None:
        return "-"
    return figure if isinstance(figure, str) else f"{figure:,.6g}"
