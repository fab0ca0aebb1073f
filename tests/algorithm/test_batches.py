"""Splitting active rows into batches."""

import numpy as np
import pytest

from cohirf.algorithm.batches import (
    Run,
    count_batches,
    cut_at_chunks,
    cut_into_runs,
    equal_blocks,
    split_into_batches,
)


@pytest.mark.parametrize(
    ("n_rows", "batch_size", "n_batches"),
    [
        (10, None, 1),
        (10, 10, 1),
        (14, 10, 1),
        (15, 10, 2),
        (24, 10, 2),
        (25, 10, 3),
        (3, 10, 1),
        (100, 10, 10),
    ],
)
def test_batches_are_as_close_to_their_size_as_possible(n_rows, batch_size, n_batches):
    assert count_batches(n_rows, batch_size) == n_batches


def split(n_active, batch_size, *, in_order):
    return split_into_batches(n_active, batch_size, np.random.default_rng(0), in_order=in_order)


def positions(batches, batches_a_run=3):
    """Return the positions that each batch contracts, and those that it holds aside."""
    runs = batches.runs(np.arange(0, batches.n_batches, batches_a_run))
    return [
        (run.index(contracted), run.index(held))
        for run in runs
        for contracted, held in run.batches()
    ]


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("n_rows", [2, 7, 15, 100, 1001])
def test_every_active_row_is_in_one_batch_or_held_aside(n_rows, in_order):
    batches = split(n_rows, 10, in_order=in_order)
    all_batches = positions(batches)
    assert len(all_batches) == batches.n_batches
    parts = [*(part for batch in all_batches for part in batch), batches.held_aside]
    assert sorted(np.concatenate(parts).tolist()) == list(range(n_rows))
    assert all((np.diff(part) > 0).all() for part in parts)
    assert max(map(len, parts)) <= 15


@pytest.mark.parametrize("in_order", [False, True])
def test_one_batch_holds_nothing_aside(in_order):
    batches = split(12, 10, in_order=in_order)
    ((contracted, held),) = positions(batches)
    assert len(contracted) == 12
    assert len(held) == len(batches.held_aside) == 0


def test_batches_are_random():
    batches = split(1000, 100, in_order=False)
    assert all(
        np.ptp(part) > 500
        for part in [*(contracted for contracted, _ in positions(batches)), batches.held_aside]
    )


def test_batches_in_order_are_blocks_from_each_of_which_some_rows_are_held_aside():
    batches = positions(split(10_000, 100, in_order=True))
    blocks = [np.union1d(*batch) for batch in batches]
    assert all(np.ptp(block) == len(block) - 1 for block in blocks)
    assert {len(held) for _, held in batches} <= {1, 2}
    assert sum(len(held) for _, held in batches) == 100


def test_where_blocks_outnumber_the_rows_held_aside_these_are_spread_over_all():
    held = np.concatenate([held for _, held in positions(split(1000, 10, in_order=True))])
    assert len(held) == 10
    assert np.diff(held).max() < 250


@pytest.mark.parametrize("n_rows", range(2, 60))
def test_no_batch_in_order_is_empty(n_rows):
    assert all(len(contracted) > 0 for contracted, _ in positions(split(n_rows, 2, in_order=True)))


def test_batches_that_hold_nothing_aside_draw_nothing():
    """The rows are those that a draw for each batch holds aside, also where it is of no row."""
    batches = split(5_000, 40, in_order=True)
    random = np.random.default_rng(0)
    expected = [
        start + np.sort(random.choice(stop - start, size=size, replace=False, shuffle=False))
        for start, stop, size in zip(
            batches.bounds[:-1], batches.bounds[1:], batches.n_held, strict=True
        )
    ]
    assert sum(size == 0 for size in batches.n_held) > 50
    held = [run.start + run.held for run in batches.runs(np.arange(0, batches.n_batches, 7))]
    np.testing.assert_array_equal(np.concatenate(held), np.concatenate(expected))


