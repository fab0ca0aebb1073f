"""Warnings of the base method: each is shown once per fit, even if many calls raise it.

Python shows a warning once for each line of code that raises it, but forgets what it has shown whenever a filter
changes, and scikit-learn changes filters in most of its calls. So the same warning would appear for every view of every
batch of every level.

``warnings.catch_warnings`` cannot be used to collect them. Before Python 3.14 it replaces state of the whole process:
if two threads enter and leave it alternately, the replaced state can stay for good. So this file leaves the filters
unchanged, and "error" and "ignore" keep their meaning. While fits run, it replaces ``warnings.showwarning`` by a
function that drops warnings which a call of the base method has shown before, and passes on all others. If another
thread restores that function after the last fit, the function passes on everything.
"""

from __future__ import annotations

import re
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


class _Thread(threading.local):
    calls = 0  # calls of the base method that run now; more than one if the base method is a CoHiRF


_thread = _Thread()
_lock = threading.Lock()
_fits = 0  # number of fits that run now, in any thread
_shown: set[tuple[type[Warning], str]] = set()  # warnings that these fits have shown
_pass_on: Any = warnings.showwarning


@contextmanager
def showing_warnings_once() -> Iterator[None]:
    """Show each warning of the base method once within this context; concurrent fits share the context."""
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
    """Mark the code that this thread runs within the context as a call of the base method."""
    _thread.calls += 1
    try:
        yield
    finally:
        _thread.calls -= 1


def _show_first(message: Any, category: type[Warning], *place: Any, **more: Any) -> None:
    if _fits > 0 and _thread.calls > 0:
        # Warnings that differ only in their numbers count as the same: "3 of 8 clusters found", "4 of 8 ...".
        key = (category, re.sub(r"\d+", "", str(message)))
        with _lock:
            if key in _shown:
                return
            _shown.add(key)
    _pass_on(message, category, *place, **more)
