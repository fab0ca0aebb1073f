"""Clusters as tables: all of them, and the features of one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cohirf import CoHiRF
from cohirf.app.explain.describe import describe_clusters, tabulate
from cohirf.app.explain.effects import measure_effects
from cohirf.app.explain.study import check_study, draw_sample, make_study
from cohirf.app.explain.table import Table
from cohirf.hierarchy import to_frame


def summarize_clusters(model: CoHiRF, X: Any, feature_names: Sequence[str] | None) -> Any:
    """Return a pandas table with a row for each cluster: name, size and what sets it apart."""
    return tabulate(describe_clusters(model, X, feature_names), "summary")


def explain_cluster(model: CoHiRF, cluster: Any, X: Any = None) -> Any:
    """Return a pandas table of the features that distinguish a final cluster, the strongest
    first.
    """
    numbers = model.cluster_numbers_
    if not isinstance(cluster, int | np.integer) or cluster not in numbers:
        which = f"an int from 0 to {len(numbers) - 1}"
        if len(numbers) and numbers[-1] >= len(numbers):
            which = "a number from cluster_numbers_"
        if len(numbers):
            reason = f"pass {which}."
        else:
            reason = "it has none, because every row is noise."
        raise ValueError(f"cluster={cluster!r} is not a cluster of this model: {reason}")
    if X is None:
        study = make_study(model)
    else:
        study = check_study(model, X, None, None)
    sample = draw_sample(study)
    place = np.flatnonzero(numbers == cluster)
    effects = measure_effects(
        Table(sample.rows, sample.features, [], sample.weights), sample.labels, place
    )
    columns = {
        "feature": study.feature_names,
        "effect": effects.effect[0],
        "mean": effects.mean[0],
        "mean_elsewhere": effects.mean_elsewhere[0],
        "views_agree": model.feature_agreement_,
    }
    strongest = np.argsort(-np.abs(effects.effect[0]), kind="stable")
    return to_frame(columns, index="feature", user="explain").iloc[strongest]
