"""The top of a tree as nested nodes, few enough to read: for names of branches, and as lines of
text.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cohirf.beyond.merge_tree import MergeTree, last_clusters
from cohirf.hierarchy.export import to_linkage
from cohirf.rows.grouping import IntArray
from cohirf.wording import count_of

if TYPE_CHECKING:
    from cohirf.hierarchy.fusion_hierarchy import FusionHierarchy

MOST_LEAVES = 30
# drawn, or of letters
STROKES = {
    True: ("├─ ", "│  ", "└─ ", "   "),
    False: ("|- ", "|  ", "`- ", "   "),
}


@dataclass(frozen=True)
class Node:
    """A cluster of the tree."""

    size: int  # number of rows
    height: float  # of the merge that made it; 0 for a leaf of the outline
    # its leaves in the outline, as labels of the cut that the outline was made from
    groups: tuple[int, ...]
    # number of final clusters that it has rows of; 0 if these are all too small to be final
    n_clusters: int
    cluster: int | None  # the final cluster, if it has rows of a single one
    children: tuple[
        Node, ...
    ] = ()  # the two clusters that merged, the larger one first; none for a leaf

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, each before those below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Outline:
    """The top of a tree."""

    root: Node  # the cluster of all rows that are not noise
    # of each row (or leaf of a condensed hierarchy) in the cut into the leaves; -1 for noise
    labels: IntArray
    n_noise: int  # number of noise rows


def has_merges(hierarchy: FusionHierarchy) -> bool:
    """Return whether a hierarchy has a tree of pairwise merges with at least one leaf."""
    return hierarchy.tree is not None and hierarchy.tree.n_leaves > 0


def with_tree(hierarchy: FusionHierarchy, max_clusters: int) -> tuple[FusionHierarchy, MergeTree]:
    """Return a hierarchy and its tree.

    If it has none, its top and its levels as merges, whose heights are levels.
    """
    if has_merges(hierarchy):
        assert hierarchy.tree is not None
        return hierarchy, hierarchy.tree
    top = hierarchy.condense(max_clusters)
    assert top.rows is not None  # it is condensed
    top.tree = MergeTree(top.rows, to_linkage(top.parents, top.absorbed_at, None), 0)
    return top, top.tree


def make_outline(
    hierarchy: FusionHierarchy, final: IntArray, n_leaves: int | None = None
) -> Outline | None:
    """Return the top of the tree with ``n_leaves``, by default those of ``final``, at most 30.

    None if all is noise.
    """
    if hierarchy.tree is not None and hierarchy.tree.n_leaves == 0:
        return None
    if n_leaves is None:
        n_wanted = min(len(np.unique(final[final >= 0])), MOST_LEAVES)
    else:
        n_wanted = n_leaves
    whole = hierarchy
    hierarchy, tree = with_tree(whole, MOST_LEAVES)
    if whole.tree is None:
        final = final[whole.find_leaves(tree.medoids)]
    else:
        final = final
    n_groups = min(max(n_wanted, 1), tree.n_leaves)
    labels = hierarchy.cut(n_clusters=n_groups)
    n_noise, *sizes = (
        np.bincount(labels + 1, hierarchy.row_sizes, n_groups + 1).astype(np.int64).tolist()
    )
    n_final = int(final.max(initial=0)) + 1
    both = (labels >= 0) & (final >= 0)
    inside, finals = np.divmod(
        np.unique(labels[both].astype(np.int64) * n_final + final[both]), n_final
    )
    n_inside = np.bincount(
        inside, minlength=n_groups
    ).tolist()  # final clusters of which each group has rows
    final_of = dict(zip(inside.tolist(), finals.tolist(), strict=True))  # one of these
    leaves = [
        Node(
            sizes[group],
            0.0,
            (group,),
            n_inside[group],
            final_of[group] if n_inside[group] == 1 else None,
        )
        for group in range(n_groups)
    ]
    n_below = tree.n_leaves - n_groups
    numbers = last_clusters(tree.linkage[:n_below], tree.n_leaves).tolist()
    groups = labels[hierarchy.find_leaves(tree.medoids)].tolist()
    nodes = {number: leaves[group] for number, group in zip(numbers, groups, strict=True)}
    for merge, (left, right, height, _) in enumerate(
        tree.linkage[n_below:].tolist(), tree.n_leaves + n_below
    ):
        nodes[merge] = _join_nodes(nodes.pop(int(left)), nodes.pop(int(right)), height)
    (root,) = nodes.values()
    return Outline(root, labels, n_noise)


def find_siblings(tree: MergeTree, labels: IntArray) -> dict[int, tuple[int, ...]]:
    """Return, for each cluster, those of the branch that it merges with.

    ``labels`` are of leaves, -1 in no cluster.
    """
    inside = [frozenset() if label < 0 else frozenset([label]) for label in labels.tolist()]
    found: dict[int, tuple[int, ...]] = {}
    for left, right in tree.linkage[:, :2].astype(np.int64).tolist():
        one = inside[left]
        two = inside[right]
        for own, other in ((one, two), (two, one)):
            if len(own) == 1 and other - own:
                found.setdefault(next(iter(own)), tuple(sorted(other - own)))
        inside.append(one if two <= one else one | two)
    return found


def say_node(node: Node) -> str:
    """Return the clusters of a node and its size, in words."""
    size = count_of(node.size, "row")
    if node.n_clusters == 0:
        return size
    if node.cluster is None:
        return f"{node.n_clusters:,} clusters, {size}"
    return f"cluster {node.cluster}, {size}"


def final_labels(hierarchy: FusionHierarchy) -> IntArray:
    """Return the final cluster of each leaf of a hierarchy.

    -1 for leaves that are not in its tree, which are noise.
    """
    labels = hierarchy.cut(level=hierarchy.n_levels)
    if hierarchy.tree is None:
        return labels
    is_noise = np.ones(len(labels), dtype=bool)
    if hierarchy.tree.n_leaves:
        is_noise = hierarchy.cut(n_clusters=1) < 0
    numbered = np.full_like(labels, -1)
    numbered[~is_noise] = np.unique(labels[~is_noise], return_inverse=True)[1]
    return numbered


def _join_nodes(left: Node, right: Node, height: float) -> Node:
    """Return the node of two that merge: parts of one final cluster, or of different ones."""
    children = (left, right) if left.size >= right.size else (right, left)
    n_clusters = left.n_clusters + right.n_clusters
    cluster = None
    if left.cluster is not None and left.cluster == right.cluster:
        n_clusters = 1
        cluster = left.cluster
    elif n_clusters == 1:  # the other one is too small to be final
        cluster = right.cluster if left.cluster is None else left.cluster
    return Node(
        left.size + right.size, height, (*left.groups, *right.groups), n_clusters, cluster, children
    )


def write_branches(
    root: Node, say: Callable[[Node], str], *, drawn: bool = True, more: bool = False
) -> list[str]:
    """Return a line of text for each node below a root.

    ``more`` tells whether a further line follows.

    Branches are drawn with box characters, or with letters.
    """
    strokes = STROKES[drawn]

    def write(node: Node, indent: str, *, more: bool) -> Iterator[str]:
        children = node.children or ((node,) if node is root else ())
        for place, child in enumerate(children):
            is_last = place == len(children) - 1 and not more
            branch, below = strokes[2:] if is_last else strokes[:2]
            yield f"{indent}{branch}{say(child)}"
            if child is not node:
                yield from write(child, indent + below, more=False)

    return list(write(root, "", more=more))
