"""Where tasks run, and how many at a time: it changes no label."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class LocalPolicy:
    """When processes are worth their start. Table: ``cores.csv``, of ``benchmarks/speed``."""

    start_seconds: float = 1.0  # that must be saved before processes are started
    warm_seconds: float = 0.3  # the same if they run already
    # a task with more data takes so long that it need not be measured; the same if processes run
    start_bytes: int = 2**26
    warm_bytes: int = 2**25
    idle_seconds: float = 240.0  # joblib ends processes that had nothing to do for 300 seconds
    watch_seconds: float = 1.0  # between two looks at whether the parent still lives


@dataclass(frozen=True)
class StreamPolicy:
    """Rows that threads copy to a device. Measured: ``benchmarks/notes/gpu.rst``."""

    runs_ahead: int = 2  # with one, the readers would wait for the last pieces of each run
    readers: int = 8  # threads; one reads and checks about 3 GB per second
    piece_bytes: int = 2**24


@dataclass(frozen=True)
class DaskPolicy:
    """Tasks on the workers of a cluster. Measured: ``benchmarks/notes/dask.rst``."""

    retries: int = 2  # of a task that fails on a live worker, as if it could not read its file
    # bundles of batches per thread at a later level: enough that no worker waits long for another
    calls_per_thread: int = 8
    # of bundles whose results are not there yet: all of them pass through the scheduler, which
    # holds them until then
    bytes_ahead: int = 2**30
    # share of a worker's memory that Dask uses before it spills to disk, by default
    before_spilling: float = 0.6


@dataclass(frozen=True)
class RayPolicy:
    """Tasks on the workers of a Ray cluster."""

    retries: int = 3  # of a call whose worker has died, or whose file cannot be read: Ray's default
    # bundles of batches per CPU, as on Dask: enough that no CPU waits long for another
    calls_per_cpu: int = 8
    # calls for each CPU that are sent, and not received: one that runs, and one that is next
    calls_ahead: int = 2


LOCAL = LocalPolicy()
STREAM = StreamPolicy()
DASK = DaskPolicy()
RAY = RayPolicy()
