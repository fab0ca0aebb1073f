"""Consensus of views, compared with np.unique and scikit-learn's adjusted Rand index."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from sklearn.metrics import adjusted_rand_score

from cohirf.algorithm.consensus import (
    fold_views,
    leave_one_out_agreement,
    mean_agreement,
    relaxed_consensus,
    strict_consensus,
)

labels_of_views = hnp.arrays(
    np.int64, st.tuples(st.integers(1, 6), st.integers(1, 30)), elements=st.integers(-2, 4)
)


def same_partition(left, right) -> bool:
    pairs = set(zip(np.asarray(left).tolist(), np.asarray(right).tolist(), strict=True))
    return len(pairs) == len({a for a, _ in pairs}) == len({b for _, b in pairs})


def literal_labels(views, kept) -> list[int]:
    """Equal codes have equal labels; a row that is noise in a kept view has one of its own."""
    codes = [
        tuple(views[kept, i]) if (views[kept, i] >= 0).all() else ("noise", i)
        for i in range(views.shape[1])
    ]
    names = {code: number for number, code in enumerate(dict.fromkeys(codes))}
    return [names[code] for code in codes]


def fold(views):
    return fold_views(views, views.shape[1])


@given(labels_of_views)
def test_strict_consensus_joins_rows_with_equal_codes_and_no_noise(views):
    found = strict_consensus(fold(views))
    assert same_partition(found.labels, literal_labels(views, list(range(len(views)))))
    assert sorted(set(found.labels.tolist())) == list(range(found.n_clusters))


@given(labels_of_views)
def test_strict_consensus_refines_every_view(views):
    labels = strict_consensus(fold(views)).labels
    for view in views:
        for cluster in range(labels.max() + 1):
            assert len(set(view[labels == cluster])) == 1


@given(labels_of_views, st.sampled_from([0.0, 0.3, 0.8, 1.0]))
def test_relaxed_consensus_is_the_strict_consensus_of_the_views_it_keeps(views, threshold):
    found = relaxed_consensus(fold(views), threshold)
    assert same_partition(found.labels, literal_labels(views, list(found.views_kept)))


@given(labels_of_views)
def test_closed_form_agreement_equals_the_adjusted_rand_index(views):
    every = list(range(len(views)))
    full = literal_labels(views, every)
    found = leave_one_out_agreement(fold(views), every)
    for view in every[: len(views) if len(views) > 1 else 0]:
        without = literal_labels(views, [other for other in every if other != view])
        assert found[view] == pytest.approx(adjusted_rand_score(full, without), abs=1e-12)


@given(labels_of_views)
def test_mean_agreement_is_the_mean_adjusted_rand_index_of_pairs(views):
    partitions = [literal_labels(views, [view]) for view in range(len(views))]
    pairs = [
        adjusted_rand_score(partitions[a], partitions[b])
        for a in range(len(views))
        for b in range(a + 1, len(views))
    ]
    assert mean_agreement(fold(views)) == pytest.approx(
        np.mean(pairs) if pairs else np.nan, abs=1e-12, nan_ok=True
    )


def test_codes_beyond_64_bits_equal_those_of_unique():
    rng = np.random.default_rng(0)
    few = rng.integers(0, 100, size=(40, 500))  # 100 ** 40 possible codes
    views = np.concatenate([few, few], axis=1)  # every code appears at least twice
    found = strict_consensus(fold(views))
    assert same_partition(found.labels, np.unique(views, axis=1, return_inverse=True)[1].ravel())
    assert found.n_clusters < views.shape[1]


def test_labels_far_apart_are_folded_without_a_table_of_their_range():
    views = np.array([[2**62, 5, 2**62, -1], [0, 2**40, 0, 1]])
    found = strict_consensus(fold(views))
    assert same_partition(found.labels, [0, 1, 0, 2])
    assert fold(views).distinct.max() == 2**62


def test_noise_does_not_make_codes_more_numerous():
    views = np.full((3, 1000), -1)
    assert len(fold(views).distinct) == 1
    assert strict_consensus(fold(views)).n_clusters == 1000


def test_relaxed_consensus_drops_the_view_that_disagrees():
    good = np.repeat([0, 1, 2], 20)
    bad = np.arange(60) % 7
    found = relaxed_consensus(fold(np.stack([good, bad, good, good])), 0.8)
    assert found.views_kept == (0, 2, 3)
    assert same_partition(found.labels, good)


def test_relaxed_consensus_keeps_at_least_one_view():
    views = np.random.default_rng(0).integers(0, 3, size=(5, 50))
    assert len(relaxed_consensus(fold(views), 1.0).views_kept) >= 1


def test_threshold_zero_keeps_all_views():
    views = np.random.default_rng(0).integers(0, 3, size=(4, 200))
    assert relaxed_consensus(fold(views), 0.0).views_kept == (0, 1, 2, 3)


def test_views_that_agree_fully_are_all_kept_at_threshold_one():
    view = np.repeat([0, 1, 2], 20)
    assert relaxed_consensus(fold(np.stack([view, view, view])), 1.0).views_kept == (0, 1, 2)


def test_of_views_that_disagree_equally_the_first_is_dropped_until_one_is_left():
    rows = np.arange(64)
    # any two of them say the same of the third
    views = np.stack([rows % 4, rows // 4 % 4, rows // 16])
    assert relaxed_consensus(fold(views), 1.0).views_kept == (2,)


def test_of_many_views_the_agreement_of_some_pairs_is_taken():
    rng = np.random.default_rng(0)
    truth = rng.integers(0, 4, 400)
    views = np.where(rng.random((12, 400)) < 0.2, rng.integers(0, 4, (12, 400)), truth)  # 66 pairs
    pairs = [adjusted_rand_score(views[a], views[b]) for a in range(12) for b in range(a)]
    assert mean_agreement(fold(views)) == pytest.approx(np.mean(pairs), abs=0.02)


def test_labels_of_rows_take_four_bytes():
    views = np.array([[0, 0, 1, -1], [0, 0, 1, 1]])
    assert strict_consensus(fold(views)).labels.dtype == np.int32
    assert fold(views).distinct.dtype == np.int32
    assert relaxed_consensus(fold(views), 0.5).labels.dtype == np.int32


def test_rows_count_by_their_mass():
    views = np.array([[0, 0, 1]])
    assert fold_views(views, 3).mass.tolist() == [2, 1]
    assert fold_views(views, 3, np.array([0.5, 2.0, 3.0])).mass.tolist() == [2.5, 3]
