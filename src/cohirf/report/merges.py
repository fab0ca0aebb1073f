"""The pairwise merges of the clusters, up to a single one, as lines of a dendrogram."""

from __future__ import annotations

from typing import Any

import numpy as np

from cohirf.plotting import layout
from cohirf.plotting.merge_layout import has_merges, merged_tree
from cohirf.plotting.subject import find_subject
from cohirf.report.study import Study

MAX_LEAVES = 60


def describe_merges(study: Study) -> dict[str, Any] | None:
    """Return the tree above the levels as nodes with coordinates, leaves first; None if the hierarchy has no tree.

    Returns
    -------
    merges : dict or None
        ``parent``, ``x``, ``height``, ``size`` and ``cluster`` have one entry per node; the cluster of a node above
        the final clusters is -2. ``medoid`` has one entry per leaf, and ``start`` and ``end``, the ends of its bar,
        one per merge. ``cut`` is the height at which the tree has the final clusters, if there is one.
    """
    subject = find_subject(study.model)
    if not has_merges(subject.hierarchy):
        return None
    tree = merged_tree(subject, MAX_LEAVES)
    places = layout.leaf_places(tree.cluster[: tree.n_leaves])
    lines = layout.dendrogram(tree, places, 1.08 * (float(tree.height.max()) or 1.0))
    columns: dict[str, Any] = {
        "parent": tree.parent,
        "x": lines.x,
        "height": np.array([float(f"{height:.5g}") for height in tree.height]),
        "size": tree.size,
        "cluster": tree.cluster,
        "medoid": tree.medoid,
        "start": lines.bar_start,
        "end": lines.bar_end,
    }
    return {name: values.tolist() for name, values in columns.items()} | {
        "n_leaves": tree.n_leaves,
        "n_merged": tree.n_merged,
        "n_hidden": tree.n_hidden,
        "level": tree.level,
        "cut": tree.cut_height,
        "top": lines.top,
    }
