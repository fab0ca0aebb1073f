"""Load a saved model; refuse one that is damaged or inconsistent."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from cohirf.durable.arrays import Arrays, read_array
from cohirf.durable.errors import shown
from cohirf.durable.json_text import parse_json
from cohirf.durable.reading import names_in, read_bytes, refuse_holes, regular_status
from cohirf.saving.contents import fitted_attributes
from cohirf.saving.errors import ModelFileError, reading
from cohirf.saving.layout import FILE_NAMES, MANIFEST, MANIFEST_DIGEST, MAX_MANIFEST_BYTES, PREPARATION, value_checks
from cohirf.saving.manifest import Manifest, read_manifest
from cohirf.saving.origin import Origin
from cohirf.saving.parameters import restore_model


def load_model(path: str | os.PathLike[str], *, estimator: Any = None, medoid: Any = None) -> Any:
    """Load a model that :meth:`cohirf.CoHiRF.save` has written.

    Loading never runs code from the files, so it is safe to load models of unknown origin. Damage to any file is
    detected. Paths that a fit writes to are not restored: ``checkpoint`` of the model and of all nested estimators is
    None.

    Parameters
    ----------
    path : str or path
        The directory of the model.
    estimator : object, optional
        The base estimator. It replaces the stored one. It is required if the base estimator could not be stored, such
        as an estimator of your own class.
    medoid : str or callable, optional
        The medoid rule. It replaces the stored one. It is required if ``medoid`` was a callable.

    Returns
    -------
    model : CoHiRF
        A fitted model. ``predict``, ``transform``, ``hierarchy_`` and a new ``fit`` work as with the saved model.

    Raises
    ------
    ModelFileError
        If the files are damaged, incomplete or of a newer format, or if the directory is not a saved model.
        ModelFileError is a subclass of ValueError.
    FileNotFoundError
        If the directory does not exist.

    See Also
    --------
    cohirf.CoHiRF.save : Save a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import cohirf
    >>> from sklearn.datasets import load_iris
    >>> path = Path(tempfile.mkdtemp()) / "iris"
    >>> X = load_iris().data
    >>> model = cohirf.CoHiRF(random_state=0).fit(X)
    >>> model.save(path)
    >>> loaded = cohirf.load(path)
    >>> loaded
    CoHiRF(random_state=0)
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    directory = Path(path)
    manifest = read_manifest(directory)
    _check_files(directory, manifest)
    _read_preparation(directory, manifest)
    passed = {name: value for name, value in (("estimator", estimator), ("medoid", medoid)) if value is not None}
    model = restore_model(directory / MANIFEST, manifest.model, manifest.scalars.n_features, passed)
    arrays = _read_arrays(directory, manifest)
    with reading(directory):
        vars(model).update(fitted_attributes(manifest, arrays))
    return model


def load_preparation(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Load the description of how the data of a saved model was prepared.

    Parameters
    ----------
    path : str or path
        The directory of the model.

    Returns
    -------
    preparation : dict or None
        The dict that was passed to :func:`save_model` as ``preparation``; None if the model was saved without it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.saving import load_preparation, save_model
    >>> path = Path(tempfile.mkdtemp()) / "iris"
    >>> save_model(CoHiRF(random_state=0).fit(load_iris().data), path, preparation={"unit": "cm"})
    >>> load_preparation(path)
    {'unit': 'cm'}
    """
    directory = Path(path)
    return _read_preparation(directory, read_manifest(directory))


def load_origin(path: str | os.PathLike[str]) -> Origin | None:
    """Load where a saved model comes from; None if it was saved without it.

    Parameters
    ----------
    path : str or path
        The directory of the model.

    Returns
    -------
    origin : Origin or None
        What was passed to :func:`save_model` as ``origin``.
    """
    return read_manifest(Path(path)).origin


def _check_files(directory: Path, manifest: Manifest) -> None:
    """Refuse missing, extra and wrongly sized files, links, and files that are mostly holes."""
    expected = {f"{name}.npy" for name in manifest.arrays} | {MANIFEST, MANIFEST_DIGEST}
    expected |= set() if manifest.preparation is None else {PREPARATION}
    for name in sorted(names_in(directory, len(FILE_NAMES)) - expected):
        raise ModelFileError(
            f"{shown(directory / name)} is an extra file, not part of the model: remove it if you put it there."
        )
    statuses = []
    for name, entry in manifest.arrays.items():
        with reading(_array_path(directory, name)):
            statuses.append(regular_status(_array_path(directory, name)))
            if statuses[-1].st_size != entry.n_bytes:
                raise ValueError(f"it has {statuses[-1].st_size} bytes, but the manifest says {entry.n_bytes}")
    with reading(directory):
        refuse_holes(statuses)


def _read_arrays(directory: Path, manifest: Manifest) -> Arrays:
    checks = value_checks(manifest.arrays, manifest.scalars, manifest.n_numbers)
    arrays = {}
    for name, entry in manifest.arrays.items():
        path = _array_path(directory, name)
        with reading(path):
            arrays[name] = read_array(path, entry, checks[name])
    return arrays


def _read_preparation(directory: Path, manifest: Manifest) -> dict[str, Any] | None:
    """Return the content of ``preparation.json``, after its SHA-256 has been checked; None if there is no such file."""
    if manifest.preparation is None:
        return None
    path = directory / PREPARATION
    with reading(path):
        text = read_bytes(path, min(manifest.preparation.n_bytes, MAX_MANIFEST_BYTES))
        if hashlib.sha256(text).hexdigest() != manifest.preparation.sha256:
            raise ValueError("its SHA-256 differs from the one in the manifest")
        content = parse_json(text)
        if not isinstance(content, dict):
            raise TypeError("it must be a JSON object")
    return content


def _array_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.npy"
