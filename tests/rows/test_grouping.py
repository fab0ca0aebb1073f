"""Grouping by integers, compared with numpy's sorting."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cohirf.rows import blocks
from cohirf.rows.grouping import (
    compress,
    count_by_label,
    count_with_noise,
    first_rows,
    index_dtype,
    pair_keys,
    row_blocks,
    rows_by_label,
    sum_by_label,
    table_limit,
)

labels_of_rows = hnp.arrays(np.int64, st.integers(0, 40), elements=st.integers(0, 9))


def test_rows_are_numbered_in_four_bytes_as_long_as_these_suffice():
    assert index_dtype(2**31 - 1) is np.int32
    assert index_dtype(2**31) is np.int64


@pytest.mark.parametrize("n_keys", [10, table_limit(40) + 1], ids=["table", "sorted"])
@given(keys=labels_of_rows)
def test_keys_get_numbers_in_sorted_order(n_keys, keys):
    distinct, numbers = compress(keys, n_keys)
    expected, expected_numbers = np.unique(keys, return_inverse=True)
    assert distinct.tolist() == expected.tolist()
    assert numbers.tolist() == expected_numbers.tolist()
    assert numbers.dtype == np.int32


@pytest.mark.parametrize("block_rows", [3, 1000])
def test_noise_is_counted_before_the_labels(block_rows, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", block_rows)
    counts = count_with_noise(np.array([1, -1, 0, 1, -1, 3, 1], dtype=np.int32), 5)
    assert counts.tolist() == [2, 1, 3, 0, 1, 0]
    assert counts.dtype == np.int64


def test_keys_of_a_wide_range_are_sorted_instead_of_looked_up():
    distinct, numbers = compress(np.array([2**62, 5, 2**62]), 2**62 + 1)
    assert distinct.tolist() == [5, 2**62]
    assert numbers.tolist() == [1, 0, 1]


def test_a_table_has_at_most_two_entries_per_row_and_1024():
    assert [table_limit(0), table_limit(500)] == [1024, 2024]


def test_pairs_have_different_keys_below_the_product():
    left, right = np.divmod(np.arange(12, dtype=np.int8), 4)
    assert pair_keys(left, 3, right, 4).tolist() == list(range(12))
    assert pair_keys(left, 3, right, 4).dtype == np.int32


def test_keys_beyond_four_bytes_do_not_overflow():
    keys = pair_keys(np.array([2**30], dtype=np.int32), 2**30 + 1, np.array([7], dtype=np.int32), 8)
    assert keys.tolist() == [2**33 + 7]


def test_the_first_row_of_each_label_is_found():
    assert first_rows(np.array([2, 0, 2, 1, 0]), 3).tolist() == [1, 3, 0]
    assert first_rows(np.array([2, 0, 1]), 3).dtype == np.int32


@pytest.mark.parametrize(("n_rows", "sizes"), [(0, []), (3, [3]), (6, [3, 3]), (7, [3, 3, 1])])
def test_blocks_cover_all_rows(n_rows, sizes):
    blocks = list(row_blocks(n_rows, 3))
    assert [block.stop - block.start for block in blocks] == sizes
    assert [row for block in blocks for row in range(n_rows)[block]] == list(range(n_rows))


def test_blocks_have_65536_rows_unless_told_otherwise():
    assert list(row_blocks(100_000)) == [slice(0, 65_536), slice(65_536, 100_000)]


@given(labels_of_rows)
def test_rows_are_counted_and_sorted_by_label(labels):
    starts, rows = rows_by_label(labels, 10)
    assert rows.tolist() == np.argsort(labels, kind="stable").tolist()
    assert (
        np.diff(starts).tolist()
        == count_by_label(labels, 10).tolist()
        == [(labels == k).sum() for k in range(10)]
    )


def test_counts_do_not_depend_on_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_ROWS", 2)
    assert count_by_label(np.array([1, 0, 1, 1, 0, 1]), 3).tolist() == [2, 4, 0]


def test_values_are_summed_by_label():
    labels = np.array([0, 2, 0])
    assert sum_by_label(labels, np.array([0.5, 1.0, 2.0]), 4).tolist() == [2.5, 0.0, 1.0, 0.0]
    ones = sum_by_label(labels, None, 4)
    assert ones.tolist() == [2.0, 0.0, 1.0, 0.0]
    assert ones.dtype == np.float64
