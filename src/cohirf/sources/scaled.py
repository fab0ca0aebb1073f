"""A source that fills missing cells and scales features while it reads the rows of another source."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.sources.source import Source


class ScaledSource(Source):
    """A source that fills and scales the rows of another source while they are read.

    Parameters
    ----------
    source : Source
        The source of the rows.
    fill : array, shape (n_features,), optional
        Replaces NaN in each feature.
    offset : array, shape (n_features,), optional
        Is subtracted from each feature, after filling.
    scale : array, shape (n_features,), optional
        Each feature is divided by it, after the subtraction.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.sources import ScaledSource, open_source
    >>> source = open_source(np.array([[1.0, np.nan], [3.0, 8.0]]))
    >>> ScaledSource(source, fill=[0, 4], offset=[1, 0], scale=[2, 4]).take([0, 1])
    array([[0., 1.],
           [1., 2.]])
    """

    def __init__(
        self,
        source: Source,
        *,
        fill: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        scale: ArrayLike | None = None,
    ) -> None:
        shape = (source.n_rows, source.n_features)
        super().__init__(source.name, shape, source.dtype, feature_names=source.feature_names)
        self._source = source
        self._fill_values = self._per_feature(fill, "fill")
        self._offset = self._per_feature(offset, "offset")
        self._scale = self._per_feature(scale, "scale")

    def _per_feature(self, values: ArrayLike | None, name: str) -> NDArray[Any] | None:
        if values is None:
            return None
        array = np.asarray(values, self.dtype)
        if array.shape != (self.n_features,):
            raise ValueError(f"{name} has shape {array.shape}: give a value for each of {self.n_features} features.")
        return array

    @property
    def is_streamed(self) -> bool:
        """Whether the source below is decoded in order."""
        return self._source.is_streamed

    @property
    def _nearby(self) -> int:
        return self._source._nearby

    def _refuse_changes(self) -> None:
        self._source._refuse_changes()

    def _content(self) -> Iterator[Any]:
        yield from self._source._content()
        for values in (self._fill_values, self._offset, self._scale):
            yield b"none" if values is None else values

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        self._source._fill(start, out)
        self._change(out)

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        self._source._pick(rows, out)
        self._change(out)

    def _change(self, X: NDArray[Any]) -> None:
        if self._fill_values is not None:
            np.copyto(X, self._fill_values, where=np.isnan(X))
        if self._offset is not None:
            X -= self._offset
        if self._scale is not None:
            X /= self._scale
