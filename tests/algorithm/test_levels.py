"""The level loop."""

import itertools
import pickle
from dataclasses import replace
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from cohirf.algorithm import levels as module
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import split_into_batches
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.companions import Companions
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.engine import SerialEngine
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import (
    Contraction,
    FitState,
    Resources,
    RowsAtHand,
    contract_level,
    contract_levels,
    record_level,
)
from cohirf.algorithm.randomness import Draw, generator_at
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


def first_of_each(seen):
    """Return a rule that keeps what it is given, and takes the first row of each cluster."""

    def choose(X, labels, n_clusters, mass, rng):
        seen.append((X, mass, rng.integers(2**62)))
        return np.unique(labels, return_index=True)[1]

    return choose


def contraction_seen_by(seen, base, **options):
    views = Views(BaseMethod.of(base), n_views=1, n_features=1, entropy=(0,))
    return Contraction(views, strict_consensus, first_of_each(seen), **({"batch_size": None} | options))


def test_what_a_level_draws_depends_on_its_place():
    seen = []
    what = contraction_seen_by(seen, Alone(), batch_size=10)
    assert len(list(contract_levels(first_state(40), what, 100, Resources()))) == 2
    places = [(level, batch) for level in (1, 2) for batch in range(3)]
    drawn = [generator_at((0,), Draw.MEDOIDS, *place).integers(2**62) for place in places]
    assert [draw for _, _, draw in seen] == drawn
    batches = [batch for level in (1, 2) for batch in split_into_batches(40, 10, generator_at((0,), Draw.SPLIT, level))]
    assert [X[:, 0].tolist() for X, _, _ in seen] == [batch.contracted.tolist() for batch in batches]


def test_missing_cells_count_as_the_mean_of_their_column_when_medoids_are_chosen():
    seen = []
    at_hand = RowsAtHand(ArrayRows(np.array([[1.0], [np.nan], [3.0]])))
    state = FitState.initial(at_hand, None, 100, MemoryStorage())
    contract_level(state, contraction_seen_by(seen, Alone(), column_means=np.array([7.0])), Resources())
    assert seen[0][0].tolist() == [[1], [7], [3]]


class Seen(Pairs):
    """Joins rows two by two, and keeps how many rows it saw and their weights."""

    calls: ClassVar[list] = []

    def fit_predict(self, X, sample_weight=None):
        self.calls.append((len(X), None if sample_weight is None else sample_weight.tolist()))
        return super().fit_predict(X)


def test_the_base_method_sees_the_mass_of_the_rows():
    Seen.calls.clear()
    run(Seen(), 8, weights=np.full(8, 3.0), max_level=2)
    assert Seen.calls == [(8, [3.0] * 8), (4, [6.0] * 4)]


def test_companions_are_shown_from_the_second_level_on():
    Seen.calls.clear()
    companions = Companions(ArrayRows(np.arange(100.0)[:, None]), (0,), 50)
    resources = Resources(companions=companions)
    list(contract_levels(first_state(8), contraction(Seen()), 2, resources))
    (first, _), (second, _) = Seen.calls
    assert first == 8
    assert 40 < second <= 50


@pytest.mark.parametrize("numbers", [None, np.array([2, 3, 5, 9])])
def test_rows_are_taken_by_their_numbers_in_the_order_given(numbers):
    rows = RowsAtHand(ArrayRows(np.arange(4.0)[:, None] + 10), numbers)
    wanted = [3, 0, 2] if numbers is None else [9, 2, 5]
    assert rows.take(np.array(wanted))[:, 0].tolist() == [13, 10, 12]


class DensePairs(Pairs):
    def fit_predict(self, X, sample_weight=None):
        return super().fit_predict(X.toarray() if sparse.issparse(X) else X)


