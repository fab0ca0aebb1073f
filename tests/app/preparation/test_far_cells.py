"""One bad cell decides nothing: neither the scale of its column nor the clusters of other rows."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.preparation import prepare


@pytest.fixture(scope="module")
def table():
    return make_blobs(240, n_features=5, centers=4, cluster_std=0.8, random_state=3)


@pytest.mark.parametrize("column", range(5))
@pytest.mark.parametrize("bad", [-1e4, 5e3, 1e7])
def test_one_bad_cell_in_a_column_changes_no_other_row(table, column, bad):
    X, y = table
    spoilt = X.copy()
    spoilt[17, column] = bad
    plain = prepare(X).preparation
    found = prepare(spoilt)
    np.testing.assert_allclose(found.preparation.scale, plain.scale, rtol=0.02)
    model = CoHiRF(random_state=0).fit(found.rows())
    others = np.arange(240) != 17
    assert model.labels_[17] == -1
    assert adjusted_rand_score(y[others], model.labels_[others]) == 1


def test_the_scale_is_that_of_all_cells_but_the_far_ones(table):
    X, _ = table
    spoilt = X.copy()
    spoilt[[3, 5], 2] = 900.0, 2_000.0
    without = np.delete(spoilt[:, 2], [3, 5])
    scale = prepare(spoilt).preparation.scale
    assert scale[2] == pytest.approx(without.std())
    assert scale[0] == pytest.approx(X[:, 0].std())


def test_more_far_cells_than_a_few_are_part_of_the_data(table):
    X, _ = table
    spoilt = X.copy()
    spoilt[:4, 1] = 1_000.0
    assert prepare(spoilt).preparation.scale[1] == pytest.approx(spoilt[:, 1].std())


def test_rare_ones_among_zeros_are_not_far():
    X = np.zeros((100, 2))
    X[:2, 0] = 1
    X[:, 1] = np.arange(100)
    assert prepare(X).preparation.scale[0] == pytest.approx(X[:, 0].std())


def test_infinite_cells_are_refused_all_the_same(table):
    X = table[0].copy()
    X[0, 0] = np.inf
    X[1, 0] = 1e4
    with pytest.raises(ValueError, match="infinite values"):
        prepare(X)


def test_minmax_scaling_maps_all_cells_to_0_to_1(table):
    X = table[0].copy()
    X[0, 0] = 1e4
    assert np.max(prepare(X, scaling="minmax").rows()[:]) == pytest.approx(1)


def test_a_column_with_few_known_cells_has_no_far_ones():
    values = np.append(np.linspace(0, 1, 26), [90.0, 91.0])
    few = np.column_stack([np.linspace(0, 1, 60), np.append(values, np.full(32, np.nan))])
    assert prepare(few).preparation.offset[1] == pytest.approx(np.mean(values))
    many = np.column_stack([np.linspace(0, 1, 60), np.append(np.linspace(0, 1, 58), [90.0, 91.0])])
    assert prepare(many).preparation.offset[1] == pytest.approx(np.mean(many[:58, 1]))
