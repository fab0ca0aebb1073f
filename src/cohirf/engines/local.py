"""Tasks on this machine: one after the other, or through joblib in threads or processes.

Every task runs with one BLAS and one OpenMP thread. Parallelism comes from ``n_jobs`` alone, so cores are never
over-subscribed, and sums are always added up in the same order: the labels do not depend on the number of cores.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import ThreadpoolController

from cohirf.algorithm.engine import SerialEngine


@dataclass(frozen=True)
class LocalEngine:
    """Runs tasks with joblib; the backend is threads unless the user has chosen another with ``parallel_config``."""

    n_jobs: int | None = None

    @property
    def is_serial(self) -> bool:
        """Whether there is one job at a time."""
        return bool(effective_n_jobs(self.n_jobs) == 1)

    def run(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]], n_tasks: int) -> Iterator[Any]:
        """Call ``function`` with each tuple of arguments and give the results back in order, as they are ready."""
        if self.is_serial or n_tasks == 1:
            return SerialEngine().run(function, tasks, n_tasks)
        calls = (delayed(_call_on_one_thread)(function, task) for task in tasks)
        return _cancelling_quietly(Parallel(n_jobs=self.n_jobs, prefer="threads", return_as="generator")(calls))


def _cancelling_quietly(results: Any) -> Iterator[Any]:
    """Pass results on; if nobody takes the rest, because of an error, joblib's advice on that is out of place."""
    try:
        for result in results:  # noqa: UP028 - with "yield from", the results would be closed before this is
            yield result
    finally:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message=r"\d+ tasks")
            results.close()


def one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread."""
    return _controller().limit(limits=1)


@cache
def _controller() -> ThreadpoolController:
    return ThreadpoolController()  # looking for the libraries takes milliseconds, as long as a small batch


def _call_on_one_thread(function: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    # OpenMP counts threads per thread and BLAS per process, so a worker needs the limit too. BLAS limits of several
    # workers do not disturb each other, since the caller holds the same limit around all of them.
    with one_thread():
        return function(*task)
