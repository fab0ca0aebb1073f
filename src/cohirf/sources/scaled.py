"""A source that fills missing cells and scales features or rows while it reads, and rows of length
1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils.extmath import row_norms

from cohirf.rows.arrays import is_on_device, namespace, to_host
from cohirf.rows.grouping import IntArray, row_blocks
from cohirf.sources.policy import READ
from cohirf.sources.source import Source, SourceAround, rows_within


class ScaledSource(SourceAround):
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
    unit : bool, default=False
        Whether each row is divided by its length at last, as ``CoHiRF(metric="cosine")`` does.

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
        unit: bool = False,
    ) -> None:
        super().__init__(source)
        self._fill_values = self._per_feature(fill, "fill")
        self._offset = self._per_feature(offset, "offset")
        self._scale = self._per_feature(scale, "scale")
        self._unit = unit

    def _per_feature(self, values: ArrayLike | None, name: str) -> NDArray[Any] | None:
        if values is None:
            return None
        array = np.asarray(values, self.dtype)
        if array.shape != (self.n_features,):
            raise ValueError(
                f"{name} has shape {array.shape}: give a value for each of {self.n_features} "
                "features."
            )
        return array

    def _content(self) -> Iterator[Any]:
        yield from super()._content()
        for values in (self._fill_values, self._offset, self._scale):
            yield b"none" if values is None else values
        if self._unit:
            yield b"unit"

    def _fill(self, start: int, out: NDArray[Any]) -> None:
        for block in row_blocks(len(out), rows_within(READ.changed_bytes, out.strides[0])):
            self.source._fill(start + block.start, out[block])
            self._change(out[block], range(start + block.start, start + block.stop))

    def _pick(self, rows: IntArray, out: NDArray[Any]) -> None:
        self.source._pick(rows, out)
        self._change(out, rows)

    def find_filled(self, rows: IntArray) -> NDArray[np.bool_]:
        """Return which cells of some rows, whose numbers are sorted, are missing below."""
        with self._unchanged():
            return np.asarray(np.isnan(self.source._gather(self._check_rows(rows))))

    def _change(self, X: NDArray[Any], rows: IntArray | range) -> None:
        if self._fill_values is not None:
            np.copyto(X, self._fill_values, where=np.isnan(X))
        if self._offset is not None:
            X -= self._offset
        if self._scale is not None:
            X /= self._scale
        if self._unit:
            X /= _lengths(X, self.name, rows)[:, None]


def unit_rows(X: Any, name: str = "X") -> Any:
    """Return rows with length 1: the same array if they have it already, otherwise a copy.

    For any library and CSR.

    A row of zeros has no direction: it is refused by its number.
    """
    if is_on_device(X):
        return _unit_rows_there(X, name)
    lengths = _lengths(X, name, range(X.shape[0]))
    if np.abs(lengths - 1).max(initial=0) <= READ.unit_rounding * np.finfo(X.dtype).eps:
        return X
    if sparse.issparse(X):
        return sparse.csr_array(X.multiply((1 / lengths)[:, None]), dtype=X.dtype)
    return X / lengths[:, None]


def _lengths(X: Any, name: str, rows: Any) -> NDArray[Any]:
    lengths: NDArray[Any] = row_norms(X)
    if not lengths.all():
        _refuse_zeros(name, int(rows[int(np.argmin(lengths))]))
    return lengths


def _unit_rows_there(X: Any, name: str) -> Any:
    """Return rows with length 1 on a device, where half precision keeps its type, and blocks its
    memory.
    """
    xp = namespace(X)
    out = X
    tolerance = float(xp.finfo(X.dtype).eps) * (
        READ.unit_rounding if X.dtype in (xp.float32, xp.float64) else 1
    )
    for block in row_blocks(int(X.shape[0])):
        wide = xp.astype(X[block, :], xp.float64 if X.dtype == xp.float64 else xp.float32)
        lengths = xp.sqrt(xp.sum(wide * wide, axis=1, keepdims=True))
        shortest = float(to_host(xp.min(lengths)))
        deviation = float(to_host(xp.max(xp.abs(lengths - 1))))
        if shortest == 0:
            _refuse_zeros(name, block.start + int(to_host(xp.argmin(lengths))))
        if deviation > tolerance:
            out = xp.asarray(X, copy=True) if out is X else out
            out[block, :] = xp.astype(wide / lengths, X.dtype)
    return out


def _refuse_zeros(name: str, row: int) -> None:
    raise ValueError(
        f'{name}: row {row:,} is all zeros, without a direction, and metric="cosine" compares '
        "directions: leave the row out."
    )
