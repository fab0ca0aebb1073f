"""The engine of each kind of task: the only place that chooses one.

Users ask for cores with ``n_jobs``, for a backend with a context of joblib, for a cluster with an
active client of Dask or the module of Ray, and for a device by its name. The functions are named
after the tasks of a fit; what a user asks for does not go further down than this.
"""

from __future__ import annotations

from typing import Any

from cohirf.engines.dask import DaskEngine, DataLocalEngine
from cohirf.engines.local import LocalEngine, ThreadEngine, count_jobs
from cohirf.engines.ray import RayEngine
from cohirf.engines.streaming import StreamingEngine
from cohirf.rows.storage import Engine, SerialEngine


def engine_of_batches(n_jobs: int | None, device: str | None = None) -> Engine:
    """Return the engine of tasks that read their rows on this machine, or are sent with them.

    With a ``device``, rows are streamed there. Otherwise one job is one task after the other, in
    the calling thread: callers rely on it. A backend of joblib that is none of its own four counts
    as on another machine: its tasks do not write into vectors, and their results are sent back.
    """
    if device is not None:
        return StreamingEngine(device)
    if count_jobs(n_jobs) == 1:
        return SerialEngine()
    return LocalEngine(n_jobs)


def engine_of_sent_rows(n_jobs: int | None, client: Any) -> Engine:
    """Return the engine of tasks that carry their rows to a cluster; without a ``client`` of one,
    they stay on this machine.
    """
    if client is None:
        return engine_of_batches(n_jobs)
    return DaskEngine(client)


def engine_that_gathers(client: Any, array: Any) -> DaskEngine:
    """Return the engine of tasks for which a cluster gathers any rows of an ``array`` of Dask."""
    return DaskEngine(client, array)


def engine_at_rows(array: Any, weights: Any = None) -> DataLocalEngine:
    """Return the engine of tasks that run where Dask has the chunks of an ``array``."""
    return DataLocalEngine(array, weights)


def engine_on_ray(ray: Any) -> RayEngine:
    """Return the engine of tasks that are sent to the workers of Ray; ``ray`` is its module."""
    return RayEngine(ray)


def engine_on_device() -> Engine:
    """Return the engine of tasks whose rows are on a device, which computes one at a time."""
    return SerialEngine()


def engine_of_views(n_jobs: int | None, *, in_threads: bool = False) -> Engine:
    """Return the engine of views of one batch.

    They are labelled ``in_threads`` of the fit if all share large arrays, or divide their own rows.
    """
    return ThreadEngine() if in_threads else engine_of_batches(n_jobs)
