"""Run tasks on Ray: each goes to a worker of the cluster, which reads its rows there, or gets them.

The user gives Ray's own module, ``client=ray``, which is connected to a cluster by ``ray.init``:
nothing here imports Ray. Ray places tasks, and repeats those of workers that have died.

Memory: Ray's object store holds what tasks are sent and what they return, of at most
``RAY.calls_ahead`` calls for each CPU of the cluster. Results leave it when they are received.
"""

from __future__ import annotations

import os
import pickle
from collections import deque
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from itertools import islice
from typing import Any, ClassVar

from joblib.externals.loky.backend.reduction import dumps
from sklearn import get_config

from cohirf._version import __version__
from cohirf.engines.policy import RAY
from cohirf.engines.tasks import Function, Task, Tasks, call_on_one_thread
from cohirf.error_contexts import collecting_warnings, issue_again, replacing_errors
from cohirf.rows.storage import Engine, SerialEngine


def is_ray(client: Any) -> bool:
    """Return whether a client is Ray's module."""
    return getattr(client, "__name__", None) == "ray" and hasattr(client, "is_initialized")


@dataclass(frozen=True)
class RayEngine(Engine):
    """Sends tasks to the workers of a Ray cluster."""

    ray: Any  # the module

    is_serial: ClassVar[bool] = False
    writes_here: ClassVar[bool] = False

    def run(self, function: Function, tasks: Tasks, n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments, and yield the results in order."""
        if n_tasks == 1:
            return SerialEngine().run(function, tasks, n_tasks)
        return self._in_order(function, iter(tasks), n_tasks)

    def _in_order(self, function: Function, tasks: Iterator[Task], n_tasks: int) -> Iterator[Any]:
        n_cpus = count_cpus(self.ray)
        per_call = max(1, n_tasks // (RAY.calls_per_cpu * n_cpus))
        call = self.ray.remote(call_all).options(
            name=f"cohirf_{getattr(function, '__name__', 'call')}",
            max_retries=RAY.retries,
            retry_exceptions=[OSError],  # a file that cannot be read now; other errors would recur
        )
        config = get_config()
        waiting = deque[Any]()
        try:
            with naming_faults():
                while bundle := list(islice(tasks, per_call)):
                    waiting.append(call.remote(dumps((function, config, bundle)).tobytes()))
                    del bundle  # may hold rows
                    if len(waiting) >= RAY.calls_ahead * n_cpus:
                        yield from self._receive(waiting.popleft())
                while waiting:
                    yield from self._receive(waiting.popleft())
        finally:
            for sent in waiting:
                with suppress(Exception):  # the cluster may be gone
                    self.ray.cancel(sent)

    def _receive(self, sent: Any) -> list[Any]:
        """Wait for the results of a call, and issue its warnings here."""
        results, collected = pickle.loads(self.ray.get(sent))
        issue_again(collected)
        return list(results)


def call_all(packed: bytes) -> bytes:
    """Call a function with each of some tasks, in another process.

    What comes and what goes is packed: arrays that Ray unpacks are in its object store, where they
    cannot be written to, and which they fill as long as they live.
    """
    function, config, tasks = pickle.loads(packed)
    with collecting_warnings() as collected:
        results = [call_on_one_thread(function, config, *task) for task in tasks]
    return bytes(dumps((results, collected)))


def count_cpus(ray: Any) -> int:
    """Return the number of tasks that the cluster runs at a time, now."""
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


def find_smallest_node(ray: Any) -> tuple[int, int]:
    """Return the bytes of memory and the number of tasks of the machine with the least memory for
    each task.
    """
    nodes = [node["Resources"] for node in ray.nodes() if node["Alive"]]
    working = [
        (int(node["memory"]), int(node["CPU"]))
        for node in nodes
        if node.get("CPU", 0) >= 1 and "memory" in node
    ]
    if not working:
        raise ValueError("No machine of the Ray cluster has a whole CPU: start it with some.")
    return min(working, key=lambda node: node[0] / node[1])


def refuse_unready(ray: Any) -> None:
    """Raise if Ray is not connected to a cluster, or has no CPU there, or if a machine of it has
    another version of this package.
    """
    if not ray.is_initialized():
        raise TypeError(
            "client=ray is not connected to a cluster: call ray.init() before, or leave client out."
        )
    if ray.cluster_resources().get("CPU", 0) < 1:
        raise ValueError("The Ray cluster has no CPU: start it with some, as ray.init(num_cpus=2).")
    with naming_faults():
        ask = ray.remote(own_version)
        asked = {
            name: ask.options(num_cpus=0, resources=place).remote()
            for name, place in _machines(ray).items()
        }
        found = {name: ray.get(version) for name, version in asked.items()}
    for name, version in found.items():
        if version != __version__:
            raise ModuleNotFoundError(
                f"The Ray machine {name} has version {version} of cohirf: install cohirf "
                f"{__version__} and the packages that the base method needs on every machine."
            )


def _machines(ray: Any) -> dict[str, dict[str, float]]:
    """Return what a task asks for to run on each machine with a CPU: Ray gives each one a resource
    with the name of its address.
    """
    machines = {}
    for node in ray.nodes():
        given = node["Resources"]
        name = f"node:{node['NodeManagerAddress']}"
        if node["Alive"] and given.get("CPU", 0) > 0 and name in given:
            machines[node["NodeManagerAddress"]] = {name: 0.001}
    return machines


def own_version() -> str:
    """Return the version of this package where a task runs."""
    return __version__


@replacing_errors
def naming_faults() -> Iterator[None]:
    """Raise errors of tasks as they were raised there, and those of Ray with a remedy."""
    try:
        yield
    except Exception as error:
        if not type(error).__module__.startswith("ray.") and not hasattr(error, "cause"):
            raise
        cause = getattr(error, "cause", None)
        if isinstance(cause, ModuleNotFoundError):
            raise ModuleNotFoundError(
                f"A worker of the Ray cluster lacks a package ({cause}): install cohirf "
                f"{__version__} and the packages that the base method needs on every machine."
            ) from error
        if isinstance(cause, Exception):
            raise cause from error
        said = str(error).partition(os.linesep)[0]
        raise RuntimeError(
            "The Ray cluster is gone, or several workers died while they ran the same batches, "
            "perhaps because of too little memory: lower batch_size, or give each task more than "
            "one CPU. With checkpoint=, the fit continues where it stopped. "
            f"({type(error).__name__}: {said})"
        ) from error
