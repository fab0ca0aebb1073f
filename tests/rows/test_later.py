"""Values that are made when they are first asked for."""

import pickle
import weakref

import numpy as np
import pytest

from cohirf.rows.later import Later


class Ingredients:
    """What a value is made from; counts how often that happens."""

    def __init__(self):
        self.n_made = 0

    def make(self):
        self.n_made += 1
        return "a value"


def test_a_value_is_made_once_and_shared():
    ingredients = Ingredients()
    later = Later(ingredients.make)
    assert ingredients.n_made == 0
    assert later.value is later.value
    assert ingredients.n_made == 1


def test_what_a_value_was_made_from_is_not_kept():
    ingredients = Ingredients()
    later = Later(ingredients.make)
    seen = weakref.ref(ingredients)
    del ingredients
    assert seen() is not None
    assert later.value == "a value"
    assert seen() is None


def test_a_value_that_fails_is_made_again():
    failing = iter([False, True])

    def make():
        if not next(failing):
            raise MemoryError
        return "a value"

    later = Later(make)
    with pytest.raises(MemoryError):
        str(later.value)
    assert later.value == "a value"


def test_none_can_be_known():
    assert Later.known(None).value is None


def test_a_pickle_has_the_value_or_what_makes_it():
    for later in (Later(np.random.default_rng(0).random), Later.known(3.0)):
        copied = pickle.loads(pickle.dumps(later))
        assert copied.value == later.value
