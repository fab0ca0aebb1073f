"""The level loop."""

from functools import partial

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.choose_medoids import choose_central_medoids, euclidean_centrality
from cohirf.algorithm.consensus import strict_consensus
from cohirf.algorithm.engine import SerialEngine
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import Contraction, FitState, contract_level, contract_levels
from cohirf.sources import ArraySource


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


def levels(base, n, max_level=100, mass=None, **options):
    source = ArraySource(np.arange(float(n))[:, None])
    state = FitState.initial(n, mass, max_level)
    return contract_levels(source, state, contraction(base, **options), max_level, SerialEngine())


def run(*arguments, **options):
    return list(levels(*arguments, **options))


def test_levels_end_with_one_that_merges_nothing():
    counts = [len(state.active) for state in run(Pairs(), 8)]
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


def test_held_aside_rows_stay_active_and_untouched():
    n = 40
    state = FitState.initial(n, None, 10)
    source = ArraySource(np.arange(float(n))[:, None])
    after = contract_level(source, state, contraction(Pairs(), batch_size=10), SerialEngine())
    assert after.record.n_batches == 3
    assert after.record.rows_held_aside == 10
    assert len(after.active) == 10 + 3 * 5
    assert (after.absorbed_at == 0).sum() == len(after.active)


def test_several_batches_contract_once_per_level_and_the_last_one_to_the_end():
    states = run(Pairs(), 200, batch_size=10)
    batches = [state.record.n_batches for state in states]
    assert batches[0] == 19
    assert batches == sorted(batches, reverse=True)
    assert len(states[-1].active) == 1
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


@pytest.mark.parametrize("batch_size", [None, 10])
def test_mass_is_never_lost(batch_size):
    mass = np.random.default_rng(0).uniform(1, 2, 50)
    total = mass.sum()
    for state in levels(Pairs(), 50, mass=mass, batch_size=batch_size):
        assert state.mass[state.active].sum() == pytest.approx(total)


def test_without_summed_mass_a_medoid_counts_as_one_row():
    state = run(Pairs(), 8, mass=np.full(8, 3.0), sum_mass=False, max_level=1)[-1]
    assert state.mass[state.active].tolist() == [1, 1, 1, 1]


def test_the_first_state_holds_every_row_as_its_own_parent():
    state = FitState.initial(4, None, 300)
    assert state.active.tolist() == state.parents.tolist() == [0, 1, 2, 3]
    assert state.absorbed_at.dtype == np.uint16
    assert not state.converged
