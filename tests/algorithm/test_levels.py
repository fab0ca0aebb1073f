"""The level loop."""

import itertools
import pickle
from functools import partial
from typing import ClassVar

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator

from cohirf.algorithm import contract_batch
from cohirf.algorithm import levels as module
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import split_into_batches
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import (
    ActiveRows,
    FitState,
    LevelRecord,
    Resources,
    contract_level,
    contract_levels,
)
from cohirf.algorithm.parents import Recorded
from cohirf.algorithm.randomness import Draw, generator_at
from cohirf.algorithm.runs import PAPER, Survivors
from cohirf.beyond.batch_steps import WithCompanions
from cohirf.beyond.companions import Companions
from cohirf.data.first_level import contract_rows
from cohirf.rows.storage import ArrayRows, SerialEngine, Storage


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


def line(n, weights=None, *, in_order=False, rows=ArrayRows):
    """Return rows on a line, of which those of weight 0 are not active."""
    active = None if weights is None or weights.all() else np.flatnonzero(weights)
    mass = weights if active is None else weights[active]
    return ActiveRows(rows(np.arange(float(n))[:, None]), active, mass, in_order)


def first_level(active, what, resources=None):
    return contract_rows(active, what, resources or Resources())


def state_after(active, what, max_level=100, resources=None):
    """Return the state after the first level."""
    leaves = first_level(active, what, resources).leaves
    return FitState.of_leaves(leaves, active.values, active.n_rows, max_level, Storage())


def run(
    base, n, max_level=100, weights=None, *, in_order=False, resources=None, steps=PAPER, **options
):
    resources = resources or Resources()
    what = contraction(base, **({"weighted": weights is not None} | options))
    state = state_after(line(n, weights, in_order=in_order), what, max_level, resources)
    return list(contract_levels(state.with_steps(steps), what, max_level, resources))


def test_levels_end_with_one_that_merges_nothing():
    counts = [state.n_active for state in run(Pairs(), 8)]
    assert counts == [4, 2, 1, 1]


def test_levels_end_at_the_largest_number_of_levels():
    states = run(Pairs(), 64, max_level=2)
    assert [state.level for state in states] == [1, 2]
    assert not states[-1].converged


def test_each_level_is_recorded():
    record = run(Pairs(), 8)[0].record
    assert (
        record.level,
        record.n_batches,
        record.rows_in,
        record.rows_held_aside,
        record.rows_out,
    ) == (1, 1, 8, 0, 4)
    assert record.views_kept == 1
    assert np.isnan(record.agreement)
    assert record.base_seconds > 0


@pytest.mark.parametrize("in_order", [False, True])
def test_held_aside_rows_stay_active_and_untouched(in_order):
    active = line(40, in_order=in_order)
    what = contraction(Pairs(), batch_size=10)
    first = first_level(active, what)
    record = state_after(active, what).record
    assert record.n_batches == 3
    assert record.rows_held_aside == 10
    assert len(first.leaves.rows) == 10 + 3 * 5
    assert first.find_leaves(first.leaves.rows).tolist() == list(range(25))
    assert np.isnan(first.part.stability).sum() == 10


def test_rows_read_in_order_carry_their_values_along():
    leaves = first_level(line(40, in_order=True), contraction(Pairs(), batch_size=10)).leaves
    assert leaves.values.take(np.arange(25))[:, 0].tolist() == leaves.rows.tolist()


def test_rows_read_in_order_are_read_once():
    reads = []

    class Counted(ArrayRows):
        def take(self, rows):
            reads.append(rows)
            return super().take(rows)

    what = contraction(Pairs(), batch_size=10)
    *_, last = contract_levels(
        state_after(line(200, in_order=True, rows=Counted), what), what, 100, Resources()
    )
    assert last.n_active == 1
    assert np.concatenate(reads).tolist() == list(range(200))


class PickledTasks:
    """An engine whose tasks go through a pickle, as those of another process do."""

    is_serial = False
    writes_here = False

    def __init__(self):
        self.sizes = []

    def share(self, rows):
        return rows

    def run(self, function, tasks, n_tasks):
        for task in tasks:
            pickled = pickle.dumps(task)
            self.sizes.append(len(pickled))
            yield function(*pickle.loads(pickled))


