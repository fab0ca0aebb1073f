"""How far views confirm groups: against the definition, row by row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cohirf.algorithm.consensus import (
    NOISE,
    fold_views,
    measure_stability,
    relaxed_consensus,
    strict_consensus,
)
from cohirf.beyond.batch_steps import divide_consensus
from cohirf.beyond.majority import majority_consensus

RULES = {
    "strict": strict_consensus,
    "relaxed": lambda codes: relaxed_consensus(codes, threshold=0.8),
    "majority": lambda codes: majority_consensus(codes, majority=0.5),
}


def by_definition(views, groups):
    """Return the overlap of each row's group with its cluster in each view.

    A row that is noise is by itself.
    """
    n_rows = len(groups)
    overlap = np.empty((n_rows, len(views)))
    for row in range(n_rows):
        group = {other for other in range(n_rows) if groups[other] == groups[row]}
        for view, labels in enumerate(views):
            cluster = {
                other for other in range(n_rows) if labels[other] == labels[row] != NOISE
            } | {row}
            overlap[row, view] = len(group & cluster) / len(group | cluster)
    return overlap


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(views=st.lists(st.lists(st.integers(-1, 2), min_size=9, max_size=9), min_size=1, max_size=4))
def test_it_is_the_overlap_of_groups_and_clusters(rule, views):
    views = [np.array(labels) for labels in views]
    codes = fold_views(iter(views), 9)
    consensus = rule(codes)
    found = measure_stability(codes, consensus)
    expected = by_definition(views, consensus.labels)
    assert found.of_row == pytest.approx(expected.mean(axis=1), abs=1e-6)
    assert found.of_view == pytest.approx(expected.mean(axis=0))
    assert found.of_row.dtype == np.float32


@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
@given(
    views=st.lists(st.lists(st.integers(-1, 2), min_size=9, max_size=9), min_size=1, max_size=4),
    former=st.lists(st.integers(-1, 2), min_size=9, max_size=9),
)
def test_it_is_the_overlap_of_groups_that_former_clusters_divide(rule, views, former):
    views = [np.array(labels) for labels in views]
    codes = fold_views(iter(views), 9)
    consensus = divide_consensus(rule(codes), np.array(former))
    found = measure_stability(codes, consensus)
    expected = by_definition(views, consensus.labels)
    assert found.of_row == pytest.approx(expected.mean(axis=1), abs=1e-6)
    assert found.of_view == pytest.approx(expected.mean(axis=0))


def test_views_that_agree_are_sure_of_everything():
    labels = np.array([0, 0, 1, 1, -1])
    codes = fold_views([labels, labels], 5)
    assert (measure_stability(codes, strict_consensus(codes)).of_row == 1).all()


def test_a_row_that_one_view_tears_away_is_less_sure_than_those_it_leaves():
    codes = fold_views([np.zeros(10, int), np.zeros(10, int), np.arange(10) // 9], 10)
    found = measure_stability(codes, strict_consensus(codes)).of_row
    assert found[9] < found[0]
    majority = measure_stability(codes, majority_consensus(codes, 0.5)).of_row
    assert majority.min() > found.min()
