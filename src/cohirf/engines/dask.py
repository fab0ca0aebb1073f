"""Tasks on Dask: those of the first level where their data is, those of later levels with their rows in their bags.

With a ``distributed.Client`` they run on the workers of its cluster. Without one, Dask runs them here, in threads.
This is the one file that imports Dask.
"""

from __future__ import annotations

import os
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
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

MAX_BUNDLE = "1TB"  # Dask would advise to scatter rows of some megabytes, but what is scattered is lost with its worker
BEFORE_SPILLING = 0.6  # of the memory of a worker, as Dask is configured unless that was changed
OWN_VERSION = "__import__('cohirf').__version__"
GONE = (
    "The Dask cluster is gone, or has lost data that cannot be computed again: connect to a cluster and repeat the "
    "fit. With checkpoint= it goes on where it stood"
)
FAULTS = {
    "KilledWorker": (
        "Several workers died of the same batches, perhaps for lack of memory: lower batch_size, or give X smaller "
        "chunks. The logs of the workers tell more"
    ),
    "NoValidWorkerError": GONE,
    "CancelledError": GONE,
    "CommClosedError": GONE,
    "ValueError": GONE,
}

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
        client = find_client()
        key = name_keys("summarize")
        if client is not None:
            refuse_other_packages(client)
        with naming_faults():
            outcomes = _persist(client, list(promises))
            self.kept.update((task.place, outcome) for task, outcome in zip(described, outcomes, strict=True))
            summarize = dask().delayed(function, pure=False)
            results = [summarize(outcome, dask_key_name=key(number)) for number, outcome in enumerate(outcomes)]
            yield from dask().compute(*results) if client is None else self._take(client, results)

    def _take(self, client: Any, results: list[Any]) -> Iterator[Any]:
        """Yield results as they arrive; if one is an error, or nobody wants the rest, stop all that is under way."""
        waiting = deque(client.compute(results, retries=RETRIES, optimize_graph=False))
        try:
            while waiting:
                yield waiting.popleft().result()
        except BaseException:
            with suppress(Exception):  # of a cluster that is gone
                client.cancel([*waiting, *self.kept.values()])
            raise


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
            bundles = iter(lambda: list(islice(tasks, per_call)), [])
            for number, bundle in enumerate(bundles):
                with dask().config.set({"distributed.admin.large-graph-warning-threshold": MAX_BUNDLE}):
                    waiting.append(self.client.submit(call, bundle, key=key(number), pure=False, retries=RETRIES))
                if len(waiting) > 2 * n_threads:  # no more rows than that are on their way
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()


@dataclass(frozen=True)
class Worker:
    """A process that runs tasks: how many at the same time, and how much memory they may take."""

    n_threads: int
    memory_limit: int

    @property
    def usable_bytes(self) -> int:
        """The memory below which Dask neither writes to disk nor pauses."""
        return int(BEFORE_SPILLING * self.memory_limit)


def find_smallest_worker() -> Worker | None:
    """Return the worker with the least memory, or None where there is no cluster, or no limit."""
    client = find_client()
    workers = [] if client is None else client.scheduler_info()["workers"].values()
    limited = [Worker(worker["nthreads"], worker["memory_limit"]) for worker in workers if worker["memory_limit"]]
    return min(limited, key=lambda worker: worker.memory_limit, default=None)


def refuse_other_packages(client: Any) -> None:
    """Raise if a process of the cluster lacks this package, or has another version of it.

    A worker that cannot import what it is sent would die of it, start again, and die again.
    """
    with naming_faults():
        # a builtin, which all of them have
        found: dict[str, Any] = client.run(eval, OWN_VERSION, on_error="return")
        try:
            found["the scheduler"] = client.run_on_scheduler(eval, OWN_VERSION)
        except ImportError as error:
            found["the scheduler"] = error
    own = eval(OWN_VERSION)
    for process, version in found.items():
        if version != own and isinstance(version, str | ImportError):  # else it died meanwhile, and another takes over
            what = f"has version {version} of cohirf" if isinstance(version, str) else f"lacks a package ({version})"
            raise ModuleNotFoundError(
                f"Of the Dask cluster, {process} {what}: install cohirf {own} on every worker and on the scheduler, "
                f"with all that the base method needs."
            )


@contextmanager
def naming_faults() -> Iterator[None]:
    """Let what Dask raises say what happened to the fit, and what to do."""
    try:
        yield
    except Exception as error:
        kinds = {kind.__name__ for kind in type(error).__mro__}
        words = next((words for kind, words in FAULTS.items() if kind in kinds and _is_of_dask(error)), None)
        if words is None:
            raise
        raise RuntimeError(f"{words} ({type(error).__name__}: {str(error).partition(os.linesep)[0]})") from error


def _is_of_dask(error: Exception) -> bool:
    """Tell whether an error is one of Dask's own, and not what a task raised."""
    own = type(error).__module__.startswith(("distributed.", "concurrent.futures"))
    return own or str(error).startswith("Missing dependency")


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
