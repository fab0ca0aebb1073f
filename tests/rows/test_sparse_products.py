"""Products of sparse rows with points as columns."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import sparse

from cohirf.rows.containers.sparse_products import Columns


def of_shares(shares, n_points=200, seed=0):
    """Points of which a share has a cell in each feature."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(n_points, len(shares)))
    values[rng.random(values.shape) > shares] = 0
    return values


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("most_cells", [0, 2**20])
@pytest.mark.parametrize(
    "shares", [np.linspace(0, 1, 30), np.full(30, 0.01), np.full(30, 0.5), np.zeros(30)]
)
def test_products_and_lengths_are_those_of_arrays(shares, most_cells, container):
    points = of_shares(shares)
    rows = of_shares(shares, 50, seed=1)
    columns = Columns.of(container(points), most_cells)
    products = columns.products(container(rows))
    assert_allclose(products, rows @ points.T, atol=1e-12)
    assert_allclose(columns.square_lengths(), (points**2).sum(axis=1), atol=1e-12)


def test_an_array_has_the_features_of_many_points_alone():
    shares = np.repeat([0.5, 0.01], [3, 1000])
    columns = Columns.of(sparse.csr_array(of_shares(shares)), 0)
    assert columns.array.shape == (3, 200)
    assert columns.rest.nnz < 0.02 * 200 * 1000
    assert Columns.of(sparse.csr_array(of_shares(shares[:3])), 0).rest is None
