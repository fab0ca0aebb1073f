"""Packed arrays: they come back as they were, and take few bytes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from cohirf.report.packing import pack


@given(arrays(np.int64, st.integers(0, 50), elements=st.integers(-(2**31), 2**31 - 1)))
def test_integers_come_back(unpack, values):
    assert unpack(pack(values)).tolist() == values.tolist()


@given(arrays(np.float64, st.integers(0, 50), elements=st.floats(-1e6, 1e6)))
def test_floats_come_back_as_single_precision(unpack, values):
    assert unpack(pack(values)).tolist() == values.astype(np.float32).tolist()


@pytest.mark.parametrize(
    ("values", "kind"),
    [
        ([0, 255], "Uint8"),
        ([256], "Uint16"),
        ([70_000], "Uint32"),
        ([-1, 127], "Int8"),
        ([-1, 128], "Int16"),
        ([], "Uint8"),
    ],
)
def test_integers_take_as_few_bytes_as_they_need(values, kind):
    assert pack(np.array(values, dtype=np.int64))["type"] == kind


def test_a_table_is_packed_row_by_row(unpack):
    table = np.array([[1, 2], [3, 4]])
    assert unpack(pack(table)).tolist() == [1, 2, 3, 4]
    assert unpack(pack(table.T)).tolist() == [1, 3, 2, 4]


def test_byte_order_and_strides_do_not_matter(unpack):
    assert unpack(pack(np.arange(1000, dtype=">i4")[::3])).tolist() == list(range(0, 1000, 3))


def test_labels_of_few_clusters_take_less_than_half_a_byte_each():
    labels = np.random.default_rng(0).integers(0, 4, 100_000)
    assert len(pack(labels)["data"]) < 50_000
