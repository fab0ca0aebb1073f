"""Partition of graphs with known parts."""

import numpy as np
import pytest
from scipy.sparse.linalg import eigsh
from sklearn.metrics import adjusted_rand_score

from cohirf.clusterers.spectral import embed_graph, partition_graph


def graph(sizes, between):
    y = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(0).uniform(0.5, 1, (len(y), len(y)))
    return np.where(y[:, None] == y, 1, between) * (noise + noise.T), y


def normalise(affinity):
    root = np.sqrt(affinity.sum(axis=1))
    return affinity / root[:, None] / root


@pytest.mark.parametrize("n", [20, 500])
@pytest.mark.parametrize("between", [0, 0.1])
def test_parts_of_different_size_are_found(n, between):
    affinity, y = graph([n, n // 2, n // 4], between)
    assert adjusted_rand_score(y, partition_graph(affinity, 3, np.random.RandomState(0))) == 1


def test_leading_vectors_are_found_where_more_eigenvalues_are_almost_one():
    """Twenty parts that hardly touch: asked for three of them, an iteration would go on for minutes."""
    affinity, _ = graph([70] * 20, 1e-7)
    embedding = embed_graph(affinity, 3)
    by_iteration = eigsh(normalise(affinity), 25, which="LA", v0=np.ones(1400))
    assert (by_iteration[0] > 0.9999).sum() == 20
    expected = by_iteration[1][:, -3:]
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(embedding @ embedding.T), np.abs(expected @ expected.T), atol=1e-3)


def test_rows_that_are_all_alike_to_the_graph_are_labelled_without_a_warning():
    labels = partition_graph(np.ones((6, 6)), 3, np.random.RandomState(0))
    assert labels.shape == (6,)
    assert labels.max() < 3
