"""For each cut of a report: cards of its clusters, a heat map of them, and rows to check.

To change what a card shows, begin with ``_describe_clusters`` here, which collects plain values,
and with ``html/cards.js`` and ``html/distributions.js`` (traits), which write them. Names come from
``name_clusters``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.app.explain.columns import Columns, Pictures, group_features, round_number
from cohirf.app.explain.cuts import Cut, find_finer
from cohirf.app.explain.describe import keep_true_names, split_siblings
from cohirf.app.explain.diagnose import agreement_with_classes
from cohirf.app.explain.effects import Trait, find_traits, measure_effects
from cohirf.app.explain.page import pack
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.rows import BadlyFitting
from cohirf.app.explain.study import Sample
from cohirf.app.explain.table import as_dense, most_central
from cohirf.app.explain.words import name_clusters
from cohirf.hierarchy import find_siblings
from cohirf.rows import FloatArray, IntArray

NOT_SAMPLED = -(2**31)  # a cluster without sampled rows: the least integer of 32 bits


@dataclass(frozen=True)
class Listing:
    """The clusters of all cuts."""

    clusters: list[dict[str, Any]]  # the descriptions of the clusters
    # for each cut, the places in ``clusters`` of its largest clusters, the largest first
    places: list[list[int]]
    names: list[list[str]]  # for each cut, the names of these clusters: unique within the cut


def list_clusters(
    sample: Sample,
    columns: Columns,
    cuts: Sequence[Cut],
    colours: Sequence[IntArray],
    pictures: Pictures | None = None,
) -> Listing:
    """Describe the largest clusters of each cut.

    Cuts are nested, so that a cluster is known by its medoid and its size: it has the same traits
    in all of them, and the same sibling in the tree.
    """
    tree = sample.study.model.hierarchy_.tree
    place_of: dict[tuple[int, int], int] = {}
    clusters = list[dict[str, Any]]()
    traits = list[list[Trait]]()
    splits = list[Trait | None]()
    members = list[IntArray]()
    places: list[list[int]] = [[] for _ in cuts]
    for number in sorted(range(len(cuts)), key=lambda number: not cuts[number].is_final):
        cut = cuts[number]
        chosen = cut.largest(PAGE.clusters)
        keys = list(zip(cut.medoid[chosen].tolist(), cut.size[chosen].tolist(), strict=True))
        new = chosen[[key not in place_of for key in keys]] if keys else chosen
        place_of |= {
            key: len(clusters) + i
            for i, key in enumerate(key for key in keys if key not in place_of)
        }
        labels = cut.labels_of(sample.rows)
        order = np.argsort(labels, kind="stable")
        ends = (
            np.searchsorted(labels[order], new, side=side).tolist() for side in ("left", "right")
        )
        some: list[IntArray] = [order[start:end] for start, end in zip(*ends, strict=True)]
        found = find_traits(sample.table, labels, new)
        if cut.is_final:
            found = [sample.begin_with_repeated(some) for some in found]
        else:
            found = found
        if len(new) and tree is not None:
            siblings = find_siblings(tree, cut.labels_of(tree.medoids))
        else:
            siblings = {}
        split = split_siblings(sample, labels, new, siblings)
        shown = [_begin_with(*of_cluster) for of_cluster in zip(found, split, strict=True)]
        clusters += _describe_clusters(sample, cut, colours[number], new, some, shown, columns)
        traits += found if pictures is None else pictures.find_traits(some)
        splits += split if pictures is None else [None] * len(new)
        members += some
        places[number] = [place_of[key] for key in keys]
    # of all clusters, or of the largest of each cut if there are very many
    if pictures is not None:
        sets = [
            {place for of_cut in places for place in of_cut[:n_each]}
            for n_each in (PAGE.clusters, 60, 30, 12)
        ]
        pictures.add_to(
            clusters,
            members,
            sorted(next((one for one in sets if len(one) <= PAGE.images), sets[-1])),
        )
    names = [
        name_clusters([traits[one] for one in some], [splits[one] for one in some])
        for some in places
    ]
    final = next(number for number, cut in enumerate(cuts) if cut.is_final)
    if pictures is None:
        names[final] = keep_true_names(sample, cuts[final].largest(PAGE.clusters), names[final])
    return Listing(clusters, places, names)


def _begin_with(traits: list[Trait], split: Trait | None) -> list[Trait]:
    """Return the traits of a cluster, beginning with that of the column that its name begins
    with.
    """
    return sorted(
        traits, key=lambda trait: split is None or trait.feature.name != split.feature.name
    )


def _describe_clusters(
    sample: Sample,
    cut: Cut,
    colour: IntArray,
    chosen: IntArray,
    members: list[IntArray],
    traits: Sequence[Sequence[Trait]],
    columns: Columns,
) -> list[dict[str, Any]]:
    if len(chosen) == 0:
        return []
    exemplars = _find_exemplars(sample, cut, chosen, members)
    return [
        {
            "size": int(cut.size[cluster]),
            "colour": int(colour[cluster]),
            "exemplar": exemplar,
            "called": sample.study.name_row(exemplar),
            "n_sampled": len(members[i]),
            "traits": [
                _describe_trait(trait, members[i], columns) for trait in traits[i][: PAGE.traits]
            ],
            "values": _exemplar_values(sample, exemplar, traits[i], columns),
            "image": None,
            "average": None,
            "class": _find_main_class(sample, members[i]),
        }
        for i, (cluster, exemplar) in enumerate(
            zip(chosen.tolist(), exemplars.tolist(), strict=True)
        )
    ]


def _find_main_class(sample: Sample, members: IntArray) -> dict[str, Any] | None:
    """Return the most frequent known class of the sampled rows of a cluster, and its share.

    None if none is known.
    """
    classes = sample.study.classes
    if classes is None or len(members) == 0:
        return None
    counts = np.bincount(classes.codes[sample.rows[members]])
    return {"name": classes.names[counts.argmax()], "share": float(counts.max() / len(members))}


def _describe_trait(trait: Trait, members: IntArray, columns: Columns) -> dict[str, Any]:
    place = columns.place(trait.feature.name)
    found = columns.find(trait.feature.name)
    level = None if found.levels is None else trait.feature.level
    inside, outside = (float(f"{value:.4g}") for value in (trait.inside, trait.outside))
    return {
        "column": place,
        "level": level,
        "inside": inside,
        "outside": outside,
        "counts": found.count(members),
    }


def _exemplar_values(
    sample: Sample, row: int, traits: Sequence[Trait], columns: Columns
) -> list[list[Any]]:
    """Return the columns and values of an exemplar, those of the strongest traits first."""
    position = min(int(np.searchsorted(sample.rows, row)), len(sample.rows) - 1)
    if sample.rows[position] != row:  # none of the rows of its cluster was sampled
        return []
    strongest = [trait.feature.name for trait in traits]
    others = columns.names if len(columns.names) <= PAGE.exemplar_columns else strongest
    names = list(dict.fromkeys([*strongest, *others]))[: PAGE.exemplar_columns]
    return [[columns.place(name), columns.value(name, position)] for name in names]


def _find_exemplars(
    sample: Sample, cut: Cut, chosen: IntArray, members: list[IntArray]
) -> IntArray:
    """Return the exemplars of the model, or the most central of the sampled rows.

    If there are none, the medoid.
    """
    if cut.is_final:
        return np.asarray(sample.study.model.exemplar_indices_[chosen])
    features = sample.features
    return np.array(
        [
            sample.rows[rows[most_central(features[rows])]] if len(rows) else cut.medoid[cluster]
            for cluster, rows in zip(chosen.tolist(), members, strict=True)
        ]
    )


def describe_cuts(
    sample: Sample, cuts: Sequence[Cut], colours: Sequence[IntArray], listing: Listing
) -> list[dict[str, Any]]:
    """Return the figures of each cut, its clusters, and how it follows from a finer cut."""
    finer = [find_finer(cuts, number) for number in range(len(cuts))]
    scored = sample.rows[sample.scored]
    drawn = sample.rows[sample.drawn]
    known = sample.study.classes
    classes = None if known is None else known.codes[drawn]
    return [
        {
            "n_clusters": cut.n_clusters,
            "n_noise": sample.study.n_rows - int(cut.size.sum()),
            "is_final": cut.is_final,
            "levels": list(cut.levels),
            "silhouette": sample.distances.silhouette(cut.labels_of(scored)),
            "ari": agreement_with_classes(
                cut.labels_of(drawn), classes
            ),  # of random rows, if there are very many
            "clusters": listing.places[
                number
            ],  # places of the largest clusters in the listing, and their labels
            "names": listing.names[number],
            "numbers": cut.largest(PAGE.clusters).tolist(),
            "colour": pack(colours[number]),  # of each label
            "finer": finer[
                number
            ],  # number of a finer cut, and the label here of each of its clusters
            "parts": None if (part := finer[number]) is None else pack(cut.parts_of(cuts[part])),
        }
        for number, cut in enumerate(cuts)
    ]


def make_heatmap(sample: Sample, cuts: Sequence[Cut], listing: Listing) -> dict[str, Any] | None:
    """Return means of features, and how far those of clusters are from them, in parts of a
    deviation; or None.
    """
    final = next(cut for cut in cuts if cut.is_final)
    compared = next((cut for cut in (final, *cuts) if cut.n_clusters > 1), None)
    if (
        compared is None
        or not sample.table.features
        or not (chosen := choose_features(sample, compared))
    ):
        return None
    table = sample.table.choose(chosen)
    differences = np.full((len(listing.clusters), len(chosen)), NOT_SAMPLED, dtype=np.int64)
    for cut, places in zip(cuts, listing.places, strict=True):
        new = [i for i, place in enumerate(places) if differences[place, 0] == NOT_SAMPLED]
        if not new:
            continue
        clusters = cut.largest(PAGE.clusters)[new]
        effects = measure_effects(table, cut.labels_of(sample.rows), clusters)
        away = (effects.mean - table.mean) / table.deviation
        away = np.clip(np.rint(PAGE.precision * away), NOT_SAMPLED + 1, -NOT_SAMPLED - 1)
        is_known = (effects.n_rows[:, None] > 0) & ~np.isnan(away)
        differences[np.array(places)[new]] = np.where(is_known, away, NOT_SAMPLED)
    described = [
        {
            "name": feature.name,
            "kind": feature.kind,
            "level": feature.level or None,
            "unit": sample.study.units.get(feature.name, ""),
            "mean": round_number(float(table.mean[i])),
            "deviation": round_number(float(table.deviation[i])),
        }
        for i, feature in enumerate(table.features)
    ]
    return {"features": described, "values": pack(differences.ravel())}


def choose_features(sample: Sample, cut: Cut) -> list[int]:
    """Return the features that differ most between clusters of a cut.

    Of a category with two levels, one of these.
    """
    largest = cut.largest(PAGE.clusters)
    effects = measure_effects(sample.table, cut.labels_of(sample.rows), largest)
    weights: FloatArray = cut.size[largest] / cut.size[largest].sum()
    strength = weights @ np.square(effects.effect)
    for levels in group_features(sample.table.features).values():
        if len(levels) == 2:
            strength[levels[0]] = 0  # it is one minus the other
    order = np.argsort(-strength, kind="stable")[: PAGE.heatmap_features]
    return [
        feature
        for feature in order.tolist()
        if np.abs(effects.effect[:, feature]).max() >= PAGE.heatmap_effect
    ]


def rows_of(found: BadlyFitting) -> IntArray:
    """Return the numbers of the rows that are shown."""
    shown = [row.row for row in found.loose[: PAGE.odd_rows]] + [
        row.row for row in found.border[: PAGE.odd_rows]
    ]
    return np.array(shown, dtype=np.int64)


def describe_odd_rows(
    sample: Sample, found: BadlyFitting, columns: Columns, pictures: Pictures | None = None
) -> dict[str, Any]:
    """Return the rows that fit their cluster badly, with the values that tell most.

    Images have no values.
    """
    teller = Teller(sample, columns)
    place = {
        number: position
        for position, number in enumerate(sample.study.model.cluster_numbers_.tolist())
    }
    prepared = sample.study.prepared
    filled = [] if prepared is None else prepared.mostly_filled().tolist()
    odd: dict[str, Any] = {
        "n_compared": found.n_compared,
        "n_filled": len(filled),
        "filled": [sample.study.name_row(row) for row in filled[: PAGE.filled_rows]],
        "loose": [
            teller.describe(row.row, [place[row.cluster]]) | {"distance": round(row.distance, 1)}
            for row in found.loose[: PAGE.odd_rows]
        ],
        "border": [
            teller.describe(row.row, [place[row.cluster], place[row.other]])
            | {"other": place[row.other], "closeness": round(row.closeness, 2)}
            for row in found.border[: PAGE.odd_rows]
        ],
    }
    if pictures is not None:
        shown = [*odd["loose"], *odd["border"]]
        for row, image in zip(shown, pictures.show(rows_of(found).tolist()), strict=True):
            row |= {"image": image, "values": []}
    return odd


class Teller:
    """Finds the values of a row that tell why it fits badly."""

    def __init__(self, sample: Sample, columns: Columns) -> None:
        self._sample = sample
        self._columns = columns
        table = sample.table
        clusters = np.arange(sample.study.model.n_clusters_)
        self._mean = measure_effects(table, sample.labels, clusters).mean
        self._is_level = np.array(
            [feature.kind == "level" for feature in table.features], dtype=bool
        )

    def describe(self, row: int, clusters: list[int]) -> dict[str, Any]:
        """Return a row of one cluster, or between two, with the columns that tell most."""
        position = int(np.searchsorted(self._sample.rows, row))
        means = self._mean[clusters]
        # how far it is from its cluster; of levels, if it has them and they are rare
        if len(clusters) == 1:
            cells = as_dense(self._sample.table.values[[position]])[0]
            difference = np.where(
                self._is_level & ((cells < 1) | (means[0] > PAGE.odd_level)), 0, cells - means[0]
            )
        else:  # how far two clusters are from each other
            difference = means[0] - means[1]
        deviation = self._sample.table.deviation
        strength = np.abs(difference) / np.where(deviation > 0, deviation, np.inf)
        if self._sample.table.known is not None:
            strength = np.where(self._sample.table.known[position], strength, 0)
        strength = np.nan_to_num(strength)
        names: dict[str, None] = {}
        for feature in np.argsort(-strength, kind="stable").tolist():
            if len(names) == PAGE.odd_columns or strength[feature] < PAGE.odd_difference:
                break
            names.setdefault(self._sample.table.features[feature].name)
        return {
            "called": self._sample.study.name_row(row),
            "cluster": clusters[0],
            "values": [self._compare(position, name, clusters) for name in names],
            "image": None,
        }

    def _compare(self, position: int, name: str, clusters: list[int]) -> list[Any]:
        """Return column and value, and for each cluster its mean, or the share of its rows with the
        same level.
        """
        found = self._columns.find(name)
        if found.levels:
            feature = found.features[max(int(found.code[position]), 0)]
        else:
            feature = found.features[0]
        means = self._mean[clusters, feature].tolist()
        typical = [None if np.isnan(mean) else round_number(mean) for mean in means]
        return [self._columns.place(name), self._columns.value(name, position), *typical]
