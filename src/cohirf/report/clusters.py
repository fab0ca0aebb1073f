"""The clusters of all cuts, each described once: size, exemplar, distinguishing features, most frequent class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.effects import Effects, measure_effects, name_strongest
from cohirf.diagnosis.reading import as_dense, read_rows
from cohirf.diagnosis.sample import relevant_part
from cohirf.report.cuts import Cut
from cohirf.report.images import make_images
from cohirf.report.sample import Sample
from cohirf.report.study import Study

MAX_LISTED = 50  # clusters in the table of a cut
MAX_CARDS = 12  # clusters of a cut that have a card
N_FEATURES = 5  # distinguishing features of each cluster


@dataclass(frozen=True)
class Listing:
    """The clusters of all cuts.

    Attributes
    ----------
    clusters : list of dict
        The descriptions of the clusters.
    places : list of list of int
        For each cut, the places in ``clusters`` of its largest clusters, the largest first.
    """

    clusters: list[dict[str, Any]]
    places: list[list[int]]


def list_clusters(
    study: Study, sample: Sample, cuts: Sequence[Cut], colours: Sequence[IntArray], image_shape: tuple[int, ...] | None
) -> Listing:
    """Describe the largest clusters of each cut.

    Cuts are nested, so that a cluster is known by its medoid and its size. The exemplar of a final cluster is that of
    the model; of another cluster, it is the most central of the sampled rows.
    """
    place_of: dict[tuple[int, int], int] = {}
    clusters: list[dict[str, Any]] = []
    places: list[list[int]] = [[] for _ in cuts]
    final = next(cut for cut in cuts if cut.is_final)
    for number in sorted(range(len(cuts)), key=lambda number: not cuts[number].is_final):
        cut = cuts[number]
        chosen = cut.largest(MAX_LISTED)
        keys = list(zip(cut.medoid[chosen].tolist(), cut.size[chosen].tolist(), strict=True))
        new = np.array([key not in place_of for key in keys], dtype=bool)
        place_of |= {key: len(clusters) + i for i, key in enumerate(key for key in keys if key not in place_of)}
        clusters += _describe(study, sample, cut, final, colours[number], chosen[new])
        places[number] = [place_of[key] for key in keys]
    _add_images(study, clusters, places, image_shape)
    return Listing(clusters, places)


def _describe(
    study: Study, sample: Sample, cut: Cut, final: Cut, colour: IntArray, chosen: IntArray
) -> list[dict[str, Any]]:
    effects = measure_effects(sample.features, sample.spread, cut.labels_of(sample.rows), chosen)
    exemplars = study.model.exemplar_indices_[chosen] if cut.is_final else _find_central(study, sample, cut, chosen)
    classes = _main_classes(study, cut, chosen)
    return [
        {
            "size": int(cut.size[cluster]),
            "colour": int(colour[cluster]),
            "exemplar": int(exemplars[i]),
            "final": np.unique(final.label_of_leaf[cut.label_of_leaf == cluster]).tolist(),
            "n_sampled": int(effects.n_rows[i]),
            "features": _name_features(study, effects, i),
            "image": None,
            "class": classes[i],
        }
        for i, cluster in enumerate(chosen.tolist())
    ]


def most_central(features: Any) -> int:
    """Return the row of an array or CSR matrix that is nearest to the mean of all rows."""
    mean = np.asarray(features.mean(axis=0)).ravel()
    if sparse.issparse(features):  # the difference to the mean would not be sparse
        return int((row_norms(features, squared=True) - 2 * (features @ mean)).argmin())
    return int(((features - mean) ** 2).sum(axis=1).argmin())


def _find_central(study: Study, sample: Sample, cut: Cut, chosen: IntArray) -> list[int]:
    """Return the most central of the sampled rows of each cluster; its medoid if none of its rows is sampled."""
    labels = cut.labels_of(sample.rows)
    found = []
    for cluster in chosen.tolist():
        members = np.flatnonzero(labels == cluster)
        features = relevant_part(study.model, sample.features[members])
        found.append(sample.rows[members[most_central(features)]] if len(members) else cut.medoid[cluster])
    return found


def _name_features(study: Study, effects: Effects, place: int) -> list[dict[str, Any]]:
    """Return the features that distinguish a cluster, with the stability of the views that contained each of them.

    The stability is left out if it is the same for all features.
    """
    agreement = study.model.feature_agreement_
    differs = np.nanmax(agreement) > np.nanmin(agreement)
    features = name_strongest(effects, place, N_FEATURES, study.feature_names)
    for entry, feature in zip(features, effects.strongest(place, N_FEATURES).tolist(), strict=True):
        entry["views_agree"] = float(agreement[feature]) if differs and not np.isnan(agreement[feature]) else None
    return features


def _main_classes(study: Study, cut: Cut, chosen: IntArray) -> list[dict[str, Any] | None]:
    """Return the most frequent class of the rows of each cluster, and its share; None if classes are not known."""
    if study.classes is None:
        return [None] * len(chosen)
    labels, code = cut.labels, study.classes.code
    counts = [np.bincount(code[labels == cluster]) for cluster in chosen.tolist()]
    return [
        {"name": study.classes.names[int(count.argmax())], "share": float(count.max() / count.sum())}
        for count in counts
    ]


def _add_images(
    study: Study, clusters: list[dict[str, Any]], places: list[list[int]], image_shape: tuple[int, ...] | None
) -> None:
    """Add the image of the exemplar to each cluster that has a card in some cut."""
    with_card = sorted({place for of_cut in places for place in of_cut[:MAX_CARDS]})
    if image_shape is None or not with_card:
        return
    exemplars = np.array([clusters[place]["exemplar"] for place in with_card])
    images = make_images(as_dense(read_rows(study.data, exemplars)), image_shape)
    for place, image in zip(with_card, images, strict=True):
        clusters[place]["image"] = image
