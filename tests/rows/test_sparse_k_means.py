"""K-Means of sparse rows, by products with centres."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from cohirf.rows.containers import container_of
from cohirf.rows.policy import BLOCK


def of_topics(n_rows=600, n_features=80, n_topics=12, seed=0):
    """Rows whose cells are mostly of their topic, in an array."""
    rng = np.random.default_rng(seed)
    chances = rng.random((n_topics, n_features)) ** 6
    values = rng.random((n_rows, n_features)) + 0.1
    values[rng.random(values.shape) > chances[rng.integers(n_topics, size=n_rows)]] = 0
    return values


def k_means(X, centres, n_passes, mass):
    """Return the centres of K-Means of arrays."""
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
@pytest.mark.parametrize("cells", [0, 2**20])  # columns of frequent features alone, or of all
@pytest.mark.parametrize("seed", range(5))
def test_passes_are_those_of_arrays(seed, cells, n_passes, monkeypatch):
    monkeypatch.setitem(vars(BLOCK), "centre_cells", cells)
    monkeypatch.setitem(vars(BLOCK), "product_cells", 4000)  # several blocks
    X = of_topics(seed=seed)
    rng = np.random.default_rng(seed)
    mass = rng.random(len(X)) + 0.5
    centres = X[rng.choice(len(X), 40, replace=False)]
    rows = sparse.csr_array(X)
    container = container_of(rows)
    found = container.move_centres(rows, mass, sparse.csr_array(centres), n_passes)
    expected = k_means(X, centres, n_passes, mass)
    assert_allclose(found.toarray(), expected, atol=1e-12)
    labels = container.label_by_some(rows, rows, mass, sparse.csr_array(centres), n_passes)
    assert_array_equal(labels, nearest(X, expected))


def test_centres_without_rows_or_without_mass_stay():
    X = np.repeat(np.eye(6), 5, axis=0)
    centres = np.vstack([np.eye(6)[:4], np.full(6, 9.0)]) + 0.1
    mass = np.repeat([1.0, 0, 1, 1, 1, 1], 5)
    rows = sparse.csr_array(X)
    found = container_of(rows).move_centres(rows, mass, sparse.csr_array(centres), 10)
    expected = k_means(X, centres, 10, mass)
    assert_allclose(found.toarray(), expected)
    assert_array_equal(expected[[1, 4]], centres[[1, 4]])


def test_centres_with_a_column_far_from_zero_keep_their_rows():
    X = of_topics()
    X[:, 0] += 1e6
    rows = sparse.csr_array(X)
    assert_array_equal(assign(rows, rows[:40])[:40], np.arange(40))


def test_of_equal_centres_the_first_has_the_rows():
    X = sparse.csr_array(of_topics())
    assert assign(X, sparse.vstack([X[:20], X[:20]], format="csr")).max() < 20


def assign(X, centres):
    return container_of(X).find_nearest(X, centres, exact=False, groups=None, group_of_row=None)
