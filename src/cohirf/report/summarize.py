"""Collect the content of a report from a fitted model and its data, as a dict that JSON can represent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

from cohirf.diagnosis.base_alone import BaseResult, Comparison, compare_with_base, run_alone
from cohirf.diagnosis.diagnose import gather_facts
from cohirf.diagnosis.scores import agreement_with_classes, calinski_harabasz
from cohirf.diagnosis.text import shorten
from cohirf.diagnosis.verdict import CutScore, Facts, advise, verdict
from cohirf.plotting.subject import check_image_shape
from cohirf.report.cards import make_cards
from cohirf.report.cuts import shown_levels
from cohirf.report.downloads import pack_labels
from cohirf.report.explore import describe_cuts
from cohirf.report.merges import describe_merges
from cohirf.report.run import describe_run
from cohirf.report.sample import Sample, draw_sample
from cohirf.report.study import Study
from cohirf.report.tree import describe_tree


@dataclass(frozen=True)
class Options:
    """Options of a report; ``written`` is the date that it shows."""

    title: str
    data_name: str | None = None
    command: str | None = None
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
        check_image_shape(options.image_shape, study.model.n_features_in_)
    sample = draw_sample(study, options.max_points)
    levels = shown_levels(study.model.hierarchy_)
    cuts, points = describe_cuts(study, sample, levels)
    alone = run_alone(study.base_method, sample.distances.features, study.n_rows)
    comparison = _compare_with_base(study, sample, alone)
    facts = _facts(study, sample, cuts, alone, comparison)
    return {
        "title": shorten(options.title, 300),
        "written": options.written,
        "figures": _figures(study, sample),
        "run": describe_run(study, options.data_name, options.command),
        "cards": make_cards(study, sample, options.image_shape),
        "tree": describe_tree(study),
        "merges": describe_merges(study),
        "choice": _choice(study),
        "cuts": cuts,
        "points": points,
        "labels": pack_labels(study.model, levels),
        "contraction": _contraction(study),
        "verdict": [asdict(finding) for finding in verdict(facts)],
        "advice": advise(facts),
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
    """Return the record of each level."""
    return [
        asdict(record) | {"agreement": None if isnan(record.agreement) else record.agreement}
        for record in study.model.diagnostics_
    ]


def _choice(study: Study) -> dict[str, Any] | None:
    """Return how the number of clusters was chosen; None if it was not chosen, or there was nothing to choose."""
    choice = study.model.choice_
    if choice is None or len(choice.candidates) == 0:
        return None
    return {
        "text": choice.describe(),
        "n_clusters": choice.n_clusters,
        "candidates": choice.candidates.tolist(),
        "silhouettes": choice.silhouettes.tolist(),
        "heights": choice.heights.tolist(),
    }


def _compare_with_base(study: Study, sample: Sample, alone: BaseResult) -> Comparison:
    rows = sample.scored_rows
    classes = None if study.classes is None else study.classes.code[rows]
    return compare_with_base(alone, sample.distances, study.model.labels_[rows], classes)


def _scores(study: Study, sample: Sample, comparison: Comparison) -> dict[str, Any]:
    labels = study.model.labels_
    return {
        "silhouette": sample.distances.silhouette(labels[sample.scored_rows]),
        "calinski_harabasz": calinski_harabasz(sample.features, labels[sample.rows]),
        "ari": agreement_with_classes(labels, study.class_codes),
        "neighbours_together": sample.distances.neighbours_together(labels[sample.scored_rows]),
        "n_scored": len(sample.scored),
        "comparison": asdict(comparison) | {"silhouette": [*comparison.silhouette], "ari": [*comparison.ari]},
    }


def _facts(
    study: Study, sample: Sample, cuts: list[dict[str, Any]], alone: BaseResult, comparison: Comparison
) -> Facts:
    scores = [CutScore(cut["level"], cut["n_clusters"], cut["silhouette"], cut["ari"]) for cut in cuts]
    return gather_facts(study.model, sample.scored_rows, sample.distances, scores, alone, comparison)