def test_as_many_rows_are_held_aside_in_all_as_a_batch_has():
    batches = positions(split(1000, 250, in_order=True))
    assert len(batches) == 3
    assert sum(len(held) for _, held in batches) == 250
    assert len(split(1000, 250, in_order=False).held_aside) == 250


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("batch_size", [None, 10])
def test_positions_take_four_bytes(batch_size, in_order):
    batches = split(100, batch_size, in_order=in_order)
    parts = [*(contracted for contracted, _ in positions(batches)), batches.held_aside]
    assert {part.dtype for part in parts} == {np.dtype(np.int32)}


@pytest.mark.parametrize("in_order", [False, True])
def test_batches_of_a_level_have_nearly_the_same_number_of_rows(in_order):
    sizes = [len(contracted) for contracted, _ in positions(split(1003, 100, in_order=in_order))]
    assert len(sizes) == 9
    assert max(sizes) - min(sizes) <= 2


@pytest.mark.parametrize("in_order", [False, True])
def test_batches_do_not_depend_on_their_division_into_runs(in_order):
    ways = [
        positions(split(1000, 50, in_order=in_order), batches_a_run) for batches_a_run in (1, 4, 99)
    ]
    for way in ways[1:]:
        for one, other in zip(ways[0], way, strict=True):
            assert [part.tolist() for part in one] == [part.tolist() for part in other]


@pytest.mark.parametrize(
    ("n_batches", "n_rows", "batches_a_run"),
    [
        pytest.param(1, 10**6, 1, id="one batch"),
        pytest.param(100, 2_000_000, 1, id="so few batches that each is a run"),
        pytest.param(1000, 2_000_000, 7, id="small batches: 128 runs or more"),
        pytest.param(10_000, 20_000_000, 16, id="many small batches: at most 2**15 rows a run"),
        pytest.param(500, 10**7, 1, id="batches of 20,000 rows"),
        pytest.param(50_000, 10**9, 50, id="very many rows: at most a thousand runs"),
    ],
)
def test_runs_are_many_and_short(n_batches, n_rows, batches_a_run):
    cuts = cut_into_runs(n_batches, n_rows)
    assert cuts.tolist() == list(range(0, n_batches, batches_a_run))
    assert len(cuts) <= 1000


@pytest.mark.parametrize(
    "chunk_starts", [[0], [0, 500], [0, 10, 20, 30, 990], list(range(0, 1000, 50))]
)
def test_a_run_has_the_batches_that_start_in_one_chunk(chunk_starts):
    batches = split(1000, 100, in_order=True)
    runs = list(batches.runs(cut_at_chunks(batches.starts, np.array(chunk_starts))))
    assert [run.start for run in runs] == [0, *(run.start + run.length for run in runs[:-1])]
    assert sum(run.length for run in runs) == 1000
    assert len(
        set(np.searchsorted(chunk_starts, [run.start for run in runs], side="right"))
    ) == len(runs)
    assert sum(run.n_batches for run in runs) == 9  # ten batches, less what is held aside
    assert sum(len(run.held) for run in runs) == 100
    assert sum(run.rows_in for run in runs) == 900


def test_rows_of_a_run_may_be_some_of_the_active_ones():
    active = np.array([1, 4, 5, 9, 12, 13])
    run = Run(np.array([0, 2, 4]), np.array([2]), first_batch=3, start=1).among(active)
    assert run.rows.tolist() == [4, 5, 9, 12]
    assert [
        (run.index(some).tolist(), run.index(held).tolist()) for some, held in run.batches()
    ] == [
        ([4, 5], []),
        ([12], [9]),
    ]
    assert Run(np.array([0, 2]), np.array([], int), start=3).rows == slice(3, 5)


@pytest.mark.parametrize("cuts", [[0], [0, 2], [0, 1, 2]])
def test_equal_blocks_are_numbered_on_from_those_before(cuts):
    blocks = equal_blocks(3, 4, first_number=7)
    runs = list(blocks.runs(np.array(cuts)))
    assert [run.first_batch for run in runs] == [7 + cut for cut in cuts]
    rows = [run.index(offsets) for run in runs for offsets, held in run.batches() if len(held) == 0]
    assert np.concatenate(rows).tolist() == list(range(12))
    assert [len(block) for block in rows] == [4, 4, 4]
    assert blocks.starts.tolist() == [0, 4, 8]
    assert len(blocks.held_aside) == 0
