"""cohirf report: what a model has found, as one HTML page."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from cohirf.cli import spec
from cohirf.cli.console import Console
from cohirf.cli.data import DataFile, prepare_alike
from cohirf.cli.errors import BadInputError
from cohirf.cli.invocation import command_line
from cohirf.cli.models import open_model
from cohirf.cli.spec import Option
from cohirf.cli.tables import CsvFormat
from cohirf.cli.writing import check_file


def report(
    model: spec.ModelPath,
    data: spec.DataPath,
    out: Annotated[Path, Option(("--out",), "The file to write: .html.", spec.OUTPUT, "FILE")],
    title: Annotated[str | None, Option(("--title",), "Title of the page.", metavar="TEXT")] = None,
    image_shape: Annotated[
        str | None,
        Option(("--image-shape",), "Show medoids as images of this height and width, such as 8x8.", metavar="HxW"),
    ] = None,
    label_column: spec.LabelColumn = None,
    delimiter: spec.Delimiter = None,
    header: spec.Header = None,
    force: spec.Force = False,
    json: spec.AsJson = False,
    quiet: spec.Quiet = False,
) -> None:
    """Write a report on a model: one HTML file that needs no network."""
    from cohirf.report import write_report  # it takes a moment to import

    check_file(out, "--out", (".html", ".htm"), force=force)
    shape = None if image_shape is None else _read_shape(image_shape)
    fitted, preparation = open_model(model)
    file = DataFile.open(data, CsvFormat(delimiter, header))
    prepared = prepare_alike(file, preparation, label_column=label_column)
    classes = prepared.classes()
    console = Console(json, quiet)
    with console.watching():
        write_report(
            fitted,
            prepared.source,
            out,
            y=None if classes is None else classes.by_name(),
            image_shape=shape,
            title=title,
            data_name=data.name,
            command=command_line(),
        )
    console.show({"command": "report", "written": {"report": str(out)}}, f"Written: {out} (report)")


def _read_shape(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){1,2}", text):
        raise BadInputError(f"--image-shape {text!r} is not valid: give height and width, such as 8x8, or 32x32x3.")
    return tuple(int(side) for side in text.split("x"))
