"""The history of a model has a short step for each update."""

import numpy as np
from sklearn.cluster import DBSCAN, KMeans

from cohirf import CoHiRF, merge
from cohirf.app.explain.results import say_events
from cohirf.summary.numbers import Changes, Step, Totals, continue_history
from cohirf.summary.policy import HISTORY

LEFT, RIGHT, FAR = np.random.default_rng(0).normal(size=(3, 100, 2)) * 0.2 + [
    [[0, 0]],
    [[3, 0]],
    [[9, 9]],
]
BRIDGE = np.column_stack([np.linspace(0, 3, 100), np.zeros(100)])


def test_a_fit_and_an_update_are_two_steps():
    model = CoHiRF(DBSCAN(0.4), random_state=0).fit(np.vstack([LEFT, RIGHT]))
    assert model.history_ == ()
    model.partial_fit(np.vstack([BRIDGE, FAR]))
    fitted, updated = model.history_
    assert (fitted.update, fitted.n_added, fitted.sizes, say_events(fitted, {})) == (
        0,
        200,
        {0: 100, 1: 100},
        [],
    )
    assert (updated.update, updated.n_added, updated.n_rows, updated.n_clusters) == (1, 200, 400, 2)
    assert updated.sizes == {0: 300, 2: 100}
    assert (updated.born, updated.merged, updated.n_moved) == ([2], [(0, 1)], 100)
    assert say_events(updated, {}) == ["new: 2", "merged: 1 → 0"]


def test_the_first_update_has_no_events():
    model = CoHiRF(DBSCAN(0.4), random_state=0).partial_fit(np.vstack([LEFT, RIGHT]))
    assert [str(step) for step in model.history_] == [""]


def test_a_fit_begins_another_history():
    model = CoHiRF(DBSCAN(0.4), random_state=0).partial_fit(LEFT).partial_fit(RIGHT)
    assert len(model.history_) == 2
    assert model.fit(LEFT).history_ == ()


def test_rows_that_are_forgotten_are_a_step():
    model = (
        CoHiRF(DBSCAN(0.4), random_state=0).partial_fit(LEFT).partial_fit(RIGHT).forget(updates=1)
    )
    assert (model.history_[-1].n_added, model.history_[-1].n_rows, model.history_[-1].gone) == (
        -100,
        100,
        [1],
    )
    assert str(model.history_[-1]) == "gone: 1"


def test_a_step_lists_the_largest_clusters():
    labels = np.arange(HISTORY.clusters + 5)
    step = Step.of(Changes(1, 9), labels, np.arange(1, len(labels) + 1))
    assert list(step.sizes) == list(range(5, len(labels)))
    assert step.n_clusters == len(labels)


def test_old_steps_leave():
    step = Step.first(np.array([0, -1]), np.array([3, 2]))
    assert (step.n_rows, step.n_noise) == (5, 2)
    history = (step,) * HISTORY.steps
    assert len(continue_history(history, step)) == HISTORY.steps


def test_adds_merges_forgets_and_reclusters_are_counted_apart():
    model = CoHiRF(KMeans(2, n_init=1), random_state=0).fit(np.vstack([LEFT, RIGHT]))
    model.partial_fit(LEFT).partial_fit(RIGHT).forget([0, 1, 2]).recluster()
    merged = merge(
        [model, CoHiRF(KMeans(2, n_init=1), random_state=0).fit(np.vstack([LEFT, RIGHT]))]
    )
    assert [step.verb for step in merged.history_] == [
        "update",
        "update",
        "update",
        "forget",
        "recluster",
        "merge",
    ]
    totals = Totals.of(merged.history_)
    assert (totals.n_added, totals.n_merged, totals.n_forgotten, totals.n_reclusters) == (
        200,
        200,
        3,
        1,
    )
    assert str(totals) == (
        "2 updates added 200 rows; 1 merge added 200 rows; 3 rows forgotten in 1 call; clusters "
        "found anew 1 time"
    )
