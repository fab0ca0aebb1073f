"""Results that say in words what they hold. The library states facts; the words are those of the
application, which is imported when they are asked for, as by the methods in ``described.py``.
"""

from __future__ import annotations


class InWords:
    """Lends words to a result of the library: ``print`` shows them."""

    def describe(self) -> str:
        """Return in words what this holds, as :func:`cohirf.app.explain.say` does."""
        from cohirf.app.explain.results import say

        return say(self)

    def __str__(self) -> str:
        """Return the same as ``describe``."""
        return self.describe()
