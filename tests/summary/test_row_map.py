import tracemalloc

import numpy as np
import pytest

from cohirf.summary.rows import Part, RowMap, RowResults


@pytest.fixture
def row_map():
    """Five rows of a fit with two leaves, and three rows of an update with two more leaves."""
    fitted = Part(np.array([0, 0, 1, 1, 1]), np.ones(5, dtype=np.float32), np.array([0, 1]))
    part = Part(np.array([1, 0, 1]), np.ones(3, dtype=np.float32), np.array([2, 3]))
    return RowMap((fitted, part))


def test_rows_are_found_part_by_part(row_map):
    assert row_map.n_rows == 8
    assert row_map.starts.tolist() == [0, 5]
    assert row_map.find_leaves(np.arange(8)).tolist() == [0, 0, 1, 1, 1, 3, 2, 3]
    assert row_map.find_leaves(np.array([4, 6])).tolist() == [1, 2]


def test_what_a_table_says_is_looked_up_for_each_row(row_map):
    table = np.array([10, 11, 12, 13])
    assert [part.look_up(table).tolist() for part in row_map.parts] == [
        [10, 10, 11, 11, 11],
        [13, 12, 13],
    ]


def test_leaves_that_move_take_their_rows_along(row_map):
    moved = row_map.moved(np.array([1, 0, 1, 0]))
    assert moved.find_leaves(np.arange(8)).tolist() == [1, 1, 0, 0, 0, 0, 1, 0]


def test_results_of_rows_take_little_memory_beside_themselves():
    n_rows = 2**20
    group = np.zeros(1, dtype=np.int32)
    part = Part(
        np.zeros(n_rows, dtype=np.int32),
        np.ones(n_rows, dtype=np.float32),
        np.zeros(1, dtype=np.int64),
    )
    stability = np.ones(1, dtype=np.float32)
    results = RowResults(
        RowMap((part,)), group, group, group, group.astype(np.uint8), stability, np.array([n_rows])
    )
    tracemalloc.start()
    found = results._look_up_rows()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < sum(vector.nbytes for vector in found) + 10e6


def test_rows_leave_a_part(row_map):
    fitted, part = row_map.parts
    assert fitted.without(np.array([0, 2])).look_up(np.arange(4)).tolist() == [0, 1, 1]
    assert part.without(np.array([1])).look_up(np.arange(4)).tolist() == [3, 3]
