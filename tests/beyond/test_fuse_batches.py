"""Clusters of local batches that are parts of one cluster."""

import numpy as np
from scipy import sparse

from cohirf.algorithm.levels import FitState
from cohirf.algorithm.runs import Survivors
from cohirf.beyond.batch_steps import Links
from cohirf.beyond.fuse_batches import find_parts, fuse_leaves, number_parts
from cohirf.beyond.policy import CELL
from cohirf.rows.storage import ArrayRows, Storage

# Leaves 10 and 20 are clusters of batch 0, 30 and 40 of batch 1, and 50 of batch 2; 60 is a noise
# row of batch 2.
ROWS = np.array([10, 20, 30, 40, 50, 60])
BATCH = np.array([0, 0, 1, 1, 2, 2])


def leaves(*, weights=None, means=None, sizes=(4, 2, 3, 3, 5, 1)):
    n = len(ROWS)
    return Survivors(
        rows=ROWS,
        values=None,
        mass=weights,
        sizes=np.array(sizes),
        first_rows=ROWS - 1,
        weights=weights,
        means=np.arange(float(n))[:, None] if means is None else means,
        is_noise=ROWS == 60,
        stability=np.linspace(0, 1, n).astype(np.float32),
        batch_sizes=np.array([6, 6, 6]),
        batch_costs=np.ones((3, 6)),
        view_stability=np.ones((3, 1)),
    )


def parts_of(*shared, one_is_enough):
    """Return the parts, given pairs of leaves that share so many rows: (at home in, seen from, how
    many).
    """
    home = np.repeat([pair[0] for pair in shared], [pair[2] for pair in shared]).astype(np.int64)
    seen = np.repeat([pair[1] for pair in shared], [pair[2] for pair in shared]).astype(np.int64)
    runs = np.array_split(np.arange(len(home)), 3)
    links = [Links(rows, seen[rows], by_core=one_is_enough) for rows in runs]
    part = find_parts(
        links, np.searchsorted(ROWS, home), leaves(), None if one_is_enough else BATCH
    )
    return [ROWS[part == number].tolist() for number in range(part.max() + 1)]


def test_one_row_that_belongs_to_one_cluster_only_fuses_two():
    assert parts_of((10, 30, 1), one_is_enough=True) == [[10, 30], [20], [40], [50], [60]]


def test_fusion_is_transitive():
    assert parts_of((10, 30, 1), (50, 30, 1), (40, 20, 1), one_is_enough=True) == [
        [10, 30, 50],
        [20, 40],
        [60],
    ]


def test_a_row_that_is_noise_at_home_fuses_nothing():
    assert parts_of((60, 30, 9), one_is_enough=True) == [[row] for row in ROWS]
    assert parts_of((60, 30, 9), one_is_enough=False) == [[row] for row in ROWS]


def test_batches_that_share_nothing_fuse_nothing():
    assert parts_of(one_is_enough=True) == [[row] for row in ROWS]
    assert parts_of(one_is_enough=False) == [[row] for row in ROWS]


def test_few_shared_rows_say_little():
    assert parts_of((10, 30, CELL.shared_rows - 1), one_is_enough=False) == [[row] for row in ROWS]
    assert parts_of((10, 30, CELL.shared_rows), one_is_enough=False)[0] == [10, 30]


def test_clusters_fuse_that_share_half_of_what_the_smaller_one_has_in_the_overlap():
    # 30 has ten rows in common with batch 0: five with each of its clusters. So do these with batch
    # 1.
    assert parts_of((10, 30, 5), (20, 30, 5), one_is_enough=False)[0] == [10, 20, 30]
    # 10 has 24 rows in the overlap, of which 30 has 10; 30 has 22, of which 10 has 10.
    crossed = [(10, 30, 10), (10, 40, 14), (20, 30, 12), (20, 40, 1)]
    assert parts_of(*crossed, one_is_enough=False) == [[10, 40], [20, 30], [50], [60]]


def test_rows_in_common_count_whichever_batch_they_are_at_home_in():
    assert parts_of((30, 10, 5), (10, 30, 0), one_is_enough=False)[0] == [10, 30]


def test_labels_number_the_parts_and_noise_is_alone():
    assert number_parts(np.array([3, -1, 3, 0, -1])).tolist() == [1, 2, 1, 0, 3]
    assert number_parts(np.array([-1, -1])).tolist() == [0, 1]
    assert number_parts(np.array([5, 2, 5])).tolist() == [1, 0, 1]


def fused(part, **options):
    found = leaves(**options)
    state = FitState.of_leaves(found, ArrayRows(np.zeros((100, 1))), 100, 3, Storage())
    return fuse_leaves(state, np.array(part))


def test_the_leaf_nearest_to_the_mean_of_the_whole_survives():
    # leaves 0, 2 and 4 with means 0, 2 and 4, and 4, 3 and 5 rows
    state = fused([0, 1, 0, 2, 0, 3])
    assert state.fusions.parents.tolist() == [2, 1, 2, 3, 2, 5]
    assert state.fusions.absorbed_at.tolist() == [2, 0, 0, 0, 2, 0]
    assert state.level == 2
    assert state.survivors.rows.tolist() == [1, 2, 3, 5]
    assert state.survivors.sizes.tolist() == [2, 12, 3, 1]
    assert state.survivors.is_noise.tolist() == [False, False, False, True]


def test_weights_count_in_means_and_are_summed():
    state = fused([0, 1, 0, 2, 3, 4], weights=np.array([1.0, 1.0, 9.0, 1.0, 1.0, 1.0]))
    assert state.fusions.parents.tolist() == [2, 1, 2, 3, 4, 5]
    assert state.survivors.weights.tolist() == [1, 10, 1, 1, 1]
    assert state.survivors.mass.tolist() == [1, 10, 1, 1, 1]


def test_means_can_be_sparse():
    state = fused([0, 1, 0, 2, 0, 3], means=sparse.csr_array(np.arange(6.0)[:, None]))
    assert state.fusions.parents.tolist() == [2, 1, 2, 3, 2, 5]


def test_the_record_of_the_level_counts_clusters():
    record = fused([0, 1, 0, 2, 0, 3]).record
    assert (record.level, record.rows_in, record.rows_out, record.rows_held_aside) == (2, 6, 4, 0)