@pytest.mark.parametrize("in_order", [False, True])
def test_a_task_takes_its_own_rows_to_another_process_and_no_others(in_order):
    engine = PickledTasks()
    state = run(
        Pairs(), 8000, max_level=2, in_order=in_order, batch_size=100, resources=Resources(engine)
    )[-1]
    expected = run(Pairs(), 8000, max_level=2, in_order=in_order, batch_size=100)[-1]
    assert (state.fusions.parents == expected.fusions.parents).all()
    np.testing.assert_array_equal(state.fusions.stability, expected.fusions.stability)
    assert state.record.n_batches > 1
    assert max(engine.sizes) < 8000 * 8 / 3


def test_rows_of_weight_zero_are_not_active():
    weights = np.tile([1.0, 0.0], 20)
    what = contraction(Pairs(), weighted=True)
    first = first_level(line(40, weights), what)
    assert (first.leaves.rows % 2 == 0).all()
    assert np.isnan(first.part.stability[1::2]).all()
    assert run(Pairs(), 40, weights=weights)[-1].n_active == 1


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
    for state in run(Pairs(), 50, weights=weights, batch_size=batch_size, in_order=in_order):
        assert state.active.mass.sum() == pytest.approx(weights.sum())


def test_without_weights_a_medoid_has_as_much_mass_as_it_stands_for_rows():
    assert run(Pairs(), 8, max_level=1, weighted=True)[-1].active.mass.tolist() == [2, 2, 2, 2]


def test_without_summed_mass_a_medoid_counts_as_one_row():
    state = run(Pairs(), 8, weights=np.full(8, 3.0), sum_mass=False, max_level=1)[-1]
    assert state.active.mass.tolist() == [1, 1, 1, 1]


def first_of_each(seen):
    """Return a rule that keeps what it is given, and takes the first row of each cluster."""

    def choose(X, labels, n_clusters, mass, rng):
        seen.append((X, mass, rng.integers(2**62)))
        return np.unique(labels, return_index=True)[1]

    return choose


def contraction_seen_by(seen, base, **options):
    views = Views(BaseMethod.of(base), n_views=1, n_features=1, entropy=(0,))
    return Contraction(
        views, strict_consensus, first_of_each(seen), **({"batch_size": None} | options)
    )


def test_what_a_level_draws_depends_on_its_place():
    seen = []
    what = contraction_seen_by(seen, Alone(), batch_size=10)
    assert len(list(contract_levels(state_after(line(40), what), what, 100, Resources()))) == 2
    places = [(level, batch) for level in (1, 2) for batch in range(3)]
    drawn = [generator_at((0,), Draw.MEDOIDS, *place).integers(2**62) for place in places]
    assert [draw for _, _, draw in seen] == drawn
    splits = [split_into_batches(40, 10, generator_at((0,), Draw.SPLIT, level)) for level in (1, 2)]
    batches = [run.rows.tolist() for split in splits for run in split.runs(np.arange(3))]
    assert [X[:, 0].tolist() for X, _, _ in seen] == batches


def test_missing_cells_count_as_the_mean_of_their_column_when_medoids_are_chosen():
    seen = []
    rows = ActiveRows(ArrayRows(np.array([[1.0], [np.nan], [3.0]])))
    first_level(rows, contraction_seen_by(seen, Alone(), column_means=np.array([7.0])))
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
    run(Seen(), 8, max_level=2, steps=WithCompanions(companions.draw))
    (first, _), (second, _) = Seen.calls
    assert first == 8
    assert 40 < second <= 50


class DensePairs(Pairs):
    def fit_predict(self, X, sample_weight=None):
        return super().fit_predict(X.toarray() if sparse.issparse(X) else X)


@pytest.mark.parametrize("batch_size", [None, 10])
def test_csr_rows_read_in_order_carry_their_values_along(batch_size):
    X = np.arange(1.0, 41)[:, None]
    rows = ActiveRows(ArrayRows(sparse.csr_array(X)), in_order=True)
    leaves = first_level(rows, contraction_seen_by([], DensePairs(), batch_size=batch_size)).leaves
    assert (leaves.values.X.toarray() == X[leaves.rows]).all()


