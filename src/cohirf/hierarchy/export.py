"""A hierarchy in the formats of others: scipy, pandas, networkx, Newick, JSON."""

from __future__ import annotations

import json
from itertools import groupby
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.beyond.merge_tree import MergeTree, as_linkage
from cohirf.optional import import_optional
from cohirf.rows.grouping import IntArray, rows_by_label

JSON_FORMAT = "cohirf.FusionHierarchy"
JSON_VERSION = 1
VECTOR_NAMES = ("parents", "absorbed_at", "rows", "row_sizes")


def _absorbed_in_order(parents: IntArray, absorbed_at: IntArray) -> IntArray:
    """Return the absorbed rows, sorted by level, then by the medoid that absorbed them, then by row
    number.
    """
    _, by_parent = rows_by_label(parents, len(parents))
    # linear: small integers
    by_level: IntArray = by_parent[np.argsort(absorbed_at[by_parent], kind="stable")]
    return by_level[np.count_nonzero(absorbed_at == 0) :]


# -- scipy -----------------------------------------------------------------------------------------


def to_linkage(
    parents: IntArray, absorbed_at: IntArray, tree: MergeTree | None
) -> NDArray[np.float64]:
    """Return scipy's linkage matrix: one step per absorbed leaf.

    A fusion of more than two clusters becomes several steps of equal height: that of its level.
    Final clusters are joined last. The medoids of the tree are leaves of the hierarchy.
    """
    heights = np.arange(int(absorbed_at.max()) + 2.0)
    if tree is not None:
        parents, absorbed_at, heights = _merges_as_levels(parents, absorbed_at, tree)
    absorbed = _absorbed_in_order(parents, absorbed_at)
    roots = np.flatnonzero(absorbed_at == 0)
    into = np.concatenate([parents[absorbed], np.full(len(roots) - 1, roots[0])])
    height = np.concatenate([heights[absorbed_at[absorbed]], np.full(len(roots) - 1, heights[-1])])
    return as_linkage(
        np.column_stack([into, np.concatenate([absorbed, roots[1:]])]), height, len(parents)
    )


def _merges_as_levels(
    parents: IntArray, absorbed_at: IntArray, tree: MergeTree
) -> tuple[IntArray, IntArray, NDArray[np.float64]]:
    """Return a hierarchy in which each merge of the tree is a level of its own, and the height of
    each level.

    The levels up to that of the tree come first, below its lowest merge. What is not in the tree
    joins last.
    """
    lowest, highest = tree.linkage[[0, -1], 2] if len(tree.linkage) else (1.0, 1.0)
    heights = np.arange(tree.level + 1.0) * (lowest / (tree.level + 1))
    heights = np.concatenate([heights, tree.linkage[:, 2], [highest]])
    levels = np.where(absorbed_at <= tree.level, absorbed_at, 0).astype(np.int64)
    into = np.where(levels > 0, parents, np.arange(len(parents)))
    rows = tree.medoids.tolist()  # that stand for each cluster of the tree
    for level, (left, right) in enumerate(
        tree.linkage[:, :2].astype(np.int64).tolist(), tree.level + 1
    ):
        into[rows[right]], levels[rows[right]] = rows[left], level
        rows.append(rows[left])
    if rows:
        outside = np.flatnonzero(levels == 0)
        outside = outside[outside != rows[-1]]
        into[outside], levels[outside] = rows[-1], len(heights) - 1
    return into, levels, heights


# -- tables, graphs, text


def to_frame(columns: dict[str, Any], index: str = "row", user: str = "to_frame") -> Any:
    """Return the columns as a pandas table, one of them as its index.

    ``user`` is what the caller has called.
    """
    return import_optional("pandas", "frame", user).DataFrame(columns).set_index(index)


def to_networkx(columns: dict[str, IntArray]) -> Any:
    """Return a directed graph with an edge from each absorbed row to the medoid that absorbed
    it.
    """
    graph = import_optional("networkx", "networkx", "to_networkx").DiGraph()
    rows, parents, levels, *_ = values = [column.tolist() for column in columns.values()]
    names = list(columns)[1:]
    graph.add_nodes_from(
        (row, dict(zip(names, others, strict=True))) for row, *others in zip(*values, strict=True)
    )
    edges = zip(rows, parents, levels, strict=True)
    graph.add_edges_from((row, parent, {"level": level}) for row, parent, level in edges if level)
    return graph


def to_newick(parents: IntArray, absorbed_at: IntArray, rows: IntArray, roots: IntArray) -> str:
    """Return the tree in Newick format.

    ``rows`` has the row number of each leaf, ``roots`` the final clusters.
    """
    text = [str(row) for row in rows.tolist()]
    made_at = [0] * len(rows)
    absorbed = _absorbed_in_order(parents, absorbed_at).tolist()
    for (level, medoid), leaves in groupby(
        absorbed, lambda leaf: (int(absorbed_at[leaf]), int(parents[leaf]))
    ):
        branches = ",".join(f"{text[part]}:{level - made_at[part]}" for part in (medoid, *leaves))
        text[medoid], made_at[medoid] = f"({branches}){rows[medoid]}", level
    if len(roots) == 1:
        return f"{text[roots[0]]};"
    top = int(absorbed_at.max()) + 1
    return "(" + ",".join(f"{text[root]}:{top - made_at[root]}" for root in roots.tolist()) + ");"


def to_json(vectors: dict[str, IntArray | None], tree: MergeTree | None) -> str:
    """Return the vectors of a hierarchy, and its tree, as JSON text."""
    content: dict[str, Any] = {"format": JSON_FORMAT, "version": JSON_VERSION}
    content |= {name: vector.tolist() for name, vector in vectors.items() if vector is not None}
    if tree is not None:
        content["tree"] = {
            "medoids": tree.medoids.tolist(),
            "linkage": tree.linkage.tolist(),
            "level": tree.level,
        }
    return json.dumps(content, separators=(",", ":"))


def from_json(text: str) -> dict[str, Any]:
    """Return the vectors of a hierarchy from JSON text, and its tree."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"This text is not the JSON of a hierarchy: {error}") from error
    if not isinstance(content, dict) or content.get("format") != JSON_FORMAT:
        raise ValueError(
            f'This text is not the JSON of a hierarchy: it lacks "format": "{JSON_FORMAT}".'
        )
    if content.get("version") != JSON_VERSION:
        raise ValueError(
            f"This JSON of a hierarchy has format version {content.get('version')}, but this "
            f"version of cohirf reads version {JSON_VERSION}: use the version of cohirf that wrote "
            "it."
        )
    for name in ("parents", "absorbed_at"):
        if content.get(name) is None:
            raise ValueError(
                f"This JSON of a hierarchy lacks {name}: it was truncated or edited. Write it "
                "again."
            )
    tree = None
    if "tree" in content:
        try:
            medoids = np.array(content["tree"]["medoids"], dtype=np.int64).reshape(-1)
            linkage = np.array(content["tree"]["linkage"], dtype=np.float64).reshape(-1, 4)
            tree = MergeTree(medoids, linkage, index(content["tree"]["level"]))
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"This JSON of a hierarchy has a tree that cannot be read: {error}"
            ) from error
    return {name: content.get(name) for name in VECTOR_NAMES} | {"tree": tree}
