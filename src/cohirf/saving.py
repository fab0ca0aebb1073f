"""How a fitted model becomes a directory of JSON and numeric arrays, and comes back unharmed or not at all.

A model is a directory. ``manifest.json`` holds the parameters, the small results, and of each array the size, type,
shape and SHA-256; ``manifest.sha256`` holds the SHA-256 of the manifest, as ``sha256sum`` writes it. The arrays lie
beside them as ``.npy`` files with names from ``ARRAYS``. What was done to the data before the fit may be told in
``preparation.json``, which is kept for whoever wrote it. Nothing in there is code.

The reader believes nothing. It knows from the manifest what each file must be, down to the bytes of its header, so it
compares headers and parses none; and it allocates an array only after the file's size has matched.
"""

from __future__ import annotations

import ctypes
import errno
import hashlib
import json
import math
import os
import reprlib
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from importlib import metadata
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import sklearn
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from cohirf import base_registry, validation
from cohirf.algorithm.levels import LevelRecord
from cohirf.durable import sync_directory, sync_file, write_new_file
from cohirf.hierarchy import FusionHierarchy
from cohirf.landmarks import Landmarks

FORMAT, FORMAT_VERSION = "cohirf-model", 1
MANIFEST, MANIFEST_DIGEST, PREPARATION = "manifest.json", "manifest.sha256", "preparation.json"
MAX_MANIFEST_BYTES = 2**22
MAX_PARAMETERS_BYTES = 2**17  # of JSON: some thousand estimators, which take a moment to make
CHUNK_BYTES = 2**22
MAX_COUNT = 2**62  # of rows, features...: far below where sums of a few of them overflow

# Files above this size that take up less than a thousandth of it on disk are a bomb, not arrays.
BOMB_BYTES, BOMB_RATIO = 2**26, 1000

NOT_STORED = ("estimator", "medoid")  # the parameters that may be absent from a file and passed at load
REMEDY = "Get an undamaged copy, or fit and save the model again."

INTEGERS, FLOATS = ("<i4", "<i8"), ("<f4", "<f8")
LEVELS = ("|u1", "<u2", "<u4", "<u8", *INTEGERS)

Arrays = dict[str, NDArray[Any]]


class ModelFileError(ValueError):
    """A saved model that is damaged, incomplete, too new, or was never one."""


@dataclass(frozen=True)
class ArrayLayout:
    """The types an array may have, and a name for each of its axes: axes of one name are equally long."""

    dtypes: tuple[str, ...]
    axes: tuple[str, ...]


