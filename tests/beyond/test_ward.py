import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage, linkage

from cohirf.beyond.merge_tree import link_directions, link_groups, move_groups, raise_merges


def groups(n_groups, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n_groups, n_features)), rng.integers(1, 6, n_groups).astype(float)


def literal_heights(means, mass):
    """Merge the best of all pairs, again and again.

    Return heights and the sets of groups that each merge makes.
    """
    clusters = [(means[i], mass[i], frozenset([i])) for i in range(len(mass))]
    heights = []
    made = []
    while len(clusters) > 1:
        pairs = [(i, j) for i in range(len(clusters)) for j in range(i)]
        costs = []
        for i, j in pairs:
            (a, m, _), (b, n, _) = clusters[i], clusters[j]
            costs.append(m * n / (m + n) * ((a - b) ** 2).sum())
        i, j = pairs[int(np.argmin(costs))]
        (a, m, left), (b, n, right) = clusters[i], clusters[j]
        merged = ((m * a + n * b) / (m + n), m + n, left | right)
        clusters = [cluster for number, cluster in enumerate(clusters) if number not in (i, j)] + [
            merged
        ]
        heights.append(np.sqrt(2 * min(costs)))
        made.append(left | right)
    return heights, made


def members(steps, n_groups):
    """Return the set of groups that each merge of a linkage makes."""
    sets = [frozenset([i]) for i in range(n_groups)]
    for left, right in steps[:, :2].astype(int):
        sets.append(sets[left] | sets[right])
    return sets[n_groups:]


def test_with_equal_masses_it_is_scipys_ward():
    means, _ = groups(60)
    assert np.allclose(link_groups(means, np.ones(60)), linkage(means, "ward"))


@given(n_groups=st.integers(1, 12), seed=st.integers(0, 10_000))
def test_the_best_of_all_pairs_merges_first(n_groups, seed):
    means, mass = groups(n_groups, seed=seed)
    found = link_groups(means, mass)
    heights, made = literal_heights(means, mass)
    assert np.allclose(found[:, 2], heights)
    assert members(found, n_groups) == made
    assert found[:, 3].tolist() == [len(cluster) for cluster in made]


def test_a_group_of_mass_three_is_three_groups_at_the_same_place():
    means, mass = groups(8)
    repeated = link_groups(np.repeat(means, mass.astype(int), axis=0), np.ones(int(mass.sum())))
    assert np.allclose(repeated[-7:, 2], link_groups(means, mass)[:, 2])
    assert np.allclose(repeated[:-7, 2], 0)


def test_sparse_means_give_the_same_linkage():
    means, mass = groups(30)
    means[np.abs(means) < 0.8] = 0
    assert np.allclose(link_groups(sparse.csr_array(means), mass), link_groups(means, mass))
    few = link_groups(sparse.csr_array(means), mass, max_linked=10)
    assert np.allclose(few, link_groups(means, mass, max_linked=10))


def test_equal_distances_and_identical_groups_end():
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    assert is_valid_linkage(link_groups(grid, np.ones(25)))
    assert (link_groups(np.zeros((9, 2)), np.arange(1.0, 10))[:, 2] == 0).all()


@pytest.mark.parametrize("seed", range(5))
def test_merges_of_equal_height_do_not_depend_on_rounding(seed):
    grid = np.stack(np.meshgrid(np.arange(5.0), np.arange(5.0)), axis=-1).reshape(-1, 2)
    noise = 1 + 1e-13 * np.random.default_rng(seed).uniform(-1, 1, grid.shape)
    exact = link_groups(grid, np.ones(25))
    rounded = link_groups(grid * noise, np.ones(25))
    assert exact[0, :2].tolist() == [0, 1]
    assert rounded[:, :2].tolist() == exact[:, :2].tolist()
    assert (np.diff(rounded[:, 2]) >= 0).all()


