"""cohirf info: describe a model or a data file."""

from __future__ import annotations

from dataclasses import asdict
from math import isfinite, isnan
from pathlib import Path
from typing import Any

from sklearn.cluster import KMeans

from cohirf.cli.console import Console
from cohirf.cli.explain import in_words_of_options
from cohirf.cli.grids import Grid
from cohirf.cli.models import is_model, open_model
from cohirf.cli.options import CsvOptions, Screen
from cohirf.cli.summary import describe_model, level_grid, model_grid
from cohirf.diagnosis import Diagnosis
from cohirf.estimator import CoHiRF
from cohirf.preparation import Data, Preparation, measure
from cohirf.preparation.columns import Column
from cohirf.preparation.tables import is_number

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
    rows += [("missing cells", "filled")] if preparation.fill is not None else []
    rows += [(f"{name!r} encoded", ", ".join(found.values)) for name, found in preparation.categories.items()]
    apart = (("label column", preparation.label_column), ("id column", preparation.id_column))
    return rows + [(what, str(column)) for what, column in apart if column is not None]


def _describe_data(data: Data, console: Console) -> None:
    n_rows, columns = _measure_columns(data)
    document = {"command": "info", "data": str(data.origin), "rows": n_rows, "columns": columns}
    rows = [
        (
            str(column["name"]),
            column["type"],
            *(_cell(column.get(key)) for key in ("missing", "min", "mean", "max")),
        )
        for column in columns
    ]
    if len(rows) > MOST_COLUMNS:
        more = f"... {len(rows) - MOST_COLUMNS + 1:,} more"
        rows = [*rows[: MOST_COLUMNS - 1], (more, *[""] * 5)]
    console.show(
        document,
        f"{data.name}: {n_rows:,} rows, {len(columns):,} columns",
        Grid(rows, ("column", "type", "missing", "min", "mean", "max")),
    )


def _figure(value: float) -> float | str | None:
    """Return a number in a form that JSON can hold: infinity as text, and None for NaN."""
    if isfinite(value):
        return float(value)
    return None if isnan(value) else str(float(value))


def _cell(figure: float | str | None) -> str:
    if figure is None:
        return "-"
    return figure if isinstance(figure, str) else f"{figure:,.6g}"


def _measure_columns(data: Data) -> tuple[int, list[dict[str, Any]]]:
    """Return the number of rows, and the name, type and statistics of each column."""
    types = {} if data.table is None else data.table.types
    numeric = [column for column in data.columns if data.table is None or is_number(types[str(column)])]
    found: dict[Column, dict[str, Any]] = {}
    if numeric:
        source = data.open_numbers(numeric)
        n_rows = source.n_rows
        statistics = measure(source)
        for number, column in enumerate(numeric):
            n_present = int(statistics.n_present[number])
            values = {"min": statistics.low, "mean": statistics.mean, "max": statistics.high}
            found[column] = {"missing": n_rows - n_present}
            found[column] |= {key: _figure(vector[number]) for key, vector in values.items()}
    else:
        n_rows = sum(len(part) for part in data.read(data.columns[0]))
    return n_rows, [
        {"name": name, "type": types.get(str(name), "number"), **found.get(name, {})} for name in data.columns
    ]
