"""Local batches: rows of cells with halos, whose sizes are bounded."""

from dataclasses import replace
from itertools import chain, pairwise

import numpy as np
import pytest
from scipy import sparse

from cohirf.algorithm.levels import ActiveRows
from cohirf.beyond.local_batches import (
    LocalBatches,
    Locality,
    make_local_batches,
    sort_by_batch,
)
from cohirf.beyond.policy import CELL
from cohirf.rows.storage import ArrayRows, Storage
from cohirf.scratch import ScratchStorage

UNIFORM = np.random.default_rng(0).random((3000, 2))


def batches_of(X, batch_size=300, *, index=None, overlap=0.5, reach=None, seed=0, means=None):
    active = ActiveRows(ArrayRows(X), index)
    return make_local_batches(
        active, Locality(batch_size, overlap, reach, (seed, 1)), means, Storage()
    )


def parts(batches):
    """Return the rows at home in each batch, and those in its halo."""
    home = [batches.home[start:stop].tolist() for start, stop in pairwise(batches.bounds)]
    halo = [batches.halo[start:stop].tolist() for start, stop in pairwise(batches.halo_bounds)]
    return home, halo


def sizes(batches):
    return np.diff(batches.bounds) + np.diff(batches.halo_bounds)


def test_every_row_is_at_home_in_one_batch_and_sorted_in_it():
    home, halo = parts(batches_of(UNIFORM))
    assert sorted(chain(*home)) == list(range(3000))
    assert all(rows == sorted(set(rows)) for rows in home + halo)
    assert not any(set(rows) & set(around) for rows, around in zip(home, halo, strict=True))


def test_a_batch_with_its_halo_has_about_batch_size_rows():
    assert sizes(batches_of(UNIFORM)) == pytest.approx(300, rel=0.2)
    assert sizes(batches_of(UNIFORM, overlap=2.0)) == pytest.approx(300, rel=0.3)


@pytest.mark.parametrize("reach", [None, 0.05])
def test_rows_assigned_in_blocks_are_assigned_as_all_at_once(reach, monkeypatch):
    at_once = parts(batches_of(UNIFORM, reach=reach))
    monkeypatch.setitem(vars(CELL), "assigned_rows", 700)
    assert parts(batches_of(UNIFORM, reach=reach)) == at_once
    monkeypatch.setitem(vars(CELL), "known_bytes", 1)
    assert parts(batches_of(UNIFORM, reach=reach)) == at_once


def test_halos_follow_the_reach_where_there_is_room():
    batches = batches_of(UNIFORM, reach=0.05)
    assert batches.is_exact
    for rows, halo in zip(*parts(batches), strict=True):
        distances = np.linalg.norm(UNIFORM[:, None] - UNIFORM[rows], axis=2).min(axis=1)
        assert set(np.flatnonzero(distances <= 0.05)) <= {*rows, *halo}


def test_cells_are_made_smaller_to_have_room_for_halos():
    narrow = batches_of(UNIFORM, reach=0.02)
    wide = batches_of(UNIFORM, reach=0.1)
    assert narrow.is_exact
    assert wide.is_exact
    assert wide.n_batches > narrow.n_batches
    assert sizes(wide).max() <= CELL.largest_batch * 300


def test_a_reach_that_has_no_room_is_replaced_by_the_overlap():
    batches = batches_of(UNIFORM, reach=0.5)
    assert not batches.is_exact
    assert parts(batches) == parts(batches_of(UNIFORM))


LUMP = np.r_[
    np.random.default_rng(0).random((300, 2)),
    0.5 + np.random.default_rng(0).normal(size=(2700, 2)) * 1e-4,
]
HARD = {
    "one spot": np.ones((3000, 2)),
    "a spot of most rows": np.r_[np.ones((2500, 2)), np.random.default_rng(0).random((500, 2))],
    "constant features": np.c_[
        np.zeros(3000), np.random.default_rng(0).random(3000), np.ones(3000)
    ],
    "a lump in a wide box": LUMP,
    "heavy tails": np.random.default_rng(0).standard_cauchy((3000, 3)),
    "integers": np.random.default_rng(0).integers(3, size=(3000, 4)).astype(float),
    "40 features": np.random.default_rng(0).normal(size=(3000, 40)),
    "sparse": sparse.random_array(
        (3000, 50), density=0.05, format="csr", rng=np.random.default_rng(0)
    ),
}


@pytest.mark.parametrize("reach", [None, 0.01, 10.0])
@pytest.mark.parametrize("kind", HARD)
def test_batches_are_bounded(kind, reach):
    batches = batches_of(HARD[kind], reach=reach)
    assert sorted(batches.home.tolist()) == list(range(3000))
    # rows of a halo are left out at random
    assert sizes(batches).max() <= CELL.largest_batch * 300 * 1.1
    assert np.diff(batches.bounds).min() > 0


