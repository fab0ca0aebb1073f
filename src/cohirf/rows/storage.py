"""Where rows are read, where results are kept and where tasks run: interfaces, and implementations
in memory.

A ``Population`` is the rows that take part in a fit, to draw samples from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import starmap
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from cohirf.rows.arrays import fetch_rows, is_here, join_rows, namespace, take_rows, to_host
from cohirf.rows.grouping import IntArray, Mass
from cohirf.rows.policy import BLOCK


class Rows(Protocol):
    """Rows that can be read by number."""

    @property
    def n_rows(self) -> int:
        """Number of rows."""

    def take(self, rows: IntArray) -> Any:
        """Return the given rows (sorted, distinct) as an array or CSR matrix."""


def take_in_order(rows: Rows, numbers: IntArray) -> Any:
    """Return the given rows (distinct, in any order) in their order."""
    order = np.argsort(numbers)
    return take_rows(rows.take(numbers[order]), np.argsort(order))


def is_in_memory(rows: Rows) -> bool:
    """Return whether rows are in the memory of this process, so that pickling them would pickle all
    values.
    """
    return bool(getattr(rows, "in_memory", False))


def is_streamed(rows: Rows) -> bool:
    """Return whether rows are decoded in order, so that several threads that read them would hinder
    each other.
    """
    return bool(getattr(rows, "is_streamed", False))


def read_into(rows: Rows, numbers: slice | IntArray, out: NDArray[Any]) -> None:
    """Write the given rows into ``out``.

    Consecutive rows and rows of arrays need no temporary copy.
    """
    if type(rows) is ArrayRows:  # a subclass may read rows in another way
        if isinstance(numbers, slice):
            out[...] = rows.X[numbers]
        else:
            np.take(rows.X, numbers, axis=0, out=out, mode="clip")
    elif isinstance(numbers, slice) and hasattr(rows, "fill"):
        rows.fill(numbers.start, out)
    else:
        out[...] = rows.take(
            np.arange(numbers.start, numbers.stop) if isinstance(numbers, slice) else numbers
        )


@dataclass(frozen=True)
class ArrayRows:
    """Rows of an array, on any device, or of a CSR matrix."""

    X: Any

    in_memory: ClassVar[bool] = True

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return int(self.X.shape[0])

    @property
    def n_bytes(self) -> int:
        """Size of the values in memory."""
        return int(self.X.data.nbytes)

    def take(self, rows: IntArray) -> Any:
        """Return the given rows, in any order.

        If all rows are asked for in order, the data itself, not a copy.
        """
        if len(rows) == self.n_rows and bool((rows[1:] > rows[:-1]).all()):
            return self.X
        if sparse.issparse(self.X) or not is_here(self.X):
            return take_rows(self.X, rows)
        # rows are in range; no check is twice as fast
        return np.asarray(self.X).take(rows, axis=0, mode="clip")


@dataclass(frozen=True)
class NumberedRows:
    """Rows that keep the numbers (sorted, distinct) that they have among other rows."""

    X: Any
    numbers: IntArray

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.numbers)

    def take(self, rows: IntArray) -> Any:
        """Return the rows with the given numbers."""
        return ArrayRows(self.X).take(np.searchsorted(self.numbers, rows))


@dataclass(frozen=True)
class RunValues:
    """The rows of one run, in its order, perhaps on a device.

    They are not read by number, but by offset.
    """

    X: Any


@dataclass(frozen=True)
class SomeRows:
    """A subset of rows, or all in another order, numbered by their position in it.

    They are read when needed.
    """

    values: Rows
    rows: IntArray

    @property
    def in_memory(self) -> bool:
        """Whether the rows are in the memory of this process."""
        return is_in_memory(self.values)

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.rows)

    def take(self, rows: IntArray) -> Any:
        """Return the rows at the given positions (sorted, distinct) in this subset."""
        return self.values.take(self.rows[rows])


@dataclass(frozen=True)
class StackedRows:
    """One set of rows followed by another; of these, ``n_rows`` rows from number ``start`` on."""

    first: Rows
    second: Rows
    n_rows: int
    start: int = 0

    @property
    def in_memory(self) -> bool:
        """Whether some of the rows are in the memory of this process."""
        return is_in_memory(self.first) or is_in_memory(self.second)

    @property
    def is_streamed(self) -> bool:
        """Whether some of the rows are decoded in order."""
        return is_streamed(self.first) or is_streamed(self.second)

    def take(self, rows: IntArray) -> Any:
        """Return the rows with the given numbers (sorted, distinct)."""
        rows = rows + self.start
        n_first = self.first.n_rows
        cut = int(np.searchsorted(rows, n_first))
        if cut == len(rows):
            return self.first.take(rows)
        if cut == 0:
            return self.second.take(rows - n_first)
        blocks = [self.first.take(rows[:cut]), self.second.take(rows[cut:] - n_first)]
        return join_rows(blocks)


@dataclass
class Gatherer:
    """Collects blocks of rows one after the other, here in memory, and returns all of them as one
    set of rows.
    """

    blocks: list[Any] = field(default_factory=list)

    def add(self, values: Any) -> None:
        """Append a block of rows."""
        self.blocks.append(values)

    def rows(self) -> ArrayRows | None:
        """Return the rows of all blocks; None if there are none."""
        if not self.blocks:
            return None
        return ArrayRows(self.blocks[0] if len(self.blocks) == 1 else join_rows(self.blocks))


@dataclass(frozen=True)
class Storage:
    """Stores arrays that grow with the data: here in memory, in a subclass elsewhere."""

    # whether other processes of this machine can write to the vectors. If not, results of tasks
    # that run at the same time are sent back, also those of threads, which could write
    is_shared: ClassVar[bool] = False

    def vector(self, n_rows: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised vector with one entry for each row."""
        return np.empty(n_rows, dtype=dtype)

    def matrix(self, n_rows: int, n_columns: int, dtype: Any) -> NDArray[Any]:
        """Return an uninitialised matrix."""
        return np.empty((n_rows, n_columns), dtype=dtype)

    def gather(self) -> Gatherer:
        """Return an object that collects the rows that later levels read."""
        return Gatherer()

    def release(self) -> None:
        """Release memory that caches parts of the vectors, if they are stored on disk."""


