"""Which views held a feature, and how far they confirmed the groups."""

from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.get_clusters import (
    Views,
    WeightedBatch,
    label_view,
    mean_of_tally,
    tally_features,
)
from cohirf.rows.storage import ArrayRows


class Recorder(KMeans):
    seen: ClassVar[list] = []

    def fit(self, X, y=None, sample_weight=None):
        self.seen.append(X[0].round().astype(int).tolist())
        return super().fit(X, y, sample_weight)


def of_batch(n_rows, of_view):
    """Return survivors of a single batch, as far as they are counted."""
    return SimpleNamespace(batch_sizes=np.array([n_rows]), view_stability=of_view[None])


def test_it_knows_which_features_a_view_held():
    views = Views(BaseMethod.of(Recorder(2)), 3, 4, (7,))
    X = np.random.default_rng(0).random((20, 10))
    X[0] = np.arange(10)  # so that a view shows which features it has
    Recorder.seen.clear()
    for view in range(3):
        label_view(WeightedBatch(ArrayRows(X)), views, (2, 5, view))
    tally = mean_of_tally(tally_features(views, 10, 2, of_batch(20, np.array([0.2, 0.5, 0.9])), 5))
    held = np.array([[feature in features for feature in range(10)] for features in Recorder.seen])
    with np.errstate(invalid="ignore"):
        expected = (held * [[0.2], [0.5], [0.9]]).sum(axis=0) / held.sum(axis=0)
    assert tally == pytest.approx(expected, nan_ok=True)
    assert np.isnan(tally).sum() == (~held.any(axis=0)).sum() > 0


def test_batches_count_by_their_rows():
    views = Views(BaseMethod.of(KMeans(2)), 1, 3, (7,))
    first = tally_features(views, 3, 1, of_batch(30, np.array([1.0])), 0)
    second = tally_features(views, 3, 1, of_batch(10, np.array([0.2])), 1)
    assert mean_of_tally(first + second) == pytest.approx([0.8, 0.8, 0.8])


def test_all_batches_of_a_level_are_counted():
    views = Views(BaseMethod.of(KMeans(2)), 2, 2, (7,))
    one_by_one = np.zeros((2, 5))
    for number, (n_rows, of_view) in enumerate([(30, [0.5, 1.0]), (10, [0.2, 0.4])]):
        one_by_one += tally_features(views, 5, 4, of_batch(n_rows, np.array(of_view)), number)
    survivors = SimpleNamespace(
        batch_sizes=np.array([30, 10]), view_stability=np.array([[0.5, 1.0], [0.2, 0.4]])
    )
    assert tally_features(views, 5, 4, survivors) == pytest.approx(one_by_one)
