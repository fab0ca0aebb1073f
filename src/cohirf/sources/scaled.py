"""Rows of another source, with missing cells filled and features shifted and scaled as they are read."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.sources.source import Source


class ScaledSource(Source):
    """Rows of ``source``: NaN becomes ``fill``, then ``offset`` is subtracted and the rest divided by ``scale``.

    Each of the three has a value for each feature; one that is None is left out. Nothing is written anywhere.
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
