"""Callers: the line of the user's code that a warning points to."""

from __future__ import annotations

import inspect
import warnings

PACKAGES = ("cohirf", "sklearn")


def warn_caller(message: str, category: type[Warning]) -> None:
    """Issue a warning that points to the innermost line outside of cohirf and scikit-learn.

    A fixed ``stacklevel`` cannot do this, because ``fit`` may be called directly, or by ``fit_predict``, a pipeline or
    a search of scikit-learn.
    """
    frame, level = inspect.currentframe(), 1
    while frame is not None and frame.f_globals.get("__name__", "").partition(".")[0] in PACKAGES:
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
