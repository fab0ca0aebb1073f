"""The level loop."""

import pickle
from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import Contraction, FitState, Resources, RowsAtHand, contract_level, contract_levels
from cohirf.algorithm.storage import ArrayRows, MemoryStorage


class Pairs(BaseEstimator):
    """Joins rows two by two along the first feature."""

    def fit_predict(self, X, sample_weight=None):
        return np.argsort(np.argsort(X[:, 0])) // 2


class Alone(BaseEstimator):
    def fit_predict(self, X):
        return np.arange(len(X))


def contraction(base, **options):
    views = Views(BaseMethod.of(base), n_views=1, n_features=1, entropy=(0,))
    medoids = partial(choose_central_medoids, centrality=euclidean_centrality)
    defaults = {"batch_size": None, "sum_mass": True}
    return Contraction(views, strict_consensus, medoids, **(defaults | options))


def first_state(n, weights=None, max_level=100, *, in_order=False):
    at_hand = RowsAtHand(ArrayRows(np.arange(float(n))[:, None]), in_order=in_order)
    return FitState.initial(at_hand, weights, max_level, MemoryStorage())


def levels(base, n, max_level=100, weights=None, *, in_order=False, **options):
    state = first_state(n, weights, max_level, in_order=in_order)
    what = contraction(base, weighted=weights is not None, **options)
    return contract_levels(state, what, max_level, Resources())


def run(*arguments, **options):
    return list(levels(*arguments, **options))


def test_levels_end_with_one_that_merges_nothing():
    counts = [state.n_active for state in run(Pairs(), 8)]
    assert counts == [4, 2, 1, 1]


def test_levels_end_at_the_largest_number_of_levels():
    states = run(Pairs(), 64, max_level=2)
    assert [state.level for state in states] == [1, 2]
    assert not states[-1].converged


def test_each_level_is_recorded():
    record = run(Pairs(), 8)[0].record
    assert (record.level, record.n_batches, record.rows_in, record.rows_held_aside, record.rows_out) == (1, 1, 8, 0, 4)
    assert record.views_kept == 1
    assert np.isnan(record.agreement)
    assert record.base_seconds > 0


@pytest.mark.parametrize("in_order", [False, True])
def test_held_aside_rows_stay_active_and_untouched(in_order):
    state = first_state(40, in_order=in_order)
    after = contract_level(state, contraction(Pairs(), batch_size=10), Resources())
    assert after.record.n_batches == 3
    assert after.record.rows_held_aside == 10
    assert after.n_active == 10 + 3 * 5
    assert (after.absorbed_at == 0).sum() == after.n_active


def test_rows_read_in_order_carry_their_values_along():
    after = contract_level(first_state(40, in_order=True), contraction(Pairs(), batch_size=10), Resources())
    numbers = after.row_numbers(np.arange(after.n_active))
    assert numbers.tolist() == np.flatnonzero(after.absorbed_at == 0).tolist()
    assert after.at_hand.values.take(np.arange(after.n_active))[:, 0].tolist() == numbers.tolist()
    assert after.at_hand.take(numbers[::-1])[:, 0].tolist() == numbers[::-1].tolist()
    assert not after.at_hand.in_order


def test_rows_read_in_order_are_read_once():
    reads = []

    class Counted(ArrayRows):
        def take(self, rows):
            reads.append(rows)
            return super().take(rows)

    at_hand = RowsAtHand(Counted(np.arange(200.0)[:, None]), in_order=True)
    state = FitState.initial(at_hand, None, 100, MemoryStorage())
    *_, last = contract_levels(state, contraction(Pairs(), batch_size=10), 100, Resources())
    assert last.n_active == 1
    assert np.concatenate(reads).tolist() == list(range(200))


class PickledTasks:
    """An engine whose tasks go through a pickle, as those of another process do."""

    is_serial = True

    def __init__(self):
        self.sizes = []

    def run(self, function, tasks, n_tasks):
        for task in tasks:
            pickled = pickle.dumps(task)
            self.sizes.append(len(pickled))
            yield function(*pickle.loads(pickled))


@pytest.mark.parametrize("in_order", [False, True])
def test_a_task_takes_its_own_rows_to_another_process_and_no_others(in_order):
    what = contraction(Pairs(), batch_size=100)
    engine = PickledTasks()
    state = expected = first_state(8000, in_order=in_order)
    for _ in range(2):
        state = contract_level(state, what, Resources(engine))
    for after in levels(Pairs(), 8000, max_level=2, in_order=in_order, batch_size=100):
        expected = after
    assert (state.parents == expected.parents).all()
    assert state.record.n_batches > 1
    assert max(engine.sizes) < expected.at_hand.values.X.nbytes / 3


def test_rows_of_weight_zero_are_not_active():
    weights = np.tile([1.0, 0.0], 20)
    *_, last = levels(Pairs(), 40, weights=weights)
    assert (last.parents[1::2] == np.arange(1, 40, 2)).all()
    assert last.n_active == 1


def test_several_batches_contract_once_per_level_and_the_last_one_to_the_end():
    states = run(Pairs(), 200, batch_size=10)
    batches = [state.record.n_batches for state in states]
    assert batches[0] == 19
    assert batches == sorted(batches, reverse=True)
    assert states[-1].n_active == 1
    assert states[-1].converged


def test_batches_that_merge_nothing_are_reshuffled_once():
    states = run(Alone(), 40, batch_size=10)
    assert len(states) == 2
    assert states[-1].stalled
    assert not states[-1].converged


def test_two_batches_that_merge_nothing_have_not_seen_all_rows():
    states = run(Alone(), 20, batch_size=10)
    assert [state.record.rows_held_aside for state in states] == [10, 10]
    assert states[-1].stalled


@pytest.mark.parametrize("in_order", [False, True])
@pytest.mark.parametrize("batch_size", [None, 10])
def test_mass_is_never_lost(batch_size, in_order):
    weights = np.random.default_rng(0).uniform(1, 2, 50)
    for state in levels(Pairs(), 50, weights=weights, batch_size=batch_size, in_order=in_order):
        assert state.mass.sum() == pytest.approx(weights.sum())


def test_without_weights_a_medoid_has_as_much_mass_as_it_stands_for_rows():
    *_, state = contract_levels(first_state(8), contraction(Pairs(), weighted=True), 1, Resources())
    assert state.mass.tolist() == [2, 2, 2, 2]


def test_without_summed_mass_a_medoid_counts_as_one_row():
    state = run(Pairs(), 8, weights=np.full(8, 3.0), sum_mass=False, max_level=1)[-1]
    assert state.mass.tolist() == [1, 1, 1, 1]


def test_the_first_state_holds_every_row_as_its_own_parent():
    state = first_state(4, max_level=300)
    assert state.row_numbers(np.arange(4)).tolist() == state.parents.tolist() == [0, 1, 2, 3]
    assert state.absorbed_at.dtype == np.uint16
    assert not state.converged
