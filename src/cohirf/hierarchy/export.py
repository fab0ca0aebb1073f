"""Export a hierarchy: tables, scipy linkage, networkx, Newick, JSON."""

from __future__ import annotations

import json
from operator import index
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.merge_tree import MergeTree, count_members, last_clusters
from cohirf.algorithm.parents import find_roots, get_final_labels
from cohirf.hierarchy.merges import Merges, absorbed_in_order, running_sum, subtree_sizes
from cohirf.optional import import_optional

JSON_FORMAT = "cohirf.FusionHierarchy"
JSON_VERSION = 1


def table_columns(
    parents: IntArray, absorbed_at: IntArray, rows: IntArray | None, row_sizes: IntArray | None
) -> dict[str, IntArray]:
    """Return the hierarchy as columns, with one entry per leaf."""
    labels, _ = get_final_labels(find_roots(parents, absorbed_at, int(absorbed_at.max())))
    numbers = np.arange(len(parents), dtype=parents.dtype) if rows is None else rows
    columns = {"row": numbers, "parent": numbers[parents], "absorbed_at": absorbed_at, "cluster": labels}
    return columns if row_sizes is None else columns | {"size": row_sizes}


def to_frame(columns: dict[str, Any], index: str = "row") -> Any:
    """Return the columns as a pandas table, one of them as its index."""
    return import_optional("pandas", "frame", "to_frame").DataFrame(columns).set_index(index)


def to_arrow(columns: dict[str, IntArray]) -> Any:
    """Return the columns as an Arrow table."""
    return import_optional("pyarrow", "arrow", "to_arrow").table(columns)


def to_linkage(parents: IntArray, absorbed_at: IntArray) -> NDArray[np.float64]:
    """Return scipy's linkage matrix: one step per absorbed leaf; its height is the level.

    A fusion of more than two clusters becomes several steps of equal height. Final clusters are joined one level above
    the last level. The last column is the number of leaves.
    """
    n = len(parents)
    absorbed = absorbed_in_order(parents, absorbed_at)
    roots = np.flatnonzero(absorbed_at == 0)
    absorbed = np.concatenate([absorbed, roots[1:]])
    into = np.concatenate([parents[absorbed[: n - len(roots)]], np.full(len(roots) - 1, roots[0])])
    height = absorbed_at[absorbed].astype(np.float64)
    height[n - len(roots) :] = absorbed_at.max() + 1
    steps = np.arange(len(absorbed))
    last_step = np.full(n, -1)  # the last step that extended each row's cluster: later ones overwrite earlier ones
    last_step[into] = steps
    previous = _previous_with_equal(into)
    left = np.where(previous >= 0, n + previous, into)
    right_step = last_step[absorbed]
    right = np.where(right_step >= 0, n + right_step, absorbed)
    sizes = 1 + running_sum(subtree_sizes(parents, absorbed_at, None)[absorbed], into)
    return np.stack([np.minimum(left, right), np.maximum(left, right), height, sizes], axis=1)


def to_tree_linkage(parents: IntArray, absorbed_at: IntArray, leaves: IntArray, tree: MergeTree) -> NDArray[np.float64]:
    """Return scipy's linkage matrix of a hierarchy with a tree above its levels.

    The clusters of the level of the tree are made first, in steps whose height is below that of its lowest merge. Then
    come the merges of the tree, and last the clusters that are not in it.
    """
    n = len(parents)
    below = np.where(absorbed_at <= tree.level, absorbed_at, 0)
    roots = np.flatnonzero(below == 0)
    made = to_linkage(np.where(below > 0, parents, np.arange(n)), below)[: n - len(roots)]
    lowest, highest = (tree.linkage[0, 2], tree.linkage[-1, 2]) if len(tree.linkage) else (1.0, 1.0)
    made[:, 2] *= lowest / (tree.level + 1)
    cluster = last_clusters(made, n)
    numbers = np.concatenate([cluster[leaves], n + len(made) + np.arange(len(tree.linkage))])
    pairs = np.sort(numbers[tree.linkage[:, :2].astype(np.int64)], axis=1)
    merges = np.column_stack([pairs, tree.linkage[:, 2], np.zeros(len(pairs))])
    outside = np.setdiff1d(roots, leaves)
    if len(leaves) == 0:
        first, outside = cluster[outside[0]], outside[1:]
    else:
        first = numbers[-1]
    tops = np.concatenate([[first], n + len(made) + len(merges) + np.arange(len(outside))])[: len(outside)]
    joins = np.column_stack([np.sort(np.column_stack([tops, cluster[outside]]), axis=1), np.full(len(tops), highest)])
    joins = np.column_stack([joins, np.zeros(len(joins))])
    linkage = np.concatenate([made, merges, joins])
    count_members(linkage, n)
    return linkage


