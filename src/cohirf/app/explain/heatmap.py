"""The section that compares clusters side by side: how far their means are from those of all rows.

``html/heatmap.js`` draws it for the cut that the reader has chosen.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cohirf.app.explain.columns import group_features, round_number
from cohirf.app.explain.cuts import Cut, place_of_final
from cohirf.app.explain.effects import measure_effects
from cohirf.app.explain.page import pack
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.sections import Listing, Made, Section
from cohirf.app.explain.study import Sample
from cohirf.rows import FloatArray

NOT_SAMPLED = -(2**31)  # a cluster without sampled rows: the least integer of 32 bits


def make_heatmap(sample: Sample, cuts: Sequence[Cut], listing: Listing) -> dict[str, Any] | None:
    """Return means of features, and how far those of clusters are from them, in parts of a
    deviation; or None.
    """
    final = cuts[place_of_final(cuts)]
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


def _describe(made: Made) -> dict[str, Any] | None:
    if made.pictures is not None:
        return None  # pixels alone tell nothing
    return make_heatmap(made.sample, made.cuts, made.listing)


SECTION = Section("compare", "Comparison", _describe, template="heatmap.html")
