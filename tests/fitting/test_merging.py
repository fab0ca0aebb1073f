"""Tests of the division of rows into cells, which are merged to the number of clusters that is
asked for.
"""

import numpy as np
import pytest
from scipy import sparse

from cohirf.beyond.merge_tree import Groups
from cohirf.fitting.merging import SampleOfFit, divide_by_means


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_medoid_of_a_cell_is_the_candidate_nearest_to_its_centre(container):
    values = np.array([[-1.0], [0.2], [3.0], [9.0], [10.5], [12.0]])
    groups = Groups(container(np.array([[0.0], [10.0]])), np.ones(2))
    division = divide_by_means(
        groups, SampleOfFit(np.arange(6) + 40, container(values), np.arange(6), np.ones(6)), 2
    )
    assert division.rows.tolist() == [41, 44]
    assert division.mass.tolist() == [3, 3]
