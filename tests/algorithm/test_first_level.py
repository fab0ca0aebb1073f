"""The leaves that the first level leaves, and how their results become those of rows."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cohirf.algorithm import first_level as module
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.first_level import FirstLevelHere, label_leaves
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import ActiveRows, FitState, Resources, contract_levels
from cohirf.algorithm.storage import ArrayRows, MemoryStorage

N_ROWS = 600
X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
VIEWS = Views(BaseMethod.of(KMeans(3, n_init=1)), 2, 2, (0, 1, 2, 3))


def medoids(*given):
    return choose_central_medoids(*given, centrality=euclidean_centrality)


WHAT = Contraction(VIEWS, strict_consensus, medoids, batch_size=100)


def fit(*, in_order):
    active = ActiveRows(ArrayRows(X), in_order=in_order)
    first = FirstLevelHere.contract(active, WHAT, 10, Resources())
    state = FitState.of_leaves(first.leaves, active.values, N_ROWS, 10, MemoryStorage())
    *_, last = contract_levels(state, WHAT, 10, Resources())
    return first, last


@pytest.mark.parametrize("in_order", [False, True])
def test_every_row_belongs_to_a_leaf_and_every_leaf_to_itself(in_order):
    first, _ = fit(in_order=in_order)
    leaves = first.leaves
    found = first.find_leaves(np.arange(N_ROWS))
    assert found[leaves.rows].tolist() == list(range(len(leaves.rows)))
    assert np.bincount(found).tolist() == leaves.sizes.tolist()
    assert [np.flatnonzero(found == leaf)[0] for leaf in range(len(leaves.rows))] == leaves.first_rows.tolist()


@pytest.mark.parametrize("in_order", [False, True])
def test_results_of_leaves_are_handed_down_to_their_rows(in_order, monkeypatch):
    monkeypatch.setattr(module, "LABEL_ROWS", 70)  # several blocks
    first, last = fit(in_order=in_order)
    rows, fusions = first.leaves.rows, last.fusions
    leaf_of = first.find_leaves(np.arange(N_ROWS))
    at_first_level = first.fusions.stability.copy()
    labels, _ = label_leaves(last, first.leaves, last.is_noise, 1, np.int32)
    by_row, tree = first.hand_down(last, first.label(labels))
    is_leaf = np.isin(np.arange(N_ROWS), rows)
    assert (by_row.labels == labels[leaf_of]).all()
    assert (by_row.parents[~is_leaf] == rows[leaf_of[~is_leaf]]).all()
    assert (by_row.parents[rows] == rows[fusions.parents]).all()
    assert (by_row.absorbed_at[~is_leaf] == 1).all()
    assert (by_row.absorbed_at[rows] == fusions.absorbed_at).all()
    assert (by_row.stability[~is_leaf] == at_first_level[~is_leaf]).all()
    assert (by_row.stability[rows] == fusions.stability).all()
    assert tree.parents is by_row.parents
    assert tree.rows is None


def test_labels_are_numbered_by_the_first_row_of_any_leaf():
    first, last = fit(in_order=False)
    labels, medoids_of = label_leaves(last, first.leaves, last.is_noise, 1, np.int32)
    of_rows = first.label(labels)
    assert list(dict.fromkeys(of_rows.tolist())) == list(range(len(medoids_of)))
    assert (labels[medoids_of] == np.arange(len(medoids_of))).all()


def test_rows_that_did_not_take_part_join_a_leaf_and_count_for_the_numbering():
    weights = np.r_[0.0, np.ones(N_ROWS - 1)]
    active = ActiveRows(ArrayRows(X), np.flatnonzero(weights), weights[1:])
    first = FirstLevelHere.contract(active, replace(WHAT, weighted=True), 10, Resources())
    last_leaf = len(first.leaves.rows) - 1
    first.join(np.array([0]), np.array([last_leaf]))
    assert first.find_leaves(np.array([0])).tolist() == [last_leaf]
    assert first.leaves.first_rows[last_leaf] == 0
    assert first.fusions.absorbed_at[0] == 1


def test_clusters_that_are_too_small_are_hidden_by_their_rows_or_weights():
    first, last = fit(in_order=False)
    _, all_medoids = label_leaves(last, first.leaves, last.is_noise, 1, np.int32)
    labels, kept = label_leaves(last, first.leaves, last.is_noise, N_ROWS, np.int32)
    assert len(all_medoids) > 1
    assert len(kept) == 0
    assert (labels == -1).all()
