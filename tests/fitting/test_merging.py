"""Tests of the division of rows into cells, which are merged to the number of clusters that is
asked for.
"""

import numpy as np
import pytest
from scipy import sparse
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import normalize

from cohirf import CoHiRF
from cohirf.beyond.merge_tree import Groups
from cohirf.fitting.merging import SampleOfFit, divide_by_means


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_medoid_of_a_cell_is_the_candidate_nearest_to_its_centre(container):
    values = np.array([[-1.0], [0.2], [3.0], [9.0], [10.5], [12.0]])
    groups = Groups(container(np.array([[0.0], [10.0]])), np.ones(2))
    division = divide_by_means(
        groups, SampleOfFit(np.arange(6) + 40, container(values), np.arange(6), np.ones(6)), 2
    )
    assert division.rows.tolist() == [41, 44]
    assert division.mass.tolist() == [3, 3]


class TestHubs:
    """A hub is among the neighbours of most points."""

    @staticmethod
    def texts_and_empty_ones(n_empty):
        rng = np.random.default_rng(0)
        topic = rng.integers(0, 5, 1000)
        words = topic[:, None] * 60 + rng.integers(0, 60, (1000, 6))
        X = sparse.csr_array((np.ones(6000), (np.repeat(np.arange(1000), 6), words.ravel())))
        X = normalize(X).tolil()
        X[:n_empty] = 0
        return X.tocsr(), topic

    def test_empty_texts_do_not_draw_all_others_into_one_cluster(self):
        for n_empty in (0, 20):
            X, topic = self.texts_and_empty_ones(n_empty)
            labels = CoHiRF(n_clusters=5, random_state=0).fit_predict(X)
            assert adjusted_rand_score(topic[n_empty:], labels[n_empty:]) > 0.9

    def test_hubs_are_left_out_of_the_sample(self):
        X, _ = self.texts_and_empty_ones(20)
        sample = SampleOfFit(np.arange(1000), X, np.arange(1000), np.ones(1000))
        for n_clusters in (None, 5):
            assert sample.without_hubs(n_clusters).rows.tolist() == list(range(20, 1000))

    def test_a_hub_as_heavy_as_a_cluster_stays(self):
        X, _ = self.texts_and_empty_ones(20)
        sample = SampleOfFit(np.arange(1000), X, np.arange(1000), np.ones(1000))
        assert sample.without_hubs(50) is sample  # of 20 rows each

    def test_a_sample_without_hubs_stays(self):
        for X in (np.zeros((1, 2)), np.arange(12.0)[:, None], np.eye(300)):
            sample = SampleOfFit(np.arange(len(X)), X, np.arange(len(X)), np.ones(len(X)))
            assert sample.without_hubs(None) is sample
