"""Rows without those that are left out, in every place."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm.batches import AllBut
from cohirf.rows.grouping import all_others, leave_out, put_back
from places import PLACES

X = np.arange(20.0).reshape(10, 2)
LEFT_OUT = [[], [0], [9], [2, 3, 7], list(range(9))]

everywhere = pytest.mark.parametrize("place", PLACES, ids=lambda place: place.name)


@pytest.mark.parametrize("left_out", LEFT_OUT)
@everywhere
def test_other_rows_stay_in_order(place, left_out):
    left_out = np.array(left_out, dtype=np.int32)
    expected = np.delete(X, left_out, axis=0)
    np.testing.assert_array_equal(place.fetch(leave_out(place.put(X), left_out)), expected)
    np.testing.assert_array_equal(leave_out(X, left_out), expected)
    np.testing.assert_array_equal(leave_out(sparse.csr_array(X), left_out).toarray(), expected)


@pytest.mark.parametrize("left_out", LEFT_OUT)
@everywhere
def test_vectors_are_put_together_again(place, left_out):
    left_out = np.array(left_out, dtype=np.int32)
    vector = np.arange(100, 110, dtype=np.int32)
    kept = np.delete(vector, left_out)
    others = vector[left_out]
    np.testing.assert_array_equal(put_back(kept, others, left_out), vector)
    for of_others in (others, place.put(others)):
        found = place.fetch(put_back(place.put(kept), of_others, left_out))
        np.testing.assert_array_equal(found, vector)
        assert found.dtype == vector.dtype


@pytest.mark.parametrize("left_out", LEFT_OUT)
def test_all_other_rows_are_those_that_are_not_left_out(left_out):
    np.testing.assert_array_equal(
        all_others(10, np.array(left_out, dtype=int)), np.delete(np.arange(10), left_out)
    )


@pytest.mark.parametrize("left_out", LEFT_OUT[1:])
def test_offsets_at_positions_are_those_that_are_not_left_out(left_out):
    left_out = np.array(left_out) + 5
    kept = np.delete(np.arange(5, 15), left_out - 5)
    np.testing.assert_array_equal(AllBut(5, 15, left_out).at(np.arange(len(kept))), kept)
