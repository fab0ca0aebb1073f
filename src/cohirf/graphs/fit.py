"""Fit a graph: views of its edges, their consensus, merges along the edges, a fitted state."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from numbers import Integral
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.consensus import (
    Codes,
    Consensus,
    fold_views,
    mean_agreement,
    measure_stability,
    strict_consensus,
)
from cohirf.algorithm.levels import LevelRecord
from cohirf.algorithm.randomness import Draw, Entropy, generator_at, root_entropy
from cohirf.beyond.merge_tree import MergeTree
from cohirf.beyond.merges.graph import CRITERION
from cohirf.choice import Choice, count_crumbs
from cohirf.engines import engine_of_views, threads_of_fit
from cohirf.error_contexts import showing_warnings_once, warn_caller
from cohirf.fitting.policy import GROUP
from cohirf.fitting.settings import Settings
from cohirf.graphs.base_methods import label_by_method
from cohirf.graphs.density import DensityLabels
from cohirf.graphs.graph import (
    Graph,
    blocks_of_edges,
    both_directions,
    find_reverse,
    open_graph,
    thin,
)
from cohirf.graphs.merging import Merges, choose_number, contract, group_nodes
from cohirf.graphs.moves import merge_within, move_groups
from cohirf.landmarks import Landmarks
from cohirf.parameters import Parameters
from cohirf.rows.grouping import (
    FloatArray,
    IntArray,
    best_by_label,
    count_by_label,
    first_rows,
    index_dtype,
)
from cohirf.rows.later import Later
from cohirf.summary.rows import Part, RowMap, RowResults
from cohirf.summary.state import FinalClusters, FittedState, NodeReach


def open_training_graph(
    parameters: Parameters,
    X: Any,
    sample_weight: Any = None,
    client: Any = None,
    links: Any = None,
) -> Graph:
    """Check parameters and a graph. What has no meaning on a graph is refused."""
    metric = f"metric={parameters.metric!r}"
    refused = {
        "sample_weight": sample_weight is not None,
        "links": links is not None,
        "client": client is not None,
        "batch_size": parameters.batch_size is not None,
        "batches": parameters.batches != "auto",
        "checkpoint": parameters.checkpoint is not None,
        "device": parameters.device is not None,
        "size_limits": parameters.size_limits is not None,
    }
    for name, is_given in refused.items():
        if is_given:
            raise ValueError(
                f"{name} does not work with {metric}: a graph is clustered as a "
                "whole, in this process, and nodes have neither weights nor means. Leave "
                f"{name} out."
            )
    if parameters.merge not in ("auto", CRITERION.name):
        raise ValueError(
            f"merge={parameters.merge!r} does not work with {metric}: the nodes of a "
            f"graph have no means. Leave merge out, or set it to {CRITERION.name!r}."
        )
    if parameters.medoid != "cosine":
        raise ValueError(
            f"medoid={parameters.medoid!r} does not work with {metric}: the medoid of a "
            "graph's cluster has the smallest sum of distances. Leave medoid out."
        )
    if parameters.n_clusters == "levels":
        raise ValueError(
            f'n_clusters="levels" does not work with {metric}: medoids alone have '
            'hardly an edge between them. Give a number or "auto".'
        )
    if isinstance(parameters.max_features, Integral):
        raise TypeError(
            f"max_features={parameters.max_features} does not work with {metric}: give "
            "the share of the edges in each view, a float in (0, 1]."
        )
    if isinstance(parameters.views, list) and any(
        isinstance(view, tuple) for view in parameters.views
    ):
        raise ValueError("views: a graph has no columns. Give estimators without columns.")
    return open_graph(X, parameters.metric)


def fit_graph(settings: Settings, graph: Graph) -> FittedState:
    """Return all that a fit finds in a graph."""
    with threads_of_fit(settings.n_jobs), showing_warnings_once():
        entropy = root_entropy(settings.random_state)
        started = perf_counter()
        views = label_views(settings, graph, entropy)
        seconds = perf_counter() - started
        found = find_clusters(settings, graph, views, entropy)
        _warn(settings, found, graph.n_nodes)
        return make_state(graph, views, found, seconds)


# ---- views


@dataclass(frozen=True)
class ViewsOfGraph:
    """What the views agree on.

    Attributes
    ----------
    groups : array of int, shape (n_nodes,)
        The group of each node; the last ones are single nodes that are noise.
    n_groups, n_noise : int
        Number of groups, and of those that are noise.
    weights : CSR array or None
        Weights between groups that are not noise, if they were made on the way.
    stability : array of float32, shape (n_nodes,)
        See ``CoHiRF.stability_``.
    agreement : float
        Mean adjusted Rand index between views.
    n_kept : int
        Number of views that took part in the consensus.
    density : DensityLabels or None
        What the only view of DBSCAN or HDBSCAN says about new nodes.
    """

    groups: IntArray
    n_groups: int
    n_noise: int
    weights: Any
    stability: NDArray[np.float32]
    agreement: float
    n_kept: int
    density: DensityLabels | None = None


def label_views(settings: Settings, graph: Graph, entropy: Entropy) -> ViewsOfGraph:
    """Label the nodes on each view, and return the consensus.

    A view has a random share of the edges, or all of them. If views are equal, there is one.
    """
    share = view_share(settings, graph)
    methods = settings.methods
    is_listed = len(methods) > 1
    are_equal = share == 1.0 and not is_listed
    if are_equal and methods[0] is None:
        return _group_once(settings, graph)
    is_deterministic = methods[0] is not None and methods[0].is_deterministic
    n_runs = 1 if are_equal and is_deterministic else settings.n_views
    tasks = [
        (
            graph,
            methods[view if is_listed else 0],
            share,
            _count_inner(settings),
            generator_at(entropy, Draw.VIEW, 1, 0, view),
        )
        for view in range(n_runs)
    ]
    engine = engine_of_views(settings.n_jobs, in_threads=True)  # which share the edges
    labels = list(engine.run(_label_view, tasks, n_runs))
    codes = fold_views([each.labels for each in labels], graph.n_nodes)
    if n_runs < settings.n_views:
        codes = codes.repeated(settings.n_views)
    consensus = _agree(settings, codes)
    density = labels[0] if n_runs == 1 and len(labels[0].core) else None
    return ViewsOfGraph(
        np.asarray(consensus.labels),
        consensus.n_clusters,
        consensus.n_noise,
        None,
        np.asarray(measure_stability(codes, consensus).of_row),
        mean_agreement(codes),
        len(consensus.views_kept),
        density,
    )


def view_share(settings: Settings, graph: Graph) -> float:
    """Return the share of the edges in a view."""
    return settings.n_features / max(1, graph.n_nodes)


def _agree(settings: Settings, codes: Codes) -> Consensus:
    if codes.are_equal:
        return strict_consensus(codes)
    return settings.consensus(1, settings.family.n_clusters)(codes)


def _count_inner(settings: Settings) -> int:
    wanted = settings.family.n_clusters
    return GROUP.unknown if wanted is None else GROUP.finer * wanted


def _label_view(
    graph: Graph,
    method: BaseMethod | None,
    share: float,
    n_inner: int,
    rng: np.random.Generator,
) -> DensityLabels:
    view = graph if share == 1.0 else thin(graph, share, rng)
    if method is not None:
        return label_by_method(view, method, rng)
    groups = group_nodes(view.halves)
    labels = np.full(graph.n_nodes, -1, dtype=np.int32)
    clustered = groups.of_node >= 0
    labels[clustered] = Merges.of(groups.weights).cut(n_inner)[groups.of_node[clustered]]
    return DensityLabels(labels, np.empty(0), np.empty(0), 0)


def _group_once(settings: Settings, graph: Graph) -> ViewsOfGraph:
    """Return small groups of neighbours, on which all views agree; nodes without edges are
    noise.
    """
    groups = group_nodes(graph.halves)
    alone = np.flatnonzero(groups.of_node < 0)
    groups.of_node[alone] = groups.n_groups + np.arange(len(alone))
    return ViewsOfGraph(
        groups.of_node,
        groups.n_groups + len(alone),
        len(alone),
        groups.weights,
        np.ones(graph.n_nodes, dtype=np.float32),
        1.0 if settings.n_views > 1 else np.nan,
        settings.n_views,
    )


# ---- clusters


@dataclass(frozen=True, eq=False)
class FoundClusters:
    """The final clusters of groups.

    Attributes
    ----------
    merges : Merges or None
        The tree above groups that are not noise; None if there are none.
    cluster : array of int, shape (n_groups,)
        The cluster of each group; each that is noise is one of its own.
    labels : array of int, shape (n_groups,)
        The same, numbered by their first nodes; -1 for noise and for clusters that are too small.
    n_clusters : int
        Number of clusters, without noise and small ones.
    choice : Choice or None
        How the number was chosen.
    n_merged : int
        Number of clusters before small ones were left out.
    """

    merges: Merges | None
    cluster: IntArray
    labels: IntArray
    n_clusters: int
    choice: Choice | None
    n_merged: int


def find_clusters(
    settings: Settings, graph: Graph, views: ViewsOfGraph, entropy: Entropy
) -> FoundClusters:
    """Merge groups to as many clusters as are wanted, or leave them if the method found them."""
    n_clear = views.n_groups - views.n_noise
    family = settings.family
    least = settings.smallest_wanted(float(graph.n_nodes))
    if family.is_chosen:
        least = max(least, float(count_crumbs(graph.n_nodes)))
    sizes = count_by_label(views.groups, views.n_groups)
    cluster: IntArray = np.arange(views.n_groups)
    merges = None
    choice = None
    if n_clear > 0:
        weights = views.weights
        if weights is None:
            weights = weigh_groups(graph, views, n_clear)
        merges = Merges.of(weights)
        if not family.is_found and family.n_clusters is None:
            rng = generator_at(entropy, Draw.CHOICE)
            choice, cut = choose_number(merges, weights, sizes[:n_clear], least, rng)
        elif not family.is_found:
            cut = merges.cut(min(int(family.n_clusters or 1), n_clear))
        else:
            cut = cluster[:n_clear]
        if not family.is_found:
            moved = move_groups(weights, cut, sizes[:n_clear], least)
            if not np.array_equal(moved, cut):
                cut = moved
                merges = merge_within(weights, moved)
        cluster = np.append(cut, int(cut.max()) + 1 + np.arange(views.n_noise))
    n_merged = int(cluster.max()) + 1 - views.n_noise
    masses = np.bincount(cluster, weights=sizes)
    masses[n_merged:] = -1  # noise is in no cluster
    first = np.full(len(masses), graph.n_nodes)
    np.minimum.at(first, cluster, first_rows(views.groups, views.n_groups))
    in_order = np.argsort(first)
    is_kept = masses[in_order] >= max(least, 0)
    number = np.empty(len(masses), dtype=np.int64)
    number[in_order] = np.where(is_kept, np.cumsum(is_kept) - 1, -1)
    n_clusters = int(is_kept.sum())
    if choice is not None and choice.min_share > 0:
        n_aside = int(graph.n_nodes - masses[in_order][is_kept].sum())
        choice = replace(choice, n_aside=n_aside)
    return FoundClusters(merges, cluster, number[cluster], n_clusters, choice, n_merged)


def weigh_groups(graph: Graph, views: ViewsOfGraph, n_clear: int) -> Any:
    """Return the weights between groups that are not noise."""
    group = np.where(views.groups < n_clear, views.groups, -1).astype(np.int32)
    return both_directions(contract(graph.halves, group, n_clear))


def _warn(settings: Settings, found: FoundClusters, n_nodes: int) -> None:
    """Warn if there are more or fewer clusters than asked for, or if they are useless."""
    wanted = settings.family.n_clusters
    if settings.family.is_required and wanted is not None and found.n_merged != wanted:
        if found.n_merged > wanted:
            why = (
                f"The graph has {found.n_merged} parts without an edge between them, and these do "
                f"not merge: n_clusters={wanted} cannot be reached. Add edges, set n_clusters to "
                f"{found.n_merged} or more, or let min_cluster_size leave small parts out."
            )
        else:
            why = (
                f"n_clusters={wanted} cannot be reached: the views found only {found.n_merged} "
                "groups, and clusters can only be merged. Lower n_clusters."
            )
        warn_caller(why, ConvergenceWarning)
        return
    if found.choice is not None and found.choice.is_largest:
        warn_caller(found.choice.explain_largest(), ConvergenceWarning)


# ---- the state


def make_state(
    graph: Graph, views: ViewsOfGraph, found: FoundClusters, seconds: float
) -> FittedState:
    """Return the state of a fit: groups with their medoids, the tree, and the clusters."""
    n_nodes = graph.n_nodes
    started = perf_counter()
    scores = score_centrality(graph, found.cluster[views.groups])
    medoids = best_by_label(scores, views.groups, views.n_groups)
    order = np.argsort(medoids)  # groups are numbered by their medoids
    place = np.empty(len(order), dtype=np.int64)
    place[order] = np.arange(len(order))
    rows = medoids[order]
    cluster = found.cluster[order]
    of_clusters = best_by_label(scores[rows], cluster, int(cluster.max()) + 1)
    parents = of_clusters[cluster]
    first_level = int(len(rows) < n_nodes)  # 0 if each node is a group
    is_absorbed = parents != np.arange(len(rows))
    labels = found.labels[order]
    kind = index_dtype(n_nodes)
    part = Part(
        place[views.groups].astype(kind), views.stability, np.arange(len(rows), dtype=np.int64)
    )
    results = RowResults(
        RowMap((part,)),
        rows.astype(kind),
        labels.astype(kind),
        parents.astype(kind),
        np.where(is_absorbed, first_level + 1, 0).astype(np.uint8),
        views.stability[rows],
        count_by_label(views.groups, views.n_groups)[order],
    )
    exemplars = np.empty(found.n_clusters, dtype=np.int64)
    roots = np.unique(parents[labels >= 0])
    exemplars[labels[roots]] = rows[roots]
    record = LevelRecord(
        1,
        1,
        n_nodes,
        0,
        len(rows),
        float(views.n_kept),
        views.agreement,
        float(views.stability.mean()),
        seconds,
        0.0,
        perf_counter() - started,
        "all",
    )
    values = edges_of(graph, exemplars)
    return FittedState(
        clusters=FinalClusters(np.arange(found.n_clusters), exemplars, values, exemplars, values),
        choice=found.choice,
        rows=results,
        tree=Later.known(_tree_of(found, views, place, first_level)),
        column_means=None,
        landmarks=Landmarks(values[:0], np.empty(0, dtype=np.int64)),
        landmark_rows=np.empty(0, dtype=np.int64),
        batch_size=None,
        n_levels=1 + int(is_absorbed.any() and first_level),
        records=[record],
        feature_agreement=np.full(n_nodes, np.nan),
        summary=Later.known(None),
        reach=_reach_of(views, found, labels[place[views.groups]]),
        node_names=graph.names,
    )


def _tree_of(
    found: FoundClusters, views: ViewsOfGraph, place: IntArray, first_level: int
) -> MergeTree:
    """Return the merges of the groups that are not noise, in the order of their medoids."""
    n_clear = views.n_groups - views.n_noise
    if found.merges is None:
        return MergeTree(np.empty(0, dtype=np.int64), np.empty((0, 4)), first_level)
    leaves = np.sort(place[:n_clear])
    linkage = found.merges.linkage.copy()
    ends = linkage[:, :2].astype(np.int64)
    is_leaf = ends < n_clear
    ends[is_leaf] = np.searchsorted(leaves, place[ends[is_leaf]])
    linkage[:, :2] = np.sort(ends, axis=1)
    return MergeTree(leaves, linkage, first_level)


def _reach_of(views: ViewsOfGraph, found: FoundClusters, labels: IntArray) -> NodeReach | None:
    """Return how far new nodes may be from those of the fit; None if no density says so."""
    density = views.density
    if density is None:
        return None
    limits = np.zeros(found.n_clusters)
    clustered = np.flatnonzero((labels >= 0) & (density.labels >= 0))
    np.maximum.at(limits, labels[clustered], density.limits[density.labels[clustered]])
    return NodeReach(density.core, limits, density.rank)


def edges_of(graph: Graph, nodes: IntArray) -> Any:
    """Return what was given for the edges of some nodes, as a CSR array."""
    if graph.square is None:
        return graph.matrix[nodes]
    block = graph.square[nodes]
    rows, columns = np.nonzero(np.isfinite(block))
    return sparse.csr_array((block[rows, columns], (rows, columns)), shape=block.shape)


def score_centrality(graph: Graph, cluster: IntArray) -> FloatArray:
    """Return how central each node is in its cluster: the larger, the smaller is the sum of its
    distances to the others.

    A pair without an edge counts as far as the longest edge in the cluster.
    """
    n_clusters = int(cluster.max()) + 1
    scores = np.zeros(graph.n_nodes)
    longest = np.zeros(n_clusters)
    for is_second in (False, True):
        for one, two, distance in _edges_in(graph, cluster):
            if is_second:
                np.add.at(scores, one, longest[cluster[one]] - distance)
            else:
                np.maximum.at(longest, cluster[two], distance)
    return scores / (scores.max() or 1.0)


def _edges_in(graph: Graph, cluster: IntArray) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    """Yield blocks of the edges inside clusters, in both directions: both ends, and distances."""
    if graph.square is not None:
        yield from _edges_in_square(graph.square, cluster)
        return
    matrix = graph.distances
    for edges in blocks_of_edges(matrix):
        back = find_reverse(matrix, edges)
        distance = matrix.data[edges.part]
        distance = np.where(back >= 0, np.minimum(distance, matrix.data[back]), distance)
        is_inside = (cluster[edges.one] == cluster[edges.two]) & (edges.one != edges.two)
        yield edges.one[is_inside], edges.two[is_inside], distance[is_inside]
        is_alone = is_inside & (back < 0)  # the only one of this pair
        yield edges.two[is_alone], edges.one[is_alone], distance[is_alone]


def _edges_in_square(
    square: FloatArray, cluster: IntArray
) -> Iterator[tuple[IntArray, IntArray, FloatArray]]:
    for rows in _blocks_of_square(len(square)):
        own = np.arange(rows.start, rows.stop)
        inside = (cluster[own][:, None] == cluster) & np.isfinite(square[rows])
        inside[np.arange(len(own)), own] = False
        ones, two = np.nonzero(inside)
        yield own[ones], two, square[rows][ones, two]


def _blocks_of_square(n_nodes: int) -> Iterator[slice]:
    step = max(1, 2**21 // n_nodes)
    for start in range(0, n_nodes, step):
        yield slice(start, min(start + step, n_nodes))
