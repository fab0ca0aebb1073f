"""Save a fitted model as an archive, and load it; refuse a file that is damaged or inconsistent.

The first record has the parameters and what the user has added, the second one the fitted
attributes. The fields of
:class:`About` and :class:`FittedRecord` are all there is to the format.
"""

from __future__ import annotations

import errno
import os
import reprlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import sklearn
from sklearn.utils.validation import check_is_fitted

from cohirf._version import __version__
from cohirf.algorithm.levels import LevelRecord
from cohirf.beyond.merge_tree import MergeTree
from cohirf.choice import Choice
from cohirf.hierarchy.fusion_hierarchy import check_tree
from cohirf.landmarks import Landmarks
from cohirf.rows import ranges
from cohirf.rows.arrays import is_on_device
from cohirf.rows.grouping import FloatArray, IntArray
from cohirf.store.archive import Archive
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
from cohirf.store.parameters import NOT_STORED, describe_model, is_absent, is_known, restore_model
from cohirf.store.schema import read, write
from cohirf.summary.model import Model, state_of
from cohirf.summary.numbers import Changes, Step
from cohirf.summary.rows import RowResults
from cohirf.summary.summary import MOST_NUMBERS, Summary

if TYPE_CHECKING:
    from cohirf.estimator import CoHiRF

MODEL_KIND = "cohirf-model"
MODEL_VERSION = 12


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


def _check_rows(n_rows: int, results: RowResults) -> None:
    """Raise ValueError unless each row has a group."""
    if n_rows != results.n_rows:
        raise ValueError(f"is {n_rows}, and {results.n_rows} rows have a group")


def _check_same_rows(summary: Summary, n_rows: int) -> None:
    """Raise ValueError unless the summary is of the rows of the model."""
    if summary.n_rows != n_rows:
        raise ValueError(f"has {summary.n_rows} rows, and the model has {n_rows}")


def _check_merges(tree: MergeTree, results: RowResults) -> None:
    """Raise ValueError unless the leaves of the tree are groups, which merge pairwise."""
    check_tree(tree, tree.medoids, results.absorbed_at)


def _check_history(history: tuple[Step, ...], summary: Summary | None) -> None:
    """Raise ValueError unless the steps are of updates that the model had."""
    n_updates = 1  # the fit; later ones need a summary
    if summary is not None:
        n_updates = len(summary.update_rows)
    last = max((step.update for step in history), default=0)
    if last >= n_updates:
        raise ValueError(f"has an update {last}, and the model had {n_updates}")


@dataclass(frozen=True)
class FittedRecord:
    """The second record of a saved model: the attributes that a fit sets, by their names, and their
    ranges.
    """

    n_features_in_: Annotated[int, ranges.counts(least=1)]
    n_clusters_: Annotated[int, ranges.counts()]
    n_rows: Annotated[int, ranges.Holds(_check_rows, "_rows")]
    n_iter_: Annotated[int, ranges.counts()]
    batch_size_: Annotated[int | None, ranges.counts(least=1)]
    cluster_numbers_: Annotated[
        IntArray, ranges.numbers("n_clusters_", below=MOST_NUMBERS, is_sorted=True)
    ]
    medoid_indices_: Annotated[IntArray, ranges.numbers("n_clusters_", below="n_rows")]
    medoids_: Annotated[
        Any, ranges.cells("n_clusters_", "n_features_in_", filled_by="_column_means")
    ]
    exemplar_indices_: Annotated[IntArray, ranges.numbers("n_clusters_", below="n_rows")]
    exemplars_: Annotated[
        Any, ranges.cells("n_clusters_", "n_features_in_", filled_by="_column_means")
    ]
    feature_agreement_: Annotated[FloatArray, ranges.shares("n_features_in_")]
    feature_names_in_: Annotated[list[str] | None, ranges.one_for_each("n_features_in_")]
    choice_: Choice | None
    diagnostics_: list[LevelRecord]
    changes_: Changes | None
    history_: Annotated[tuple[Step, ...], ranges.Holds(_check_history, "_summary")]
    names_: dict[int, str]
    _column_means: Annotated[FloatArray | None, ranges.measures("n_features_in_")]
    _landmarks: Landmarks
    _landmark_rows: Annotated[
        IntArray, ranges.numbers("_landmarks.labels", below="n_rows", is_sorted=True)
    ]
    _rows: RowResults  # labels_, parents_, stability_ and hierarchy_ are looked up in it
    # merges above the groups of these
    _tree: Annotated[MergeTree, ranges.Holds(_check_merges, "_rows")]
    _summary: Annotated[Summary | None, ranges.Holds(_check_same_rows, "n_rows")]

    @classmethod
    def of(cls, model: Model) -> FittedRecord:
        """Return the attributes of a fitted model."""
        names = getattr(model, "feature_names_in_", None)
        stored: dict[str, Any] = {
            "n_rows": state_of(model).rows.n_rows,
            "feature_names_in_": None if names is None else list(names),
        }
        others = [part.name for part in fields(cls) if part.name not in stored]
        return cls(**stored, **{name: getattr(model, name) for name in others})

    def attributes(self) -> dict[str, Any]:
        """Return the attributes of a fitted model."""
        found = {name: value for name, value in vars(self).items() if name != "n_rows"}
        names = found.pop("feature_names_in_")
        if names is not None:
            found["feature_names_in_"] = np.array(names, dtype=object)
        return found


