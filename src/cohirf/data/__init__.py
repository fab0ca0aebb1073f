"""The data of a fit: in memory, in a source, on Dask or Ray.

Each implements the interface ``Data``.
"""

from cohirf.data.first_level import Data
from cohirf.data.in_process import InMemory, InSource
from cohirf.data.on_dask import OnDask
from cohirf.data.on_ray import OnRay

__all__ = ["Data", "InMemory", "InSource", "OnDask", "OnRay"]
