"""What each array library does in its own way.

CuPy's is tested with a stand-in that has its restrictions.
"""

import sys
from types import ModuleType

import numpy as np
import pytest
from array_api_compat import numpy as array_api

from cohirf.rows.containers import scatter

LABELS = np.array([2, 0, 2, 2, 0], dtype=np.int32)


class CupyArray(np.ndarray):
    """Stands for ``cupy.ndarray``."""


def like_cupy(values):
    return np.asarray(values).view(CupyArray)


@pytest.fixture(autouse=True)
def cupy(monkeypatch):
    """CuPy without a GPU, which adds no signed integers of 64 bits."""
    cupy = ModuleType("cupy")
    cupy.ndarray = CupyArray
    cupy.uint64 = np.uint64

    class Add:
        @staticmethod
        def at(target, index, values):
            if target.dtype == np.int64 or target.dtype != values.dtype:
                raise TypeError(f"{target.dtype} and {values.dtype} are not supported")
            np.add.at(target, index, values)

    cupy.add = Add
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    monkeypatch.setattr(scatter, "namespace", lambda array: array_api)


def test_rows_are_counted():
    assert scatter.count_labels(like_cupy(LABELS), 4).tolist() == [2, 0, 3, 0]


def test_signed_integers_are_added():
    values = np.array([[1, -5], [-7, 2**61], [3, 4], [-9, 0], [2, -1]])
    sums = scatter.add(like_cupy(LABELS), like_cupy(values), like_cupy(np.full((3, 2), 10)))
    assert sums.tolist() == [[5, 2**61 + 9], [10, 10], [5, 9]]
    assert sums.dtype == np.int64


def test_extremes_are_found_of_row_numbers_and_of_scores():
    rows = like_cupy(np.array([4, 1, 3, 0, 2]))
    assert scatter.lowest(like_cupy(LABELS), rows, 3, 5).tolist() == [1, 5, 0]
    scores = like_cupy(np.array([-2.5, -np.inf, -0.5, -1.5, -3.0]))
    assert scatter.highest(like_cupy(LABELS), scores, 3, -np.inf).tolist() == [-3.0, -np.inf, -0.5]
