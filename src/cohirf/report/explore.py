"""Data of the section in which a reader chooses a cut: a table of clusters, and a scatter plot of rows, per cut."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.effects import measure_effects, name_strongest
from cohirf.diagnosis.reading import read_rows
from cohirf.diagnosis.scores import agreement_with_classes
from cohirf.plotting.projection import project_rows
from cohirf.report.cuts import Cut, coloured_cuts
from cohirf.report.packing import pack
from cohirf.report.sample import Sample
from cohirf.report.study import Classes, Study

MAX_LISTED = 50  # clusters in the table of a level
N_FEATURES = 2  # distinguishing features in each line of the table


def describe_cuts(study: Study, sample: Sample, levels: range) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """Return the cuts from the finest level to the last, and the points with their label and colour at each cut."""
    rows = sample.point_rows
    cuts: list[dict[str, Any]] = []
    labels, colours = np.empty((2, len(rows), len(levels)), dtype=np.int64)
    for cut, colour in coloured_cuts(study.model, levels):
        place = cut.level - levels.start
        labels[:, place] = cut.labels[rows]
        colours[:, place] = np.append(colour, -1)[labels[:, place]]  # label -1, noise, selects the last entry, -1
        cuts.insert(0, _describe_cut(study, sample, cut, colour))
    shown = np.unique([cluster["representative"] for cut in cuts for cluster in cut["clusters"]]).astype(np.int64)
    return cuts, _place_points(study, sample, shown) | {"label": pack(labels), "colour": pack(colours)}


def _describe_cut(study: Study, sample: Sample, cut: Cut, colour: IntArray) -> dict[str, Any]:
    chosen = cut.largest(MAX_LISTED)
    effects = measure_effects(sample.features, sample.spread, cut.labels[sample.rows], chosen)
    model = study.model
    final = model.labels_[cut.medoid[chosen]].tolist()
    representative = model.exemplar_indices_ if cut.level == model.hierarchy_.n_levels else cut.medoid
    clusters = [
        {
            "number": cluster,
            "colour": int(colour[cluster]),
            "size": int(cut.size[cluster]),
            "representative": int(representative[cluster]),
            "final": final[i],
            "features": name_strongest(effects, i, N_FEATURES, study.feature_names),
        }
        for i, cluster in enumerate(chosen.tolist())
    ]
    return {
        "level": cut.level,
        "n_clusters": cut.n_clusters,
        "n_noise": study.n_rows - int(cut.size.sum()),
        "silhouette": sample.distances.silhouette(cut.labels[sample.scored_rows]),
        "ari": agreement_with_classes(cut.labels, study.class_codes),
        "clusters": clusters,
    }


def _place_points(study: Study, sample: Sample, representatives: IntArray) -> dict[str, Any]:
    """Return the coordinates of the plotted rows and of some representatives in the plane."""
    rows = sample.point_rows
    parts = [sample.features[sample.points], read_rows(study.data, representatives)]
    features = sparse.vstack(parts, format="csr") if sparse.issparse(parts[0]) else np.vstack(parts)
    projection = project_rows(features, np.concatenate([rows, representatives]), 2, study.feature_names)
    points, of_representatives = projection.points[: len(rows)], projection.points[len(rows) :]
    return {
        "n": len(rows),
        "row": pack(rows),
        "x": pack(points[:, 0]),
        "y": pack(points[:, 1]),
        "representative": pack(representatives),
        "representative_x": pack(of_representatives[:, 0]),
        "representative_y": pack(of_representatives[:, 1]),
        "axes": projection.names,
        "same_unit": study.model.n_features_in_ > 2,  # principal components share a unit, features need not
        "class": None if study.classes is None else _pack_classes(study.classes, rows),
    }


def _pack_classes(classes: Classes, rows: IntArray) -> dict[str, Any]:
    """Return the names of the classes that occur in ``rows``, and the class number of each row."""
    used, number = np.unique(classes.code[rows], return_inverse=True)
    return {"names": [classes.names[code] for code in used.tolist()], "number": pack(number)}
