"""write_report: from a fitted model to a file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cohirf.durable.temporary import replacing
from cohirf.report.render import render
from cohirf.report.study import check_study
from cohirf.report.summarize import Options, summarize


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    y: Any = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    title: str | None = None,
    data_name: str | None = None,
    command: str | None = None,
    max_points: int = 4000,
) -> Path:
    """Write what a fit has found as one HTML page.

    The page opens from disk and needs no network. It shows what was run, the clusters with their medoids and what sets
    them apart, the hierarchy, every cut of it with a scatter plot and labels to download, how much the views agreed,
    and scores with their limits. Of large data it shows a sample, and says so.

    Parameters
    ----------
    model : fitted CoHiRF
        The model.
    X : array, table, CSR matrix or source, shape (n_samples, n_features)
        The data of the fit.
    path : str or path
        The file to write. One that is there already is replaced.
    y : array, shape (n_samples,), optional
        Known classes of the rows, to compare the clusters with.
    feature_names : sequence of str, optional
        Names of the features; those seen by ``fit`` by default.
    image_shape : tuple of int, optional
        Show each medoid as an image of this height and width, or of this height, width and 3 colour channels.
    title : str, optional
        Title of the page.
    data_name : str, optional
        What the data is called, such as the name of its file.
    command : str, optional
        The command that made the model, to show beside the code that repeats it.
    max_points : int, default=4000
        Number of rows in the scatter plot.

    Returns
    -------
    path : pathlib.Path
        The file.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import load_iris
    >>> from cohirf import CoHiRF
    >>> from cohirf.report import write_report
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = CoHiRF(KMeans(3), random_state=0).fit(X)
    >>> path = write_report(model, X, f"{tempfile.mkdtemp()}/iris.html", y=y, title="Iris")
    >>> path.stat().st_size < 6_000_000
    True
    """
    if max_points < 1:
        raise ValueError(f"max_points={max_points} is not valid: give an int >= 1.")
    path = _check_path(Path(path))
    study = check_study(model, X, y, feature_names)
    if title is None:
        title = "Clusters" if data_name is None else f"Clusters of {Path(data_name).name}"
    today = datetime.now(UTC).date().isoformat()
    page = render(summarize(study, Options(title, data_name, command, image_shape, max_points, today)))
    with replacing(path) as file:
        file.write(page.encode())
    return path


def _check_path(path: Path) -> Path:
    """Refuse a place where no file can be, before anything is computed."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory: make it, or write the report elsewhere.")
    return path
