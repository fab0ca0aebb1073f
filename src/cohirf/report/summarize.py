"""From a fitted model and its data to what a report says: a plain dict that JSON can hold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.plotting.projection import project_rows
from cohirf.plotting.subject import check_image_shape
from cohirf.report.cuts import Cut, coloured_cuts, make_cut, shown_levels
from cohirf.report.downloads import pack_labels
from cohirf.report.effects import Effects, Spread, measure_effects, measure_spread
from cohirf.report.images import make_images
from cohirf.report.packing import pack
from cohirf.report.run import describe_run
from cohirf.report.scores import (
    SCORED_ROWS,
    Comparison,
    Yardstick,
    agreement_with_classes,
    calinski_harabasz,
    compare_with_base,
)
from cohirf.report.study import Sample, Study, as_dense, draw_sample, read_rows, shorten
from cohirf.report.tree import describe_tree
from cohirf.report.verdict import CutScore, Facts, verdict

MAX_CARDS = 12
MAX_LISTED = 50  # clusters of a level in the table
CARD_FEATURES, LISTED_FEATURES = 5, 2


@dataclass(frozen=True)
class Options:
    """What a report may be told besides the model and its data."""

    title: str
    data_name: str | None = None
    command: str | None = None
    image_shape: tuple[int, ...] | None = None
    max_points: int = 4000
    written: str | None = None  # the day


@dataclass(frozen=True)
class Shown:
    """What is read of the data once, and used by several parts of a report.

    Attributes
    ----------
    sample : Sample
        The rows that were read.
    spread : Spread
        Of each of their features.
    points, scored : array of int
        Positions in the sample of the rows that are drawn, and of those between which distances are measured.
    yardstick : Yardstick
        Of the latter.
    """

    sample: Sample
    spread: Spread
    points: IntArray
    scored: IntArray
    yardstick: Yardstick


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
    shown = _read(study, options.max_points)
    levels = shown_levels(study.model.hierarchy_)
    cuts, labels, colours = _describe_cuts(study, shown, levels)
    comparison = _compare_with_base(study, shown)
    return {
        "title": shorten(options.title, 300),
        "written": options.written,
        "figures": _figures(study, len(shown.sample.rows)),
        "run": describe_run(study, options.data_name, options.command),
        "cards": _cards(study, shown, options.image_shape),
        "tree": describe_tree(study),
        "cuts": cuts,
        "points": _points(study, shown, cuts, labels, colours),
        "labels": pack_labels(study.model, levels),
        "contraction": _contraction(study),
        "verdict": [asdict(finding) for finding in verdict(_facts(study, shown, cuts, comparison))],
        "scores": _scores(study, shown, comparison),
    }


def _read(study: Study, max_points: int) -> Shown:
    sample = draw_sample(study)
    scored = sample.draw(SCORED_ROWS)
    spread = measure_spread(sample.features)
    return Shown(sample, spread, sample.draw(max_points), scored, Yardstick.of(sample.features[scored]))


def _figures(study: Study, n_sampled: int) -> dict[str, Any]:
    model = study.model
    sizes = np.bincount(model.labels_[model.labels_ >= 0], minlength=1)
    return {
        "n_rows": study.n_rows,
        "n_features": model.n_features_in_,
        "n_clusters": model.n_clusters_,
        "n_noise": study.n_noise,
        "largest": int(sizes.max()),
        "n_levels": model.hierarchy_.n_levels,
        "n_sampled": n_sampled,
    }


def _cards(study: Study, shown: Shown, image_shape: tuple[int, ...] | None) -> dict[str, Any]:
    """Return what sets the largest final clusters apart, and how large the others are."""
    cut = make_cut(study.model, study.model.hierarchy_.n_levels)
    chosen = cut.largest(MAX_CARDS)
    effects = measure_effects(shown.sample.features, shown.spread, cut.labels[shown.sample.rows], chosen)
    medoids = as_dense(study.model.medoids_[chosen])
    images = [None] * len(chosen) if image_shape is None else make_images(medoids, image_shape)
    clusters = [
        {
            "number": cluster,
            "size": int(cut.size[cluster]),
            "medoid": int(cut.medoid[cluster]),
            "n_sampled": int(effects.n_rows[i]),
            "features": _features(study, effects, i, CARD_FEATURES),
            "image": images[i],
            "class": _main_class(study, cut.labels, cluster),
        }
        for i, cluster in enumerate(chosen.tolist())
    ]
    rest = cut.n_clusters - len(chosen)
    return {"clusters": clusters, "n_more": rest, "rows_more": int(cut.size.sum() - cut.size[chosen].sum())}


def _features(study: Study, effects: Effects, place: int, n_features: int) -> list[dict[str, Any]]:
    return [
        {
            "name": study.feature_names[feature],
            "effect": float(effects.effect[place, feature]),
            "mean": float(effects.mean[place, feature]),
            "elsewhere": float(effects.mean_elsewhere[place, feature]),
        }
        for feature in effects.strongest(place, n_features).tolist()
    ]


def _main_class(study: Study, labels: IntArray, cluster: int) -> dict[str, Any] | None:
    """Return the class that most rows of a cluster have, if classes are known."""
    if study.classes is None:
        return None
    counts = np.bincount(study.classes.code[labels == cluster])
    most = int(counts.argmax())
    return {"name": study.classes.names[most], "share": float(counts[most] / counts.sum())}


def _describe_cuts(study: Study, shown: Shown, levels: range) -> tuple[list[dict[str, Any]], IntArray, IntArray]:
    """Describe the cuts from the finest to the last; return them, and label and colour of each point at each one."""
    rows = shown.sample.rows[shown.points]
    cuts: list[dict[str, Any]] = []
    labels, colours = np.empty((2, len(levels), len(rows)), dtype=np.int64)
    for cut, colour in coloured_cuts(study.model, levels):
        place = cut.level - levels.start
        labels[place] = cut.labels[rows]
        colours[place] = np.append(colour, -1)[labels[place]]  # noise, which is -1, finds the last one
        cuts.insert(0, _describe_cut(study, shown, cut, colour))
    return cuts, labels, colours


def _describe_cut(study: Study, shown: Shown, cut: Cut, colour: IntArray) -> dict[str, Any]:
    chosen = cut.largest(MAX_LISTED)
    effects = measure_effects(shown.sample.features, shown.spread, cut.labels[shown.sample.rows], chosen)
    final = study.model.labels_[cut.medoid[chosen]].tolist()
    clusters = [
        {
            "number": cluster,
            "colour": int(colour[cluster]),
            "size": int(cut.size[cluster]),
            "medoid": int(cut.medoid[cluster]),
            "final": final[i],
            "features": [
                {"name": feature["name"], "effect": feature["effect"]}
                for feature in _features(study, effects, i, LISTED_FEATURES)
            ],
        }
        for i, cluster in enumerate(chosen.tolist())
    ]
    scored = cut.labels[shown.sample.rows[shown.scored]]
    return {
        "level": cut.level,
        "n_clusters": cut.n_clusters,
        "n_noise": study.n_rows - int(cut.size.sum()),
        "silhouette": shown.yardstick.silhouette(scored),
        "ari": agreement_with_classes(cut.labels, None if study.classes is None else study.classes.code),
        "clusters": clusters,
    }


def _points(
    study: Study, shown: Shown, cuts: list[dict[str, Any]], labels: IntArray, colours: IntArray
) -> dict[str, Any]:
    """Return where the drawn rows and the medoids of listed clusters are, and give each of the latter its place."""
    rows = shown.sample.rows[shown.points]
    medoids = np.unique([cluster["medoid"] for cut in cuts for cluster in cut["clusters"]]).astype(np.int64)
    parts = [shown.sample.features[shown.points], read_rows(study.data, medoids)]
    features = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
    projection = project_rows(features, np.concatenate([rows, medoids]), 2, study.feature_names)
    places = projection.points[len(rows) :].round(6).tolist()
    for cut in cuts:
        for cluster in cut["clusters"]:
            cluster["x"], cluster["y"] = places[int(np.searchsorted(medoids, cluster["medoid"]))]
    return {
        "n": len(rows),
        "x": pack(projection.points[: len(rows), 0]),
        "y": pack(projection.points[: len(rows), 1]),
        "row": pack(rows),
        "label": pack(labels.T),
        "colour": pack(colours.T),
        "axes": projection.names,
        "same_unit": study.model.n_features_in_ > 2,
        "class": _point_classes(study, rows),
    }


def _point_classes(study: Study, rows: IntArray) -> dict[str, Any] | None:
    """Return the classes of some rows, if they are known: the names that occur, and the number of each row's."""
    if study.classes is None:
        return None
    used, number = np.unique(study.classes.code[rows], return_inverse=True)
    return {"names": [study.classes.names[code] for code in used.tolist()], "number": pack(number)}


