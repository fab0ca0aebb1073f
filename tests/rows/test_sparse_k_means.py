"""K-Means of sparse rows, which are compared with the centres that have moved."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from cohirf.rows.containers import sparse_k_means
from cohirf.rows.containers.sparse_k_means import SparseKMeans
from cohirf.rows.policy import BLOCK


def of_topics(n_rows=600, n_features=80, n_topics=12, seed=0):
    """Rows whose cells are mostly of their topic, in an array."""
    rng = np.random.default_rng(seed)
    chances = rng.random((n_topics, n_features)) ** 6
    values = rng.random((n_rows, n_features)) + 0.1
    values[rng.random(values.shape) > chances[rng.integers(n_topics, size=n_rows)]] = 0
    return values


def k_means(X, centres, n_passes, mass):
    """K-Means of arrays in which each pass compares all rows with all centres."""
    centres = centres.copy()
    labels = None
    for _ in range(n_passes):
        before = labels
        labels = nearest(X, centres)
        if before is not None and (labels == before).all():
            break
        for label in np.unique(labels):
            own = labels == label
            if mass[own].sum() > 0:
                centres[label] = np.average(X[own], axis=0, weights=mass[own])
    return centres


def nearest(X, centres):
    return (((X[:, None] - centres) ** 2).sum(axis=2)).argmin(axis=1)


@pytest.mark.parametrize("n_passes", [1, 3, 30])
@pytest.mark.parametrize("seed", range(5))
def test_passes_are_those_with_all_centres(seed, n_passes, monkeypatch):
    monkeypatch.setitem(vars(BLOCK), "product_cells", 4000)  # several blocks
    X = of_topics(seed=seed)
    rng = np.random.default_rng(seed)
    mass = rng.random(len(X)) + 0.5
    centres = X[rng.choice(len(X), 40, replace=False)]
    found = SparseKMeans(sparse.csr_array(X), sparse.csr_array(centres)).run(mass, n_passes)
    expected = k_means(X, centres, n_passes, mass)
    assert_allclose(found.centres.toarray(), expected, atol=1e-12)
    assert_array_equal(found.assign(), nearest(X, expected))


def test_later_passes_compare_with_fewer_centres(monkeypatch):
    compared = []
    original = SparseKMeans._compare

    def compare(self, rows, some):
        compared.append(rows.shape[0] * self.centres[some].shape[0])
        return original(self, rows, some)

    monkeypatch.setattr(SparseKMeans, "_compare", compare)
    X = sparse.csr_array(of_topics())
    SparseKMeans(X, X[:40]).run(None, 30)
    assert compared[0] == 600 * 40
    assert compared[-1] < 600 * 40 / 4


def test_centres_without_rows_or_without_mass_stay():
    X = np.repeat(np.eye(6), 5, axis=0)
    centres = np.vstack([np.eye(6)[:4], np.full(6, 9.0)]) + 0.1
    mass = np.repeat([1.0, 0, 1, 1, 1, 1], 5)
    found = SparseKMeans(sparse.csr_array(X), sparse.csr_array(centres)).run(mass, 10)
    expected = k_means(X, centres, 10, mass)
    assert_allclose(found.centres.toarray(), expected)
    assert_array_equal(expected[[1, 4]], centres[[1, 4]])


def test_columns_far_from_zero_are_compared_in_float64():
    X = of_topics()
    X[:, 0] += 1e6
    centres = sparse.csr_array(X[:40])
    assert sparse_k_means.Scale.of(1e6, centres).dtype is np.float64
    labels = SparseKMeans(sparse.csr_array(X), centres).assign()
    assert_array_equal(labels[:40], np.arange(40))


def test_of_equal_centres_the_first_has_the_rows():
    X = sparse.csr_array(of_topics())
    twice = sparse.vstack([X[:20], X[:20]], format="csr")
    assert SparseKMeans(X, twice).assign().max() < 20
