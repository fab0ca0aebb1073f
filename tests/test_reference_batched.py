"""The estimator gives what a literal transcription of the batched algorithm gives."""

import warnings
from itertools import product

import numpy as np
import pytest
from hypothesis import HealthCheck, given, reject, settings
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF, ThinBatchesWarning, open_source
from reference import TieError
from reference_batched import cohirf_batched


class MassBins(ClusterMixin, BaseEstimator):
    """Cuts the rows, in their order along a random direction, into bins of about equal mass."""

    def __init__(self, n_clusters=3, noise=False, random_state=None):
        self.n_clusters = n_clusters
        self.noise = noise
        self.random_state = random_state

    def fit(self, X, y=None, sample_weight=None):
        direction = np.random.RandomState(self.random_state).randint(-2, 3, X.shape[1])
        order = np.argsort(np.round(X @ direction, 6), kind="stable")
        mass = np.cumsum(np.ones(len(X)) if sample_weight is None else sample_weight[order])
        self.labels_ = np.empty(len(X), dtype=int)
        self.labels_[order] = np.ceil(mass / mass[-1] * self.n_clusters) - 1
        if self.noise:
            self.labels_[order[0]] = -1
        return self


class Cells(ClusterMixin, BaseEstimator):
    """Puts rows of the same cell of a grid together."""

    def __init__(self, width=1.0):
        self.width = width

    def fit(self, X, y=None):
        self.labels_ = np.unique(np.floor(X / self.width), axis=0, return_inverse=True)[1].ravel()
        return self


def points(n, p=3, seed=0):
    """Rows around a few centres, in multiples of 1/8: sums are exact, so ties are real ties."""
    rng = np.random.default_rng(seed)
    centres = rng.integers(-4, 5, (4, p))
    return np.round(8 * (centres[rng.integers(4, size=n)] + rng.normal(0, 0.5, (n, p)))) / 8


def quarters(n, seed=0, lightest=1):
    """Sample weights from 1/4, or 0, to 3, whose sums are exact."""
    return np.random.default_rng(seed).integers(lightest, 13, n) / 4


def assert_same_as_reference(X, base, *, in_order=False, sample_weight=None, **options):
    """Compare all results of a fit with those of the reference, which is returned; warnings are returned, too."""
    options = {"n_views": 3, "max_features": 0.7, "random_state": 0} | options
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model = CoHiRF(base, **options).fit(open_source(X) if in_order else X, sample_weight=sample_weight)
    messages = [str(warning.message) for warning in caught if issubclass(warning.category, ConvergenceWarning)]
    if any(message.endswith("The fit stops here.") for message in messages):  # not part of the algorithm
        options["max_iter"] = 1
    expected = cohirf_batched(X, base, in_order=in_order, sample_weight=sample_weight, **options)
    assert model.parents_.tolist() == expected.parents
    assert model.hierarchy_.parents.tolist() == expected.parents
    assert model.hierarchy_.absorbed_at.tolist() == expected.absorbed_at
    assert model.labels_.tolist() == expected.labels
    assert model.medoid_indices_.tolist() == expected.medoids
    assert (model.medoids_ == X[expected.medoids]).all()
    assert model.n_iter_ == len(expected.levels)
    for record, level in zip(model.diagnostics_, expected.levels, strict=True):
        assert {name: getattr(record, name) for name in vars(level)} == vars(level)
    np.testing.assert_allclose(model.stability_, expected.stability, rtol=1e-6)
    return expected, messages


BASES = {
    "kmeans": (KMeans(3, n_init=1), {}),
    "dbscan": (DBSCAN(eps=1.5, min_samples=2), {}),
    "cells": (Cells(2.0), {"max_features": 2}),
    "bins": (MassBins(4, noise=True), {}),
}
CONSENSUS = {
    "strict": {},
    "relaxed": {"consensus": "relaxed", "agreement_threshold": 0.7},
    "majority": {"consensus": "majority", "majority": 0.6, "n_views": 2},
}
IN_ORDER = pytest.mark.parametrize("in_order", [False, True], ids=["array", "source"])


@IN_ORDER
@pytest.mark.parametrize("consensus", CONSENSUS)
@pytest.mark.parametrize("base", BASES)
def test_several_levels_of_batches(base, consensus, in_order):
    base, options = BASES[base]
    fit, _ = assert_same_as_reference(
        points(120), base, in_order=in_order, batch_size=15, **options, **CONSENSUS[consensus]
    )
    assert [level.n_batches for level in fit.levels][:1] == [7]
    assert len(fit.levels) > 2
