"""Lazy imports: public names of a package that are imported on first use, so that the package itself loads quickly."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_names(package: str, places: Mapping[str, str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a package.

    Parameters
    ----------
    package : str
        The ``__name__`` of the package.
    places : mapping
        For each public name, the place of its definition: ``"module:name"``.
    """

    def get(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        module, _, attribute = places[name].partition(":")
        found = getattr(import_module(module), attribute)
        setattr(sys.modules[package], name, found)  # so that this function is not called for it again
        return found

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *places})

    return get, names
