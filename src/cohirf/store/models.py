"""Save a fitted model as an archive, and load it; refuse a file that is damaged or inconsistent.

The first record has the parameters and what the user has added, the second one what was found. The
fields of :class:`About` and :class:`FittedRecord` are all there is to the format.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated, Any

import sklearn

from cohirf._version import __version__
from cohirf.parameters import Parameters
from cohirf.rows import ranges
from cohirf.sources.remote import Location, Url, locate
from cohirf.store import objects
from cohirf.store.archive import Archive, Kind
from cohirf.store.files import (
    CONTENT_ERRORS,
    REMEDY,
    ModelFileError,
    naming_file,
    one_line,
    refusing,
    replacing,
    shown,
)
from cohirf.store.parameters import NOT_STORED, describe_parameters, is_absent, restore_model
from cohirf.store.schema import read, write
from cohirf.summary.state import FittedState
from cohirf.validation import Columns
from cohirf.wording import setting

if TYPE_CHECKING:
    from cohirf.estimator import CoHiRF

MODEL = Kind("cohirf-model", version=16)


@dataclass(frozen=True)
class Origin:
    """Where a model comes from, as far as its parameters do not tell.

    Attributes
    ----------
    data : str
        The path of the data, as the user gave it.
    options : dict of str to object
        The arguments of :func:`cohirf.app.preparation.prepare`, besides the data.
    command : str
        The command that fitted the model.

    Examples
    --------
    >>> from cohirf.store.models import Origin
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
class FittedRecord:
    """The second record of a saved model: what was found, and the names of the features."""

    state: FittedState
    feature_names: Annotated[list[str] | None, ranges.one_for_each("state.feature_agreement")]


def write_model(
    parameters: Parameters,
    columns: Columns,
    state: FittedState,
    path: str | os.PathLike[str],
    *,
    overwrite: bool,
    preparation: dict[str, Any] | None,
    origin: Origin | None,
) -> None:
    """Write a model to a file of JSON and arrays, as :meth:`cohirf.CoHiRF.save` explains."""
    _refuse_labels_elsewhere(state)
    given = parameters.by_name()
    description = describe_parameters(given)
    about = write(About, About(__version__, sklearn.__version__, description, preparation, origin))
    try:
        absent = {
            name: given[name] for name in NOT_STORED if is_absent(description["parameters"][name])
        }
        restore_model(Path(), description, columns.n_features, absent)
        names = None if columns.names is None else list(columns.names)
        fitted = write(FittedRecord, FittedRecord(state, names))
        read(FittedRecord, *fitted)  # as load would
    except CONTENT_ERRORS as error:
        raise ValueError(f"The model cannot be saved: {one_line(error)}. Fit it again.") from error
    with _replacing_model(locate(path), overwrite=overwrite) as file:
        archive = Archive(file)
        archive.begin(*MODEL)
        for content, arrays in (about, fitted):
            archive.append(content, arrays)


@contextmanager
def _replacing_model(place: Location, *, overwrite: bool) -> Iterator[IO[bytes]]:
    """Yield a file to write to, which becomes the model at a path or a URL as a whole."""
    if isinstance(place, Url):
        objects.refuse_web(place)
        former = objects.find(place)
        _refuse_target(
            str(place),
            overwrite=overwrite,
            exists=former is not None,
            is_saved=former is not None
            and _begins_as_model(bytes(former.fetch(0, min(former.size, len(MODEL.name) + 1)))),
        )
        with objects.writing(place, former) as file:
            yield file
        return
    target = Path(os.path.realpath(place))  # save through a symbolic link
    with naming_file(target, "The model was not saved: {}"):
        refuse_target(target, overwrite=overwrite)
        with replacing(target) as file:
            yield file


