"""Options that several commands take, declared once for typer. Nothing here imports numpy: help must be quick."""

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
        Its name, or the two names that switch it on and off.
    text : str
        What it does.
    panel : str
        The heading under which the help lists it.
    metavar : str
        What stands for its value in the help.
    choices : tuple of str
        What a shell completes it with.
    default : str
        What the help says happens without it. Values stay None, so that commands know what was given.
    hidden : bool
        Whether the help leaves it out: it is only there to be refused in words.
    """
    return typer.Option(
        flags,
        help=text if default is None else rf"{text} \[default: {default}]",  # typer reads rich's markup
        metavar=metavar,
        rich_help_panel=panel,
        show_default=False,
        readable=False,  # what cannot be read is refused in words of our own
        hidden=hidden,
        autocompletion=_completer(choices) if choices else None,
    )


def argument(text: str, metavar: str) -> Any:
    """Return an argument of typer: a part of the command line that stands by itself."""
    return typer.Argument(help=text, metavar=metavar, show_default=False, readable=False)


def _completer(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


DataPath = Annotated[Path, argument("Parquet, CSV, Arrow, .npy or Zarr; or a folder of Parquet files.", "DATA")]
ModelPath = Annotated[Path, argument("The folder that fit --model wrote.", "MODEL")]
LabelColumn = Annotated[
    str | None, option("--label-column", "Known classes: not a feature, but compared with the clusters.", DATA, "NAME")
]
IdColumn = Annotated[
    str | None, option("--id-column", "Names of the rows: not a feature, but kept in the output.", DATA, "NAME")
]
Out = Annotated[Path | None, option("--out", "Where to write the clusters: .parquet, .csv or .npy.", OUTPUT, "FILE")]
Force = Annotated[bool, option("--force", "Replace files that exist.", OUTPUT, "")]
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
    str | None, option("--delimiter", "What separates the values of a CSV file.", DATA, "TEXT", default="a comma")
]
Header = Annotated[
    bool | None,
    option("--header/--no-header", "Whether the first line of a CSV file has names.", DATA, "", default="it has"),
]


@dataclass(frozen=True)
class CsvOptions:
    """How a CSV file is written, as far as the user says so."""

    delimiter: Delimiter = None
    header: Header = None

    def given(self) -> dict[str, Any]:
        """Return what the user says, by the name of the library's parameter."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Screen:
    """What is printed."""

    json: Annotated[bool, option("--json", "Print one JSON document, for programs.", SCREEN, "")] = False
    quiet: Annotated[bool, option("--quiet", "Print nothing but errors, and with --json the document.", SCREEN, "")] = (
        False
    )


@dataclass(frozen=True)
class TargetOptions:
    """The files that a fit leaves."""

    out: Out = None
    model: Annotated[Path | None, option("--model", "Where to save the model: a new folder.", OUTPUT, "FOLDER")] = None
    escape_formulas: EscapeFormulas = False
    force: Force = False
