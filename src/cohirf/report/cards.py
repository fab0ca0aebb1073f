"""Cards of the largest final clusters: size, exemplar, distinguishing features, and the most frequent class."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.diagnosis.effects import Effects, measure_effects, name_strongest
from cohirf.diagnosis.reading import as_dense
from cohirf.report.cuts import make_cut
from cohirf.report.images import make_images
from cohirf.report.sample import Sample
from cohirf.report.study import Study

MAX_CARDS = 12
N_FEATURES = 5  # per card


def make_cards(study: Study, sample: Sample, image_shape: tuple[int, ...] | None) -> dict[str, Any]:
    """Return a card for each of the largest final clusters, and the numbers of clusters and rows without a card."""
    cut = make_cut(study.model, study.model.hierarchy_.n_levels)
    chosen = cut.largest(MAX_CARDS)
    effects = measure_effects(sample.features, sample.spread, cut.labels[sample.rows], chosen)
    images: list[Any] = [None] * len(chosen)
    if image_shape is not None:
        images = make_images(as_dense(study.model.exemplars_[chosen]), image_shape)
    clusters = [
        {
            "number": cluster,
            "size": int(cut.size[cluster]),
            "exemplar": int(study.model.exemplar_indices_[cluster]),
            "n_sampled": int(effects.n_rows[i]),
            "features": _name_features(study, effects, i),
            "image": images[i],
            "class": _main_class(study, cut.labels == cluster),
        }
        for i, cluster in enumerate(chosen.tolist())
    ]
    return {
        "clusters": clusters,
        "n_more": cut.n_clusters - len(chosen),
        "rows_more": int(cut.size.sum() - cut.size[chosen].sum()),
    }


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


def _main_class(study: Study, members: NDArray[np.bool_]) -> dict[str, Any] | None:
    """Return the most frequent class of the rows of a cluster, and its share; None if classes are not known."""
    if study.classes is None:
        return None
    counts = np.bincount(study.classes.code[members])
    most = int(counts.argmax())
    return {"name": study.classes.names[most], "share": float(counts[most] / counts.sum())}
