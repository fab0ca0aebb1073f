"""The cuts that a reader can choose from: their clusters, colours and figures, and which one is
suggested.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from cohirf import Choice, CoHiRF
from cohirf.app.explain.policy import CUT
from cohirf.app.explain.results import say_chosen_number
from cohirf.hierarchy import FusionHierarchy, find_roots_of
from cohirf.inspection import MergeTree, cluster_positions
from cohirf.rows import IntArray


@dataclass(frozen=True)
class Cut:
    """A partition of the rows: the tree of merges cut at a number of clusters, or the labels of the
    model.
    """

    leaf_of_row: IntArray  # leaf of the tree that each row belongs to; -1 for noise
    label_of_leaf: IntArray  # cluster of each leaf; -1 for noise
    # the root of each cluster in the hierarchy; of a final cluster its medoid, not its exemplar
    medoid: IntArray
    size: IntArray  # number of rows of each cluster
    # number of clusters of the tree that this is; more than ``n_clusters`` if small ones are noise
    n_merged: int
    levels: tuple[int, ...] = ()  # the levels of the hierarchy with these clusters
    is_final: bool = False  # whether these are the labels of the model

    @property
    def n_clusters(self) -> int:
        """Number of clusters, not counting noise."""
        return len(self.medoid)

    @property
    def labels(self) -> IntArray:
        """Cluster of each row; -1 for noise."""
        return self.labels_of(np.arange(len(self.leaf_of_row)))

    def labels_of(self, rows: IntArray) -> IntArray:
        """Return the cluster of each of the given rows; -1 for noise."""
        # leaf -1 selects the last entry
        return np.append(self.label_of_leaf, -1)[self.leaf_of_row[rows]]

    @property
    def is_whole(self) -> bool:
        """Whether it has all clusters, and hides none because it is small."""
        return self.n_clusters == self.n_merged

    def largest(self, n_clusters: int) -> IntArray:
        """Return the numbers of the largest clusters, the largest first."""
        return np.argsort(-self.size, kind="stable")[:n_clusters]

    def parts_of(self, finer: Cut) -> IntArray:
        """Return, for each cluster of a finer cut, the cluster that it is a part of."""
        _, leaf = np.unique(finer.label_of_leaf, return_index=True)
        return self.label_of_leaf[leaf[-finer.n_clusters :]]  # without noise, which is first


def place_of_final(cuts: Sequence[Cut]) -> int:
    """Return the place of the cut that has the clusters of the model."""
    return next(place for place, cut in enumerate(cuts) if cut.is_final)


def find_cuts(model: CoHiRF) -> list[Cut]:
    """Return the cuts to choose from, sorted by their number of clusters; one of them is final."""
    hierarchy = model.hierarchy_
    tree = model.hierarchy_.tree
    if tree is None or tree.n_leaves == 0:
        nothing = np.empty(0, dtype=np.int64)
        return [Cut(np.full(len(model.labels_), -1), nothing, nothing, nothing, 0, is_final=True)]
    leaves = TreeLeaves.of(hierarchy, tree)
    levels = leaves.count_levels(hierarchy)
    n_steps = int(np.log(CUT.largest / CUT.every_number) / np.log(CUT.ratio))
    many = (round(CUT.every_number * CUT.ratio**step) for step in range(1, n_steps + 1))
    offered = {*range(1, CUT.every_number + 1), *many, min(tree.n_leaves, CUT.largest)}
    numbers = sorted({number for number in offered if number <= tree.n_leaves} | {*levels.values()})
    cuts = [leaves.cut(n, tuple(level for level in levels if levels[level] == n)) for n in numbers]
    final = leaves.final_cut(model)
    if final.is_whole:  # no cluster is too small: the labels of the model are a cut of the tree
        return [
            _as_final(cut, model) if cut.n_clusters == final.n_clusters else cut for cut in cuts
        ]
    return sorted([*cuts, final], key=lambda cut: (cut.n_clusters, cut.n_merged))


def _as_final(cut: Cut, model: CoHiRF) -> Cut:
    """Return the cut that has the clusters of the model, in the order of their numbers.

    That is not the order of their first rows, after rows were forgotten or models were merged.
    """
    position = cluster_positions(model)[cut.medoid].astype(np.int64)
    order = np.argsort(position)
    label = np.where(cut.label_of_leaf < 0, -1, position[cut.label_of_leaf])
    return replace(
        cut, label_of_leaf=label, medoid=cut.medoid[order], size=cut.size[order], is_final=True
    )


def colour_clusters(cuts: Sequence[Cut]) -> list[IntArray]:
    """Return the colour number of each cluster of each cut.

    The colour number of a final cluster is its label. In other cuts, a cluster has the colour of
    its medoid. A medoid that is not that of a final cluster gets a new colour in the coarsest cut
    that has it, the largest cluster first.
    """
    colour_of: dict[int, int] = {}
    final = cuts[place_of_final(cuts)]
    for cut in [final, *cuts]:
        if cut.is_final:
            order: IntArray = np.arange(cut.n_clusters)
        else:
            order = cut.largest(cut.n_clusters)
        for medoid in cut.medoid[order].tolist():
            colour_of.setdefault(medoid, len(colour_of))
    return [
        np.array([colour_of[medoid] for medoid in cut.medoid.tolist()], dtype=np.int64)
        for cut in cuts
    ]


@dataclass(frozen=True)
class TreeLeaves:
    """The leaves of a tree of merges, numbered by their first row."""

    tree: MergeTree  # the tree
    of_row: IntArray  # leaf of each row; -1 for noise
    number: IntArray  # number of each leaf of the tree
    medoid: IntArray  # medoid of each leaf, by number
    size: IntArray  # number of rows of each leaf, by number
    rank: IntArray  # the medoid of a cluster is that of its leaf with the highest rank
    top: MergeTree  # the tree above its last ``LARGEST_NUMBER`` clusters: cutting it is quick
    of_leaf: IntArray  # the leaf of ``top`` that each leaf of the tree belongs to

    @classmethod
    def of(cls, hierarchy: FusionHierarchy, tree: MergeTree) -> TreeLeaves:
        """Return the leaves of the tree of a hierarchy.

        A leaf has a higher rank if its medoid was absorbed later, or is the medoid of a larger
        final cluster.
        """
        of_row = hierarchy.cut(n_clusters=tree.n_leaves)
        number = of_row[tree.medoids]
        medoid = np.empty_like(tree.medoids)
        medoid[number] = tree.medoids
        size = np.bincount(of_row[of_row >= 0], minlength=tree.n_leaves)
        absorbed_at = hierarchy.absorbed_at[medoid]
        last = hierarchy.n_levels
        until = np.where(absorbed_at == 0, last + 1, absorbed_at)
        _, final = np.unique(
            find_roots_of(medoid, hierarchy.parents, hierarchy.absorbed_at, last),
            return_inverse=True,
        )
        order = np.lexsort((size, np.bincount(final, weights=size)[final], until))
        rank = np.empty(tree.n_leaves, dtype=np.int64)
        rank[order] = np.arange(tree.n_leaves)
        of_leaf = tree.cut(min(tree.n_leaves, CUT.largest))
        _, first = np.unique(of_leaf, return_index=True)
        return cls(tree, of_row, number, medoid, size, rank, tree.prune(first[of_leaf]), of_leaf)

    def count_levels(self, hierarchy: FusionHierarchy) -> dict[int, int]:
        """Return the number of clusters, without noise, of each level that is a cut of the tree."""
        last = hierarchy.n_levels
        first = max(min(self.tree.level, last), last + 1 - CUT.levels)
        return {level: self._count_survivors(hierarchy, level) for level in range(first, last + 1)}

    def _count_survivors(self, hierarchy: FusionHierarchy, level: int) -> int:
        return len(
            np.unique(find_roots_of(self.medoid, hierarchy.parents, hierarchy.absorbed_at, level))
        )

    def cut(self, n_clusters: int, levels: tuple[int, ...]) -> Cut:
        """Return the cut at a number of clusters, which are numbered by their first row."""
        group = np.empty_like(self.number)
        is_coarse = n_clusters <= self.top.n_leaves
        group[self.number] = (
            self.top.cut(n_clusters)[self.of_leaf] if is_coarse else self.tree.cut(n_clusters)
        )
        _, first, label = np.unique(group, return_index=True, return_inverse=True)
        label = np.argsort(np.argsort(first))[label]
        by_rank = np.lexsort((-self.rank, label))
        medoid = self.medoid[by_rank[np.searchsorted(label[by_rank], np.arange(n_clusters))]]
        size = np.bincount(label, weights=self.size).astype(np.int64)
        return Cut(self.of_row, label, medoid, size, n_clusters, levels)

    def final_cut(self, model: CoHiRF) -> Cut:
        """Return the labels of the model as a cut."""
        label = cluster_positions(model)[self.medoid].astype(np.int64)
        n_clusters = model.n_clusters_
        size = np.bincount(
            label[label >= 0], weights=self.size[label >= 0], minlength=n_clusters
        ).astype(np.int64)
        hierarchy = model.hierarchy_
        n_merged = self._count_survivors(hierarchy, hierarchy.n_levels)
        return Cut(self.of_row, label, model.medoid_indices_, size, n_merged, (), is_final=True)


def find_finer(cuts: Sequence[Cut], number: int) -> int | None:
    """Return the coarsest cut of the whole tree that all clusters of a cut are made of.

    None for the finest cut.
    """
    cut = cuts[number]
    n_parts = cut.n_merged + cut.is_whole
    return next(
        (i for i, other in enumerate(cuts) if other.is_whole and other.n_merged >= n_parts), None
    )


def suggest_cut(
    cuts: Sequence[Cut], silhouettes: Sequence[float | None], choice: Choice | None
) -> dict[str, Any] | None:
    """Return the suggested cut, why, and a figure for each cut.

    None if nothing tells which cut is good.
    """
    scored = {
        number: value
        for number, value in enumerate(silhouettes)
        if value is not None and 2 <= cuts[number].n_clusters <= CUT.largest
    }
    if not scored:
        return None
    silhouette = "the silhouette, how clearly clusters are apart"
    if choice is not None and not choice.is_given:
        chosen = next(
            (number for number in scored if cuts[number].n_clusters == choice.n_clusters), None
        )
        if chosen is not None:
            text = (
                f"{choice.n_clusters} clusters are suggested. {say_chosen_number(choice)} "
                f"{choice.n_same} of {choice.n_halves} random halves have the same clusters."
            )
            of_number = dict(zip(choice.candidates.tolist(), choice.figures.tolist(), strict=True))
            curve = [of_number.get(cut.n_clusters) for cut in cuts]
            measure = f"{silhouette}, and how many near neighbours are together"
            return {"cut": chosen, "text": text, "curve": curve, "measure": measure}
    if choice is not None and not choice.is_around_means:
        # the silhouette is low for clusters that are long or curved, however clear they are
        return None
    best = max(scored, key=lambda number: scored[number])
    text = _give_reason(cuts, scored, best)
    return {"cut": best, "text": text, "curve": list(silhouettes), "measure": silhouette}


def _give_reason(cuts: Sequence[Cut], scored: dict[int, float], best: int) -> str:
    text = (
        f"{cuts[best].n_clusters} clusters are suggested: there, rows are closest to their own "
        f"cluster compared with the next one (silhouette {scored[best]:.2f}, where 1 is clearly "
        "apart and 0 is touching)."
    )
    near = [
        number
        for number in scored
        if number != best and scored[number] > scored[best] - CUT.near_best
    ]
    if not (numbers := [str(cuts[number].n_clusters) for number in near]):
        return text
    if len(numbers) > CUT.others:
        return f"{text} Other numbers are about as good, such as {numbers[0]} or {numbers[-1]}."
    *first, last = numbers
    return (
        f"{text} {' and '.join([', '.join(first), last] if first else [last])} clusters are about "
        "as good."
    )
