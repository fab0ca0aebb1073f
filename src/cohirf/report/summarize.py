"""Collect the content of a report from a fitted model and its data, as a dict that JSON can represent."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np

from cohirf.diagnosis.base_alone import Comparison
from cohirf.diagnosis.diagnose import diagnose_model
from cohirf.diagnosis.scores import agreement_with_classes, calinski_harabasz
from cohirf.diagnosis.text import shorten
from cohirf.plotting.subject import check_image_shape
from cohirf.report.cards import make_cards
from cohirf.report.clusters import list_clusters
from cohirf.report.cuts import colour_clusters, find_cuts
from cohirf.report.downloads import pack_labels
from cohirf.report.explore import describe_cuts, place_points
from cohirf.report.merges import describe_merges
from cohirf.report.run import describe_run
from cohirf.report.sample import Sample, draw_sample
from cohirf.report.study import Study
from cohirf.report.tree import describe_tree
from cohirf.summary.numbers import cluster_positions


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
    cuts = find_cuts(study.model)
    colours = colour_clusters(cuts)
    listing = list_clusters(study, sample, cuts, colours, options.image_shape)
    final = next(number for number, cut in enumerate(cuts) if cut.is_final)
    exemplars = np.unique([cluster["exemplar"] for cluster in listing.clusters]).astype(np.int64)
    diagnosis = diagnose_model(study.model, study.class_codes)
    return {
        "title": shorten(options.title, 300),
        "written": options.written,
        "figures": _figures(study, sample),
        "run": describe_run(study, options.data_name, options.command),
        "cards": make_cards(cuts[final], listing, final),
        "tree": describe_tree(study),
        "merges": describe_merges(study, cuts),
        "choice": _choice(study),
        "clusters": listing.clusters,
        "cuts": describe_cuts(study, sample, cuts, colours, listing),
        "final": final,
        "points": place_points(study, sample, cuts[-1], exemplars),
        "labels": pack_labels(cuts),
        "contraction": _contraction(study),
        "line": diagnosis.line,
        "verdict": [asdict(finding) for finding in diagnosis.findings],
        "advice": diagnosis.advice,
        "scores": _scores(study, sample, diagnosis.comparison),
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


def _scores(study: Study, sample: Sample, comparison: Comparison) -> dict[str, Any]:
    labels = cluster_positions(study.model)
    return {
        "silhouette": sample.distances.silhouette(labels[sample.scored_rows]),
        "calinski_harabasz": calinski_harabasz(sample.features, labels[sample.rows]),
        "ari": agreement_with_classes(labels, study.class_codes),
        "neighbours_together": sample.distances.neighbours_together(labels[sample.scored_rows]),
        "n_scored": len(sample.scored),
        "comparison": {name: [*pair] if isinstance(pair, tuple) else pair for name, pair in asdict(comparison).items()},
    }
