"""Run tasks on Dask. First-level tasks run where the data is; later tasks carry their rows.

With an active ``distributed.Client``, tasks run on the workers of its cluster. Without one, Dask
runs them in threads of this process. This is the only file that imports Dask.
"""

from __future__ import annotations

import os
import pickle
import uuid
from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from cohirf.algorithm.runs import ContractedRun, RunTask, contract_run
from cohirf.engines.policy import DASK
from cohirf.engines.tasks import Function, Task, Tasks, call_on_one_thread
from cohirf.error_contexts import replacing_errors
from cohirf.optional import import_optional
from cohirf.rows.arrays import is_dask as is_dask
from cohirf.rows.storage import Engine, NumberedRows, SerialEngine, Storage
from cohirf.sources.arrays import DASK_ARRAY, ArraySource


def dask() -> Any:
    """Import and return Dask."""
    return import_optional("dask", "dask", "A fit on Dask")


def dask_array() -> Any:
    """Import and return Dask's array module."""
    return import_optional("dask.array", "dask", "A fit on Dask")


def find_client() -> Any:
    """Return the client that Dask would use now, or None if Dask would compute in this process."""
    scheduler = getattr(dask().base.get_scheduler(), "__self__", None)
    return scheduler if hasattr(scheduler, "scheduler_info") else None


def is_usable(client: Any) -> bool:
    """Return whether a client is connected and synchronous."""
    return client.status == "running" and not client.asynchronous


def new_name(operation: str) -> str:
    """Return a unique task name that starts with ``operation``, which Dask's dashboard shows."""
    return f"cohirf_{operation}-{uuid.uuid4().hex}"


