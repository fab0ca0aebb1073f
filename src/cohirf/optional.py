"""Imports when something is used: optional packages, with errors that say how to install them, and
public names.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from typing import Any

__all__ = ["import_optional", "is_installed", "lazy_names"]


def import_optional(name: str, extra: str, user: str) -> Any:
    """Import and return a module, or raise an error that says how to install it.

    Parameters
    ----------
    name : str
        Name of the module.
    extra : str
        The extra of cohirf that installs it.
    user : str
        The part of cohirf that needs it, as the subject of a sentence: "GridDBSCAN".
    """
    package = name.partition(".")[0]
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is not None and error.name.partition(".")[0] != package:
            raise  # the package is installed, but one of its own imports is missing
        raise ImportError(
            f'{user} needs {package}: install it with pip install "cohirf[{extra}]", or in a '
            "checkout of cohirf with "
            f'pip install ".[{extra}]".'
        ) from error


def is_installed(name: str) -> bool:
    """Return whether there is a module ``name``, without importing it."""
    return find_spec(name) is not None


def lazy_names(
    package: str, places: Mapping[str, str]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package whose names are imported on first
    use: it loads quickly.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    places : mapping of str to str
        The module of each name. The package imports the same names for type checkers, under
        ``if TYPE_CHECKING:``.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        found = getattr(import_module(places[name]), name)
        # so that this function is not called for it again
        setattr(sys.modules[package], name, found)
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