class Engine(Protocol):
    """Runs tasks, one after the other or at the same time, here or elsewhere.

    A fit limits BLAS and OpenMP to one thread before it uses an engine. What an engine promises is
    tested for all of them by ``tests/engines/test_contract.py``.
    """

    @property
    def is_serial(self) -> bool:
        """Whether a task starts only after the result of the previous task was consumed.

        An engine with one worker that runs ahead is not serial.
        """

    @property
    def writes_here(self) -> bool:
        """Whether tasks can write into arrays of this process.

        If not, all that they find is in their results.
        """

    def share(self, rows: Any) -> Any:
        """Return ``rows`` such that tasks, wherever they run, can read them without a copy for each
        task.

        An engine that cannot do so, or whose tasks run in this process, returns them unchanged.
        """
        return rows

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int
    ) -> Iterator[Any]:
        """Call ``function`` with each of ``n_tasks`` tuples of arguments, and yield the results in
        order.

        Results can be consumed while others are still being computed. A single task runs in the
        calling thread, so that tasks that it starts itself can run in parallel.

        Tasks are made in this process, as they are needed: a bounded number is ahead of the
        results that were consumed; with joblib, of the tasks that have ended. (An engine whose
        tasks go to where their rows are makes all of them at once, and sends a single one, too.)
        Each runs with the
        scikit-learn configuration of the caller and one thread of BLAS and OpenMP: an engine with
        other threads or processes calls ``call_on_one_thread`` of ``cohirf.engines.tasks`` there.

        When a task fails, or the consumer closes the generator, tasks that have not begun are left
        out. Those that run in this process are waited for, because they write into vectors: at the
        latest when the threads of the fit end. The error comes through, perhaps before results of
        earlier tasks, and no frame keeps it, because its traceback refers to frames that hold rows.
        Threads of joblib are the exception: they are not waited for, and keep the error.
        """


