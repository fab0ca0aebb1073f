"""What the algorithm asks of the place where its tasks run, and the simplest such place."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol


class Engine(Protocol):
    """Runs tasks, one after the other or at the same time."""

    @property
    def is_serial(self) -> bool:
        """Whether a task starts only after the result of the one before was asked for."""

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each of ``n_tasks`` tuples of arguments and give the results back in order.

        Tasks are made as they are needed, and results can be taken while others are still computed. A single task
        runs where it is asked for, so that what it starts itself can run in parallel.
        """


@dataclass(frozen=True)
class SerialEngine:
    """Runs one task after the other, each when its result is asked for."""

    is_serial: bool = True

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments and give the results back in order."""
        return (function(*task) for task in tasks)
