"""Where tasks run: implementations of ``cohirf.algorithm.engine.Engine``."""

from cohirf.engines.local import LocalEngine

__all__ = ["LocalEngine"]
