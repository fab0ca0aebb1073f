"""write_report: collect the content of a report, and write it as one HTML page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from cohirf import CoHiRF
from cohirf.app.explain import heatmap, history, odd_rows
from cohirf.app.explain.cards import describe_cuts, list_clusters
from cohirf.app.explain.columns import Columns, Pictures, check_image_shape
from cohirf.app.explain.cuts import colour_clusters, find_cuts, place_of_final, suggest_cut
from cohirf.app.explain.describe import describe_sample, make_headline
from cohirf.app.explain.diagnose import agreement_with_classes, diagnose_model
from cohirf.app.explain.map import describe_merges, place_points, show_other_merges
from cohirf.app.explain.odd_rows import rows_of
from cohirf.app.explain.page import pack_labels, pack_names, render, render_update
from cohirf.app.explain.rows import find_badly_fitting
from cohirf.app.explain.script import describe_run
from cohirf.app.explain.sections import Made, describe_sections
from cohirf.app.explain.study import Study, check_study, draw_sample, tell_columns
from cohirf.app.explain.topics import Topics, draw_topics, name_topics
from cohirf.app.explain.words import shorten
from cohirf.app.preparation import Preparation, Prepared
from cohirf.inspection import cluster_positions
from cohirf.store import Origin, replacing

# The sections below the cards, in their order on the page.
SECTIONS = (heatmap.SECTION, odd_rows.SECTION, history.SECTION)


def summarize(
    study: Study,
    title: str,
    *,
    data_name: str | None = None,
    origin: Origin | None = None,
    pipeline: Any = None,
    image_shape: tuple[int, ...] | None = None,
    max_points: int = 4000,
    written: str | None = None,
) -> dict[str, Any]:
    """Return the content of a report."""
    model, prepared, positions = study.model, study.prepared, cluster_positions(study.model)
    if image_shape is not None:
        check_image_shape(
            image_shape, study.n_columns if prepared is None else int(study.original.n_features)
        )
    badly_fitting = find_badly_fitting(model, study=study)
    wanted = np.concatenate([model.exemplar_indices_, rows_of(badly_fitting)])
    sample = draw_sample(study, max_points, wanted)
    columns = Columns(sample.table)
    cuts = find_cuts(model)
    colours = colour_clusters(cuts)
    pictures = None if image_shape is None else Pictures(sample, image_shape)
    listing = list_clusters(sample, columns, cuts, colours, pictures)
    final = place_of_final(cuts)
    exemplars = np.unique([cluster["exemplar"] for cluster in listing.clusters]).astype(np.int64)
    classes = None if study.classes is None else study.classes.codes
    diagnosis = diagnose_model(model, classes)
    with_figures = describe_cuts(sample, cuts, colours, listing)
    scored = positions[sample.rows[sample.scored]]
    comparison = asdict(diagnosis.comparison, dict_factory=_as_json)
    headline = make_headline(describe_sample(sample, badly_fitting), diagnosis, prepared)
    made = Made(sample, columns, cuts, colours, listing, badly_fitting, pictures)
    return describe_sections(SECTIONS, made) | {
        "title": shorten(title, 300),
        "written": written,
        "headline": asdict(headline, dict_factory=_as_json),
        "figures": {
            "n_rows": study.n_rows,
            "n_columns": study.n_columns,
            "n_features": model.n_features_in_,
            "n_clusters": model.n_clusters_,
            "n_noise": int((positions < 0).sum()),
            "n_levels": model.hierarchy_.n_levels,
            "n_sampled": len(sample.rows),
            "is_pictured": pictures is not None,
        },
        "run": describe_run(study, data_name, origin, pipeline),
        "preparation": None if prepared is None else tell_columns(prepared),
        "suggestion": suggest_cut(cuts, [cut["silhouette"] for cut in with_figures], model.choice_),
        "merge": show_other_merges(sample, cuts, colours),
        "clusters": listing.clusters,
        "cuts": with_figures,
        "final": final,
        "numbers": model.cluster_numbers_.tolist(),
        "points": place_points(sample, cuts[-1], exemplars),
        "merges": describe_merges(study, cuts, sample.rows[sample.points]),
        "columns": [
            column.describe() | {"unit": study.units.get(column.name, "")}
            for column in columns.used
        ],
        "labels": pack_labels(cuts),
        "row_names": pack_names(study.row_names),
        "contraction": [
            {
                name: None if isinstance(one, float) and isnan(one) else one
                for name, one in asdict(record).items()
            }
            for record in model.diagnostics_
        ],
        "line": diagnosis.line,
        "verdict": [asdict(finding) for finding in diagnosis.findings],
        "scores": {
            "silhouette": sample.distances.silhouette(scored),
            "ari": agreement_with_classes(positions, classes),
            "cut": None if isnan(diagnosis.facts.cut) else diagnosis.facts.cut,
            "n_scored": len(scored),
            "comparison": comparison,
        },
    }


def _as_json(fields: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return the fields of a dataclass as JSON would give them back: with lists, not tuples."""
    return {name: [*value] if isinstance(value, tuple) else value for name, value in fields}


