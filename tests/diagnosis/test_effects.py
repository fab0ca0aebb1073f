"""What sets clusters apart, against direct computation."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.diagnosis.effects import measure_effects, measure_spread, name_strongest


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)
    features = rng.normal(size=(200, 6)) + 1000 * (np.arange(6) == 2)
    features[:, 5] = 0.1  # never changes, though its variance is rounded to more than 0
    return features, rng.integers(0, 5, 200)


def direct_effect(features, labels, cluster):
    inside = labels == cluster
    difference = features[inside].mean(axis=0) - features[~inside].mean(axis=0)
    deviation = features.std(axis=0)
    return np.where(np.ptp(features, axis=0) > 0, difference / np.where(deviation > 0, deviation, 1), 0)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_effects_are_differences_of_means_in_standard_deviations(rows, container):
    features, labels = rows
    held = container(features)
    effects = measure_effects(held, measure_spread(held), labels, np.array([3, 0]))
    for place, cluster in enumerate([3, 0]):
        np.testing.assert_allclose(effects.effect[place], direct_effect(features, labels, cluster), atol=1e-9)
        np.testing.assert_allclose(effects.mean[place], features[labels == cluster].mean(axis=0))
        np.testing.assert_allclose(effects.mean_elsewhere[place], features[labels != cluster].mean(axis=0))
        assert effects.n_rows[place] == (labels == cluster).sum()


def test_the_strongest_features_come_first_and_constant_ones_never(rows):
    features, labels = rows
    effects = measure_effects(features, measure_spread(features), labels, np.arange(5))
    for place in range(5):
        order = effects.strongest(place, 10).tolist()
        assert 5 not in order
        strengths = np.abs(effects.effect[place, order])
        assert strengths.tolist() == sorted(strengths.tolist(), reverse=True)


def test_a_cluster_without_others_or_without_rows_has_no_effects(rows):
    features, _ = rows
    effects = measure_effects(features, measure_spread(features), np.zeros(200, dtype=int), np.array([0, 7]))
    assert (effects.effect == 0).all()
    assert effects.n_rows.tolist() == [200, 0]
    assert len(effects.strongest(0, 5)) == 0


def test_no_clusters_give_no_effects(rows):
    features, labels = rows
    effects = measure_effects(features, measure_spread(features), labels, np.empty(0, dtype=int))
    assert effects.effect.shape == (0, 6)


def test_features_are_named():
    features = np.array([[0.0, 5.0], [0.0, 6.0], [4.0, 5.0], [4.0, 6.0]])
    effects = measure_effects(features, measure_spread(features), np.array([0, 0, 1, 1]), np.array([1]))
    assert name_strongest(effects, 0, 5, ["length", "width"]) == [
        {"name": "length", "effect": 2.0, "mean": 4.0, "elsewhere": 0.0}
    ]
