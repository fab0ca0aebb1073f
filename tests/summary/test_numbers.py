import numpy as np
import pytest

from cohirf.summary.numbers import Changes, Overlap, positions_of


def overlap(*pairs):
    before, after, rows = (np.array(column) for column in zip(*pairs, strict=True))
    return Overlap.of(before, after, rows)


def test_rows_with_the_same_numbers_are_counted_together():
    found = overlap((0, 1, 5), (0, 1, 3), (-1, 0, 2), (0, 0, 0))
    assert list(
        zip(found.before.tolist(), found.after.tolist(), found.n_rows.tolist(), strict=True)
    ) == [
        (-1, 0, 2),
        (0, 1, 8),
    ]


def test_a_cluster_that_goes_on_keeps_its_number():
    np.testing.assert_array_equal(overlap((3, 1, 10), (5, 0, 20)).match(2, 6), [5, 3])


def test_a_cluster_that_splits_goes_on_as_its_largest_piece():
    found = overlap((0, 0, 40), (0, 1, 60))
    np.testing.assert_array_equal(found.match(2, 1), [1, 0])
    changes = found.describe(np.array([1, 0]), np.array([45, 60]), 2, 5)
    assert changes.split == {0: [1]}
    assert changes.born == {1: 45}
    assert changes.shrunk == {0: 40}
    assert changes.n_moved == 40


def test_the_largest_of_clusters_that_merge_goes_on():
    found = overlap((0, 0, 40), (1, 0, 60))
    np.testing.assert_array_equal(found.match(1, 2), [1])
    changes = found.describe(np.array([1]), np.array([130]), 1, 30)
    assert changes.merged == {1: [0]}
    assert changes.grown == {1: 70}
    assert changes.gone == []


def test_a_number_that_is_gone_is_not_used_again():
    np.testing.assert_array_equal(overlap((4, -1, 10)).match(1, 7), [7])


def test_a_cluster_whose_rows_are_noise_now_is_gone():
    changes = overlap((0, 0, 9), (4, -1, 10)).describe(np.array([0]), np.array([12]), 1, 3)
    assert changes.gone == [4]
    assert changes.grown == {0: 3}


def test_a_cluster_out_of_noise_says_so():
    changes = overlap((0, 0, 9), (-1, 1, 10)).describe(np.array([0, 1]), np.array([9, 15]), 1, 5)
    assert changes.born == {1: 15}
    assert changes.from_noise == {1: 10}
    assert changes.split == {}


def test_no_rows_before_give_new_numbers_only():
    found = Overlap.of(*(np.empty(0, dtype=int) for _ in range(3)))
    np.testing.assert_array_equal(found.match(3, 0), [0, 1, 2])


@pytest.mark.parametrize(
    ("verb", "n_rows", "words"),
    [
        ("update", 5, "5 rows added"),
        ("forget", -1200, "1,200 rows forgotten"),
        ("merge", 40, "models merged, 40 rows added"),
        ("recluster", 0, "clusters found anew"),
    ],
)
def test_changes_are_told_in_words(verb, n_rows, words):
    many = dict.fromkeys(range(10), 1)
    changes = Changes(
        3, n_rows, verb=verb, grown=many, merged={1: [2, 3]}, split={4: [8]}, gone=[7], n_moved=6
    )
    first, *others = str(changes).splitlines()
    assert first == f"Update 3: {words}, 6 older rows have another number"
    assert others[0].endswith("7 (1 row); and 2 more")
    assert others[1:] == ["  merged: 1 <- 2, 3", "  split: 4 -> 8", "  gone: 7"]


def test_positions_count_clusters_without_gaps():
    labels = np.array([3, -1, 7, 3])
    np.testing.assert_array_equal(positions_of(labels, np.array([3, 7])), [0, -1, 1, 0])
    assert positions_of(labels, np.arange(8)) is labels
