"""Engines run tasks, in this process or on a Dask cluster.

Backends of joblib need no engine: ``LocalEngine`` runs on the one that ``joblib.parallel_config``
chooses. To add an engine, implement the interface ``cohirf.rows.storage.Engine``, and return it
from ``local_engine``, or from ``later_engine`` and ``contract_first_level`` of a kind of data in
``cohirf.data``; ``open_training_data`` chooses it.
"""

from cohirf.engines.dask import DaskEngine
from cohirf.engines.local import LocalEngine, ThreadEngine, local_engine
from cohirf.engines.streaming import StreamingEngine

__all__ = ["DaskEngine", "LocalEngine", "StreamingEngine", "ThreadEngine", "local_engine"]
