"""Sort many distances in linear time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import njit

DIGIT_BITS = 11
N_DIGITS = 6  # of 64 bits


def order_by(weights: Any, lengths: Any) -> Any:
    """Return the order that sorts by weight, and by length where weights are equal; neither may be negative.

    Numbers that are not negative have the same order as their bits, and digits of these are sorted by counting, the
    last digit first.
    """
    order = np.arange(len(weights), dtype=np.int32)
    _sort_digits(lengths, order)
    _sort_digits(weights, order)
    return order


@njit(cache=True, nogil=True)
def _sort_digits(values: Any, order: Any) -> None:
    """Sort ``order`` by the values there; equal values keep their order."""
    n, mask = len(values), (1 << DIGIT_BITS) - 1
    bits = values.view(np.uint64)
    counts = np.zeros((N_DIGITS, 1 << DIGIT_BITS), dtype=np.int64)
    for i in range(n):
        for digit in range(N_DIGITS):
            counts[digit, (bits[i] >> np.uint64(digit * DIGIT_BITS)) & np.uint64(mask)] += 1
    keys, sorted_keys, sorted_order = bits[order], np.empty(n, dtype=np.uint64), np.empty(n, dtype=order.dtype)
    for digit in range(N_DIGITS):
        if counts[digit].max() == n:  # all values have the same digit
            continue
        shift, places = np.uint64(digit * DIGIT_BITS), np.cumsum(counts[digit]) - counts[digit]
        for i in range(n):
            value = (keys[i] >> shift) & np.uint64(mask)
            sorted_keys[places[value]], sorted_order[places[value]] = keys[i], order[i]
            places[value] += 1
        keys, sorted_keys = sorted_keys, keys
        for i in range(n):
            order[i] = sorted_order[i]
