"""Options and arguments that commands share, declared once for typer, and groups of them.

Nothing here imports NumPy: help must be fast.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from functools import cache
from inspect import Parameter, Signature, signature
from pathlib import Path
from typing import Annotated, Any, get_args, get_type_hints

import typer

from cohirf.cli.errors import BadInputError, refuse_unknown
from cohirf.clusterers.short_names import NAMES

SEARCH, CLUSTERING, SIZE, DATA, OUTPUT = "Search", "Clustering", "Size", "Data", "Output"
SCALES = ("auto", "standard", "minmax", "none")
IMPUTES = ("median", "mean", "none")
SPACES = ("recommended", "paper", "wide")
Command = Callable[..., None]


def option(
    flags: str,
    text: str,
    panel: str,
    metavar: str | None = None,
    *,
    choices: tuple[str, ...] = (),
    default: str | None = None,
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
        Placeholder for the value in the help; None for a switch.
    choices : tuple of str
        Values that the shell completes.
    default : str
        The default, as the help shows it. The value itself is None, so that commands know whether it was given.
    """
    said = text if default in (None, "none") else f"{text} [default: {default}]"
    return typer.Option(
        flags,
        help=said.replace("[", r"\["),  # rich takes brackets for markup
        metavar=metavar or "",
        rich_help_panel=panel,
        show_default=False,
        readable=False,  # our own messages are clearer than typer's
        autocompletion=_completer(choices) if choices else None,
    )


def _completer(choices: tuple[str, ...]) -> Callable[[str], list[str]]:
    def complete(incomplete: str) -> list[str]:
        return [choice for choice in choices if choice.startswith(incomplete)]

    return complete


def argument(text: str, metavar: str) -> Any:
    """Return a positional argument of typer."""
    return typer.Argument(help=text, metavar=metavar, show_default=False, readable=False)


def spread_groups(command: Command) -> Command:
    """Return a command that takes single options, as typer requires, and calls ``command`` with the groups.

    A group is a parameter whose type is a dataclass, which has an option for each field, or a dict that is annotated
    with a dict of options, which has those that the user gives.
    """
    hints = get_type_hints(command, include_extras=True)
    hints.pop("return")
    parameters: list[Parameter] = []
    for parameter in signature(command).parameters.values():
        single = _parameter(parameter.name, hints[parameter.name], parameter.default)
        parameters += _members(hints[parameter.name]) or [single]

    def spread(**given: Any) -> None:
        command(**{name: _gather(name, hint, given) for name, hint in hints.items()})

    spread.__name__, spread.__doc__ = command.__name__, command.__doc__
    spread.__signature__ = Signature(parameters)  # type: ignore[attr-defined]  # functions have it
    spread.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return spread


def flags_of(group: Any) -> dict[str, str]:
    """Return the option of each field of a group."""
    options = {member.name: get_args(member.annotation)[1] for member in _members(group)}
    # in an annotation, typer stores the first option name as the default
    return {name: option.default.partition("/")[0] for name, option in options.items()}


def _members(hint: Any) -> list[Parameter]:
    if is_dataclass(hint):
        return _fields(hint)  # type: ignore[arg-type]  # classes are hashable
    return [_parameter(name, Annotated[str | None, made], None) for name, made in _options_in(hint).items()]


def _options_in(hint: Any) -> dict[str, Any]:
    return next((found for found in get_args(hint)[1:] if isinstance(found, dict)), {})


@cache
def _fields(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        _parameter(field.name, hints[field.name], Parameter.empty if field.default is MISSING else field.default)
        for field in fields(group)
    ]


def _parameter(name: str, hint: Any, default: Any) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=hint)


def _gather(name: str, hint: Any, given: dict[str, Any]) -> Any:
    if is_dataclass(hint):
        return hint(**{field.name: given[field.name] for field in fields(hint)})  # type: ignore[operator]  # a class
    if members := _options_in(hint):
        return {member: given[member] for member in members if given[member] is not None}
    return given[name]


# -- single options ------------------------------------------------------------------------------------------------

DataPath = Annotated[
    Path, argument("The data: a Parquet, CSV, Arrow, .npy or Zarr file, or a folder of Parquet files.", "DATA")
]
ModelPath = Annotated[Path, argument("The folder that cohirf fit --model has written.", "MODEL")]
LABEL_TEXT = "Column with known classes: not a feature; the clusters are compared with it."
LabelColumn = Annotated[str | None, option("--label-column", LABEL_TEXT, DATA, "NAME")]
ID_TEXT = "Column with the names of the rows: not a feature; it is copied to the output."
IdColumn = Annotated[str | None, option("--id-column", ID_TEXT, DATA, "NAME")]
NEW_KINDS_TEXT = (
    "What a column is, as in cohirf fit: number, category, boolean, date or date:FORMAT. All of its cells that are not "
    "of this kind are taken as missing. May be repeated."
)
NewKinds = Annotated[
    list[str] | None,
    option("--as", NEW_KINDS_TEXT, DATA, "NAME=KIND", default="as in the model; at most 1 % of such cells are taken"),
]
OUT_TEXT = "Write the cluster of each row to this .parquet, .csv or .npy file."
Out = Annotated[Path | None, option("--out", OUT_TEXT, OUTPUT, "FILE")]
Force = Annotated[bool, option("--force", "Replace existing output files.", OUTPUT)]
ESCAPE_TEXT = "In CSV files, put an apostrophe before text that begins with =, +, - or @, which spreadsheets would run."
EscapeFormulas = Annotated[bool, option("--escape-formulas", ESCAPE_TEXT, OUTPUT)]
Json = Annotated[bool, option("--json", "Print one JSON document, for programs.", OUTPUT)]
DELIMITER_TEXT = "Character that separates the values of a CSV file."
Delimiter = Annotated[str | None, option("--delimiter", DELIMITER_TEXT, DATA, "TEXT", default="found")]
HEADER_TEXT = "Whether the first line of a CSV file contains column names."
Header = Annotated[bool | None, option("--header/--no-header", HEADER_TEXT, DATA, default="it does")]


