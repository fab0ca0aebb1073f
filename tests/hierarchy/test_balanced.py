"""Levels and balanced samples: nested labels, and rows that are spread over the tree."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, FusionHierarchy
from cohirf.hierarchy.balanced import _join_evenly, divide

SIZES = [800, 150, 40, 10]
X, CLASSES = make_blobs(SIZES, n_features=6, cluster_std=0.5, random_state=3)


@pytest.fixture(scope="module")
def hierarchy():
    return CoHiRF(n_clusters=4, random_state=0).fit(X).hierarchy_


@given(st.data())
def test_levels_nest_and_each_is_a_cut(hierarchy, data):
    numbers = data.draw(st.lists(st.integers(1, hierarchy.tree.n_leaves), min_size=1, max_size=5))
    labels = hierarchy.levels(numbers)
    for place, number in enumerate(numbers):
        np.testing.assert_array_equal(labels[:, place], hierarchy.cut(n_clusters=number))
    finest_first = labels[:, np.argsort(numbers)[::-1]]
    for fine, coarse in zip(finest_first.T[:-1], finest_first.T[1:], strict=True):
        assert len(np.unique(np.column_stack([fine, coarse]), axis=0)) == len(np.unique(fine))


def test_levels_need_numbers_that_the_tree_has(hierarchy):
    with pytest.raises(ValueError, match="n_clusters=5000 is not available"):
        hierarchy.levels([4, 5000])
    with pytest.raises(
        ValueError, match=r"numbers=\[\] is not valid: give numbers of clusters, such as"
    ):
        hierarchy.levels([])
    assert (hierarchy.levels(4) == hierarchy.levels([4])).all()


def entropy(rows):
    share = np.bincount(CLASSES[rows], minlength=4) / len(rows)
    return -(share[share > 0] * np.log(share[share > 0])).sum()


@pytest.mark.parametrize("first", ["random", "exemplars"])
def test_a_sample_is_the_more_even_the_more_balance_it_has(first, hierarchy):
    drawn = [hierarchy.sample(60, balance=balance, first=first) for balance in (0, 0.5, 1)]
    for rows in drawn:
        assert len(np.unique(rows)) == 60
    as_the_data, between, even = (entropy(rows) for rows in drawn)
    assert as_the_data < between < even
    np.testing.assert_array_equal(drawn[2], hierarchy.sample(60, first=first))
    assert (hierarchy.sample(60, random_state=1) != hierarchy.sample(60)).any()


def test_separated_clusters_give_as_many_rows_each_as_long_as_they_have_some(hierarchy):
    counts = np.bincount(CLASSES[hierarchy.sample(40)], minlength=4)
    assert counts.min() >= 7
    flat = FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at)  # without a tree
    assert np.bincount(CLASSES[flat.sample(40)], minlength=4).min() >= 8


def test_exemplars_come_first(hierarchy):
    rows = hierarchy.sample(40, first="exemplars")
    leaf = hierarchy.cut(level=hierarchy.tree.level)
    assert set(leaf[rows]) == set(leaf[np.intersect1d(rows, hierarchy.tree.medoids)])
    np.testing.assert_array_equal(hierarchy.sample(1000), np.arange(1000))


def test_a_sample_is_drawn_among_the_given_rows(hierarchy):
    rows = np.arange(3, 1000, 7)
    assert set(hierarchy.sample(20, among=rows)) < set(rows)
    np.testing.assert_array_equal(hierarchy.sample(len(rows), among=rows), rows)


@given(st.data())
def test_a_division_gives_what_is_asked_for_and_no_leaf_more_than_it_has(data):
    sizes = np.array(data.draw(st.lists(st.integers(0, 50), min_size=1, max_size=8)))
    linkage = _join_evenly(np.maximum(sizes, 1))
    n = data.draw(st.integers(0, int(sizes.sum())))
    counts = divide(n, sizes, linkage, data.draw(st.floats(0, 1)), np.random.default_rng(0))
    assert counts.sum() == n
    assert (counts >= 0).all()
    assert (counts <= sizes).all()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 0}, "n=0 is not valid: give a number from 1 to 4"),
        ({"n": 5}, "n=5 is not valid"),
        ({"n": 1, "balance": 2}, "balance=2 is not valid: give a number from 0 "),
        ({"n": 1, "first": "last"}, "first='last' is not valid: give 'random' or 'exemplars'"),
    ],
)
def test_invalid_samples_are_refused(options, message, hierarchy):
    with pytest.raises(ValueError, match=message):
        FusionHierarchy([0, 0, 0, 3], [0, 1, 2, 0]).sample(**options)
    with pytest.raises(ValueError, match="are clusters: call sample of the hierarchy of all rows"):
        hierarchy.condense().sample(2)
