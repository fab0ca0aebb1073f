"""How a fitted model becomes a directory of JSON and numeric arrays, and comes back unharmed or not at all.

A model is a directory. ``manifest.json`` holds the parameters, the small results, and of each array the size, type,
shape and SHA-256; ``manifest.sha256`` holds the SHA-256 of the manifest, as ``sha256sum`` writes it. The arrays lie
beside them as ``.npy`` files with names from a closed list. What was done to the data before the fit may be told in
``preparation.json``, which is kept for whoever wrote it. Nothing in there is code.

The reader believes nothing. ``layout`` says which files there may be, and which values; ``durable`` reads no others.
"""

from cohirf.saving.errors import ModelFileError
from cohirf.saving.layout import MANIFEST_DIGEST, PREPARATION
from cohirf.saving.load import load_model, load_preparation
from cohirf.saving.save import refuse_target, save_model

__all__ = [
    "MANIFEST_DIGEST",
    "PREPARATION",
    "ModelFileError",
    "load_model",
    "load_preparation",
    "refuse_target",
    "save_model",
]
