"""Labels of HDBSCAN from the edges of a spanning tree."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cohirf.spanning import condensing_kernels as kernels
from cohirf.spanning.boruvka_kernels import root
from cohirf.spanning.edges import Edges
from cohirf.spanning.settings import Settings


class CondensedTree:
    """The clusters of HDBSCAN and their rows, while edges are merged.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    settings : Settings
        The parameters of HDBSCAN.

    Notes
    -----
    Labels are those of scikit-learn, hdbscan or fast_hdbscan for the same tree. Where edges have equal weights, a set
    of rows has several minimum spanning trees, and these packages condense another one, or its edges in another order.
    """

    def __init__(self, n_rows: int, settings: Settings) -> None:
        self._settings = settings
        can_be_root = settings.allow_single_cluster or (settings.as_fast_hdbscan and settings.epsilon > 0)
        self._rows = kernels.Components(
            parents=np.arange(n_rows, dtype=np.int32),
            sizes=np.ones(n_rows, dtype=np.int32),
            joined=np.full(n_rows, -1, dtype=np.int32),
            left_at=np.empty(n_rows if can_be_root else 0),
        )
        most = 2 * (n_rows // settings.min_cluster_size) + 1
        self._found = kernels.Clusters(
            np.zeros(most, dtype=np.int32), np.zeros(most, dtype=np.int64), *(np.zeros(most) for _ in range(3))
        )
        self._tops = np.arange(most, dtype=np.int32)
        self._n_found = 0
        self._density = -1.0  # of the last edge

    def merge(self, edges: Edges) -> None:
        """Merge the rows of edges, which come with their weights, sorted, after all lighter edges.

        Edges whose rows are connected already are passed over, so that these need not be those of a spanning tree.
        """
        if edges.count == 0:
            return
        found = (self._rows, self._found, self._tops, self._n_found, self._settings.min_cluster_size)
        self._n_found = kernels.merge(edges.one, edges.two, edges.lengths, *found)
        self._density = 1 / edges.lengths[-1] if edges.lengths[-1] > 0 else np.inf

    def label(self) -> NDArray[np.int32]:
        """Return the label of each row, -1 for noise; clusters are numbered in the order of their first rows.

        All rows must be connected by now.
        """
        settings = self._settings
        if self._n_found == 0:  # all rows together are a small component: the root
            kernels.join(self._rows, self._found, root(self._rows.parents, 0), 0, self._density)
            self._n_found = 1
        clusters = kernels.from_root(self._found, self._n_found)
        is_split = self._n_found > 1
        allow_root = settings.allow_single_cluster and (is_split or not settings.as_fast_hdbscan)
        if settings.leaves:
            is_selected = kernels.select_leaves(clusters)
        else:
            children = clusters.sizes[1:][clusters.parents[1:] == 0].sum()
            root_size = clusters.sizes[0] - 1 if settings.as_fast_hdbscan else children
            is_selected = kernels.select_by_mass(clusters, float(settings.max_cluster_size), root_size, allow_root)
        if settings.epsilon > 0:
            is_selected = kernels.climb(clusters, is_selected, settings.epsilon, allow_root or settings.as_fast_hdbscan)
        labels = np.empty(len(self._rows.parents), dtype=np.int32)
        kernels.label_rows(clusters, is_selected, self._rows, settings.epsilon, labels)
        return labels
