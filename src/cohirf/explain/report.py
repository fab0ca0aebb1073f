"""write_report: collect the content of a report, and write it as one HTML page."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from cohirf.explain.cards import describe_cuts, describe_odd_rows, list_clusters, make_heatmap, rows_of
from cohirf.explain.columns import Columns
from cohirf.explain.cuts import colour_clusters, find_cuts, suggest_cut
from cohirf.explain.describe import describe_sample, make_headline
from cohirf.explain.diagnose import agreement_with_classes, calinski_harabasz, diagnose_model
from cohirf.explain.map import describe_merges, place_points, show_other_merge
from cohirf.explain.page import pack_labels, pack_names, render, render_update
from cohirf.explain.pictures import Pictures, check_image_shape
from cohirf.explain.rows import find_badly_fitting
from cohirf.explain.script import describe_run
from cohirf.explain.study import Sample, Study, check_study, draw_sample
from cohirf.explain.topic_page import draw_topics
from cohirf.explain.topics import Topics, name_topics
from cohirf.explain.verdict import Comparison
from cohirf.explain.words import shorten
from cohirf.preparation import Preparation, Prepared
from cohirf.store import Origin
from cohirf.store.files import replacing
from cohirf.summary.model import Model
from cohirf.summary.numbers import Step, cluster_positions

WIDTH, HEIGHT, TOP = 720, 220, 28  # of the drawing of updates; marks are above the shapes
MAX_SHAPES = 12  # clusters with a shape of their own
MAX_TOLD = 20  # steps in the table


def describe_history(model: Model) -> dict[str, Any] | None:
    """Return the content of the section about updates; None if the model had none."""
    history: tuple[Step, ...] = model.history_
    if len(history) < 2:
        return None
    numbers = model.cluster_numbers_.tolist()
    told = [step for step in history if step.events or step is history[-1]]
    return {
        "width": WIDTH,
        "height": HEIGHT,
        "shapes": draw_shapes(history, numbers),
        "marks": draw_marks(history),
        "first": history[0].update,
        "last": history[-1].update,
        "most_rows": max(step.n_rows for step in history),
        "changes": str(model.changes_).splitlines(),
        "steps": [
            {
                "number": step.update,
                "n_added": step.n_added,
                "n_rows": step.n_rows,
                "n_clusters": step.n_clusters,
                "moved": step.n_moved / max(step.n_rows - step.n_added, 1),
                "events": "; ".join(step.events),
            }
            for step in reversed(told[-MAX_TOLD:])
        ],
        "n_untold": len(history) - min(len(told), MAX_TOLD),
    }


def draw_shapes(history: Sequence[Step], numbers: Sequence[int]) -> list[dict[str, Any]]:
    """Return a shape for each of the largest clusters, one upon the other: name, colour class, and points.

    Clusters that the model has now have their colours of the page; those that are gone, other clusters, and rows
    without a cluster are grey.
    """
    largest: dict[int, int] = {}
    for step in history:
        for number, size in step.sizes.items():
            largest[number] = max(largest.get(number, 0), size)
    shown = sorted(sorted(largest, key=lambda number: -largest[number])[:MAX_SHAPES])
    layers = [[step.sizes.get(number, 0) for step in history] for number in shown]
    rest = np.array([step.n_rows - step.n_noise for step in history]) - np.sum(layers, axis=0, dtype=np.int64)
    names = [f"cluster {number}" for number in shown]
    classes = [f"c-{numbers.index(number)}" if number in numbers else "past" for number in shown]
    greys: dict[str, list[int]] = {"other clusters": rest.tolist(), "no cluster": [step.n_noise for step in history]}
    for name, rows in greys.items():
        if any(rows):
            names, classes, layers = [*names, name], [*classes, "past"], [*layers, rows]
    bounds = np.vstack([np.zeros(len(history)), np.cumsum(layers, axis=0)])
    y = HEIGHT - bounds * ((HEIGHT - TOP) / max(float(bounds[-1].max()), 1.0))
    x = _places(len(history))
    return [
        {"name": name, "class": kind, "points": _points(x, y[layer], y[layer + 1]), "rows": int(layers[layer][-1])}
        for layer, (name, kind) in enumerate(zip(names, classes, strict=True))
    ]


def draw_marks(history: Sequence[Step]) -> list[dict[str, Any]]:
    """Return a mark for each update after which clusters were born, merged, split or gone: place and words."""
    x = _places(len(history))
    return [
        {"x": round(float(x[number]), 1), "text": f"Update {step.update}: {'; '.join(step.events)}"}
        for number, step in enumerate(history)
        if step.events
    ]


def _places(n_steps: int) -> Any:
    return np.linspace(4, WIDTH - 4, n_steps)


def _points(x: Any, low: Any, high: Any) -> str:
    corners = [*zip(x, low, strict=True), *zip(x[::-1], high[::-1], strict=True)]
    return " ".join(f"{one:.1f},{two:.1f}" for one, two in corners)


@dataclass(frozen=True)
class Options:
    """Options of a report; ``written`` is the date that it shows."""

    title: str
    data_name: str | None = None
    origin: Origin | None = None
    pipeline: Any = None
    image_shape: tuple[int, ...] | None = None
    max_points: int = 4000
    written: str | None = None


def summarize(study: Study, options: Options) -> dict[str, Any]:
    """Return the content of a report."""
    if options.image_shape is not None:
        check_image_shape(options.image_shape, study.n_pixels)
    badly_fitting = find_badly_fitting(study.model)
    wanted = np.concatenate([study.model.exemplar_indices_, rows_of(badly_fitting)])
    sample = draw_sample(study, options.max_points, wanted)
    columns = Columns(sample)
    cuts = find_cuts(study.model)
    colours = colour_clusters(cuts)
    pictures = None if options.image_shape is None else Pictures(sample, options.image_shape)
    listing = list_clusters(sample, columns, cuts, colours, pictures)
    final = next(number for number, cut in enumerate(cuts) if cut.is_final)
    exemplars = np.unique([cluster["exemplar"] for cluster in listing.clusters]).astype(np.int64)
    diagnosis = diagnose_model(study.model, study.class_codes)
    with_figures = describe_cuts(sample, cuts, colours, listing)
    return {
        "title": shorten(options.title, 300),
        "written": options.written,
        "headline": asdict(make_headline(describe_sample(sample), diagnosis)),
        "figures": _figures(sample) | {"is_pictured": pictures is not None},
        "run": describe_run(study, options.data_name, options.origin, options.pipeline),
        "preparation": study.preparation,
        "suggestion": suggest_cut(cuts, [cut["silhouette"] for cut in with_figures], study.model.choice_),
        "merge": show_other_merge(sample, cuts, colours),
        "clusters": listing.clusters,
        "cuts": with_figures,
        "final": final,
        "numbers": _lasting_numbers(study.model),
        "points": place_points(sample, cuts[-1], exemplars),
        "merges": describe_merges(study, cuts, sample.point_rows),
        "heatmap": None if pictures else make_heatmap(sample, cuts, listing),  # pixels alone tell nothing
        "odd": describe_odd_rows(sample, badly_fitting, columns, pictures),
        "history": describe_history(study.model),
        "columns": [column.describe() | {"unit": study.units.get(column.name, "")} for column in columns.used],
        "labels": pack_labels(cuts),
        "row_names": pack_names(study.row_names),
        "contraction": _contraction(study),
        "line": diagnosis.line,
        "verdict": [asdict(finding) for finding in diagnosis.findings],
        "advice": diagnosis.advice,
        "scores": _scores(sample, diagnosis.comparison),
    }


def _lasting_numbers(model: Model) -> list[int] | None:
    """Return the numbers of the clusters of the fit; None if they are counted without gaps."""
    numbers: list[int] = model.cluster_numbers_.tolist()
    return None if numbers == list(range(len(numbers))) else numbers


def _figures(sample: Sample) -> dict[str, int]:
    study = sample.study
    return {
        "n_rows": study.n_rows,
        "n_columns": study.n_columns,
        "n_features": study.model.n_features_in_,
        "n_clusters": study.model.n_clusters_,
        "n_noise": study.n_noise,
        "n_levels": study.model.hierarchy_.n_levels,
        "n_sampled": len(sample.rows),
    }


def _contraction(study: Study) -> list[dict[str, Any]]:
    """Return the record of each level; figures that it does not have are None."""
    return [
        {name: None if isinstance(value, float) and isnan(value) else value for name, value in asdict(record).items()}
        for record in study.model.diagnostics_
    ]


def _scores(sample: Sample, comparison: Comparison) -> dict[str, Any]:
    labels, drawn = cluster_positions(sample.study.model), sample.drawn
    return {
        "silhouette": sample.distances.silhouette(labels[sample.scored_rows]),
        "calinski_harabasz": calinski_harabasz(sample.features[drawn], labels[sample.rows[drawn]]),
        "ari": agreement_with_classes(labels, sample.study.class_codes),
        "neighbours_together": sample.distances.neighbours_together(labels[sample.scored_rows]),
        "n_scored": len(sample.scored),
        "comparison": {name: [*pair] if isinstance(pair, tuple) else pair for name, pair in asdict(comparison).items()},
    }


def write_report(
    model: Model,
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
    texts : sequence of str or Topics, optional
        The text of each row, if the rows are vectors of texts: the page shows topics instead of columns, with typical
        texts and words, a map and search. The result of :func:`cohirf.description.name_topics` brings its own names.
    levels : sequence of int, optional
        For texts: numbers of clusters, such as ``[200, 40, 8]``, which the page shows as a tree.
    images : sequence of bytes or path, shape (n_samples,), optional
        For texts: the image of each row, as the content or the path of a file. The page shows small copies of the
        images of typical rows; one that cannot be read is left out.
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
    if title is None:
        title = "Clusters" if data_name is None else f"Clusters of {Path(data_name).name}"
    today = datetime.now(UTC).date().isoformat()
    if texts is not None:
        rows = X.source if isinstance(X, Prepared) else X
        topics = texts if isinstance(texts, Topics) else name_topics(model, rows, texts, levels=levels)
        return _write_page(path, draw_topics(topics, title=title, written=today, images=images))
    study = check_study(model, X, y, feature_names, pipeline=pipeline, ids=ids)
    fitted_pipeline = None if isinstance(pipeline, Preparation) else pipeline
    options = Options(title, data_name, origin, fitted_pipeline, image_shape, max_points, today)
    return _write_page(path, render(summarize(study, options)))


def write_update_report(model: Model, path: str | os.PathLike[str], *, title: str, verdict: str) -> Path:
    """Write a page about the updates of a model: sizes of its clusters over time, and what has changed."""
    path = _check_path(Path(path))
    content = {
        "title": shorten(title, 300),
        "verdict": verdict,
        "n_rows": len(model.labels_),
        "n_clusters": int(model.n_clusters_),
        "history": describe_history(model),
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
        raise FileNotFoundError(f"{path.parent} is not a directory: create it, or give another path.")
    return path
