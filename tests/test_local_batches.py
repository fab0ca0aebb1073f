"""Fits in local batches: where halos follow the radius, the result is that of the base method on all rows."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.base import clone
from sklearn.cluster import DBSCAN, AgglomerativeClustering
from sklearn.neighbors import NearestNeighbors

from cohirf import CoHiRF, open_source
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.local_batches import Locality, make_local_batches
from cohirf.algorithm.randomness import root_entropy
from cohirf.algorithm.reach import find_reach
from cohirf.algorithm.storage import ArrayRows, MemoryStorage
from cohirf.clusterers import GridDBSCAN

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # few clusters, or only noise


def in_local_batches(base, batch_size, **options):
    return CoHiRF(base, batches="local", batch_size=batch_size, random_state=0, **options)


def halos_follow_the_radius(base, X, batch_size, sample_weight=None):
    """Return whether the halos of a fit have all rows that the labels of its batches depend on."""
    index = None if sample_weight is None or sample_weight.all() else np.flatnonzero(sample_weight)
    active = ActiveRows(ArrayRows(X), index)
    locality = Locality(batch_size, 0.5, find_reach(base), root_entropy(0))
    return make_local_batches(active, locality, None, MemoryStorage()).is_exact


def number_by_first(labels):
    """Return labels numbered by their first row; -1 stays."""
    clustered = labels >= 0
    _, first, number = np.unique(labels[clustered], return_index=True, return_inverse=True)
    found = np.full(len(labels), -1)
    found[clustered] = np.argsort(np.argsort(first))[number]
    return found


def assert_clusters_of_dbscan(base, X, labels, sample_weight=None):
    """Assert that labels are those of DBSCAN on all rows, except that border rows may be in another cluster near by."""
    alone = clone(base).fit(X, sample_weight=sample_weight)
    core = alone.core_sample_indices_
    np.testing.assert_array_equal(labels == -1, alone.labels_ == -1)
    np.testing.assert_array_equal(number_by_first(labels[core]), number_by_first(alone.labels_[core]))
    border = np.setdiff1d(np.flatnonzero(alone.labels_ >= 0), core)
    if len(border):
        near = NearestNeighbors(radius=base.eps, metric=getattr(base, "metric", "euclidean")).fit(X[core])
        for row, neighbours in zip(border, near.radius_neighbors(X[border], return_distance=False), strict=True):
            assert labels[row] in labels[core[neighbours]]


# -- data sets -----------------------------------------------------------------------------------------------------


def make_blobs_of_different_density(rng, n_rows, n_features):
    centre, width = rng.normal(size=(4, n_features)), rng.uniform(0.02, 0.3, 4)
    blob = rng.integers(4, size=n_rows)
    return centre[blob] + rng.normal(size=(n_rows, n_features)) * width[blob, None]


def make_lines(rng, n_rows, n_features):
    ends = rng.normal(size=(3, 2, n_features))
    line, place = rng.integers(3, size=n_rows), rng.random((n_rows, 1))
    return ends[line, 0] + place * (ends[line, 1] - ends[line, 0]) + rng.normal(size=(n_rows, n_features)) * 0.01


def make_grid(rng, n_rows, n_features):
    n_steps = max(2, int(1.5 * n_rows ** (1 / n_features)))
    return rng.integers(n_steps, size=(n_rows, n_features)) / n_steps


def make_duplicates(rng, n_rows, n_features):
    return rng.normal(size=(max(1, n_rows // 10), n_features))[rng.integers(max(1, n_rows // 10), size=n_rows)]


def make_one_lump(rng, n_rows, n_features):
    X = rng.random((n_rows, n_features))
    X[: n_rows // 2] = 0.5 + rng.normal(size=(n_rows // 2, n_features)) * 1e-3
    return X


def make_uniform(rng, n_rows, n_features):
    return rng.random((n_rows, n_features))


KINDS = (make_blobs_of_different_density, make_lines, make_grid, make_duplicates, make_one_lump, make_uniform)


@st.composite
def data_sets(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    make = draw(st.sampled_from(KINDS))
    X = make(rng, draw(st.integers(10, 600)), draw(st.integers(1, 4)))
    if draw(st.booleans()):
        X = np.c_[X, np.full(len(X), 7.0)]  # a constant feature
    return X.astype(draw(st.sampled_from([np.float64, np.float32])))


@st.composite
def radii(draw, X):
    """Draw the distance of some row to one of its nearest neighbours, which is often the same for many rows."""
    k = min(draw(st.integers(1, 8)), len(X) - 1)
    distance = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0][:, -1]
    eps = float(np.quantile(distance, draw(st.sampled_from([0.1, 0.5, 0.9]))))
    return draw(st.sampled_from([1.0, 1.0, 0.5, 1.7])) * eps or 0.01


@given(st.data())
def test_dbscan_in_local_batches_is_dbscan(data):
    X = data.draw(data_sets())
    method = data.draw(st.sampled_from([DBSCAN, GridDBSCAN]))
    base = method(eps=data.draw(radii(X)), min_samples=data.draw(st.integers(1, 8)))
    weights = None
    if data.draw(st.booleans()):
        weights = np.random.default_rng(0).choice([0.5, 1.0, 1.0, 3.0], len(X))
    batch_size = data.draw(st.integers(2, max(2, len(X) // 2)))
    model = in_local_batches(base, batch_size)
    model.fit(open_source(X) if data.draw(st.booleans()) else X, sample_weight=weights)
    assert_is_a_partition(model)
    if halos_follow_the_radius(base, X, batch_size, weights):
        assert_clusters_of_dbscan(base, X, model.labels_, weights)


@given(st.data())
def test_single_linkage_in_local_batches_is_single_linkage(data):
    X = data.draw(data_sets())
    base = AgglomerativeClustering(None, linkage="single", distance_threshold=data.draw(radii(X)))
    batch_size = data.draw(st.integers(2, max(2, len(X) // 2)))
    model = in_local_batches(base, batch_size)
    model.fit(open_source(X) if data.draw(st.booleans()) else X)
    assert_is_a_partition(model)
    if halos_follow_the_radius(base, X, batch_size):
        np.testing.assert_array_equal(model.labels_, number_by_first(base.fit(X).labels_))


def assert_is_a_partition(model):
    labels = np.asarray(model.labels_)
    np.testing.assert_array_equal(np.unique(labels[labels >= 0]), np.arange(model.n_clusters_))
    np.testing.assert_array_equal(labels[model.medoid_indices_], np.arange(model.n_clusters_))
    np.testing.assert_array_equal(labels[model.exemplar_indices_], np.arange(model.n_clusters_))
