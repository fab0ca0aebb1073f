"""Results that say in words what they hold.

The library states facts, and the words are the application's. So results do not know them:
``cohirf/__init__.py`` tells where they are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar


class InWords:
    """Lends words to a result of the library: ``print`` shows them."""

    words: ClassVar[Callable[[Any], str]] = staticmethod(repr)  # the package sets it

    def describe(self) -> str:
        """Return in words what this holds, as :func:`cohirf.app.explain.say` does."""
        return type(self).words(self)

    def __str__(self) -> str:
        """Return the same as ``describe``."""
        return self.describe()
