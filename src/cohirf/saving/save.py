"""Save a fitted model to a directory, atomically."""

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
from cohirf.algorithm.arrays import is_on_device
from cohirf.durable.arrays import Arrays, check_array, write_array
from cohirf.durable.directories import replacing_directory
from cohirf.durable.errors import CONTENT_ERRORS, naming
from cohirf.durable.files import write_new_file
from cohirf.durable.json_text import parse_json
from cohirf.durable.reading import names_in, read_bytes
from cohirf.saving.contents import collect_arrays, collect_scalars, fitted_attributes
from cohirf.saving.errors import refusing_to_save
from cohirf.saving.layout import (
    FILE_NAMES,
    FORMAT,
    MANIFEST,
    MANIFEST_DIGEST,
    MAX_MANIFEST_BYTES,
    PREPARATION,
    value_checks,
)
from cohirf.saving.manifest import Manifest, compose_manifest, digest_line
from cohirf.saving.origin import Origin
from cohirf.saving.parameters import describe_model, restore_described
from cohirf.saving.summaries import describe_changes, describe_history, describe_summary


def save_model(
    model: Any,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    preparation: dict[str, Any] | None = None,
    origin: Origin | None = None,
) -> None:
    """Write a fitted model to a directory of JSON and numeric arrays.

    Saving is atomic: the model is written to a temporary directory beside ``path``, flushed to disk and then renamed.
    An incomplete model never appears at ``path``. Temporary directories of earlier saves that were killed are removed.

    Parameters
    ----------
    model : CoHiRF
        The fitted model. A base estimator or callable ``medoid`` that cannot be stored is left out, and must be
        passed to :func:`cohirf.load`. Paths that a fit writes to, ``checkpoint`` and ``memory``, are never stored.
    path : str or path
        The directory to create. Its parent directory must exist.
    overwrite : bool, default=False
        Replace an existing model at ``path``. A file or directory that is not a saved model is never replaced.
    preparation : dict, optional
        A description, serialisable as JSON, of how the data was prepared before the fit, such as
        :meth:`cohirf.preparation.Preparation.to_json` returns. :func:`load_preparation` returns it.
    origin : Origin, optional
        The file that the model was fitted to, and the command; :func:`load_origin` returns it. Reports show it.

    Raises
    ------
    FileExistsError
        If ``path`` exists, and either ``overwrite`` is False or ``path`` is not a saved model.
    ValueError
        If a parameter of the model cannot be stored, or if :func:`cohirf.load` would refuse the model. Nothing is
        replaced then.

    See Also
    --------
    cohirf.load : Load the model.
    load_preparation : Load the description of the preparation.

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
        raise TypeError(f"model={reprlib.repr(model)} is not a CoHiRF estimator: only CoHiRF estimators can be saved.")
    check_is_fitted(model, "n_clusters_")
    if is_on_device(model.labels_):
        raise TypeError(
            "labels_ is on a device, and cannot be saved with the model: call gather() first, which loads 13 bytes per "
            "row into this process."
        )
    if not isinstance(model.labels_, np.ndarray):
        raise TypeError(
            "labels_ is a Dask array, which cannot be saved with the model: call gather() first, which loads 13 bytes "
            "per row into this process. Or write the labels with model.labels_.to_zarr(path), and to keep a model that "
            "predicts, delete model.labels_, model.parents_ and model.stability_ and pickle the model."
        )
    target = Path(os.path.realpath(path))  # save through a symbolic link
    description = describe_model(model)
    with refusing_to_save():
        restore_described(model, description)
    notes = None if preparation is None else _preparation_text(preparation)
    with naming(target, "The model was not saved: {}"):
        refuse_target(target, overwrite=overwrite)
        with replacing_directory(target, FILE_NAMES) as unfinished:
            _write_files(unfinished, model, description, notes, origin)


def refuse_target(target: Path, *, overwrite: bool) -> None:
    """Raise FileExistsError if saving a model to ``target`` would replace something that must not be replaced."""
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "The path already exists: pass overwrite=True or another path", str(target))
    if not target.is_dir() or not _is_model_or_empty(target):
        raise FileExistsError(
            errno.EEXIST,
            "The existing path is not a saved model, and overwrite=True replaces only those: pass another path",
            str(target),
        )


def _is_model_or_empty(directory: Path) -> bool:
    """Return whether a directory is empty, or has only files of a model and a manifest of our format."""
    names = names_in(directory, len(FILE_NAMES))
    if not names:
        return True
    if not {MANIFEST, MANIFEST_DIGEST} <= names <= FILE_NAMES:
        return False
    try:
        content = parse_json(read_bytes(directory / MANIFEST, MAX_MANIFEST_BYTES))
    except (*CONTENT_ERRORS, RecursionError):
        return False
    return isinstance(content, dict) and content.get("format") == FORMAT


def _write_files(
    directory: Path, model: Any, description: dict[str, Any], preparation: bytes | None, origin: Origin | None
) -> None:
    """Write all files of a model and flush them to disk, the manifest last; refuse a model that would not load."""
    arrays = collect_arrays(model)
    entries = {name: write_array(directory / f"{name}.npy", array) for name, array in arrays.items()}
    updates = {
        "summary": describe_summary(model),
        "changes": describe_changes(model.changes_),
        "history": describe_history(model.history_),
    }
    with refusing_to_save():
        text, manifest = compose_manifest(
            description, collect_scalars(model), model.diagnostics_, entries, preparation, updates, origin
        )
        _check_contents(manifest, arrays)
    if preparation is not None:
        write_new_file(directory / PREPARATION, preparation)
    write_new_file(directory / MANIFEST, text)
    write_new_file(directory / MANIFEST_DIGEST, digest_line(text))


def _check_contents(manifest: Manifest, arrays: Arrays) -> None:
    """Raise what loading the arrays would raise."""
    checks = value_checks(manifest.arrays, manifest.scalars, manifest.n_numbers)
    for name in manifest.arrays:
        try:
            check_array(arrays[name], checks[name])
        except ValueError as error:
            raise ValueError(f"the array {name} is not valid: {error}") from error
    fitted_attributes(manifest, arrays)


def _preparation_text(preparation: dict[str, Any]) -> bytes:
    text = (json.dumps(preparation, indent=1, allow_nan=False) + "\n").encode()
    if len(text) > MAX_MANIFEST_BYTES:
        raise ValueError(
            f"preparation takes {len(text):,} bytes of JSON, but a saved model holds at most {MAX_MANIFEST_BYTES:,}: "
            f"prepare the data before the fit, and save the model without preparation."
        )
    return text