def test_csr_rows_read_in_order_carry_their_values_along():
    X = np.arange(1.0, 41)[:, None]
    for batch_size in (None, 10):
        at_hand = RowsAtHand(ArrayRows(sparse.csr_array(X)), in_order=True)
        state = FitState.initial(at_hand, None, 100, MemoryStorage())
        after = contract_level(state, contraction_seen_by([], DensePairs(), batch_size=batch_size), Resources())
        numbers = after.row_numbers(np.arange(after.n_active))
        assert (after.at_hand.values.X.toarray() == X[numbers]).all()


def test_storage_is_released_whenever_enough_rows_were_contracted(monkeypatch):
    class Released(MemoryStorage):
        times = 0

        def release(self):
            Released.times += 1

    monkeypatch.setattr(module, "RELEASE_ROWS", 20)
    contract_level(first_state(200), contraction(Pairs(), batch_size=10), Resources(storage=Released()))
    assert Released.times == 6  # nineteen batches of ten rows: after every third


class CountedTasks(SerialEngine):
    """An engine that keeps how many tasks it was given each time."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "n_tasks", [])

    def run(self, function, tasks, n_tasks):
        self.n_tasks.append(n_tasks)
        return super().run(function, tasks, n_tasks)


@pytest.mark.parametrize(("batch_size", "n_batches", "n_views_at_once"), [(None, 1, [1]), (10, 3, [])])
def test_views_run_in_parallel_where_there_is_one_batch_and_batches_where_there_are_several(
    batch_size, n_batches, n_views_at_once
):
    batch_engine, view_engine = CountedTasks(), CountedTasks()
    contract_level(first_state(40), contraction(Pairs(), batch_size=batch_size), Resources(batch_engine, view_engine))
    assert batch_engine.n_tasks == [n_batches]
    assert view_engine.n_tasks == n_views_at_once


def test_medoids_are_chosen_by_the_mass_of_the_rows():
    seen = []
    state = first_state(4, np.array([1.0, 2.0, 3.0, 4.0]))
    contract_level(state, contraction_seen_by(seen, Pairs(), weighted=True), Resources())
    assert seen[0][1].tolist() == [1, 2, 3, 4]


def test_rows_that_were_contracted_have_a_stability_and_the_choice_of_medoids_a_time(monkeypatch):
    monkeypatch.setattr(module, "perf_counter", itertools.count().__next__)  # each look at the clock is a second
    after = contract_level(first_state(8), contraction(Pairs()), Resources())
    assert after.stability.tolist() == [1.0] * 8
    assert after.record.medoid_seconds == 1


class Asked:
    """Keeps what it is asked for, as companions or as a tally of features."""

    def __init__(self):
        self.calls = []

    def draw(self, medoids, place):
        self.calls.append((medoids.tolist(), place))

    def add(self, place, n_rows, of_view):
        self.calls.append((place, n_rows, of_view.tolist()))


def test_companions_are_drawn_for_the_medoids_and_the_place_of_a_batch():
    companions = Asked()
    list(contract_levels(first_state(8), contraction_seen_by([], Pairs()), 3, Resources(companions=companions)))
    assert companions.calls == [([0, 2, 4, 6], (2, 0)), ([0, 4], (3, 0))]


def test_each_batch_is_told_to_the_tally_of_features():
    tally = Asked()
    after = contract_level(replace(first_state(40), tally=tally), contraction(Pairs(), batch_size=10), Resources())
    assert after.tally is tally
    assert tally.calls == [((1, batch), 10, [1.0]) for batch in range(3)]


def test_a_record_has_means_over_rows_and_sums_of_seconds():
    costs = [(2, 0.2, 0.4, 1.0, 2.0, 3.0), (4, 0.6, 0.8, 10.0, 20.0, 30.0)]
    record = record_level(3, 50, 12, [30, 10], costs)
    assert (record.level, record.n_batches, record.rows_in, record.rows_held_aside, record.rows_out) == (
        3,
        2,
        50,
        10,
        12,
    )
    assert (record.views_kept, record.agreement, record.stability) == pytest.approx((2.5, 0.3, 0.5))
    assert (record.base_seconds, record.consensus_seconds, record.medoid_seconds) == (11, 22, 33)
