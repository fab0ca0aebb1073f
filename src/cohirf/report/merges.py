"""The tree above the clusters: how they merge pairwise, up to a single one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.plotting.merge_layout import MergedTree, has_merges, merged_tree
from cohirf.plotting.subject import find_subject
from cohirf.report.cuts import Cut
from cohirf.report.explore import is_whole
from cohirf.report.packing import pack
from cohirf.report.study import Study

MAX_LEAVES = 240


def describe_merges(study: Study, cuts: Sequence[Cut], rows: IntArray) -> dict[str, Any] | None:
    """Return the tree of merges as nodes, leaves first, from top to bottom; None if the hierarchy has no tree.

    Parameters
    ----------
    study : Study
        The model and its data.
    cuts : sequence of Cut
        The cuts that a reader can choose.
    rows : array of int
        The rows on the map.

    Returns
    -------
    merges : dict or None
        ``parent``, ``height`` and ``size`` have one entry per node. ``labels`` has the cluster of each leaf at each
        cut; None for cuts with clusters that are smaller than a leaf. ``leaf`` is the leaf of each row on the map, or
        -1 for noise and hidden clusters.
    """
    subject = find_subject(study.model)
    if subject.hierarchy.tree is None or not has_merges(subject.hierarchy):
        return None
    tree = merged_tree(subject, max(cut.n_clusters for cut in cuts if is_whole(cut) and cut.n_clusters <= MAX_LEAVES))
    return {
        "parent": tree.parent.tolist(),
        "height": [float(f"{height:.5g}") for height in tree.height.tolist()],
        "size": tree.size.tolist(),
        "n_leaves": tree.n_leaves,
        "n_hidden": tree.n_hidden,
        "labels": [cut.labels_of(tree.medoid).tolist() if _is_shown(tree, cut) else None for cut in cuts],
        "leaf": pack(_leaves_of(tree, cuts, rows)),
    }


def _is_shown(tree: MergedTree, cut: Cut) -> bool:
    """Return whether each leaf of the tree is in one cluster of a cut."""
    return cut.n_merged <= tree.n_leaves + tree.n_hidden


def _leaves_of(tree: MergedTree, cuts: Sequence[Cut], rows: IntArray) -> IntArray:
    """Return the leaf of the drawn tree that each row belongs to; leaves are the clusters of the finest cut shown."""
    finest = [cut for cut in cuts if is_whole(cut) and _is_shown(tree, cut)][-1]
    leaf_of_label = np.full(finest.n_clusters + 1, -1)
    leaf_of_label[finest.labels_of(tree.medoid)] = np.arange(tree.n_leaves)
    return leaf_of_label[finest.labels_of(rows)]
