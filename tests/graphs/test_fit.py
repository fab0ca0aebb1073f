"""A fit of a graph: clusters, hierarchy, exemplars, and what is refused."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score, pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

import cohirf
from cohirf import CoHiRF
from cohirf.graphs import merging
from cohirf.graphs.graph import open_graph
from cohirf.graphs.policy import NUMBER

N_CLUSTERS = 4
X, Y = make_blobs(240, centers=N_CLUSTERS, cluster_std=0.6, random_state=3)
GRAPH = kneighbors_graph(X, 12, mode="distance")
DISTANCES = pairwise_distances(X)
PAIR = NearestNeighbors(n_neighbors=13).fit(X).kneighbors()[::-1]


def fit(
    data: Any = GRAPH, estimator: Any = None, metric: str = "precomputed", **options: Any
) -> Any:
    return CoHiRF(estimator, metric=metric, random_state=0, **options).fit(data)


@pytest.mark.parametrize("data", [GRAPH, GRAPH.tocoo(), DISTANCES, PAIR], ids=str.__class__)
@pytest.mark.parametrize("n_clusters", [N_CLUSTERS, None])
def test_any_form_of_a_graph_has_the_clusters_of_the_points(data: Any, n_clusters: Any) -> None:
    model = fit(data, n_clusters=n_clusters)
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    assert model.n_clusters_ == N_CLUSTERS
    assert model.n_features_in_ == len(X)


def test_similarities_merge_as_distances_do() -> None:
    similar = GRAPH.copy()
    similar.data = np.exp(-similar.data)
    model = fit(similar, metric="affinity", n_clusters=N_CLUSTERS)
    assert adjusted_rand_score(Y, model.labels_) > 0.95


@pytest.mark.parametrize("gamma", [0.5, 1.0, 3.0])
def test_kernels_with_values_that_float32_does_not_have_are_graphs(gamma: float) -> None:
    kernel = rbf_kernel(X, gamma=gamma)
    assert kernel.astype(np.float32).min() == 0
    model = fit(kernel, metric="affinity", n_clusters=N_CLUSTERS)
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    assert np.array_equal(model.labels_[model.exemplar_indices_], model.cluster_numbers_)


@pytest.mark.parametrize("scale", [1e200, 1e-200])
def test_the_scale_of_similarities_changes_nothing(scale: float) -> None:
    similar = GRAPH.copy()
    similar.data = np.exp(-similar.data)
    model = fit(similar, metric="affinity", n_clusters=N_CLUSTERS)
    scaled = fit(similar * scale, metric="affinity", n_clusters=N_CLUSTERS)
    assert np.array_equal(scaled.labels_, model.labels_)
    assert np.array_equal(scaled.predict(similar * scale), model.predict(similar))
    assert scaled.membership(similar * scale) == pytest.approx(model.membership(similar))


def test_random_shares_of_the_edges_are_views() -> None:
    model = fit(n_clusters=N_CLUSTERS, max_features=0.5, views=4)
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    assert 0 < model.diagnostics_[0].agreement < 1
    assert 0.3 < model.stability_.mean() < 1
    assert np.array_equal(model.labels_, clone(model).fit(GRAPH).labels_)


def test_a_tree_merges_the_nodes_of_a_graph_and_is_cut_at_any_number() -> None:
    model = fit(n_clusters=N_CLUSTERS)
    hierarchy = model.hierarchy_
    assert np.array_equal(hierarchy.cut(n_clusters=N_CLUSTERS), model.labels_)
    for n_clusters in (1, 2, 7, 60):
        assert len(np.unique(hierarchy.cut(n_clusters=n_clusters))) == n_clusters


def test_a_large_graph_is_coarsened_and_has_the_clusters_of_its_tree(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from cohirf.graphs import fit as module
    from cohirf.graphs.merging import group_nodes

    exact = fit(n_clusters=N_CLUSTERS)
    monkeypatch.setattr(module, "group_nodes", lambda halves: group_nodes(halves, most=60))
    coarse = fit(n_clusters=N_CLUSTERS)
    assert 15 <= coarse.hierarchy_.cluster_counts()[1] <= 60
    assert adjusted_rand_score(exact.labels_, coarse.labels_) == 1


@pytest.mark.parametrize("data", [GRAPH, DISTANCES], ids=["sparse", "dense"])
def test_the_exemplar_has_the_smallest_sum_of_distances_in_its_cluster(data: Any) -> None:
    model = fit(data, n_clusters=N_CLUSTERS)
    D = np.full(DISTANCES.shape, np.inf)
    if sparse.issparse(data):
        both = data.maximum(data.T).tocoo()
        D[both.row, both.col] = both.data
    else:
        D = data.copy()
    for cluster, exemplar in enumerate(model.exemplar_indices_.tolist()):
        members = np.flatnonzero(model.labels_ == cluster)
        inside = D[np.ix_(members, members)]
        np.fill_diagonal(inside, 0)
        far = inside[np.isfinite(inside)].max()
        sums = np.where(np.isfinite(inside), inside, far).sum(axis=1)
        place = members.tolist().index(exemplar)
        assert sums[place] == pytest.approx(sums.min())


@pytest.mark.parametrize(
    "estimator",
    [
        SpectralClustering(N_CLUSTERS, affinity="precomputed"),
        SpectralClustering(N_CLUSTERS),
        SpectralClustering(N_CLUSTERS, affinity="precomputed_nearest_neighbors", n_neighbors=8),
    ],
)
@pytest.mark.filterwarnings("ignore:Graph is not fully connected")
@pytest.mark.filterwarnings("ignore:Precomputed sparse input")
def test_a_base_method_gets_the_form_that_it_takes(estimator: Any) -> None:
    model = fit(estimator=estimator, views=2)
    assert adjusted_rand_score(Y, model.labels_) > 0.95


def test_a_base_method_for_dense_distances_runs_on_them() -> None:
    model = fit(DISTANCES, AgglomerativeClustering(N_CLUSTERS, linkage="average"))
    assert adjusted_rand_score(Y, model.labels_) > 0.95


class Parts:
    """A method without parameters, which gets the matrix in both directions."""

    def fit_predict(self, G: Any) -> Any:
        assert abs(G - G.T).max() == 0
        return sparse.csgraph.connected_components(G, directed=False)[1]


def test_a_method_without_parameters_gets_the_matrix() -> None:
    far = sparse.block_diag([GRAPH, GRAPH], format="csr")
    model = fit(far, Parts())
    assert len(np.unique(model.labels_[: len(X)])) == model.n_clusters_ / 2


def test_a_method_with_another_metric_is_refused() -> None:
    with pytest.raises(ValueError, match="metric='manhattan', but the data are a graph"):
        fit(estimator=DBSCAN(metric="manhattan"))


def test_parts_without_an_edge_are_never_merged_below_the_top() -> None:
    three = sparse.block_diag([GRAPH, GRAPH, GRAPH], format="csr")
    n_parts = sparse.csgraph.connected_components(three, directed=False)[0]
    with pytest.warns(ConvergenceWarning, match=f"has {n_parts} parts without an edge"):
        model = fit(three, n_clusters=2)
    assert model.n_clusters_ == n_parts


def test_nodes_without_edges_are_noise() -> None:
    alone = sparse.block_diag([GRAPH, sparse.csr_array((2, 2))], format="csr")
    model = fit(alone, n_clusters=N_CLUSTERS)
    assert model.labels_[-2:].tolist() == [-1, -1]
    assert np.array_equal(model.labels_[:-2], fit(n_clusters=N_CLUSTERS).labels_)


def test_small_clusters_are_noise_if_that_is_asked_for() -> None:
    pair = sparse.csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    beside = sparse.block_diag([GRAPH, pair], format="csr")
    n_parts = sparse.csgraph.connected_components(GRAPH, directed=False)[0]
    model = fit(beside, n_clusters=max(5, n_parts + 1), min_cluster_size=5)
    assert model.labels_[-2:].tolist() == [-1, -1]


MODELS = {
    "default": CoHiRF(n_clusters=N_CLUSTERS, metric="precomputed"),
    "chosen": CoHiRF(metric="precomputed"),
    "views": CoHiRF(metric="precomputed", max_features=0.6, n_clusters=N_CLUSTERS, random_state=0),
    "DBSCAN": CoHiRF(DBSCAN(eps=0.5), metric="precomputed"),
    "HDBSCAN": CoHiRF(HDBSCAN(min_cluster_size=9, copy=True), metric="precomputed"),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_model_of_a_graph_is_saved_pickled_and_cloned(name: str, tmp_path: Path) -> None:
    if name in ("DBSCAN", "HDBSCAN"):
        pytest.importorskip("numba")
    model = clone(MODELS[name]).fit(GRAPH)
    model.save(tmp_path / "graph.cohirf")
    for again in (cohirf.load(tmp_path / "graph.cohirf"), pickle.loads(pickle.dumps(model))):
        assert again.hierarchy_ == model.hierarchy_
        for attribute in ("labels_", "stability_", "parents_", "exemplar_indices_"):
            assert np.array_equal(getattr(again, attribute), getattr(model, attribute))
        assert np.array_equal(again.predict(GRAPH[:50]), model.predict(GRAPH[:50]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"merge": "compact"}, "have no means"),
        ({"medoid": "rbf"}, "smallest sum of distances"),
        ({"n_clusters": "levels"}, "hardly an edge"),
        ({"batch_size": 100}, "batch_size does not work"),
        ({"batches": "local"}, "batches does not work"),
        ({"max_features": 3}, "share of the edges"),
        ({"views": [(KMeans(2), [0])]}, "no columns"),
    ],
)
def test_what_has_no_meaning_on_a_graph_is_refused(options: Any, message: str) -> None:
    with pytest.raises((ValueError, TypeError), match=message):
        fit(**options)


def test_weights_of_nodes_are_refused() -> None:
    with pytest.raises(ValueError, match="sample_weight does not work"):
        CoHiRF(metric="precomputed").fit(GRAPH, sample_weight=np.ones(len(X)))


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("partial_fit", (GRAPH,)),
        ("forget", ([0],)),
        ("recluster", ()),
        ("drift", (GRAPH,)),
        ("score_outliers", (GRAPH,)),
        ("diagnose", ()),
        ("summary", ()),
        ("name_clusters", ()),
        ("explain", (0,)),
    ],
)
def test_verbs_that_need_features_say_so(verb: str, arguments: Any) -> None:
    model = fit(n_clusters=N_CLUSTERS)
    with pytest.raises(TypeError, match="metric='precomputed'"):
        getattr(model, verb)(*arguments)


def test_clusters_of_nodes_are_described_by_a_table_of_them() -> None:
    table = fit(n_clusters=N_CLUSTERS).summary(X, feature_names=["east", "north"])
    assert table["size"].sum() == len(X)
    assert table["name"].str.contains("east|north").all()


# ---- bad input

BAD = {
    "not square": (np.ones((3, 4)), "square"),
    "one dimension": (np.ones(5), "shape"),
    "NaN": (np.array([[0, np.nan], [np.nan, 0]]), "NaN"),
    "negative": (np.array([[0.0, -1], [-1, 0]]), "below 0"),
    "text": (np.array([["a", "b"], ["c", "d"]]), "numbers"),
    "no edges": (sparse.csr_array((5, 5)), "no edge"),
    "self loops only": (sparse.csr_array(np.eye(5)), "no edge"),
    "one node": (np.zeros((1, 1)), "at least 2"),
    "sparse and not square": (sparse.csr_array(np.ones((3, 4))), "square"),
    "index out of range": ((np.array([[1], [2]]), np.ones((2, 1))), "from 0 to 1"),
    "index below -1": ((np.array([[1], [-2]]), np.ones((2, 1))), "-1 for no neighbour"),
    "three arrays": ((PAIR[0], PAIR[1], PAIR[1]), r"\(indices, distances\)"),
    "other order": ((PAIR[1], PAIR[0]), "integers first"),
    "other shapes": ((PAIR[0], PAIR[1][:, 1:]), "a distance for each"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_graph_is_refused_with_a_reason(name: str) -> None:
    data, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        CoHiRF(metric="precomputed").fit(data)


def test_infinite_similarities_are_refused() -> None:
    with pytest.raises(ValueError, match="infinite similarities"):
        CoHiRF(metric="affinity").fit(np.array([[0, np.inf], [np.inf, 0]]))


def edges(graph: Any) -> Any:
    return {
        (int(row), int(column)): float(value)
        for row, column, value in zip(*sparse.find(graph.weights), strict=True)
    }


def test_edges_given_twice_or_in_one_direction_count_once() -> None:
    plain = sparse.coo_array(([1.0, 2.0, 3.0], ([0, 1, 2], [1, 2, 0])), shape=(3, 3))
    twice = sparse.coo_array(([1.0, 2.0, 3.0, 9.0], ([0, 1, 2, 0], [1, 2, 0, 1])), shape=(3, 3))
    pair = (
        np.array([[1, 1, -1], [2, 1, -1], [0, 2, -1]]),
        np.array([[1.0, 5, 0], [2, 0, -1], [3, 0, 7]]),
    )
    expected = edges(open_graph(plain, "precomputed"))
    assert len(expected) == 6
    for graph in (twice, pair):
        assert edges(open_graph(graph, "precomputed")) == expected


def test_a_group_that_only_noise_is_near_does_not_decide_the_number() -> None:
    rng = np.random.default_rng(0)
    graph = sparse.random_array((700, 700), density=1 / 700, rng=rng).tocsr()
    model = CoHiRF(metric="affinity", max_features=0.5, random_state=0).fit(graph)
    assert np.isfinite(model.choice_.figures).all()
    assert model.n_clusters_ > 5  # it has many parts


def test_infinite_distances_are_no_edges() -> None:
    graph = open_graph(np.array([[0, 1, np.inf], [1, 0, 2], [np.inf, 2, 0.0]]), "precomputed")
    assert sorted(edges(graph)) == [(0, 1), (1, 0), (1, 2), (2, 1)]


def test_a_distance_of_zero_that_is_stored_is_an_edge() -> None:
    stored = sparse.csr_array(([0.0, 1.0], ([0, 1], [1, 2])), shape=(3, 3))
    assert len(edges(open_graph(stored, "precomputed"))) == 4


def test_the_data_of_the_user_stay_as_they_are() -> None:
    graph = GRAPH.copy()
    fit(graph, HDBSCAN(min_cluster_size=9, copy=True))
    fit(graph, n_clusters=N_CLUSTERS)
    assert (graph != GRAPH).nnz == 0
    square = DISTANCES.copy()
    fit(square, HDBSCAN(min_cluster_size=9))
    assert np.array_equal(square, DISTANCES)


@pytest.mark.parametrize(
    ("differs", "n_splits"), [(False, NUMBER.splits), (True, NUMBER.most_splits)]
)
def test_edges_are_split_until_one_number_leads(
    differs: bool, n_splits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    splits = []

    def compare(_halves: Any, numbers: list[int], _mass: Any) -> NDArray[np.float64]:
        splits.append(numbers)
        agreement = np.zeros(len(numbers))
        if differs:
            agreement[len(splits) % 2] = 10
        return agreement

    monkeypatch.setattr(merging, "compare_halves", compare)
    fit()
    assert len(splits) == n_splits
