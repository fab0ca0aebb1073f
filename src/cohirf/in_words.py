"""Results that say in words what they hold, and where the words are.

The library states facts, and the words are the application's. The library names the application
here alone, and imports it when words are asked for, as pandas imports its plotting backend.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any


def application(module: str) -> Any:
    """Return a module of the application, such as "explain.describe"."""
    return import_module(f"cohirf.app.{module}")


class InWords:
    """Lends words to a result of the library: ``print`` shows them."""

    def describe(self) -> str:
        """Return in words what this holds, as :func:`cohirf.app.explain.say` does."""
        said: str = application("explain.results").say(self)
        return said

    def __str__(self) -> str:
        """Return the same as ``describe``."""
        return self.describe()
