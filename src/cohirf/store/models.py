"""Save a fitted model as an archive, and load it; refuse a file that is damaged or inconsistent.

The first record has the parameters and what the user has added, the second one the fitted attributes. The fields of
:class:`About` and :class:`Fitted` are all there is to the format.
"""

from __future__ import annotations

import errno
import json
import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from importlib import metadata
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import sklearn
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from cohirf.algorithm.arrays import is_on_device
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import LevelRecord
from cohirf.choice import Choice
from cohirf.error_contexts import replacing_errors
from cohirf.hierarchy import FusionHierarchy
from cohirf.neighbours.landmarks import Landmarks
from cohirf.store.archive import Archive, Arrays
from cohirf.store.errors import CONTENT_ERRORS, REMEDY, ModelFileError, naming, one_line, refusing, shown
from cohirf.store.files import replacing
from cohirf.store.parameters import NOT_STORED, describe_model, is_absent, is_known, restore_model
from cohirf.store.schema import Layout, read, write
from cohirf.summary.history import Step
from cohirf.summary.model import Model
from cohirf.summary.numbers import Changes
from cohirf.summary.row_map import RowMap
from cohirf.summary.row_results import RowResults
from cohirf.summary.summary import Summary

KIND, VERSION = "cohirf-model", 7
MAX_JSON_BYTES = 2**22  # of a record: this much JSON takes up to 100 megabytes of memory
FloatArray = NDArray[np.float64]


@dataclass(frozen=True)
class Origin:
    """Where a model comes from, as far as its parameters do not tell.

    Attributes
    ----------
    data : str
        The path of the data, as the user gave it.
    options : dict of str to object
        The arguments of :func:`cohirf.preparation.prepare`, besides the data.
    command : str
        The command that fitted the model.

    Examples
    --------
    >>> from cohirf.store import Origin
    >>> Origin("plants.csv", {"scaling": "standard"}, "cohirf fit plants.csv").options
    {'scaling': 'standard'}
    """

    data: str
    options: dict[str, Any] = field(default_factory=dict)
    command: str = ""

    def __post_init__(self) -> None:
        """Refuse names that are not those of arguments: reports show them as Python code."""
        if not all(name.isidentifier() for name in self.options):
            raise ValueError("the options of origin must have the names of arguments")


@dataclass(frozen=True)
class About:
    """The first record of a saved model: versions, parameters, and what the user has added."""

    cohirf: str
    scikit_learn: str
    model: dict[str, Any]
    preparation: dict[str, Any] | None
    origin: Origin | None


