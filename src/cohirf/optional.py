"""Optional packages: imported where they are used, with an error that names the extra that brings them."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def import_optional(name: str, extra: str) -> Any:
    """Return the module ``name``, or say how to install it."""
    try:
        return import_module(name)
    except ImportError as error:
        package = name.partition(".")[0]
        raise ImportError(f'This needs {package}: install it with pip install "cohirf[{extra}]".') from error
