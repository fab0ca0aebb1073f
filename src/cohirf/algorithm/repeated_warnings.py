"""Warnings of the base method: each is shown once in a fit, however many of its calls give it.

Python shows a warning once for each line of code that gives it, but forgets what it has shown whenever a filter
changes, and scikit-learn changes filters in most of its calls. So the same warning would come with every view of
every batch of every level.

``warnings.catch_warnings`` cannot collect them. Before Python 3.14 it swaps state of the whole process: of two threads
that enter and leave it in turns, one can leave it swapped for good. So filters stay untouched here, and "error" and
"ignore" mean what they always do. What is replaced, while fits run, is ``warnings.showwarning``: by a function that
leaves out what a call of the base method in the same thread has shown before, and passes on everything else. Should
another thread put that function back after the last fit, it passes on everything.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Thread(threading.local):
    calls = 0  # of the base method, one inside the other where that is a fit itself


_thread = _Thread()
_lock = threading.Lock()
_fits = 0  # that run now, in any thread
_shown: set[tuple[type[Warning], str]] = set()  # by these fits
_pass_on: Any = warnings.showwarning


@contextmanager
def showing_warnings_once() -> Iterator[None]:
    """Show each warning of the base method once within this context; fits that run at the same time share it."""
    global _fits, _pass_on
    with _lock:
        _fits += 1
        if _fits == 1:
            _shown.clear()
            if warnings.showwarning is not _show_first:
                _pass_on, warnings.showwarning = warnings.showwarning, _show_first
    try:
        yield
    finally:
        with _lock:
            _fits -= 1
            if _fits == 0 and warnings.showwarning is _show_first:
                warnings.showwarning = _pass_on


@contextmanager
def calling_base_method() -> Iterator[None]:
    """Mark what this thread does within the context as a call of the base method."""
    _thread.calls += 1
    try:
        yield
    finally:
        _thread.calls -= 1


def _show_first(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    if _fits > 0 and _thread.calls > 0:
        # Of warnings that differ in their figures alone, one is enough: "3 of 8 clusters found", "4 of 8 ...".
        key = (category, re.sub(r"\d+", "", str(message)))
        with _lock:
            if key in _shown:
                return
            _shown.add(key)
    _pass_on(message, category, *place, **more)
