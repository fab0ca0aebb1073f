"""A local batch to measure."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm.storage import ArrayRows
from cohirf.planning import neighbourhood as module
from cohirf.planning.neighbourhood import Neighbourhood


@pytest.fixture
def points():
    return np.random.default_rng(0).normal(size=(1000, 3))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_rows_are_the_nearest_ones_to_one_row(monkeypatch, points, kind):
    monkeypatch.setattr(module, "MOST_ROWS", 64)
    near = Neighbourhood(ArrayRows(kind(points)), None, (0,))
    found = near.take(50)
    found = found.toarray() if sparse.issparse(found) else found
    by_distance = points[np.argsort(np.linalg.norm(points - found[0], axis=1))]
    assert near.n_rows == 64
    np.testing.assert_allclose(found, by_distance[:50])


def test_missing_values_do_not_hide_a_row(points):
    points[::2, 1] = np.nan
    near = Neighbourhood(ArrayRows(points), np.zeros(3), (0,))
    found = near.take(1000)
    assert np.isnan(found).sum() == 500
    distances = np.linalg.norm(np.nan_to_num(found) - np.nan_to_num(found[0]), axis=1)
    assert (np.diff(distances) > -1e-12).all()


def test_rows_are_read_once_and_only_if_asked_for(points):
    class Counted(ArrayRows):
        def take(self, rows):
            taken.extend(rows.tolist())
            return super().take(rows)

    taken = []
    near = Neighbourhood(Counted(points), None, (0,))
    assert len(taken) == 1  # the row in the middle
    near.take(10), near.take(100)
    assert len(taken) == 1001
