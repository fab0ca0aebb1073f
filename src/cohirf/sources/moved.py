"""A source in which some rows have other values than in the source below."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.rows.grouping import IntArray
from cohirf.sources.source import Source, SourceAround


class MovedSource(SourceAround):
    """A source whose rows are those of another source, but for some that have been moved.

    Parameters
    ----------
    source : Source
        The source of the rows.
    rows : array of int
        Numbers of the rows that have moved. Sorted.
    places : array of int
        The place of each, a row of ``values``.
    values : array, shape (n_places, n_features)
        The values of rows that have moved.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.sources import open_source
    >>> source = open_source(np.array([[1.0], [3.0], [8.0]]))
    >>> moved = MovedSource(source, np.array([0, 1]), np.array([0, 0]), np.array([[2.0]]))
    >>> moved.take([0, 1, 2]).ravel()
    array([2., 2., 8.])
    """

    def __init__(self, source: Source, rows: IntArray, places: IntArray, values: Any) -> None:
        super().__init__(source)
        self._rows = rows
        self._places = places
        self._values = np.asarray(values, self.dtype)

    def _content(self) -> Iterator[Any]:
        yield from super()._content()
        yield from (self._rows, self._places, self._values)

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        self.source._fill(start, out)
        here = slice(*np.searchsorted(self._rows, [start, start + len(out)]))
        out[self._rows[here] - start] = self._values[self._places[here]]

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        self.source._pick(rows, out)
        _, position, moved = np.intersect1d(
            rows, self._rows, assume_unique=True, return_indices=True
        )
        out[position] = self._values[self._places[moved]]
