"""Errors that tell the user more than those they replace, and warnings that point to the line of the user."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import wraps
from types import TracebackType
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")
OWN_PACKAGES = ("cohirf", "sklearn")


def replacing_errors(function: Callable[P, Iterator[T]]) -> Callable[P, AbstractContextManager[T]]:
    """Make a context manager of a generator that may raise another error than the one it catches.

    It differs from :func:`contextlib.contextmanager` in what stays in memory after the error. There, from Python 3.12
    on, the caught error refers to the frame of the generator, which refers to the caught error. This cycle holds the
    frames of a failed fit, and so its arrays and temporary files, until the garbage collector finds it.

    Parameters
    ----------
    function : generator function
        As for :func:`contextlib.contextmanager`.

    Examples
    --------
    >>> from cohirf.error_contexts import replacing_errors
    >>> @replacing_errors
    ... def explaining(remedy):
    ...     try:
    ...         yield
    ...     except ZeroDivisionError as error:
    ...         raise ValueError(f"The mean of no values is not defined: {remedy}") from error
    >>> with explaining("give at least one value."):
    ...     1 / 0
    Traceback (most recent call last):
    ...
    ValueError: The mean of no values is not defined: give at least one value.
    """
    make = contextmanager(function)

    @wraps(function)
    def make_context(*args: P.args, **kwargs: P.kwargs) -> AbstractContextManager[T]:
        return _ReplacingErrors(make(*args, **kwargs))

    return make_context


class _ReplacingErrors(AbstractContextManager[T]):
    """Gives an error its traceback back, without the frames of the context manager that caught it."""

    def __init__(self, context: AbstractContextManager[T]) -> None:
        self._context = context

    def __enter__(self) -> T:
        return self._context.__enter__()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> bool | None:
        try:
            return self._context.__exit__(kind, error, traceback)
        finally:
            if error is not None:
                error.__traceback__ = traceback


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the innermost line outside of cohirf and scikit-learn.

    A fixed ``stacklevel`` cannot do this, because ``fit`` may be called directly, or by ``fit_predict``, a pipeline or
    a search of scikit-learn.
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in OWN_PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