# -- groups --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Screen:
    """What is printed."""

    json: Json = False
    quiet: Annotated[bool, option("--quiet", "Print only errors and, with --json, the document.", OUTPUT)] = False


@dataclass(frozen=True)
class MethodOptions:
    """The base method, and whether the algorithm around it is that of the paper."""

    estimator: Annotated[
        str | None,
        option(
            "--estimator",
            f"The base method: {', '.join(NAMES)}.",
            CLUSTERING,
            "NAME",
            choices=tuple(NAMES),
            default="a quick K-Means",
        ),
    ] = None
    param: Annotated[
        list[str] | None,
        option("--param", "A parameter of the base method, such as eps=0.2. May be repeated.", CLUSTERING, "KEY=VALUE"),
    ] = None
    as_published: Annotated[
        bool,
        option("--as-published", "The algorithm of the paper, as far as other options do not change it.", CLUSTERING),
    ] = False


@dataclass(frozen=True)
class DataOptions:
    """Which columns of the data of a fit are features, and how they are prepared."""

    label_column: LabelColumn = None
    id_column: IdColumn = None
    drop: Annotated[list[str] | None, option("--drop", "A column to leave out. May be repeated.", DATA, "NAME")] = None
    keep: Annotated[
        list[str] | None,
        option(
            "--keep",
            "A column to keep as a feature, although it looks like an id, text or a constant. May be repeated.",
            DATA,
            "NAME",
        ),
    ] = None
    kinds: Annotated[
        list[str] | None,
        option(
            "--as",
            "What a column is: number, category, boolean, date, date:FORMAT, id or text. May be repeated.",
            DATA,
            "NAME=KIND",
            default="decided from its cells",
        ),
    ] = None
    scale: Annotated[
        str,
        option(
            "--scale",
            "standard: mean 0 and standard deviation 1; minmax: range 0 to 1; none; auto: none if --estimator is "
            "given, because parameters such as eps refer to unscaled data, and standard otherwise.",
            DATA,
            "NAME",
            choices=SCALES,
            default="auto",
        ),
    ] = "auto"
    impute: Annotated[
        str,
        option(
            "--impute",
            "median or mean: fill missing cells with the median or mean of their column; in categories, with the most "
            "frequent level. none: refuse them.",
            DATA,
            "NAME",
            choices=IMPUTES,
            default="median",
        ),
    ] = "median"
    delimiter: Delimiter = None
    header: Header = None

    def __post_init__(self) -> None:
        refuse_unknown("--scale", self.scale, SCALES)
        refuse_unknown("--impute", self.impute, IMPUTES)
        read_kinds(self.kinds)

    def scaling(self, estimator: str | None) -> str:
        """Return the scaling; with auto, it depends on whether the user names a base method."""
        if self.scale != "auto":
            return self.scale
        return "standard" if estimator is None else "none"

    def arguments(self, scaling: str) -> dict[str, Any]:
        """Return the arguments of ``cohirf.preparation.prepare``, besides the data."""
        given = {name: value for name, value in vars(self).items() if name != "scale"}
        given |= {"drop": self.drop or (), "keep": self.keep or (), "kinds": read_kinds(self.kinds)}
        return given | {"scaling": scaling}

    def to_arguments(self, scaling: str) -> list[str]:
        """Return the options as arguments of a fit command, without the data file."""
        given = vars(self) | {"scale": scaling, "impute": None if self.impute == "median" else self.impute}
        words = []
        for name, flag in flags_of(DataOptions).items():
            values = given[name] if isinstance(given[name], list) else [given[name]]
            for value in values:
                words += [] if value is None else [flag, value]
        return [{True: "--header", False: "--no-header"}.get(word, word) for word in words if word != "--header"]


@dataclass(frozen=True)
class NewRowsOptions:
    """How to read new rows that get clusters: what their columns are, and which have their classes and names."""

    kinds: NewKinds = None
    label_column: LabelColumn = None
    id_column: IdColumn = None


def read_kinds(wishes: list[str] | None) -> dict[str, str]:
    """Return the kind of each column that ``--as`` names."""
    kinds = {}
    for wish in wishes or ():
        name, _, kind = wish.rpartition("=")
        if not name or not kind:
            raise BadInputError(f"--as {wish!r} is not valid: give NAME=KIND, such as --as zip=category.")
        kinds[name] = kind
    return kinds
