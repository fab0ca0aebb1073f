"""Files: saved models, checkpoints of fits, their archive format, and files that are replaced as a
whole.

====================  =================================================================
:mod:`.models`        save and load a fitted model
:mod:`.checkpoint`    resume a killed fit
:mod:`.parameters`    estimators as JSON
:mod:`.schema`        nested dataclasses as JSON and arrays, from the types of their fields
:mod:`.archive`       the file format of all of these: records with digests
:mod:`.objects`       models and checkpoints at URLs
:mod:`.files`         atomic replacement, temporary files, and errors that name the file
====================  =================================================================
"""

from typing import TYPE_CHECKING

from cohirf.optional import lazy_names

if TYPE_CHECKING:
    from cohirf.store.files import (
        CONTENT_ERRORS,
        TemporaryFile,
        check_writable,
        locked,
        one_line,
        refuse_irregular,
        refuse_url,
        replacing,
        shown,
    )
    from cohirf.store.label_files import refuse_label_folder
    from cohirf.store.models import (
        Origin,
        is_model,
        load_about,
        refuse_target,
    )

__all__ = [
    "CONTENT_ERRORS",
    "Origin",
    "TemporaryFile",
    "check_writable",
    "is_model",
    "load_about",
    "locked",
    "one_line",
    "refuse_irregular",
    "refuse_label_folder",
    "refuse_target",
    "refuse_url",
    "replacing",
    "shown",
]

_PLACES = {
    "CONTENT_ERRORS": "cohirf.store.files",
    "TemporaryFile": "cohirf.store.files",
    "check_writable": "cohirf.store.files",
    "locked": "cohirf.store.files",
    "one_line": "cohirf.store.files",
    "refuse_irregular": "cohirf.store.files",
    "refuse_url": "cohirf.store.files",
    "replacing": "cohirf.store.files",
    "shown": "cohirf.store.files",
    "refuse_label_folder": "cohirf.store.label_files",
    "Origin": "cohirf.store.models",
    "is_model": "cohirf.store.models",
    "load_about": "cohirf.store.models",
    "refuse_target": "cohirf.store.models",
}

__getattr__, __dir__ = lazy_names(__name__, _PLACES)
