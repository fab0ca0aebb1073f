"""Where tasks run. An engine calls a function with each tuple of arguments and gives the results back in order."""

from cohirf.engines.local import LocalEngine

__all__ = ["LocalEngine"]