@dataclass
class DataLocalEngine(Engine):
    """Contracts runs on the workers that hold their rows. What belongs to the rows stays there."""

    rows: Any  # an array of Dask
    weights: Any = None  # sample weights as a column, with the chunks of the data
    # the contracted runs, one per chunk, which stay on the workers while this is referenced
    persisted: Any = None

    is_serial: ClassVar[bool] = False
    writes_here: ClassVar[bool] = False

    def share(self, rows: Any) -> Any:
        """Return None: tasks have no values until they get the rows of their chunk on the
        worker.
        """
        return None

    def outcomes(self, tasks: list[RunTask], contraction: Any) -> Any:
        """Return the contracted runs.

        Lazily those of the first tasks, which were restored from a checkpoint.
        """
        n_restored = len(tasks) - (0 if self.persisted is None else self.persisted.numblocks[0])
        if n_restored == 0:
            return self.persisted
        restored = self._lazy(
            contract_run, [(task, contraction, SerialEngine()) for task in tasks[:n_restored]]
        )
        return dask_array().concatenate(
            [restored, *([] if self.persisted is None else [self.persisted])]
        )

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments on the worker with the rows of the task,
        which comes first.

        Yields the results in order, without what belongs to the rows of a run.
        """
        client = find_client()
        if client is not None:
            refuse_other_packages(client)
        with naming_faults():
            computed = self.persisted = persist(self._lazy(function, list(tasks)))
            results = computed.map_blocks(
                _without_map, name=new_name("summarize"), dtype=object, meta=np.empty(0, object)
            )
            results = persist(results)
            try:
                yield from chunks_of(results)
            except (
                BaseException
            ):  # an error of a task, or of the consumer: cancel the remaining tasks
                if client is not None:
                    with suppress(Exception):  # the cluster may be gone
                        client.cancel([computed, results])
                raise

    def _lazy(self, function: Function, tasks: list[Task]) -> Any:
        """Return a lazy array with the result of one task per chunk; every call uses new names."""
        runs = [task[0].run for task in tasks]
        lengths = tuple(run.length for run in runs)
        rows = slice(runs[0].start, runs[-1].start + runs[-1].length)
        given = [self.rows] if self.weights is None else [self.rows, self.weights]
        # the "p2p" method would write all data to the disks of the workers, and start over when a
        # worker is lost
        arrays = [_renamed(array)[rows].rechunk((lengths, -1), method="tasks") for array in given]
        call = partial(call_on_one_thread, partial(_call_with_chunk, function), get_config())
        ones = tuple(1 for _ in runs)
        return map_chunks(call, tasks, arrays, ones, new_name("contract_batches"), object)


def _as_is(chunk: Any) -> Any:
    return chunk


def _renamed(array: Any) -> Any:
    """Return an array whose chunks have new names."""
    return array.map_blocks(_as_is, name=new_name("rows"), dtype=array.dtype, meta=array._meta)


def _call_with_chunk(function: Function, task: Task, rows: Any, weights: Any = None) -> Any:
    """Call a function with the rows of a chunk, and their weights."""
    run_task, *others = task
    start = run_task.run.start
    source = ArraySource(rows, name=DASK_ARRAY)
    numbers = np.arange(start, start + len(rows))
    values = NumberedRows(np.ascontiguousarray(rows, source.dtype), numbers)
    source.refuse_faults(values.X, numbers)
    mass = None if weights is None else np.asarray(weights)[:, 0]
    return function(replace(run_task, values=values, mass=mass), *others)


def _without_map(outcome: ContractedRun) -> ContractedRun:
    return ContractedRun(outcome.survivors)


@dataclass(frozen=True)
class CallWith:
    """Calls a function with a thing, and with chunks.

    Dask takes its ``token`` for what identifies it: otherwise a client that sends a graph takes
    apart and hashes all that is in each of its tasks, which is most of its work.
    """

    function: Any
    thing: Any
    token: Any

    def __call__(self, *chunks: Any) -> Any:
        """Call the function."""
        return self.function(self.thing, *chunks)

    def __dask_tokenize__(self) -> Any:
        return self.token


def map_chunks(
    function: Any,
    things: Sequence[Any] | None,
    arrays: Sequence[Any],
    lengths: tuple[int, ...],
    name: str,
    dtype: Any,
) -> Any:
    """Apply ``function`` to one of ``things`` (if there are any), and to the chunks at the same
    position of several arrays, which have all of their columns in one chunk.

    Return a lazy array of the results. Things are part of the tasks: as chunks of an array, they
    would be as many tasks again for the scheduler.
    """
    graph = {}
    for number in range(len(lengths)):
        call = function if things is None else CallWith(function, things[number], (name, number))
        chunks = ((array.name, number, *[0] * (array.ndim - 1)) for array in arrays)
        graph[name, number] = (call, *chunks)
    layers = import_optional("dask.highlevelgraph", "dask", "A fit on Dask").HighLevelGraph
    layered = layers.from_collections(name, graph, dependencies=arrays)
    meta = np.empty(0, dtype=dtype)
    return dask_array().Array(layered, name, chunks=(lengths,), dtype=dtype, meta=meta)


def chunks_of(persisted: Any) -> Iterator[Any]:
    """Yield the chunks of a persisted array; wait for chunks that workers still compute."""
    graph = dict(persisted.__dask_graph__())
    for key in persisted.__dask_keys__():
        chunk = graph[key]
        yield chunk.result() if hasattr(chunk, "result") else getattr(chunk, "value", chunk)


def compute_unoptimised(*collections: Any) -> Any:
    """Compute Dask collections without optimising their graphs.

    Dask would fuse tasks first. The scheduler would then see two different tasks of one name,
    because the fit still holds results of the tasks that were not fused, and would warn.
    """
    with naming_faults():
        return dask().compute(*collections, optimize_graph=False)


def gather_vectors(vectors: Sequence[Any], storage: Storage) -> list[NDArray[Any]]:
    """Load vectors into this process, chunk by chunk, after they were computed together."""
    if not vectors:
        return []
    here = [storage.vector(len(vector), vector.dtype) for vector in vectors]
    with naming_faults():
        for found, computed in zip(
            here, dask().persist(*vectors, optimize_graph=False), strict=True
        ):
            for stop, part in zip(np.cumsum(computed.chunks[0]), chunks_of(computed), strict=True):
                found[stop - len(part) : stop] = part
                storage.release()
    return here


@dataclass(frozen=True)
class DaskEngine(Engine):
    """Sends tasks to the workers of a cluster, together with their data.

    With a Dask ``array``, tasks are sent without rows: the first item of a task tells which rows it
    needs, which the workers gather from the chunks of the array.
    """

    client: Any
    array: Any = None

    is_serial: ClassVar[bool] = False
    writes_here: ClassVar[bool] = False

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments.

        Yield the results in order, as they become ready.
        """
        if n_tasks == 1 and self.array is None:
            return SerialEngine().run(function, tasks, n_tasks)
        return self._in_order(function, iter(tasks), n_tasks)

    def _in_order(self, function: Function, tasks: Iterator[Task], n_tasks: int) -> Iterator[Any]:
        waiting = deque[tuple[Any, int]]()
        n_bytes = 0  # that were sent and not answered: the scheduler holds them, too
        with naming_faults():
            n_threads = max(1, sum(self.client.nthreads().values()))
            per_call = max(1, n_tasks // (DASK.calls_per_thread * n_threads))
            if self.array is None:
                sent = self._send(function, tasks, per_call)
            else:
                sent = self._send_bare(function, tasks)
            for bundle in sent:
                waiting.append(bundle)
                n_bytes += bundle[1]
                while len(waiting) > 2 * n_threads or (
                    len(waiting) > 1 and n_bytes > DASK.bytes_ahead
                ):
                    first, of_first = waiting.popleft()
                    n_bytes -= of_first
                    yield from first.result()
                del bundle
            while waiting:
                yield from waiting.popleft()[0].result()

    def _send(
        self, function: Function, tasks: Iterator[Task], per_call: int
    ) -> Iterator[tuple[Any, int]]:
        """Send tasks in bundles; yield the lists of their results, as futures, and the bytes of
        each bundle.
        """
        name = new_name(function.__name__)
        call = partial(_call_all, function, get_config())
        bundles = iter(lambda: list(islice(tasks, per_call)), [])
        for number, bundle in enumerate(map(_pack, bundles)):
            with _large_graphs():
                sent = self.client.submit(
                    call, bundle, key=f"{name}-{number}", pure=False, retries=DASK.retries
                )
                yield sent, len(bundle)

    def _send_bare(self, function: Function, tasks: Iterator[Task]) -> Iterator[tuple[Any, int]]:
        """Send tasks without their rows, one by one.

        Yield the lists of their results, as futures, and the bytes of the task.
        """
        call = dask().delayed(partial(_call_all, function, get_config()), pure=False)
        for task, *others in tasks:
            numbers = task.rows_needed()
            rows = self.array[numbers].rechunk(-1).to_delayed().item()
            with _large_graphs():
                packed = _pack([(task.with_values(None), *others)])
                lazy = call(packed, numbers, rows)
                sent = self.client.compute(lazy, retries=DASK.retries, optimize_graph=False)
                yield sent, len(packed) + numbers.nbytes


def _large_graphs() -> Any:
    """Return a context in which Dask does not warn about tasks of several megabytes.

    It advises to scatter their data, but scattered data is lost with its worker.
    """
    return dask().config.set({"distributed.admin.large-graph-warning-threshold": "1TB"})


def keep_on_workers(client: Any, array: Any) -> Any:
    """Return an array with new names, whose chunks are computed once and stay on the workers while
    it is referenced.
    """
    return client.persist(_renamed(array).rechunk({1: -1}), optimize_graph=False)


@dataclass(frozen=True)
class Worker:
    """A worker process of a cluster.

    ``taken_bytes`` leaves out results of tasks, which can be spilled to disk.
    """

    n_threads: int
    memory_limit: int
    taken_bytes: int

    @classmethod
    def of(cls, told: dict[str, Any]) -> Worker:
        """Return a worker from the information that the scheduler has about it."""
        metrics = told["metrics"]
        results = metrics["managed_bytes"] - metrics["spilled_bytes"]["memory"]
        return cls(told["nthreads"], told["memory_limit"], max(0, metrics["memory"] - results))

    @property
    def usable_bytes(self) -> int:
        """Memory that Dask uses before it spills to disk or pauses the worker."""
        return int(DASK.before_spilling * self.memory_limit)

    @property
    def bytes_per_task(self) -> float:
        """Memory that is left for each of its tasks."""
        return (self.usable_bytes - self.taken_bytes) / self.n_threads


def find_fullest_worker() -> Worker | None:
    """Return the worker with the least memory per task.

    None if there is no cluster, or no memory limit.
    """
    client = find_client()
    # n_workers=-1: by default, some versions return only five workers
    if client is None:
        told = []
    else:
        told = client.scheduler_info(n_workers=-1)["workers"].values()
    limited = [Worker.of(each) for each in told if each["memory_limit"]]
    return min(limited, key=lambda worker: worker.bytes_per_task, default=None)


def refuse_other_packages(client: Any) -> None:
    """Raise if a process of the cluster lacks this package, or has another version of it.

    A worker that cannot import its task would crash, restart and crash again.
    """
    words = "__import__('cohirf').__version__"
    with naming_faults():
        # eval is a builtin function, which every process has
        found: dict[str, Any] = client.run(eval, words, on_error="return")
        try:
            found["the scheduler"] = client.run_on_scheduler(eval, words)
        except ImportError as error:
            found["the scheduler"] = error
    own = eval(words)
    for process, version in found.items():
        # any other error: it died, and another worker takes over
        if version != own and isinstance(version, str | ImportError):
            if isinstance(version, str):
                what = f"has version {version} of cohirf"
            else:
                what = f"lacks a package ({version})"
            raise ModuleNotFoundError(
                f"In the Dask cluster, {process} {what}: install cohirf {own} and the packages "
                "that the base method needs on every worker and on the scheduler."
            )


@replacing_errors
def naming_faults() -> Iterator[None]:
    """Re-raise errors of Dask with a message that says what happened to the fit, and what to do."""
    try:
        yield
    except Exception as error:
        words = _explain(error)
        if words is None:
            raise
        raise RuntimeError(
            f"{words} ({type(error).__name__}: {str(error).partition(os.linesep)[0]})"
        ) from error


def _explain(error: Exception) -> str | None:
    """Return what has happened to the cluster, and what to do; None if it is no error of Dask."""
    kinds = {kind.__name__ for kind in type(error).__mro__}
    if not _is_of_dask(error):
        return None
    if "KilledWorker" in kinds:
        return (
            "Several workers died while they ran the same batches, perhaps because of too little "
            "memory: lower batch_size, or rechunk X to smaller chunks. See the logs of the workers "
            "for the cause"
        )
    if kinds & {"NoValidWorkerError", "CancelledError", "CommClosedError", "ValueError"}:
        return (
            "The Dask cluster is gone, or has lost data that cannot be computed again, or its "
            "client is not the active one: activate the client with client.as_current(), or "
            "connect to a cluster and repeat the fit. With checkpoint=, the fit continues where it "
            "stopped"
        )
    return None


def _is_of_dask(error: Exception) -> bool:
    """Return whether an error was raised by Dask itself, and not by a task."""
    own = type(error).__module__.startswith(("distributed.", "concurrent.futures"))
    return own or str(error).startswith("Missing dependency")


def fused(lazy: Any) -> Any:
    """Return an array whose tasks that follow each other are one; Dask's other names of these,
    which would be tasks, too, are left out.
    """
    (lazy,) = dask().optimize(lazy)
    graph = dict(lazy.__dask_graph__())
    uses = Counter(name for node in graph.values() for name in getattr(node, "dependencies", ()))
    for key in dask().core.flatten(lazy.__dask_keys__()):
        target = getattr(graph[key], "target", None)
        if target in graph and uses[target] == 1:
            graph[key] = graph.pop(target).substitute({}, key=key)
    return dask_array().Array(graph, lazy.name, lazy.chunks, dtype=lazy.dtype, meta=lazy._meta)


def persist(lazy: Any) -> Any:
    """Start to compute an array with a new name, and keep its chunks on the workers of the active
    client.

    What is done with a chunk from its reading on is one task: it is all that the scheduler sees of
    the chunk, and no worker holds rows that wait for their next task.
    """
    lazy = fused(lazy)
    client = find_client()
    if client is None:
        return lazy.persist(optimize_graph=False)
    return client.persist(lazy, retries=DASK.retries, optimize_graph=False)


def _pack(tasks: list[Task]) -> Any:
    """Pickle tasks, which may read their rows on the cluster.

    A client holds a lock while it submits, and if it pickled these tasks then, it would wait for
    rows that cannot come: the thread that receives them may wait for that lock.
    """
    return import_optional("distributed.protocol.pickle", "dask", "A fit on Dask").dumps(tasks)


def _call_all(
    function: Function, config: dict[str, Any], packed: bytes, numbers: Any = None, X: Any = None
) -> list[Any]:
    """Call a function with each of some tasks.

    If they came without rows, with the rows ``X`` of the given numbers.
    """
    tasks = pickle.loads(packed)
    if X is not None:
        rows = NumberedRows(np.asarray(X), numbers)
        tasks = [(task.with_values(rows), *others) for task, *others in tasks]
    return [call_on_one_thread(function, config, *task) for task in tasks]
