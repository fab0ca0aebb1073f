"""Labels of HDBSCAN for all rows, from the spanning trees of overlapping batches: join, sort,
condense, label.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from cohirf.error_contexts import warn_caller
from cohirf.rows.grouping import FloatArray, count_by_label, row_blocks, take_places
from cohirf.rows.storage import Storage
from cohirf.spanning import joining_kernels as kernels
from cohirf.spanning.batch_edges import Edges, span_parts
from cohirf.spanning.box_tree import flatten, root
from cohirf.spanning.found_in_runs import SpannedRun
from cohirf.spanning.neighbour_lists import NeighbourLists, Read, measure_share
from cohirf.spanning.policy import LISTS, TREE
from cohirf.spanning.settings import SpanningSettings


class JoinedTrees:
    """The spanning trees of all batches, joined to one.

    Labels are those of all rows in one batch if each row shares a batch with its ``min_samples``
    nearest rows, and if the rows of each edge of the spanning tree share a batch in which their
    core distances are the right ones. Other edges are replaced by a heavier way around. Labels
    differ, too, where both weights and lengths of edges are equal.

    ``n_edges`` is the largest number of edges of all trees together; ``read`` returns rows, given
    their numbers. The threads of the fit look for neighbours that batches miss.
    """

    def __init__(
        self,
        n_rows: int,
        n_edges: int,
        read: Read,
        settings: SpanningSettings,
        storage: Storage,
    ) -> None:
        self._read = read
        self._settings = settings
        self._storage = storage
        self.core = storage.vector(n_rows, np.float64)
        self.core[:] = np.inf
        self.lists: NeighbourLists | None = None
        # there is room for bridges
        self._edges = Edges.room_for(n_edges + n_rows, storage)
        self._n_edges = 0
        self._parts = np.arange(n_rows, dtype=np.int32)

    def add(self, run: SpannedRun) -> None:
        """Add the spanning trees of a run."""
        # the lowest is the best: it misses the fewest neighbours
        np.minimum.at(self.core, run.rows, run.core)
        self._add_edges(Edges(run.one, run.two, run.lengths))
        if run.lists is not None:
            if self.lists is None:
                length = run.lists.neighbours.shape[1]
                self.lists = NeighbourLists.room_for(
                    len(self.core), length, self._storage, self._read
                )
            self.lists.put(run.lists)
        self._storage.release()

    def complete(self) -> None:
        """Find neighbours that batches miss, and edges, if runs have lists.

        Warn if many are not found.
        """
        if self.lists is None:
            return
        self.lists.improve(self._storage)
        rank = self._settings.min_samples
        if rank <= self.lists.neighbours.shape[1]:
            np.minimum(self.core, np.sqrt(self.lists.distances2[:, rank - 1]), out=self.core)
        self._add_edges(self.lists.span(self.core))
        self.warn_of_missing()

    def warn_of_missing(self) -> None:
        """Warn if many rows of a sample have neighbours that were not found."""
        share = measure_share(self.core, self._settings.min_samples, self._read)
        if share < LISTS.enough_right:
            warn_caller(
                "HDBSCAN in several local batches found all nearest neighbours of only "
                f"{share:.0%} of the rows (measured on a sample), because there are many "
                "features. Where clusters overlap, borders and noise can differ from HDBSCAN on "
                "all rows. Raise batch_size; batch_size=None has no such error.",
                ConvergenceWarning,
            )

    def label(
        self, as_sklearn: bool = False, distances: Callable[[FloatArray], FloatArray] | None = None
    ) -> NDArray[np.int32]:
        """Return the label of each row, -1 for noise.

        For ``as_sklearn``, see :func:`sort_by_weight`.

        Weights are Euclidean distances, which ``distances`` turns into those of a metric that grows
        with them: their order is the same, the stability of clusters is not.
        """
        self._add_edges(find_bridges(flatten(self._parts), self.core, self._read))
        edges = self._edges.take(slice(self._n_edges))
        parts = sort_by_weight(edges, self.core, self._storage, as_sklearn)
        return condense(len(self.core), parts, self._settings, distances).label()

    def _add_edges(self, edges: Edges) -> None:
        kernels.unite_ends(self._parts, edges.one, edges.two)
        self._edges.put(slice(self._n_edges, self._n_edges + edges.count), edges)
        self._n_edges += edges.count


# -- edges between parts


def find_bridges(parts: NDArray[np.int32], core: FloatArray, read: Read) -> Edges:
    """Return edges that connect all parts, with the distances of their rows.

    ``parts`` has the lowest row that batches connect each row with. Edges between parts are the
    lightest ones among all rows, or, if there are more than a million, among a sample of each part.
    Then they may be longer than need be, and this is nearly harmless. Batches that share a row are
    in one part. Hence a part is as large as a batch, other parts are farther away than the rows
    around a batch that it shares with others, and only the distance at which large clusters merge
    is overestimated.
    """
    if not parts.any():  # all rows are connected with row 0
        return Edges.room_for(0, Storage())
    some = choose_candidates(parts)
    bridges = span_parts(np.asarray(read(some)), core[some], parts[some])
    return Edges(
        some[bridges.one].astype(np.int32), some[bridges.two].astype(np.int32), bridges.lengths
    )


def choose_candidates(parts: NDArray[np.int32]) -> NDArray[np.intp]:
    """Return about ``TREE.candidates`` rows: all rows of small parts, and a sample of each larger
    part.
    """
    sizes = np.bincount(parts)
    share = TREE.candidates / np.count_nonzero(sizes)
    chance = np.random.default_rng(0).random(len(parts))
    return np.flatnonzero(chance * sizes[parts] < share)


# -- edges in the order of their weights


def sort_by_weight(
    edges: Edges, core: FloatArray, storage: Storage, as_sklearn: bool = False
) -> Iterator[Edges]:
    """Yield all edges with their weights instead of distances, sorted, in one part or more, kept in
    ``storage``.

    Of equal weights the shorter edge comes first; or, with ``as_sklearn``, the one that
    scikit-learn merges first.
    """
    n_edges = edges.count
    if n_edges <= TREE.sorted_edges:
        yield _sort_part(edges, edges.weigh(core), as_sklearn)
        return
    weights = storage.vector(n_edges, np.float64)
    for block in row_blocks(n_edges, TREE.sorted_edges):
        weights[block] = edges.take(block).weigh(core)
        storage.release()
    some = np.sort(weights[:: -(-n_edges // TREE.sampled_edges)])
    # equal weights stay in one part
    limits = np.unique(some[:: -(-len(some) * TREE.sorted_edges // n_edges)][1:])
    edges, weights, bounds = _divide_edges(edges, weights, limits, storage)
    for start, stop in pairwise(bounds.tolist()):
        yield _sort_part(edges.take(slice(start, stop)), np.array(weights[start:stop]), as_sklearn)
        storage.release()


def _sort_part(edges: Edges, weights: FloatArray, as_sklearn: bool) -> Edges:
    if as_sklearn:
        places = np.argsort(weights)
    else:
        places = np.lexsort((edges.lengths, weights))
    return Edges(edges.one[places], edges.two[places], weights[places])


def _divide_edges(
    edges: Edges, weights: FloatArray, limits: FloatArray, storage: Storage
) -> tuple[Edges, FloatArray, NDArray[np.int64]]:
    """Return the edges and their weights, ordered by the limits between which weights are, and
    where each part begins.

    Within a part, edges keep their order.
    """
    blocks = list(row_blocks(len(weights), TREE.sorted_edges))
    counts = sum(
        count_by_label(_parts_of_weights(weights[block], limits), len(limits) + 1)
        for block in blocks
    )
    bounds = np.append(0, np.cumsum(counts))
    divided = Edges.room_for(len(weights), storage)
    sorted_weights = storage.vector(len(weights), np.float64)
    next_places = bounds[:-1].copy()
    for block in blocks:
        places = take_places(_parts_of_weights(weights[block], limits), next_places)
        divided.put(places, edges.take(block))
        sorted_weights[places] = weights[block]
        storage.release()
    return divided, sorted_weights, bounds


def _parts_of_weights(weights: FloatArray, limits: FloatArray) -> NDArray[np.intp]:
    return np.searchsorted(limits, weights, side="right")


# -- clusters and labels


class CondensedTree:
    """The clusters of HDBSCAN and their rows, while edges are merged.

    Labels are those of scikit-learn, hdbscan or fast_hdbscan for the same tree. Where edges have
    equal weights, a set of rows has several minimum spanning trees, and these packages condense
    another one, or its edges in another order.
    """

    def __init__(
        self, n_rows: int, settings: SpanningSettings, *, keeps_densities: bool = False
    ) -> None:
        self._settings = settings
        can_be_root = settings.allow_single_cluster or (
            settings.as_fast_hdbscan and settings.epsilon > 0
        )
        self._rows = kernels.Components(
            parents=np.arange(n_rows, dtype=np.int32),
            sizes=np.ones(n_rows, dtype=np.int32),
            joined=np.full(n_rows, -1, dtype=np.int32),
            left_at=np.empty(n_rows if can_be_root or keeps_densities else 0),
        )
        most = 2 * (n_rows // settings.min_cluster_size) + 1
        self._found = kernels.Condensed(
            np.zeros(most, dtype=np.int32),
            np.zeros(most, dtype=np.int64),
            *(np.zeros(most) for _ in range(3)),
        )
        self._tops = np.arange(most, dtype=np.int32)
        self._n_found = 0
        self._density = -1.0  # of the last edge

    def merge(self, edges: Edges) -> None:
        """Merge the rows of edges, which come with their weights, sorted, after all lighter edges.

        Edges whose rows are connected already are passed over, so that these need not be those of a
        spanning tree.
        """
        if edges.count == 0:
            return
        found = (
            self._rows,
            self._found,
            self._tops,
            self._n_found,
            self._settings.min_cluster_size,
        )
        self._n_found = kernels.merge_edges(edges.one, edges.two, edges.lengths, *found)
        if edges.lengths[-1] > 0:
            self._density = 1 / edges.lengths[-1]
        else:
            self._density = np.inf

    def label(self) -> NDArray[np.int32]:
        """Return the label of each row, -1 for noise.

        Clusters are numbered in the order of their first rows.

        All rows must be connected by now.
        """
        clusters, is_selected = self._select()
        labels = np.empty(len(self._rows.parents), dtype=np.int32)
        kernels.label_selected(clusters, is_selected, self._rows, self._settings.epsilon, labels)
        return labels

    def describe(
        self,
    ) -> tuple[kernels.Condensed, NDArray[np.int64], NDArray[np.int64], FloatArray]:
        """Return all clusters, the selected cluster that each is part of, and which cluster each
        row leaves, and when.

        Clusters are numbered from the root, 0; -1 stands for no selected cluster. Densities must
        have been kept.
        """
        clusters, is_selected = self._select()
        selected = np.where(is_selected, np.arange(len(is_selected)), -1)
        for cluster in range(1, len(selected)):
            if not is_selected[cluster]:
                selected[cluster] = selected[clusters.parents[cluster]]
        components = flatten(self._rows.parents)
        return (
            clusters,
            selected,
            self._n_found - 1 - self._rows.joined[components],
            self._rows.left_at[components],
        )

    def _select(self) -> tuple[kernels.Condensed, NDArray[np.bool_]]:
        """Return the clusters of the whole tree, and which of them are selected."""
        settings = self._settings
        if self._n_found == 0:  # all rows together are a small component: the root
            kernels.join_cluster(
                self._rows, self._found, root(self._rows.parents, 0), 0, self._density
            )
            self._n_found = 1
        clusters = kernels.from_root(self._found, self._n_found)
        allow_root = settings.allow_single_cluster and (
            self._n_found > 1 or not settings.as_fast_hdbscan
        )
        if settings.leaves:
            is_selected = kernels.select_leaves(clusters)
        else:
            children = clusters.sizes[1:][clusters.parents[1:] == 0].sum()
            if settings.as_fast_hdbscan:
                root_size = clusters.sizes[0] - 1
            else:
                root_size = children
            is_selected = kernels.select_by_mass(
                clusters, float(settings.max_cluster_size), root_size, allow_root
            )
        if settings.epsilon > 0:
            may_reach_root = allow_root or settings.as_fast_hdbscan
            is_selected = kernels.select_above(
                clusters, is_selected, settings.epsilon, may_reach_root
            )
        return clusters, is_selected


def condense(
    n_rows: int,
    parts: Iterable[Edges],
    settings: SpanningSettings,
    distances: Callable[[FloatArray], FloatArray] | None = None,
) -> CondensedTree:
    """Return the clusters of rows, given the edges of a spanning tree with weights, sorted, in one
    part or more.

    ``distances`` turns Euclidean weights into those of a metric; None if they are.
    """
    tree = CondensedTree(n_rows, settings)
    for part in parts:
        if distances is not None:
            part = replace(part, lengths=distances(part.lengths))
        tree.merge(part)
    return tree
