"""Collect the content of a report from a fitted model and its data, as a dict that JSON can represent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np

from cohirf.description import describe_clusters, make_headline
from cohirf.diagnosis.base_alone import Comparison
from cohirf.diagnosis.diagnose import diagnose_model
from cohirf.diagnosis.scores import agreement_with_classes, calinski_harabasz
from cohirf.diagnosis.text import shorten
from cohirf.plotting.subject import check_image_shape
from cohirf.report.clusters import list_clusters
from cohirf.report.columns import Columns
from cohirf.report.cuts import colour_clusters, find_cuts
from cohirf.report.downloads import pack_labels, pack_names
from cohirf.report.explore import describe_cuts
from cohirf.report.heatmap import make_heatmap
from cohirf.report.history import describe_history
from cohirf.report.merges import describe_merges
from cohirf.report.odd_rows import describe_odd_rows, rows_of
from cohirf.report.pictures import Pictures
from cohirf.report.points import place_points
from cohirf.report.run import describe_run
from cohirf.report.sample import Sample, draw_sample
from cohirf.report.study import Study
from cohirf.report.suggestion import describe_merge, suggest_cut
from cohirf.store import Origin
from cohirf.summary.numbers import cluster_positions


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
    """Return the content of a report.

    Parameters
    ----------
    study : Study
        The model and its data.
    options : Options
        Title, names, and options of the plots.

    Returns
    -------
    summary : dict
        Texts, numbers, lists and dicts; long arrays are packed.
    """
    if options.image_shape is not None:
        check_image_shape(options.image_shape, study.n_pixels)
    described = describe_clusters(study.model)  # by the rows that it stores: for sizes and rows that fit badly
    sample = draw_sample(study, options.max_points, rows_of(described.badly_fitting))
    columns = Columns(sample)
    cuts = find_cuts(study.model)
    colours = colour_clusters(cuts)
    pictures = None if options.image_shape is None else Pictures(study, sample, options.image_shape)
    listing = list_clusters(study, sample, columns, cuts, colours, pictures)
    final = next(number for number, cut in enumerate(cuts) if cut.is_final)
    exemplars = np.unique([cluster["exemplar"] for cluster in listing.clusters]).astype(np.int64)
    diagnosis = diagnose_model(study.model, study.class_codes)
    with_figures = describe_cuts(study, sample, cuts, colours, listing)
    return {
        "title": shorten(options.title, 300),
        "written": options.written,
        "headline": asdict(make_headline(described, diagnosis)),
        "figures": _figures(study, sample) | {"is_pictured": pictures is not None},
        "run": describe_run(study, options.data_name, options.origin, options.pipeline),
        "preparation": study.preparation,
        "suggestion": suggest_cut(cuts, [cut["silhouette"] for cut in with_figures], study.model.choice_),
        "merge": describe_merge(study.model.choice_),
        "clusters": listing.clusters,
        "cuts": with_figures,
        "final": final,
        "numbers": _lasting_numbers(study.model),
        "points": place_points(study, sample, cuts[-1], exemplars),
        "merges": describe_merges(study, cuts, sample.point_rows),
        "heatmap": None if pictures else make_heatmap(study, sample, cuts, listing),  # pixels alone tell nothing
        "odd": describe_odd_rows(study, sample, described.badly_fitting, columns, pictures),
        "history": describe_history(study.model),
        "columns": [column.describe() | {"unit": study.units.get(column.name, "")} for column in columns.used],
        "labels": pack_labels(cuts),
        "row_names": pack_names(study.row_names),
        "contraction": _contraction(study),
        "line": diagnosis.line,
        "verdict": [asdict(finding) for finding in diagnosis.findings],
        "advice": diagnosis.advice,
        "scores": _scores(study, sample, diagnosis.comparison),
    }


def _lasting_numbers(model: Any) -> list[int] | None:
    """Return the numbers of the clusters of the fit; None if they are counted without gaps."""
    numbers: list[int] = model.cluster_numbers_.tolist()
    return None if numbers == list(range(len(numbers))) else numbers


def _figures(study: Study, sample: Sample) -> dict[str, int]:
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


def _scores(study: Study, sample: Sample, comparison: Comparison) -> dict[str, Any]:
    labels, drawn = cluster_positions(study.model), sample.drawn
    return {
        "silhouette": sample.distances.silhouette(labels[sample.scored_rows]),
        "calinski_harabasz": calinski_harabasz(sample.features[drawn], labels[sample.rows[drawn]]),
        "ari": agreement_with_classes(labels, study.class_codes),
        "neighbours_together": sample.distances.neighbours_together(labels[sample.scored_rows]),
        "n_scored": len(sample.scored),
        "comparison": {name: [*pair] if isinstance(pair, tuple) else pair for name, pair in asdict(comparison).items()},
    }
