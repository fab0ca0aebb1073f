"""Distances are sorted by their digits."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cohirf.spanning.sort_kernels import order_by

distances = st.floats(0, allow_nan=False, allow_subnormal=True).map(abs)  # -0.0 is not a distance


@given(st.data(), st.integers(0, 60))
def test_the_order_is_that_of_a_comparison(data, n):
    few = st.sampled_from([0.0, 1.0, 1.5, np.inf])
    weights, lengths = (data.draw(arrays(np.float64, n, elements=st.one_of(few, distances))) for _ in range(2))
    np.testing.assert_array_equal(order_by(weights, lengths), np.lexsort([lengths, weights]))
