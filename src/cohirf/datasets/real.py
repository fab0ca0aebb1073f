"""The real data sets of the paper's experiments, read from a folder or from OpenML and prepared as in the paper."""

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
LABEL = "label"
MOST_LEVELS = 10  # a category with as many levels is dropped


@dataclass(frozen=True)
class RealData:
    """Where a data set is from, and its shape as it is published."""

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


def load_real(name: str, folder: str | os.PathLike[str] | None = None) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return a real data set of the paper, prepared as in the paper.

    Rows that are there twice are dropped, and so are features that never change. Numbers are standardised. Categories
    with fewer than ten levels become a column of 0 and 1 for each level but the first; others are dropped.

    Parameters
    ----------
    name : str
        One of "iris", "alizadeh-2000-v2", "garber-2001", "shuttle", "coil-20" and "nursery".
    folder : str or path, optional
        Folder with the file ``NAME.parquet``, which has the classes in its column ``label``; default: the one that the
        environment variable ``COHIRF_DATA`` names. Iris needs none. Without a folder, or if it
        lacks the file, the data set is fetched from OpenML.

    Returns
    -------
    X : array, shape (n_rows, n_features)
        The features.
    y : array of int, shape (n_rows,)
        The class of each row, from 0.

    Examples
    --------
    >>> from cohirf.datasets import load_real
    >>> X, y = load_real("iris")
    >>> X.shape  # of 150 flowers three are like another one
    (147, 4)
    """
    if name not in REAL_DATA:
        raise ValueError(f"{name!r} is not a data set of the paper: give one of {', '.join(REAL_DATA)}.")
    frame, classes = _read(name, folder)
    rows = np.flatnonzero(~frame.duplicated().to_numpy())
    y = np.unique(np.asarray(classes)[rows].astype(str), return_inverse=True)[1]
    return prepare(frame.iloc[rows]), y


def prepare(frame: Any) -> NDArray[np.float64]:
    """Return the features of a frame as the paper has them: numbers standardised, categories one column per level."""
    columns = [column for name in frame for column in _prepare_column(frame[name])]
    if not columns:
        raise ValueError("No feature is left: all are constant, or categories of ten levels or more.")
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
    return [] if n_levels >= MOST_LEVELS else [(codes == level).astype(np.float64) for level in range(1, n_levels)]


def _read(name: str, folder: str | os.PathLike[str] | None) -> tuple[Any, Any]:
    """Return the features as a frame, and the classes."""
    pandas = import_optional("pandas", "frame", "load_real")
    if name == "iris":
        return _read_iris(pandas)
    folder = folder or os.environ.get(FOLDER_VARIABLE)
    path = None if folder is None else Path(folder) / f"{name}.parquet"
    if path is not None and path.is_file():
        frame = pandas.read_parquet(path)
        return frame.drop(columns=LABEL), frame[LABEL]
    return _fetch(name, path)


def _read_iris(pandas: Any) -> tuple[Any, Any]:
    """Return the iris of UCI and OpenML, which the paper used.

    Scikit-learn has Fisher's, which differs in two flowers. These are equal to a third one in the other copy, so that
    it has 147 distinct rows; with them the K-Means figures of the paper come out to the last digit.
    """
    bunch = load_iris()
    X = bunch.data.copy()
    X[[34, 37]] = X[9]
    return pandas.DataFrame(X, columns=bunch.feature_names), bunch.target


def _fetch(name: str, path: Path | None) -> tuple[Any, Any]:
    try:
        bunch = fetch_openml(data_id=REAL_DATA[name].openml_id, as_frame=True, parser="auto")
    except Exception as error:
        looked = f"{path} is no file" if path is not None else f"no folder was given and {FOLDER_VARIABLE} is not set"
        raise FileNotFoundError(
            f"{name} cannot be loaded: {looked}, and OpenML did not answer ({type(error).__name__}). "
            f"Put {name}.parquet, with the classes in its column {LABEL!r}, into a folder and name it."
        ) from error
    return bunch.data, bunch.target