def to_networkx(columns: dict[str, IntArray]) -> Any:
    """Return a directed graph with an edge from each absorbed row to the medoid that absorbed it."""
    graph = import_optional("networkx", "networkx", "to_networkx").DiGraph()
    values = {name: column.tolist() for name, column in columns.items()}
    for row, *attributes in zip(*values.values(), strict=True):
        graph.add_node(row, **dict(zip(list(values)[1:], attributes, strict=True)))
    for row, parent, level in zip(values["row"], values["parent"], values["absorbed_at"], strict=True):
        if level:
            graph.add_edge(row, parent, level=level)
    return graph


def to_newick(merges: Merges, rows: IntArray, final: IntArray, n_levels: int) -> str:
    """Return the tree in Newick format; the length of a branch is the number of levels that it spans.

    Leaves are named by their row number, and clusters by that of their medoid. If there are several final clusters,
    they are children of an unnamed root.
    """
    text = {row: str(row) for row in rows.tolist()}
    made_at = dict.fromkeys(text, 0)
    for merge in merges:
        parts = [merge.medoid, *merge.absorbed.tolist()]
        branches = ",".join(f"{text.pop(part)}:{merge.level - made_at[part]}" for part in parts)
        text[merge.medoid] = f"({branches}){merge.medoid}"
        made_at[merge.medoid] = merge.level
    if len(final) == 1:
        return f"{text[int(final[0])]};"
    return "(" + ",".join(f"{text[root]}:{n_levels + 1 - made_at[root]}" for root in final.tolist()) + ");"


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
    """Return the vectors of a hierarchy from JSON text."""
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"This text is not the JSON of a hierarchy: {error}") from error
    if not isinstance(content, dict) or content.get("format") != JSON_FORMAT:
        raise ValueError(f'This text is not the JSON of a hierarchy: it lacks "format": "{JSON_FORMAT}".')
    if content.get("version") != JSON_VERSION:
        raise ValueError(
            f"This JSON of a hierarchy has format version {content.get('version')}, but this version of cohirf reads "
            f"version {JSON_VERSION}: use the version of cohirf that wrote it."
        )
    vectors = {name: content.get(name) for name in ("parents", "absorbed_at", "rows", "row_sizes")}
    for name in ("parents", "absorbed_at"):
        if vectors[name] is None:
            raise ValueError(f"This JSON of a hierarchy lacks {name}: it was truncated or edited. Write it again.")
    found: dict[str, Any] = {name: _as_vector(values) for name, values in vectors.items()}
    if "tree" in content:
        found["tree"] = _parse_tree(content["tree"])
    return found


def _parse_tree(content: Any) -> MergeTree:
    try:
        medoids = np.array(content["medoids"], dtype=np.int64).reshape(-1)
        return MergeTree(
            medoids, np.array(content["linkage"], dtype=np.float64).reshape(-1, 4), index(content["level"])
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(f"This JSON of a hierarchy has a tree that cannot be read: {error}") from error


def _as_vector(values: Any) -> Any:
    return np.empty(0, dtype=np.int64) if values == [] else values


def _previous_with_equal(keys: IntArray) -> NDArray[np.int64]:
    """Return, for each position, the last earlier position with the same key; -1 if there is none."""
    previous = np.full(len(keys), -1, dtype=np.int64)
    order = np.argsort(keys, kind="stable")
    same = keys[order][1:] == keys[order][:-1]
    previous[order[1:][same]] = order[:-1][same]
    return previous
