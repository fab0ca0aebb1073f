"""Pairs of rows that fused, against pairs that the base method puts together."""

from itertools import combinations

import numpy as np
import pytest

from cohirf import FusionHierarchy
from cohirf.diagnosis.preservation import compare_pairs, follow_levels, separate_noise


def test_shares_are_those_of_pairs():
    rng = np.random.default_rng(0)
    labels, alone = rng.integers(0, 3, 20), rng.integers(-1, 3, 20)
    pairs = list(combinations(range(20), 2))
    fused = {pair for pair in pairs if labels[pair[0]] == labels[pair[1]]}
    together = {pair for pair in pairs if alone[pair[0]] == alone[pair[1]] >= 0}
    found = compare_pairs(1, 3, labels, alone)
    assert found.precision == pytest.approx(len(fused & together) / len(fused))
    assert found.recall == pytest.approx(len(fused & together) / len(together))


def test_where_nothing_fused_nothing_is_wrong():
    found = compare_pairs(1, 4, np.arange(4), np.array([0, 0, 1, 1]))
    assert (found.precision, found.recall) == (1, 0)


def test_levels_are_followed_on_the_rows_of_the_sample():
    # rows 0-1 and 2-3 fuse at level 1, and all four at level 2
    hierarchy = FusionHierarchy([0, 0, 0, 2], [0, 1, 2, 1])
    first, second = follow_levels(hierarchy, np.arange(4), np.array([0, 0, 1, 1]))
    assert (first.level, first.n_clusters, first.precision, first.recall) == (1, 2, 1, 1)
    assert (second.level, second.n_clusters, second.precision) == (2, 1, pytest.approx(1 / 3))
    assert follow_levels(hierarchy, np.array([1, 3]), np.array([0, 1]))[0].precision == 1


def test_each_row_of_noise_is_a_cluster():
    assert separate_noise(np.array([0, -1, 0, -1])).tolist() == [0, 1, 0, 2]
    assert separate_noise(np.array([-1, -1])).tolist() == [1, 2]
