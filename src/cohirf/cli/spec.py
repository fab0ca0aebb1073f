"""What a command takes, as annotations that know nothing of the library that reads a command line."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cohirf.cli.errors import BadInputError

DATA, OUTPUT, SCREEN = "Data", "Output", "What is printed"


@dataclass(frozen=True)
class Argument:
    """A part of the command line that stands by itself."""

    help: str
    metavar: str


@dataclass(frozen=True)
class Option:
    """A part of the command line that has a name.

    Attributes
    ----------
    flags : tuple of str
        Its name, or the two names that switch it on and off.
    help : str
        What it does.
    panel : str
        The heading under which the help lists it.
    metavar : str
        What stands for its value in the help.
    choices : tuple of str
        What a shell offers to complete it with.
    default : str
        What the help says happens without it.
    hidden : bool
        Whether the help leaves it out: it is only there to be refused in words.
    """

    flags: tuple[str, ...]
    help: str
    panel: str = "Options"
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    default: str | None = None
    hidden: bool = False


DataPath = Annotated[Path, Argument("Parquet, CSV, Arrow, .npy or Zarr; or a folder of Parquet files.", "DATA")]
ModelPath = Annotated[Path, Argument("The folder that fit --model wrote.", "MODEL")]
LabelColumn = Annotated[
    str | None,
    Option(("--label-column",), "Known classes: no feature, but compared with the clusters.", DATA, "NAME"),
]
IdColumn = Annotated[
    str | None, Option(("--id-column",), "Names of the rows: no feature, but kept in the output.", DATA, "NAME")
]
Delimiter = Annotated[
    str | None, Option(("--delimiter",), "What separates the values of a CSV file.", DATA, "TEXT", default="a comma")
]
Header = Annotated[
    bool | None,
    Option(("--header/--no-header",), "Whether the first line of a CSV file has names.", DATA, "", default="it has"),
]
Out = Annotated[Path | None, Option(("--out",), "Where to write the clusters: .parquet, .csv or .npy.", OUTPUT, "FILE")]
Force = Annotated[bool, Option(("--force",), "Replace files that exist.", OUTPUT, "")]
AsJson = Annotated[bool, Option(("--json",), "Print one JSON document, for programs.", SCREEN, "")]
Quiet = Annotated[bool, Option(("--quiet",), "Print nothing but errors, and with --json the document.", SCREEN, "")]


def refuse_unknown(flag: str, given: str | None, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of a few."""
    if given is not None and given not in choices:
        known = " or ".join([*filter(None, [", ".join(choices[:-1])]), choices[-1]])
        raise BadInputError(f"{flag} {given!r} is not valid: give {known}.")


def read_count(flag: str, text: str, least: int = 1) -> int:
    """Return a whole number, which may be written as 1e6."""
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        number = float("nan")
    if not (least <= number <= 2**53 and number == int(number)):
        raise BadInputError(f"{flag} {text!r} is not valid: give a whole number from {least} on, such as 1000 or 1e6.")
    return int(number)


def read_number(flag: str, text: str) -> float:
    """Return a number from 0 on."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadInputError(f"{flag} {text!r} is not valid: give a number from 0 on.")
    return number
