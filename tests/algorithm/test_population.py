"""Rows that take part in a fit."""

import numpy as np
import pytest

from cohirf.algorithm.population import ArrayWeights, Population
from cohirf.algorithm.storage import ArrayRows

X = np.arange(20.0).reshape(10, 2)
WEIGHTS = np.array([0, 1, 0, 2, 3, 0, 0.5, 0, 0, 1])


@pytest.mark.parametrize(("weights", "taking_part"), [(None, list(range(10))), (WEIGHTS, [1, 3, 4, 6, 9])])
def test_distinct_rows_that_take_part_are_drawn(weights, taking_part):
    population = Population(ArrayRows(X), None if weights is None else ArrayWeights(weights))
    assert population.n_rows == len(taking_part)
    assert sorted(population.draw(99, np.random.default_rng(0)).tolist()) == taking_part
    some = population.draw(3, np.random.default_rng(0)).tolist()
    assert len(set(some)) == 3
    assert set(some) <= set(taking_part)


@pytest.mark.parametrize("weights", [None, WEIGHTS])
def test_a_task_contracts_its_rows_with_their_weights(weights):
    rows = np.array([1, 3, 9])
    task = Population(ArrayRows(X), None if weights is None else ArrayWeights(weights)).task(rows, (7, 2))
    assert task.run.rows.tolist() == [1, 3, 9]
    assert task.run.held.tolist() == []
    assert task.run.n_batches == 1
    assert (None if task.mass is None else task.mass.tolist()) == (None if weights is None else [1, 2, 1])
    assert task.place == (7, 2)
    assert not task.carry_values
    assert task.fusions is None


def test_gathered_rows_are_a_population_of_their_own():
    gathered = Population(ArrayRows(X), ArrayWeights(WEIGHTS)).gather(np.array([3, 4, 9]))
    assert gathered.values.take(np.array([0, 2])).tolist() == X[[3, 9]].tolist()
    assert gathered.weights.take(np.arange(3)).tolist() == [2, 3, 1]
    assert Population(ArrayRows(X)).gather(np.array([3])).weights is None
