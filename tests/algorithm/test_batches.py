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


def split(n_active, batch_size, *, in_order):
    return split_into_batches(n_active, batch_size, np.random.default_rng(0), in_order=in_order)


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("n_rows", [2, 7, 15, 100, 1001])
def test_every_active_row_is_in_one_batch_or_held_aside(n_rows, in_order):
    batches = split(n_rows, 10, in_order=in_order)
    all_batches = list(batches)
    assert len(all_batches) == batches.n_batches
    parts = [*(part for batch in all_batches for part in (batch.contracted, batch.held_aside)), batches.held_aside]
    assert sorted(np.concatenate(parts).tolist()) == list(range(n_rows))
    assert all((np.diff(part) > 0).all() for part in parts)
    assert max(map(len, parts)) <= 15


@pytest.mark.parametrize("in_order", [False, True])
def test_one_batch_holds_nothing_aside(in_order):
    batches = split(12, 10, in_order=in_order)
    (batch,) = batches
    assert len(batch.contracted) == 12
    assert len(batch.held_aside) == len(batches.held_aside) == 0


def test_batches_are_random():
    batches = split(1000, 100, in_order=False)
    assert all(np.ptp(part) > 500 for part in [*(batch.contracted for batch in batches), batches.held_aside])


def test_batches_in_order_are_blocks_from_each_of_which_some_rows_are_held_aside():
    batches = list(split(10_000, 100, in_order=True))
    blocks = [np.union1d(batch.contracted, batch.held_aside) for batch in batches]
    assert all(np.ptp(block) == len(block) - 1 for block in blocks)
    assert {len(batch.held_aside) for batch in batches} <= {1, 2}
    assert sum(len(batch.held_aside) for batch in batches) == 100


def test_where_blocks_outnumber_the_rows_held_aside_these_are_spread_over_all():
    batches = list(split(1000, 10, in_order=True))
    held = np.concatenate([batch.held_aside for batch in batches])
    assert len(held) == 10
    assert np.diff(held).max() < 250


@pytest.mark.parametrize("n_rows", range(2, 60))
def test_no_batch_in_order_is_empty(n_rows):
    assert all(len(batch.contracted) > 0 for batch in split(n_rows, 2, in_order=True))


def test_as_many_rows_are_held_aside_in_all_as_a_batch_has():
    batches = list(split(1000, 250, in_order=True))
    assert len(batches) == 3
    assert sum(len(batch.held_aside) for batch in batches) == 250
    assert len(split(1000, 250, in_order=False).held_aside) == 250


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("batch_size", [None, 10])
def test_positions_take_four_bytes(batch_size, in_order):
    batches = split(100, batch_size, in_order=in_order)
    parts = [*(part for batch in batches for part in (batch.contracted, batch.held_aside)), batches.held_aside]
    assert {part.dtype for part in parts} == {np.dtype(np.int32)}


@pytest.mark.parametrize("in_order", [False, True])
def test_batches_of_a_level_have_nearly_the_same_number_of_rows(in_order):
    sizes = [len(batch.contracted) for batch in split(1003, 100, in_order=in_order)]
    assert len(sizes) == 9
    assert max(sizes) - min(sizes) <= 2
