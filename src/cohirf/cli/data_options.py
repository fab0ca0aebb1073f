"""Options for data: which columns of a fit are features, how they are prepared, and how other data is read."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from cohirf.cli.errors import BadInputError
from cohirf.cli.options import DATA, CsvOptions, Delimiter, Header, IdColumn, LabelColumn, option
from cohirf.cli.values import refuse_unknown

if TYPE_CHECKING:
    from cohirf.preparation import Prepared

SCALES = ("auto", "standard", "minmax", "none")
IMPUTES = ("median", "mean", "none")


@dataclass(frozen=True)
class DataOptions:
    """Options for the data of a fit."""

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
            "standard: mean 0 and standard deviation 1; minmax: range 0 to 1; none; auto: none if --estimator "
            "is given, "
            "because parameters such as eps refer to unscaled data, and standard otherwise.",
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

    def prepare(self, path: Path, scaling: str) -> Prepared:
        """Open the data and prepare it for a fit."""
        from cohirf.preparation import prepare  # imports numpy, which help does not need

        return prepare(path, **self.arguments(scaling))

    def arguments(self, scaling: str) -> dict[str, Any]:
        """Return the arguments of ``prepare``, besides the data."""
        return {
            "label_column": self.label_column,
            "id_column": self.id_column,
            "drop": self.drop or (),
            "keep": self.keep or (),
            "kinds": read_kinds(self.kinds),
            "impute": self.impute,
            "scaling": scaling,
            **CsvOptions(self.delimiter, self.header).given(),
        }

    def to_arguments(self, scaling: str) -> list[str]:
        """Return the data options as arguments of a fit command, without the data file."""
        given = [
            ("--label-column", self.label_column),
            ("--id-column", self.id_column),
            *(("--drop", column) for column in self.drop or ()),
            *(("--keep", column) for column in self.keep or ()),
            *(("--as", wish) for wish in self.kinds or ()),
            ("--scale", scaling),
            ("--impute", None if self.impute == "median" else self.impute),
            ("--delimiter", self.delimiter),
        ]
        header = {None: [], True: ["--header"], False: ["--no-header"]}[self.header]
        return [word for flag, value in given if value is not None for word in (flag, value)] + header


@dataclass(frozen=True)
class NewDataOptions:
    """How to read data that is prepared as the data of a model was."""

    kinds: Annotated[
        list[str] | None,
        option(
            "--as",
            "What a column is, as in cohirf fit: number, category, boolean, date or date:FORMAT. All of its cells that "
            "are not of this kind are taken as missing. May be repeated.",
            DATA,
            "NAME=KIND",
            default="as in the model; more than 1 % of such cells are refused",
        ),
    ] = None
    delimiter: Delimiter = None
    header: Header = None

    def __post_init__(self) -> None:
        read_kinds(self.kinds)

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``Preparation.apply``, besides the data."""
        return {"kinds": read_kinds(self.kinds), **CsvOptions(self.delimiter, self.header).given()}


@dataclass(frozen=True)
class NewRowsOptions(NewDataOptions):
    """How to read data whose rows get clusters: also which columns have their classes and names."""

    label_column: LabelColumn = None
    id_column: IdColumn = None

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of ``Preparation.apply``, besides the data."""
        return {"label_column": self.label_column, "id_column": self.id_column, **super().arguments()}


def read_kinds(wishes: list[str] | None) -> dict[str, str]:
    """Return the kind of each column that ``--as`` names."""
    kinds = {}
    for wish in wishes or ():
        name, _, kind = wish.rpartition("=")
        if not name or not kind:
            raise BadInputError(f"--as {wish!r} is not valid: give NAME=KIND, such as --as zip=category.")
        kinds[name] = kind
    return kinds
