"""Files: saved models, checkpoints of fits, their archive format, and files that are replaced as a whole.

====================  =================================================================
:mod:`.models`        save and load a fitted model
:mod:`.checkpoint`    resume a killed fit
:mod:`.parameters`    estimators as JSON
:mod:`.schema`        nested dataclasses as JSON and arrays, from the types of their fields
:mod:`.archive`       the file format of all of these: records with digests
:mod:`.files`         atomic replacement, temporary files, and errors that name the file
====================  =================================================================
"""

from typing import TYPE_CHECKING

from cohirf.optional import lazy_names

if TYPE_CHECKING:
    from cohirf.store.checkpoint import ResumableEngine, open_checkpoint
    from cohirf.store.files import CheckpointError, CheckpointWarning, ModelFileError
    from cohirf.store.models import (
        Origin,
        is_model,
        load_about,
        load_model,
        refuse_target,
        save_model,
    )

__all__ = [
    "CheckpointError",
    "CheckpointWarning",
    "ModelFileError",
    "Origin",
    "ResumableEngine",
    "is_model",
    "load_about",
    "load_model",
    "open_checkpoint",
    "refuse_target",
    "save_model",
]

MODULES = {
    "files": ("CheckpointError", "CheckpointWarning", "ModelFileError"),
    "checkpoint": ("ResumableEngine", "open_checkpoint"),
    "models": ("Origin", "is_model", "load_about", "load_model", "refuse_target", "save_model"),
}
__getattr__, __dir__ = lazy_names(
    __name__, {name: f"cohirf.store.{module}:{name}" for module, names in MODULES.items() for name in names}
)
