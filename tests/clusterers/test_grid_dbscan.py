"""GridDBSCAN finds what scikit-learn's DBSCAN finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.cluster import DBSCAN
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.clusterers import GridDBSCAN, tree_kernels
from cohirf.clusterers import grid_kernels as kernels
from cohirf.clusterers.grid_dbscan import cell_side, find_density_clusters
from cohirf.clusterers.policy import GRID
from cohirf.datasets import make_spheres


def assert_same_clusters(X, eps, min_samples, weights=None, algorithm=None):
    # the tree, which scikit-learn takes from a dozen rows on: for fewer it expands the square,
    # which rounds
    expected = DBSCAN(eps=eps, min_samples=min_samples, algorithm="kd_tree").fit(
        X, sample_weight=weights
    )
    found = GridDBSCAN(eps, min_samples=min_samples).fit(X, sample_weight=weights)
    assert found.algorithm_ == (
        algorithm or ("grid" if X.shape[1] <= GRID.grid_features else "tree")
    )
    assert found.core_sample_indices_.tolist() == expected.core_sample_indices_.tolist()
    assert found.labels_.tolist() == expected.labels_.tolist()


def some_weights(rng, n):
    weights = rng.integers(0, 8, n) / rng.choice([1, 2, 4])
    weights[0] += 1  # scikit-learn refuses weights that are all zero
    return weights


@settings(max_examples=3 * settings.default.max_examples)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(1, 150),
    n_features=st.integers(1, 7),
    dtype=st.sampled_from([np.float32, np.float64]),
    on_a_lattice=st.booleans(),  # many distances are exactly eps, many rows are the same
    eps=st.sampled_from([0.2, 0.5, 1.0, 1.5, 2.0]),
    min_samples=st.integers(1, 8),
    weighted=st.booleans(),
)
def test_labels_are_those_of_scikit_learn(
    seed, n, n_features, dtype, on_a_lattice, eps, min_samples, weighted
):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 9, (n, n_features)) if on_a_lattice else rng.normal(size=(n, n_features))
    assert_same_clusters(
        X.astype(dtype), eps, min_samples, some_weights(rng, n) if weighted else None
    )


@settings(max_examples=2 * settings.default.max_examples)
@given(
    seed=st.integers(0, 2**32),
    n=st.integers(20, 150),
    length=st.lists(st.sampled_from([1, 3, 60, 200]), min_size=1, max_size=5),
    apart=st.sampled_from([0, 10**3, 10**8]),
    eps=st.sampled_from([1.0, 1.5, 3.0]),
    min_samples=st.integers(1, 5),
    weighted=st.booleans(),
)
def test_long_and_scattered_data_are_clustered_as_by_scikit_learn(
    seed, n, length, apart, eps, min_samples, weighted
):
    """Groups of a lattice: along one axis up to hundreds of cells in a row, and up to hundreds of
    millions of none.
    """
    rng = np.random.default_rng(seed)
    X = rng.integers(0, length, (n, len(length))) + apart * rng.integers(0, 3, (n, len(length)))
    X[:2] = np.array([[0], [2 * apart]])
    has_too_many_cells = apart == 10**8 and len(length) == 3
    algorithm = "tree" if has_too_many_cells else None
    assert_same_clusters(
        X.astype(float), eps, min_samples, some_weights(rng, n) if weighted else None, algorithm
    )


@given(
    seed=st.integers(0, 2**32),
    n_groups=st.integers(1, 12),
    n_features=st.integers(1, 6),
    width=st.sampled_from([0.0, 0.05, 0.3, 1.0]),
    eps=st.sampled_from([0.3, 1.0]),
)
def test_dense_cells_are_joined_as_by_scikit_learn(seed, n_groups, n_features, width, eps):
    """Tens of rows in one cell: boxes and halves decide what is joined."""
    rng = np.random.default_rng(seed)
    centers = rng.uniform(0, 3, (n_groups, n_features))
    X = np.repeat(centers, 60, axis=0) + rng.uniform(-width, width, (60 * n_groups, n_features))
    assert_same_clusters(X.astype(np.float32), eps, 5)


@given(
    seed=st.integers(0, 2**32),
    n_features=st.integers(4, 8),
    spread=st.sampled_from([0.0, 0.3, 1.0]),
    on_a_lattice=st.booleans(),
    eps=st.sampled_from([0.3, 0.6, 1.0, 1.5, 3.0]),
    min_samples=st.integers(1, 30),
    weighted=st.booleans(),
)
def test_trees_of_many_nodes_find_what_scikit_learn_finds(
    seed, n_features, spread, on_a_lattice, eps, min_samples, weighted
):
    rng = np.random.default_rng(seed)
    X = np.repeat(rng.uniform(0, 3, (20, n_features)), 50, axis=0) + rng.normal(
        0, spread, (1000, n_features)
    )
    X = rng.permutation(np.round(2 * X) / 2 if on_a_lattice else X)
    assert_same_clusters(X, eps, min_samples, some_weights(rng, 1000) if weighted else None)


@pytest.mark.parametrize("n_features", [1, 3, 5])
@pytest.mark.parametrize("flip", [1, -1])
def test_a_border_row_between_clusters_joins_the_first_even_if_another_is_nearer(n_features, flip):
    X = np.zeros((9, n_features))
    X[:4, -1] = flip * np.array([1, 1.5, 1.5, 1.5])
    X[4:8] = -0.9 * X[:4]
    found = find_density_clusters(X, 1.0, 4, None)
    assert found.labels.tolist() == [0] * 4 + [1] * 4 + [0]
    assert np.unique(found.others, axis=0).tolist() == [[8, 1]]


@pytest.mark.parametrize("eps", [0.1, 0.2, 0.4])
def test_spheres_are_told_apart_at_every_radius_below_their_distance(eps):
    X, y = make_spheres(20_000, random_state=0)
    model = GridDBSCAN(eps).fit(X)
    assert model.algorithm_ == "grid"
    assert adjusted_rand_score(model.labels_, y) == 1


@pytest.mark.slow
def test_dense_cells_across_a_gap_are_told_apart_without_comparing_all_rows():
    """Two facing planes, a little too far apart: a box test cannot tell, comparing all pairs would
    take minutes.
    """
    rng = np.random.default_rng(0)
    n = 200_000
    points = np.concatenate([rng.random((n, 3)), rng.random((n, 3))])
    points[:n, 2] = points[:n, 0] * 0.5
    points[n:, 2] = points[n:, 0] * 0.5 + 0.3
    rows = np.arange(2 * n)
    gap = 0.3 / np.sqrt(1.25)  # between the planes
    assert not kernels.has_close_pair(points, rows, 0, n, n, 2 * n, (0.99 * gap) ** 2)
    assert kernels.has_close_pair(points, rows, 0, n, n, 2 * n, (1.05 * gap) ** 2)
    assert set(rows[:n]) == set(range(n))


@pytest.mark.parametrize("n_features", [5, GRID.box_features])
def test_boxes_across_a_gap_are_told_apart_without_comparing_all_rows(n_features):
    """Two facing planes, a little too far apart, or just not: comparing all rows would take
    minutes.
    """
    rng = np.random.default_rng(0)
    X = np.zeros((200_000, n_features))
    X[:, :2] = rng.random((200_000, 2))
    X[100_000:, 2] = 0.3
    apart = GridDBSCAN(0.29).fit(X)
    joined = GridDBSCAN(0.31).fit(X)
    assert (apart.algorithm_, joined.algorithm_) == ("tree", "tree")
    assert apart.labels_.tolist() == np.repeat([0, 1], 100_000).tolist()
    assert not joined.labels_.any()


@pytest.mark.parametrize("n_features", [2, 4])
def test_rows_exactly_as_far_apart_as_the_radius_are_neighbours(n_features):
    eps = 2.3286992967991376  # its square is not what the power of two gives
    X = np.zeros((20, n_features))
    X[10:, 0] = eps
    assert not GridDBSCAN(eps).fit(X).labels_.any()


@pytest.mark.parametrize("eps", [1e-3, 1e150, 1e200])
def test_a_range_beyond_floating_point_is_halved_all_the_same(eps):
    X = np.random.default_rng(0).uniform(-1, 1, (2000, 4)) * 1.7e308
    tree = tree_kernels.build_tree(X, np.arange(2000), np.ones(2000))
    assert len(tree.starts) < 1000
    with np.errstate(all="ignore"):  # scikit-learn adds up the values to see that they are finite
        found = GridDBSCAN(eps).fit(X)
        expected = DBSCAN(eps=eps, algorithm="kd_tree").fit(X)
    assert found.labels_.tolist() == expected.labels_.tolist()


def test_rows_that_are_all_the_same_are_one_leaf():
    model = GridDBSCAN(0.5).fit(np.ones((100_000, 5)))
    assert model.algorithm_ == "tree"
    assert not model.labels_.any()


def test_nodes_of_a_tree_halve_the_rows_of_their_parents():
    X = np.random.default_rng(0).normal(size=(1000, 4))
    tree = tree_kernels.build_tree(X, np.arange(0, 1000, 2), np.ones(1000))
    assert sorted(tree.rows) == list(range(0, 1000, 2))
    assert tree.weights[0] == 500
    for node, child in enumerate(tree.children):
        points = X[tree.rows[tree.starts[node] : tree.ends[node]]]
        assert tree.boxes[node].tolist() == [*points.min(axis=0), *points.max(axis=0)]
        assert tree.weights[node] == len(points) > 0
        if child:
            assert (tree.starts[child], tree.ends[child + 1]) == (
                tree.starts[node],
                tree.ends[node],
            )
            assert tree.ends[child] == tree.starts[child + 1]


def test_more_features_than_a_tree_pays_for_go_to_scikit_learn():
    X = np.random.default_rng(0).normal(size=(200, GRID.box_features + 1))
    model = GridDBSCAN(4.0).fit(X)
    assert model.algorithm_ == "scikit-learn"
    assert model.labels_.tolist() == DBSCAN(4.0).fit(X).labels_.tolist()


def test_a_radius_that_is_tiny_against_the_range_goes_into_a_tree():
    X = np.array([[0.0], [1e-12], [1.0]])
    model = GridDBSCAN(1e-11, min_samples=2).fit(X)
    assert model.algorithm_ == "tree"
    assert model.labels_.tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("X", "eps"),
    [
        # times in nanoseconds
        (
            1.7e18 + np.random.default_rng(0).integers(0, 40, (2000, 1)) * 256.0,
            600.0,
        ),
        (np.random.default_rng(0).integers(0, 10, (2000, 2)) * 0.125 + 1e15, 0.3),
        (np.repeat(1e16 + 2 * np.indices((6, 6)).reshape(2, -1).T.astype(float), 20, axis=0), 4.0),
    ],
)
def test_rows_as_close_as_floating_point_can_tell_are_clustered(X, eps):
    model = GridDBSCAN(eps).fit(X)
    assert model.algorithm_ == "grid"
    assert set(model.labels_) == {0}


def test_weights_whose_sums_are_rounded_go_to_scikit_learn():
    X = np.zeros((10, 2))
    model = GridDBSCAN(0.5, min_samples=1).fit(X, sample_weight=np.full(10, 0.1))
    assert model.algorithm_ == "scikit-learn"
    assert set(model.labels_) == {0}


def test_float32_is_compared_in_float64():
    X, y = make_spheres(5000, random_state=0)
    assert adjusted_rand_score(GridDBSCAN(0.2).fit(X.astype(np.float32)).labels_, y) == 1


def test_a_cell_is_no_wider_than_the_radius_and_neighbours_are_within_reach():
    for n_features in range(1, GRID.grid_features + 1):
        assert cell_side(1.0, n_features) * np.sqrt(n_features) < 1.0
        rng = np.random.default_rng(0)
        rows = rng.random((1000, n_features)) * 3
        cells = np.floor(rows / cell_side(1.0, n_features)).astype(int)
        near = np.linalg.norm(rows[:, None] - rows[None], axis=2) <= 1.0
        left, right = np.nonzero(near)
        assert np.abs(cells[left] - cells[right]).max() <= kernels.CELL_REACH


def test_the_layout_of_the_data_does_not_compile_the_kernels_again():
    X = make_spheres(500, random_state=0)[0]
    expected = GridDBSCAN(0.5).fit(X).labels_.tolist()
    compiled = [kernels.bounds, kernels._sort_into_cells, kernels._find_core]
    n_compiled = [len(kernel.signatures) for kernel in compiled]
    locked = X.copy()
    locked.flags.writeable = False
    for same in (np.asfortranarray(X), np.repeat(X, 2, axis=0)[::2], locked):
        assert GridDBSCAN(0.5).fit(same).labels_.tolist() == expected
    assert [len(kernel.signatures) for kernel in compiled] == n_compiled


def test_it_is_a_base_method_with_weights_and_batches():
    X, y = make_spheres(20_000, random_state=0)
    options = {"views": 1, "batch_size": 2000, "random_state": 0}
    for weights in (False, True):
        model = CoHiRF.as_published(GridDBSCAN(0.2), medoid_weights=weights, **options).fit(X)
        assert adjusted_rand_score(model.labels_, y) == 1
    slow = CoHiRF.as_published(DBSCAN(0.2), **options).fit(X)
    assert adjusted_rand_score(model.labels_, slow.labels_) == 1


@pytest.mark.parametrize("decimals", [0, 1])
def test_haversine_labels_differ_from_those_of_scikit_learn_at_ties_alone(decimals):
    degrees = np.round(np.random.default_rng(decimals).uniform(-3, 3, size=(3000, 2)), decimals)
    places = np.radians(degrees)
    # the width of the lattice, at which rounding decides
    radius = float(np.radians(10.0**-decimals))
    for eps in (radius * (1 - 1e-9), radius * (1 + 1e-9)):
        ours = GridDBSCAN(eps, metric="haversine").fit(places)
        np.testing.assert_array_equal(
            ours.labels_, DBSCAN(eps, metric="haversine").fit(places).labels_
        )
