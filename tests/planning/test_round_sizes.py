"""Round batch sizes."""

from itertools import pairwise

from cohirf.planning.round_sizes import coarse_sizes, fine_sizes


def test_fine_sizes_do_not_depend_on_the_bounds():
    assert fine_sizes(100, 300) == [110, 130, 150, 180, 220, 260, 300]
    assert fine_sizes(140, 230) == [150, 180, 220]
    assert fine_sizes(5, 4) == []


def test_fine_sizes_are_about_a_fifth_apart():
    steps = [b / a for a, b in pairwise(fine_sizes(50, 10**9))]
    assert min(steps) > 1.1
    assert max(steps) <= 1.25


def test_coarse_sizes_are_one_two_or_five_times_a_power_of_ten():
    assert coarse_sizes(100, 2000) == [100, 200, 500, 1000, 2000]
    assert coarse_sizes(101, 499) == [200]
    assert coarse_sizes(3, 0.5) == []
    assert coarse_sizes(1, 7) == [1, 2, 5]