@dataclass(frozen=True)
class Fitted:
    """The second record of a saved model: the attributes that a fit sets, by their names."""

    n_features_in_: Annotated[int, Layout("features")]
    n_clusters_: Annotated[int, Layout("clusters")]
    n_rows: Annotated[int, Layout("rows")]
    n_iter_: int
    batch_size_: int | None
    cluster_numbers_: Annotated[IntArray, Layout("clusters")]
    medoid_indices_: Annotated[IntArray, Layout("clusters", below="rows")]
    medoids_: Annotated[Any, Layout("clusters features")]
    exemplar_indices_: Annotated[IntArray, Layout("clusters", below="rows")]
    exemplars_: Annotated[Any, Layout("clusters features")]
    feature_agreement_: Annotated[FloatArray, Layout("features")]
    feature_names_in_: NDArray[np.uint8] | None  # bytes of a JSON list: there may be very many names
    choice_: Choice | None
    diagnostics_: list[LevelRecord]
    changes_: Changes | None
    history_: tuple[Step, ...]
    _column_means: Annotated[FloatArray, Layout("features")] | None
    _landmarks: Landmarks
    _landmark_rows: Annotated[IntArray, Layout("landmarks", below="rows")]
    _rows: RowResults  # labels_, parents_, stability_ and hierarchy_ are looked up in it
    _summary: Summary | None

    @classmethod
    def of(cls, model: Model) -> Fitted:
        """Return the attributes of a fitted model."""
        names = getattr(model, "feature_names_in_", None)
        stored: dict[str, Any] = {
            "n_rows": vars(model)["_rows"].n_rows,
            "feature_names_in_": None
            if names is None
            else np.frombuffer(json.dumps(names.tolist()).encode(), np.uint8),
        }
        others = [part.name for part in fields(cls) if part.name not in stored]
        return cls(**stored, **{name: getattr(model, name) for name in others})

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of a fitted model, after a check that they fit together."""
        found = {name: value for name, value in vars(self).items() if name != "n_rows"}
        names = found.pop("feature_names_in_")
        if names is not None:
            found["feature_names_in_"] = _parse_names(names, self.n_features_in_)
        self._check()
        return found

    def _check(self) -> None:
        rows, landmarks = self._rows, self._landmarks
        if not self.n_rows or not self.n_features_in_ or not len(landmarks.labels):
            raise ValueError("the model has no rows, features or landmarks")
        if len(self.diagnostics_) != self.n_iter_:
            raise ValueError(f"the model has {len(self.diagnostics_)} records of {self.n_iter_} levels")
        _check_rows(rows, self.n_rows)
        if not np.isin(rows.labels, np.append(self.cluster_numbers_, -1)).all():
            raise ValueError("labels_ has numbers that are not those of clusters")
        for name in ("medoid_indices_", "exemplar_indices_"):
            if not np.array_equal(rows.labels_of(getattr(self, name)), self.cluster_numbers_):
                raise ValueError(f"{name} lists rows that are not in the clusters they should represent")
        if not np.array_equal(rows.labels_of(self._landmark_rows), landmarks.labels):
            raise ValueError("landmarks have other labels than their rows")
        if self._summary is not None:
            _check_summary(self._summary, self.n_rows)


def save_model(
    model: Model,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    preparation: dict[str, Any] | None = None,
    origin: Origin | None = None,
) -> None:
    """Write a fitted model to a file of JSON and numeric arrays.

    Saving is atomic: the file is written without a name, or with a temporary one beside ``path``, flushed to disk and
    then given its name. An incomplete model never appears at ``path``.

    Parameters
    ----------
    model : CoHiRF
        The fitted model. A base estimator or callable ``medoid`` that cannot be stored is left out, and must be
        passed to :func:`cohirf.load`. Paths that a fit writes to, ``checkpoint`` and ``memory``, are never stored.
    path : str or path
        The file to create. Its directory must exist.
    overwrite : bool, default=False
        Replace an existing model at ``path``. A file that is not a saved model is never replaced.
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
    >>> path = Path(tempfile.mkdtemp()) / "iris.cohirf"
    >>> model.save(path)
    >>> bool((cohirf.load(path).predict(X) == model.predict(X)).all())
    True
    """
    _refuse_model(model)
    description = describe_model(model)
    about = write(About, About(_package_version(), sklearn.__version__, description, preparation, origin))
    with _refusing_to_save():
        absent = {name: getattr(model, name) for name in NOT_STORED if is_absent(description["parameters"][name])}
        restore_model(Path(), description, model.n_features_in_, absent)
        fitted = write(Fitted, Fitted.of(model))
        read(Fitted, *fitted).attributes()
    _check_size("preparation and parameters", about[0], "save the model without preparation")
    _check_size("the records of levels and updates", fitted[0], "shorten diagnostics_ and n_iter_, or pickle the model")
    target = Path(os.path.realpath(path))  # save through a symbolic link
    with naming(target, "The model was not saved: {}"):
        refuse_target(target, overwrite=overwrite)
        with replacing(target) as file:
            archive = Archive(file)
            archive.begin(KIND, VERSION)
            for content, arrays in (about, fitted):
                archive.append(content, arrays)


def load_model(
    path: str | os.PathLike[str], *, estimator: Any = None, views: list[Any] | None = None, medoid: Any = None
) -> Any:
    """Load a model that :meth:`cohirf.CoHiRF.save` has written.

    Loading never runs code from the file, so it is safe to load models of unknown origin. Any damage is detected.
    Paths that a fit writes to are not restored: ``checkpoint`` of the model and of all nested estimators is None.

    Parameters
    ----------
    path : str or path
        The file of the model.
    estimator : object, optional
        The base estimator. It replaces the stored one. It is required if the base estimator could not be stored, such
        as an estimator of your own class.
    views : list, optional
        The list of views. It replaces the stored one. It is required if one of its estimators could not be stored.
    medoid : str or callable, optional
        The medoid rule. It replaces the stored one. It is required if ``medoid`` was a callable.

    Returns
    -------
    model : CoHiRF
        A fitted model. ``predict``, ``transform``, ``hierarchy_`` and a new ``fit`` work as with the saved model.

    Raises
    ------
    ModelFileError
        If the file is damaged, incomplete or of another format, or if it is not a saved model.
        ModelFileError is a subclass of ValueError.
    FileNotFoundError
        If the file does not exist.

    See Also
    --------
    cohirf.CoHiRF.save : Save a model.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import cohirf
    >>> from sklearn.datasets import load_iris
    >>> path = Path(tempfile.mkdtemp()) / "iris.cohirf"
    >>> X = load_iris().data
    >>> model = cohirf.CoHiRF(random_state=0).fit(X)
    >>> model.save(path)
    >>> loaded = cohirf.load(path)
    >>> loaded
    CoHiRF(random_state=0)
    >>> bool((loaded.predict(X) == model.predict(X)).all())
    True
    """
    given = {"estimator": estimator, "views": views, "medoid": medoid}
    passed = {name: value for name, value in given.items() if value is not None}
    with _opened(Path(path)) as archive:
        about = read(About, *_next(archive))
        fitted = read(Fitted, *_next(archive))
        if archive.file.read(1):
            raise ValueError("it has more bytes than a model")
        attributes = fitted.attributes()
    model = restore_model(Path(path), about.model, fitted.n_features_in_, passed)
    vars(model).update(attributes)
    return model


def load_preparation(path: str | os.PathLike[str]) -> dict[str, Any] | None:
    """Load the description of how the data of a saved model was prepared.

    Parameters
    ----------
    path : str or path
        The file of the model.

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
    >>> from cohirf.store import load_preparation, save_model
    >>> path = Path(tempfile.mkdtemp()) / "iris.cohirf"
    >>> save_model(CoHiRF(random_state=0).fit(load_iris().data), path, preparation={"unit": "cm"})
    >>> load_preparation(path)
    {'unit': 'cm'}
    """
    return _load_about(Path(path)).preparation


def load_origin(path: str | os.PathLike[str]) -> Origin | None:
    """Load where a saved model comes from; None if it was saved without it.

    Parameters
    ----------
    path : str or path
        The file of the model.

    Returns
    -------
    origin : Origin or None
        What was passed to :func:`save_model` as ``origin``.
    """
    return _load_about(Path(path)).origin


def is_model(path: Path) -> bool:
    """Return whether a path is a saved model, of whatever version."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(KIND) + 1) == f"{KIND} ".encode()


