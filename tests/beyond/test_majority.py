"""Majority consensus, compared with a literal transcription on rows and with scipy's average
linkage.
"""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import pdist

import reference
from cohirf.algorithm.consensus import fold_views, strict_consensus
from cohirf.beyond.majority import (
    count_agreement,
    link_codes,
    majority_consensus,
    merge_by_agreement,
)
from cohirf.beyond.policy import MAJORITY

labels_of_views = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 6), st.integers(1, 30)), elements=st.integers(-2, 4)
)
majorities = st.sampled_from([0.2, 0.5, 0.6, 0.75, 1.0])


def fold(views, mass=None):
    return fold_views(views, views.shape[1], mass)


def same_partition(left, right) -> bool:
    pairs = set(zip(np.asarray(left).tolist(), np.asarray(right).tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def mean_agreement(views, mass, left, right):
    """Share of views that agree, averaged over the rows of two groups.

    Noise agrees with nothing.
    """
    agree = (views[:, left][:, :, None] == views[:, right][:, None, :]) & (views[:, left] >= 0)[
        :, :, None
    ]
    return np.average(agree.mean(axis=0), weights=np.outer(mass[left], mass[right]))


def random_views(rng, lowest=0):
    """A few rows that differ in few views, so that no two pairs of them need agree equally."""
    n_views = rng.integers(4, 12)
    n_rows = rng.integers(2, 8)
    views = np.where(
        rng.random((n_views, n_rows)) < 0.6, 0, rng.integers(lowest, 3, (n_views, n_rows))
    )
    return views, rng.integers(1, 30, n_rows).astype(float)


@pytest.mark.parametrize("lowest", [0, -1], ids=["clean", "noise"])
@pytest.mark.parametrize("majority", [0.3, 0.5, 0.7])
def test_groups_equal_those_of_the_literal_algorithm_where_no_two_pairs_agree_equally(
    majority, lowest
):
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(150):
        views, mass = random_views(rng, lowest)
        try:
            expected = reference.majority_clusters(views, mass, majority)
        except reference.TieError:
            continue
        compared += 1
        labels = majority_consensus(fold(views, mass), majority).labels
        assert same_partition(labels, reference.labels_of(expected))
    assert compared > 40


def test_mass_counts_as_repeated_rows_do_in_average_linkage():
    rng = np.random.default_rng(0)
    compared = 0
    for _ in range(300):
        views, mass = random_views(rng)
        try:
            reference.majority_clusters(views, mass, 0.5)
        except reference.TieError:
            continue
        compared += 1
        repeated = np.repeat(views, mass.astype(int), axis=1)
        tree = linkage(pdist(repeated.T, "hamming"), "average")
        expected = fcluster(tree, 0.5 + 1e-9, "distance")
        assert same_partition(majority_consensus(fold(repeated), 0.5).labels, expected)
        labels = majority_consensus(fold(views, mass), 0.5).labels
        assert same_partition(np.repeat(labels, mass.astype(int)), expected)
    assert compared > 80


@given(labels_of_views)
def test_a_majority_of_all_views_is_the_strict_consensus(views):
    found = majority_consensus(fold(views), 1.0)
    assert same_partition(found.labels, strict_consensus(fold(views)).labels)
    assert sorted(set(found.labels.tolist())) == list(range(found.n_clusters))


@given(labels_of_views, majorities)
def test_groups_never_split_a_group_of_the_strict_consensus(views, majority):
    labels = majority_consensus(fold(views), majority).labels
    strict = strict_consensus(fold(views)).labels
    assert all(len(set(labels[strict == group])) == 1 for group in set(strict.tolist()))


@given(labels_of_views, majorities, st.integers(0, 99))
def test_no_two_groups_are_left_that_a_majority_of_views_puts_together(views, majority, seed):
    mass = np.random.default_rng(seed).uniform(0.5, 9, views.shape[1])
    labels = majority_consensus(fold(views, mass), majority).labels
    groups = [labels == group for group in range(labels.max() + 1)]
    for number, left in enumerate(groups):
        for right in groups[:number]:
            assert mean_agreement(views, mass, left, right) < majority + 1e-9


@given(labels_of_views, majorities, st.randoms(use_true_random=False))
def test_the_order_of_rows_does_not_matter(views, majority, random):
    order = list(range(views.shape[1]))
    random.shuffle(order)
    labels = majority_consensus(fold(views), majority).labels
    assert same_partition(majority_consensus(fold(views[:, order]), majority).labels, labels[order])


@given(labels_of_views, majorities, st.integers(-300, 300))
def test_mass_on_another_scale_changes_nothing(views, majority, exponent):
    mass = np.arange(1.0, views.shape[1] + 1)
    labels = majority_consensus(fold(views, mass), majority).labels
    assert (majority_consensus(fold(views, mass * 10.0**exponent), majority).labels == labels).all()


def test_rows_that_are_noise_in_most_views_stay_alone():
    views = np.array([[0, 0, -1, -1], [1, 1, -1, -1], [2, 2, 2, 2], [-1, -1, -1, -1]])
    labels = majority_consensus(fold(views), 0.5).labels
    assert labels[0] == labels[1]
    assert len(set(labels.tolist())) == 3


def test_codes_without_mass_are_linked():
    """Sums on a device may round masses to 0."""
    group = link_codes(np.array([[0, 1], [0, 1], [0, 2], [5, 6]]), np.zeros(4), needed=1)
    assert group.tolist() == [0, 0, 0, 3]


@pytest.mark.parametrize("seed", [548, 558, 1887, 2074])
@pytest.mark.parametrize("unit", [1 / 3, 0.1, 0.7])
def test_groups_that_agree_equally_do_not_depend_on_rounding(seed, unit):
    """With these seeds, some groups agree equally, and masses in another unit round differently."""
    rng = np.random.default_rng(seed)
    views = rng.integers(0, 3, (8, 5))
    mass = rng.integers(1, 5, 8).astype(float)
    distinct = np.unique(views, axis=0)
    mass = mass[: len(distinct)]
    exact = link_codes(distinct, mass, needed=2 - 1e-9)
    assert link_codes(distinct, mass * unit, needed=2 - 1e-9).tolist() == exact.tolist()


@pytest.mark.parametrize("n_labels", [3, 8, 40])
def test_parts_that_never_agree_enough_are_linked_as_all_codes_together(n_labels):
    """With many labels, codes fall into parts."""
    rng = np.random.default_rng(n_labels)
    distinct = np.unique(rng.integers(0, n_labels, (200, 5)), axis=0)
    mass = rng.gamma(1.0, size=len(distinct))
    expected = np.arange(len(distinct))
    for kept, absorbed in merge_by_agreement(count_agreement(distinct), mass.copy(), 2.5)[0]:
        expected[expected == absorbed] = kept
    assert link_codes(distinct, mass, 2.5).tolist() == expected.tolist()


def test_heavy_codes_draw_light_ones():
    # the second agrees with both in two
    views = np.array([[0, 0, 1], [0, 1, 1], [0, 0, 1], [0, 1, 1], [0, 2, 1]])
    for mass, expected in (([9, 1, 1], [0, 0, 1]), ([1, 1, 9], [0, 1, 1])):
        labels = majority_consensus(fold(views, np.array(mass, dtype=float)), 0.4).labels
        assert same_partition(labels, expected)


@pytest.fixture
def few_linked(monkeypatch):
    monkeypatch.setitem(vars(MAJORITY), "linked_codes", 3)
    monkeypatch.setitem(vars(MAJORITY), "agreement_cells", 2)


@pytest.mark.usefixtures("few_linked")
@given(labels_of_views, majorities, st.integers(0, 99))
def test_beyond_the_linked_codes_each_joins_the_group_it_agrees_with_most(views, majority, seed):
    mass = np.random.default_rng(seed).permutation(views.shape[1]) + 1.0
    codes = fold(views, mass)
    labels = majority_consensus(codes, majority).labels
    can_fuse = (codes.distinct >= 0).mean(axis=1) >= majority - 1e-9
    ranked = sorted(np.flatnonzero(can_fuse), key=lambda code: -codes.mass[code])
    is_linked = np.isin(codes.of_row, ranked[:3])
    if is_linked.any():
        alone = majority_consensus(fold(views[:, is_linked], mass[is_linked]), majority).labels
        assert same_partition(labels[is_linked], alone)
    groups = [is_linked & (labels == label) for label in set(labels[is_linked].tolist())]
    for code in ranked[3:]:
        rows = codes.of_row == code
        agreement = [mean_agreement(views, mass, rows, group) for group in groups]
        joined = [group for group in groups if labels[group][0] == labels[rows][0]]
        assert len(set(labels[rows].tolist())) == 1
        assert bool(joined) == (max(agreement) >= majority - 1e-9)
        if joined:
            assert mean_agreement(views, mass, rows, joined[0]) == pytest.approx(max(agreement))


@pytest.mark.usefixtures("few_linked")
@given(labels_of_views)
def test_beyond_the_linked_codes_a_majority_of_all_views_is_strict(views):
    assert same_partition(
        majority_consensus(fold(views), 1.0).labels, strict_consensus(fold(views)).labels
    )
