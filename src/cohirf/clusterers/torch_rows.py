"""Rows on a device, read in blocks: the rows of the data, or features that are computed from them block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch

# What may be allocated for one block of rows. Large blocks keep a GPU busy.
BLOCK_BYTES = {"cuda": 2**31, "cpu": 2**26}
SHARE_OF_GPU = 1 / 32  # of its memory; less than BLOCK_BYTES on small ones
PIECE = 1024  # rows whose sum is computed in single precision; sums of pieces are added in double precision
ROWS_FOR_VARIANCE = 2**16

Tensor = Any  # torch has no types where it is not installed


def sum_dtype(values: Tensor) -> Any:
    """Return the type in which sums are computed: float64 for data in float64, and float32 for all other types."""
    return torch.float64 if values.dtype == torch.float64 else torch.float32


@dataclass(frozen=True)
class Rows:
    """Rows with their weights.

    Attributes
    ----------
    values : tensor of float, shape (n_rows, n_values)
        The data, in any floating type.
    weights : tensor of float, shape (n_rows,), or None
        Weight of each row, in the type of ``dtype``; None if all are 1.
    embed : function or None
        Computes the features of a block of rows, in the type of ``dtype``; None if the values are the features.
    """

    values: Tensor
    weights: Tensor | None = None
    embed: Callable[[Tensor], Tensor] | None = None

    def __len__(self) -> int:
        return int(self.values.shape[0])

    @property
    def device(self) -> Any:
        """Where the rows are."""
        return self.values.device

    @property
    def dtype(self) -> Any:
        """The type in which sums are computed."""
        return sum_dtype(self.values)

    def features(self, part: slice) -> Tensor:
        """Return the features of consecutive rows; without ``embed`` they have the type of the data."""
        values = self.values[part]
        return values if self.embed is None else self.embed(values.to(self.dtype))

    def weights_of(self, part: slice) -> Tensor | None:
        """Return the weights of consecutive rows."""
        return None if self.weights is None else self.weights[part]

    def take(self, rows: Tensor) -> Rows:
        """Return some of the rows, given by their numbers."""
        return replace(self, values=self.values[rows], weights=None if self.weights is None else self.weights[rows])

    def blocks(self, numbers_per_row: int) -> Iterator[slice]:
        """Yield consecutive blocks of rows that are small enough to allocate ``numbers_per_row`` for each row."""
        budget = BLOCK_BYTES.get(self.device.type, BLOCK_BYTES["cuda"])
        if self.device.type == "cuda":
            budget = min(budget, int(SHARE_OF_GPU * torch.cuda.get_device_properties(self.device).total_memory))
        n_pieces = budget // (numbers_per_row * self.dtype.itemsize * PIECE)
        size = max(1, n_pieces) * PIECE
        for start in range(0, len(self), size):
            yield slice(start, min(start + size, len(self)))


def mean_variance(rows: Rows) -> float:
    """Return the mean variance of the features; of many rows, evenly spaced ones are enough."""
    step = -(-len(rows) // ROWS_FOR_VARIANCE)
    some = rows if step == 1 else rows.take(torch.arange(0, len(rows), step, device=rows.device))
    return float(some.features(slice(None)).double().var(dim=0, correction=0).mean())
