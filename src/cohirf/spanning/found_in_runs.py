"""What density methods find in the batches of a run, before it is joined with what they find in
others.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.runs import RunTask
from cohirf.rows import ranges
from cohirf.rows.arrays import as_array
from cohirf.rows.grouping import IntArray
from cohirf.rows.metric_spaces import MetricSpace
from cohirf.rows.storage import Rows


@dataclass(frozen=True)
class SpanTask(RunTask):
    """A run whose spanning trees are computed."""

    n_bytes: int = (
        0  # of rows with which other methods take as long; engines decide by it where tasks run
    )


class FoundInRun:
    """What was found in the batches of a run.

    ``batch_sizes`` has the number of rows of each, without its halo.
    """

    batch_sizes: NDArray[np.int64]

    def __sizeof__(self) -> int:
        """Return its bytes, by which Dask decides what stays in memory."""
        return object.__sizeof__(self) + sum(sys.getsizeof(value) for value in vars(self).values())

    @property
    def rows_in(self) -> int:
        """Number of rows of the batches, without halos."""
        return int(self.batch_sizes.sum())

    @property
    def rows_out(self) -> int:
        """The same number: no row is contracted yet."""
        return self.rows_in

    @property
    def n_batches(self) -> int:
        """Number of batches."""
        return len(self.batch_sizes)


@dataclass(frozen=True)
class Lists:
    """The nearest rows of some rows, nearest first."""

    rows: Annotated[NDArray[Any], ranges.numbers(ranges.ANY, below="n_rows")]
    # a line for each row; shorter lists end with the row itself
    neighbours: Annotated[NDArray[Any], ranges.numbers("rows", ranges.ANY, below="n_rows")]
    # squared distances; infinite at the end of shorter lists
    distances2: Annotated[NDArray[np.float64], ranges.distances("rows", ranges.ANY)]

    def __sizeof__(self) -> int:
        """Return its bytes."""
        return object.__sizeof__(self) + sum(
            sys.getsizeof(getattr(self, field.name)) for field in fields(self)
        )

    @classmethod
    def join(cls, parts: Sequence[Lists]) -> Lists:
        """Return the lists of all parts."""
        return cls(
            *(
                np.concatenate([getattr(part, field.name) for part in parts])
                for field in fields(cls)
            )
        )

    def among(self, numbers: NDArray[Any], n_first: int) -> Lists:
        """Return the lists of the first rows, with other numbers of rows."""
        return Lists(
            numbers[:n_first],
            numbers[self.neighbours[:n_first]].astype(np.int32),
            self.distances2[:n_first],
        )


@dataclass(frozen=True)
class SpannedRun(FoundInRun):
    """The spanning trees of the batches of a run.

    A row that is in several batches is there several times.
    """

    # number of each row of the batches, halos included
    rows: Annotated[NDArray[Any], ranges.numbers(ranges.ANY, below="n_rows")]
    # core distance of each of these rows in its batch
    core: Annotated[NDArray[np.float64], ranges.distances("rows")]
    # the two rows of each edge
    one: Annotated[NDArray[Any], ranges.numbers(ranges.ANY, below="n_rows")]
    two: Annotated[NDArray[Any], ranges.numbers("one", below="n_rows")]
    lengths: Annotated[NDArray[np.float64], ranges.distances("one")]  # distance of these two rows
    batch_sizes: Annotated[NDArray[np.int64], ranges.counts(ranges.ANY)]
    lists: Lists | None = (
        None  # the nearest rows of its rows, without halos, if batches may miss neighbours
    )


def read_points(values: Rows, rows: IntArray, space: MetricSpace) -> NDArray[Any]:
    """Return rows as points of a space, in a dense array."""
    X = space.points(values.take(rows), rows)
    return np.asarray(as_array(X))
