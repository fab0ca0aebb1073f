"""What is done to data before a fit: learned from the data of the fit once, and applied to all data of the model."""

from __future__ import annotations

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
IN_MEMORY_BYTES = 2**28  # the same on every machine: batches of data in memory are others than those read in order

Vector = tuple[float, ...]


@dataclass(frozen=True)
class Preparation:
    """How data becomes rows for a model. :func:`prepare` learns it from the data of a fit.

    Attributes
    ----------
    columns : tuple
        The features as the data has them: names, or numbers where there are none.
    label_column, id_column : column or None
        The columns that are kept apart.
    categories : dict of Categories
        The categories of columns of text.
    fill, offset, scale : tuple of float or None
        For each feature, after the coding of text: what stands for missing cells, what is subtracted, and what the
        rest is divided by.
    scaling : str
        The name of the scaling.

    Examples
    --------
    A preparation is kept as JSON, beside the model it belongs to:

    >>> import pandas as pd
    >>> from cohirf.preparation import Preparation, prepare
    >>> prepared = prepare(pd.DataFrame({"a": [0.0, 5.0, 10.0], "b": ["x", "y", "x"]}),
    ...                    categorical="onehot", scaling="minmax")
    >>> content = prepared.preparation.to_json()
    >>> Preparation.from_json(content).apply(pd.DataFrame({"b": ["y"], "a": [7.5]})).array()
    array([[0.75, 0.  , 1.  ]])

    ``save_model(model, path, preparation=content)`` of ``cohirf.saving`` writes it, and ``load_preparation(path)``
    reads it.
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
        """Do to other data what was done to the data of the fit.

        Parameters
        ----------
        data : path or object
            Data that has all features of the fit; other columns and another order are fine.
        label_column, id_column : column, optional
            The columns that are kept apart, if they have another name than in the data of the fit.
        **csv
            ``delimiter`` and ``header`` of a CSV file, as in :func:`cohirf.open_source`.

        Returns
        -------
        prepared : Prepared
            Rows for ``predict``.
        """
        opened = Data.open(data, **csv)
        self._refuse_lack(opened)
        label = _kept_apart(opened, self.label_column, label_column, f"{label_column=}")
        row_id = _kept_apart(opened, self.id_column, id_column, f"{id_column=}")
        return replace(self, label_column=label, id_column=row_id).prepare(opened)

    def prepare(self, data: Data) -> Prepared:
        """Return the rows of data that has all columns."""
        for column in (self.label_column, self.id_column):
            if data.table is not None and column is not None:
                data.table.refuse_difference(str(column))
        return Prepared(data, self, self.scaled(self.coded(data)))

    def coded(self, data: Data) -> Source:
        """Open the features of some data, with text as numbers."""
        if data.table is not None and self.categories:
            return encode(data.table, [str(column) for column in self.columns], self.categories)
        return data.open_numbers(self.columns)

    def scaled(self, source: Source) -> Source:
        """Return a source whose rows are filled and scaled as they are read."""
        if self.fill is None and self.scale is None:
            return source
        return ScaledSource(source, fill=self.fill, offset=self.offset, scale=self.scale)

    def _makes(self, n_features: int) -> bool:
        """Tell whether the prepared rows have so many features."""
        n_coded = sum(len(found.values) for found in self.categories.values())
        n_here = len(self.columns) - len(self.categories) + n_coded
        lengths = {len(part) for part in (self.fill, self.offset, self.scale) if part is not None}
        return self.categories.keys() <= set(self.columns) and {n_here, *lengths} == {n_features}

    def _refuse_lack(self, data: Data) -> None:
        """Refuse data that is not of the kind of the fit's."""
        if isinstance(self.columns[0], int) != isinstance(data.columns[0], int):
            has, had = ("no column names", "names") if data.table is None else ("column names", "none")
            raise ValueError(f"{data.name} has {has}, and the data of the fit had {had}: give data of the same kind.")
        if data.table is not None:
            here = [name for name in self.columns if name in data.columns]
            for column in find_categorical(data.table, here, allowed=True):
                if column not in self.categories:
                    raise ValueError(
                        f"{data.name}: column {column!r} is text, and the data of the fit had numbers: give data of "
                        f"the same kind."
                    )
        lacking = [column for column in self.columns if column not in data.columns]
        if lacking:
            raise ValueError(
                f"{data.name} has no column {lacking[0]!r}, which the model was fitted on: give data that has all "
                f"{len(self.columns):,} features."
            )

    def to_json(self) -> dict[str, Any]:
        """Return what JSON can hold, for :meth:`from_json`."""
        return {"version": FORMAT_VERSION, **asdict(self)}

    @classmethod
    def from_json(cls, content: dict[str, Any], n_features: int | None = None) -> Preparation:
        """Return the preparation that ``to_json`` described; whoever wrote it is not believed.

        With ``n_features``, the number of features of a model, one that does not fit the model is refused.
        """
        content = dict(content)
        if content.pop("version", None) != FORMAT_VERSION:
            raise ValueError("it is of another version: use the release of cohirf that wrote it")
        if content.keys() != set(cls.__dataclass_fields__):
            raise ValueError("it has other keys than a preparation")
        columns = tuple(_check_column(column) for column in _check_list(content["columns"]))
        label, row_id = (content[name] for name in ("label_column", "id_column"))
        categories = {str(name): _read_categories(found) for name, found in dict(content["categories"]).items()}
        fill, offset, scale = (_read_vector(content[name]) for name in ("fill", "offset", "scale"))
        if content["scaling"] not in SCALINGS or not columns:
            raise ValueError("its scaling or its columns are not those of a preparation")
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
            raise ValueError("it does not fit the features of the model")
        return found


