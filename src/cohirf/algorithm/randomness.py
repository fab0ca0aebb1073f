"""Randomness by place: random numbers depend on the place of a step, such as (level, batch, view),
not on the order.

So a fit gives the same labels whether its views and batches run one after the other, in threads, in
processes or after a restart.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Entropy = tuple[int, ...]


class Draw(IntEnum):
    """The purpose of random numbers: the first part of every place."""

    SPLIT = 0
    VIEW = 1
    MEDOIDS = 2
    LANDMARKS = 3
    SCREEN = 6
    COMPANIONS = 7
    CHOICE = 8
    CELLS = 9


def root_entropy(random_state: Any) -> Entropy:
    """Turn scikit-learn's ``random_state`` into the entropy that, with a place, seeds each
    generator.
    """
    words = check_random_state(random_state).randint(0, 2**31, size=4)
    return tuple(int(word) for word in words)


def draw_keys(numbers: NDArray[np.integer[Any]], entropy: Entropy) -> NDArray[np.float64]:
    """Return a random number in [0, 1) for each of the given numbers, which depends on it and the
    entropy alone.
    """
    mixed = numbers.astype(np.uint64) + np.uint64(entropy[0] if entropy else 0)
    with np.errstate(over="ignore"):
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11), dtype=np.float64) / 2**53


def generator_at(entropy: Entropy, draw: Draw, *place: int) -> np.random.Generator:
    """Return the random generator of a ``place``, for instance (level, batch, view).

    It is that of ``SeedSequence(entropy, spawn_key=(draw, *place))``, which begins with at least
    four words of entropy. An array of words seeds it in half of the time, which matters for small
    batches.
    """
    padding = (0,) * (4 - len(entropy))
    return np.random.default_rng(np.array((*entropy, *padding, draw, *place), dtype=np.uint32))