@dataclass(frozen=True)
class SerialEngine(Engine):
    """Runs one task after the other, each when its result is requested."""

    is_serial: ClassVar[bool] = True
    writes_here: ClassVar[bool] = True

    def run(
        self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int
    ) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, and yield the results in order."""
        return starmap(function, tasks)


@dataclass(frozen=True)
class EngineAround(Engine):
    """Runs tasks on another engine; subclasses do something with the tasks and the results."""

    engine: Engine

    @property
    def is_serial(self) -> bool:
        """Whether only one task runs at a time."""
        return self.engine.is_serial

    @property
    def writes_here(self) -> bool:
        """Whether tasks can write into arrays of this process."""
        return self.engine.writes_here

    def share(self, rows: Any) -> Any:
        """Return rows that the tasks of the engine can read."""
        return self.engine.share(rows)


class Weights(Protocol):
    """Sample weights, wherever they are."""

    @property
    def positive(self) -> IntArray | None:
        """Sorted numbers of the rows with a positive weight; None if these are all rows."""

    def take(self, rows: IntArray) -> Mass:
        """Return the weights of the given rows (sorted, distinct)."""


@dataclass(frozen=True)
class Population:
    """The rows of the data that take part in a fit, with their weights."""

    values: Rows  # the data
    weights: Weights | None = (
        None  # weight of each row of the data; rows of weight 0 do not take part
    )

    @property
    def taking_part(self) -> IntArray | None:
        """Sorted numbers of the rows that take part; None if these are all rows."""
        return None if self.weights is None else self.weights.positive

    @property
    def n_rows(self) -> int:
        """Number of rows that take part."""
        if self.taking_part is None:
            return self.values.n_rows
        return len(self.taking_part)

    def draw(self, n_rows: int, rng: np.random.Generator) -> IntArray:
        """Return the numbers of ``n_rows`` distinct rows in random order.

        All rows if there are fewer.
        """
        drawn = rng.choice(self.n_rows, min(self.n_rows, n_rows), replace=False)
        return drawn if self.taking_part is None else self.taking_part[drawn]

    def draw_by_weight(
        self, n_rows: int, rng: np.random.Generator
    ) -> tuple[IntArray, NDArray[np.float64]]:
        """Return the numbers of about ``n_rows`` rows, sorted, drawn in proportion to their
        weights, and their masses.

        Equal weights give the same rows as none, with masses of 1.
        """
        if self.weights is not None:
            # which leaves the generator as it is
            some = np.sort(self.draw(BLOCK.weighed_rows, rng.spawn(1)[0]))
            weights = self.weights.take(some)
            if weights.min() < weights.max():
                drawn, mass = draw_by_mass(weights, n_rows, rng)
                return some[drawn], mass
        rows = np.sort(self.draw(n_rows, rng))
        return rows, np.ones(len(rows))


@dataclass(frozen=True)
class ArrayWeights:
    """Sample weights in memory or on a device, from where they are copied if they are asked for."""

    values: Any

    @cached_property
    def positive(self) -> IntArray | None:
        """Sorted numbers of the rows with a positive weight; None if these are all rows."""
        xp = namespace(self.values)
        if bool(xp.all(self.values > 0)):
            return None
        return np.asarray(to_host(xp.nonzero(self.values)[0]))

    @property
    def in_process(self) -> Mass | None:
        """The weights of all rows, unless they would have to be copied from a device."""
        return self.values if is_here(self.values) else None

    def take(self, rows: IntArray) -> Mass:
        """Return the weights of the given rows."""
        weights: Mass = fetch_rows(self.values, rows)
        return weights

    def describe(self) -> Mass:
        """Return all weights."""
        weights: Mass = to_host(self.values)
        return weights


def draw_by_mass(
    mass: Mass, n_rows: int, rng: np.random.Generator
) -> tuple[IntArray, NDArray[np.float64]]:
    """Draw about ``n_rows`` rows, each with a chance in proportion to its mass.

    Return their positions, and new masses.

    Rows of next to no mass are rarely drawn, even if there are few rows: no more are drawn than
    there would be with the same sum of masses, and the same sum of squares, if all had the same
    mass (Kish's effective size). A row with a chance of one third stands for three such rows, and
    has three times its mass. Masses are relative to the largest.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.rows.storage import draw_by_mass
    >>> mass = np.r_[np.full(40, 5.0), np.full(1000, 1e-9)]
    >>> some, of_some = draw_by_mass(mass, 500, np.random.default_rng(0))
    >>> some.max(), len(some), of_some.min()
    (np.int64(39), 40, np.float64(1.0))
    """
    mass = mass / mass.max()
    effective = float(mass.sum() ** 2 / (mass**2).sum())
    chance = _chances(mass, min(n_rows, max(effective, BLOCK.fewest_by_weight)))
    some = np.flatnonzero(rng.random(len(mass)) < chance)
    return some, mass[some] / chance[some]


def _chances(mass: Mass, n_drawn: float) -> NDArray[np.float64]:
    """Return chances in proportion to masses, at most 1, whose sum is ``n_drawn``, or 1 for each of
    fewer rows.
    """
    if n_drawn >= len(mass):
        return np.ones(len(mass))
    heaviest_first = np.sort(mass)[::-1]
    # for each number of heaviest rows that are drawn for sure
    factors = (n_drawn - np.arange(len(mass))) / np.cumsum(heaviest_first[::-1])[::-1]
    first = int(np.argmax(factors * heaviest_first <= 1))
    return np.asarray(np.minimum(factors[first] * mass, 1))
