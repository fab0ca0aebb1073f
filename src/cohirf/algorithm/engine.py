"""The interface that the algorithm uses to run tasks, and a serial implementation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol


class Engine(Protocol):
    """Runs tasks, one after the other or at the same time, here or elsewhere."""

    @property
    def is_serial(self) -> bool:
        """Whether a task starts only after the result of the previous task was consumed."""

    @property
    def writes_here(self) -> bool:
        """Whether tasks can write into arrays of this process. If not, all that they find is in their results."""

    def share(self, rows: Any) -> Any:
        """Return ``rows`` such that tasks, wherever they run, can read them without a copy for each task.

        An engine that cannot do so, or whose tasks run in this process, returns them unchanged.
        """
        return rows

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each of ``n_tasks`` tuples of arguments, and yield the results in order.

        Tasks are created when they are needed, and results can be consumed while others are still being computed. A
        single task runs in the calling thread, so that tasks that it starts itself can run in parallel.
        """


@dataclass(frozen=True)
class SerialEngine(Engine):
    """Runs one task after the other, each when its result is requested."""

    is_serial: ClassVar[bool] = True
    writes_here: ClassVar[bool] = True

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, and yield the results in order."""
        return (function(*task) for task in tasks)
