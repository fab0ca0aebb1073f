"""What commands take: arguments and options that several commands share, groups of them, and the
parameters of CoHiRF that they stand for.

Nothing here imports NumPy, so that help is quick.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import typer

from cohirf.app.cli.errors import BadInputError, flag_of, read_number
from cohirf.app.cli.policy import DEFAULT
from cohirf.clusterers.names import NAMES


def argument(metavar: str, text: str) -> Any:
    """Return an argument of typer."""
    return typer.Argument(help=text, metavar=metavar, show_default=False, readable=False)


def option(flag: str, panel: str, text: str, *, metavar: str | None = None, **further: Any) -> Any:
    """Return an option of typer under a heading of the help.

    A default that matters is part of the text.
    """
    return typer.Option(
        flag,
        help=text,
        metavar=metavar,
        rich_help_panel=panel,
        show_default=False,
        readable=False,  # our own messages about files are clearer
        **further,
    )


def switch(flag: str, panel: str, text: str) -> Any:
    """Return an option without a value."""
    return option(flag, panel, text, metavar="")


def complete_estimator(incomplete: str) -> list[str]:
    """Return the names of base methods that begin so, for completion in a shell."""
    return [name for name in NAMES if name.startswith(incomplete)]


# -- arguments and options of several commands


DataFile = Annotated[
    Path,
    argument(
        "DATA",
        "The data: a Parquet, CSV, Arrow, .npy or Zarr file, a spreadsheet, or a folder or pattern "
        "of files; with --graph a .npz, Parquet, CSV or .h5ad file. It may be at a URL: s3://, "
        "gs://, az://, https://.",
    ),
]
ModelFile = Annotated[Path, argument("MODEL", "The file that cohirf fit --model has written.")]
LabelsOut = Annotated[
    Path | None,
    option(
        "--out",
        "Output",
        "Write the cluster of each row to this .parquet, .csv or .npy file.",
        metavar="FILE",
    ),
]
LabelFolder = Annotated[
    Path | None,
    option(
        "--out-files",
        "Output",
        "Write the cluster of each row to Parquet files in this folder, or at this URL: one for "
        "each file of the data, with its name.",
        metavar="FOLDER",
    ),
]
RequiredLabelsOut = Annotated[
    Path,
    option(
        "--out",
        "Output",
        "Write the cluster of each row to this .parquet, .csv or .npy file.",
        metavar="FILE",
    ),
]
Json = Annotated[bool, switch("--json", "Output", "Print one JSON document, for programs.")]
Quiet = Annotated[
    bool, switch("--quiet", "Output", "Print only errors and, with --json, the document.")
]
Force = Annotated[bool, switch("--force", "Output", "Replace existing output files.")]

IdColumn = Annotated[
    str | None,
    option(
        "--id-column",
        "Data",
        "Column with the names of the rows: not a feature; it is copied to the output.",
        metavar="NAME",
    ),
]
Delimiter = Annotated[
    str | None,
    option(
        "--delimiter",
        "Data",
        "Character that separates the values of a CSV file; found if it is not given.",
        metavar="TEXT",
    ),
]
Header = Annotated[
    bool | None,
    switch(
        "--header/--no-header",
        "Data",
        "Whether the first line of a CSV file or sheet contains column names; by default, unless "
        "its cells are numbers above numbers.",
    ),
]
Sheet = Annotated[
    str | None,
    option("--sheet", "Data", "The sheet of a spreadsheet; by default, the first.", metavar="NAME"),
]
Estimator = Annotated[
    str | None,
    option(
        "--estimator",
        "Clustering",
        f"The base method: {', '.join(NAMES)}. By default, a quick K-Means.",
        metavar="NAME",
        autocompletion=complete_estimator,
    ),
]
Param = Annotated[
    list[str] | None,
    option(
        "--param",
        "Clustering",
        "A parameter of the base method, such as eps=0.2. May be repeated.",
        metavar="KEY=VALUE",
    ),
]


Scaling = Literal["auto", "standard", "minmax", "none"]
Imputing = Literal["median", "mean", "none"]


# -- groups of options


@dataclass(frozen=True)
class ScreenOptions:
    """What is printed."""

    json: bool = False
    quiet: bool = False


@dataclass(frozen=True)
class Targets:
    """The output files of a fit."""

    out: Path | None
    model: Path | None
    report: Path | None
    force: bool
    keep: bool = False  # whether the columns of the data are written, too
    files: Path | None = None  # the folder of files of labels, one for each file of the data


@dataclass(frozen=True)
class FitRequest:
    """What ``cohirf fit`` is asked for, of rows or of a graph."""

    data: Path
    method: MethodOptions
    given: dict[str, Any]  # parameters of CoHiRF; those that are None are not given
    eps: str | None
    about: DataOptions
    targets: Targets
    screen: ScreenOptions


@dataclass(frozen=True)
class MethodOptions:
    """The base method."""

    estimator: str | None = None
    param: list[str] | None = None


@dataclass(frozen=True)
class DataOptions:
    """Which columns of the data of a fit are features, and how they are prepared."""

    label_column: str | None = None
    id_column: str | None = None
    drop: list[str] | None = None
    kinds: list[str] | None = None
    scale: Scaling = "auto"
    impute: Imputing = "median"
    delimiter: str | None = None
    header: bool | None = None
    sheet: str | None = None

    def scaling(self, estimator: str | None) -> str:
        """Return the scaling; with auto, it depends on whether the user names a base method."""
        if self.scale != "auto":
            return self.scale
        return "standard" if estimator is None else "none"

    def arguments(self, scaling: str) -> dict[str, Any]:
        """Return the arguments of ``cohirf.app.preparation.prepare``, besides the data."""
        return {
            "label_column": self.label_column,
            "id_column": self.id_column,
            "drop": self.drop or (),
            "kinds": read_kinds(self.kinds),
            "scaling": scaling,
            "impute": self.impute,
            "delimiter": self.delimiter,
            "header": self.header,
            "sheet": self.sheet,
        }


def read_kinds(wishes: list[str] | None) -> dict[str, str]:
    """Return the kind of each column that ``--as`` names."""
    kinds = {}
    for wish in wishes or ():
        name, _, kind = wish.rpartition("=")
        if not name or not kind:
            raise BadInputError(
                f"--as {wish!r} is not valid: give NAME=KIND, such as --as zip=category."
            )
        kinds[name] = kind
    return kinds


# -- parameters of CoHiRF


def read_parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters of CoHiRF that the user gives: those that are not None.

    Those that are text and take numbers, too, are read.
    """
    # imports scikit-learn, which help does not need
    from cohirf import CoHiRF
    from cohirf.clusterers.names import read_parameter

    parameters = {name: value for name, value in given.items() if value is not None}
    for name, value in parameters.items():
        if isinstance(value, str):
            try:
                parameters[name] = read_parameter(CoHiRF, name, value)
            except ValueError as error:
                raise BadInputError(f"{flag_of(name)}: {error}") from error
    return parameters


def read_limits(
    smallest: str | None, largest: str | None
) -> tuple[float | None, float | None] | None:
    """Return the limits of sizes that two options give; None without any.

    Examples
    --------
    >>> read_limits("80", None), read_limits(None, "0.2"), read_limits(None, None)
    ((80, None), (None, 0.2), None)
    """
    if smallest is None and largest is None:
        return None
    return _read_limit("--min-size", smallest), _read_limit("--max-size", largest)


def _read_limit(flag: str, text: str | None) -> float | None:
    if text is None:
        return None
    number = read_number(flag, text, takes_zero=False)
    return int(number) if number.is_integer() else number


def settle_parameters(
    parameters: Mapping[str, Any], n_rows: int, n_bytes: int = 0, base: Any = None
) -> dict[str, Any]:
    """Add the defaults of the command line that differ from those of CoHiRF, around a base method
    or without one.
    """
    chosen: dict[str, Any] = {"random_state": DEFAULT.seed}
    is_linear = base is None or type(base).__name__ == "KMeans"
    if n_rows >= DEFAULT.batched_rows and (n_bytes >= DEFAULT.batched_bytes or not is_linear):
        chosen["batch_size"] = "auto"
    return chosen | dict(parameters)
