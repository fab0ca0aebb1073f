"""Engines run tasks, in this process or on a Dask cluster: implementations of ``cohirf.rows.storage.Engine``."""

from cohirf.engines.dask import DaskEngine
from cohirf.engines.local import LocalEngine
from cohirf.engines.streaming import StreamingEngine

__all__ = ["DaskEngine", "LocalEngine", "StreamingEngine"]
