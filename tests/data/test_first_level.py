"""The leaves of the first level, the leaf of each row, and results by row, for rows in any
place.
"""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

import cohirf
from cohirf import CoHiRF
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import ActiveRows, FitState, Resources, contract_levels
from cohirf.beyond.merge_tree import MergeTree
from cohirf.data import first_level as module
from cohirf.data.first_level import RowReader, contract_rows, map_block
from cohirf.fitting.results import label_leaves
from cohirf.rows.grouping import row_blocks
from cohirf.rows.storage import ArrayRows, ArrayWeights, Storage
from cohirf.scratch import ScratchStorage
from cohirf.summary import vectors
from cohirf.summary.rows import Part, RowMap, RowResults

N_ROWS = 600
X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
VIEWS = Views(BaseMethod.of(KMeans(3, n_init=1)), 2, 2, (0, 1, 2, 3))


def medoids(*given):
    return choose_central_medoids(*given, centrality=euclidean_centrality)


WHAT = Contraction(VIEWS, strict_consensus, medoids, batch_size=100)


def fit(*, in_order, batch_size=100):
    active = ActiveRows(ArrayRows(X), in_order=in_order)
    what = replace(WHAT, batch_size=batch_size)
    first = contract_rows(active, what, Resources())
    state = FitState.of_leaves(first.leaves, active.values, N_ROWS, 10, Storage())
    *_, last = contract_levels(state, what, 10, Resources())
    return first, last


@pytest.mark.parametrize(("in_order", "batch_size"), [(False, 100), (True, 100), (False, None)])
def test_every_row_belongs_to_a_leaf_and_every_leaf_to_itself(in_order, batch_size, monkeypatch):
    monkeypatch.setitem(vars(module.DATA), "numbered_rows", 70)  # several blocks
    first, _ = fit(in_order=in_order, batch_size=batch_size)
    leaves = first.leaves
    found = first.find_leaves(np.arange(N_ROWS))
    assert found[leaves.rows].tolist() == list(range(len(leaves.rows)))
    assert np.bincount(found).tolist() == leaves.sizes.tolist()
    assert [
        np.flatnonzero(found == leaf)[0] for leaf in range(len(leaves.rows))
    ] == leaves.first_rows.tolist()


def in_file(vector):
    return ScratchStorage().store(vector)


def on_dask(vector):
    return pytest.importorskip("dask.array").from_array(vector, chunks=170)


def on_device(vector):
    return pytest.importorskip("torch").from_numpy(vector)


PLACES = {"memory": np.array, "file": in_file, "Dask": on_dask, "device": on_device}


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("in_order", [False, True])
def test_results_of_leaves_are_looked_up_for_their_rows_in_any_place(place, in_order, monkeypatch):
    monkeypatch.setitem(vars(vectors.KEEP), "block_rows", 70)  # several blocks
    first, last = fit(in_order=in_order)
    rows = first.leaves.rows
    fusions = last.fusions
    leaf_of = first.find_leaves(np.arange(N_ROWS))
    at_first_level = np.array(first.part.stability)
    labels, _ = label_leaves(last, first.leaves, last.is_noise, 1, np.int32)
    tree = MergeTree(np.arange(0), np.empty((0, 4)), 1)
    there = RowMap((first.part.mapped(PLACES[place]),))
    results = RowResults.of(there, rows, labels, first.leaves.sizes, fusions)
    for found in (results, results.gathered()):
        by_row = found.look_up(tree)
        of_rows, parents, stability = (
            np.asarray(each) for each in (found.look_up_labels(), by_row.parents, by_row.stability)
        )
        is_leaf = np.isin(np.arange(N_ROWS), rows)
        assert (of_rows == labels[leaf_of]).all()
        assert (parents[~is_leaf] == rows[leaf_of[~is_leaf]]).all()
        assert (parents[rows] == rows[fusions.parents]).all()
        assert (stability[~is_leaf] == at_first_level[~is_leaf]).all()
        assert (stability[rows] == fusions.stability).all()
        if found.row_map.elsewhere is None:
            absorbed_at = by_row.hierarchy.absorbed_at
            assert (absorbed_at[~is_leaf] == 1).all()
            assert (absorbed_at[rows] == fusions.absorbed_at).all()
        else:
            assert by_row.hierarchy.rows.tolist() == rows.tolist()
            assert by_row.hierarchy.row_sizes.sum() == N_ROWS