def refuse_target(target: Path, *, overwrite: bool) -> None:
    """Raise FileExistsError if saving a model to ``target`` would replace something that must not be replaced."""
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(errno.EEXIST, "The path already exists: pass overwrite=True or another path", str(target))
    if not is_model(target):
        raise FileExistsError(
            errno.EEXIST,
            "The existing path is not a saved model, and overwrite=True replaces only those: pass another path",
            str(target),
        )


# ---- reading


def _load_about(path: Path) -> About:
    with _opened(path) as archive:
        return read(About, *_next(archive))  # type: ignore[no-any-return]  # what it reads has the type it is given


@contextmanager
def _opened(path: Path) -> Iterator[Archive]:
    """Yield the archive of a saved model after its first line; errors of its content become ModelFileError."""
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "There is no saved model: check the path", str(path))
    if not path.is_file():
        raise ModelFileError(
            f"{shown(path)} is not a file, but this version of cohirf saves a model as one file: if an older version "
            f"wrote it, fit the model again."
        )
    with (
        naming(path, "The model was not read: {}"),
        refusing(path, ModelFileError, REMEDY),
        path.open("rb", buffering=0) as file,
    ):
        archive = Archive(file, MAX_JSON_BYTES)
        kind, version = archive.open()
        if kind != KIND:
            raise ValueError(f"it is a {kind}, not a {KIND}")
        if version != VERSION:
            remedy = "upgrade cohirf" if version > VERSION else "fit the model again"
            raise ModelFileError(
                f"{shown(path)} has format version {version}, but this version of cohirf reads version {VERSION}: "
                f"{remedy}."
            )
        yield archive


def _next(archive: Archive) -> tuple[Any, Arrays]:
    record = archive.read()
    if record is None:
        raise ValueError("it is cut short")
    return record


def _parse_names(text: NDArray[np.uint8], n_features: int) -> NDArray[Any]:
    names = json.loads(text.tobytes())
    if not isinstance(names, list) or len(names) != n_features or not all(type(name) is str for name in names):
        raise ValueError(f"feature_names_in_ must be a list of {n_features} names")
    return np.array(names, dtype=object)


