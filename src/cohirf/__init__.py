"""cohirf: Consensus Hierarchical Random Features, a meta-algorithm that carries any clustering
method further.
"""

from typing import TYPE_CHECKING

from cohirf._version import __version__ as __version__
from cohirf.optional import lazy_names

if TYPE_CHECKING:
    from cohirf.algorithm.choose_medoids import SampledMedoid
    from cohirf.algorithm.levels import LevelRecord
    from cohirf.beyond.reach import ThinBatchesWarning
    from cohirf.choice import Choice
    from cohirf.data.dask_arrays import to_dask_array
    from cohirf.degrees.drift import Drift
    from cohirf.eps import EpsSuggestion, suggest_eps
    from cohirf.estimator import CoHiRF
    from cohirf.hierarchy import FusionHierarchy
    from cohirf.merge_models import merge
    from cohirf.screening import FeatureScreen
    from cohirf.sources import open_source
    from cohirf.store.files import CheckpointError, CheckpointWarning, ModelFileError
    from cohirf.store.label_files import write_labels
    from cohirf.store.models import load
    from cohirf.summary.numbers import Changes
    from cohirf.voting import ConsensusResult, consensus

__all__ = [
    "Changes",
    "CheckpointError",
    "CheckpointWarning",
    "Choice",
    "CoHiRF",
    "ConsensusResult",
    "Drift",
    "EpsSuggestion",
    "FeatureScreen",
    "FusionHierarchy",
    "LevelRecord",
    "ModelFileError",
    "SampledMedoid",
    "ThinBatchesWarning",
    "consensus",
    "load",
    "merge",
    "open_source",
    "suggest_eps",
    "to_dask_array",
    "write_labels",
]

_PLACES = {
    "SampledMedoid": "cohirf.algorithm.choose_medoids",
    "LevelRecord": "cohirf.algorithm.levels",
    "ThinBatchesWarning": "cohirf.beyond.reach",
    "Choice": "cohirf.choice",
    "to_dask_array": "cohirf.data.dask_arrays",
    "Drift": "cohirf.degrees.drift",
    "EpsSuggestion": "cohirf.eps",
    "suggest_eps": "cohirf.eps",
    "CoHiRF": "cohirf.estimator",
    "FusionHierarchy": "cohirf.hierarchy",
    "FeatureScreen": "cohirf.screening",
    "open_source": "cohirf.sources",
    "CheckpointError": "cohirf.store.files",
    "CheckpointWarning": "cohirf.store.files",
    "ModelFileError": "cohirf.store.files",
    "write_labels": "cohirf.store.label_files",
    "load": "cohirf.store.models",
    "Changes": "cohirf.summary.numbers",
    "merge": "cohirf.merge_models",
    "ConsensusResult": "cohirf.voting",
    "consensus": "cohirf.voting",
}

__getattr__, __dir__ = lazy_names(__name__, _PLACES)
