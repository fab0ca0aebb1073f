"""For each cut of a report: its figures, and a card of each of its clusters.

To change what a card shows, begin with ``_describe_clusters`` here, which collects plain values,
and with ``html/cards.js`` and ``html/distributions.js`` (traits), which write them. Names come from
``name_clusters``. What is below the cards are sections, see ``sections``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cohirf.app.explain.columns import Columns, Pictures
from cohirf.app.explain.cuts import Cut, find_finer, place_of_final
from cohirf.app.explain.describe import keep_true_names, split_siblings
from cohirf.app.explain.diagnose import agreement_with_classes
from cohirf.app.explain.effects import Trait, find_traits
from cohirf.app.explain.page import pack
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.sections import Listing
from cohirf.app.explain.study import Sample
from cohirf.app.explain.table import most_central
from cohirf.app.explain.words import name_clusters
from cohirf.hierarchy import find_siblings
from cohirf.rows import IntArray


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
    final = place_of_final(cuts)
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
            "labels": cut.largest(PAGE.clusters).tolist(),
            "colour": pack(colours[number]),  # of each label
            "finer": finer[
                number
            ],  # number of a finer cut, and the label here of each of its clusters
            "parts": None if (part := finer[number]) is None else pack(cut.parts_of(cuts[part])),
        }
        for number, cut in enumerate(cuts)
    ]