def test_storage_is_released_whenever_enough_rows_were_contracted(monkeypatch):
    class Released(Storage):
        times = 0

        def release(self):
            Released.times += 1

    monkeypatch.setitem(vars(module.STEP), "entries_in_memory", 20)
    fusions = Recorded.unwritten(200, Storage())
    contract_level(
        line(200), 1, contraction(Pairs(), batch_size=10), Resources(storage=Released()), fusions
    )
    assert Released.times == 6  # nineteen batches of ten rows: after every third


class CountedTasks(SerialEngine):
    """An engine that keeps how many tasks it was given each time."""

    def __init__(self):
        super().__init__()
        object.__setattr__(self, "n_tasks", [])

    def run(self, function, tasks, n_tasks):
        self.n_tasks.append(n_tasks)
        return super().run(function, tasks, n_tasks)


@pytest.mark.parametrize(
    ("batch_size", "n_batches", "n_views_at_once"), [(None, 1, [1]), (10, 3, [])]
)
def test_views_run_in_parallel_where_there_is_one_batch_and_batches_where_there_are_several(
    batch_size, n_batches, n_views_at_once
):
    run_engine = CountedTasks()
    view_engine = CountedTasks()
    resources = Resources(run_engine, view_engine)
    first_level(line(40), contraction(Pairs(), batch_size=batch_size), resources=resources)
    assert run_engine.n_tasks == [n_batches]
    assert view_engine.n_tasks == n_views_at_once


def test_medoids_are_chosen_by_the_mass_of_the_rows():
    seen = []
    rows = line(4, np.array([1.0, 2.0, 3.0, 4.0]))
    first_level(rows, contraction_seen_by(seen, Pairs(), weighted=True))
    assert seen[0][1].tolist() == [1, 2, 3, 4]


def test_rows_that_were_contracted_have_a_stability_and_the_choice_of_medoids_a_time(monkeypatch):
    # each look at the clock is a second
    monkeypatch.setattr(contract_batch, "perf_counter", itertools.count().__next__)
    active = line(8)
    what = contraction(Pairs())
    assert first_level(active, what).part.stability.tolist() == [1.0] * 8
    assert state_after(active, what).record.medoid_seconds == 1


class Asked:
    """Keeps what it is asked for, as companions."""

    def __init__(self):
        self.calls = []

    def draw(self, medoids, place):
        self.calls.append((medoids.tolist(), place))


def test_companions_are_drawn_for_the_medoids_and_the_place_of_a_batch():
    companions = Asked()
    what = contraction_seen_by([], Pairs())
    state = state_after(line(8), what).with_steps(WithCompanions(companions.draw))
    list(contract_levels(state, what, 3, Resources()))
    assert companions.calls == [([0, 1, 2, 3], (2, 0)), ([0, 2], (3, 0))]  # numbers of leaves


def test_a_record_has_means_over_rows_and_sums_of_seconds():
    costs = np.array([(2, 0.2, 0.4, 1.0, 2.0, 3.0), (4, 0.6, 0.8, 10.0, 20.0, 30.0)])
    survivors = Survivors(
        rows=np.arange(12),
        values=None,
        mass=None,
        sizes=np.ones(12),
        first_rows=np.arange(12),
        weights=None,
        means=None,
        is_noise=np.zeros(12, dtype=bool),
        stability=np.ones(12, np.float32),
        batch_sizes=np.array([30, 10]),
        batch_costs=costs,
        view_stability=np.ones((2, 1)),
    )
    record = LevelRecord.of(3, 50, survivors)
    sizes = (
        record.level,
        record.n_batches,
        record.rows_in,
        record.rows_held_aside,
        record.rows_out,
    )
    assert sizes == (3, 2, 50, 10, 12)
    assert (record.views_kept, record.agreement, record.stability) == pytest.approx((2.5, 0.3, 0.5))
    assert (record.base_seconds, record.consensus_seconds, record.medoid_seconds) == (11, 22, 33)


def test_active_rows_are_found_by_their_index():
    values = ArrayRows(np.zeros((9, 1)))
    assert ActiveRows(values).find(np.array([4, 2])).tolist() == [4, 2]
    assert ActiveRows(values, np.array([1, 4, 8])).find(np.array([8, 1])).tolist() == [2, 0]
