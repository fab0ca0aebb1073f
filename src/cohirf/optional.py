"""Optional packages: imported when they are used, with an error that says what needs them and how to install them."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import Any


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
            f'{user} needs {package}: install it with pip install "cohirf[{extra}]", or in a checkout of cohirf with '
            f'pip install ".[{extra}]".'
        ) from error


def is_installed(name: str) -> bool:
    """Return whether there is a module ``name``, without importing it."""
    return find_spec(name) is not None