@pytest.mark.parametrize("place", PLACES)
def test_entries_of_some_rows_are_fetched_changed_and_counted_in_any_place(place):
    part = Part(np.arange(N_ROWS) % 7, np.arange(N_ROWS, dtype=np.float32), np.arange(7)).mapped(
        PLACES[place]
    )
    rows = np.array([0, 169, 170, 599])
    assert part.find_leaves(rows).tolist() == [0, 1, 2, 4]
    changed = part.with_leaves(rows, np.array([6, 5, 4, 3]))
    assert changed.find_leaves(np.array([0, 1, 169, 170, 171, 599])).tolist() == [6, 1, 5, 4, 3, 3]
    expected = np.bincount(np.delete(np.arange(N_ROWS) % 7, rows), minlength=7) + np.array(
        [0, 0, 0, 1, 1, 1, 1]
    )
    assert RowMap((changed,)).count(7).tolist() == expected.tolist()


def test_labels_are_numbered_by_the_first_row_of_any_leaf():
    first, last = fit(in_order=False)
    labels, medoids_of = label_leaves(last, first.leaves, last.is_noise, 1, np.int32)
    of_rows = first.label(labels)
    assert list(dict.fromkeys(of_rows.tolist())) == list(range(len(medoids_of)))
    assert (labels[medoids_of] == np.arange(len(medoids_of))).all()


@pytest.mark.parametrize("batch_size", [None, 100])
def test_rows_that_did_not_take_part_join_a_leaf_and_count_for_the_numbering(batch_size):
    weights = np.r_[0.0, np.ones(N_ROWS - 1)]
    active = ActiveRows(ArrayRows(X), np.flatnonzero(weights), weights[1:])
    first = contract_rows(active, replace(WHAT, weighted=True, batch_size=batch_size), Resources())
    last_leaf = len(first.leaves.rows) - 1
    first.join(np.array([0]), np.array([last_leaf]))
    assert first.find_leaves(np.array([0])).tolist() == [last_leaf]
    assert first.leaves.first_rows[last_leaf] == 0


def test_clusters_that_are_too_small_are_hidden_by_their_rows_or_weights():
    first, last = fit(in_order=False)
    _, all_medoids = label_leaves(last, first.leaves, last.is_noise, 1, np.int32)
    labels, kept = label_leaves(last, first.leaves, last.is_noise, N_ROWS, np.int32)
    assert len(all_medoids) > 1
    assert len(kept) == 0
    assert (labels == -1).all()


class Counted(ArrayRows):
    """Rows of a file: notes how many are read at a time."""

    most = 0

    def take(self, rows):
        Counted.most = max(Counted.most, len(rows))
        return self.X[rows]


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("weighted", [False, True])
def test_means_of_leaves_are_read_block_by_block(kind, weighted, monkeypatch):
    monkeypatch.setitem(vars(module.DATA), "mapped_rows", 50)
    monkeypatch.setattr(Counted, "most", 0)
    leaf_of = np.arange(N_ROWS) % 5
    leaf_of[:120] = 0  # the first blocks have one leaf only
    mass = np.random.default_rng(1).random(N_ROWS)
    mass[100:250] = 0  # and all rows of some blocks have the weight 0
    mass = mass if weighted else np.ones(N_ROWS)
    values = in_file(X) if kind is np.asarray else kind(X)
    rows = (
        RowReader(Counted(values))
        if kind is np.asarray
        else RowReader(SimpleNamespace(take=Counted(values).take))
    )
    found = rows.count(leaf_of, 5, ArrayWeights(mass) if weighted else None)
    expected = np.array(
        [np.average(X[leaf_of == leaf], axis=0, weights=mass[leaf_of == leaf]) for leaf in range(5)]
    )
    np.testing.assert_allclose(
        found.means if kind is np.asarray else found.means.toarray(), expected
    )
    assert Counted.most == 50
    assert found.sizes.tolist() == np.bincount(leaf_of, weights=mass > 0).tolist()
    assert found.first_rows.tolist() == [0, 121, 122, 123, 124]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_model_of_ordinary_rows_and_one_far_away_is_gathered_from_a_device(tmp_path):
    torch = pytest.importorskip("torch")
    rows = np.random.default_rng(0).normal(size=(500, 4)).astype(np.float32)
    rows[3] = 1e10  # the cells of ordinary rows cannot be told apart beside it
    model = CoHiRF(n_clusters=4, random_state=0).fit(torch.from_numpy(rows))
    there = model.labels_.numpy().copy()
    gathered = model.gather()
    assert (gathered.labels_ == there).all()
    assert gathered.hierarchy_.n_rows == 500
    model.save(tmp_path / "model")
    assert (cohirf.load(tmp_path / "model").labels_ == there).all()


def test_blocks_of_rows_are_written_to_their_places(monkeypatch):
    monkeypatch.setattr("cohirf.data.first_level.row_blocks", lambda n: row_blocks(n, 4))
    X = np.arange(22.0)[:, None]
    found = np.zeros(12)
    map_block(found, ArrayRows(X), None, lambda rows: rows[:, 0], slice(0, 10))
    assert found.tolist() == [*range(10), 0, 0]
