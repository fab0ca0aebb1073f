"""cohirf report: a report on a model as one HTML file."""

from __future__ import annotations

from pathlib import Path

from cohirf.cli.console import Console
from cohirf.cli.new_rows import csv_format, open_model
from cohirf.cli.outputs import check_report
from cohirf.report import write_report
from cohirf.store import load_origin


def report(model: Path, data: Path, *, out: Path, force: bool = False) -> None:
    """Write a report on a model: one HTML file that needs no network.

    Parameters
    ----------
    out : file
        The file to write: .html.

    Examples
    --------
    cohirf report model.cohirf data.parquet --out report.html
    """
    check_report(out, "--out", force=force)
    fitted, preparation = open_model(model)
    console, origin = Console(), load_origin(model)
    kept = {str(column.name) for column in preparation.kept}
    wishes = {} if origin is None else origin.options.get("kinds", {})  # because of which the fit took cells as missing
    kinds = {name: kind for name, kind in wishes.items() if name in kept}
    with console.reading(data):
        prepared = preparation.apply(data, kinds=kinds, **csv_format(data, model))
        classes = prepared.classes()
        y = None if classes is None else classes.by_name()
        write_report(fitted, prepared, out, y=y, data_name=data.name, origin=origin)
    console.show({}, f"Written: {out} (report)")
