"""In one batch, labels are those of scikit-learn's HDBSCAN, also where edges have equal weights."""

import numpy as np
import pytest
from sklearn.cluster import HDBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.algorithm.storage import MemoryStorage
from cohirf.spanning.batch_edges import find_edges
from cohirf.spanning.label_runs import label_runs
from cohirf.spanning.replay import order_as_sklearn
from cohirf.spanning.settings import settings_of
from cohirf.spanning.spanned_run import SpannedRun


def label_in_one_batch(X, settings):
    core, edges = find_edges(X, settings.min_samples, as_sklearn=True)
    run = SpannedRun(np.arange(len(X)), core, edges.one, edges.two, edges.lengths, np.array([len(X)]))
    return label_runs([run], len(X), len(X), X.__getitem__, settings, MemoryStorage(), order_as_sklearn)


def in_order(labels):
    """Number clusters in the order of their first rows."""
    clusters, first = np.unique(labels[labels >= 0], return_index=True)
    numbers = dict(zip(clusters[np.argsort(first)].tolist(), range(len(clusters)), strict=True))
    return [numbers.get(label, -1) for label in labels.tolist()]


@pytest.mark.parametrize("min_samples", [1, 2, 5, 15])
@pytest.mark.parametrize("min_cluster_size", [2, 5, 19])
def test_labels_are_those_of_scikit_learn_whatever_the_order_of_rows(min_cluster_size, min_samples):
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X = make_blobs(150, 2 + seed % 4, centers=4, cluster_std=2.0, random_state=seed)[0]
        X[:40] = rng.uniform(X.min(axis=0), X.max(axis=0), (40, X.shape[1]))
        X = X[rng.permutation(150)]
        method = HDBSCAN(
            min_cluster_size, min_samples=min_samples, cluster_selection_method=["eom", "leaf"][seed % 2], copy=True
        )
        assert label_in_one_batch(X, settings_of(method)).tolist() == in_order(method.fit_predict(X))


def test_with_many_neighbours_the_labels_do_not_depend_on_the_order_of_rows(monkeypatch):
    X = make_blobs(150, 2, centers=3, cluster_std=0.5, random_state=0)[0]
    order = np.random.default_rng(0).permutation(150)

    def fit(X):
        return CoHiRF(HDBSCAN(copy=True), batch_size=100).fit(X)

    monkeypatch.setattr("cohirf.fitting.spanning_labels.MAX_NEIGHBOURS", 0)
    model = fit(X)
    assert model.diagnostics_[0].kind == "spanning"
    assert in_order(model.labels_[order]) == in_order(fit(X[order]).labels_)
