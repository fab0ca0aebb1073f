"""Optional packages: imported where they are used, with an error that names the extra that brings them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


def import_optional(name: str, extra: str) -> Any:
    """Return the module ``name``, or say how to install it."""
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # it is there, and lacks something itself
        raise ImportError(f'This needs {package}: install it with pip install "cohirf[{extra}]".') from error


def is_installed(name: str) -> bool:
    """Tell whether there is a module ``name``, without importing it."""
    return find_spec(name) is not None
