"""Engines run tasks, in this process or on a Dask cluster.

Backends of joblib need no engine: ``LocalEngine`` runs on the one that ``joblib.parallel_config``
chooses. To add an engine, implement the interface ``cohirf.rows.storage.Engine``, and add it to
the table of ``tests/engines/test_contract.py``. There are two ways to choose it:

- For whatever data: ``local_engine`` returns it. It is the only place that chooses an engine for
  tasks that are sent with their rows, and it is given ``n_jobs`` alone. What else it needs must be
  found from there, as the backend of joblib is, which is a context of the user.
- For some data: ``later_engine`` and ``contract_first_level`` of a kind of data in ``cohirf.data``
  return it, as they return ``DaskEngine``; ``open_training_data`` chooses the kind of data.

Other work of a fit runs on no engine that is chosen: the views of the default base method use
``ThreadEngine`` (``cohirf.fitting.fit``), blocks of rows the threads of a fit
(``cohirf.rows.threads``), and views of graphs joblib (``cohirf.graphs.fit``).
"""

from cohirf.engines.dask import DaskEngine
from cohirf.engines.local import LocalEngine, ThreadEngine, local_engine
from cohirf.engines.streaming import StreamingEngine

__all__ = ["DaskEngine", "LocalEngine", "StreamingEngine", "ThreadEngine", "local_engine"]
