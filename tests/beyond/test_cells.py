"""Cells: each row has one home, no cell is large, and halos miss no row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist

from cohirf.beyond.cells import Cells, NoRoomError
from cohirf.beyond.policy import CELL


def build(X, n_cells, **halos):
    return Cells.build(X, draw_keys(X), n_cells, **halos)


def draw_keys(X):
    return np.random.default_rng(1).random(X.shape[0])


def sizes_of(X, n_cells, **halos):
    """Return the numbers of rows at home in each cell, and in the halo of each."""
    cells = build(X, n_cells, **halos)
    assigned = cells.assign(X, draw_keys(X))
    return tuple(
        np.bincount(numbers, minlength=cells.n_cells) for numbers in (assigned.home, assigned.cells)
    )


def lump_in_a_wide_box(rng):
    X = rng.random((4000, 2)) * 1000
    X[:3600] = 500 + rng.normal(size=(3600, 2)) * 1e-4
    return X


DATA = {
    "uniform": lambda rng: rng.random((4000, 3)),
    "one feature": lambda rng: rng.normal(size=(4000, 1)),
    "40 features": lambda rng: rng.normal(size=(4000, 40)),
    "sparse": lambda rng: sparse.random_array((4000, 40), density=0.1, format="csr", rng=rng),
    "one spot": lambda rng: np.full((4000, 3), 2.5),
    "two spots": lambda rng: np.repeat([[0.0, 1.0], [1.0, 0.0]], [3000, 1000], axis=0),
    "constant features": lambda rng: np.c_[np.zeros(4000), rng.random(4000), np.full(4000, 1e9)],
    "a lump in a wide box": lump_in_a_wide_box,
    "heavy tails": lambda rng: rng.standard_cauchy((4000, 3)),
    "integers with ties": lambda rng: rng.integers(4, size=(4000, 3)).astype(float),
    "one value and few others": lambda rng: np.where(
        rng.random((4000, 4)) < 0.9, 0.0, rng.random((4000, 4))
    ),
    "many features, one spot": lambda rng: np.full((4000, 30), 7.0),
    "neighbouring floats": lambda rng: np.where(
        rng.random((4000, 1)) < 0.5, 1.0, np.nextafter(1.0, 2.0)
    ),
    "single precision": lambda rng: rng.normal(size=(4000, 3)).astype(np.float32),
}
EVERY_KIND = pytest.mark.parametrize("kind", DATA)


@EVERY_KIND
@pytest.mark.parametrize("n_cells", [2, 7, 40])
def test_every_row_has_one_home_and_no_cell_is_large(kind, n_cells):
    X = DATA[kind](np.random.default_rng(0))
    home, _ = sizes_of(X, n_cells, overlap=0.5)
    assert home.sum() == X.shape[0]
    assert len(home) == n_cells
    assert home.max() <= 1.5 * X.shape[0] / n_cells


@EVERY_KIND
def test_a_row_is_not_in_the_halo_of_its_own_cell_and_once_in_others(kind):
    X = DATA[kind](np.random.default_rng(0))
    cells = build(X, 9, overlap=0.5)
    assigned = cells.assign(X, draw_keys(X), start=100)
    assert (assigned.home[assigned.rows - 100] != assigned.cells).all()
    assert len(np.unique(assigned.rows * cells.n_cells + assigned.cells)) == len(assigned.rows)


def dense(X):
    return X.toarray() if sparse.issparse(X) else X


@EVERY_KIND
@pytest.mark.parametrize("share", [0.001, 0.05])
def test_a_halo_of_a_given_width_misses_no_row(kind, share):
    X = DATA[kind](np.random.default_rng(0))[:400]
    distances = cdist(dense(X), dense(X))
    reach = float(np.quantile(distances, share))
    cells = build(X, 6, reach=reach)
    assigned = cells.assign(X, draw_keys(X))
    for cell in range(cells.n_cells):
        at_home = assigned.home == cell
        near = np.flatnonzero((distances[at_home] <= reach).any(axis=0) & ~at_home)
        assert np.isin(near, assigned.rows[assigned.cells == cell]).all()


@pytest.mark.parametrize("overlap", [0.2, 0.5, 1.5])
@pytest.mark.parametrize(
    "kind", ["uniform", "heavy tails", "a lump in a wide box", "one feature", "40 features"]
)
def test_a_halo_has_about_as_many_rows_as_the_overlap_says(kind, overlap):
    home, halo = sizes_of(DATA[kind](np.random.default_rng(0)), 12, overlap=overlap)
    assert halo.sum() == pytest.approx(overlap * home.sum(), rel=0.05)
    assert (halo <= 1.1 * overlap * home + 1).all()


def test_without_overlap_there_is_no_halo():
    _, halo = sizes_of(np.random.default_rng(0).random((1000, 2)), 5, overlap=0.0)
    assert halo.sum() == 0


def test_the_halo_has_the_nearest_rows_outside():
    X = np.linspace(0, 1, 101)[:, None]
    cells = build(X, 2, overlap=0.1)
    assigned = cells.assign(X, draw_keys(X))
    assert sorted(assigned.rows.tolist()) == [45, 46, 47, 48, 49, 50, 51, 52, 53, 54]


def test_blocks_are_assigned_as_all_rows_at_once():
    X = np.random.default_rng(0).normal(size=(1000, 3))
    keys = draw_keys(X)
    cells = build(X, 8, overlap=0.5)
    whole = cells.assign(X, keys)
    blocks = [
        cells.assign(X[start : start + 300], keys[start : start + 300], start)
        for start in range(0, 1000, 300)
    ]
    assert (np.concatenate([block.home for block in blocks]) == whole.home).all()
    pairs = {
        (row, cell) for block in blocks for row, cell in zip(block.rows, block.cells, strict=True)
    }
    assert pairs == set(zip(whole.rows, whole.cells, strict=True))


def test_a_sample_suffices_to_build_cells():
    X = np.random.default_rng(0).normal(size=(20_000, 2))
    cells = build(X[::10], 10, overlap=0.5)
    assigned = cells.assign(X, draw_keys(X))
    home = np.bincount(assigned.home)
    halo = np.bincount(assigned.cells)
    assert home.max() < 1.3 * 2000
    largest = (home + halo).max() / 10
    build(X[::10], 10, overlap=0.5, most=1.15 * largest)
    with pytest.raises(NoRoomError):
        build(X[::10], 10, overlap=0.5, most=0.85 * largest)


@pytest.mark.parametrize("n_features", [CELL.max_axes, CELL.max_axes + 1, 30])
def test_distances_along_the_axes_are_lower_bounds(n_features):
    X = np.random.default_rng(0).normal(size=(200, n_features)) + 5
    points = build(X, 3, overlap=0.5).axes.measure(X)
    assert points.shape == (200, min(n_features, CELL.max_axes))
    assert (cdist(points, points) <= cdist(X, X) + 1e-12).all()


def test_axes_of_a_sparse_matrix_are_those_of_the_same_array():
    X = DATA["sparse"](np.random.default_rng(0))
    ours, same = (build(data, 3, overlap=0.5).axes for data in (X, X.toarray()))
    np.testing.assert_allclose(
        np.abs(ours.measure(X)), np.abs(same.measure(X.toarray())), atol=1e-8
    )


@given(
    seed=st.integers(0, 10**6),
    n_rows=st.integers(1, 60),
    n_features=st.integers(1, 12),
    n_values=st.sampled_from([1, 2, 3, 1000]),
    n_cells=st.integers(1, 80),
    reach=st.sampled_from([None, 0.0, 1.0, 3.0]),
)
def test_any_number_of_cells_of_any_rows(seed, n_rows, n_features, n_values, n_cells, reach):
    X = np.random.default_rng(seed).integers(n_values, size=(n_rows, n_features)).astype(float)
    cells = build(X, n_cells, overlap=0.5, reach=reach)
    assigned = cells.assign(X, draw_keys(X))
    assert 1 <= cells.n_cells <= max(1, min(n_cells, n_rows))
    assert ((assigned.home >= 0) & (assigned.home < cells.n_cells)).all()
    if reach is not None:
        near = cdist(X, X) <= reach
        in_batch = assigned.home[:, None] == np.arange(cells.n_cells)
        has = in_batch.copy()
        has[assigned.rows, assigned.cells] = True
        assert has[near @ in_batch].all()
