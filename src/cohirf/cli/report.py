"""cohirf report: write a report on a model as one HTML file."""

from __future__ import annotations

import re
from pathlib import Path

from cohirf.cli.console import Console
from cohirf.cli.data_options import NewDataOptions
from cohirf.cli.errors import BadInputError
from cohirf.cli.models import open_model
from cohirf.cli.options import Screen
from cohirf.cli.writing import check_file
from cohirf.report import write_report
from cohirf.store import load_origin


def report(
    model: Path,
    data: Path,
    out: Path,
    reading: NewDataOptions,
    screen: Screen,
    title: str | None,
    image_shape: str | None,
    label_column: str | None,
    *,
    force: bool,
) -> None:
    """Write a report on a model: one HTML file that needs no network."""
    check_file(out, "--out", (".html", ".htm"), force=force)
    shape = None if image_shape is None else _read_shape(image_shape)
    fitted, preparation = open_model(model)
    console = Console.on(screen)
    with console.watching():
        prepared = preparation.apply(data, label_column=label_column, **reading.arguments())
        classes = prepared.classes()
        write_report(
            fitted,
            prepared,
            out,
            y=None if classes is None else classes.by_name(),
            image_shape=shape,
            title=title,
            data_name=data.name,
            origin=load_origin(model),
        )
    console.show({"command": "report", "written": {"report": str(out)}}, f"Written: {out} (report)")


def _read_shape(text: str) -> tuple[int, ...]:
    if not re.fullmatch(r"[1-9]\d*(x[1-9]\d*){1,2}", text):
        raise BadInputError(f"--image-shape {text!r} is not valid: give height and width, such as 8x8, or 32x32x3.")
    return tuple(int(side) for side in text.split("x"))
