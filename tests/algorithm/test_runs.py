"""Runs of batches: what they find, wherever they are contracted."""

import pickle
import sys
from dataclasses import dataclass, fields, replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import Run, split_into_batches
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.parents import Fusions
from cohirf.algorithm.runs import (
    RunTask,
    Survivors,
    contract_run,
    gather_survivors,
    held_aside,
)
from cohirf.rows.storage import ArrayRows, SerialEngine, Storage

N_ROWS = 1000
X = np.random.default_rng(0).normal(size=(N_ROWS, 3))
WEIGHTS = np.random.default_rng(1).uniform(0.5, 2, N_ROWS)
VIEWS = Views(BaseMethod.of(KMeans(3, n_init=1)), 2, 2, (0, 1, 2, 3))


@dataclass(frozen=True)
class Handle:
    """Rows that are not in memory."""

    path: str = "rows"


HANDLE = Handle()


def medoids(*given):
    return choose_central_medoids(*given, centrality=euclidean_centrality)


PLAIN = Contraction(VIEWS, strict_consensus, medoids, batch_size=100)
WEIGHTED = replace(PLAIN, weighted=True, sum_mass=True)


def contract(batches_a_run, contraction=PLAIN, weights=None, *, in_order=True, **options):
    batches = split_into_batches(N_ROWS, 100, np.random.default_rng(5), in_order=in_order)
    runs = batches.runs(np.arange(0, batches.n_batches, batches_a_run))
    tasks = [
        RunTask(
            run,
            1,
            ArrayRows(X),
            None if weights is None else weights[run.rows],
            carry_values=in_order,
            **options,
        )
        for run in runs
    ]
    return tasks, [contract_run(task, contraction, SerialEngine()) for task in tasks]


def together(outcomes):
    return gather_survivors((outcome.survivors for outcome in outcomes), Storage())


@pytest.mark.parametrize(
    ("contraction", "weights"), [(PLAIN, None), (WEIGHTED, None), (WEIGHTED, WEIGHTS)]
)
@pytest.mark.parametrize("in_order", [True, False])
def test_survivors_do_not_depend_on_the_division_into_runs(contraction, weights, in_order):
    found, expected = (
        together(contract(batches_a_run, contraction, weights, in_order=in_order)[1])
        for batches_a_run in (1, 4)
    )
    for name in (
        field.name for field in fields(Survivors) if field.name not in ("values", "batch_costs")
    ):
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    if in_order:
        assert (X[found.rows] == found.values.X).all()
    else:
        assert found.values is None


@pytest.mark.parametrize("in_order", [True, False])
def test_survivors_are_sorted_and_tell_of_the_rows_that_they_represent(in_order):
    tasks, outcomes = contract(3, WEIGHTED, WEIGHTS, in_order=in_order)
    found = together(outcomes)
    assert (np.diff(found.rows) > 0).all()
    parents = np.full(N_ROWS, -1)
    for task, outcome in zip(tasks, outcomes, strict=True):
        parents[task.run.rows] = outcome.parents
    took_part = np.flatnonzero(parents >= 0)
    assert len(took_part) == (N_ROWS if in_order else N_ROWS - 100)
    for row, size, first, weight in zip(
        found.rows, found.sizes, found.first_rows, found.weights, strict=True
    ):
        mine = np.flatnonzero(parents == row)
        assert (len(mine), mine[0]) == (size, first)
        assert weight == pytest.approx(WEIGHTS[mine].sum())
        assert row in mine
    assert found.mass == pytest.approx(found.weights)
    assert found.rows_in == 900
    assert found.rows_out == len(found.rows) - (100 if in_order else 0)


