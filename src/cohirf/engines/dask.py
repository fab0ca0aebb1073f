"""Tasks on Dask: those of the first level where their data is, those of later levels with their rows in their bags.

With a ``distributed.Client`` they run on the workers of its cluster. Without one, Dask runs them here, in threads.
This is the one file that imports Dask.
"""

from __future__ import annotations

import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from sklearn import config_context, get_config

from cohirf.algorithm.engine import SerialEngine
from cohirf.engines.local import one_thread
from cohirf.optional import import_optional

RETRIES = 2  # of a task that fails although its worker lives, such as one that could not read its file
CALLS_A_THREAD = 8  # into which the batches of a later level are bundled, so that no worker waits long for another

Function = Callable[..., Any]
Tasks = Iterable[tuple[Any, ...]]


def dask() -> Any:
    """Return Dask."""
    return import_optional("dask", "dask")


def dask_array() -> Any:
    """Return Dask's module of arrays."""
    return import_optional("dask.array", "dask")


def find_client() -> Any | None:
    """Return the client that Dask would compute with now, or None if that is no cluster."""
    scheduler = getattr(dask().base.get_scheduler(), "__self__", None)
    return scheduler if hasattr(scheduler, "scheduler_info") else None


def name_keys(deed: str) -> Callable[[int], str]:
    """Return the function from the number of a task to its key; Dask's dashboard shows the deed."""
    token = uuid.uuid4().hex
    return lambda number: f"cohirf_{deed}-{token}-{number}"


def lazily(function: Function) -> Any:
    """Return a function that gives back a promise of what ``function`` would."""
    return dask().delayed(partial(_call_on_one_thread, function, get_config()), pure=False, traverse=False)


@dataclass(frozen=True)
class WhereDataIs:
    """Runs tasks where their data is, and leaves there what they return.

    A task is a tuple of a description and the promise of its outcome. ``function`` is called with the outcome, there
    too, and what it returns comes here.

    Attributes
    ----------
    kept : dict
        The outcomes, by the place of their task.
    """

    kept: dict[tuple[int, int], Any] = field(default_factory=dict)
    is_serial: bool = False

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with what became of each task, and give the results back in order, as they are ready."""
        described, promises = zip(*tasks, strict=True)
        key = name_keys("summarize")
        client = find_client()
        with naming_faults():
            outcomes = _persist(client, list(promises))
            self.kept.update((task.place, outcome) for task, outcome in zip(described, outcomes, strict=True))
            results = [
                dask().delayed(function)(outcome, dask_key_name=key(number)) for number, outcome in enumerate(outcomes)
            ]
            if client is None:
                yield from dask().compute(*results)
                return
            waiting = deque(client.compute(results, retries=RETRIES, optimize_graph=False))
            while waiting:
                yield waiting.popleft().result()


@dataclass(frozen=True)
class DaskEngine:
    """Sends tasks to the workers of a cluster, with all they need."""

    client: Any
    is_serial: bool = False

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments and give the results back in order, as they are ready."""
        if n_tasks == 1:
            return SerialEngine().run(function, tasks, n_tasks)
        return self._in_order(function, iter(tasks), n_tasks)

    def _in_order(self, function: Function, tasks: Iterator[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        key, waiting = name_keys(function.__name__), deque[Any]()
        call = partial(_call_all, function, get_config())
        with naming_faults():
            n_threads = max(1, sum(self.client.nthreads().values()))
            per_call = max(1, n_tasks // (CALLS_A_THREAD * n_threads))
            for number in range(n_tasks):
                bundle = list(islice(tasks, per_call))
                if not bundle:
                    break
                waiting.append(self.client.submit(call, bundle, key=key(number), pure=False, retries=RETRIES))
                if len(waiting) > 2 * n_threads:  # no more than this is sent before it is needed
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()


@contextmanager
def naming_faults() -> Iterator[None]:
    """Let what Dask raises say what happened to the fit, and what to do."""
    yield


def _persist(client: Any | None, promises: list[Any]) -> Any:
    """Have promises kept, and what they promise left where it is."""
    if client is None:
        return dask().persist(*promises, optimize_graph=False)
    return client.persist(promises, retries=RETRIES, optimize_graph=False)


def _call_on_one_thread(function: Function, config: dict[str, Any], *arguments: Any) -> Any:
    with config_context(**config), one_thread():
        return function(*arguments)


def _call_all(function: Function, config: dict[str, Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
    return [_call_on_one_thread(function, config, *task) for task in tasks]
