"""Read a saved model: unharmed, or not at all."""

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
from cohirf.saving.parameters import restore_model


def load_model(path: str | os.PathLike[str], *, estimator: Any = None, medoid: Any = None) -> Any:
    """Read a model that :meth:`cohirf.CoHiRF.save` wrote.

    No code in the files is run, whoever wrote them. Damage to any file is noticed. A model names no path that a later
    fit would write to: its ``checkpoint`` is None, and so is that of every estimator within.

    Parameters
    ----------
    path : str or path
        The directory.
    estimator : object, optional
        The base estimator. It takes the place of the stored one, and is needed where none could be stored.
    medoid : str or callable, optional
        The medoid rule. It takes the place of the stored one, and is needed where none could be stored.

    Returns
    -------
    model : CoHiRF
        A fitted model that predicts, transforms, cuts and refits as the saved one did.

    Raises
    ------
    ModelFileError
        If the files are damaged, incomplete, written by a newer version, or not a model. It is a ValueError.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import cohirf
    >>> from sklearn.datasets import load_iris
    >>> path = Path(tempfile.mkdtemp()) / "iris"
    >>> cohirf.CoHiRF(random_state=0).fit(load_iris().data).save(path)
    >>> cohirf.load(path)
    CoHiRF(random_state=0)
    """
    directory = Path(path)
    manifest = read_manifest(directory)
    _check_files(directory, manifest)
    _read_preparation(directory, manifest)
    passed = {name: value for name, value in (("estimator", estimator), ("medoid", medoid)) if value is not None}
    model = restore_model(directory / MANIFEST, manifest.model, passed)
    arrays = _read_arrays(directory, manifest)
    with reading(directory):
        vars(model).update(fitted_attributes(manifest, arrays))
    return model


def load_preparation(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return what a saved model says was done to the data before the fit; None if it says nothing.

    Parameters
    ----------
    path : str or path
        The directory.

    Returns
    -------
    preparation : dict or None
        What :func:`save_model` was given.

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
                raise ValueError(f"it has {statuses[-1].st_size} bytes, and the manifest says {entry.n_bytes}")
    with reading(directory):
        refuse_holes(statuses)


def _read_arrays(directory: Path, manifest: Manifest) -> Arrays:
    checks = value_checks(manifest.arrays, manifest.scalars)
    arrays = {}
    for name, entry in manifest.arrays.items():
        path = _array_path(directory, name)
        with reading(path):
            arrays[name] = read_array(path, entry, checks[name])
    return arrays


def _read_preparation(directory: Path, manifest: Manifest) -> dict[str, Any] | None:
    """Return what was done to the data before the fit, after the SHA-256 of its file has been checked."""
    if manifest.preparation is None:
        return None
    path = directory / PREPARATION
    with reading(path):
        text = read_bytes(path, min(manifest.preparation.n_bytes, MAX_MANIFEST_BYTES))
        if hashlib.sha256(text).hexdigest() != manifest.preparation.sha256:
            raise ValueError("its SHA-256 differs from the one in the manifest")
        content = parse_json(text)
        if not isinstance(content, dict):
            raise TypeError("it must be an object")
    return content


def _array_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.npy"
