"""From a file and options to rows for a model, with the columns that are kept apart beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.cli.categories import encode, find_categories
from cohirf.cli.columns import Column, assign_roles, find_categorical, find_column
from cohirf.cli.errors import BadInputError
from cohirf.cli.preparation import Preparation, learn
from cohirf.cli.tables import CsvFormat, Table, as_text, is_text, open_table
from cohirf.optional import import_optional
from cohirf.sources import Source, open_source

IN_MEMORY_BYTES = 2**28  # the same on every machine: batches of data in memory are others than those read in order


@dataclass(frozen=True)
class DataFile:
    """A file of data: a table, or an array without names."""

    path: Path
    csv: CsvFormat
    table: Table | None
    name: str
    columns: list[Column]
    candidates: list[Column]  # for features: an index that pandas stored is none

    @classmethod
    def open(cls, path: Path, csv: CsvFormat) -> DataFile:
        """Look at a file without reading its rows."""
        table = open_table(path, csv)
        if table is not None:
            columns: list[Column] = list(table.types)
            return cls(path, csv, table, table.name, columns, [name for name in columns if name not in table.index])
        array = open_source(path, **csv.given())
        numbers: list[Column] = list(range(array.n_features))
        return cls(path, csv, None, array.name, numbers, numbers)

    def open_numbers(self, columns: Sequence[Column]) -> Source:
        """Open columns of numbers."""
        return open_source(self.path, columns=list(columns), **self.csv.given())

    def read(self, column: Column) -> Iterator[Any]:
        """Yield a column that is kept apart as Arrow arrays of one type."""
        if self.table is not None:
            for batch in self.table.read_names(str(column)):
                values = batch.column(0)
                yield as_text(values) if is_text(str(values.type)) else values
        else:
            arrow = import_optional("pyarrow", "arrow")
            numbers = self.open_numbers([column])
            is_whole = all((block % 1 == 0).all() for block in numbers.read_all())
            for block in numbers.read_all():
                values = block[:, 0].astype(np.int64) if is_whole else block[:, 0]
                yield arrow.array(values, from_pandas=True)

    def classes(self, column: Column) -> Classes:
        """Return the class of each row."""
        number_of: dict[Any, int] = {}
        codes = []
        for values, places in self._distinct(column):
            numbers = [-1 if value is None else number_of.setdefault(value, len(number_of)) for value in values]
            codes.append(np.array(numbers, dtype=np.int32)[places])
        return Classes([str(value) for value in number_of], np.concatenate(codes))

    def _distinct(self, column: Column) -> Iterator[tuple[list[Any], NDArray[Any]]]:
        """Yield the distinct cells of some rows at a time, and which of them each row has."""
        for values in self.read(column):
            coded = as_text(values).dictionary_encode(null_encoding="encode")
            yield coded.dictionary.to_pylist(), coded.indices.to_numpy()


@dataclass(frozen=True)
class Classes:
    """Known classes: their names, and the number of each row's class, -1 where it is missing."""

    names: list[str]
    codes: NDArray[np.int32]

    def by_name(self) -> NDArray[np.str_]:
        """Return the name of each row's class."""
        return np.array([*self.names, "missing"])[self.codes]


@dataclass(frozen=True)
class PreparedData:
    """Rows for a model, the file they come from, and how they came to be."""

    file: DataFile
    preparation: Preparation
    source: Source

    def rows(self) -> Source | NDArray[Any]:
        """Return all rows as an array where they are few, and the source where they are many."""
        return self.array() if self.is_small else self.source

    def array(self) -> NDArray[Any]:
        """Return all rows as an array."""
        rows: NDArray[Any] = self.source.take(np.arange(self.source.n_rows))
        return rows

    @property
    def n_bytes(self) -> int:
        """The memory that all rows take."""
        return self.source.n_rows * self.source.n_features * self.source.dtype.itemsize

    @property
    def is_small(self) -> bool:
        """Whether a fit holds all rows in memory."""
        return self.n_bytes <= IN_MEMORY_BYTES

    def describe(self) -> str:
        """Return the size of the data in words."""
        return f"{self.file.name}: {self.source.n_rows:,} rows, {self.source.n_features:,} features"

    def classes(self) -> Classes | None:
        """Return the class of each row, if a column has it."""
        column = self.preparation.label_column
        return None if column is None else self.file.classes(column)

    def ids(self) -> Iterator[Any] | None:
        """Yield the names of the rows as Arrow arrays, if a column has them."""
        column = self.preparation.id_column
        return None if column is None else self.file.read(column)


