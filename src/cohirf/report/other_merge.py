"""The other merge: how rows would be divided if clusters were connected instead of compact, or the other way round."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment
from sklearn.base import clone
from sklearn.metrics import pairwise_distances_argmin

from cohirf.algorithm.grouping import IntArray
from cohirf.diagnosis.base_alone import K_MEANS, rival_of
from cohirf.diagnosis.sample import relevant_part
from cohirf.estimator import CoHiRF
from cohirf.report.cuts import MANY, Cut
from cohirf.report.packing import pack
from cohirf.report.sample import Sample
from cohirf.report.study import Study


def show_other_merge(
    study: Study, sample: Sample, cuts: Sequence[Cut], colours: Sequence[IntArray]
) -> dict[str, Any] | None:
    """Return the plotted rows as the other merge divides them; None if the fit has not compared merges.

    The scored rows of the sample are fitted with the other merge, and each plotted row joins the nearest of these.

    Returns
    -------
    other : dict or None
        ``merge`` and ``other`` name the merge of the fit and the other one; ``why`` compares them, and ``n_fitted`` is
        the number of rows that were fitted. ``part`` is the part of each plotted row in the finest division. For each
        cut, ``colours`` has the colour of each part, that of the cluster which shares most rows with it, and ``moved``
        the share of plotted rows in other clusters than those with their colour; both have None for cuts of too many
        clusters.
    """
    choice = study.model.choice_
    if choice is None or not choice.describe_merge():
        return None
    fitted = sample.features[sample.scored]
    if choice.n_clusters >= fitted.shape[0]:
        return None
    other = "compact" if choice.merge == "connected" else "connected"
    plotted = sample.features[sample.points]
    hierarchy = fit_other(study.model, fitted, choice.n_clusters, other).hierarchy_
    finest = hierarchy.cut(n_clusters=min(MANY, hierarchy.tree.n_leaves))
    part = finest[pairwise_distances_argmin(*(relevant_part(study.model, some) for some in (plotted, fitted)))]
    _, first = np.unique(finest, return_index=True)
    coloured: list[list[int] | None] = [None] * len(cuts)
    moved: list[float | None] = [None] * len(cuts)
    for number, cut in enumerate(cuts):
        if 1 <= cut.n_clusters <= len(first):
            label_of_part = hierarchy.cut(n_clusters=cut.n_clusters)[first]
            ours = cut.labels_of(sample.point_rows)
            likest, moved[number] = match_clusters(ours, label_of_part[part], cut.n_clusters)
            coloured[number] = colours[number][likest[label_of_part]].tolist()
    return {
        "merge": choice.merge,
        "other": other,
        "why": choice.describe_merge(),
        "n_fitted": len(finest),
        "part": pack(part),
        "colours": coloured,
        "moved": moved,
    }


def fit_other(model: CoHiRF, rows: Any, n_clusters: int, merge: str) -> CoHiRF:
    """Return the model refitted to some rows with another merge.

    Methods that go by density, or that are not told the number of clusters, give way to K-Means: a sample is thinner
    than the data, and in a single batch they would not merge anything.
    """
    other: CoHiRF = clone(model).set_params(
        n_clusters=n_clusters, merge=merge, batch_size=None, checkpoint=None, min_cluster_size=1, verbose=0
    )
    if not isinstance(rival_of(model).clusterer, K_MEANS):
        other.set_params(estimator=None)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # this fit is only a comparison
        other.fit(rows)
    return other


def match_clusters(ours: IntArray, others: IntArray, n_clusters: int) -> tuple[IntArray, float]:
    """Return, for each of the other clusters, one of ours so that most rows agree; and the share that does not.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf.report.other_merge import match_clusters
    >>> match_clusters(np.array([0, 0, 1, 1]), np.array([1, 1, 1, 0]), 2)
    (array([1, 0]), 0.25)
    """
    kept = np.flatnonzero(ours >= 0)
    shared = np.zeros((n_clusters, n_clusters), dtype=np.int64)
    np.add.at(shared, (others[kept], ours[kept]), 1)
    rows, likest = linear_sum_assignment(shared, maximize=True)
    return likest, 1 - float(shared[rows, likest].sum()) / max(len(kept), 1)
