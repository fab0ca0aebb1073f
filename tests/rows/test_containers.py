"""Containers of rows: each finds what the others find, in its own way."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from cohirf.rows.containers import container_of, numpy_arrays
from cohirf.rows.members import find_exemplars
from cohirf.rows.policy import BLOCK
from cohirf.rows.storage import ArrayRows, ArrayWeights
from places import PLACES

HERE = [np.asarray, sparse.csr_array]
here = pytest.mark.parametrize("put", HERE, ids=["array", "csr"])
on_every_device = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


@here
@pytest.mark.parametrize("cells", [1, 2**20], ids=["in blocks", "at once"])
def test_the_nearest_pair_of_two_sets_is_found(put, cells, monkeypatch):
    monkeypatch.setattr(numpy_arrays, "BLOCK", replace(BLOCK, paired_cells=cells))
    X = np.array([[0.0, 9.0], [5.0, 0.0]])
    others = np.array([[20.0, 0.0], [5.0, 2.0], [9.0, 9.0]])
    found = container_of(put(X)).nearest_pair(put(X), put(others))
    assert found == (1, 1, 2.0)


@pytest.mark.parametrize("cells", [1, 2**20], ids=["in blocks", "at once"])
def test_bounds_leave_the_nearest_pair(cells, monkeypatch):
    """Of rows apart and among each other, near the origin and far from it."""
    monkeypatch.setattr(numpy_arrays, "BLOCK", replace(BLOCK, paired_cells=cells))
    rng = np.random.default_rng(0)
    for gap in (0.0, 3.0, 1e9):
        for n_features in (1, 2, 20):
            X = rng.normal(size=(20, n_features)) + 1e6
            others = rng.normal(size=(30, n_features)) + 1e6 + gap
            distances = cdist(X, others)
            row, other, length = container_of(X).nearest_pair(X, others)
            assert (row, other) == np.unravel_index(distances.argmin(), distances.shape)
            assert length == distances.min()


@pytest.mark.exact
def test_of_pairs_that_are_equally_near_the_first_is_taken():
    X = np.array([[0.0, 0.0], [0.0, 3.0], [0.0, 6.0]])
    others = np.array([[9.0, 0.0], [2.0, 6.0], [2.0, 3.0]])
    assert container_of(X).nearest_pair(X, others) == (1, 2, 2.0)


def test_squares_that_overflow_rule_no_pair_out():
    X = np.array([[1e160], [0.0]])
    assert container_of(X).nearest_pair(X, np.array([[2e160], [1.0]])) == (1, 1, 1.0)


@pytest.mark.parametrize("dtype", ["f8", "f4", "i8", "u1", "?"])
def test_distinct_rows_are_those_of_numpy(dtype):
    """With ties in some columns, zeros of both signs, infinite cells and cells without a value."""
    rng = np.random.default_rng(0)
    for _ in range(200):
        shape = rng.integers(1, 30), rng.integers(1, 6)
        X = rng.integers(0, rng.integers(1, 5) + 1, shape).astype(dtype)
        if X.dtype.kind == "f":
            for value in (-0.0, np.inf, np.nan)[: rng.integers(4)]:
                X[rng.random(shape) < 0.1] = value
        _, first, number = np.unique(X, axis=0, return_index=True, return_inverse=True)
        found = container_of(X).find_distinct(X)
        np.testing.assert_array_equal(found[0], first)
        np.testing.assert_array_equal(found[1], number.ravel())
        assert container_of(X).count_distinct(X) == len(first)


def test_columns_of_two_values_are_found_in_arrays_only():
    X = np.array([[0.0, 1.0, 3.0], [1.0, 1.0, 4.0], [0.0, 1.0, 5.0]])
    assert container_of(X).find_two_valued(X).tolist() == [True, True, False]
    assert not container_of(sparse.csr_array(X)).find_two_valued(sparse.csr_array(X)).any()


def test_of_sparse_rows_only_filled_columns_are_taken():
    X = np.array([[0.0, 1.0, 3.0], [0.0, 1.0, 0.0], [2.0, 1.0, 5.0]])
    columns, taken = container_of(X).take_filled_columns(X, 2)
    assert columns.tolist() == [0, 1, 2]
    assert taken is X
    columns, taken = container_of(sparse.csr_array(X)).take_filled_columns(sparse.csr_array(X), 2)
    assert columns.tolist() == [1, 2]
    np.testing.assert_array_equal(taken.toarray(), X[:, 1:])


@here
@pytest.mark.parametrize("unit", [1e-200, 1.0, 1e200])
def test_scaled_rows_keep_ratios_of_distances_and_squares_that_are_numbers(put, unit):
    X = np.array([[1.0, 0.0, 5.0], [3.0, 1.0, 6.0], [9.0, 0.0, 7.0]])
    container = container_of(put(X))
    for scaled in (container.scale(put(X * unit)), container.standardise(put(X * unit))):
        points = container.dense(scaled)
        assert np.abs(points).max() == pytest.approx(1)
        lengths, expected = (np.linalg.norm(rows[1:] - rows[0], axis=1) for rows in (points, X))
        np.testing.assert_allclose(lengths[1] / lengths[0], expected[1] / expected[0])
        np.testing.assert_allclose(container.square_lengths(scaled), (points**2).sum(axis=1))


def test_of_sparse_rows_only_full_columns_are_shifted():
    X = sparse.csr_array(np.array([[1.0, 0.0], [3.0, 2.0]]))
    standardised = container_of(X).standardise(X)
    np.testing.assert_allclose(standardised.toarray(), [[-0.5, 0.0], [0.5, 1.0]])


def test_rows_of_zeros_stay():
    for put in HERE:
        X = put(np.zeros((3, 2)))
        container = container_of(X)
        assert not container.dense(container.scale(X)).any()
        assert not container.dense(container.standardise(X)).any()


@here
def test_all_rows_get_the_nearest_of_the_centres_that_some_rows_have_moved(put):
    X = np.array([[0.0], [1.0], [10.0], [11.0], [6.4], [6.6]])
    weights = np.array([3.0, 1.0, 1.0, 1.0])
    labels = container_of(put(X)).label_by_some(
        put(X), put(X[:4]), weights, np.array([[0.0], [9.0]]), 10
    )
    assert labels.tolist() == [0, 0, 1, 1, 1, 1]
    weights = np.array([1.0, 9.0, 9.0, 1.0])  # centres at .9 and 10.1: they meet at 5.5
    rows = put(np.array([[5.4], [5.6]]))
    labels = container_of(rows).label_by_some(
        rows, put(X[:4]), weights, np.array([[0.0], [9.0]]), 10
    )
    assert labels.tolist() == [0, 1]


@on_every_device
def test_exemplars_on_a_device_are_those_of_numpy(place):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 3))
    labels = rng.integers(-1, 4, 300)
    means = np.stack([X[labels == label].mean(axis=0) for label in range(4)])
    expected = [
        np.flatnonzero(labels == label)[
            np.linalg.norm(X[labels == label] - means[label], axis=1).argmin()
        ]
        for label in range(4)
    ]
    assert find_exemplars(ArrayRows(X), labels, means).tolist() == expected
    found = find_exemplars(ArrayRows(place.put(X)), place.put(labels), means)
    assert found.tolist() == expected


@on_every_device
def test_weights_on_a_device_are_not_in_this_process(place):
    weights = np.ones(3)
    assert ArrayWeights(weights).in_process is weights
    assert ArrayWeights(place.put(weights)).in_process is None


def rows_around_means(offset, n_labels):
    """Return rows with many zeros, their labels, the means of these, and the squared distances."""
    rng = np.random.default_rng(0)
    X = sparse.random_array((600, 40), density=0.2, rng=rng).toarray()
    X[:, 0] += offset  # expanded squares lose their digits
    labels = rng.integers(0, n_labels, size=600)
    means = np.stack([X[labels == label].mean(axis=0) for label in range(n_labels)])
    return X, labels, means, ((X - means[labels]) ** 2).sum(axis=1)


@pytest.mark.parametrize("block_rows", [7, 2**14])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_exemplars_of_sparse_rows_are_those_of_exact_differences(offset, block_rows, monkeypatch):
    monkeypatch.setitem(vars(BLOCK), "bounded_rows", block_rows)
    monkeypatch.setitem(vars(BLOCK), "exemplar_cells", 1)
    X, labels, means, distances = rows_around_means(offset, 5)
    expected = [
        rows[distances[rows].argmin()] for rows in (np.flatnonzero(labels == i) for i in range(5))
    ]
    found = find_exemplars(ArrayRows(sparse.csr_array(X)), labels, sparse.csr_array(means))
    assert found.tolist() == expected


@here
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_the_rows_nearest_to_their_mean_are_measured_exactly(put, offset):
    X, labels, means, expected = rows_around_means(offset, 50)
    found = container_of(put(means)).measure_own(put(X), put(means), labels)
    for label in range(50):
        own = labels == label
        assert found[own].argmin() == expected[own].argmin()
        assert found[own].min() == pytest.approx(expected[own].min(), rel=1e-12)


@here
@pytest.mark.parametrize("rows", [[7], [7, 0, 7]])
def test_rows_are_multiplied_by_some_of_them(put, rows):
    X = sparse.random_array((60, 40), density=0.2, rng=np.random.default_rng(0)).toarray()
    found = container_of(put(X)).multiply_by_rows(put(X), np.array(rows))
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(found, X @ X[rows].T, atol=1e-14)
