"""The top of a hierarchy as a tree that a reader can explore."""

from __future__ import annotations

from typing import Any

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.hierarchy import FusionHierarchy
from cohirf.plotting import layout
from cohirf.plotting.subject import Subject, find_subject
from cohirf.report.study import Study

MAX_LEAVES = 300  # clusters of the finest level drawn


def describe_tree(study: Study) -> dict[str, Any]:
    """Return the top of the hierarchy as nodes in preorder; noise is one node.

    Returns
    -------
    tree : dict
        ``parent``, ``level``, ``medoid``, ``size``, ``cluster``, ``depth`` and ``class`` have one entry per node;
        ``class`` is None if classes are not known. The parent of a final cluster is -1, and so is that of the noise
        node, which is the last node and has no level, medoid or class. ``n_hidden`` is the number of clusters of the
        finest level drawn, ``first_level``, that have no node and are not noise.
    """
    subject = find_subject(study.model)
    top = layout.readable_top(subject, MAX_LEAVES, largest_only=True)
    # a tree of final clusters alone shows no fusion; the clusters before the last fusions are more informative
    if top.hierarchy.n_levels == 0 and subject.hierarchy.n_levels > 1 and top.n_final == top.n_clusters:
        top = _last_fusions(subject, MAX_LEAVES)
    tree = layout.fusion_tree(top)
    order = layout.preorder(tree)
    order = order[tree.cluster[order] >= 0]
    place = np.full(len(tree.parent), -1)
    place[order] = np.arange(len(order))
    parent, medoid = tree.parent[order], tree.medoid[order]
    size = _true_sizes(tree, subject.hierarchy)
    grew_unseen = (tree.parent < 0) & (size > tree.size)
    level = np.where(grew_unseen, subject.hierarchy.n_levels, tree.level)
    nodes: dict[str, Any] = {
        "parent": np.where(parent < 0, -1, place[parent]).tolist(),
        "level": level[order].tolist(),
        "medoid": medoid.tolist(),
        "size": size[order].tolist(),
        "cluster": tree.cluster[order].tolist(),
        "depth": layout.rings(tree)[order].tolist(),
    }
    if study.n_noise:
        noise = {"parent": -1, "level": None, "medoid": None, "size": study.n_noise, "cluster": -1, "depth": 0}
        nodes = {name: [*values, noise[name]] for name, values in nodes.items()}
    n_finest = int(np.count_nonzero(subject.labels[subject.hierarchy.medoids(top.first_level)] >= 0))
    return nodes | {
        "class": None if study.classes is None else study.classes.names_of(medoid),
        "first_level": top.first_level,
        "n_hidden": n_finest - int(np.count_nonzero(top.cluster >= 0)),
    }


def _last_fusions(subject: Subject, max_leaves: int) -> layout.Top:
    """Return the last fusions of a hierarchy: the final clusters, and the largest clusters that fused into them."""
    whole = subject.hierarchy
    level = whole.n_levels - 1
    finer = whole.condense(int(whole.cluster_counts()[level]))
    rows, sizes = finer.rows, finer.row_sizes
    assert rows is not None  # a condensed hierarchy has both
    assert sizes is not None
    stays = finer.absorbed_at == 0
    largest = np.argsort(np.where(stays, -np.inf, -sizes), kind="stable")
    kept = np.sort(largest[: max(max_leaves, np.count_nonzero(stays))])  # final medoids are the first of ``largest``
    top = FusionHierarchy(
        np.searchsorted(kept, finer.parents[kept]),
        finer.absorbed_at[kept],
        rows=rows[kept],
        row_sizes=sizes[kept],
    )
    cluster = subject.labels[rows[kept]]
    first_level = whole.n_levels - top.n_levels
    return layout.Top(top, first_level, layout.leaf_order(top, cluster), cluster, int(whole.cluster_counts()[-1]))


def _true_sizes(tree: layout.FusionTree, whole: FusionHierarchy) -> IntArray:
    """Return the number of rows of each node, including rows of clusters that have no node of their own."""
    sizes = tree.size.copy()
    for level in np.unique(tree.level[tree.n_leaves :]).tolist():
        nodes = np.flatnonzero((tree.level == level) & (np.arange(len(sizes)) >= tree.n_leaves))
        sizes[nodes] = whole.sizes(level)[whole.cut(level=level)[tree.medoid[nodes]]]
    final = np.flatnonzero(tree.parent < 0)
    sizes[final] = whole.sizes(whole.n_levels)[whole.cut(level=whole.n_levels)[tree.medoid[final]]]
    return sizes
