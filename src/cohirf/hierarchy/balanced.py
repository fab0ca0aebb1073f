"""draw_balanced: rows that are spread over the tree of a hierarchy, so that large clusters do not
crowd out others.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from cohirf.algorithm.parents import find_roots
from cohirf.rows.grouping import IntArray, count_by_label, rows_by_label

if TYPE_CHECKING:
    from cohirf.hierarchy.fusion_hierarchy import FusionHierarchy


def draw_balanced(
    hierarchy: FusionHierarchy,
    n: int,
    balance: float,
    first: str,
    among: ArrayLike | None,
    random_state: int | None,
) -> IntArray:
    """Return sorted row numbers; see ``FusionHierarchy.sample``."""
    if hierarchy.rows is not None:
        raise ValueError(
            "the leaves of this hierarchy are clusters: call sample of the hierarchy of all rows."
        )
    if not 0 <= balance <= 1:
        raise ValueError(
            f"balance={balance} is not valid: give a number from 0 (as the data is) to 1 (even)."
        )
    if first not in ("random", "exemplars"):
        raise ValueError(f"first={first!r} is not valid: give 'random' or 'exemplars'.")
    leaf_of, linkage = _find_leaves(hierarchy)
    if among is not None:
        left_out = np.ones(len(leaf_of), dtype=bool)
        left_out[np.asarray(among)] = False
        leaf_of = np.where(left_out, -1, leaf_of)
    n_leaves = len(linkage) + 1
    sizes = count_by_label(leaf_of[leaf_of >= 0], n_leaves)
    if not 1 <= n <= sizes.sum():
        raise ValueError(
            f"n={n} is not valid: give a number from 1 to {sizes.sum():,}, the rows to draw from."
        )
    rng = np.random.default_rng(random_state)
    counts = divide(int(n), sizes, linkage, balance, rng)
    order = rng.permutation(len(leaf_of))
    if first == "exemplars":
        lasted = np.where(hierarchy.absorbed_at == 0, hierarchy.n_levels + 1, hierarchy.absorbed_at)
        order = order[np.argsort(-lasted[order].astype(np.int64), kind="stable")]
    order = order[leaf_of[order] >= 0]
    starts, positions = rows_by_label(leaf_of[order], n_leaves)
    taken = [
        positions[start : start + count]
        for start, count in zip(starts[:-1], counts, strict=True)
        if count
    ]
    return np.sort(order[np.concatenate(taken)])


def divide(
    n: int, sizes: IntArray, linkage: NDArray[np.float64], balance: float, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Return how many rows each leaf of a tree gives, given the numbers of rows of the leaves and
    their merges.

    From the top down, each of two parts gets a mixture of its share of the rows and its share of
    the spread: the sum of squared distances between the clusters that merge in it, and that between
    the two. So distant clusters get as much as each other, however many leaves they have, and near
    ones by the number of their leaves. What a part cannot give, the other one does. Fractions of a
    row are rounded at random.
    """
    n_leaves = len(sizes)
    merges = linkage[:, :2].astype(np.int64)
    rows = np.concatenate([sizes, np.zeros(len(merges), dtype=np.int64)]).astype(np.int64)
    below = np.zeros(len(rows))
    own = np.zeros(len(rows))
    for node, pair in enumerate(merges, start=n_leaves):
        rows[node] = rows[pair].sum()
        # of Ward's heights
        squared = linkage[node - n_leaves, 2] ** 2 * rows[node] / max(2 * rows[pair].prod(), 1)
        own[pair], below[node] = squared, below[pair].sum() + squared
    spread = np.maximum(below + own, np.finfo(np.float64).tiny)
    counts = np.zeros(len(rows), dtype=np.int64)
    counts[-1] = n
    thresholds = rng.random(len(merges))
    for node in range(len(rows) - 1, n_leaves - 1, -1):
        left, right = merges[node - n_leaves]
        even = spread[left] / (spread[left] + spread[right])
        wanted = counts[node] * ((1 - balance) * rows[left] / max(rows[node], 1) + balance * even)
        rounded = int(wanted) + int(thresholds[node - n_leaves] < wanted % 1)
        counts[left] = min(max(rounded, counts[node] - rows[right]), rows[left])
        counts[right] = counts[node] - counts[left]
    return counts[:n_leaves]


def _find_leaves(hierarchy: FusionHierarchy) -> tuple[IntArray, NDArray[np.float64]]:
    """Return the leaf of each row, -1 for noise, and the linkage of the leaves."""
    tree = hierarchy.tree
    # clusters of the last level are equally far from each other
    if tree is None or tree.n_leaves == 0:
        labels = hierarchy.cut(level=hierarchy.n_levels)
        return labels, _join_evenly(count_by_label(labels, int(labels.max()) + 1))
    leaf = np.full(hierarchy.n_rows, -1, dtype=np.int64)
    leaf[tree.medoids] = np.arange(tree.n_leaves)
    return leaf[find_roots(hierarchy.parents, hierarchy.absorbed_at, tree.level)], tree.linkage


def _join_evenly(sizes: IntArray) -> NDArray[np.float64]:
    """Return the linkage of clusters that join one by one, each at the distance 1."""
    linkage = np.zeros((len(sizes) - 1, 4))
    together = int(sizes[0])
    for number, size in enumerate(sizes[1:].tolist()):
        last = number + len(sizes) - 1 if number else 0
        linkage[number] = (
            last,
            number + 1,
            np.sqrt(2 * together * size / (together + size)),
            number + 2,
        )
        together += size
    return linkage
