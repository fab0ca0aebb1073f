"""Write a fitted model to a directory, which appears complete or not at all."""

from __future__ import annotations

import errno
import json
import os
import reprlib
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from cohirf import base_registry
from cohirf.durable.arrays import write_array
from cohirf.durable.directories import replacing_directory
from cohirf.durable.errors import naming
from cohirf.durable.files import write_new_file
from cohirf.durable.reading import names_in
from cohirf.saving.contents import collect_arrays, collect_scalars
from cohirf.saving.layout import FILE_NAMES, MANIFEST, MANIFEST_DIGEST, MAX_MANIFEST_BYTES, PREPARATION
from cohirf.saving.manifest import compose_manifest, digest_line
from cohirf.saving.parameters import describe_model


def save_model(
    model: Any, path: str | os.PathLike[str], *, overwrite: bool = False, preparation: dict[str, Any] | None = None
) -> None:
    """Write a fitted model to a directory of JSON and numeric arrays.

    The directory appears complete or not at all: it is written beside its place, forced to disk and then renamed.
    What a killed process has left beside its place is removed first.

    Parameters
    ----------
    model : CoHiRF
        The fitted model. A base estimator or ``medoid`` that is not in the registry is left out, and must be passed
        to :func:`cohirf.load`. Paths that a fit writes to, ``checkpoint`` and ``memory``, are never stored.
    path : str or path
        The directory to make. The one that it lies in must exist.
    overwrite : bool, default=False
        Replace a model that is there already. Anything else that is there is never replaced.
    preparation : dict, optional
        What was done to the data before the fit, as JSON can hold it; :func:`load_preparation` gives it back.

    See Also
    --------
    cohirf.load : Read the model again.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import cohirf
    >>> from sklearn.datasets import load_iris
    >>> X = load_iris().data
    >>> model = cohirf.CoHiRF(random_state=0).fit(X)
    >>> path = Path(tempfile.mkdtemp()) / "iris"
    >>> model.save(path)
    >>> bool((cohirf.load(path).predict(X) == model.predict(X)).all())
    True
    """
    if type(model).__name__ != "CoHiRF" or not base_registry.is_registered(model):
        raise TypeError(f"model={reprlib.repr(model)} is not a CoHiRF: only a CoHiRF can be saved.")
    check_is_fitted(model, "hierarchy_")
    if not isinstance(model.labels_, np.ndarray):
        raise TypeError(
            "labels_ is a Dask array, which cannot be saved with the model: call "
            "gather() first, which brings 13 bytes for each row here. Or write them with model.labels_.to_zarr(path) "
            "and, to keep what predicts, del model.labels_, model.parents_, model.stability_ and pickle the model."
        )
    target = Path(os.path.realpath(path))  # a link keeps pointing at the model
    description = describe_model(model)
    notes = None if preparation is None else _preparation_text(preparation)
    with naming(target, "The model was not saved: {}"):
        refuse_target(target, overwrite=overwrite)
        with replacing_directory(target, FILE_NAMES) as unfinished:
            _write_files(unfinished, model, description, notes)


def refuse_target(target: Path, *, overwrite: bool) -> None:
    """Raise if a model cannot be saved at a path because of what is there."""
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(
            errno.EEXIST, "There is something already: pass overwrite=True or another path", str(target)
        )
    names = names_in(target, len(FILE_NAMES)) if target.is_dir() else {""}
    if names and not ({MANIFEST} <= names <= FILE_NAMES):
        raise FileExistsError(
            errno.EEXIST, "What is there is not a saved model, and overwrite=True replaces nothing else", str(target)
        )


def _write_files(directory: Path, model: Any, description: dict[str, Any], preparation: bytes | None) -> None:
    """Write all files of a model and force them to disk, the manifest last."""
    arrays = collect_arrays(model)
    entries = {name: write_array(directory / f"{name}.npy", array) for name, array in arrays.items()}
    text = compose_manifest(description, collect_scalars(model), model.diagnostics_, entries, preparation)
    if preparation is not None:
        write_new_file(directory / PREPARATION, preparation)
    write_new_file(directory / MANIFEST, text)
    write_new_file(directory / MANIFEST_DIGEST, digest_line(text))


def _preparation_text(preparation: dict[str, Any]) -> bytes:
    text = (json.dumps(preparation, indent=1, allow_nan=False) + "\n").encode()
    if len(text) > MAX_MANIFEST_BYTES:
        raise ValueError(
            f"What was done to the data before the fit takes {len(text):,} bytes of JSON, and a model file holds at "
            f"most {MAX_MANIFEST_BYTES:,}: prepare the data beforehand."
        )
    return text
