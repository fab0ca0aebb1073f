"""The top of a tree as nested nodes, few enough to read: for text, for notebooks and for names of its branches."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import last_clusters

if TYPE_CHECKING:
    from cohirf.hierarchy.fusion_hierarchy import FusionHierarchy

MAX_LEAVES = 30


@dataclass(frozen=True)
class Node:
    """A cluster of the tree.

    Attributes
    ----------
    size : int
        Number of rows.
    height : float
        Height of the merge that made it; 0 for a leaf of the outline.
    groups : tuple of int
        Its leaves in the outline, as labels of the cut that the outline was made from.
    n_clusters : int
        Number of final clusters that it has rows of; 0 if these are all too small to be final.
    cluster : int or None
        The final cluster, if it has rows of a single one.
    children : tuple of Node
        The two clusters that merged, the larger one first; empty for a leaf of the outline.
    """

    size: int
    height: float
    groups: tuple[int, ...]
    n_clusters: int
    cluster: int | None
    children: tuple[Node, ...] = ()

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, each before those below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Outline:
    """The top of a tree.

    Attributes
    ----------
    root : Node
        The cluster of all rows that are not noise.
    labels : array of int, shape (n_rows,)
        Label of each row (or leaf of a condensed hierarchy) in the cut whose clusters are the leaves; -1 for noise.
    n_noise : int
        Number of noise rows.
    """

    root: Node
    labels: IntArray
    n_noise: int


def make_outline(hierarchy: FusionHierarchy, final: IntArray, n_leaves: int | None = None) -> Outline | None:
    """Return the top of the tree of a hierarchy.

    Parameters
    ----------
    hierarchy : FusionHierarchy
        The hierarchy.
    final : array of int, shape (n_rows,)
        The final cluster of each row; -1 for noise.
    n_leaves : int, optional
        Number of leaves, if the tree has so many; by default the number of final clusters, and at most 30.

    Returns
    -------
    outline : Outline or None
        The nodes; None if the hierarchy has no tree, or if all rows are noise.

    Examples
    --------
    >>> import numpy as np
    >>> from cohirf import CoHiRF
    >>> from cohirf.hierarchy.outline import make_outline
    >>> X = np.array([[0.0], [0.1], [1.0], [9.0], [9.1]])
    >>> model = CoHiRF(n_clusters=3, random_state=0).fit(X)
    >>> root = make_outline(model.hierarchy_, model.labels_).root
    >>> root.size, [(child.size, child.n_clusters, child.cluster) for child in root.children]
    (5, [(3, 2, None), (2, 1, 2)])
    """
    tree = hierarchy.tree
    if tree is None or tree.n_leaves == 0:
        return None
    n_wanted = min(len(np.unique(final[final >= 0])), MAX_LEAVES) if n_leaves is None else n_leaves
    n_groups = min(max(n_wanted, 1), tree.n_leaves)
    labels = hierarchy.cut(n_clusters=n_groups)
    sizes = _sizes(labels, hierarchy.row_sizes, n_groups)
    n_below = tree.n_leaves - n_groups
    number = last_clusters(tree.linkage[:n_below], tree.n_leaves)
    leaf_of = tree.medoids if hierarchy.rows is None else np.searchsorted(hierarchy.rows, tree.medoids)
    n_inside, first = _count_finals(labels, final, n_groups)
    nodes = {
        node: Node(
            int(sizes[group]), 0.0, (group,), int(n_inside[group]), int(first[group]) if n_inside[group] == 1 else None
        )
        for node, group in zip(number.tolist(), labels[leaf_of].tolist(), strict=True)
    }
    for merge, (left, right, height, _) in enumerate(tree.linkage[n_below:].tolist(), tree.n_leaves + n_below):
        nodes[merge] = _join(nodes.pop(int(left)), nodes.pop(int(right)), height)
    (root,) = nodes.values()
    return Outline(root, labels, _total(labels < 0, hierarchy.row_sizes))


def say_node(node: Node) -> str:
    """Return the clusters of a node and its size, in words."""
    size = f"{node.size:,} row{'' if node.size == 1 else 's'}"
    if node.n_clusters == 0:
        return size
    return f"{node.n_clusters:,} clusters, {size}" if node.cluster is None else f"cluster {node.cluster}, {size}"


def final_labels(hierarchy: FusionHierarchy) -> IntArray:
    """Return the final cluster of each leaf of a hierarchy; -1 for leaves that are not in its tree, which are noise."""
    labels = hierarchy.cut(level=hierarchy.n_levels)
    if hierarchy.tree is None:
        return labels
    is_noise = np.ones(len(labels), dtype=bool)
    if hierarchy.tree.n_leaves:
        is_noise = hierarchy.cut(n_clusters=1) < 0
    numbered = np.full_like(labels, -1)
    numbered[~is_noise] = np.unique(labels[~is_noise], return_inverse=True)[1]
    return numbered


def _join(left: Node, right: Node, height: float) -> Node:
    """Return the node of two that merge: parts of one final cluster, or of different ones."""
    children = (left, right) if left.size >= right.size else (right, left)
    n_clusters, cluster = left.n_clusters + right.n_clusters, None
    if left.cluster is not None and left.cluster == right.cluster:
        n_clusters, cluster = 1, left.cluster
    elif n_clusters == 1:  # the other one is too small to be final
        cluster = right.cluster if left.cluster is None else left.cluster
    return Node(left.size + right.size, height, (*left.groups, *right.groups), n_clusters, cluster, children)


def _sizes(labels: IntArray, row_sizes: IntArray | None, n_groups: int) -> IntArray:
    clustered = labels >= 0
    weights = None if row_sizes is None else row_sizes[clustered]
    return np.bincount(labels[clustered], weights=weights, minlength=n_groups).astype(np.int64)


def _total(chosen: NDArray[np.bool_], row_sizes: IntArray | None) -> int:
    return int(chosen.sum() if row_sizes is None else row_sizes[chosen].sum())


def _count_finals(labels: IntArray, final: IntArray, n_groups: int) -> tuple[IntArray, IntArray]:
    """Return the number of final clusters of which each group has rows, and the first of these."""
    n_final = int(final.max(initial=-1)) + 1
    both = (labels >= 0) & (final >= 0)
    pairs = np.unique(labels[both].astype(np.int64) * max(n_final, 1) + final[both])
    groups = pairs // max(n_final, 1)
    first = np.full(n_groups, -1)
    present, place = np.unique(groups, return_index=True)
    first[present] = pairs[place] % max(n_final, 1)
    return np.bincount(groups, minlength=n_groups), first
