"""Fits of Dask arrays and data frames: their input types, and the first level of a fit, which runs on the workers."""

from cohirf.on_dask.data import (
    DaskTable,
    LazyDaskSource,
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
    "LazyDaskSource",
    "align_vectors",
    "check_weights",
    "gather_vectors",
    "is_dask",
    "refuse_other_collections",
    "spread_source",
    "to_dask_array",
]
