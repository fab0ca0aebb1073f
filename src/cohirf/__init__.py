"""cohirf: Consensus Hierarchical Random Features, a meta-algorithm that carries any clustering method further."""

from cohirf.algorithm.levels import LevelRecord
from cohirf.algorithm.thin_batches import ThinBatchesWarning
from cohirf.checkpoint import CheckpointError, CheckpointWarning
from cohirf.estimator import CoHiRF
from cohirf.hierarchy import FusionHierarchy
from cohirf.on_dask import to_dask_array
from cohirf.saving import ModelFileError
from cohirf.saving import load_model as load
from cohirf.sources import open_source

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "CoHiRF",
    "FusionHierarchy",
    "LevelRecord",
    "ModelFileError",
    "ThinBatchesWarning",
    "load",
    "open_source",
    "to_dask_array",
]

__version__ = "0.1.0"
