"""Preparation: learned once from the training data, and applied to all data of the model."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import astuple, dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cohirf.app.preparation.data import (
    Classes,
    Data,
    are_stored_numbers,
    encode_table,
    refuse_bad_coordinates,
)
from cohirf.app.preparation.kinds import (
    Category,
    Column,
    Feature,
    LeftOut,
    Name,
    Number,
    column_from_json,
)
from cohirf.app.preparation.policy import SCALE
from cohirf.sources import ScaledSource, Source
from cohirf.wording import count_of, listed

FORMAT_VERSION = 3
SCALINGS = ("standard", "minmax", "none")
IMPUTES = ("median", "mean", "none")


FeatureValues = tuple[float, ...]


@dataclass(frozen=True)
class ColumnNote:
    """What was done with a column, and why: a row of the table that a preparation prints.

    Attributes
    ----------
    column : str or int
        The column.
    kind : str
        "number", "boolean", "category" or "date"; what a column without features is: "id", "text",
        "constant", "empty", "dropped" or "label".
    n_features : int
        Number of features.
    note : str
        What was done, and why.
    """

    column: Name
    kind: str
    n_features: int
    note: str


@dataclass(frozen=True)
class Preparation:
    """How data is prepared for a model. :func:`prepare` learns it from the training data.

    Printing it shows a table of what is done with each column, and why.

    Attributes
    ----------
    columns : tuple of Column
        All columns of the training data, in their order: ``name``, ``kind``, ``reason``,
        ``n_missing`` and ``features`` of each. Columns that are left out have no features.
    label_column, id_column : str, int or None
        The columns with known classes and with the names of the rows.
    fill, offset, scale : tuple of float or None
        For each feature: the value for missing cells, the value that is subtracted, and the value
        that the result is divided by. None: this step is skipped.
    scaling : {"none", "standard", "minmax", "radians"}
        The name of the scaling; "radians" is that of places.
    impute : {"median", "mean", "none"}
        The name of the fill values.

    Examples
    --------
    >>> import pandas as pd
    >>> from cohirf.app.preparation import Preparation, prepare
    >>> table = pd.DataFrame({"a": [0.0, 5.0, 10.0, 7.0], "b": ["x", "y", "x", "y"]})
    >>> prepared = prepare(table, scaling="minmax")
    >>> print(prepared.preparation)
    column  kind      features  what was done
    a       number           1
    b       category         2  2 levels

    A preparation can be stored as JSON:

    >>> content = prepared.preparation.to_json()
    >>> Preparation.from_json(content).apply(pd.DataFrame({"b": ["y"], "a": [7.5]})).array()
    array([[0.75, 0.  , 1.  ]])

    To store it with a model, call ``model.save(path, preparation=content)``;
    ``cohirf.store.load_about(path).preparation`` returns it.
    """

    columns: tuple[Column, ...]
    label_column: Name | None = None
    id_column: Name | None = None
    fill: FeatureValues | None = None
    offset: FeatureValues | None = None
    scale: FeatureValues | None = None
    scaling: str = "none"
    impute: str = "none"

    @classmethod
    def of_numbers(cls, names: Sequence[Name]) -> Preparation:
        """Return the preparation that takes numbers as they are."""
        return cls(tuple(Number(name) for name in names))

    @cached_property
    def kept(self) -> tuple[Column, ...]:
        """The columns that have features."""
        return tuple(column for column in self.columns if column.features)

    @cached_property
    def features(self) -> tuple[Feature, ...]:
        """The features of the prepared rows, each with the column, the kind and the unit that it
        comes from.
        """
        return tuple(feature for column in self.kept for feature in column.features)

    def to_original_units(self, X: ArrayLike) -> NDArray[np.float64]:
        """Return prepared rows, or means of them, in the units of the original data.

        Parameters
        ----------
        X : array, shape (n, n_features)
            Prepared rows, or anything linear in them, such as means of clusters.

        Returns
        -------
        values : array of float, shape (n, n_features)
            Each feature in its unit (:attr:`features`): numbers as in the original data, dates as
            days since 1970-01-01, booleans and levels of categories as shares from 0 to 1.
            ``features[j].show(value)`` returns a value as text.

        Examples
        --------
        >>> import pandas as pd
        >>> from cohirf.app.preparation import prepare
        >>> table = pd.DataFrame({"spend": ["€10.00", "€1,250.00", "€20.00"]})
        >>> prepared = prepare(table, scaling="standard")
        >>> prepared.preparation.to_original_units(prepared.array()).round(6).tolist()
        [[10.0], [1250.0], [20.0]]
        >>> prepared.preparation.features[0].show(1250)
        '€1,250'
        """
        values = np.array(X, dtype=np.float64)
        if self.scale is not None:
            values *= self.scale
        if self.offset is not None:
            values += self.offset
            # the rest of a 0 that was scaled and scaled back
            rest = SCALE.rounding * np.finfo(np.float64).eps * np.abs(self.offset)
            values[np.abs(values) <= rest] = 0.0
        return values

    def describe(self) -> list[ColumnNote]:
        """Return what is done with each column, and why."""
        notes = []
        start = 0
        for column in self.columns:
            kind = column.role if isinstance(column, LeftOut) else column.kind
            notes.append(
                ColumnNote(column.name, kind, len(column.features), self._note(column, start))
            )
            start += len(column.features)
        return notes

    def _note(self, column: Column, start: int) -> str:
        """Return what is done with a column whose first feature has the number ``start``."""
        if isinstance(column, LeftOut):
            names_rows = column.role == "id" and column.name == self.id_column
            return f"left out: {column.reason}{'; names the rows' if names_rows else ''}"
        said = [column.reason] if column.reason else []
        gaps = [f"{count_of(column.n_missing, 'cell')} missing"] if column.n_missing else []
        if column.n_bad:
            gaps.append(f"{count_of(column.n_bad, 'cell')} not {column.expects}")
        if gaps and isinstance(column, Category):
            said.append(f"{' and '.join(gaps)}, which are a level")
        elif gaps and self.fill is not None:
            value = column.features[0].show(self.fill[start])
            said.append(f"{' and '.join(gaps)}, filled with the {self.impute}, {value}")
        elif column.n_bad:
            said.append(f"{gaps[-1]}, taken as missing")
        return "; ".join(said)

    def __str__(self) -> str:
        header = ("column", "kind", "features", "what was done")
        rows = [header, *(tuple(map(str, astuple(note))) for note in self.describe())]
        name, kind, number, _ = (max(map(len, cells)) for cells in zip(*rows, strict=True))
        return "\n".join(
            f"{a:{name}}  {b:{kind}}  {c:>{number}}  {d}".rstrip() for a, b, c, d in rows
        )

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        return f"<pre>{escape(str(self))}</pre>"

    def apply(
        self,
        data: Any,
        *,
        delimiter: str | None = None,
        header: bool | None = None,
        sheet: str | None = None,
        most_bad: float = SCALE.bad,
    ) -> Prepared:
        """Prepare other data in the same way as the training data.

        Parameters
        ----------
        data : path or object
            Data with all columns that became features. Columns are found by name, so their order
            does not matter, and other columns are ignored; ``prepared.ignored`` lists those that
            the training data did not have. The columns with known classes and with the names of the
            rows may be missing.
        delimiter, header, sheet : optional
            The delimiter of a CSV file, whether it has column names, and the sheet of a
            spreadsheet, as in
            :func:`cohirf.open_source`.
        most_bad : float, default 0.5
            Share of the cells of a column that may be unreadable.

        Returns
        -------
        prepared : Prepared
            The prepared rows; pass ``prepared.source`` to ``predict``.

        Raises
        ------
        DataError
            If more cells of a column cannot be read as what the column was in the training data.
            Fewer such cells are taken as missing, with a warning. Levels of a category that the
            training data did not have become rows that have none of its levels, with a warning.

        Examples
        --------
        >>> import pandas as pd
        >>> from cohirf.app.preparation import prepare
        >>> prepared = prepare(pd.DataFrame({"a": [0.0, 10.0], "b": [1.0, 3.0]}), scaling="minmax")
        >>> prepared.preparation.apply(pd.DataFrame({"b": [2.0], "c": [7.0], "a": [5.0]})).array()
        array([[0.5, 0.5]])
        """
        opened = Data.open(data, delimiter=delimiter, header=header, sheet=sheet)
        self._refuse_lack(opened)
        label, row_id = (
            one if one in opened.columns else None for one in (self.label_column, self.id_column)
        )
        return replace(self, label_column=label, id_column=row_id).prepare(opened, most_bad)

    def prepare(self, data: Data, most_bad: float = 1.0) -> Prepared:
        """Return the prepared rows of data that has all columns, of which a share of the cells may
        be unreadable.
        """
        if self.scaling == "radians":
            refuse_bad_coordinates(data, [column.name for column in self.kept])
        for column in (self.label_column, self.id_column):
            if data.table is not None and column is not None:
                data.table.refuse_difference(str(column))
        if data.table is None or are_stored_numbers(data.table, self.kept):
            return Prepared(
                data, self, self.scaled(data.open_numbers([column.name for column in self.kept]))
            )
        return Prepared(data, self, self.scaled(encode_table(data.table, self.kept, most_bad)))

    def scaled(self, source: Source) -> Source:
        """Return a source whose rows are filled and scaled while they are read."""
        if self.fill is None and self.scale is None:
            return source
        return ScaledSource(source, fill=self.fill, offset=self.offset, scale=self.scale)

    def _refuse_lack(self, data: Data) -> None:
        """Refuse data that lacks columns of the training data."""
        if isinstance(self.columns[0].name, int) != isinstance(data.columns[0], int):
            has, had = (
                ("no column names", "column names")
                if data.table is None
                else ("column names", "none")
            )
            raise ValueError(
                f"{data.name} has {has}, but the training data had {had}: give data of the same "
                "kind."
            )
        if lacking := [column.name for column in self.kept if column.name not in data.columns]:
            raise ValueError(
                f"{data.name} has no column {listed(lacking)}, which the model was fitted on: give "
                f"data that has all {len(self.kept):,} columns of the fit."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the preparation as a dict that can be stored as JSON.

        :meth:`from_json` reads it.
        """
        fields = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            "version": FORMAT_VERSION,
            **fields,
            "columns": [column.to_json() for column in self.columns],
        }

    @classmethod
    def from_json(cls, content: dict[str, Any], n_features: int | None = None) -> Preparation:
        """Return the preparation that :meth:`to_json` described, after validation.

        Parameters
        ----------
        content : dict
            What :meth:`to_json` returned.
        n_features : int, optional
            Number of features of a model. A preparation that makes another number of features is
            refused.

        Returns
        -------
        preparation : Preparation
            The preparation.
        """
        content = dict(content)
        if content.pop("version", None) != FORMAT_VERSION:
            raise ValueError(
                "it has another format version: use the version of cohirf that wrote it"
            )
        try:
            content["columns"] = tuple(map(column_from_json, content["columns"]))
            content |= {name: _read_vector(content[name]) for name in ("fill", "offset", "scale")}
            found = cls(**content)
            n_made = len(found.features)
        except (TypeError, KeyError, ValueError, AttributeError) as error:
            raise ValueError(
                f"it is not one that prepare has learned ({type(error).__name__}: {error})"
            ) from error
        lengths = {n_made} | {
            len(part) for part in (found.fill, found.offset, found.scale) if part is not None
        }
        if lengths != {n_made if n_features is None else n_features}:
            raise ValueError("it does not make the features of the model")
        return found