ARRAYS = {
    "labels": ArrayLayout(INTEGERS, ("rows",)),
    "parents": ArrayLayout(INTEGERS, ("rows",)),
    "absorbed_at": ArrayLayout(LEVELS, ("rows",)),
    "medoid_indices": ArrayLayout(INTEGERS, ("clusters",)),
    "stability": ArrayLayout(("<f4",), ("rows",)),
    "feature_agreement": ArrayLayout(("<f8",), ("features",)),
    "landmark_rows": ArrayLayout(INTEGERS, ("landmarks",)),
    "landmark_labels": ArrayLayout(INTEGERS, ("landmarks",)),
    "medoids": ArrayLayout(FLOATS, ("clusters", "features")),
    "landmarks": ArrayLayout(FLOATS, ("landmarks", "relevant features")),
    "medoids_data": ArrayLayout(FLOATS, ("cells of medoids",)),
    "medoids_indices": ArrayLayout(INTEGERS, ("cells of medoids",)),
    "medoids_indptr": ArrayLayout(INTEGERS, ("starts of medoids",)),
    "landmarks_data": ArrayLayout(FLOATS, ("cells of landmarks",)),
    "landmarks_indices": ArrayLayout(INTEGERS, ("cells of landmarks",)),
    "landmarks_indptr": ArrayLayout(INTEGERS, ("starts of landmarks",)),
    "relevant_features": ArrayLayout(INTEGERS, ("relevant features",)),
    "feature_statistics": ArrayLayout(("<f8",), ("features",)),
    "column_means": ArrayLayout(FLOATS, ("features",)),
    "feature_names": ArrayLayout(("|u1",), ("bytes of names",)),
    "feature_name_lengths": ArrayLayout(("<i4",), ("features",)),
}
CSR_PARTS = ("data", "indices", "indptr")
CONTAINERS = {"dense": np.ndarray, "csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}
ALWAYS = {
    "labels",
    "parents",
    "absorbed_at",
    "medoid_indices",
    "stability",
    "feature_agreement",
    "landmark_rows",
    "landmark_labels",
}
DENSE_ALONE = {"medoids", "landmarks"}
CSR_ALONE = {f"{matrix}_{part}" for matrix in sorted(DENSE_ALONE) for part in CSR_PARTS}
NAMES = {"feature_names", "feature_name_lengths"}
SCREENING = {"relevant_features", "feature_statistics"}
FILE_NAMES = {MANIFEST, MANIFEST_DIGEST, PREPARATION, *(f"{name}.npy" for name in ARRAYS)}


@dataclass(frozen=True)
class ArrayEntry:
    """What the manifest says about an array file."""

    n_bytes: int
    dtype: str
    shape: tuple[int, ...]
    sha256: str


@dataclass(frozen=True)
class FileEntry:
    """What the manifest says about a file that is no array."""

    n_bytes: int
    sha256: str


@dataclass(frozen=True)
class Scalars:
    """The fitted results that are no arrays."""

    n_features: int
    n_clusters: int
    n_iter: int
    container: str


@dataclass(frozen=True)
class Manifest:
    """What ``manifest.json`` says, checked as far as it can be without the arrays."""

    model: dict[str, Any]
    scalars: Scalars
    diagnostics: list[LevelRecord]
    arrays: dict[str, ArrayEntry]
    preparation: FileEntry | None


def save_model(
    model: Any, path: str | os.PathLike[str], *, overwrite: bool = False, preparation: dict[str, Any] | None = None
) -> None:
    """Write a fitted model to a directory of JSON and numeric arrays.

    The directory appears complete or not at all: it is written beside its place, forced to disk and then renamed.

    Parameters
    ----------
    model : CoHiRF
        The fitted model. A base estimator or ``medoid`` that is not in the registry is left out, and must be passed
        to :func:`cohirf.load`.
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
        raise TypeError(f"model={reprlib.repr(model)} is no CoHiRF: only a CoHiRF can be saved.")
    check_is_fitted(model, "hierarchy_")
    if not isinstance(model.labels_, np.ndarray):
        raise TypeError(
            "The labels of a fit on Dask are no arrays of this process, and cannot be saved with the model: call "
            "gather() first, which brings 13 bytes for each row here. Or write them with model.labels_.to_zarr(path) "
            "and, to keep what predicts, del model.labels_, model.parents_, model.stability_ and pickle the model."
        )
    target = Path(os.path.realpath(path))  # a link keeps pointing at the model
    description = _describe_model(model)
    notes = None if preparation is None else _preparation_text(preparation)
    temporary = target.parent / f".cohirf-{secrets.token_hex(8)}"
    with _naming(target):
        refuse_target(target, overwrite=overwrite)
        try:
            temporary.mkdir()
            _write_files(temporary, model, description, notes)
            _publish(temporary, target)
        finally:
            # It holds what was written in vain, or the model that was replaced.
            shutil.rmtree(temporary, ignore_errors=True)


def load_model(path: str | os.PathLike[str], *, estimator: Any = None, medoid: Any = None) -> Any:
    """Read a model that :meth:`cohirf.CoHiRF.save` wrote.

    No code in the files is run, whoever wrote them. Damage to any file is noticed.

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
        If the files are damaged, incomplete, written by a newer version, or no model. It is a ValueError.

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
    manifest = _read_manifest(directory)
    _check_files(directory, manifest)
    _read_preparation(directory, manifest)
    passed = {name: value for name, value in (("estimator", estimator), ("medoid", medoid)) if value is not None}
    model = _restore_model(directory / MANIFEST, manifest.model, passed)
    arrays = {name: _read_array(_array_path(directory, name), entry) for name, entry in manifest.arrays.items()}
    with _refusing(directory):
        vars(model).update(_fitted_attributes(manifest, arrays))
    return model


def load_preparation(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Return what a saved model says was done to the data before the fit; None if it says nothing.

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
    text = _read_preparation(directory, _read_manifest(directory))
    if text is None:
        return None
    with _refusing(directory / PREPARATION):
        content = json.loads(text, parse_constant=_refuse_constant)
        if not isinstance(content, dict):
            raise TypeError("it must be an object")
        return content


# ---- the model as parts


def _describe_model(model: Any) -> dict[str, Any]:
    """Return the parameters of the model; those that cannot be stored, by their repr alone."""
    parameters = {}
    for name, value in model.get_params(deep=False).items():
        try:
            parameters[name] = base_registry.describe(value)
            # Half of the room is more than enough for all the others.
            _check_size(parameters[name], MAX_PARAMETERS_BYTES // 2)
            base_registry.restore(parameters[name])
        except (ValueError, TypeError, RecursionError) as error:
            if name not in NOT_STORED:
                raise ValueError(f"{name}={value!r} cannot be saved: {_one_line(error)}.") from error
            parameters[name] = {"absent": _one_line(repr(value))}
    return {"name": "CoHiRF", "parameters": parameters, "output": base_registry.output_of(model)}


def _check_size(content: Any, limit: int) -> None:
    if len(json.dumps(content)) > limit:
        raise ValueError(f"the parameters take more than {limit} bytes")


def _collect_scalars(model: Any) -> Scalars:
    # Medoids and landmarks are rows of the same data, so they are of one kind.
    container = type(model.medoids_).__name__ if sparse.issparse(model.medoids_) else "dense"
    return Scalars(int(model.n_features_in_), int(model.n_clusters_), int(model.n_iter_), container)


def _collect_arrays(model: Any) -> Arrays:
    """Return the arrays of a fitted model by the names of ``ARRAYS``: the model's own, not copies."""
    arrays = {
        "labels": model.labels_,
        "parents": model.hierarchy_.parents,
        "absorbed_at": model.hierarchy_.absorbed_at,
        "medoid_indices": model.medoid_indices_,
        "stability": model.stability_,
        "feature_agreement": model.feature_agreement_,
        "landmark_rows": model._landmark_rows,
        "landmark_labels": model._landmark_labels,
        **_matrix_parts("medoids", model.medoids_),
        **_matrix_parts("landmarks", model._landmarks.points),
    }
    if model.relevant_features_ is not None:
        arrays |= {"relevant_features": model.relevant_features_, "feature_statistics": model.feature_statistics_}
    if model._column_means is not None:
        arrays["column_means"] = model._column_means
    if hasattr(model, "feature_names_in_"):
        arrays |= _encode_names(model.feature_names_in_.tolist())
    return arrays


def _matrix_parts(name: str, matrix: Any) -> Arrays:
    if not sparse.issparse(matrix):
        return {name: matrix}
    return {f"{name}_{part}": getattr(matrix, part) for part in CSR_PARTS}


def _encode_names(names: list[str]) -> Arrays:
    # surrogatepass: a name that came from broken bytes is a name all the same
    text = "".join(names).encode("utf-8", "surrogatepass")
    lengths = np.array([len(name) for name in names], dtype=np.int32)
    return {"feature_names": np.frombuffer(text, dtype=np.uint8), "feature_name_lengths": lengths}


def _decode_names(arrays: Arrays) -> dict[str, NDArray[Any]]:
    """Return the attribute that holds the feature names; none if there are none."""
    if not arrays.keys() >= NAMES:
        return {}
    characters = arrays["feature_names"].tobytes().decode("utf-8", "surrogatepass")
    lengths = arrays["feature_name_lengths"]
    ends = np.cumsum(lengths, dtype=np.int64)
    if lengths.min() < 0 or ends[-1] != len(characters):
        raise ValueError("feature_name_lengths.npy does not fit feature_names.npy")
    starts = ends - lengths
    names = [characters[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    return {"feature_names_in_": np.array(names, dtype=object)}


def _restore_model(path: Path, description: dict[str, Any], passed: dict[str, Any]) -> Any:
    """Return the unfitted model, with what was passed in the place of what is stored or absent."""
    parameters = dict(description["parameters"])
    for name in passed:
        parameters.pop(name, None)
    for name in NOT_STORED:
        if _is_absent(parameters.get(name)):
            raise ModelFileError(
                f"{_shown(path)} names {name}={_one_line(parameters[name]['absent'])}, which could not be stored: "
                f"pass it, load(path, {name}=...)."
            )
    with _refusing(path):
        _check_size(parameters, MAX_PARAMETERS_BYTES)
        model = base_registry.restore_estimator({**description, "parameters": parameters})
        if model.estimator is not None:
            validation.check_base_method(model.estimator)
        get_tags(model)  # asks the base method, and fails for a pipeline of something else than steps
    if "estimator" in passed:
        validation.check_base_method(passed["estimator"])
    model.set_params(**passed)
    model._validate_params()
    return model


def _is_absent(value: Any) -> bool:
    return isinstance(value, dict) and value.keys() == {"absent"} and isinstance(value["absent"], str)


def _fitted_attributes(manifest: Manifest, arrays: Arrays) -> dict[str, Any]:
    """Return the attributes that ``fit`` sets, made from arrays whose lengths fit; raise where contents do not."""
    scalars = manifest.scalars
    hierarchy = FusionHierarchy(arrays["parents"], arrays["absorbed_at"])
    if hierarchy.n_levels > scalars.n_iter:
        raise ValueError(f"absorbed_at.npy has level {hierarchy.n_levels}, and the fit ended with {scalars.n_iter}")
    _check_labels(arrays, scalars.n_clusters)
    relevant = arrays.get("relevant_features")
    _check_features(relevant, scalars.n_features)
    n_relevant = scalars.n_features if relevant is None else len(relevant)
    landmarks = _build_matrix("landmarks", arrays, (len(arrays["landmark_labels"]), n_relevant), scalars)
    _check_finite("landmarks", landmarks)
    for name in ("column_means", "feature_statistics"):
        _check_finite(name, arrays.get(name, np.zeros(1)))
    return {
        "n_features_in_": scalars.n_features,
        "diagnostics_": manifest.diagnostics,
        "labels_": arrays["labels"],
        "n_clusters_": scalars.n_clusters,
        "medoid_indices_": arrays["medoid_indices"],
        "medoids_": _build_matrix("medoids", arrays, (scalars.n_clusters, scalars.n_features), scalars),
        "hierarchy_": hierarchy,
        "parents_": hierarchy.parents,
        "n_iter_": scalars.n_iter,
        "stability_": arrays["stability"],
        "feature_agreement_": arrays["feature_agreement"],
        "relevant_features_": relevant,
        "feature_statistics_": arrays.get("feature_statistics"),
        "_column_means": arrays.get("column_means"),
        "_landmarks": Landmarks.build(landmarks),
        "_landmark_rows": arrays["landmark_rows"],
        "_landmark_labels": arrays["landmark_labels"],
        **_decode_names(arrays),
    }


def _check_labels(arrays: Arrays, n_clusters: int) -> None:
    labels, medoids = arrays["labels"], arrays["medoid_indices"]
    for name in ("labels", "landmark_labels"):
        if arrays[name].min() < -1 or arrays[name].max() >= n_clusters:
            raise ValueError(f"{name}.npy has labels outside of -1 to {n_clusters - 1}")
    for name in ("medoid_indices", "landmark_rows"):
        if arrays[name].min(initial=0) < 0 or arrays[name].max(initial=0) >= len(labels):
            raise ValueError(f"{name}.npy has row numbers outside of 0 to {len(labels) - 1}")
    if not np.array_equal(labels[arrays["landmark_rows"]], arrays["landmark_labels"]):
        raise ValueError("landmark_labels.npy has labels that the landmarks do not have among all rows")
    if not np.array_equal(labels[medoids], np.arange(n_clusters)):
        raise ValueError("medoid_indices.npy names rows that are not in their clusters")


def _check_features(relevant: NDArray[Any] | None, n_features: int) -> None:
    if relevant is None:
        return
    if relevant[0] < 0 or relevant[-1] >= n_features or (relevant[1:] <= relevant[:-1]).any():
        raise ValueError(f"relevant_features.npy is not a rising list of features from 0 to {n_features - 1}")


def _build_matrix(name: str, arrays: Arrays, shape: tuple[int, int], scalars: Scalars) -> Any:
    if scalars.container == "dense":
        return arrays[name]
    n_rows, n_features = shape
    data, indices, indptr = (arrays[f"{name}_{part}"] for part in CSR_PARTS)
    # scipy's own check lets decreasing pointers through where the last is 0, and its loops would run out of bounds
    if len(indptr) != n_rows + 1 or indptr[0] != 0 or indptr[-1] != len(data) or (indptr[1:] < indptr[:-1]).any():
        raise ValueError(f"{name}_indptr.npy is not the index pointer of {n_rows} rows with {len(data)} cells")
    if indices.min(initial=0) < 0 or indices.max(initial=0) >= n_features:
        raise ValueError(f"{name}_indices.npy has column numbers outside of 0 to {n_features - 1}")
    return CONTAINERS[scalars.container]((data, indices, indptr), shape=shape)


def _check_finite(name: str, matrix: Any) -> None:
    if not np.isfinite(matrix.data if sparse.issparse(matrix) else matrix).all():
        raise ValueError(f"{name} holds NaN or infinity")


# ---- the manifest


def _write_files(directory: Path, model: Any, description: dict[str, Any], notes: bytes | None) -> None:
    """Write all files of a model and force them to disk, the manifest last."""
    arrays = _collect_arrays(model)
    entries = {name: _write_array(_array_path(directory, name), array) for name, array in arrays.items()}
    text = _compose_manifest(model, description, entries, notes)
    if notes is not None:
        write_new_file(directory / PREPARATION, notes)
    write_new_file(directory / MANIFEST, text)
    write_new_file(directory / MANIFEST_DIGEST, _digest_line(text))
    sync_directory(directory)


def _preparation_text(preparation: dict[str, Any]) -> bytes:
    text = (json.dumps(preparation, indent=1, allow_nan=False) + "\n").encode()
    if len(text) > MAX_MANIFEST_BYTES:
        raise ValueError(
            f"What was done to the data before the fit takes {len(text):,} bytes of JSON, and a model file holds at "
            f"most {MAX_MANIFEST_BYTES:,}: prepare the data beforehand."
        )
    return text


def _compose_manifest(
    model: Any, description: dict[str, Any], entries: dict[str, ArrayEntry], notes: bytes | None
) -> bytes:
    """Return the manifest, after a check that it can be read again."""
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "package_version": _package_version(),
        "scikit_learn_version": sklearn.__version__,
        "model": description,
        "scalars": asdict(_collect_scalars(model)),
        "diagnostics": [_describe_record(record) for record in model.diagnostics_],
        "arrays": {name: _describe_entry(entry) for name, entry in entries.items()},
    }
    if notes is not None:
        manifest["preparation"] = {"bytes": len(notes), "sha256": hashlib.sha256(notes).hexdigest()}
    try:
        _parse_manifest(manifest)  # a model that was tampered with is refused now, not when it is needed
    except (ValueError, TypeError) as error:
        raise ValueError(f"The model cannot be saved: {_one_line(error)}. Fit it again.") from error
    text = (json.dumps(manifest, indent=1, allow_nan=False) + "\n").encode()
    if len(text) > MAX_MANIFEST_BYTES:
        raise ValueError(
            f"The parameters and the {len(model.diagnostics_):,} levels of the model take {len(text):,} bytes of JSON, "
            f"and a model file holds at most {MAX_MANIFEST_BYTES:,}: shorten diagnostics_ and n_iter_, or pickle it."
        )
    return text


def _package_version() -> str:
    try:
        return metadata.version("cohirf")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"


def _describe_record(record: LevelRecord) -> dict[str, Any]:
    return {name: None if math.isnan(value) else value for name, value in asdict(record).items()}


def _describe_entry(entry: ArrayEntry) -> dict[str, Any]:
    return {"bytes": entry.n_bytes, "dtype": entry.dtype, "shape": list(entry.shape), "sha256": entry.sha256}


def _digest_line(text: bytes) -> bytes:
    return f"{hashlib.sha256(text).hexdigest()}  {MANIFEST}\n".encode()


def _read_manifest(directory: Path) -> Manifest:
    """Return the manifest, after its SHA-256 and its version have been checked."""
    if not directory.exists():
        raise FileNotFoundError(errno.ENOENT, "There is no saved model", str(directory))
    if not directory.is_dir():
        raise ModelFileError(f"{_shown(directory)} is no directory: a saved model is one. Give its path.")
    text = _read_bytes(directory / MANIFEST, MAX_MANIFEST_BYTES)
    if _read_bytes(directory / MANIFEST_DIGEST, MAX_MANIFEST_BYTES) != _digest_line(text):
        raise ModelFileError(
            f"{_shown(directory / MANIFEST)} or {MANIFEST_DIGEST} is damaged: the SHA-256 differs. {REMEDY}"
        )
    with _refusing(directory / MANIFEST):
        content = json.loads(text, parse_constant=_refuse_constant)
        _check_version(directory / MANIFEST, content)
        return _parse_manifest(content)


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON")


def _check_version(path: Path, content: Any) -> None:
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ValueError(f"this is no manifest of the format {FORMAT}")
    version = content.get("format_version")
    if type(version) is int and version > FORMAT_VERSION:
        raise ModelFileError(
            f"{_shown(path)} has format version {reprlib.repr(version)}, and this cohirf reads {FORMAT_VERSION}: "
            f"upgrade cohirf to {_one_line(content.get('package_version'))} or later."
        )
    if type(version) is not int or version != FORMAT_VERSION:
        raise ValueError(f"format version {reprlib.repr(version)} does not exist")


def _parse_manifest(content: Any) -> Manifest:
    """Check types, closed sets and the fit of all sizes."""
    keys = {"format", "format_version", "package_version", "scikit_learn_version"}
    keys |= {"model", "scalars", "diagnostics", "arrays"}
    has_preparation = isinstance(content, dict) and "preparation" in content
    content = _object(content, keys | {"preparation"} if has_preparation else keys, "the manifest")
    scalars = _parse_scalars(content["scalars"])
    if not isinstance(content["diagnostics"], list) or len(content["diagnostics"]) != scalars.n_iter:
        raise ValueError(f"diagnostics must be a list of {scalars.n_iter} levels")
    if not isinstance(content["arrays"], dict):
        raise TypeError("arrays must be an object")
    arrays = {name: _parse_entry(name, entry) for name, entry in content["arrays"].items()}
    _check_presence(set(arrays), scalars.container)
    _check_lengths(arrays, scalars)
    model = _object(content["model"], {"name", "parameters", "output"}, "model")
    if model["name"] != "CoHiRF" or not isinstance(model["parameters"], dict):
        raise ValueError(f"model {reprlib.repr(model['name'])} is not CoHiRF with its parameters")
    preparation = _parse_file(content["preparation"]) if has_preparation else None
    diagnostics = [_parse_record(record) for record in content["diagnostics"]]
    return Manifest(model, scalars, diagnostics, arrays, preparation)


def _parse_file(content: Any) -> FileEntry:
    content = _object(content, {"bytes", "sha256"}, "preparation")
    if not isinstance(content["sha256"], str):
        raise TypeError("the sha256 of preparation must be a string")
    return FileEntry(_count(content["bytes"], "bytes"), content["sha256"])


def _parse_scalars(content: Any) -> Scalars:
    content = _object(content, {field.name for field in fields(Scalars)}, "scalars")
    n_features, n_clusters, n_iter = (_count(content[name], name) for name in ("n_features", "n_clusters", "n_iter"))
    container = content["container"]
    if not isinstance(container, str) or container not in CONTAINERS:
        raise ValueError(f"container {reprlib.repr(container)} is not one of {', '.join(CONTAINERS)}")
    return Scalars(n_features, n_clusters, n_iter, container)


def _parse_record(content: Any) -> LevelRecord:
    content = _object(content, {field.name for field in fields(LevelRecord)}, "a level of diagnostics")
    values: dict[str, Any] = {}
    for field in fields(LevelRecord):
        parse = _count if field.type in ("int", int) else _number
        values[field.name] = parse(content[field.name], field.name)
    return LevelRecord(**values)


def _parse_entry(name: str, content: Any) -> ArrayEntry:
    if name not in ARRAYS:
        raise ValueError(f"{reprlib.repr(name)} is not an array that a model has")
    content = _object(content, {"bytes", "dtype", "shape", "sha256"}, name)
    dtype, shape, sha256 = content["dtype"], content["shape"], content["sha256"]
    if not isinstance(dtype, str) or dtype not in ARRAYS[name].dtypes:
        raise ValueError(f"{name} has the type {reprlib.repr(dtype)}, and only {', '.join(ARRAYS[name].dtypes)} may be")
    if not isinstance(shape, list) or len(shape) != len(ARRAYS[name].axes):
        raise ValueError(f"{name} has the shape {reprlib.repr(shape)}, and {len(ARRAYS[name].axes)} axes are expected")
    if not isinstance(sha256, str):
        raise TypeError(f"the sha256 of {name} must be a string")
    entry = ArrayEntry(
        _count(content["bytes"], "bytes"), dtype, tuple(_count(length, "a length") for length in shape), sha256
    )
    expected = len(_npy_header(entry)) + math.prod(entry.shape) * np.dtype(dtype).itemsize
    if entry.n_bytes != expected:
        raise ValueError(f"{name} of shape {entry.shape} takes {expected} bytes, not {entry.n_bytes}")
    return entry


def _check_presence(names: set[str], container: str) -> None:
    needed, other = (DENSE_ALONE, CSR_ALONE) if container == "dense" else (CSR_ALONE, DENSE_ALONE | {"column_means"})
    needed = needed | ALWAYS | (NAMES if names & NAMES else set()) | (SCREENING if names & SCREENING else set())
    for name in sorted(needed - names):
        raise ValueError(f"the array {name} is missing")
    for name in sorted(names & other):
        raise ValueError(f"the array {name} has no place in a model of {container} data")


def _check_lengths(arrays: dict[str, ArrayEntry], scalars: Scalars) -> None:
    """Refuse axes of one name that differ in length."""
    known = {"features": (scalars.n_features, "n_features"), "clusters": (scalars.n_clusters, "n_clusters")}
    if "relevant_features" not in arrays:
        known["relevant features"] = known["features"]
    for name, entry in arrays.items():
        for axis, length in zip(ARRAYS[name].axes, entry.shape, strict=True):
            expected, where = known.setdefault(axis, (length, name))
            if length != expected:
                raise ValueError(f"{name} has {length} {axis}, and {where} says {expected}")
    for axis in ("rows", "landmarks", "features", "relevant features"):
        if known[axis][0] == 0:
            raise ValueError(f"a fitted model has no fewer than one of its {axis}")


def _object(content: Any, keys: set[str], what: str) -> dict[str, Any]:
    if not isinstance(content, dict) or content.keys() != keys:
        raise ValueError(f"{what} must be an object with the keys {', '.join(sorted(keys))}")
    return content


def _count(value: Any, what: str) -> int:
    if type(value) is not int or not 0 <= value < MAX_COUNT:
        raise ValueError(f"{what} is {reprlib.repr(value)}, and must be a whole number that is not negative")
    return value


def _number(value: Any, what: str) -> float:
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{what} is {reprlib.repr(value)}, and must be a number or null")
    return float(value)


# ---- array files


def _array_path(directory: Path, name: str) -> Path:
    return directory / f"{name}.npy"


def _npy_header(entry: ArrayEntry) -> bytes:
    """Return the header of a ``.npy`` file, version 1.0: fixed here, so that it never changes with NumPy's version."""
    text = f"{{'descr': '{entry.dtype}', 'fortran_order': False, 'shape': {entry.shape}, }}"
    text += " " * (-(len(text) + 11) % 64) + "\n"  # magic, version, length and line end make 11 bytes
    return b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode("ascii")


def _chunks(array: NDArray[Any]) -> Iterator[memoryview]:
    """View the memory of a contiguous array piece by piece."""
    memory = array.reshape(-1).view(np.uint8).data
    for start in range(0, len(memory), CHUNK_BYTES):
        yield memory[start : start + CHUNK_BYTES]


def _write_array(path: Path, array: NDArray[Any]) -> ArrayEntry:
    """Write one array and return its entry in the manifest."""
    array = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("<"))
    header = _npy_header(ArrayEntry(0, array.dtype.str, array.shape, ""))
    digest = hashlib.sha256(header)
    with path.open("xb") as file:
        file.write(header)
        for chunk in _chunks(array):
            digest.update(chunk)
            file.write(chunk)
        sync_file(file)
    return ArrayEntry(len(header) + array.nbytes, array.dtype.str, array.shape, digest.hexdigest())


def _read_array(path: Path, entry: ArrayEntry) -> NDArray[Any]:
    """Read one array, whose file's size has been compared with its entry, while its SHA-256 is computed."""
    with _refusing(path), _open_regular(path) as file:
        header = file.read(len(_npy_header(entry)))
        if header != _npy_header(entry):
            raise ValueError(f"it does not begin as an array of type {entry.dtype} and shape {entry.shape} does")
        digest = hashlib.sha256(header)
        array = np.empty(entry.shape, dtype=entry.dtype)
        for chunk in _chunks(array):
            if file.readinto(chunk) != len(chunk):  # type: ignore[attr-defined]  # binary files have it
                raise ValueError("it is cut short")
            digest.update(chunk)
        if digest.hexdigest() != entry.sha256:
            raise ValueError("its SHA-256 differs from the one in the manifest")
    return array.astype(array.dtype.newbyteorder("="), copy=False)


# ---- files and directories


def _read_preparation(directory: Path, manifest: Manifest) -> bytes | None:
    """Return the content of the file on how the data was prepared, after its SHA-256 has been checked."""
    if manifest.preparation is None:
        return None
    path = directory / PREPARATION
    text = _read_bytes(path, min(manifest.preparation.n_bytes, MAX_MANIFEST_BYTES))
    with _refusing(path):
        if hashlib.sha256(text).hexdigest() != manifest.preparation.sha256:
            raise ValueError("its SHA-256 differs from the one in the manifest")
    return text


def _check_files(directory: Path, manifest: Manifest) -> None:
    """Refuse missing, extra and wrongly sized files, links, and files that are mostly holes."""
    arrays = manifest.arrays
    expected = {f"{name}.npy" for name in arrays} | {MANIFEST, MANIFEST_DIGEST}
    expected |= set() if manifest.preparation is None else {PREPARATION}
    for name in sorted(_names_in(directory) - expected):
        raise ModelFileError(
            f"{_shown(directory / name)} is an extra file, not part of the model: remove it if you put it there."
        )
    claimed = on_disk = 0
    for name, entry in arrays.items():
        with _refusing(_array_path(directory, name)):
            status = _regular_status(_array_path(directory, name))
            if status.st_size != entry.n_bytes:
                raise ValueError(f"it has {status.st_size} bytes, and the manifest says {entry.n_bytes}")
        claimed += status.st_size
        on_disk += 512 * getattr(status, "st_blocks", 0)  # 0 where the system does not tell
    if claimed > BOMB_BYTES and 0 < on_disk < claimed / BOMB_RATIO:
        raise ModelFileError(
            f"{_shown(directory)} claims {claimed} bytes of arrays and has {on_disk} on disk, the rest is holes. "
            f"{REMEDY}"
        )


def _names_in(directory: Path) -> set[str]:
    """Return the names in a directory, or so many of them that some are not a model's."""
    names: set[str] = set()
    with os.scandir(directory) as entries:
        for entry in entries:
            names.add(entry.name)
            if len(names) > len(FILE_NAMES):
                break
    return names


def _regular_status(path: Path) -> os.stat_result:
    try:
        status = path.lstat()
    except FileNotFoundError:
        raise ValueError("the file is missing") from None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError("it is no regular file but a link, a directory, a pipe or a device")
    return status


def _open_regular(path: Path) -> BinaryIO:
    """Open a file for reading that is no link and no pipe, which could lead elsewhere or never end."""
    _regular_status(path)
    # should another process exchange the file just now: never follow a link, never wait for a pipe
    flags = (getattr(os, name, 0) for name in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"))
    return os.fdopen(os.open(path, os.O_RDONLY | sum(flags)), "rb")


def _read_bytes(path: Path, limit: int) -> bytes:
    with _refusing(path), _open_regular(path) as file:
        content = file.read(limit + 1)
        if len(content) > limit:
            raise ValueError(f"it has more than {limit} bytes")
    return content


def refuse_target(target: Path, *, overwrite: bool) -> None:
    """Raise if a model cannot be saved at a path because of what is there."""
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(
            errno.EEXIST, "There is something already: pass overwrite=True or another path", str(target)
        )
    names = _names_in(target) if target.is_dir() else {""}
    if names and not ({MANIFEST} <= names <= FILE_NAMES):
        raise FileExistsError(
            errno.EEXIST, "What is there is no saved model, and overwrite=True replaces nothing else", str(target)
        )


def _publish(temporary: Path, target: Path) -> None:
    """Put the finished directory in its place; what was there before is then at ``temporary``."""
    swap = _exchange if target.exists() else Path.replace
    swap(temporary, target)
    try:
        sync_directory(target.parent)
    except OSError:
        if temporary.exists():
            _exchange(temporary, target)
        else:
            target.replace(temporary)
        raise


def _exchange(left: Path, right: Path) -> None:
    """Let two directories change places, in one step where the system can do it."""
    if _exchange_in_one_step(left, right):
        return
    # A crash between these lines leaves both directories whole, one of them under the name of ``parked``.
    parked = left.with_name(f"{left.name}-parked")
    right.replace(parked)
    try:
        left.replace(right)
        parked.replace(left)
    except OSError:
        if right.exists():
            right.replace(left)
        parked.replace(right)
        raise


def _exchange_in_one_step(left: Path, right: Path) -> bool:
    """Call Linux's renameat2, which Python does not have; return whether it worked."""
    at_working_directory, rename_exchange = -100, 2
    try:
        rename = ctypes.CDLL(None).renameat2
    except (AttributeError, OSError, TypeError):
        return False
    paths = os.fsencode(left), os.fsencode(right)
    return bool(rename(at_working_directory, paths[0], at_working_directory, paths[1], rename_exchange) == 0)


# ---- errors


@contextmanager
def _refusing(path: Path) -> Iterator[None]:
    """Turn whatever the content of a file leads to into one line that names the file."""
    try:
        yield
    except ModelFileError:
        raise
    except RecursionError as error:
        raise ModelFileError(f"{_shown(path)} is nested too deeply. {REMEDY}") from error
    except MemoryError as error:
        raise ModelFileError(f"{_shown(path)} does not fit into memory: load it on a larger machine.") from error
    except OSError as error:  # of reading, which names no file
        raise OSError(error.errno, f"The model was not read: {error.strerror or error}", str(path)) from error
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError) as error:
        raise ModelFileError(f"{_shown(path)} cannot be used: {_one_line(error).rstrip('.')}. {REMEDY}") from error


@contextmanager
def _naming(target: Path) -> Iterator[None]:
    """Let an error of the system name the model that was to be saved; it often names no file at all."""
    try:
        yield
    except FileExistsError:
        raise
    except OSError as error:
        raise OSError(error.errno, f"The model was not saved: {error.strerror or error}", str(target)) from error


def _shown(path: Path) -> str:
    return repr(str(path))


def _one_line(text: Any) -> str:
    return " ".join(str(text).split())[:400]
