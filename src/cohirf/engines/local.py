"""Tasks on this machine: one after the other, or through joblib in threads or processes.

Every task runs with one BLAS and one OpenMP thread. Parallelism comes from ``n_jobs`` alone, so cores are never
over-subscribed, and sums are always added up in the same order: the labels do not depend on the number of cores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from joblib import effective_n_jobs
from sklearn.utils.parallel import Parallel, delayed
from threadpoolctl import threadpool_limits

from cohirf.algorithm.levels import run_serially


@dataclass(frozen=True)
class LocalEngine:
    """Runs tasks with joblib; the backend is threads unless the user has chosen another with ``parallel_config``."""

    n_jobs: int | None = None

    def __call__(self, function: Callable[..., Any], tasks: Iterable[tuple[Any, ...]]) -> Iterator[Any]:
        """Call ``function`` with each of ``tasks`` and return the results in order."""
        if effective_n_jobs(self.n_jobs) == 1:
            return run_serially(function, tasks)
        calls = (delayed(_call_on_one_thread)(function, task) for task in tasks)
        return iter(Parallel(n_jobs=self.n_jobs, prefer="threads")(calls))


def one_thread() -> Any:
    """Return a context in which BLAS and OpenMP use one thread."""
    return threadpool_limits(limits=1)


def _call_on_one_thread(function: Callable[..., Any], task: tuple[Any, ...]) -> Any:
    # OpenMP counts threads per thread and BLAS per process, so a worker needs the limit too. BLAS limits of several
    # workers do not disturb each other, since the caller holds the same limit around all of them.
    with one_thread():
        return function(*task)
