"""Prepare tables for a fit: decide what each column is, make features of it, fill missing cells and
scale features.

:func:`prepare` learns a :class:`Preparation` from the training data; :meth:`Preparation.apply`
applies it to other data. The same code prepares data frames and files of any size.

From features back to the original data:

- ``preparation.columns`` are all columns of the training data, with ``name``, ``kind`` ("number",
  "boolean", "category", "date", "vector" or "left out"), ``reason``, ``n_missing`` and
  ``features``. A :class:`Category` has ``levels``, a :class:`Number` has a ``unit``, a
  :class:`Vector` has a ``width``, a :class:`LeftOut` has a ``role`` ("id", "text", "constant",
  "empty", "dropped" or "label").
- ``preparation.features`` are the features of the prepared rows: each :class:`Feature` has a
  ``name``, the ``column`` that it comes from, its ``kind`` and ``unit``, the ``level`` of a
  category or the ``cycle`` of a date.
- ``preparation.to_original_units(X)`` undoes the scaling of rows or of means of rows;
  ``feature.show(value)`` returns such a value as text: "€1,204", "2019-01-01", "25%".
- ``prepared.original(rows)`` returns the cells of some rows as they stand in the data, also those
  of ids and text.
- ``preparation.describe()``, or printing the preparation, says what was done with each column, and
  why.
"""

from cohirf.app.preparation.data import Classes, Data
from cohirf.app.preparation.evidence import DataError
from cohirf.app.preparation.kinds import (
    Boolean,
    Category,
    Column,
    Date,
    Feature,
    LeftOut,
    Number,
    Vector,
)
from cohirf.app.preparation.learn import prepare
from cohirf.app.preparation.preparation import ColumnNote, Preparation, Prepared

__all__ = [
    "Boolean",
    "Category",
    "Classes",
    "Column",
    "ColumnNote",
    "Data",
    "DataError",
    "Date",
    "Feature",
    "LeftOut",
    "Number",
    "Preparation",
    "Prepared",
    "Vector",
    "prepare",
]