def _check_summary(summary: Summary, n_rows: int) -> None:
    """Raise if a summary is not that of a model with so many rows."""
    n_leaves = summary.n_leaves
    if summary.n_rows != n_rows or sum(summary.update_rows) != n_rows:
        raise ValueError(f"the summary has {summary.n_rows} rows in updates of {summary.update_rows}")
    if len(summary.labels) != n_leaves + summary.pending.n_rows:
        raise ValueError("the summary has not a label for each group of rows")
    _check_map(summary.row_map, n_leaves)


def _check_rows(rows: RowResults, n_rows: int) -> None:
    """Raise if results of groups are not those of a model with so many rows."""
    n_groups, numbers = len(rows.rows), rows.rows
    _check_map(rows.row_map, n_groups)
    if rows.n_rows != n_rows:
        raise ValueError(f"the groups have {rows.n_rows} rows, but the model has {n_rows}")
    for name in ("labels", "parents", "absorbed_at", "stability", "sizes"):
        if getattr(rows, name).shape != (n_groups,):
            raise ValueError(f"{name} has not an entry for each of {n_groups} groups")
    if not _numbers_all(numbers, n_rows) or not (numbers[1:] > numbers[:-1]).all():
        raise ValueError("rows of groups are not sorted row numbers")
    if not np.array_equal(rows.row_map.find_leaves(numbers), np.arange(n_groups)):
        raise ValueError("rows stand for groups that they are not in")
    if (rows.absorbed_at == 1).any():
        raise ValueError("absorbed_at has groups that were absorbed before they were formed")
    above = np.maximum(rows.absorbed_at, 1) - 1
    tree = replace(rows.tree, level=rows.tree.level - 1)
    FusionHierarchy(rows.parents, above, tree=tree)  # raises if it is none


def _check_map(row_map: RowMap, n_groups: int) -> None:
    """Raise if a map has rows of groups that are not there."""
    for part in row_map.parts:
        vectors = (part.leaf_of, part.stability, part.position)
        if not all(isinstance(vector, np.ndarray) and vector.ndim == 1 for vector in vectors):
            raise ValueError("the groups of rows are not vectors")
        if part.leaf_of.dtype.kind not in "iu" or part.stability.dtype.kind != "f":
            raise ValueError(f"the groups of rows are of type {part.leaf_of.dtype}")
        if len(part.leaf_of) != len(part.stability):
            raise ValueError("rows have not one stability each")
        if not (_numbers_all(part.leaf_of, len(part.position)) and _numbers_all(part.position, n_groups)):
            raise ValueError("rows have groups that are not there")


def _numbers_all(numbers: IntArray, length: int) -> bool:
    return len(numbers) == 0 or bool(0 <= numbers.min() <= numbers.max() < length)


# ---- writing


def _refuse_model(model: Model) -> None:
    """Raise for what is not a fitted CoHiRF, or has its labels elsewhere."""
    if type(model).__name__ != "CoHiRF" or not is_known(model):
        raise TypeError(f"model={reprlib.repr(model)} is not a CoHiRF estimator: only CoHiRF estimators can be saved.")
    check_is_fitted(model, "n_clusters_")
    if any(is_on_device(part.leaf_of) for part in vars(model)["_rows"].row_map.parts):
        raise TypeError(
            "labels_ is on a device, and cannot be saved with the model: call gather() first, which loads 8 bytes per "
            "row into this process."
        )
    if not vars(model)["_rows"].row_map.is_here:
        raise TypeError(
            "labels_ is a Dask array, which cannot be saved with the model: call gather() first, which loads 8 bytes "
            "per row into this process. Or write the labels with model.labels_.to_zarr(path), and to keep a model that "
            "predicts, delete model.labels_, model.parents_ and model.stability_ and pickle the model."
        )


@replacing_errors
def _refusing_to_save() -> Iterator[None]:
    """Turn any error that loading the model would raise into one about saving it."""
    try:
        yield
    except CONTENT_ERRORS as error:
        raise ValueError(f"The model cannot be saved: {one_line(error).rstrip('.')}. Fit it again.") from error


def _check_size(what: str, content: Any, remedy: str) -> None:
    """Raise for more JSON than is read again."""
    n_bytes = len(json.dumps(content))
    if n_bytes > MAX_JSON_BYTES - 2**16:  # the rest is for the types of the arrays
        raise ValueError(
            f"The model cannot be saved: {what} take {n_bytes:,} bytes of JSON, but a saved model holds at most "
            f"{MAX_JSON_BYTES:,}: {remedy}."
        )


def _package_version() -> str:
    try:
        return metadata.version("cohirf")
    except metadata.PackageNotFoundError:  # run from a source tree
        return "unknown"
