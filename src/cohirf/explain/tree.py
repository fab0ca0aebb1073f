"""The tree of a model in words: its branches with their sizes and names, as lines of text or in a notebook."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from cohirf.explain.describe import describe_clusters
from cohirf.explain.effects import find_traits_of_unions
from cohirf.explain.sample import sample_table
from cohirf.explain.words import count_of, name_clusters, percent
from cohirf.hierarchy.outline import Node, Outline, draw_tree, make_outline
from cohirf.summary.model import Model

N_TRAITS = 2  # in the name of a branch
STROKES = {True: ("├─ ", "│  ", "└─ ", "   "), False: ("|- ", "|  ", "`- ", "   ")}  # drawn, or of letters


@dataclass(frozen=True)
class NamedTree:
    """The top of a tree with names."""

    outline: Outline  # the nodes
    # the name of each node, by its ``groups``: what sets it apart from all other rows
    names: dict[tuple[int, ...], str]

    def name(self, node: Node) -> str:
        """Return the name of a node: that of its cluster, if it has a single one."""
        return self.names[node.groups]


def name_tree(model: Model, n_leaves: int | None = None, preparation: Any = None) -> NamedTree | None:
    """Return the top of the tree of a model, with names from the rows that the model stores.

    Parameters
    ----------
    model : CoHiRF
        The fitted model; its labels must be in this process.
    n_leaves : int, optional
        Number of leaves; by default the number of final clusters, and at most 30.
    preparation : Preparation, optional
        What made the data of the fit from a table; names are then made from the columns of that table.

    Returns
    -------
    tree : NamedTree or None
        The tree; None if all rows are noise.
    """
    outline = make_outline(model.hierarchy_, model.labels_, n_leaves)
    if outline is None:
        return None
    described = describe_clusters(model, preparation=preparation)
    sample = sample_table(model, preparation=preparation)
    groups = outline.labels[sample.table.rows]
    branches = [node for node in outline.root.walk() if node.cluster is None or _is_part(node, outline.root)]
    traits = find_traits_of_unions(sample.table, groups, [node.groups for node in branches], sample.weights)
    names = {node.groups: described.name(node.cluster) for node in outline.root.walk() if node.cluster is not None}
    names |= {
        node.groups: name_clusters([of_branch[:N_TRAITS]])[0] for node, of_branch in zip(branches, traits, strict=True)
    }
    return NamedTree(outline, names)


def _is_part(node: Node, root: Node) -> bool:
    """Return whether a node is a part of a final cluster, and not the whole."""
    return node.cluster is not None and any(
        other.cluster == node.cluster and other.size > node.size for other in root.walk()
    )


def write_tree(tree: NamedTree, width: int = 100, *, drawn: bool = True) -> list[str]:
    r"""Return a tree as lines of text.

    Parameters
    ----------
    tree : NamedTree
        The tree.
    width : int
        Largest number of characters of a line; longer names are cut between words.
    drawn : bool
        Whether branches are drawn with box characters; otherwise with letters.

    Returns
    -------
    lines : list of str
        A line for each node, and one for noise.

    Examples
    --------
    >>> import pandas as pd
    >>> from cohirf import CoHiRF
    >>> from cohirf.description import name_tree, write_tree
    >>> X = pd.DataFrame({"age": [20.0, 21, 40, 41, 80, 81], "spend": [5.0, 6, 6, 5, 95, 99]})
    >>> print("\n".join(write_tree(name_tree(CoHiRF(n_clusters=3, random_state=0).fit(X)))))
    6 rows
    ├─ 4 rows (67%): low spend, younger
    │  ├─ cluster 0, 2 rows (33%): younger, low spend
    │  └─ cluster 1, 2 rows (33%): low spend, medium age
    └─ cluster 2, 2 rows (33%): high spend, older
    """
    total = tree.outline.root.size + tree.outline.n_noise
    lines = [f"{total:,} rows"]
    has_noise = tree.outline.n_noise > 0
    lines += _write_children(tree, tree.outline.root, total, "", width, STROKES[drawn], more=has_noise)
    if has_noise:
        lines.append(f"{STROKES[drawn][2]}noise, {_count(tree.outline.n_noise, total)}")
    return lines


def _write_children(
    tree: NamedTree, node: Node, total: int, indent: str, width: int, strokes: tuple[str, ...], *, more: bool
) -> list[str]:
    """Return the lines of the nodes below a node; ``more`` tells whether its parent has a further line."""
    children = node.children or ((node,) if node is tree.outline.root else ())
    lines = []
    for place, child in enumerate(children):
        is_last = place == len(children) - 1 and not more
        branch, below = (strokes[2], strokes[3]) if is_last else (strokes[0], strokes[1])
        lines.append(_cut(f"{indent}{branch}{_say_node(tree, child, total)}", width))
        if child is not node:
            lines += _write_children(tree, child, total, indent + below, width, strokes, more=False)
    return lines


def draw_model(model: Model) -> str:
    """Return the tree of a model as HTML for notebooks, with the name and the size of each cluster."""
    tree = name_tree(model)
    if tree is None:
        return ""
    total = tree.outline.root.size + tree.outline.n_noise
    title = f"{count_of(int(model.n_clusters_), 'cluster')} in {total:,} rows"
    noise = f", {_count(tree.outline.n_noise, total)} of noise" if tree.outline.n_noise else ""
    return draw_tree(tree.outline, title + noise, lambda node: _say_node(tree, node, total))


def _say_node(tree: NamedTree, node: Node, total: int) -> str:
    count = _count(node.size, total)
    if node.cluster is not None:
        of = "part of cluster" if _is_part(node, tree.outline.root) else "cluster"
        return f"{of} {node.cluster}, {count}: {tree.name(node)}"
    if not node.children and node.n_clusters > 1:
        return f"{node.n_clusters:,} clusters, {count}: {tree.name(node)}"
    return f"{count}: {tree.name(node)}"


def _count(n_rows: int, total: int) -> str:
    return f"{count_of(n_rows, 'row')} ({percent(n_rows / total)})"


def _cut(line: str, width: int) -> str:
    """Return a line that is not longer than ``width``, cut between two words."""
    if len(line) <= width:
        return line
    kept = line[: width - 1]
    if not line[width - 1].isspace():
        kept = kept.rpartition(" ")[0] or kept
    return f"{kept.rstrip(' ,:')}\N{HORIZONTAL ELLIPSIS}"
