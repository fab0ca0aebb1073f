import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage

from cohirf.algorithm.parents import Fusions
from cohirf.beyond import merge_tree
from cohirf.beyond.merge_tree import Groups, MergeTree, grow_tree, link_groups, link_stages


def groups(n_groups, seed=0):
    rng = np.random.default_rng(seed)
    return Groups(rng.normal(size=(n_groups, 2)), rng.integers(1, 5, n_groups).astype(float))


def same_partition(left, right):
    return len(set(zip(left, right, strict=True))) == len(set(left)) == len(set(right))


def test_a_cut_merges_the_lowest_steps_and_numbers_clusters_by_their_first_leaf():
    tree = MergeTree(
        np.array([3, 5, 8, 9]), np.array([[1, 2, 1.0, 2], [0, 3, 2.0, 2], [4, 5, 3.0, 4]]), 1
    )
    assert tree.cut(4).tolist() == [0, 1, 2, 3]
    assert tree.cut(3).tolist() == [0, 1, 1, 2]
    assert tree.cut(2).tolist() == [0, 1, 1, 0]
    assert tree.cut(1).tolist() == [0, 0, 0, 0]


def test_trees_are_equal_if_all_of_their_parts_are():
    tree = MergeTree(np.array([0, 1]), np.array([[0, 1, 1.0, 2]]), 1)
    assert tree == MergeTree(np.array([0, 1]), np.array([[0, 1, 1.0, 2]]), 1)
    assert tree != MergeTree(np.array([0, 2]), tree.linkage, 1)
    assert tree != MergeTree(tree.medoids, tree.linkage * 2, 1)
    assert tree != MergeTree(tree.medoids, tree.linkage, 2)
    assert tree != "tree"


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_merged_groups_have_the_mean_of_their_rows(container):
    parts = groups(6)
    label = np.array([2, 0, 0, 1, 2, 2])
    merged = Groups(container(parts.means), parts.mass).merged(label, 3)
    means = merged.means.toarray() if sparse.issparse(merged.means) else merged.means
    for k in range(3):
        assert merged.mass[k] == parts.mass[label == k].sum()
        assert np.allclose(
            means[k], np.average(parts.means[label == k], axis=0, weights=parts.mass[label == k])
        )


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_central_group_is_nearest_to_the_mean_of_all_rows(container):
    means = np.array([[0.0, 9.0], [1.0, 0.0], [5.0, 0.0], [0.0, 8.0], [2.0, 0.0], [0.0, 1.0]])
    parts = Groups(container(means), np.array([1.0, 1.0, 1.0, 5.0, 1.0, 1.0]))
    central = parts.find_central(np.array([1, 0, 0, 1, 0, 1]), 2)
    # 2 is nearest to the mean of 1, 5 and 2; a heavy group draws the mean
    assert central.tolist() == [
        4,
        3,
    ]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_of_groups_that_are_equally_near_to_their_mean_the_first_is_central(container):
    rng = np.random.default_rng(0)
    means = np.concatenate([rng.normal(size=(2, 3)) for _ in range(50)])
    central = Groups(container(means), np.ones(100)).find_central(np.repeat(np.arange(50), 2), 50)
    assert central.tolist() == list(range(0, 100, 2))


def test_stages_of_equal_height_do_not_depend_on_rounding():
    means = np.column_stack([[0.0, 1.0, 5.0, 6.0, 10.0, 11.0], np.zeros(6)])
    stages = [np.repeat([0, 1, 2], 2)]
    for seed in range(5):
        noise = 1 + 1e-13 * np.random.default_rng(seed).uniform(-1, 1, means.shape)
        linkage = link_stages(Groups(means * noise, np.ones(6)), stages)
        assert linkage[:3, :2].tolist() == [[0, 1], [2, 3], [4, 5]]
        assert (np.diff(linkage[:, 2]) >= 0).all()


def test_without_stages_it_is_the_linkage_of_groups():
    parts = groups(20)
    assert np.allclose(link_stages(parts, []), link_groups(parts.means, parts.mass))


