"""Options about the data that a model is fitted to: which columns are features, and what is done to them first."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from cohirf.cli import spec
from cohirf.cli.data import DataFile, PreparedData, prepare
from cohirf.cli.preparation import IMPUTES, SCALES
from cohirf.cli.spec import Option, refuse_unknown
from cohirf.cli.tables import CsvFormat

ONE_HOT = ("onehot",)
AUTO_SCALES = ("auto", *SCALES)

Drop = Annotated[list[str] | None, Option(("--drop",), "A column to leave out. May be repeated.", spec.DATA, "NAME")]
Scale = Annotated[
    str,
    Option(
        ("--scale",),
        "standard: mean 0 and standard deviation 1; minmax: from 0 to 1; none; auto: standard without --estimator "
        "and none with it, because parameters such as eps are about the data as it is.",
        spec.DATA,
        "NAME",
        AUTO_SCALES,
        "auto",
    ),
]
Categorical = Annotated[
    str | None,
    Option(
        ("--categorical",),
        "onehot: code columns of text as zeros and ones, a column for each category.",
        spec.DATA,
        "NAME",
        ONE_HOT,
        "refuse them",
    ),
]
Impute = Annotated[
    str | None,
    Option(
        ("--impute",),
        "median or mean: fill missing cells with that of their column; in columns of text, with the most frequent.",
        spec.DATA,
        "NAME",
        IMPUTES,
        "refuse them",
    ),
]


@dataclass(frozen=True)
class DataOptions:
    """What the user says about the data of a fit."""

    path: Path
    label_column: str | None
    id_column: str | None
    drop: Sequence[str]
    scale: str
    categorical: str | None
    impute: str | None
    csv: CsvFormat

    def __post_init__(self) -> None:
        refuse_unknown("--scale", self.scale, AUTO_SCALES)
        refuse_unknown("--categorical", self.categorical, ONE_HOT)
        refuse_unknown("--impute", self.impute, IMPUTES)

    def scaling(self, estimator: str | None) -> str:
        """Return the scaling, which depends on whether the user names the base method where it is left open."""
        if self.scale != "auto":
            return self.scale
        return "standard" if estimator is None else "none"

    def prepare(self, scaling: str) -> PreparedData:
        """Open the data, and learn from it how it becomes rows for a model."""
        return prepare(
            DataFile.open(self.path, self.csv),
            label_column=self.label_column,
            id_column=self.id_column,
            drop=self.drop,
            categorical=self.categorical,
            impute=self.impute,
            scaling=scaling,
        )

    def to_arguments(self, scaling: str) -> list[str]:
        """Return what a command line of fit says about the data, without the data itself."""
        given = [
            ("--label-column", self.label_column),
            ("--id-column", self.id_column),
            *(("--drop", column) for column in self.drop),
            ("--scale", scaling),
            ("--categorical", self.categorical),
            ("--impute", self.impute),
            ("--delimiter", self.csv.delimiter),
        ]
        header = {None: [], True: ["--header"], False: ["--no-header"]}[self.csv.header]
        return [word for flag, value in given if value is not None for word in (flag, value)] + header
