"""write_report: write the report on a fitted model to an HTML file."""

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
    """Write a report on a fitted model as a single HTML file.

    The page can be opened from disk and needs no network. It shows the parameters of the fit, the clusters with their
    exemplars and distinguishing features, the hierarchy, a scatter plot and labels to download for every number of
    clusters, how much the views agreed, and scores with their limitations. For large data it shows a sample, and says
    so.

    Parameters
    ----------
    model : fitted CoHiRF
        The model to report on.
    X : array, table, CSR matrix or source, shape (n_samples, n_features)
        The data that the model was fitted to.
    path : str or path
        The HTML file to write. An existing file is replaced.
    y : array, shape (n_samples,), optional
        Known classes of the rows, to compare the clusters with.
    feature_names : sequence of str, optional
        Names of the features; by default, the names that ``fit`` has seen.
    image_shape : tuple of int, optional
        Show each exemplar as an image of this height and width, or of this height, width and 3 colour channels.
    title : str, optional
        Title of the page; by default "Clusters", or "Clusters of" the name of the data.
    data_name : str, optional
        Name of the data, such as the name of its file.
    command : str, optional
        The shell command that fitted the model. The page shows it beside the Python code that repeats the fit.
    max_points : int, default=4000
        Largest number of rows in the scatter plots.

    Returns
    -------
    path : pathlib.Path
        The file that was written.

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
    """Refuse a path that cannot be written to, before anything is computed."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory: create it, or give another path.")
    return path
