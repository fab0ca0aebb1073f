"""The real data sets of the paper's experiments, read from a folder or from OpenML and preprocessed
as in the paper.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import fetch_openml, load_iris

from cohirf.optional import import_optional

FOLDER_VARIABLE = "COHIRF_DATA"
LABEL_COLUMN = "label"
TOO_MANY_LEVELS = 10  # categorical features with this many levels or more are dropped


@dataclass(frozen=True)
class RealData:
    """The OpenML number of a data set, and its published size."""

    openml_id: int | None
    n_rows: int
    n_columns: int
    n_classes: int


REAL_DATA = {
    "iris": RealData(61, 150, 4, 3),
    "alizadeh-2000-v2": RealData(46773, 62, 2093, 3),
    "garber-2001": RealData(46779, 66, 4553, 4),
    "shuttle": RealData(40685, 58000, 9, 7),
    "coil-20": RealData(46783, 1440, 1024, 20),
    "nursery": RealData(1568, 12958, 8, 4),
}


def load_real(
    name: str, folder: str | os.PathLike[str] | None = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Load a real data set of the paper, preprocessed as in the paper.

    Duplicated rows and constant features are dropped. Numeric features are standardised.
    Categorical features with fewer than ten levels are encoded as one 0/1 column for each level
    except the first; others are dropped.

    Parameters
    ----------
    name : {"iris", "alizadeh-2000-v2", "garber-2001", "shuttle", "coil-20", "nursery"}
        Name of the data set.
    folder : str or path, default=None
        Folder with the file ``NAME.parquet``, which has the classes in its column ``label``. By
        default, the folder that the environment variable ``COHIRF_DATA`` names. If there is no such
        file, the data set is downloaded from OpenML. Iris is part of scikit-learn and needs
        neither.

    Returns
    -------
    X : array of float, shape (n_rows, n_features)
        The features.
    y : array of int, shape (n_rows,)
        The class of each row, from 0.

    Raises
    ------
    ValueError
        If there is no data set of this name.
    FileNotFoundError
        If the file does not exist, and the data set cannot be downloaded.

    Examples
    --------
    >>> from experiments.real_data import load_real
    >>> X, y = load_real("iris")
    >>> X.shape  # three of the 150 rows are duplicates
    (147, 4)
    """
    if name not in REAL_DATA:
        raise ValueError(
            f"{name!r} is not a data set of the paper: pass one of {', '.join(REAL_DATA)}."
        )
    frame, classes = _read_frame(name, folder)
    rows = np.flatnonzero(~frame.duplicated().to_numpy())
    y = np.unique(np.asarray(classes)[rows].astype(str), return_inverse=True)[1]
    return prepare_as_published(frame.iloc[rows]), y


def prepare_as_published(frame: Any) -> NDArray[np.float64]:
    """Return the features of a frame, preprocessed as in the paper: see ``load_real``."""
    columns = [column for name in frame for column in _prepare_column(frame[name])]
    if not columns:
        raise ValueError(
            "No feature is left: all are constant, or categorical with ten levels or more."
        )
    return np.column_stack(columns)


def _prepare_column(column: Any) -> list[NDArray[np.float64]]:
    if column.nunique() < 2:
        return []
    if column.dtype.kind in "biuf":
        values = column.to_numpy(dtype=np.float64)
        return [(values - values.mean()) / values.std(ddof=1)]
    levels = column.astype("category").cat.remove_unused_categories()
    codes = levels.cat.codes.to_numpy()
    n_levels = len(levels.cat.categories)
    return (
        []
        if n_levels >= TOO_MANY_LEVELS
        else [(codes == level).astype(np.float64) for level in range(1, n_levels)]
    )


def _read_frame(name: str, folder: str | os.PathLike[str] | None) -> tuple[Any, Any]:
    """Return the features as a frame, and the classes."""
    pandas = import_optional("pandas", "frame", "load_real")
    # that of UCI and OpenML, with which the scores of K-Means in the paper are exact
    if name == "iris":
        bunch = load_iris()
        X = bunch.data.copy()
        X[[34, 37]] = X[9]  # Fisher's version, which scikit-learn has, differs in these two rows
        return pandas.DataFrame(X, columns=bunch.feature_names), bunch.target
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    path = None if folder is None else Path(folder) / f"{name}.parquet"
    if path is not None and path.is_file():
        frame = pandas.read_parquet(path)
        return frame.drop(columns=LABEL_COLUMN), frame[LABEL_COLUMN]
    return _fetch(name, path)


def _fetch(name: str, path: Path | None) -> tuple[Any, Any]:
    try:
        bunch = fetch_openml(data_id=REAL_DATA[name].openml_id, as_frame=True, parser="auto")
    except Exception as error:
        looked = (
            f"{path} does not exist"
            if path is not None
            else f"no folder was given and {FOLDER_VARIABLE} is not set"
        )
        raise FileNotFoundError(
            f"{name} cannot be loaded: {looked}, and OpenML did not answer "
            f"({type(error).__name__}). Put {name}.parquet, with the classes in its column "
            f"{LABEL_COLUMN!r}, into a folder, and pass folder=."
        ) from error
    return bunch.data, bunch.target
