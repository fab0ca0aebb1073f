"""Preparation: learned once from the training data, and applied to all data of the model."""

from __future__ import annotations

import reprlib
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.preparation.categories import Categories, encode
from cohirf.preparation.columns import Column, find_categorical, find_column
from cohirf.preparation.data import Classes, Data
from cohirf.sources import ScaledSource, Source

FORMAT_VERSION = 1
SCALINGS = ("standard", "minmax", "none")
IN_MEMORY_BYTES = 2**28  # the same on all machines, because in-memory batches differ from those of sources

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Preparation:
    """How data is prepared for a model. :func:`prepare` learns it from the training data.

    Attributes
    ----------
    columns : tuple
        The columns that are features, before text is encoded: names, or numbers if the data has no names.
    label_column, id_column : str, int or None
        The columns with known classes and with the names of the rows.
    categories : dict of str to Categories
        The categories of each text column.
    fill, offset, scale : tuple of float or None
        For each feature, after text is encoded: the value for missing cells, the value that is subtracted, and the
        value that the result is divided by. None: this step is skipped.
    scaling : {"none", "standard", "minmax"}
        The name of the scaling.

    Examples
    --------
    A preparation can be stored as JSON:

    >>> import pandas as pd
    >>> from cohirf.preparation import Preparation, prepare
    >>> prepared = prepare(pd.DataFrame({"a": [0.0, 5.0, 10.0], "b": ["x", "y", "x"]}),
    ...                    categorical="onehot", scaling="minmax")
    >>> content = prepared.preparation.to_json()
    >>> Preparation.from_json(content).apply(pd.DataFrame({"b": ["y"], "a": [7.5]})).array()
    array([[0.75, 0.  , 1.  ]])

    To store it with a model, call ``cohirf.saving.save_model(model, path, preparation=content)``;
    ``cohirf.saving.load_preparation(path)`` returns it.
    """

    columns: tuple[Column, ...]
    label_column: Column | None = None
    id_column: Column | None = None
    categories: dict[str, Categories] = field(default_factory=dict)
    fill: Vector | None = None
    offset: Vector | None = None
    scale: Vector | None = None
    scaling: str = "none"

    def apply(
        self, data: Any, *, label_column: Column | None = None, id_column: Column | None = None, **csv: Any
    ) -> Prepared:
        """Prepare other data in the same way as the training data.

        Parameters
        ----------
        data : path or object
            Data with all features of the training data. Columns are found by name, so their order does not matter,
            and other columns are ignored.
        label_column, id_column : str or int, optional
            The columns with known classes and with the names of the rows, if their names differ from those in the
            training data.
        **csv
            ``delimiter`` and ``header`` of a CSV file, as in :func:`cohirf.open_source`.

        Returns
        -------
        prepared : Prepared
            The prepared rows; pass ``prepared.source`` to ``predict``.

        Examples
        --------
        >>> import pandas as pd
        >>> from cohirf.preparation import prepare
        >>> prepared = prepare(pd.DataFrame({"a": [0.0, 10.0], "b": [1.0, 3.0]}), scaling="minmax")
        >>> prepared.preparation.apply(pd.DataFrame({"b": [2.0], "c": [7.0], "a": [5.0]})).array()
        array([[0.5, 0.5]])
        """
        opened = Data.open(data, **csv)
        self._refuse_lack(opened)
        label = _role_column(opened, self.label_column, label_column, f"{label_column=}")
        row_id = _role_column(opened, self.id_column, id_column, f"{id_column=}")
        return replace(self, label_column=label, id_column=row_id).prepare(opened)

    def prepare(self, data: Data) -> Prepared:
        """Return the prepared rows of data that has all columns."""
        for column in (self.label_column, self.id_column):
            if data.table is not None and column is not None:
                data.table.refuse_difference(str(column))
        return Prepared(data, self, self.scaled(self.coded(data)))

    def coded(self, data: Data) -> Source:
        """Open the features of some data, with text columns encoded."""
        if data.table is not None and self.categories:
            return encode(data.table, [str(column) for column in self.columns], self.categories)
        return data.open_numbers(self.columns)

    def scaled(self, source: Source) -> Source:
        """Return a source whose rows are filled and scaled while they are read."""
        if self.fill is None and self.scale is None:
            return source
        return ScaledSource(source, fill=self.fill, offset=self.offset, scale=self.scale)

    def _makes(self, n_features: int) -> bool:
        """Return whether the prepared rows have ``n_features`` features."""
        n_coded = sum(len(found.values) for found in self.categories.values())
        n_here = len(self.columns) - len(self.categories) + n_coded
        lengths = {len(part) for part in (self.fill, self.offset, self.scale) if part is not None}
        return self.categories.keys() <= set(self.columns) and {n_here, *lengths} == {n_features}

    def _refuse_lack(self, data: Data) -> None:
        """Refuse data that lacks features of the training data, or has them with another type."""
        if isinstance(self.columns[0], int) != isinstance(data.columns[0], int):
            has, had = ("no column names", "column names") if data.table is None else ("column names", "none")
            raise ValueError(f"{data.name} has {has}, but the training data had {had}: give data of the same kind.")
        if data.table is not None:
            here = [name for name in self.columns if name in data.columns]
            for column in find_categorical(data.table, here, allowed=True):
                if column not in self.categories:
                    raise ValueError(
                        f"{data.name}: column {column!r} is text, but it was numeric in the training data: give "
                        f"data of the same kind."
                    )
        lacking = [column for column in self.columns if column not in data.columns]
        if lacking:
            raise ValueError(
                f"{data.name} has no column {lacking[0]!r}, which the model was fitted on: give data that has all "
                f"{len(self.columns):,} features."
            )

    def to_json(self) -> dict[str, Any]:
        """Return the preparation as a dict that can be stored as JSON; :meth:`from_json` reads it."""
        return {"version": FORMAT_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any], n_features: int | None = None) -> Preparation:
        """Return the preparation that :meth:`to_json` described, after validation.

        Parameters
        ----------
        content : dict
            What :meth:`to_json` returned.
        n_features : int, optional
            Number of features of a model. A preparation that makes another number of features is refused.

        Returns
        -------
        preparation : Preparation
            The preparation.
        """
        content = dict(content)
        if content.pop("version", None) != FORMAT_VERSION:
            raise ValueError("it has another format version: use the version of cohirf that wrote it")
        if content.keys() != set(cls.__dataclass_fields__):
            raise ValueError("it has other keys than a preparation")
        columns = tuple(_check_column(column) for column in _check_list(content["columns"]))
        label, row_id = (content[name] for name in ("label_column", "id_column"))
        categories = {str(name): _read_categories(found) for name, found in dict(content["categories"]).items()}
        fill, offset, scale = (_read_vector(content[name]) for name in ("fill", "offset", "scale"))
        if content["scaling"] not in SCALINGS or not columns:
            raise ValueError("its scaling or its columns are not those of a preparation")
        if scale is not None and min(scale, default=1) <= 0:
            raise ValueError(f"its scale has the value {min(scale)}, but features are divided only by values above 0")
        found = cls(
            columns,
            None if label is None else _check_column(label),
            None if row_id is None else _check_column(row_id),
            categories,
            fill,
            offset,
            scale,
            content["scaling"],
        )
        if n_features is not None and not found._makes(n_features):
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
    >>> from cohirf.preparation import prepare
    >>> prepared = prepare(pd.DataFrame({"name": ["a", "b"], "x": [0.0, 10.0]}), id_column="name", scaling="minmax")
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
        """Names of the features after text is encoded; None if the data has no column names."""
        return self.source.feature_names

    @property
    def n_bytes(self) -> int:
        """Size of all prepared rows in memory, in bytes."""
        return self.source.n_rows * self.source.n_features * self.source.dtype.itemsize

    @property
    def is_small(self) -> bool:
        """Whether all rows together take at most 256 MiB, so that :meth:`rows` loads them into memory."""
        return self.n_bytes <= IN_MEMORY_BYTES

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
        """Return an iterator over the names of the rows, as Arrow arrays; None if there is no id column."""
        column = self.preparation.id_column
        return None if column is None else self.data.read(column)

    def describe(self) -> str:
        """Return the name and the size of the data as text."""
        return f"{self.data.name}: {self.source.n_rows:,} rows, {self.source.n_features:,} features"


def _role_column(data: Data, of_fit: Column | None, wanted: Column | None, given: str) -> Column | None:
    """Return the column that the user names; by default the column of the training data, if the data has it."""
    if wanted is not None:
        return find_column(data.name, data.columns, wanted, given)
    return of_fit if of_fit in data.columns else None


def _check_list(content: Any) -> list[Any]:
    if not isinstance(content, list | tuple):
        raise TypeError("it has another value where a list is expected")
    return list(content)


def _check_column(column: Any) -> Column:
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise TypeError("it names a column by a value that is neither text nor a number")
    return column


def _read_categories(content: Any) -> Categories:
    values, missing = tuple(map(str, _check_list(content["values"]))), content["missing"]
    if missing is not None and missing not in values:
        raise ValueError("it fills missing cells with an unknown category")
    return Categories(values, missing)


def _read_vector(content: Any) -> Vector | None:
    if content is None:
        return None
    return tuple(_check_number(value) for value in _check_list(content))


def _check_number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not abs(value) <= sys.float_info.max:
        raise ValueError(f"it has the value {reprlib.repr(value)} where a finite number is expected")
    return float(value)
