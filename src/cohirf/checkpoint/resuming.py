"""The engine of a fit with a checkpoint: batches come from the journal as far as it goes, the others are computed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cohirf.algorithm.engine import Engine
from cohirf.algorithm.first_level import Run, Survivors
from cohirf.algorithm.levels import BatchTask
from cohirf.checkpoint.errors import CheckpointError, refusing_content
from cohirf.checkpoint.journal import Journal
from cohirf.checkpoint.outcomes import JournalEntry, check_against_task, values_kind


@dataclass(frozen=True)
class ResumableEngine:
    """Takes the outcome of batches from a journal as far as it goes, and has the others computed and written down.

    Attributes
    ----------
    engine : Engine
        Computes the others.
    journal : Journal
        Where the outcomes are read from and written to.
    n_features : int
        How many features the rows of the fit have.
    """

    engine: Engine
    journal: Journal
    n_features: int
    _kinds: set[Any] = field(default_factory=set, repr=False)

    @property
    def is_serial(self) -> bool:
        """Whether there is one task at a time."""
        return self.engine.is_serial

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Give back what became of each batch, in order."""
        tasks = iter(tasks)
        while n_tasks > 0 and (entry := self.journal.read()) is not None:
            self._check(entry, next(tasks)[0])
            n_tasks -= 1
            yield entry.batch
        if n_tasks > 0:
            places: deque[tuple[int, int]] = deque()
            for outcome in self.engine.run(function, _noting_places(tasks, places), n_tasks):
                self._check_kind(outcome)
                self.journal.append(JournalEntry(places.popleft(), outcome))
                yield outcome

    def _check(self, entry: JournalEntry, task: BatchTask | Run) -> None:
        is_of_run = isinstance(entry.batch, Survivors)
        if entry.place != task.place or entry.batch.rows_in != task.rows_in or is_of_run != isinstance(task, Run):
            raise CheckpointError(
                f"{self.journal.path} holds batch {entry.place} with {entry.batch.rows_in} rows where the fit has "
                f"{task.place} with {task.rows_in}: it is of another fit. Give another directory."
            )
        with refusing_content(self.journal.path):
            check_against_task(entry, task, self.n_features)
        self._check_kind(entry.batch)

    def _check_kind(self, batch: Any) -> None:
        """Refuse batches with values that cannot be put together."""
        kind = values_kind(batch)
        if kind is not None:
            self._kinds.add(kind)
        with refusing_content(self.journal.path):
            if len(self._kinds) > 1:
                raise ValueError("its batches have values of several kinds, and those of a fit are all of one kind")


def _noting_places(tasks: Iterable[tuple[Any, ...]], places: deque[tuple[int, int]]) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        places.append(task[0].place)
        yield task
