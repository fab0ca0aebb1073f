"""New nodes get their cluster by their edges to the nodes of the fit."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import pairwise_distances
from sklearn.neighbors import NearestNeighbors

from cohirf import CoHiRF

X, Y = make_blobs(330, centers=3, cluster_std=0.7, random_state=1)
OLD, NEW = X[:300], X[300:]
SEARCH = NearestNeighbors(n_neighbors=12).fit(OLD)
GRAPH = SEARCH.kneighbors_graph(mode="distance")


def fit(estimator: Any = None, **options: Any) -> Any:
    return CoHiRF(estimator, metric="precomputed", **options).fit(GRAPH)


def test_new_nodes_join_the_cluster_of_their_neighbours_in_any_form() -> None:
    model = fit(n_clusters=3)
    expected = [np.bincount(model.labels_[Y[:300] == kind]).argmax() for kind in Y[300:].tolist()]
    distances, indices = SEARCH.kneighbors(NEW)
    for edges in (
        SEARCH.kneighbors_graph(NEW, mode="distance"),
        (indices, distances),
        pairwise_distances(NEW, OLD),
    ):
        assert np.array_equal(model.predict(edges), expected)


def test_the_nodes_of_the_fit_have_their_own_clusters() -> None:
    square = pairwise_distances(OLD)
    for estimator in (None, DBSCAN(eps=0.4), HDBSCAN(min_cluster_size=10, copy=True)):
        model = CoHiRF(estimator, metric="precomputed", n_clusters=None).fit(square)
        assert np.array_equal(model.predict(square), model.labels_)


@pytest.mark.filterwarnings("ignore:Precomputed sparse input")
def test_dbscan_takes_new_nodes_within_eps_of_a_core_node() -> None:
    pytest.importorskip("numba")
    model = fit(DBSCAN(eps=0.4, min_samples=4))
    core = DBSCAN(eps=0.4, min_samples=4, metric="precomputed").fit(GRAPH).core_sample_indices_
    distances = pairwise_distances(NEW, OLD)
    nearest = core[distances[:, core].argmin(axis=1)]
    near = distances[np.arange(len(NEW)), nearest] <= 0.4
    assert 0 < near.sum() < len(NEW)
    assert np.array_equal(model.predict(distances), np.where(near, model.labels_[nearest], -1))


def test_hdbscan_takes_new_nodes_as_it_takes_new_points() -> None:
    """With all distances, as ``hdbscan_`` does for points, which looks at as many neighbours."""
    pytest.importorskip("numba")
    method = HDBSCAN(min_cluster_size=15, copy=True)
    of_points = CoHiRF(method).fit(OLD)
    full = pairwise_distances(OLD)
    stored = sparse.csr_array(full + np.eye(len(OLD)))
    stored.setdiag(0)
    of_graph = CoHiRF(method, metric="precomputed").fit(stored)
    assert np.array_equal(of_points.labels_, of_graph.labels_)
    spread = np.random.default_rng(0).uniform(X.min(0) - 1, X.max(0) + 1, (200, 2))
    found = of_graph.predict(pairwise_distances(spread, OLD))
    assert 0 < (found < 0).mean() < 1
    assert (found == of_points.predict(spread)).mean() > 0.98


def test_without_neighbours_a_new_node_is_noise() -> None:
    alone = sparse.csr_array((2, 300))
    for model in (fit(n_clusters=3), fit(HDBSCAN(min_cluster_size=10, copy=True))):
        assert model.predict(alone).tolist() == [-1, -1]


def test_membership_is_the_share_of_the_votes() -> None:
    model = fit(n_clusters=3)
    edges = (np.array([[0, 1, 2]]), np.array([[1.0, 2.0, 4.0]]))
    votes = np.bincount(model.labels_[:3], weights=[1, 1 / 2, 1 / 3], minlength=3)
    assert model.membership(edges)[0] == pytest.approx(votes / votes.sum())
    degrees = model.membership(SEARCH.kneighbors_graph(NEW, mode="distance"))
    assert np.array_equal(
        degrees.argmax(axis=1), model.predict(SEARCH.kneighbors_graph(NEW, mode="distance"))
    )
    assert degrees.sum(axis=1) == pytest.approx(1)


def test_a_node_without_votes_has_the_shares_of_the_clusters() -> None:
    model = fit(n_clusters=3)
    shares = np.bincount(model.labels_) / 300
    assert model.membership(sparse.csr_array((1, 300)))[0] == pytest.approx(shares)


def test_many_clusters_have_sparse_degrees() -> None:
    degrees = fit(n_clusters=120).membership(GRAPH)
    assert sparse.issparse(degrees)
    assert np.asarray(degrees.sum(axis=1)) == pytest.approx(1)


def test_transform_has_the_distances_to_medoids_and_infinity_without_an_edge() -> None:
    model = fit(n_clusters=3)
    distances = pairwise_distances(NEW, OLD)
    assert model.transform(distances) == pytest.approx(distances[:, model.medoid_indices_])
    assert np.isinf(model.transform(sparse.csr_array((1, 300)))).all()


@pytest.mark.parametrize("edges", [np.ones((2, 299)), sparse.csr_array((2, 301))])
def test_edges_to_other_nodes_than_those_of_the_fit_are_refused(edges: Any) -> None:
    with pytest.raises(ValueError, match="had 300 nodes"):
        fit(n_clusters=3).predict(edges)
