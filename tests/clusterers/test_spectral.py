"""Partition of graphs with known parts."""

import numpy as np
import pytest
from scipy.sparse.linalg import ArpackNoConvergence
from sklearn.metrics import adjusted_rand_score

from cohirf.clusterers import spectral
from cohirf.clusterers.spectral import DENSE_UP_TO, embed_graph, partition_graph


def graph(sizes, between):
    y = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.default_rng(0).uniform(0.5, 1, (len(y), len(y)))
    return np.where(y[:, None] == y, 1, between) * (noise + noise.T), y


@pytest.mark.parametrize("n", [20, DENSE_UP_TO])
@pytest.mark.parametrize("between", [0, 0.1])
def test_parts_of_different_size_are_found(n, between):
    affinity, y = graph([n, n // 2, n // 4], between)
    assert adjusted_rand_score(y, partition_graph(affinity, 3, np.random.RandomState(0))) == 1


def test_iteration_spans_the_same_space_as_the_full_decomposition(monkeypatch):
    affinity, _ = graph([280, 160, 80], 0.1)
    by_iteration = embed_graph(affinity, 3, np.random.RandomState(0))
    monkeypatch.setattr(spectral, "DENSE_UP_TO", 1000)
    in_full = embed_graph(affinity, 3, np.random.RandomState(0))
    np.testing.assert_allclose(by_iteration @ by_iteration.T, in_full @ in_full.T, atol=1e-6)


def test_full_decomposition_steps_in_where_the_iteration_does_not_converge(monkeypatch):
    def gives_up(*args, **kwargs):
        raise ArpackNoConvergence("no convergence", np.empty(0), np.empty((0, 0)))

    monkeypatch.setattr(spectral, "eigsh", gives_up)
    affinity, y = graph([300, 220], 0.1)
    assert adjusted_rand_score(y, partition_graph(affinity, 2, np.random.RandomState(0))) == 1


def test_rows_that_are_all_alike_to_the_graph_are_labelled_without_a_warning():
    labels = partition_graph(np.ones((6, 6)), 3, np.random.RandomState(0))
    assert labels.shape == (6,)
    assert labels.max() < 3
