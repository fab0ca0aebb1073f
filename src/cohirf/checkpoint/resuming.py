"""The engine of a fit with a checkpoint: it reads runs from the journal, and computes and records the others."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from cohirf.algorithm.batches import Run
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.runs import ContractedRun, RunTask
from cohirf.checkpoint.errors import CheckpointError, refusing_content
from cohirf.checkpoint.journal import Journal
from cohirf.checkpoint.outcomes import JournalEntry, check_against_task, check_trees, values_kind
from cohirf.spanning.spanning_labels import SpannedRun


@dataclass(frozen=True)
class ResumableEngine:
    """Takes results of runs from a journal while it has any; computes and records the others.

    Attributes
    ----------
    engine : Engine
        Computes the runs that are not in the journal.
    journal : Journal
        Holds the results of the runs.
    n_features : int
        Number of features of the data.
    """

    engine: Engine
    journal: Journal
    n_features: int
    _kinds: set[Any] = field(default_factory=set, repr=False)

    @property
    def is_serial(self) -> bool:
        """Whether tasks run one at a time."""
        return self.engine.is_serial

    @property
    def writes_here(self) -> bool:
        """False: the journal needs all that a task finds."""
        return False

    def share(self, rows: Any) -> Any:
        """Return rows that the tasks of the engine can read."""
        return self.engine.share(rows)

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Yield the result of each run, in order."""
        tasks = iter(tasks)
        while n_tasks > 0 and (entry := self.journal.read()) is not None:
            task, what, *_ = next(tasks)
            self._check(entry, task, what)
            n_tasks -= 1
            yield entry.outcome
        if n_tasks > 0:
            places: deque[tuple[int, int]] = deque()
            for outcome in self.engine.run(function, _noting_places(tasks, places), n_tasks):
                self._check_kind(outcome)
                self.journal.append(JournalEntry(places.popleft(), outcome))
                yield outcome

    def _check(self, entry: JournalEntry, task: RunTask, what: Contraction | Run) -> None:
        if entry.place != task.place or entry.outcome.rows_in != task.rows_in:
            raise CheckpointError(
                f"{self.journal.path} holds batch {entry.place} with {entry.outcome.rows_in} rows where the fit has "
                f"{task.place} with {task.rows_in}: the checkpoint belongs to another fit. Give another directory."
            )
        with refusing_content(self.journal.path):
            if isinstance(what, Run):
                check_trees(entry, what)
            else:
                check_against_task(entry, task, what, self.n_features)
        self._check_kind(entry.outcome)

    def _check_kind(self, outcome: ContractedRun | SpannedRun) -> None:
        """Refuse runs whose values cannot be concatenated."""
        kind = values_kind(outcome)
        if kind is not None:
            self._kinds.add(kind)
        with refusing_content(self.journal.path):
            if len(self._kinds) > 1:
                raise ValueError(
                    "its batches have values of different types, but all batches of a fit have the same type"
                )


def _noting_places(tasks: Iterable[tuple[Any, ...]], places: deque[tuple[int, int]]) -> Iterator[tuple[Any, ...]]:
    for task in tasks:
        places.append(task[0].place)
        yield task