@pytest.mark.parametrize("max_linked", [1, 2, 7])
def test_light_groups_join_the_nearest_heavy_one_before_any_merge(max_linked):
    means, mass = groups(20, seed=3)
    mass += np.linspace(0, 0.5, 20)  # no ties
    heavy = set(np.argsort(-mass)[:max_linked].tolist())
    found = link_groups(means, mass, max_linked=max_linked)
    assert is_valid_linkage(found)
    assert (np.diff(found[:, 2]) >= 0).all()
    joined = members(found, 20)[20 - max_linked - 1] if max_linked < 20 else None
    assert joined is not None
    for light in set(range(20)) - heavy:
        nearest = min(heavy, key=lambda group: ((means[group] - means[light]) ** 2).sum())
        first = next(cluster for cluster in members(found, 20) if light in cluster)
        assert nearest in first


def test_groups_move_to_the_nearest_mean_until_nothing_moves():
    means, mass = groups(50, seed=1)
    start = np.arange(50) % 4
    label = move_groups(means, mass, start)
    centres = np.array(
        [np.average(means[label == k], axis=0, weights=mass[label == k]) for k in range(4)]
    )
    distances = ((means[:, None] - centres) ** 2).sum(axis=2)
    assert (label == distances.argmin(axis=1)).all()
    assert (move_groups(sparse.csr_array(means), mass, start) == label).all()


def test_a_label_does_not_lose_its_last_group():
    means = np.array([[0.0], [0.0], [9.0]])
    label = move_groups(means, np.ones(3), np.array([0, 1, 2]))
    assert sorted(set(label.tolist())) == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:invalid value:RuntimeWarning")
def test_merges_end_even_if_distances_are_not_numbers():
    assert len(link_groups(np.array([[np.nan], [0.0], [1.0], [np.nan]]), np.ones(4))) == 3


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_merges_of_ward_are_raised_to_their_own_heights(kind):
    rng = np.random.default_rng(0)
    means = rng.normal(size=(40, 3)) + 1e3 * (kind is np.asarray)
    mass = rng.uniform(0.1, 9.0, 40)
    own = link_groups(kind(means), mass)
    flat = own.copy()
    flat[:, 2] = 1.0
    np.testing.assert_allclose(raise_merges(flat, kind(means), mass), own)


def test_raised_merges_are_in_the_order_of_their_heights():
    # the nearest two are not the first
    merges = np.array([[0.0, 2.0, 1.0, 2.0], [1.0, 3.0, 1.0, 3.0]])
    assert raise_merges(merges, np.array([[0.0], [1.0], [9.0]]), np.ones(3))[:, 2].tolist() == [
        9.0,
        9.0,
    ]


def literal_directions(means, mass):
    """Merge the two clusters whose union loses least length of sums, again and again.

    Return the sets it makes.
    """
    clusters = [
        (mean * size, frozenset([i]))
        for i, (mean, size) in enumerate(zip(means, mass, strict=True))
    ]
    made = []
    while len(clusters) > 1:
        pairs = [(i, j) for i in range(len(clusters)) for j in range(i)]
        length = np.linalg.norm
        lost = [
            length(clusters[i][0])
            + length(clusters[j][0])
            - length(clusters[i][0] + clusters[j][0])
            for i, j in pairs
        ]
        i, j = pairs[int(np.argmin(lost))]
        merged = (clusters[i][0] + clusters[j][0], clusters[i][1] | clusters[j][1])
        clusters = [cluster for number, cluster in enumerate(clusters) if number not in (i, j)] + [
            merged
        ]
        made.append(merged[1])
    return made


@given(
    n_groups=st.integers(1, 12),
    seed=st.integers(0, 10_000),
    kind=st.sampled_from([np.asarray, sparse.csr_array]),
)
def test_the_pair_whose_directions_lose_least_merges_first(n_groups, seed, kind):
    means, mass = groups(n_groups, seed=seed)
    found = link_directions(kind(means), mass)
    assert members(found, n_groups) == literal_directions(means, mass)
    assert n_groups == 1 or is_valid_linkage(found)
    np.testing.assert_allclose(found, raise_merges(found, means, mass))


def test_clusters_without_a_direction_are_linked():
    means = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])
    assert is_valid_linkage(link_directions(means, np.ones(4)))
    assert (link_directions(np.ones((3, 2)), np.ones(3))[:, 2] == 0).all()