def write_report(
    model: CoHiRF,
    X: Any,
    path: str | os.PathLike[str],
    *,
    pipeline: Any = None,
    y: Any = None,
    ids: Any = None,
    feature_names: Sequence[str] | None = None,
    image_shape: tuple[int, ...] | None = None,
    texts: Any = None,
    levels: Sequence[int] | None = None,
    images: Any = None,
    title: str | None = None,
    data_name: str | None = None,
    origin: Origin | None = None,
    max_points: int = 4000,
) -> Path:
    """Write a report on a fitted model as a single HTML file.

    The page can be opened from disk and needs no network. It is for readers who do not know the
    method: what groups there are, a map and a tree of them, a slider for their number, what sets
    each group apart in the units of the data, rows that fit badly, and how it was done, with a
    script that repeats it. For large data it shows a sample, and says so.

    Parameters
    ----------
    model : fitted CoHiRF
        The model to report on.
    X : array, table, CSR matrix, source or Prepared, shape (n_samples, n_features)
        The data that the model was fitted to. With ``pipeline``, the original data: also a table
        with text and dates, or the path of a file.
    path : str or path
        The HTML file to write. An existing file is replaced.
    pipeline : transformer, Pipeline or Preparation, optional
        What made the data of the fit from ``X``, fitted: a transformer or Pipeline of scikit-learn,
        or a :class:`cohirf.app.preparation.Preparation`. The page then shows the columns of ``X``
        in their own units.
    y : array, shape (n_samples,), optional
        Known classes of the rows, to compare the clusters with.
    ids : sequence, shape (n_samples,), optional
        Names of the rows. They are on the page, and in the files that it offers for download.
    feature_names : sequence of str, optional
        Names of the columns of ``X``; by default, its own names, or those that ``fit`` has seen.
    image_shape : tuple of int, optional
        Show each exemplar as an image of this height and width, or of this height, width and 3
        colour channels.
    texts : sequence of str or Topics, optional
        The text of each row, if the rows are vectors of texts: the page shows topics instead of
        columns, with typical texts and words, a map and search. The result of
        :func:`cohirf.app.explain.name_topics` brings its own names.
    levels : sequence of int, optional
        For texts: numbers of clusters, such as ``[200, 40, 8]``, which the page shows as a tree.
    images : sequence of bytes or path, shape (n_samples,), optional
        For texts: the image of each row, as the content or the path of a file. The page shows small
        copies of the images of typical rows; one that cannot be read is left out.
    title : str, optional
        Title of the page; by default "Clusters", or "Clusters of" the name of the data.
    data_name : str, optional
        Name of the data, such as the name of its file.
    origin : Origin, optional
        The file that the model was fitted to, how it was prepared, and the command: what
        ``cohirf fit`` saves with a model. The page shows a script that repeats the fit on the file.
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
    >>> from cohirf.app.explain import write_report
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
    if title is None:
        if data_name is None:
            title = "Clusters"
        else:
            title = f"Clusters of {Path(data_name).name}"
    today = datetime.now(UTC).date().isoformat()
    if texts is not None:
        rows = X.source if isinstance(X, Prepared) else X
        if isinstance(texts, Topics):
            topics = texts
        else:
            topics = name_topics(model, rows, texts, levels=levels)
        return _write_page(path, draw_topics(topics, title=title, written=today, images=images))
    study = check_study(model, X, y, feature_names, pipeline=pipeline, ids=ids)
    fitted_pipeline = None if isinstance(pipeline, Preparation) else pipeline
    shown: dict[str, Any] = {
        "data_name": data_name,
        "origin": origin,
        "pipeline": fitted_pipeline,
        "image_shape": image_shape,
    }
    return _write_page(
        path, render(summarize(study, title, **shown, max_points=max_points, written=today))
    )


def write_update_report(
    model: CoHiRF, path: str | os.PathLike[str], *, title: str, verdict: str
) -> Path:
    """Write a page about the updates of a model: sizes of its clusters over time, and what has
    changed.
    """
    path = _check_path(Path(path))
    content = {
        "title": shorten(title, 300),
        "verdict": verdict,
        "n_rows": len(model.labels_),
        "n_clusters": int(model.n_clusters_),
        "history": history.describe_history(model),
        "written": datetime.now(UTC).date().isoformat(),
    }
    return _write_page(path, render_update(content))


def _write_page(path: Path, page: str) -> Path:
    with replacing(path) as file:
        file.write(page.encode())
    return path


def _check_path(path: Path) -> Path:
    """Refuse a path that cannot be written to, before anything is computed."""
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a directory: give the name of a file to write.")
    if not path.parent.is_dir():
        raise FileNotFoundError(
            f"{path.parent} is not a directory: create it, or give another path."
        )
    return path
