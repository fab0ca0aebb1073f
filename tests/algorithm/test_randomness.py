"""Draws by place."""

import numpy as np
import pytest

from cohirf.algorithm.randomness import Draw, generator_at, root_entropy


def first_draws(entropy, draw, *place):
    return generator_at(entropy, draw, *place).integers(2**62, size=4).tolist()


def test_a_place_draws_the_same_each_time_and_each_place_draws_something_else():
    places = [
        ((1, 2), Draw.VIEW, 1, 0),
        ((1, 3), Draw.VIEW, 1, 0),
        ((1, 2), Draw.MEDOIDS, 1, 0),
        ((1, 2), Draw.VIEW, 0, 1),
        ((1, 2), Draw.VIEW, 1),
    ]
    draws = [first_draws(*place) for place in places]
    assert draws == [first_draws(*place) for place in places]
    assert len({tuple(numbers) for numbers in draws}) == len(places)


@pytest.mark.parametrize("entropy", [(5,), (0, 1, 2**31 - 1, 7), (1, 2, 3, 4, 5)])
def test_places_are_spawn_keys(entropy):
    sequence = np.random.SeedSequence(entropy, spawn_key=(int(Draw.VIEW), 1, 2**31, 0))
    expected = np.random.default_rng(sequence).integers(2**62, size=4).tolist()
    assert first_draws(entropy, Draw.VIEW, 1, 2**31, 0) == expected


def test_entropy_follows_from_the_random_state_alone():
    assert root_entropy(0) == root_entropy(0) == root_entropy(np.random.RandomState(0))
    assert root_entropy(0) != root_entropy(1)
    assert root_entropy(None) != root_entropy(None)


def test_entropy_has_four_words_of_31_bits():
    words = [word for seed in range(50) for word in root_entropy(seed)]
    assert len(words) == 200
    assert all(type(word) is int for word in words)
    assert 0 <= min(words) < 2**25
    assert 2**31 - 2**25 < max(words) < 2**31
