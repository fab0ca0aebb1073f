"""What a model knows is one state, which is never changed."""

from copy import copy
from dataclasses import FrozenInstanceError, fields

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs

import cohirf
from cohirf import CoHiRF

X, _ = make_blobs(300, centers=4, random_state=0)
VERBS = {
    "fit": lambda model: model.fit(X[:200]),
    "partial_fit": lambda model: model.partial_fit(X[:50] + 40),
    "forget": lambda model: model.forget(np.arange(20)),
    "recluster": lambda model: model.recluster(),
    "name_clusters": lambda model: model.name_clusters(),
    "gather": lambda model: model.gather(),
}
MODELS = {
    "default": CoHiRF(n_clusters=4, random_state=0),
    "blocks": CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0),
    "density": CoHiRF(DBSCAN(1.0), random_state=0),
}


def arrays_of(value, place="state"):
    """Yield the arrays of a state, with their places."""
    if isinstance(value, np.ndarray):
        yield place, value
    elif hasattr(value, "__dataclass_fields__"):
        for part in fields(value):
            yield from arrays_of(getattr(value, part.name), f"{place}.{part.name}")
    elif isinstance(value, tuple):
        for number, part in enumerate(value):
            yield from arrays_of(part, f"{place}.{number}")
    elif hasattr(value, "value"):
        yield from arrays_of(value.value, place)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("verb", VERBS)
def test_a_verb_leaves_the_state_of_a_copy_as_it_was(name, verb):
    model = copy(MODELS[name]).fit(X)
    labels = model.labels_.copy()
    before = {place: array.copy() for place, array in arrays_of(model._state)}
    assert len(before) > 20
    other = copy(model)
    VERBS[verb](other)
    for place, array in arrays_of(model._state):
        np.testing.assert_array_equal(array, before[place], err_msg=place)
    np.testing.assert_array_equal(model.labels_, labels)


def test_a_state_is_frozen():
    state = copy(MODELS["default"]).fit(X)._state
    with pytest.raises(FrozenInstanceError):
        state.names = {0: "first"}


def test_fitted_attributes_are_parts_of_the_state():
    model = copy(MODELS["default"]).fit(X)
    state = model._state
    assert model.medoids_ is state.clusters.medoids
    assert model.landmarks_ is state.landmarks.points
    assert model.labels_ is state.labels
    assert model.hierarchy_ is state.lookups.hierarchy
    np.testing.assert_array_equal(model.labels_[model.landmark_indices_], state.landmarks.labels)
    np.testing.assert_array_equal(X[model.landmark_indices_], model.landmarks_)


def test_results_by_row_follow_an_update_after_they_were_set_by_hand():
    model = copy(MODELS["default"]).fit(X)
    model.labels_ = np.zeros(len(X), dtype=int)
    model.partial_fit(X[:10])
    assert len(model.labels_) == len(X) + 10
    assert model.labels_.max() == 3


def test_rows_whose_values_were_forgotten_have_stand_ins():
    model = CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0)
    for part in np.array_split(X, 3):
        model.partial_fit(part)
    assert len(model.stand_in_indices_) == 0
    model.forget(np.union1d(model._state.summary.value.groups.rows[:5], model.landmark_indices_))
    assert set(model.stand_in_indices_) <= set(model._state.summary.value.groups.rows)
    assert len(model.stand_in_indices_) > 0


def test_a_merge_does_not_change_its_models():
    models = [CoHiRF(n_clusters=2, random_state=0).fit(part) for part in np.array_split(X, 2)]
    states = [model._state for model in models]
    merged = cohirf.merge(models)
    assert [model._state for model in models] == states
    assert merged._state.n_rows == len(X)