def save_model(
    model: Model,
    path: str | os.PathLike[str],
    *,
    overwrite: bool = False,
    preparation: dict[str, Any] | None = None,
    origin: Origin | None = None,
) -> None:
    """Write a fitted model to a file of JSON and numeric arrays.

    Saving is atomic: the file is written with a temporary name beside ``path``, flushed to disk and
    then given its name. An incomplete model never appears at ``path``.

    Parameters
    ----------
    model : CoHiRF
        The fitted model. A base estimator or callable ``medoid`` that cannot be stored is left out,
        and must be passed to :func:`cohirf.load`. Paths that a fit writes to, ``checkpoint`` and
        ``memory``, are never stored.
    path : str or path
        The file to create. Its directory must exist.
    overwrite : bool, default=False
        Replace an existing model at ``path``. A file that is not a saved model is never replaced.
    preparation : dict, optional
        A description, serialisable as JSON, of how the data was prepared before the fit, such as
        :meth:`cohirf.app.preparation.Preparation.to_json` returns. :func:`load_about` returns it.
    origin : Origin, optional
        The file that the model was fitted to, and the command; :func:`load_about` returns it.
        Reports show it.

    Raises
    ------
    FileExistsError
        If ``path`` exists, and either ``overwrite`` is False or ``path`` is not a saved model.
    ValueError
        If a parameter of the model cannot be stored, or if :func:`cohirf.load` would refuse the
        model. Nothing is replaced then.

    See Also
    --------
    cohirf.load : Load the model.
    """
    _refuse_model(model)
    description = describe_model(model)
    about = write(About, About(__version__, sklearn.__version__, description, preparation, origin))
    try:
        absent = {
            name: getattr(model, name)
            for name in NOT_STORED
            if is_absent(description["parameters"][name])
        }
        restore_model(Path(), description, model.n_features_in_, absent)
        fitted = write(FittedRecord, FittedRecord.of(model))
        read(FittedRecord, *fitted)  # as load would
    except CONTENT_ERRORS as error:
        raise ValueError(f"The model cannot be saved: {one_line(error)}. Fit it again.") from error
    target = Path(os.path.realpath(path))  # save through a symbolic link
    with naming_file(target, "The model was not saved: {}"):
        refuse_target(target, overwrite=overwrite)
        with replacing(target) as file:
            archive = Archive(file)
            archive.begin(MODEL_KIND, MODEL_VERSION)
            for content, arrays in (about, fitted):
                archive.append(content, arrays)


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
    with _opened(Path(path)) as archive:
        about = read(About, *archive.next())
        fitted = read(FittedRecord, *archive.next())
        if archive.file.read(1):
            raise ValueError("it has more bytes than a model")
        attributes = fitted.attributes()
    model: CoHiRF = restore_model(Path(path), about.model, fitted.n_features_in_, passed)
    model.__dict__.update(attributes)
    return model


def load_about(path: str | os.PathLike[str]) -> About:
    """Load what was saved with a model beside its fitted attributes.

    Parameters
    ----------
    path : str or path
        The file of the model.

    Returns
    -------
    about : About
        ``preparation`` and ``origin`` are what was passed to :func:`save_model`, or None.
    """
    with _opened(Path(path)) as archive:
        return read(About, *archive.next())  # type: ignore[no-any-return]  # what it reads has the type it is given


def is_model(path: Path) -> bool:
    """Return whether a path is a saved model, of whatever version."""
    if not path.is_file():
        return False
    with path.open("rb") as file:
        return file.read(len(MODEL_KIND) + 1) == f"{MODEL_KIND} ".encode()


def refuse_target(target: Path, *, overwrite: bool) -> None:
    """Raise FileExistsError if saving a model to ``target`` would replace something that must not
    be replaced.
    """
    if not target.exists():
        return
    if not overwrite:
        raise FileExistsError(
            errno.EEXIST,
            "The path already exists: pass overwrite=True or another path",
            str(target),
        )
    if not is_model(target):
        raise FileExistsError(
            errno.EEXIST,
            "The existing path is not a saved model, and overwrite=True replaces only those: "
            "pass another path",
            str(target),
        )


# ---- reading


@contextmanager
def _opened(path: Path) -> Iterator[Archive]:
    """Yield the archive of a saved model after its first line.

    Errors of its content become ModelFileError.
    """
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
        archive = Archive(file)
        archive.open(MODEL_KIND, MODEL_VERSION)
        yield archive


# ---- writing


def _refuse_model(model: Model) -> None:
    """Raise for what is not a fitted CoHiRF, or has its labels elsewhere."""
    if type(model).__name__ != "CoHiRF" or not is_known(model):
        raise TypeError(
            f"model={reprlib.repr(model)} is not a CoHiRF estimator: only CoHiRF estimators can be "
            "saved."
        )
    check_is_fitted(model, "n_clusters_")
    row_map = state_of(model).rows.row_map
    if not row_map.is_here:
        on_device = any(is_on_device(part.leaf_of) for part in row_map.parts)
        without = (
            " Or write the labels with model.labels_.to_zarr(path), delete model.labels_, "
            "model.parents_ and model.stability_, and pickle the model."
        )
        raise TypeError(
            f"labels_ is {'on a device' if on_device else 'a Dask array'}, and cannot be saved "
            "with the model: call gather() first, which loads 8 bytes per row into this "
            f"process.{'' if on_device else without}"
        )
