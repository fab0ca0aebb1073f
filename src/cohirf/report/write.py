"""write_report: write the report on a fitted model to an HTML file."""

from __future__ import annotations

import os
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from cohirf.diagnosis.text import shorten
from cohirf.preparation import Preparation
from cohirf.report.history import describe_history
from cohirf.report.render import render, render_update
from cohirf.report.study import check_study
from cohirf.report.summarize import Options, summarize
from cohirf.store import Origin
from cohirf.store.files import replacing


def write_report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    *,
    pipeline: Any = None,
    y: Any = None,
    ids: Any = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    title: str | None = None,
    data_name: str | None = None,
    origin: Origin | None = None,
    max_points: int = 4000,
) -> Path:
    """Write a report on a fitted model as a single HTML file.

    The page can be opened from disk and needs no network. It is for readers who do not know the method: what groups
    there are, a map and a tree of them, a slider for their number, what sets each group apart in the units of the data,
    rows that fit badly, and how it was done, with a script that repeats it. For large data it shows a sample, and says
    so.

    Parameters
    ----------
    model : fitted CoHiRF
        The model to report on.
    X : array, table, CSR matrix, source or Prepared, shape (n_samples, n_features)
        The data that the model was fitted to. With ``pipeline``, the original data: also a table with text and dates,
        or the path of a file.
    path : str or path
        The HTML file to write. An existing file is replaced.
    pipeline : transformer, Pipeline or Preparation, optional
        What made the data of the fit from ``X``, fitted: a transformer or Pipeline of scikit-learn, or a
        :class:`cohirf.preparation.Preparation`. The page then shows the columns of ``X`` in their own units.
    y : array, shape (n_samples,), optional
        Known classes of the rows, to compare the clusters with.
    ids : sequence, shape (n_samples,), optional
        Names of the rows. They are on the page, and in the files that it offers for download.
    feature_names : sequence of str, optional
        Names of the columns of ``X``; by default, its own names, or those that ``fit`` has seen.
    image_shape : tuple of int, optional
        Show each exemplar as an image of this height and width, or of this height, width and 3 colour channels.
    title : str, optional
        Title of the page; by default "Clusters", or "Clusters of" the name of the data.
    data_name : str, optional
        Name of the data, such as the name of its file.
    origin : Origin, optional
        The file that the model was fitted to, how it was prepared, and the command: what ``cohirf fit`` saves with a
        model. The page shows a script that repeats the fit on the file.
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
    >>> path.stat().st_size < 3_000_000
    True

    With a pipeline, the page shows the original columns:

    >>> from sklearn.preprocessing import StandardScaler
    >>> scaler = StandardScaler().fit(X)
    >>> model = CoHiRF(KMeans(3), random_state=0).fit(scaler.transform(X))
    >>> path = write_report(model, X, f"{tempfile.mkdtemp()}/iris.html", pipeline=scaler)
    """
    if max_points < 1:
        raise ValueError(f"max_points={max_points} is not valid: give an int >= 1.")
    path = _check_path(Path(path))
    study = check_study(model, X, y, feature_names, pipeline=pipeline, ids=ids)
    if title is None:
        title = "Clusters" if data_name is None else f"Clusters of {Path(data_name).name}"
    today = datetime.now(UTC).date().isoformat()
    fitted_pipeline = None if isinstance(pipeline, Preparation) else pipeline
    options = Options(title, data_name, origin, fitted_pipeline, image_shape, max_points, today)
    page = render(summarize(study, options))
    with replacing(path) as file:
        file.write(page.encode())
    return path


def write_update_report(model: Any, path: str | os.PathLike[str], *, title: str, verdict: str) -> Path:
    """Write a page about the updates of a model: sizes of its clusters over time, and what has changed.

    Parameters
    ----------
    model : fitted CoHiRF
        The model after an update.
    path : str or path
        The HTML file to write. An existing file is replaced.
    title : str
        Title of the page.
    verdict : str
        A sentence about the new rows.

    Returns
    -------
    path : pathlib.Path
        The file that was written.
    """
    path = _check_path(Path(path))
    content = {
        "title": shorten(title, 300),
        "verdict": verdict,
        "n_rows": len(model.labels_),
        "n_clusters": int(model.n_clusters_),
        "history": describe_history(model),
        "written": datetime.now(UTC).date().isoformat(),
    }
    with replacing(path) as file:
        file.write(render_update(content).encode())
    return path


def _check_path(path: Path) -> Path:
    """Refuse a path that cannot be written to, before anything is computed."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a directory: create it, or give another path.")
    return path