def load(
    path: str | os.PathLike[str],
    *,
    estimator: Any = None,
    views: list[Any] | None = None,
    medoid: Any = None,
) -> CoHiRF:
    """Load a model that :meth:`cohirf.CoHiRF.save` has written.

    Loading never runs code from the file, so it is safe to load models of unknown origin. Any
    damage is detected. Paths that a fit writes to are not restored: ``checkpoint`` of the model and
    of all nested estimators is None.

    Parameters
    ----------
    path : str or path
        The file of the model.
    estimator : object, optional
        The base estimator. It replaces the stored one. It is required if the base estimator could
        not be stored, such as an estimator of your own class.
    views : list, optional
        The list of views. It replaces the stored one. It is required if one of its estimators could
        not be stored.
    medoid : str or callable, optional
        The medoid rule. It replaces the stored one. It is required if ``medoid`` was a callable.

    Returns
    -------
    model : CoHiRF
        A fitted model. ``predict``, ``transform``, ``hierarchy_`` and a new ``fit`` work as with
        the saved model.

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
    place = locate(path)
    with _opened(place) as archive:
        about = read(About, *archive.next())
        fitted = read(FittedRecord, *archive.next())
        if archive.file.read(1):
            raise ValueError("it has more bytes than a model")
    state = fitted.state
    model: CoHiRF = restore_model(place, about.model, state.n_features, passed)
    columns = Columns.of_source(state.n_features, fitted.feature_names)
    return model._become(state, columns)


def load_about(path: str | os.PathLike[str]) -> About:
    """Load what was saved with a model beside its fitted attributes.

    Parameters
    ----------
    path : str or path
        The file of the model.

    Returns
    -------
    about : About
        ``preparation`` and ``origin`` are what was passed to :meth:`cohirf.CoHiRF.save`, or None.
    """
    with _opened(locate(path)) as archive:
        return read(About, *archive.next())  # type: ignore[no-any-return]  # what it reads has the type it is given


def is_model(path: Path) -> bool:
    """Return whether a path is a saved model, of whatever version."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return _begins_as_model(file.read(len(MODEL.name) + 1))


def _begins_as_model(content: bytes) -> bool:
    return content == f"{MODEL.name} ".encode()


def refuse_target(target: Path, *, overwrite: bool) -> None:
    """Raise FileExistsError if saving a model to ``target`` would replace something that must not
    be replaced.
    """
    _refuse_target(
        str(target), overwrite=overwrite, exists=target.exists(), is_saved=is_model(target)
    )


def _refuse_target(target: str, *, overwrite: bool, exists: bool, is_saved: bool) -> None:
    if not exists:
        return
    if not overwrite:
        raise FileExistsError(
            errno.EEXIST,
            f"The path already exists: pass {setting('overwrite', True)} or another path",
            target,
        )
    if not is_saved:
        raise FileExistsError(
            errno.EEXIST,
            f"The existing path is not a saved model, and {setting('overwrite', True)} replaces "
            "only those: pass another path",
            target,
        )


# ---- reading


@contextmanager
def _opened(path: Location) -> Iterator[Archive]:
    """Yield the archive of a saved model after its first line.

    Errors of its content become ModelFileError.
    """
    if isinstance(path, Url):
        here = objects.fetch(path)
        with refusing(path, ModelFileError, REMEDY):
            yield _open_archive(here.file)
        return
    if not path.exists():
        raise FileNotFoundError(errno.ENOENT, "There is no saved model: check the path", str(path))
    if not path.is_file():
        raise ModelFileError(
            f"{shown(path)} is not a file, but this version of cohirf saves a model as one file: "
            "if an older version wrote it, fit the model again."
        )
    with (
        naming_file(path, "The model was not read: {}"),
        refusing(path, ModelFileError, REMEDY),
        path.open("rb", buffering=0) as file,
    ):
        yield _open_archive(file)


def _open_archive(file: IO[bytes]) -> Archive:
    archive = Archive(file)
    archive.open(*MODEL)
    return archive


# ---- writing


def _refuse_labels_elsewhere(state: FittedState) -> None:
    """Raise if labels are on Dask or on a device."""
    row_map = state.rows.row_map
    if row_map.elsewhere:
        without = ""
        if hasattr(state.labels, "to_zarr"):
            without = " Or write the labels with model.labels_.to_zarr(path), and pickle the model."
        raise TypeError(
            f"labels_ is {row_map.elsewhere}, and cannot be saved with the model: call gather() "
            f"first, which loads 8 bytes per row into this process.{without}"
        )
