"""The clusters of all cuts, each described once: size, exemplar, traits with distributions, most frequent class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import row_norms

from cohirf.algorithm.grouping import IntArray
from cohirf.description.cluster_names import name_clusters
from cohirf.description.traits import Trait, find_traits
from cohirf.diagnosis.effects import measure_spread
from cohirf.report.classes import ClassCounts
from cohirf.report.columns import Columns
from cohirf.report.cuts import Cut
from cohirf.report.pictures import MAX_IMAGES, Pictures
from cohirf.report.sample import Sample
from cohirf.report.study import Study

MAX_LISTED = 300  # clusters of a cut that are described
N_TRAITS = 5  # of each cluster
MAX_VALUES = 12  # columns of an exemplar


@dataclass(frozen=True)
class Listing:
    """The clusters of all cuts.

    Attributes
    ----------
    clusters : list of dict
        The descriptions of the clusters.
    places : list of list of int
        For each cut, the places in ``clusters`` of its largest clusters, the largest first.
    names : list of list of str
        For each cut, the names of these clusters: unique within the cut.
    """

    clusters: list[dict[str, Any]]
    places: list[list[int]]
    names: list[list[str]]


def list_clusters(
    study: Study,
    sample: Sample,
    columns: Columns,
    cuts: Sequence[Cut],
    colours: Sequence[IntArray],
    pictures: Pictures | None = None,
) -> Listing:
    """Describe the largest clusters of each cut.

    Cuts are nested, so that a cluster is known by its medoid and its size. The exemplar of a final cluster is that of
    the model; of another cluster, it is the most central of the sampled rows.
    """
    place_of: dict[tuple[int, int], int] = {}
    clusters: list[dict[str, Any]] = []
    traits: list[list[Trait]] = []
    spread = measure_spread(sample.table.values, sample.weights)
    class_counts = None if study.classes is None else ClassCounts.of(study.classes, cuts[0])
    members: list[IntArray] = []
    places: list[list[int]] = [[] for _ in cuts]
    for number in sorted(range(len(cuts)), key=lambda number: not cuts[number].is_final):
        cut = cuts[number]
        chosen = cut.largest(MAX_LISTED)
        keys = list(zip(cut.medoid[chosen].tolist(), cut.size[chosen].tolist(), strict=True))
        new = chosen[[key not in place_of for key in keys]] if keys else chosen
        place_of |= {key: len(clusters) + i for i, key in enumerate(key for key in keys if key not in place_of)}
        labels = cut.labels_of(sample.rows)
        some = _members(labels, new)
        found = find_traits(sample.table, labels, new, sample.weights, spread)
        clusters += _describe(study, sample, cut, colours[number], new, some, found, columns, class_counts)
        traits += found if pictures is None else pictures.find_traits(some)
        members += some
        places[number] = [place_of[key] for key in keys]
    if pictures is not None:
        pictures.add_to(clusters, members, _choose_pictured(places))
    names = [name_clusters([traits[place] for place in of_cut]) if of_cut else [] for of_cut in places]
    return Listing(clusters, places, names)


def _describe(
    study: Study,
    sample: Sample,
    cut: Cut,
    colour: IntArray,
    chosen: IntArray,
    members: list[IntArray],
    traits: Sequence[Sequence[Trait]],
    columns: Columns,
    class_counts: ClassCounts | None,
) -> list[dict[str, Any]]:
    if len(chosen) == 0:
        return []
    exemplars = _find_exemplars(study, sample, cut, chosen, members)
    classes = [None] * len(chosen) if class_counts is None else class_counts.find_main(cut, chosen)
    positions = np.minimum(np.searchsorted(sample.rows, exemplars), len(sample.rows) - 1)
    return [
        {
            "size": int(cut.size[cluster]),
            "colour": int(colour[cluster]),
            "exemplar": int(exemplars[i]),
            "called": study.name_row(int(exemplars[i])),
            "n_sampled": len(members[i]),
            "traits": [_describe_trait(trait, members[i], columns) for trait in traits[i][:N_TRAITS]],
            "values": _exemplar_values(sample, int(exemplars[i]), int(positions[i]), traits[i], columns),
            "image": None,
            "average": None,
            "class": classes[i],
        }
        for i, cluster in enumerate(chosen.tolist())
    ]


def _members(labels: IntArray, clusters: IntArray) -> list[IntArray]:
    """Return the positions of the rows of each cluster."""
    order = np.argsort(labels, kind="stable")
    starts, ends = (np.searchsorted(labels[order], clusters, side=side) for side in ("left", "right"))
    return [order[start:end] for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]


def _describe_trait(trait: Trait, members: IntArray, columns: Columns) -> dict[str, Any]:
    place = columns.place(trait.feature.name)
    found = columns.find(trait.feature.name)
    level = None if found.levels is None else found.levels.index(trait.feature.level)
    inside, outside = (float(f"{value:.4g}") for value in (trait.inside, trait.outside))
    return {"column": place, "level": level, "inside": inside, "outside": outside, "counts": found.count(members)}


def _exemplar_values(
    sample: Sample, row: int, position: int, traits: Sequence[Trait], columns: Columns
) -> list[list[Any]]:
    """Return the columns and values of an exemplar, those of the strongest traits first."""
    if sample.rows[position] != row:  # none of the rows of its cluster was sampled
        return []
    strongest = [trait.feature.name for trait in traits]
    others = columns.names if len(columns.names) <= MAX_VALUES else strongest
    names = list(dict.fromkeys([*strongest, *others]))[:MAX_VALUES]
    return [[columns.place(name), columns.value(name, position)] for name in names]


def most_central(features: Any) -> int:
    """Return the row of an array or CSR matrix that is nearest to the mean of all rows."""
    mean = np.asarray(features.mean(axis=0)).ravel()
    if sparse.issparse(features):  # the difference to the mean would not be sparse
        return int((row_norms(features, squared=True) - 2 * (features @ mean)).argmin())
    return int(((features - mean) ** 2).sum(axis=1).argmin())


def _find_exemplars(study: Study, sample: Sample, cut: Cut, chosen: IntArray, members: list[IntArray]) -> IntArray:
    """Return the exemplars of the model, or the most central of the sampled rows; if there are none, the medoid."""
    if cut.is_final:
        return np.asarray(study.model.exemplar_indices_[chosen])
    features = sample.features
    return np.array(
        [
            sample.rows[rows[most_central(features[rows])]] if len(rows) else cut.medoid[cluster]
            for cluster, rows in zip(chosen.tolist(), members, strict=True)
        ]
    )


def _choose_pictured(places: list[list[int]]) -> list[int]:
    """Return the places of the clusters with pictures: all, or the largest of each cut if there are very many."""
    n_each = next(n for n in (MAX_LISTED, 60, 30, 12) if n == 12 or _count_distinct(places, n) <= MAX_IMAGES)
    return sorted({place for of_cut in places for place in of_cut[:n_each]})


def _count_distinct(places: list[list[int]], n_each: int) -> int:
    return len({place for of_cut in places for place in of_cut[:n_each]})
