"""Runs of blocks that are contracted where their rows are, and what the fit goes on with."""

import sys
from dataclasses import replace

import numpy as np
import pytest
from sklearn.cluster import KMeans

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.first_level import contract_run, gather_survivors, plan_runs, state_after
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import Contraction, FitState, Resources, RowsAtHand, contract_level
from cohirf.algorithm.parents import number_by_first_row
from cohirf.algorithm.storage import ArrayRows, MemoryStorage

N_ROWS = 1000
X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2, N_ROWS)
VIEWS = Views(BaseMethod.of(KMeans(3, n_init=1)), 2, 2, (0, 1, 2, 3), False)
MEDOIDS = lambda *given: choose_central_medoids(*given, centrality=euclidean_centrality)  # noqa: E731
PLAIN = Contraction(VIEWS, strict_consensus, MEDOIDS, batch_size=100)
WEIGHTED = replace(PLAIN, weighted=True, sum_mass=True)


def contract(chunk_starts, contraction=PLAIN, weights=None):
    runs = plan_runs(N_ROWS, contraction, np.array(chunk_starts))
    of_run = [None if weights is None else weights[run.start : run.start + run.length] for run in runs]
    return runs, [contract_run(run, ArrayRows(X), some, contraction) for run, some in zip(runs, of_run, strict=True)]


@pytest.mark.parametrize("chunk_starts", [[0], [0, 500], [0, 10, 20, 30, 990], list(range(0, N_ROWS, 50))])
def test_runs_cover_all_rows_and_begin_in_different_chunks(chunk_starts):
    runs = plan_runs(N_ROWS, PLAIN, np.array(chunk_starts))
    assert [run.start for run in runs] == [0, *(run.start + run.length for run in runs[:-1])]
    assert sum(run.length for run in runs) == N_ROWS
    chunks = np.searchsorted(chunk_starts, [run.start for run in runs], side="right")
    assert len(set(chunks)) == len(runs)
    assert sum(len(run.bounds) - 1 for run in runs) == 9  # ten batches, less what is held aside
    assert sum(len(run.held) for run in runs) == 100


@pytest.mark.parametrize(("contraction", "weights"), [(PLAIN, None), (WEIGHTED, None), (WEIGHTED, WEIGHTS)])
@pytest.mark.parametrize("chunk_starts", [[0], [0, 333, 400]])
def test_the_state_after_runs_is_that_after_the_level(contraction, weights, chunk_starts):
    _, outcomes = contract(chunk_starts, contraction, weights)
    survivors = gather_survivors((outcome.survivors for outcome in outcomes), MemoryStorage())
    state = state_after(survivors, N_ROWS, contraction, 10, MemoryStorage())
    initial = FitState.initial(RowsAtHand(ArrayRows(X), in_order=True), weights, 10, MemoryStorage())
    expected = contract_level(initial, contraction, Resources())

    assert (survivors.rows == expected.at_hand.numbers).all()
    assert (survivors.values.X == expected.at_hand.values.X).all()
    assert (state.mass is None and expected.mass is None) or (state.mass == expected.mass).all()
    assert (state.record.rows_in, state.record.rows_out) == (N_ROWS, len(survivors.rows))
    assert state.record.agreement == expected.record.agreement
    assert state.record.rows_held_aside == expected.record.rows_held_aside

    medoids = np.concatenate([outcome.survivors.rows[outcome.survivor_of] for outcome in outcomes])
    assert (medoids == expected.parents).all()
    rows, first, sizes = np.unique(expected.parents, return_index=True, return_counts=True)
    assert (survivors.rows == rows).all()
    assert (survivors.first_rows == first).all()
    assert (survivors.sizes == sizes).all()
    if weights is not None:
        assert survivors.weights == pytest.approx([weights[expected.parents == row].sum() for row in rows])


def test_an_outcome_tells_how_large_it_is():
    runs, (outcome,) = contract([0])
    assert sys.getsizeof(outcome) > outcome.survivor_of.nbytes + outcome.survivors.values.nbytes
    assert outcome.survivors.rows_in == runs[0].rows_in == N_ROWS - 100
    assert outcome.survivors.rows_out == len(outcome.survivors.rows) - 100


def test_clusters_are_numbered_by_the_first_row_of_any_leaf():
    labels, medoids = number_by_first_row(np.array([0, 1, 2, 1]), np.array([0, 3, 2]), np.array([5, 7, 4, 1]))
    assert labels.tolist() == [2, 0, 1, 0]
    assert medoids.tolist() == [3, 2, 0]
