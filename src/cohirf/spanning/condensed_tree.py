"""Labels of HDBSCAN from a spanning tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cohirf.spanning.batch_edges import Edges
from cohirf.spanning.condensing_kernels import climb, condense, labels_of_rows, select_by_mass, select_leaves
from cohirf.spanning.kruskal_kernels import single_linkage
from cohirf.spanning.settings import Settings


def label_tree(tree: Edges, settings: Settings) -> NDArray[np.int32]:
    """Return the label of each row, -1 for noise; clusters are numbered in the order of their first rows.

    Parameters
    ----------
    tree : Edges
        The edges of the minimum spanning tree of mutual reachability with their weights, sorted.
    settings : Settings
        The parameters of HDBSCAN.

    Notes
    -----
    Labels are those of scikit-learn, hdbscan or fast_hdbscan for the same tree. Where edges have equal weights, a set
    of rows has several minimum spanning trees, and these packages condense another one, or its edges in another order.
    """
    left, right, sizes = single_linkage(tree.one, tree.two)
    clusters, row_clusters, left_at = condense(left, right, sizes, tree.lengths, settings.min_cluster_size)
    is_split = len(clusters.parents) > 1
    allow_root = settings.allow_single_cluster and (is_split or not settings.as_fast_hdbscan)
    if settings.leaves:
        is_selected = select_leaves(clusters)
    else:
        children = clusters.sizes[1:3].sum()  # the first split is that of the root
        root_size = len(left) if settings.as_fast_hdbscan else children
        is_selected = select_by_mass(clusters, float(settings.max_cluster_size), root_size, allow_root)
    if settings.epsilon > 0:
        is_selected = climb(clusters, is_selected, settings.epsilon, allow_root or settings.as_fast_hdbscan)
    return np.asarray(labels_of_rows(clusters, is_selected, row_clusters, left_at, settings.epsilon))