def prepare(
    file: DataFile,
    *,
    label_column: str | None,
    id_column: str | None,
    drop: Sequence[str],
    categorical: str | None,
    impute: str | None,
    scaling: str,
) -> PreparedData:
    """Learn from the data of a fit how it becomes rows for a model."""
    roles = assign_roles(file.name, file.columns, file.candidates, label=label_column, id_column=id_column, drop=drop)
    _refuse_mixture(file, roles.label, roles.id)
    text = [] if file.table is None else find_categorical(file.table, roles.features, allowed=categorical is not None)
    categories = find_categories(file.table, text, impute=impute is not None) if file.table is not None and text else {}
    preparation = Preparation(tuple(roles.features), roles.label, roles.id, categories)
    source = open_features(file, preparation)
    preparation = learn(preparation, source, impute=impute, scaling=scaling)
    return PreparedData(file, preparation, preparation.apply(source))


def prepare_alike(
    file: DataFile, preparation: Preparation, *, label_column: str | None = None, id_column: str | None = None
) -> PreparedData:
    """Do to other data what was done to the data of the fit; the columns kept apart may be called otherwise."""
    _refuse_lack(file, preparation)
    label = _kept_apart(file, preparation.label_column, label_column, "--label-column")
    row_id = _kept_apart(file, preparation.id_column, id_column, "--id-column")
    _refuse_mixture(file, label, row_id)
    preparation = replace(preparation, label_column=label, id_column=row_id)
    return PreparedData(file, preparation, preparation.apply(open_features(file, preparation)))


def open_features(file: DataFile, preparation: Preparation) -> Source:
    """Open the features of a file, with text as numbers."""
    if file.table is not None and preparation.categories:
        return encode(file.table, [str(column) for column in preparation.columns], preparation.categories)
    return file.open_numbers(preparation.columns)


def _refuse_mixture(file: DataFile, *kept_apart: Column | None) -> None:
    """Refuse columns that are kept apart and change their type, before the work begins."""
    for column in kept_apart:
        if file.table is not None and column is not None:
            file.table.refuse_difference(str(column))


def _refuse_lack(file: DataFile, preparation: Preparation) -> None:
    wanted = preparation.columns
    if isinstance(wanted[0], int) != isinstance(file.columns[0], int):
        has, had = ("no column names", "names") if file.table is None else ("column names", "none")
        raise BadInputError(f"{file.name} has {has}, and the data of the fit had {had}: give data of the same kind.")
    if file.table is not None:
        for column in find_categorical(file.table, [name for name in wanted if name in file.columns], allowed=True):
            if column not in preparation.categories:
                raise BadInputError(
                    f"{file.name}: column {column!r} is text, and the data of the fit had numbers: give data of the "
                    f"same kind."
                )
    lacking = [column for column in wanted if column not in file.columns]
    if lacking:
        raise BadInputError(
            f"{file.name} has no column {lacking[0]!r}, which the model was fitted on: give data that has all "
            f"{len(wanted):,} features."
        )


def _kept_apart(file: DataFile, of_fit: Column | None, given: str | None, flag: str) -> Column | None:
    """Return the column that the user names, or the one of the fit if the data has it."""
    if given is not None:
        return find_column(file.name, file.columns, given, flag)
    return of_fit if of_fit in file.columns else None
