"""Engines run tasks, in this process or on a cluster of Dask or Ray.

Backends of joblib need no engine: ``LocalEngine`` runs on the one that ``joblib.parallel_config``
chooses. To add an engine, implement the interface ``cohirf.rows.storage.Engine``, return it from
``choice.py``, the only place that chooses engines, and add it to the table of
``tests/engines/test_contract.py``. A function of ``choice.py`` is given what the user has asked
for; what else it needs must be found from there, as the backend of joblib is, which is a context of
the user. Kinds of data (``cohirf.data``) say which function of ``choice.py`` they need.

Blocks of rows are no tasks: functions divide their rows among the threads of a fit
(``threads_of_fit``, ``cohirf.rows.threads``), wherever they are called.
"""

from cohirf.engines.choice import (
    engine_at_rows,
    engine_of_batches,
    engine_of_sent_rows,
    engine_of_views,
    engine_on_device,
    engine_on_ray,
    engine_that_gathers,
)
from cohirf.engines.dask import DaskEngine
from cohirf.engines.local import LocalEngine, ThreadEngine, count_jobs, threads_of_fit
from cohirf.engines.ray import RayEngine
from cohirf.engines.streaming import StreamingEngine
from cohirf.engines.tasks import one_thread

__all__ = [
    "DaskEngine",
    "LocalEngine",
    "RayEngine",
    "StreamingEngine",
    "ThreadEngine",
    "count_jobs",
    "engine_at_rows",
    "engine_of_batches",
    "engine_of_sent_rows",
    "engine_of_views",
    "engine_on_device",
    "engine_on_ray",
    "engine_that_gathers",
    "one_thread",
    "threads_of_fit",
]
