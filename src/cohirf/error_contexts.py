"""Errors that tell the user more than those they replace.

Warnings that name the line of the user, once per fit.

Python shows a warning once for each line of code that raises it, but forgets what it has shown
whenever a filter changes, and scikit-learn changes filters in most of its calls. So the same
warning would appear for every view of every batch of every level.

``warnings.catch_warnings`` cannot be used to collect them. Before Python 3.14 it replaces state of
the whole process: if two threads enter and leave it alternately, the replaced state can stay for
good. So this file leaves the filters unchanged, and "error" and "ignore" keep their meaning. While
fits run, it replaces ``warnings.showwarning`` by a function that drops warnings which a call of the
base method has shown before, and passes on all others. If another thread or library restores or
calls that function after the last fit, the function passes on everything.

In worker processes of joblib, the warnings of a task are collected and returned with its results,
and the process of the fit issues them again. Dask workers show warnings in their own logs, once per
call of the base method.
"""

from __future__ import annotations

import inspect
import re
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from types import TracebackType
from typing import Any, ParamSpec, TypeVar

__all__ = [
    "collecting_warnings",
    "issue_again",
    "replacing_errors",
    "showing_warnings_once",
    "warn_caller",
    "warning_once_a_fit",
]

P = ParamSpec("P")
T = TypeVar("T")


def replacing_errors(function: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """Make a context manager of a generator that may raise another error than the one it catches.

    It differs from :func:`contextlib.contextmanager` in what stays in memory after the error.
    There, from Python 3.12 on, the caught error refers to the frame of the generator, which refers
    to the caught error. This cycle holds the frames of a failed fit, and so its arrays and
    temporary files, until the garbage collector finds it.
    """
    make = contextmanager(function)

    @wraps(function)
    def make_context(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T]:
        return _ReplacingErrors(make(*args, **kwargs))

    return make_context


class _ReplacingErrors(AbstractContextManager[T]):
    """Gives an error its traceback back, without the frames of the context manager that caught
    it.
    """

    def __init__(self, context: AbstractContextManager[T]) -> None:
        self._context = context

    def __enter__(self) -> T:
        return self._context.__enter__()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        try:
            return self._context.__exit__(kind, error, traceback)
        finally:
            if error is not None:
                error.__traceback__ = traceback


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the innermost line outside of cohirf and scikit-learn.

    A fixed ``stacklevel`` cannot do this, because ``fit`` may be called directly, or by
    ``fit_predict``, a pipeline or a search of scikit-learn.
    """
    frame = inspect.currentframe()
    level = 1
    own = ("cohirf", "sklearn")
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in own:
        frame = frame.f_back
        level = level + 1
    warnings.warn(message, category, stacklevel=level)


@dataclass(frozen=True)
class CollectedWarning:
    """A warning of the base method in another process.

    As text, because not every warning can be pickled.
    """

    text: str
    category: type[Warning]
    filename: str
    line: int


class _Thread(threading.local):
    calls = 0  # calls of the base method that run now; more than one if the base method is a CoHiRF
    collected: list[CollectedWarning] | None = None  # where to put warnings instead of showing them


@dataclass(frozen=True, eq=False)
class _ShowFirst:
    """A replacement of ``warnings.showwarning`` that shows each warning of the base method once.

    Only the replacement in use drops warnings. An earlier one may still be called by a library that
    replaced ``warnings.showwarning`` during an earlier fit and calls the function that it found.
    """

    pass_on: Any

    def __call__(self, message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
        if self is _in_use and _thread.calls > 0:
            if not _is_first(message, category):
                return
            if _thread.collected is not None:
                _thread.collected.append(CollectedWarning(str(message), category, *place[:2]))
                return
        self.pass_on(message, category, *place, **more)


_thread = _Thread()
_lock = threading.Lock()
_running_fits = 0  # number of fits that run now, in any thread
_shown: set[tuple[type[Warning], str]] = set()  # warnings that these fits have shown
_in_use: _ShowFirst | None = None


@dataclass
class _Ignored:
    """A category that is ignored while threads are inside of a context."""

    filters: Any = field(default_factory=warnings.catch_warnings)
    n_inside: int = 0


_ignored: dict[type[Warning], _Ignored] = {}


@contextmanager
def showing_warnings_once() -> Iterator[None]:
    """Show each warning of the base method once within this context.

    Concurrent fits share the context.
    """
    global _running_fits, _in_use
    with _lock:
        _running_fits += 1
        if _running_fits == 1:
            _shown.clear()
            found = warnings.showwarning
            _in_use = _ShowFirst(found.pass_on if isinstance(found, _ShowFirst) else found)
            warnings.showwarning = _in_use
    try:
        yield
    finally:
        with _lock:
            _running_fits -= 1
            if _running_fits == 0:
                assert _in_use is not None  # set by the first fit
                if warnings.showwarning is _in_use:
                    warnings.showwarning = _in_use.pass_on
                _in_use = None


@contextmanager
def ignoring_warnings(category: type[Warning]) -> Iterator[None]:
    """Ignore warnings of a category, in several threads at the same time.

    ``warnings.catch_warnings`` changes filters of the process: the last thread to leave, and not
    the first one to enter, would say which filters stay.
    """
    with _lock:
        ignored = _ignored.setdefault(category, _Ignored())
        if ignored.n_inside == 0:
            ignored.filters.__enter__()
            warnings.simplefilter("ignore", category)
        ignored.n_inside += 1
    try:
        yield
    finally:
        with _lock:
            ignored.n_inside -= 1
            if ignored.n_inside == 0:
                del _ignored[category]
                ignored.filters.__exit__(None, None, None)


@contextmanager
def warning_once_a_fit() -> Iterator[None]:
    """Mark the code that this thread runs within the context, such as a call of the base method, as
    run many times.
    """
    _thread.calls += 1
    try:
        yield
    finally:
        _thread.calls -= 1


@contextmanager
def collecting_warnings() -> Iterator[list[CollectedWarning]]:
    """Collect the warnings of the base method, each once, that this thread would show within the
    context.
    """
    with showing_warnings_once():
        _thread.collected = []
        try:
            yield _thread.collected
        finally:
            _thread.collected = None


def issue_again(collected: Iterable[CollectedWarning]) -> None:
    """Issue warnings that the base method has issued in another process."""
    with warning_once_a_fit():
        for warning in collected:
            try:
                message = warning.category(warning.text)
            except TypeError:  # a category with arguments of its own
                message = UserWarning(warning.text)
            warnings.warn_explicit(message, None, warning.filename, warning.line)


def _is_first(message: Any, category: type[Warning]) -> bool:
    """Return whether no fit that runs now has shown such a warning; from now on, one has."""
    # Warnings that differ only in their numbers count as the same: "3 of 8 clusters found", "4 of 8
    # ...".
    key = (category, re.sub(r"\d+", "", str(message)))
    with _lock:
        is_first = key not in _shown
        _shown.add(key)
    return is_first
