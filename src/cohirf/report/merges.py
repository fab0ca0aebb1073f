"""The pairwise merges of the clusters, up to a single one, as lines of a dendrogram."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cohirf.plotting import layout
from cohirf.plotting.merge_layout import MergedTree, has_merges, merged_tree
from cohirf.plotting.subject import find_subject
from cohirf.report.cuts import Cut
from cohirf.report.study import Study

MAX_LEAVES = 60


def describe_merges(study: Study, cuts: Sequence[Cut]) -> dict[str, Any] | None:
    """Return the tree above the levels as nodes with coordinates, leaves first; None if the hierarchy has no tree.

    Returns
    -------
    merges : dict or None
        ``parent``, ``x``, ``height`` and ``size`` have one entry per node, ``medoid`` one per leaf, and ``start`` and
        ``end``, the ends of its bar, one per merge. ``labels`` has the cluster of each leaf at each cut, and ``cuts``
        the height of each cut. Both are None for cuts with clusters that are smaller than a leaf; the height is None,
        too, if the merges below and above are at the same height.
    """
    subject = find_subject(study.model)
    if subject.hierarchy.tree is None or not has_merges(subject.hierarchy):
        return None
    linkage = subject.hierarchy.tree.linkage
    tree = merged_tree(subject, MAX_LEAVES)
    places = layout.leaf_places(tree.cluster[: tree.n_leaves])
    lines = layout.dendrogram(tree, places, 1.08 * (float(tree.height.max()) or 1.0))
    columns: dict[str, Any] = {
        "parent": tree.parent,
        "x": lines.x,
        "height": np.array([float(f"{height:.5g}") for height in tree.height]),
        "size": tree.size,
        "medoid": tree.medoid,
        "start": lines.bar_start,
        "end": lines.bar_end,
    }
    return {name: values.tolist() for name, values in columns.items()} | {
        "n_leaves": tree.n_leaves,
        "n_merged": tree.n_merged,
        "n_hidden": tree.n_hidden,
        "level": tree.level,
        "labels": [cut.labels_of(tree.medoid).tolist() if _is_shown(tree, cut) else None for cut in cuts],
        "cuts": [_height_of(linkage, cut) if _is_shown(tree, cut) else None for cut in cuts],
        "top": lines.top,
    }


def _is_shown(tree: MergedTree, cut: Cut) -> bool:
    """Return whether each leaf of the dendrogram is in one cluster of a cut."""
    return cut.n_merged <= tree.n_leaves + tree.n_hidden


def _height_of(linkage: layout.Floats, cut: Cut) -> float | None:
    """Return a height between the merges within the clusters of a cut and those above."""
    heights = np.concatenate([[0.0], linkage[:, 2]])
    n_below = len(linkage) + 1 - cut.n_merged
    above = heights[n_below + 1] if cut.n_merged > 1 else 1.1 * max(heights[-1], 0.5)
    return float(f"{(heights[n_below] + above) / 2:.5g}") if above > heights[n_below] else None
