"""Save a fitted model as a directory of JSON and numeric arrays, and load it with full validation.

``manifest.json`` holds the parameters, the scalar results, and the size, type, shape and SHA-256 of each array.
``manifest.sha256`` holds the SHA-256 of the manifest, in the format of the program ``sha256sum``. Each array is a
``.npy`` file whose name comes from a closed list. An optional file ``preparation.json`` describes how the data was
prepared before the fit; this package stores it and does not interpret it. None of the files contains code.

The reader trusts nothing. ``layout`` declares which files are allowed, and which values; everything else is refused.
"""

from cohirf.saving.errors import ModelFileError
from cohirf.saving.layout import MANIFEST_DIGEST, PREPARATION
from cohirf.saving.load import load_model, load_origin, load_preparation
from cohirf.saving.origin import Origin
from cohirf.saving.save import refuse_target, save_model

__all__ = [
    "MANIFEST_DIGEST",
    "PREPARATION",
    "ModelFileError",
    "Origin",
    "load_model",
    "load_origin",
    "load_preparation",
    "refuse_target",
    "save_model",
]