@given(seed=st.integers(0, 10_000), n_groups=st.integers(1, 30))
def test_every_stage_is_a_cut_and_heights_never_decrease(seed, n_groups):
    rng = np.random.default_rng(seed)
    fine = rng.integers(0, 6, n_groups)
    coarse = rng.integers(0, 3, 6)[fine]
    found = link_stages(groups(n_groups, seed), [fine, coarse])
    tree = MergeTree(np.arange(n_groups), found, 1)
    for stage in (fine, coarse):
        assert same_partition(tree.cut(len(set(stage))).tolist(), stage.tolist())
    assert n_groups == 1 or is_valid_linkage(found)
    assert (np.diff(found[:, 2]) >= 0).all()


def fusions(parents, absorbed_at):
    return Fusions(np.array(parents), np.ones(len(parents), np.float32), np.array(absorbed_at))


def test_leaves_are_the_clusters_of_the_finest_level_that_has_few_enough(monkeypatch):
    parts = groups(6)
    of_levels = fusions([0, 0, 2, 2, 4, 0], [0, 2, 0, 2, 0, 3])  # 6 groups, then 4, then 3
    tree, position = grow_tree(parts, of_levels, 3, np.zeros(6, dtype=bool))
    assert (tree.level, tree.medoids.tolist(), position.tolist()) == (
        1,
        list(range(6)),
        list(range(6)),
    )
    assert same_partition(tree.cut(4).tolist(), [0, 0, 1, 1, 2, 3])
    assert same_partition(tree.cut(3).tolist(), [0, 0, 1, 1, 2, 0])
    monkeypatch.setattr(merge_tree, "MAX_LINKED", 4)
    tree, position = grow_tree(parts, of_levels, 3, np.zeros(6, dtype=bool))
    assert (tree.level, tree.medoids.tolist(), position.tolist()) == (
        2,
        [0, 2, 4, 5],
        [0, 0, 1, 1, 2, 3],
    )
    monkeypatch.setattr(merge_tree, "MAX_LINKED", 1)
    assert grow_tree(parts, of_levels, 3, np.zeros(6, dtype=bool))[0].level == 3


def test_noise_is_not_in_the_tree():
    is_noise = np.array([False, True, False, False])
    tree, position = grow_tree(groups(4), fusions([0, 1, 2, 3], [0] * 4), 1, is_noise)
    assert tree.medoids.tolist() == [0, 2, 3]
    assert position.tolist() == [0, -1, 1, 2]
    nothing, position = grow_tree(groups(2), fusions([0, 1], [0, 0]), 1, np.ones(2, dtype=bool))
    assert (nothing.n_leaves, nothing.linkage.shape, position.tolist()) == (0, (0, 4), [-1, -1])


def test_a_pruned_tree_has_unions_as_leaves_and_the_same_heights_above():
    parts = groups(12)
    label = np.arange(12) % 4
    tree = MergeTree(np.arange(12), link_stages(parts, [label]), 1)
    pruned = tree.prune(np.array([7, 11, 2, 5])[label])
    assert pruned.medoids.tolist() == [2, 5, 7, 11]
    assert np.allclose(pruned.linkage[:, 2], tree.linkage[-3:, 2])
    assert is_valid_linkage(pruned.linkage)
    for n_clusters in (1, 2, 3, 4):
        of_medoid = dict(zip(pruned.medoids.tolist(), pruned.cut(n_clusters).tolist(), strict=True))
        expected = [of_medoid[[7, 11, 2, 5][k]] for k in label]
        assert same_partition(tree.cut(n_clusters).tolist(), expected)


def test_a_tree_can_be_grown_so_that_given_clusters_merge_first():
    label = np.arange(10) % 3
    nothing = fusions(np.arange(10), [0] * 10)
    tree, _ = grow_tree(groups(10), nothing, 1, np.zeros(10, dtype=bool), last_stage=label)
    assert same_partition(tree.cut(3).tolist(), label.tolist())


def test_levels_that_fused_nothing_are_not_the_level_of_a_tree(monkeypatch):
    monkeypatch.setattr(merge_tree, "MAX_LINKED", 1)
    tree, _ = grow_tree(groups(4), fusions([0, 0, 2, 3], [0, 2, 0, 0]), 5, np.zeros(4, dtype=bool))
    assert tree.level == 2
