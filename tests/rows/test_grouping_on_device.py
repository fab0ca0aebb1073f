"""Grouping on a device gives what NumPy gives, and only what is small comes from there."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cohirf.rows import grouping
from cohirf.rows.containers import scatter
from cohirf.rows.grouping import (
    best_by_label,
    compress,
    count_by_label,
    count_with_noise,
    first_rows,
    number_apart,
    pair_keys,
    rows_by_label,
    sum_by_label,
    sum_rows_by_label,
    table_limit,
)
from places import PLACES

on_every_device = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)
N_LABELS = 10
labels_of_rows = st.sampled_from([np.int32, np.int64]).flatmap(
    lambda dtype: hnp.arrays(dtype, st.integers(1, 40), elements=st.integers(0, N_LABELS - 1))
)


def all_labels(n_rows, n_labels, seed=0):
    """Labels of which each occurs."""
    labels = np.arange(n_rows, dtype=np.int32) % n_labels
    return np.random.default_rng(seed).permutation(labels)


@on_every_device
@pytest.mark.parametrize("n_keys", [N_LABELS, table_limit(40) + 1], ids=["table", "sorted"])
@given(keys=labels_of_rows)
def test_keys_get_the_same_numbers(place, n_keys, keys):
    expected, expected_numbers = compress(keys, n_keys)
    distinct, numbers = compress(place.put(keys), n_keys)
    np.testing.assert_array_equal(place.fetch(distinct), expected)
    np.testing.assert_array_equal(place.fetch(numbers), expected_numbers)
    assert place.fetch(numbers).dtype == np.int32


@on_every_device
def test_pairs_get_the_same_keys_also_where_32_bits_do_not_suffice(place):
    left = np.array([0, 2, 69_999], dtype=np.int32)
    right = np.array([5, 0, 69_999])
    for n in (70_000, 10_000_000):
        keys = place.fetch(pair_keys(place.put(left), n, place.put(right), n))
        np.testing.assert_array_equal(keys, pair_keys(left, n, right, n))
        assert keys.dtype == np.int64


@on_every_device
@given(labels=labels_of_rows)
def test_rows_are_counted_and_found_by_label(place, labels):
    there = place.put(labels)
    np.testing.assert_array_equal(count_by_label(there, N_LABELS), count_by_label(labels, N_LABELS))
    np.testing.assert_array_equal(
        count_with_noise(there - 1, N_LABELS), count_with_noise(labels - 1, N_LABELS)
    )
    np.testing.assert_array_equal(
        sum_by_label(there, None, N_LABELS), count_by_label(labels, N_LABELS)
    )
    present = np.unique(labels)
    np.testing.assert_array_equal(
        first_rows(there, N_LABELS)[present], first_rows(labels, N_LABELS)[present]
    )
    starts, rows = rows_by_label(labels, N_LABELS)
    starts_there, rows_there = rows_by_label(there, N_LABELS)
    np.testing.assert_array_equal(starts_there, starts)
    np.testing.assert_array_equal(place.fetch(rows_there), rows)


def error_bound(X, weights):
    """What the docstring of sum_rows_by_label states, plus the rounding of the result."""
    largest = np.abs(X).max(axis=0).astype(np.float64)
    return 2 * len(X) ** 2 * (2.0**-62) * largest * (1 if weights is None else weights.max())


@on_every_device
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("scale", [1.0, 1e-36, 1e-30, 1e30])
def test_sums_of_rows_have_the_precision_that_is_stated(place, scale, dtype, weighted):
    if place.name.startswith("cupy") and dtype == np.float32 and scale < 1:
        pytest.skip("CuPy takes values of float32 below 1.2e-38 as 0.")
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(500, 4)) * [1, 1e-6, 1e6, 0] * scale).astype(dtype)
    labels = all_labels(500, 7)
    weights = rng.uniform(0, 3, 500) if weighted else None
    found = place.fetch(
        sum_rows_by_label(
            place.put(X), place.put(labels), 7, None if weights is None else place.put(weights)
        )
    )
    weighed = X.astype(np.longdouble) * (1 if weights is None else weights[:, None])
    exact = np.stack([weighed[labels == label].sum(axis=0) for label in range(7)])
    assert found.dtype == np.float64
    allowed = error_bound(X, weights) + 4 * np.finfo(np.float64).eps * np.abs(weighed).sum(axis=0)
    assert (np.abs(found - exact) <= allowed).all()
    assert (found[:, 3] == 0).all()


@on_every_device
@pytest.mark.parametrize("scale", [1e-280, 1e280])
def test_sums_of_extreme_float64_values_are_precise(place, scale):
    X = np.random.default_rng(0).normal(size=(200, 3)) * scale
    labels = all_labels(200, 4)
    found = place.fetch(sum_rows_by_label(place.put(X), place.put(labels), 4))
    expected = np.stack([X[labels == label].sum(axis=0) for label in range(4)])
    np.testing.assert_allclose(found, expected, rtol=1e-12, atol=1e-14 * scale)


@on_every_device
def test_sums_do_not_depend_on_the_order_of_the_rows_or_the_size_of_blocks(place, monkeypatch):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3))
    labels = all_labels(300, 5)
    expected = place.fetch(sum_rows_by_label(place.put(X), place.put(labels), 5))
    order = rng.permutation(300)
    monkeypatch.setitem(vars(grouping.BLOCK), "fixed_point_cells", 3 * 17)
    found = place.fetch(sum_rows_by_label(place.put(X[order]), place.put(labels[order]), 5))
    np.testing.assert_array_equal(found, expected)


@on_every_device
@given(labels=labels_of_rows, data=st.data())
def test_values_are_summed_by_label(place, labels, data):
    values = data.draw(hnp.arrays(np.float64, len(labels), elements=st.floats(-1e9, 1e9)))
    found = sum_by_label(place.put(labels), place.put(values), N_LABELS)
    assert isinstance(found, np.ndarray)
    np.testing.assert_allclose(
        found, sum_by_label(labels, values, N_LABELS), rtol=1e-12, atol=1e-15 * 1e9
    )


@on_every_device
@pytest.mark.parametrize("tie", [0.0, 0.5])
@given(data=st.data())
def test_the_best_row_of_each_label_is_the_same(place, tie, data):
    labels = all_labels(data.draw(st.integers(4, 30)), 4)
    # few values, so that there are ties
    scores = data.draw(
        hnp.arrays(
            np.float64, len(labels), elements=st.sampled_from([-1.0, 0.0, 0.25, 1.0, np.nan])
        )
    )
    expected = best_by_label(scores, labels, 4, tie)
    np.testing.assert_array_equal(
        best_by_label(place.put(scores), place.put(labels), 4, tie), expected
    )


@on_every_device
def test_a_label_of_nan_scores_only_has_its_first_row(place):
    scores = np.array([1.0, np.nan, np.nan, 2.0])
    labels = np.array([0, 1, 1, 0])
    assert best_by_label(place.put(scores), place.put(labels), 2, tie=0).tolist() == [3, 1]


@on_every_device
def test_rows_apart_get_labels_of_their_own(place):
    labels = np.array([0, 1, 1, 0, 1], dtype=np.int32)
    codes = np.array([0, 1, 2, 0, 1], dtype=np.int32)
    is_apart = np.array([False, True, False])
    found = place.fetch(number_apart(place.put(labels), is_apart, place.put(codes), 2))
    assert found.tolist() == [0, 2, 1, 0, 3]
    assert found.dtype == np.int32


@on_every_device
def test_extremes_do_not_depend_on_how_many_rows_come_first(place, monkeypatch):
    monkeypatch.setitem(vars(scatter.BLOCK), "first_reduced", 4)
    labels = all_labels(200, 7)
    scores = np.random.default_rng(0).normal(size=200)
    found = best_by_label(place.put(scores), place.put(labels), 7, tie=0.1)
    np.testing.assert_array_equal(found, best_by_label(scores, labels, 7, tie=0.1))
    np.testing.assert_array_equal(
        first_rows(place.put(labels[::-1].copy()), 7), first_rows(labels[::-1], 7)
    )