@dataclass(frozen=True)
class Prepared:
    """Rows for a model, the data they come from, and how they came to be.

    Attributes
    ----------
    data : Data
        The data.
    preparation : Preparation
        What was done to it.
    source : Source
        The rows, prepared as they are read: what ``CoHiRF.fit`` and ``predict`` take.
    """

    data: Data
    preparation: Preparation
    source: Source

    @property
    def feature_names(self) -> list[str] | None:
        """Names of the features after the coding of text; None where there are none."""
        return self.source.feature_names

    @property
    def n_bytes(self) -> int:
        """The memory that all rows take."""
        return self.source.n_rows * self.source.n_features * self.source.dtype.itemsize

    @property
    def is_small(self) -> bool:
        """Whether all rows are held in memory for a fit."""
        return self.n_bytes <= IN_MEMORY_BYTES

    def rows(self) -> Source | NDArray[Any]:
        """Return all rows as an array where they are few, and the source where they are many."""
        return self.array() if self.is_small else self.source

    def array(self) -> NDArray[Any]:
        """Return all rows as an array."""
        rows: NDArray[Any] = self.source.take(np.arange(self.source.n_rows))
        return rows

    def classes(self) -> Classes | None:
        """Return the class of each row, if a column has it."""
        column = self.preparation.label_column
        return None if column is None else self.data.classes(column)

    def ids(self) -> Iterator[Any] | None:
        """Yield the names of the rows as Arrow arrays, if a column has them."""
        column = self.preparation.id_column
        return None if column is None else self.data.read(column)

    def describe(self) -> str:
        """Return the size of the data in words."""
        return f"{self.data.name}: {self.source.n_rows:,} rows, {self.source.n_features:,} features"


def _kept_apart(data: Data, of_fit: Column | None, wanted: Column | None, given: str) -> Column | None:
    """Return the column that the user names, or the one of the fit if the data has it."""
    if wanted is not None:
        return find_column(data.name, data.columns, wanted, given)
    return of_fit if of_fit in data.columns else None


def _check_list(content: Any) -> list[Any]:
    if not isinstance(content, list | tuple):
        raise TypeError("it has something else where a list should be")
    return list(content)


def _check_column(column: Any) -> Column:
    if isinstance(column, bool) or not isinstance(column, str | int):
        raise TypeError("it names a column by something else than text or a number")
    return column


def _read_categories(content: Any) -> Categories:
    values, missing = tuple(map(str, _check_list(content["values"]))), content["missing"]
    if missing is not None and missing not in values:
        raise ValueError("it fills missing cells with an unknown category")
    return Categories(values, missing)


def _read_vector(content: Any) -> Vector | None:
    if content is None:
        return None
    vector = tuple(float(value) for value in _check_list(content))
    if not np.isfinite(vector).all():
        raise ValueError("it has values that are not finite")
    return vector
