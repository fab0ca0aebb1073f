"""The fusions of a fit as vectors."""

import numpy as np
import pytest

from cohirf.algorithm.parents import Fusions, Recorded
from cohirf.rows.storage import Storage


def no_fusions(n_rows, max_level=100):
    return Fusions.none(np.full(n_rows, 0.5, np.float32), max_level, Storage())


def test_at_first_every_row_is_its_own_parent():
    fusions = no_fusions(4, max_level=300)
    assert fusions.parents.tolist() == [0, 1, 2, 3]
    assert fusions.absorbed_at.tolist() == [0, 0, 0, 0]
    assert fusions.absorbed_at.dtype == np.uint16
    assert fusions.stability.tolist() == [0.5] * 4


@pytest.mark.parametrize("rows", [np.array([1, 2, 3]), slice(1, 4)])
def test_only_absorbed_rows_get_the_level(rows):
    fusions = no_fusions(5)
    fusions.record(rows, np.array([2, 2, 3]), level=4)
    assert fusions.parents.tolist() == [0, 2, 2, 3, 4]
    assert fusions.absorbed_at.tolist() == [0, 4, 0, 0, 0]


def test_rows_that_no_level_has_clustered_are_their_own_parents_without_a_stability():
    fusions = Recorded.unwritten(4, Storage())
    fusions.keep(np.array([1, 3]))
    assert fusions.parents[[1, 3]].tolist() == [1, 3]
    assert np.isnan(fusions.stability[[1, 3]]).all()