@pytest.mark.parametrize("in_order", [True, False])
def test_a_run_records_its_fusions_or_returns_them(in_order):
    there, here = (Fusions.none(np.zeros(N_ROWS, np.float32), 1, Storage()) for _ in range(2))
    _, recorded = contract(4, in_order=in_order, fusions=there)
    assert all(outcome.survivor_of is None and outcome.stability is None for outcome in recorded)
    for task, outcome in zip(*contract(4, in_order=in_order), strict=True):
        outcome.record(task, here)
    for name in ("parents", "absorbed_at", "stability"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    assert (there.absorbed_at[there.parents == np.arange(N_ROWS)] == 0).all()
    assert (there.absorbed_at[there.parents != np.arange(N_ROWS)] == 1).all()


@pytest.mark.parametrize("in_order", [True, False])
def test_a_pickled_task_finds_the_same(in_order):
    tasks, outcomes = contract(2, in_order=in_order)
    for task, outcome in zip(tasks, outcomes, strict=True):
        found = contract_run(pickle.loads(pickle.dumps(task)), PLAIN, SerialEngine())
        assert (found.survivor_of == outcome.survivor_of).all()
        assert (found.survivors.rows == outcome.survivors.rows).all()


def test_survivors_have_the_mean_of_the_rows_that_they_represent():
    tasks, outcomes = contract(4, replace(WEIGHTED, keeps_means=True), WEIGHTS)
    parents = np.concatenate([outcome.parents for outcome in outcomes])
    assert sum(task.run.length for task in tasks) == N_ROWS
    found = together(outcomes)
    for row, mean in zip(found.rows, found.means, strict=True):
        mine = parents == row
        assert mean == pytest.approx(np.average(X[mine], axis=0, weights=WEIGHTS[mine]))


def test_sparse_rows_have_the_same_survivors():
    run = Run.of_rows(np.arange(50), number=0)
    contraction = replace(PLAIN, keeps_means=True)
    found, expected = (
        contract_run(
            RunTask(run, 1, ArrayRows(rows), carry_values=True), contraction, SerialEngine()
        )
        for rows in (sparse.csr_array(X), X)
    )
    assert (found.parents == expected.parents).all()
    assert (found.survivors.values.toarray() == expected.survivors.values).all()
    assert found.survivors.means.toarray() == pytest.approx(expected.survivors.means)


def test_values_of_sparse_batches_are_joined():
    batches = split_into_batches(N_ROWS, 100, np.random.default_rng(5), in_order=True)
    (run,) = batches.runs(np.array([0]))
    task = RunTask(run, 1, ArrayRows(sparse.csr_array(X)), carry_values=True)
    found = contract_run(task, PLAIN, SerialEngine()).survivors
    assert (found.values.toarray() == X[found.rows]).all()


def test_a_pickled_task_takes_along_a_handle_or_the_rows_that_it_needs():
    run = Run.of_rows(np.array([2, 5]), number=7)
    task = pickle.loads(pickle.dumps(RunTask(run, 4, ArrayRows(X))))
    assert task.values.take(np.array([5, 2])).tolist() == X[[5, 2]].tolist()
    assert len(task.values.numbers) == 2
    assert pickle.loads(pickle.dumps(RunTask(run, 4, HANDLE))).values == HANDLE
    assert pickle.loads(pickle.dumps(RunTask(run, 4, None))).values is None


def test_rows_held_aside_survive_as_they_are():
    found = held_aside(np.array([3, 8]), np.array([1.0, 2.0]), None, None, n_views=4)
    assert found.rows.tolist() == found.first_rows.tolist() == [3, 8]
    assert found.mass.tolist() == [1, 2]
    assert found.sizes.tolist() == [1, 1]
    assert np.isnan(found.stability).all()
    assert found.is_noise.tolist() == [False, False]
    assert (found.rows_in, found.rows_out) == (0, 0)
    assert found.view_stability.shape == (0, 4)


def test_an_outcome_tells_how_large_it_is():
    tasks, (outcome,) = contract(99)
    assert sys.getsizeof(outcome) > outcome.survivor_of.nbytes + outcome.survivors.values.nbytes
    assert outcome.rows_in == tasks[0].rows_in == N_ROWS - 100
    assert outcome.rows_out == len(outcome.survivors.rows) - 100
    assert outcome.n_batches == 9


def test_the_place_of_a_task_is_its_level_and_first_batch():
    run = Run.of_rows(np.array([2, 5]), number=7)
    assert RunTask(run, 4, ArrayRows(X)).place == (4, 7)
    assert not RunTask(run, 4, ArrayRows(X)).keeps_map
    assert RunTask(run, 4, None).keeps_map
    assert not RunTask(run, 4, None).with_values(ArrayRows(X)).keeps_map


def test_a_run_of_given_rows_is_one_batch():
    run = Run.of_rows(np.array([2, 5, 6]), number=7)
    assert (run.n_batches, run.length, run.rows_in, run.first_batch) == (1, 3, 3, 7)
    ((contracted, held),) = run.batches()
    assert run.index(contracted).tolist() == [2, 5, 6]
    assert len(held) == 0
    assert Run.of_rows(np.array([3])).first_batch == 0
