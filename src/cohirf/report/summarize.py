"""From a fitted model and its data to what a report says: a plain dict that JSON can hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.plotting.subject import check_image_shape
from cohirf.report.cards import make_cards
from cohirf.report.cuts import shown_levels
from cohirf.report.downloads import pack_labels
from cohirf.report.explore import describe_cuts
from cohirf.report.run import describe_run
from cohirf.report.sample import Sample, draw_sample
from cohirf.report.scores import Comparison, agreement_with_classes, calinski_harabasz, compare_with_base
from cohirf.report.study import Study
from cohirf.report.text import shorten
from cohirf.report.tree import describe_tree
from cohirf.report.verdict import CutScore, Facts, verdict


@dataclass(frozen=True)
class Options:
    """What a report may be told besides the model and its data; ``written`` is the day."""

    title: str
    data_name: str | None = None
    command: str | None = None
    image_shape: tuple[int, ...] | None = None
    max_points: int = 4000
    written: str | None = None


def summarize(study: Study, options: Options) -> dict[str, Any]:
    """Return all that a report says about a model.

    Parameters
    ----------
    study : Study
        The model and its data.
    options : Options
        Title, names, and what to draw.

    Returns
    -------
    summary : dict
        Text, numbers, lists and dicts; long arrays are packed.
    """
    if options.image_shape is not None:
        check_image_shape(options.image_shape, study.model.n_features_in_)
    sample = draw_sample(study, options.max_points)
    levels = shown_levels(study.model.hierarchy_)
    cuts, points = describe_cuts(study, sample, levels)
    comparison = _compare_with_base(study, sample)
    return {
        "title": shorten(options.title, 300),
        "written": options.written,
        "figures": _figures(study, sample),
        "run": describe_run(study, options.data_name, options.command),
        "cards": make_cards(study, sample, options.image_shape),
        "tree": describe_tree(study),
        "cuts": cuts,
        "points": points,
        "labels": pack_labels(study.model, levels),
        "contraction": _contraction(study),
        "verdict": [asdict(finding) for finding in verdict(_facts(study, sample, cuts, comparison))],
        "scores": _scores(study, sample, comparison),
    }


def _figures(study: Study, sample: Sample) -> dict[str, int]:
    return {
        "n_rows": study.n_rows,
        "n_features": study.model.n_features_in_,
        "n_clusters": study.model.n_clusters_,
        "n_noise": study.n_noise,
        "n_levels": study.model.hierarchy_.n_levels,
        "n_sampled": len(sample.rows),
    }


def _contraction(study: Study) -> list[dict[str, Any]]:
    """Return what each level did."""
    return [
        asdict(record) | {"agreement": None if isnan(record.agreement) else record.agreement}
        for record in study.model.diagnostics_
    ]


def _compare_with_base(study: Study, sample: Sample) -> Comparison:
    rows = sample.scored_rows
    classes = None if study.classes is None else study.classes.code[rows]
    return compare_with_base(study.base_method, sample.yardstick, study.model.labels_[rows], classes, study.n_rows)


def _scores(study: Study, sample: Sample, comparison: Comparison) -> dict[str, Any]:
    labels = study.model.labels_
    return {
        "silhouette": sample.yardstick.silhouette(labels[sample.scored_rows]),
        "calinski_harabasz": calinski_harabasz(sample.features, labels[sample.rows]),
        "ari": agreement_with_classes(labels, study.class_codes),
        "neighbours_together": sample.yardstick.neighbours_together(labels[sample.scored_rows]),
        "n_scored": len(sample.scored),
        "comparison": asdict(comparison) | {"silhouette": [*comparison.silhouette], "ari": [*comparison.ari]},
    }


def _facts(study: Study, sample: Sample, cuts: list[dict[str, Any]], comparison: Comparison) -> Facts:
    model = study.model
    return Facts(
        records=model.diagnostics_,
        n_views=model.n_views,
        views_differ=_can_views_differ(study),
        consensus=model.consensus,
        medoid_weights=model.medoid_weights,
        cuts=[CutScore(cut["level"], cut["n_clusters"], cut["silhouette"], cut["ari"]) for cut in cuts],
        neighbours_together=sample.yardstick.neighbours_together(model.labels_[sample.scored_rows]),
        n_clusters=model.n_clusters_,
        noise_share=study.n_noise / study.n_rows,
        comparison=comparison,
    )


def _can_views_differ(study: Study) -> bool:
    """Tell whether the base method draws something at random, or views have a part of the features."""
    n_features = study.model.n_features_in_
    is_part = validation.count_view_features(study.model.max_features, n_features) < n_features
    return is_part or not BaseMethod.of(study.base_method).is_deterministic
