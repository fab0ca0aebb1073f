"""Splitting active rows into batches."""

import numpy as np
import pytest

from cohirf.algorithm.batches import count_batches, split_into_batches


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "n_batches"),
    [(10, None, 1), (10, 10, 1), (14, 10, 1), (15, 10, 2), (24, 10, 2), (25, 10, 3), (3, 10, 1), (100, 10, 10)],
)
def test_batches_are_as_close_to_their_size_as_possible(n_rows, batch_size, n_batches):
    assert count_batches(n_rows, batch_size) == n_batches


@pytest.mark.parametrize("n_rows", [2, 7, 15, 100, 1001])
def test_every_active_row_is_in_one_batch_or_held_aside(n_rows):
    active = np.arange(n_rows) * 3
    batches = split_into_batches(active, 10, np.random.default_rng(0))
    parts = [*batches.contracted, batches.held_aside]
    assert sorted(np.concatenate(parts).tolist()) == active.tolist()
    assert all((np.diff(part) > 0).all() for part in parts)
    assert max(map(len, parts)) <= 15


def test_one_batch_holds_nothing_aside():
    batches = split_into_batches(np.arange(12), 10, np.random.default_rng(0))
    assert len(batches.contracted) == 1
    assert len(batches.held_aside) == 0


def test_batches_are_random():
    batches = split_into_batches(np.arange(1000), 100, np.random.default_rng(0))
    assert all(np.ptp(batch) > 500 for batch in [*batches.contracted, batches.held_aside])
