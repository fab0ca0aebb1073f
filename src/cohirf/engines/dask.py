"""Tasks on Dask: those of the first level where their data is, those of later levels with their rows in their bags.

With a ``distributed.Client`` they run on the workers of its cluster. Without one, Dask runs them here, in threads.
This is the one file that imports Dask.
"""

from __future__ import annotations

import os
import sys
import uuid
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Any

import numpy as np
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
    "The Dask cluster is gone, or has lost data that cannot be computed again, or its client is not the active one: "
    "use that with client.as_current(), or connect to a cluster and repeat the fit. With checkpoint= it goes on where "
    "it stood"
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
    return import_optional("dask", "dask", "A fit on Dask")


def dask_array() -> Any:
    """Return Dask's module of arrays."""
    return import_optional("dask.array", "dask", "A fit on Dask")


def find_client() -> Any:
    """Return the client that Dask would compute with now, or None if that is no cluster."""
    scheduler = getattr(dask().base.get_scheduler(), "__self__", None)
    return scheduler if hasattr(scheduler, "scheduler_info") else None


def find_active_client() -> Any:
    """Return the client of a cluster that this program has, or None; for that, nothing of Dask is imported.

    A task on a worker is given none: if it waited there for tasks of its own, all workers could come to wait.
    """
    distributed = sys.modules.get("distributed")
    if distributed is None:
        return None
    with suppress(ValueError):  # which says that this is no worker
        distributed.get_worker()
        return None
    with suppress(ValueError):  # which says that there is no client
        return find_client() if is_usable(distributed.Client.current()) else None
    return None


def is_usable(client: Any) -> bool:
    """Tell whether a client is connected, and waits for its results."""
    return client.status == "running" and not client.asynchronous


def new_name(deed: str) -> str:
    """Return a name for tasks that no others have; Dask's dashboard shows the deed."""
    return f"cohirf_{deed}-{uuid.uuid4().hex}"


@dataclass
class WhereDataIs:
    """Runs tasks where their data is, and leaves there what becomes of them.

    Attributes
    ----------
    promised : dask.array.Array
        The promises of what becomes of each task, one chunk for each, which need not be an array.
    done : dask.array.Array or None
        Those of them that were run. They are on the workers as long as this array is in use.
    """

    promised: Any
    done: Any = None
    is_serial: bool = False

    def join_known(self, promised: Any) -> Any:
        """Return what was run, after promises of what was known and so was not run, taken from an array of all."""
        n_known = promised.numblocks[0] - (0 if self.done is None else self.done.numblocks[0])
        if n_known == 0:
            return self.done
        return dask_array().concatenate([promised.blocks[:n_known], *([] if self.done is None else [self.done])])

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Run the last ``n_tasks`` tasks, call ``function`` there with what became of each, and give the results here.

        They are in order, and come as they are ready.
        """
        deque(tasks, maxlen=0)  # who watches may count them
        client = find_client()
        if client is not None:
            refuse_other_packages(client)
        with naming_faults():
            n_known = self.promised.numblocks[0] - n_tasks
            done = self.done = _persist(client, self.promised.blocks[n_known:])
            results = done.map_blocks(function, name=new_name("summarize"), dtype=object, meta=np.empty(0, object))
            results = _persist(client, results)
            try:
                yield from chunks_of(results)
            except BaseException:  # of a task, or of whoever takes the results: then nobody wants the rest
                with suppress(Exception):  # of a cluster that is gone
                    client.cancel([done, results])
                raise


def chunks_of(persisted: Any) -> Iterator[Any]:
    """Yield the chunks of an array as they arrive here, or as they are here already."""
    graph = dict(persisted.__dask_graph__())
    for key in persisted.__dask_keys__():
        chunk = graph[key]
        yield chunk.result() if hasattr(chunk, "result") else getattr(chunk, "value", chunk)


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
        name, waiting = new_name(function.__name__), deque[Any]()
        call = partial(_call_all, function, get_config())
        with naming_faults():
            n_threads = max(1, sum(self.client.nthreads().values()))
            per_call = max(1, n_tasks // (CALLS_A_THREAD * n_threads))
            bundles = iter(lambda: list(islice(tasks, per_call)), [])
            for number, bundle in enumerate(bundles):
                with dask().config.set({"distributed.admin.large-graph-warning-threshold": MAX_BUNDLE}):
                    sent = self.client.submit(call, bundle, key=f"{name}-{number}", pure=False, retries=RETRIES)
                waiting.append(sent)
                if len(waiting) > 2 * n_threads:  # no more rows than that are on their way
                    yield from waiting.popleft().result()
            while waiting:
                yield from waiting.popleft().result()


@dataclass(frozen=True)
class Worker:
    """A process that runs tasks.

    Attributes
    ----------
    n_threads : int
        How many tasks at the same time.
    memory_limit : int
        How much memory it may take.
    taken_bytes : int
        How much it takes already, without results of tasks: these can go to disk.
    """

    n_threads: int
    memory_limit: int
    taken_bytes: int

    @classmethod
    def of(cls, told: dict[str, Any]) -> Worker:
        """Read what the scheduler tells of a worker."""
        metrics = told["metrics"]
        results = metrics["managed_bytes"] - metrics["spilled_bytes"]["memory"]
        return cls(told["nthreads"], told["memory_limit"], max(0, metrics["memory"] - results))

    @property
    def usable_bytes(self) -> int:
        """The memory below which Dask neither writes to disk nor pauses."""
        return int(BEFORE_SPILLING * self.memory_limit)

    @property
    def bytes_per_task(self) -> float:
        """The memory that is left for each of its tasks."""
        return (self.usable_bytes - self.taken_bytes) / self.n_threads


def find_fullest_worker() -> Worker | None:
    """Return the worker with the least memory left for a task, or None where there is no cluster, or no limit."""
    client = find_client()
    # by default some versions tell of five workers alone
    told = [] if client is None else client.scheduler_info(n_workers=-1)["workers"].values()
    limited = [Worker.of(each) for each in told if each["memory_limit"]]
    return min(limited, key=lambda worker: worker.bytes_per_task, default=None)


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


def _persist(client: Any, promised: Any) -> Any:
    """Have an array computed, and left where it is."""
    if client is None:
        return promised.persist(optimize_graph=False)
    return client.persist(promised, retries=RETRIES, optimize_graph=False)


def call_on_one_thread(function: Function, config: dict[str, Any], *arguments: Any) -> Any:
    """Call a function with scikit-learn's configuration and one thread for BLAS and OpenMP."""
    with config_context(**config), one_thread():
        return function(*arguments)


def _call_all(function: Function, config: dict[str, Any], tasks: list[tuple[Any, ...]]) -> list[Any]:
    return [call_on_one_thread(function, config, *task) for task in tasks]
