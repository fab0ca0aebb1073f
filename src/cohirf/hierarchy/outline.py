"""The top of a tree as nested nodes, few enough to read: for text, for names of branches, and drawn in a notebook."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from cohirf.beyond.merge_tree import MergeTree, last_clusters
from cohirf.hierarchy.export import to_linkage
from cohirf.rows.grouping import IntArray
from cohirf.sources.source import count_of

if TYPE_CHECKING:
    from cohirf.hierarchy.fusion_hierarchy import FusionHierarchy

MOST_LEAVES = 30
BLUE, ORANGE = "#0072B2", "#D55E00"  # of final clusters, and of several
# Pixels: height of a leaf, width of the tree, size of the font and width of one of its letters.
ROW, TREE, FONT_PIXELS, GLYPH = 22, 240, 13, 6.6
LONGEST_TEXT = 90  # characters beside a leaf


@dataclass(frozen=True)
class Node:
    """A cluster of the tree."""

    size: int  # number of rows
    height: float  # of the merge that made it; 0 for a leaf of the outline
    groups: tuple[int, ...]  # its leaves in the outline, as labels of the cut that the outline was made from
    n_clusters: int  # number of final clusters that it has rows of; 0 if these are all too small to be final
    cluster: int | None  # the final cluster, if it has rows of a single one
    children: tuple[Node, ...] = ()  # the two clusters that merged, the larger one first; none for a leaf

    def walk(self) -> Iterator[Node]:
        """Yield the node and all nodes below it, each before those below it."""
        yield self
        for child in self.children:
            yield from child.walk()


@dataclass(frozen=True)
class Outline:
    """The top of a tree."""

    root: Node  # the cluster of all rows that are not noise
    labels: IntArray  # of each row (or leaf of a condensed hierarchy) in the cut into the leaves; -1 for noise
    n_noise: int  # number of noise rows


def has_merges(hierarchy: FusionHierarchy) -> bool:
    """Return whether a hierarchy has a tree of pairwise merges with at least one leaf."""
    return hierarchy.tree is not None and hierarchy.tree.n_leaves > 0


def with_tree(hierarchy: FusionHierarchy, max_clusters: int) -> tuple[FusionHierarchy, MergeTree]:
    """Return a hierarchy and its tree; if it has none, its top and its levels as merges, whose heights are levels."""
    if has_merges(hierarchy):
        assert hierarchy.tree is not None
        return hierarchy, hierarchy.tree
    top = hierarchy.condense(max_clusters)
    assert top.rows is not None  # it is condensed
    top.tree = MergeTree(top.rows, to_linkage(top.parents, top.absorbed_at, None), 0)
    return top, top.tree


def make_outline(hierarchy: FusionHierarchy, final: IntArray, n_leaves: int | None = None) -> Outline | None:
    """Return the top of the tree with ``n_leaves``, by default those of ``final``, at most 30; None if all is noise."""
    if hierarchy.tree is not None and hierarchy.tree.n_leaves == 0:
        return None
    n_wanted = min(len(np.unique(final[final >= 0])), MOST_LEAVES) if n_leaves is None else n_leaves
    whole = hierarchy
    hierarchy, tree = with_tree(whole, MOST_LEAVES)
    final = final[whole.find_leaves(tree.medoids)] if whole.tree is None else final
    n_groups = min(max(n_wanted, 1), tree.n_leaves)
    labels = hierarchy.cut(n_clusters=n_groups)
    n_noise, *sizes = np.bincount(labels + 1, hierarchy.row_sizes, n_groups + 1).astype(np.int64).tolist()
    n_final, both = int(final.max(initial=0)) + 1, (labels >= 0) & (final >= 0)
    inside, finals = np.divmod(np.unique(labels[both].astype(np.int64) * n_final + final[both]), n_final)
    n_inside = np.bincount(inside, minlength=n_groups).tolist()  # final clusters of which each group has rows
    final_of = dict(zip(inside.tolist(), finals.tolist(), strict=True))  # one of these
    leaves = [
        Node(sizes[group], 0.0, (group,), n_inside[group], final_of[group] if n_inside[group] == 1 else None)
        for group in range(n_groups)
    ]
    n_below = tree.n_leaves - n_groups
    numbers = last_clusters(tree.linkage[:n_below], tree.n_leaves).tolist()
    groups = labels[hierarchy.find_leaves(tree.medoids)].tolist()
    nodes = {number: leaves[group] for number, group in zip(numbers, groups, strict=True)}
    for merge, (left, right, height, _) in enumerate(tree.linkage[n_below:].tolist(), tree.n_leaves + n_below):
        nodes[merge] = _join_nodes(nodes.pop(int(left)), nodes.pop(int(right)), height)
    (root,) = nodes.values()
    return Outline(root, labels, n_noise)


def find_siblings(tree: MergeTree, labels: IntArray) -> dict[int, tuple[int, ...]]:
    """Return, for each cluster, those of the branch that it merges with; ``labels`` are of leaves, -1 in no cluster."""
    inside = [frozenset() if label < 0 else frozenset([label]) for label in labels.tolist()]
    found: dict[int, tuple[int, ...]] = {}
    for left, right in tree.linkage[:, :2].astype(np.int64).tolist():
        one, two = inside[left], inside[right]
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


def _join_nodes(left: Node, right: Node, height: float) -> Node:
    """Return the node of two that merge: parts of one final cluster, or of different ones."""
    children = (left, right) if left.size >= right.size else (right, left)
    n_clusters, cluster = left.n_clusters + right.n_clusters, None
    if left.cluster is not None and left.cluster == right.cluster:
        n_clusters, cluster = 1, left.cluster
    elif n_clusters == 1:  # the other one is too small to be final
        cluster = right.cluster if left.cluster is None else left.cluster
    return Node(left.size + right.size, height, (*left.groups, *right.groups), n_clusters, cluster, children)


# -- what a notebook shows -----------------------------------------------------------------------------------------


def draw_tree(outline: Outline, title: str, say: Callable[[Node], str]) -> str:
    """Return the tree as SVG in the colours of the notebook: the root on the left, leaves with texts on the right."""
    leaves = [node for node in outline.root.walk() if not node.children]
    said = map(say, leaves)
    texts = [text if len(text) <= LONGEST_TEXT else f"{text[: LONGEST_TEXT - 1].rstrip()}\u2026" for text in said]
    place = {leaf.groups: ROW * (number + 0.5) for number, leaf in enumerate(leaves)}
    lines: list[str] = []
    _add_branches(outline.root, outline.root.height or 1.0, place, lines)
    radius = {leaf.groups: 2.5 + 6 * math.sqrt(leaf.size / outline.root.size) for leaf in leaves}
    discs = [
        f"<circle cx='{TREE}' cy='{place[leaf.groups]:.1f}' r='{radius[leaf.groups]:.1f}' "
        f"fill='{BLUE if leaf.cluster is not None else ORANGE}'/>"
        f"<text x='{TREE + 16}' y='{place[leaf.groups]:.1f}' dominant-baseline='central'>{escape(text)}</text>"
        for leaf, text in zip(leaves, texts, strict=True)
    ]
    width, height = TREE + 32 + GLYPH * max(map(len, texts)), ROW * len(leaves)
    return (
        f"<div style='font-family:sans-serif;font-size:{FONT_PIXELS}px;margin-top:6px;overflow-x:auto'>"
        f"<b>{escape(title)}</b><br>"
        f"<svg role='img' aria-label='{escape(title, quote=True)}' width='{width:.0f}' height='{height:.0f}' "
        f"style='fill:currentColor;font-size:{FONT_PIXELS}px'>"
        f"<path d='{''.join(lines)}' fill='none' stroke='currentColor' stroke-opacity='.55'/>{''.join(discs)}"
        "</svg></div>"
    )


def _add_branches(
    node: Node, highest: float, place: dict[tuple[int, ...], float], lines: list[str]
) -> tuple[float, float]:
    """Add the lines below a node, and return its place."""
    if not node.children:
        return TREE, place[node.groups]
    x = 4 + (TREE - 24) * (1 - node.height / highest)
    ends = [_add_branches(child, highest, place, lines) for child in node.children]
    lines += [f"M{x:.1f} {y:.1f}H{end:.1f}" for end, y in ends]
    lines.append(f"M{x:.1f} {ends[0][1]:.1f}V{ends[-1][1]:.1f}")
    return x, sum(y for _, y in ends) / len(ends)
