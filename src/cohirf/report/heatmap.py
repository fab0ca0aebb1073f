"""The heatmap: the mean of each cluster in the features that differ most between the final clusters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cohirf.diagnosis.effects import measure_effects, measure_spread
from cohirf.diagnosis.reading import as_dense
from cohirf.report.clusters import MAX_LISTED, Listing
from cohirf.report.cuts import Cut
from cohirf.report.distributions import Floats, group_features, round_number
from cohirf.report.packing import pack
from cohirf.report.sample import Sample
from cohirf.report.study import Study

MAX_FEATURES = 14
MIN_EFFECT = 0.3  # standard deviations: in each feature shown, some cluster differs by this from the other rows
PRECISION = 100  # differences are stored in hundredths of a standard deviation
LARGEST = 30_000  # hundredths
UNKNOWN = -32_768  # a cluster without sampled rows


def make_heatmap(study: Study, sample: Sample, cuts: Sequence[Cut], listing: Listing) -> dict[str, Any] | None:
    """Return means of features, and how far those of each cluster are from them; None if there is nothing to compare.

    Returns
    -------
    heatmap : dict or None
        ``features`` with name, level, mean and standard deviation of each; and ``values``, for each cluster of the
        listing and each feature the difference to the mean, in hundredths of a standard deviation.
    """
    compared = _cut_to_compare(cuts)
    if compared is None or not sample.table.features:
        return None
    chosen = choose_features(sample, compared)
    if len(chosen) == 0:
        return None
    values = as_dense(sample.table.values[:, chosen])
    spread = measure_spread(values, sample.weights)
    mean = spread.total / sample.weights.sum()
    differences = np.full((len(listing.clusters), len(chosen)), UNKNOWN, dtype=np.int64)
    for cut, places in zip(cuts, listing.places, strict=True):
        new = [i for i, place in enumerate(places) if differences[place, 0] == UNKNOWN]
        if not new:
            continue
        clusters = cut.largest(MAX_LISTED)[new]
        effects = measure_effects(values, spread, cut.labels_of(sample.rows), clusters, sample.weights)
        away = (effects.mean - mean) / spread.deviation
        away = np.clip(np.rint(PRECISION * away), -LARGEST, LARGEST)
        differences[np.array(places)[new]] = np.where(effects.n_rows[:, None] > 0, away, UNKNOWN)
    features = [sample.table.features[feature] for feature in chosen]
    described = [
        {
            "name": feature.name,
            "kind": feature.kind,
            "level": feature.level or None,
            "unit": study.units.get(feature.name, ""),
            "mean": round_number(float(mean[i])),
            "deviation": round_number(float(spread.deviation[i])),
        }
        for i, feature in enumerate(features)
    ]
    return {"features": described, "values": pack(differences.ravel())}


def choose_features(sample: Sample, cut: Cut) -> list[int]:
    """Return the features that differ most between clusters of a cut; of a category with two levels, one of these."""
    largest = cut.largest(MAX_LISTED)
    spread = measure_spread(sample.table.values, sample.weights)
    effects = measure_effects(sample.table.values, spread, cut.labels_of(sample.rows), largest, sample.weights)
    weights: Floats = cut.size[largest] / cut.size[largest].sum()
    strength = weights @ np.square(effects.effect)
    for levels in group_features(sample.table.features).values():
        if len(levels) == 2:
            strength[levels[0]] = 0  # it is one minus the other
    order = np.argsort(-strength, kind="stable")[:MAX_FEATURES]
    return [feature for feature in order.tolist() if np.abs(effects.effect[:, feature]).max() >= MIN_EFFECT]


def _cut_to_compare(cuts: Sequence[Cut]) -> Cut | None:
    """Return the final cut or, if it has one cluster, the next that has more; None if there is none."""
    final = next(cut for cut in cuts if cut.is_final)
    return next((cut for cut in (final, *cuts) if cut.n_clusters > 1), None)