@dataclass(frozen=True)
class Prepared:
    """Prepared rows, the data they come from, and their preparation. :func:`prepare` returns it.

    Attributes
    ----------
    data : Data
        The original data.
    preparation : Preparation
        How the data was prepared; use it to prepare other data.
    source : Source
        The rows, which are prepared while they are read. Pass it to ``CoHiRF.fit`` and ``predict``.

    Examples
    --------
    >>> import pandas as pd
    >>> from cohirf.app.preparation import prepare
    >>> table = pd.DataFrame({"name": ["a", "b"], "x": [0.0, 10.0]})
    >>> prepared = prepare(table, id_column="name", scaling="minmax")
    >>> prepared.feature_names
    ['x']
    >>> prepared.array().tolist()
    [[0.0], [1.0]]
    >>> [names.to_pylist() for names in prepared.ids()]
    [['a', 'b']]
    """

    data: Data
    preparation: Preparation
    source: Source

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features; None if the data has no column names."""
        return self.source.feature_names

    @property
    def n_bytes(self) -> int:
        """Size of all prepared rows in memory, in bytes."""
        return self.source.n_rows * self.source.n_features * self.source.dtype.itemsize

    @property
    def is_small(self) -> bool:
        """Whether all rows together take at most 256 MiB, so that :meth:`rows` loads them into
        memory.
        """
        return self.n_bytes <= SCALE.in_memory_bytes

    def rows(self) -> Source | NDArray[Any]:
        """Return all rows as an array if they take at most 256 MiB, otherwise the source."""
        return self.array() if self.is_small else self.source

    def array(self) -> NDArray[Any]:
        """Return all rows as an array in memory."""
        rows: NDArray[Any] = self.source.take(np.arange(self.source.n_rows))
        return rows

    def classes(self) -> Classes | None:
        """Return the known class of each row; None if there is no label column."""
        column = self.preparation.label_column
        return None if column is None else self.data.classes(column)

    def ids(self) -> Iterator[Any] | None:
        """Return an iterator over the names of the rows, as Arrow arrays.

        None if there is no id column.
        """
        column = self.preparation.id_column
        return None if column is None else self.data.read(column)

    @property
    def ignored(self) -> list[Name]:
        """Columns of the data that the training data did not have."""
        known = {column.name for column in self.preparation.columns}
        apart = (self.preparation.label_column, self.preparation.id_column)
        return [
            column for column in self.data.candidates if column not in known and column not in apart
        ]

    def mostly_filled(self) -> NDArray[np.int64]:
        """Return the numbers of the rows in which more than half of the columns had a missing cell,
        which was filled.

        Examples
        --------
        >>> import pandas as pd
        >>> from cohirf.app.preparation import prepare
        >>> table = pd.DataFrame(
        ...     {"a": [1.0, None, 3.0], "b": [5.0, None, 7.0], "c": [1.5, 2.5, 4.0]}
        ... )
        >>> prepare(table).mostly_filled()
        array([1])
        """
        kept = self.preparation.kept
        n_gaps = sum(column.n_missing + column.n_bad for column in kept)
        if 2 * n_gaps <= len(kept) or not isinstance(self.source, ScaledSource):
            return np.empty(0, dtype=np.int64)
        first = np.cumsum([0, *(len(column.features) for column in kept[:-1])])
        found = []
        start = 0
        for rows in self.source.source.read_all():
            found.append(
                start + np.flatnonzero(np.isnan(rows[:, first]).mean(axis=1) > SCALE.filled)
            )
            start += len(rows)
        return np.concatenate(found)

    def name_rows(self, rows: Sequence[int]) -> list[str]:
        """Return the names of some rows, with words if a column has some.

        An empty list if no column names the rows.
        """
        column = self.preparation.id_column
        if column is None or not len(rows):
            return []
        cells = {name: list(map(str, some)) for name, some in self.original(rows).items()}
        if not any(name.isdecimal() for name in cells[column]):
            return cells[column]
        others = (
            one.name
            for one in self.preparation.columns
            if isinstance(one, LeftOut) and one.role == "id"
        )
        words = next(
            (cells[name] for name in others if not any(cell.isdecimal() for cell in cells[name])),
            None,
        )
        # the name of a column without one in a CSV file
        called = "row" if re.fullmatch(r"column \d+", str(column)) else column
        numbers = [f"{called} {name}" for name in cells[column]]
        if words is None:
            return numbers
        return [f"{word} ({name})" for word, name in zip(words, numbers, strict=True)]

    def original(self, rows: Sequence[int]) -> dict[Name, list[Any]]:
        """Return the cells of some rows as they are in the original data, by column.

        Missing cells are None.

        Parameters
        ----------
        rows : sequence of int
            Row numbers, in any order.

        Returns
        -------
        cells : dict of list
            For each column, a cell for each of the given rows.

        Examples
        --------
        >>> import pandas as pd
        >>> from cohirf.app.preparation import prepare
        >>> frame = pd.DataFrame({"name": ["a", "b", "c"], "spend": ["€5", "€7", "€9"]})
        >>> prepare(frame).original([2, 0])
        {'name': ['c', 'a'], 'spend': ['€9', '€5']}
        """
        return self.data.take(rows)

    def describe(self) -> str:
        """Return the name, the size and, if it is unusual, the format of the data as text."""
        if self.data.table is None or not self.data.table.format:
            form = ""
        else:
            form = f" ({self.data.table.format})"
        size = (
            f"{count_of(self.source.n_rows, 'row')}, {count_of(self.source.n_features, 'feature')}"
        )
        return f"{self.data.name}: {size}{form}"

    def _repr_html_(self) -> str:
        """Return HTML for notebooks."""
        return f"<p>{escape(self.describe())}</p>{self.preparation._repr_html_()}"


def _read_vector(content: Sequence[float] | None) -> FeatureValues | None:
    if content is not None and not np.isfinite(np.array(content, dtype=np.float64)).all():
        raise ValueError("it has values that are not finite")
    return None if content is None else tuple(content)
