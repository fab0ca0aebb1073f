"""How a task runs, on whichever engine: with the caller's scikit-learn configuration, and with one
thread of BLAS and OpenMP.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from sklearn import config_context, set_config
from threadpoolctl import ThreadpoolController

Function = Callable[..., Any]
Task = tuple[Any, ...]
Tasks = Iterable[Task]


@dataclass
class _LimitOfBlas:
    """The limit that all threads share."""

    n_inside: int = 0  # how many contexts limit BLAS now, in any thread
    before: Any = None  # the limits before the first of them
    lock: threading.Lock = field(default_factory=threading.Lock)


_blas = _LimitOfBlas()


def call_on_one_thread(function: Function, config: dict[str, Any], *arguments: Any) -> Any:
    """Call a function with scikit-learn's configuration and one thread for BLAS and OpenMP."""
    with config_context(**config), one_thread():
        return function(*arguments)


@contextmanager
def one_thread() -> Iterator[None]:
    """Let BLAS and OpenMP use one thread; several threads may be inside at the same time.

    OpenMP limits its threads per calling thread, so each thread that computes needs this context.
    BLAS has one limit for the process: the first thread to enter limits it, and the last one to
    leave, which may be another, restores it.
    """
    with _blas.lock:
        if _blas.n_inside == 0:
            _blas.before = _limits_of_process().limit(limits=1)
        _blas.n_inside += 1
    try:
        # for BLAS, from 1 to 1: threadpoolctl lets only one thread at a time set its limit, until
        # that thread leaves the last such context
        with _controller().limit(limits=1):
            yield
    finally:
        with _blas.lock:
            _blas.n_inside -= 1
            if _blas.n_inside == 0:
                _blas.before.restore_original_limits()
                with _limits_of_process().limit(limits=None):
                    """Let other threads set limits again."""


def begin_thread(config: dict[str, Any]) -> None:
    """Let a new thread of a fit compute as the one that has started it, which limits BLAS."""
    set_config(**config)
    # this thread ends with the fit
    _controller().limit(limits=1, user_api="openmp")


@cache
def _controller() -> ThreadpoolController:
    # the search for libraries takes milliseconds, as long as a small batch
    return ThreadpoolController()


@cache
def _limits_of_process() -> ThreadpoolController:
    """Return a controller of the libraries that have one limit for all threads."""
    paths = [
        library["filepath"]
        for library in _controller().info()
        if library["user_api"] == "blas"
        # which limits its threads as OpenMP does
        and (library["internal_api"], library.get("threading_layer")) != ("openblas", "openmp")
    ]
    return _controller().select(filepath=paths)
