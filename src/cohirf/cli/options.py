"""Options that several commands share, declared once for typer. Nothing here imports numpy: help must be fast."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

DATA, OUTPUT, SCREEN = "Data", "Output", "What is printed"


def option(
    flags: str,
    text: str,
    panel: str = "Options",
    metavar: str | None = None,
    *,
    choices: tuple[str, ...] = (),
    default: str | None = None,
    hidden: bool = False,
) -> Any:
    """Return an option of typer.

    Parameters
    ----------
    flags : str
        Name of the option, or two names that switch it on and off.
    text : str
        Help text.
    panel : str
        The heading under which the help lists it.
    metavar : str
        Placeholder for the value in the help.
    choices : tuple of str
        Values that the shell completes.
    default : str
        The default, as the help shows it. The value itself is None, so that commands know whether it was given.
    hidden : bool
        Whether the help omits the option: it exists only to be refused with a helpful message.
    """
    return typer.Option(
        flags,
        help=text if default is None else f"{text} [default: {default}]",
        metavar=metavar,
        rich_help_panel=panel,
        show_default=False,
        readable=False,  # our own messages are clearer than typer's
        hidden=hidden,
        autocompletion=_completer(choices) if choices else None,
    )


def argument(text: str, metavar: str) -> Any:
    """Return a positional argument of typer."""
    return typer.Argument(help=text, metavar=metavar, show_default=False, readable=False)


def _completer(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


DataPath = Annotated[
    Path, argument("The data: a Parquet, CSV, Arrow, .npy or Zarr file, or a folder of Parquet files.", "DATA")
]
ModelPath = Annotated[Path, argument("The file that cohirf fit --model has written.", "MODEL")]
LabelColumn = Annotated[
    str | None,
    option(
        "--label-column", "Column with known classes: not a feature; the clusters are compared with it.", DATA, "NAME"
    ),
]
IdColumn = Annotated[
    str | None,
    option(
        "--id-column", "Column with the names of the rows: not a feature; it is copied to the output.", DATA, "NAME"
    ),
]
Out = Annotated[
    Path | None, option("--out", "Write the cluster of each row to this .parquet, .csv or .npy file.", OUTPUT, "FILE")
]
Force = Annotated[bool, option("--force", "Replace existing output files.", OUTPUT, "")]
EscapeFormulas = Annotated[
    bool,
    option(
        "--escape-formulas",
        "In CSV files, put an apostrophe before text that begins with =, +, - or @, which spreadsheets would run.",
        OUTPUT,
        "",
    ),
]


Delimiter = Annotated[
    str | None,
    option("--delimiter", "Character that separates the values of a CSV file.", DATA, "TEXT", default="found"),
]
Header = Annotated[
    bool | None,
    option(
        "--header/--no-header",
        "Whether the first line of a CSV file contains column names.",
        DATA,
        "",
        default="it does",
    ),
]


@dataclass(frozen=True)
class CsvOptions:
    """The format of a CSV file, as far as the user has given it."""

    delimiter: Delimiter = None
    header: Header = None

    def given(self) -> dict[str, Any]:
        """Return the given options by the name of the library's parameter."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Screen:
    """What is printed."""

    json: Annotated[bool, option("--json", "Print one JSON document, for programs.", SCREEN, "")] = False
    quiet: Annotated[bool, option("--quiet", "Print only errors and, with --json, the document.", SCREEN, "")] = False


@dataclass(frozen=True)
class TargetOptions:
    """The output files of a fit."""

    out: Out = None
    model: Annotated[Path | None, option("--model", "Save the model to this new file.", OUTPUT, "FILE")] = None
    escape_formulas: EscapeFormulas = False
    force: Force = False