def _contraction(study: Study) -> list[dict[str, Any]]:
    """Return what each level did."""
    return [
        asdict(record) | {"agreement": None if isnan(record.agreement) else record.agreement}
        for record in study.model.diagnostics_
    ]


def _compare_with_base(study: Study, shown: Shown) -> Comparison:
    rows = shown.sample.rows[shown.scored]
    classes = None if study.classes is None else study.classes.code[rows]
    model = study.model
    return compare_with_base(model.estimator, shown.yardstick, model.labels_[rows], classes, study.n_rows)


def _facts(study: Study, shown: Shown, cuts: list[dict[str, Any]], comparison: Comparison) -> Facts:
    model = study.model
    return Facts(
        records=model.diagnostics_,
        n_views=model.n_views,
        consensus=model.consensus,
        medoid_weights=model.medoid_weights,
        cuts=[CutScore(cut["level"], cut["n_clusters"], cut["silhouette"], cut["ari"]) for cut in cuts],
        neighbours_together=shown.yardstick.neighbours_together(model.labels_[shown.sample.rows[shown.scored]]),
        n_clusters=model.n_clusters_,
        noise_share=study.n_noise / study.n_rows,
        comparison=comparison,
    )


def _scores(study: Study, shown: Shown, comparison: Comparison) -> dict[str, Any]:
    labels = study.model.labels_
    rows, scored = shown.sample.rows, shown.sample.rows[shown.scored]
    return {
        "silhouette": shown.yardstick.silhouette(labels[scored]),
        "calinski_harabasz": calinski_harabasz(shown.sample.features, labels[rows]),
        "ari": agreement_with_classes(labels, None if study.classes is None else study.classes.code),
        "neighbours_together": shown.yardstick.neighbours_together(labels[scored]),
        "n_scored": len(scored),
        "comparison": asdict(comparison),
    }
