"""Moves of single groups of nodes, after their merges: a merge is never undone, and what was merged
early may have most of its edges in another cluster (not part of the paper).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.beyond.merge_tree import as_linkage, as_merges
from cohirf.graphs.graph import row_of_entries
from cohirf.graphs.merging import Merges
from cohirf.rows.grouping import FloatArray, IntArray, rows_by_label

LEAST_GAIN = 1e-9  # of the sum of shares: smaller ones are rounding


def move_groups(weights: Any, labels: IntArray, sizes: IntArray, least: float = 1) -> IntArray:
    """Return the cluster of each group after moves, each of which lowers the normalised cut.

    The mean over clusters of the share of their weight that leaves them becomes smaller with each
    move, so moves end. Clusters of ``least`` nodes and more stay that large, and smaller ones,
    which are left out, stay as they are: so there are as many clusters after the moves.

    Parameters
    ----------
    weights : CSR array of float, shape (n_groups, n_groups)
        Symmetric weights between groups, and inside them on the diagonal.
    labels : array of int, shape (n_groups,)
        The cluster of each group, from 0 without gaps.
    sizes : array of int, shape (n_groups,)
        Number of nodes of each group.
    least : float
        Number of nodes of the smallest cluster that counts, at least 1.

    Examples
    --------
    The group in the middle has more edges to the right:

    >>> import numpy as np
    >>> from scipy import sparse
    >>> from cohirf.graphs.moves import move_groups
    >>> chain = sparse.csr_array(np.diag([3.0, 1, 2, 3], 1) + np.diag([3.0, 1, 2, 3], -1))
    >>> move_groups(chain, np.array([0, 0, 0, 1, 1]), np.ones(5, dtype=int)).tolist()
    [0, 0, 1, 1, 1]
    """
    moves = _Moves(weights, labels, sizes, least)
    while (candidates := moves.find()).size:
        if not sum([moves.move(group) for group in candidates.tolist()]):
            break
    return moves.labels


class _Moves:
    """Clusters of groups, while groups move: weights inside clusters, and in all; nodes."""

    def __init__(self, weights: Any, labels: IntArray, sizes: IntArray, least: float) -> None:
        self.labels = labels.copy()
        self._weights = weights
        self._rows = row_of_entries(weights)
        self._own = weights.diagonal().astype(np.float64)
        self._volume = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()
        self._n_clusters = int(labels.max()) + 1
        self._sizes = sizes
        self._masses = np.bincount(labels, weights=sizes)
        self._least = max(least, 1)
        self._volumes = np.bincount(labels, weights=self._volume)
        is_inside = labels[self._rows] == labels[weights.indices]
        self._inside = np.bincount(
            labels[self._rows[is_inside]],
            weights=weights.data[is_inside],
            minlength=self._n_clusters,
        )

    def find(self) -> IntArray:
        """Return the groups that would gain by a move, if no other one moved."""
        n_groups = len(self.labels)
        entries = (self._weights.data, (self._rows, self.labels[self._weights.indices]))
        to = sparse.csr_array(entries, shape=(n_groups, self._n_clusters))
        group = row_of_entries(to)
        left = np.zeros(n_groups)
        is_left = to.indices == self.labels[group]
        left[group[is_left]] = to.data[is_left]
        gain = self._gain(group, to.indices, left[group], to.data)
        return np.unique(group[~is_left & (gain > LEAST_GAIN)])

    def move(self, group: int) -> bool:
        """Move a group to the cluster where it gains most, if it gains; return whether it has."""
        part = slice(self._weights.indptr[group], self._weights.indptr[group + 1])
        near = self.labels[self._weights.indices[part]]
        weight = np.bincount(near, weights=self._weights.data[part], minlength=self._n_clusters)
        old = self.labels[group]
        others = np.unique(near[near != old])
        if not len(others):
            return False
        gain = self._gain(group, others, weight[old], weight[others])
        best = int(gain.argmax())
        if gain[best] <= LEAST_GAIN:
            return False
        new = others[best]
        self._inside[old] -= 2 * weight[old] - self._own[group]
        self._inside[new] += 2 * weight[new] + self._own[group]
        self._volumes[old] -= self._volume[group]
        self._volumes[new] += self._volume[group]
        self._masses[old] -= self._sizes[group]
        self._masses[new] += self._sizes[group]
        self.labels[group] = new
        return True

    def _gain(self, group: Any, new: IntArray, left: Any, joined: FloatArray) -> FloatArray:
        """Return by how much the sum of the shares inside clusters grows if groups move to ``new``
        ones, given their weights to the old cluster and to the new one.
        """
        old = self.labels[group]
        volume = self._volume[group]
        own = self._own[group]
        rest = self._volumes[old] - volume
        stays = self._masses[old] - self._sizes[group] >= self._least
        can_move = stays & (self._masses[new] >= self._least) & (rest > 0)
        inside = self._inside[old] - 2 * left + own
        share = inside / np.where(can_move, rest, 1) - self._inside[old] / self._volumes[old]
        larger = (self._inside[new] + 2 * joined + own) / (self._volumes[new] + volume)
        gain = share + larger - self._inside[new] / self._volumes[new]
        return np.where(can_move, gain, -1.0)


def merge_within(weights: Any, labels: IntArray) -> Merges:
    """Return merges of groups of which the given clusters are a cut: those inside clusters come
    first.
    """
    n_clusters = int(labels.max()) + 1
    rows = row_of_entries(weights)
    is_inside = labels[rows] == labels[weights.indices]
    beyond = np.bincount(rows[~is_inside], weights=weights.data[~is_inside], minlength=len(labels))
    entries = (weights.data[is_inside], (rows[is_inside], weights.indices[is_inside]))
    inside = sparse.csr_array(entries, shape=weights.shape)
    inside += sparse.diags_array(beyond.astype(np.float64))  # it counts for the size of clusters
    piece = connected_components(inside, directed=False)[1]
    n_pieces = np.bincount(labels[np.unique(piece, return_index=True)[1]], minlength=n_clusters)
    starts, in_clusters = rows_by_label(labels, n_clusters)
    scattered = [in_clusters[starts[c] : starts[c + 1]] for c in np.flatnonzero(n_pieces > 1)]
    merges = []
    heights = []
    for members in (np.flatnonzero(n_pieces[labels] == 1), *scattered):
        if len(members):
            linkage = Merges.of(sparse.csr_array(inside[members][:, members])).linkage
            n_merges = len(members) - len(np.unique(labels[members]))  # the others are above
            merges.append(members[as_merges(linkage)[:n_merges]])
            heights.append(linkage[:n_merges, 2])
    highest = max((float(each.max(initial=0)) for each in heights), default=0.0)
    entries = (weights.data, (labels[rows], labels[weights.indices]))
    above = Merges.of(sparse.csr_array(entries, shape=(n_clusters, n_clusters)))
    firsts = in_clusters[starts[:-1]]  # which stand for the clusters, as in the merges inside them
    merges.append(firsts[as_merges(above.linkage)])
    heights.append(np.maximum(above.linkage[:, 2], highest))
    joined = as_linkage(np.concatenate(merges), np.concatenate(heights), len(labels))
    return Merges(joined, above.n_parts)
