"""Fits of data that is on Dask: what such data is, and how the first level of a fit runs where it is."""

from cohirf.on_dask.data import (
    DaskTable,
    GatheredSource,
    align_vectors,
    check_weights,
    gather_vectors,
    is_dask,
    refuse_other_collections,
    spread_source,
    to_dask_array,
)
from cohirf.on_dask.first_level import DaskPopulation, FirstLevel

__all__ = [
    "DaskPopulation",
    "DaskTable",
    "FirstLevel",
    "GatheredSource",
    "align_vectors",
    "check_weights",
    "gather_vectors",
    "is_dask",
    "refuse_other_collections",
    "spread_source",
    "to_dask_array",
]