def test_a_halo_that_was_thinned_is_not_exact():
    X = np.r_[np.ones((1000, 2)), np.random.default_rng(0).random((2000, 2)) * 100]
    # all rows of the spot are within reach of each of its parts
    batches = batches_of(X, reach=0.01)
    assert not batches.is_exact
    assert sizes(batches).max() <= CELL.largest_batch * 300 * 1.1


def test_rows_of_a_spot_are_in_halos_of_all_other_batches_of_it():
    batches = batches_of(HARD["one spot"])
    for number, halo in enumerate(parts(batches)[1]):
        shared = np.bincount(batches.find_batches(np.array(halo)), minlength=batches.n_batches)
        assert (np.delete(shared, number) >= 1).all()


def test_other_entropy_leaves_out_other_rows():
    ones = np.ones((3000, 2))
    assert parts(batches_of(ones)) == parts(batches_of(ones))
    assert parts(batches_of(ones, seed=1)) != parts(batches_of(ones))


def test_rows_that_are_not_active_are_in_no_batch():
    index = np.flatnonzero(np.arange(3000) % 3)
    ours = batches_of(UNIFORM, index=index)
    alone = batches_of(UNIFORM[index])
    assert parts(ours) == parts(alone)  # positions among the active rows


def test_missing_values_are_filled_before_rows_are_assigned():
    X = UNIFORM.copy()
    filled = UNIFORM.copy()
    X[::7, 0], filled[::7, 0] = np.nan, 0.25
    assert parts(batches_of(X, means=np.array([0.25, 9.0]))) == parts(batches_of(filled))


def test_the_batch_of_each_row_is_found():
    batches = batches_of(UNIFORM)
    for number, rows in enumerate(parts(batches)[0]):
        assert (batches.find_batches(np.array(rows)) == number).all()


@pytest.mark.parametrize("storage", [Storage, ScratchStorage])
@pytest.mark.parametrize("index", [None, np.flatnonzero(np.arange(3000) % 3)])
def test_rows_sorted_by_batch_are_the_same_rows(index, storage):
    active = ActiveRows(ArrayRows(UNIFORM), index)
    active = replace(active, batches=batches_of(UNIFORM, index=index))
    rows = sort_by_batch(active, storage()).values
    for some in (np.arange(3000), np.array([5, 17, 2999])):
        np.testing.assert_array_equal(rows.take(some), UNIFORM[some])


@pytest.mark.parametrize("n_rows", [2, 3, 7])
def test_few_rows_in_tiny_batches(n_rows):
    for X in (UNIFORM[:n_rows], np.ones((n_rows, 2))):
        batches = batches_of(X, 2, reach=0.1)
        assert sorted(batches.home.tolist()) == list(range(n_rows))


@pytest.fixture
def local():
    """Three batches of seven rows, each with a halo."""
    home = np.array([1, 4, 0, 2, 6, 3, 5])
    halo = np.array([0, 1, 4, 6, 2])
    return LocalBatches(np.array([0, 2, 5, 7]), home, halo=halo, halo_bounds=np.array([0, 1, 4, 5]))


def test_a_run_of_local_batches_has_their_rows_and_halos(local):
    one, two = local.runs(np.array([0, 1]))
    assert (one.first_batch, two.first_batch) == (0, 1)
    assert [list(map(list, batch)) for batch in one.with_halos()] == [[[1, 4], [0]]]
    assert [list(map(list, batch)) for batch in two.with_halos()] == [
        [[0, 2, 6], [1, 4, 6]],
        [[3, 5], [2]],
    ]
    assert two.bounds.tolist() == [0, 3, 5]
    assert len(two.held) == 0
    among = one.among(np.array([3, 5, 8, 9, 11, 12, 20]))
    assert [list(map(list, batch)) for batch in among.with_halos()] == [[[5, 11], [3]]]


def test_local_batches_hold_no_row_aside_and_know_where_each_row_is_at_home(local):
    assert local.n_batches == 3
    assert local.starts.tolist() == [0, 1, 2]
    assert len(local.held_aside) == 0
    assert local.find_batches(np.array([6, 1, 5])).tolist() == [1, 0, 2]


def test_local_batches_can_be_read_without_their_halos(local):
    (run,) = local.without_halos().runs(np.array([0]))
    assert [len(halo) for _, halo in run.with_halos()] == [0, 0, 0]
    assert run.indices.tolist() == local.home.tolist()
