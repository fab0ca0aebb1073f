"""Heat maps: which features are shown, and in which order."""

import numpy as np

from cohirf.description import arrange_heatmap, read_table


def test_similar_clusters_and_similar_features_are_neighbours():
    rng = np.random.default_rng(0)
    centres = np.array([[9, 9, 0, 0], [0, 0, 9, 9], [9, 8, 0, 1], [0, 1, 9, 8]])[:, [0, 2, 1, 3]]
    labels = np.repeat(np.arange(4), 50)
    X = centres[labels] + rng.normal(size=(200, 4)) * 0.1
    heatmap = arrange_heatmap(read_table(X, np.arange(200)), labels, np.arange(4))
    assert {frozenset(heatmap.clusters[:2].tolist()), frozenset(heatmap.clusters[2:].tolist())} == {
        frozenset({0, 2}),
        frozenset({1, 3}),
    }
    names = [feature.name for feature in heatmap.features]
    assert {frozenset(names[:2]), frozenset(names[2:])} == {
        frozenset({"feature 0", "feature 2"}),
        frozenset({"feature 1", "feature 3"}),
    }
    np.testing.assert_allclose(heatmap.mean[0, 0], X[labels == heatmap.clusters[0], int(names[0][-1])].mean())


def test_features_without_effect_are_left_out():
    X = np.column_stack([np.repeat([0.0, 1.5], 5), np.full(10, 7.0)])
    heatmap = arrange_heatmap(read_table(X, np.arange(10)), np.repeat([0, 1], 5), np.array([0, 1]))
    assert [feature.name for feature in heatmap.features] == ["feature 0"]


def test_nothing_is_arranged_without_clusters():
    heatmap = arrange_heatmap(read_table(np.ones((3, 2)), np.arange(3)), np.full(3, -1), np.empty(0, dtype=int))
    assert heatmap.features == []
