"""Engines run tasks, in this process or on a Dask cluster.

To add one, implement the interface ``cohirf.rows.storage.Engine``, and return it from ``later_engine`` or
``contract_first_level`` of the kind of data that it is for, in ``cohirf.data``.
"""

from cohirf.engines.dask import DaskEngine
from cohirf.engines.local import LocalEngine, local_engine
from cohirf.engines.streaming import StreamingEngine

__all__ = ["DaskEngine", "LocalEngine", "StreamingEngine", "local_engine"]
