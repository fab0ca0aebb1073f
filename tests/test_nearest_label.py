"""The label of the nearest of some points."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import make_blobs

from cohirf import landmarks
from cohirf.datasets import make_spheres
from cohirf.landmarks import Cells, Expanded, NearestLabel, NestedCells
from cohirf.rows.threads import on_threads


def build_numbered(points):
    """Each point is its own label, so that the nearest point itself is found."""
    return NearestLabel.build(points, np.arange(points.shape[0]))


@pytest.fixture(params=["few rows", "many rows"])
def n_rows_are(request, monkeypatch):
    """Rows are searched as if they were few, or many: then they are compared with balls first."""
    monkeypatch.setitem(
        vars(landmarks.LANDMARK), "ball_rows", np.inf if request.param == "few rows" else 0
    )


def test_the_nearest_point_is_found_exactly_in_every_dimension():
    rng = np.random.default_rng(0)
    for n_features in (2, 6, 7, 100):
        for n_points in (300, 600):
            points = rng.normal(size=(n_points, n_features)) + 1e8
            search = build_numbered(points)
            assert (search.tree is not None) == (n_features <= 6 and n_points > 500)
            assert search.label(points).tolist() == list(range(n_points))


def test_sparse_points_are_found_by_sparse_and_dense_rows():
    points = np.random.default_rng(0).normal(size=(50, 20))
    points[points < 1] = 0
    points = points[points.any(axis=1)]
    search = build_numbered(sparse.csr_array(points))
    assert search.label(sparse.csr_array(points)).tolist() == list(range(len(points)))
    assert search.label(points).tolist() == list(range(len(points)))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_features", [40, 4000])  # columns in an array, or frequent ones alone
def test_sparse_points_are_compared_exactly(n_features, dtype):
    rng = np.random.default_rng(0)
    points = rng.random((600, n_features)) + 0.1
    points[rng.random(points.shape) > rng.random(n_features) ** 20] = 0
    points[300:600] = points[:300]
    points[300:400] *= 1 + 1e-9  # a difference that float32 does not have
    rows = points[:500].astype(dtype)
    search = build_numbered(sparse.csr_array(points))
    expected = cdist(rows.astype(np.float64), points).argmin(axis=1)
    assert_array_equal(search.label(sparse.csr_array(rows)), expected)


def test_centres_of_single_points_give_their_rows_to_these():
    points = sparse.csr_array(np.eye(4))
    cells = NestedCells(Cells(points, np.arange(4)), points, np.array([2, 0, 1, 3]))
    assert cells.label(points).tolist() == [1, 2, 0, 3]


@pytest.mark.parametrize("points_in", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("rows_in", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("n_features", [4, 20])
def test_points_with_an_offset_find_themselves(n_features, rows_in, points_in):
    points = 0.1 * np.random.default_rng(0).normal(size=(300, n_features))
    points[:, 0] += 1.7e9 + np.repeat(10 * np.arange(6), 50)
    assert build_numbered(points_in(points)).label(rows_in(points)).tolist() == list(range(300))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [1, 20])
@pytest.mark.parametrize(
    ("size", "dtype"),
    [
        *((size, "f8") for size in (1e-150, 1e-100, 1e150)),
        *((size, "f4") for size in (2e-45, 1e-30, 1e-15, 1e15)),
    ],
)
def test_points_of_any_size_find_themselves(size, dtype, n_features, container, n_rows_are):
    points = np.repeat(np.arange(1, 31)[:, None] * np.dtype(dtype).type(size), n_features, axis=1)
    search = build_numbered(container(points))
    assert search.label(container(points)).tolist() == list(range(30))
    assert search.label(points).tolist() == list(range(30))


# ---- many rows: a first look at balls


def blobs(n_rows, n_features, std, n_centres=6):
    return make_blobs(
        n_rows, n_features=n_features, centers=n_centres, cluster_std=std, random_state=0
    )


def merged(n_rows, n_features):
    X, y = blobs(n_rows, n_features, 1.0)
    return X, y // 2  # each label has two blobs, with other blobs between them


def with_outliers(n_rows, n_features):
    X, y = blobs(n_rows, n_features, 1.0)
    X[::100] *= 20
    return X, y


def cut_cloud(n_rows, n_features):
    X = np.random.default_rng(0).normal(size=(n_rows, n_features))
    return X, X[:, :3].argmax(axis=1)


def spheres(n_rows, n_features):
    X, y = make_spheres(n_rows, random_state=0)
    return np.hstack([X, np.zeros((n_rows, n_features - 3))]), y


SHAPES = {
    "apart": lambda n_rows, n_features: blobs(n_rows, n_features, 1.0),
    "touching": lambda n_rows, n_features: blobs(n_rows, n_features, 6.0),
    "merged": merged,
    "with outliers": with_outliers,
    "cut cloud": cut_cloud,
    "spheres": spheres,
}


def label_of_nearest(X, points, labels):
    return labels[cdist(X.astype(np.float64), points.astype(np.float64)).argmin(axis=1)]


@pytest.mark.parametrize(
    ("n_features", "dtype", "rows_dtype"),
    [(30, "f4", "f4"), (4, "f4", "f8"), (30, "f8", "f4"), (4, "f8", "f8")],
)
@pytest.mark.parametrize("shape", SHAPES)
def test_the_label_is_that_of_the_nearest_point(shape, n_features, dtype, rows_dtype, n_rows_are):
    X, labels = SHAPES[shape](1500, n_features)
    points = X[:900].astype(dtype)
    labels = labels[:900]
    rows = (X[500:] + np.random.default_rng(0).normal(size=(1000, n_features))).astype(rows_dtype)
    assert_array_equal(
        NearestLabel.build(points, labels).label(rows), label_of_nearest(rows, points, labels)
    )


@pytest.mark.parametrize("n_features", [4, 50])
def test_clusters_that_are_apart_are_told_apart_by_a_ball_each(n_features):
    X, labels = blobs(3000, n_features, 0.3)
    search = NearestLabel.build(X[:2000], labels[:2000])
    assert len(search.balls.labels) == 6
    look = search.balls.look(Expanded.of_rows(search.prepare(X), search.points.values.dtype))
    assert len(search.balls.find_undecided(look)) == 0


@pytest.mark.parametrize(
    "within", [1, 2], ids=["clusters of several parts", "clusters that border within"]
)
def test_separated_rows_are_compared_with_few_points(within, monkeypatch):
    X, y = blobs(3000, 50, 1.0)
    labels = y // 2 if within == 1 else 2 * y + (X[:, 0] > np.median(X[:, 0]))
    search = NearestLabel.build(X[:2000], labels[:2000])
    assert search.balls is not None
    compared = []
    measure = Expanded.bound_squares
    monkeypatch.setattr(
        Expanded,
        "bound_squares",
        lambda rows, points: (
            compared.append(len(rows.error) * len(points.error)) or measure(rows, points)
        ),
    )
    search.label(X)
    assert sum(compared) < 2000 * 3000 / 4


@pytest.mark.parametrize("n_features", [4, 30])
def test_balls_that_decide_too_few_rows_are_not_used(n_features):
    points = np.random.default_rng(0).normal(size=(2000, n_features))
    labels = np.random.default_rng(1).integers(0, 3, size=2000)
    assert NearestLabel.build(points, labels).balls is None


@pytest.mark.parametrize("offset", [0.0, 1e4])
def test_rows_next_to_a_border_get_the_label_of_the_nearer_side(offset, n_rows_are):
    points = (np.random.default_rng(0).normal(size=(400, 16)) + offset).astype(np.float32)
    labels = (np.arange(400) >= 200).astype(int)
    # rounded, so that one of the two sides is nearer
    rows = np.repeat((points[:200] + points[200:]) / 2, 8, axis=0)
    search = NearestLabel.build(np.vstack([points, points + 50]), np.tile(labels, 2))
    assert_array_equal(search.label(rows), label_of_nearest(rows, points, labels))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_identical_points_give_the_label_of_the_first(dtype, n_rows_are):
    X, labels = blobs(1200, 20, 1.0)
    points = np.vstack([X, X]).astype(dtype)
    search = NearestLabel.build(points, np.concatenate([labels, labels + 6]))
    assert_array_equal(search.label(X.astype(dtype)), labels)


def test_few_rows_and_many_rows_in_any_blocks_get_the_same_labels(monkeypatch):
    X, labels = blobs(2000, 30, 6.0)
    search = NearestLabel.build(X[:1000], labels[:1000])
    few = np.concatenate([search.label(X[row : row + 1]) for row in range(0, 2000, 40)])
    assert "balls" not in vars(search)  # preparing them would take longer than the search
    whole = search.label(X)
    assert "balls" in vars(search)
    monkeypatch.setitem(vars(landmarks.LANDMARK), "searched_rows", 400)
    monkeypatch.setitem(vars(landmarks.LANDMARK), "block_values", 10_000)
    assert_array_equal(search.label(X), whole)
    assert_array_equal(whole[::40], few)


def test_rows_far_beyond_the_range_of_float32_find_a_point(n_rows_are):
    X, labels = blobs(1200, 20, 1.0)
    found = NearestLabel.build(X.astype(np.float32), labels).label(
        np.vstack([np.full((2, 20), 1e100), X])
    )
    assert found[0] in labels
    assert_array_equal(found[2:], labels)


@pytest.mark.parametrize("n_points", [7, 90])  # that take a pass each, and a product of matrices
@pytest.mark.parametrize("offset", [0.0, 30.0])
def test_rows_of_float32_find_the_nearest_of_points_of_float64(n_points, offset):
    rng = np.random.default_rng(n_points)
    points = rng.normal(size=(n_points, 20)) + offset
    points[-1] = points[0] + 1e-9  # a difference that float32 does not have
    rows = np.vstack([rng.normal(size=(500, 20)) + offset, points]).astype(np.float32)
    expected = cdist(rows.astype(np.float64), points).argmin(axis=1)
    assert_array_equal(build_numbered(points).label(rows), expected)


def test_rows_of_float32_find_points_beyond_its_range():
    points = np.vstack([np.full((1, 20), 1e100), np.zeros((1, 20)), np.ones((1, 20))])
    rows = np.array([[0.1], [0.9], [3e38]], dtype=np.float32) * np.ones((1, 20), dtype=np.float32)
    # float64 does not tell the last row's distances to two points apart: the first counts
    assert build_numbered(points).label(rows).tolist() == [1, 2, 1]


@pytest.mark.parametrize("size", [1e-22, 1e-18])
def test_faint_points_among_others_are_told_apart(size, n_rows_are):
    X, labels = blobs(1200, 20, 1.0)
    points = np.vstack([X[:600], size * X[600:]]).astype(np.float32)
    labels = np.concatenate([labels[:600], labels[600:] + 6])
    assert_array_equal(NearestLabel.build(points, labels).label(points), labels)


@pytest.mark.parametrize("n_features", [4, 30])
def test_a_search_survives_pickling(n_features):
    X, labels = blobs(1500, n_features, 1.0)
    search = NearestLabel.build(X[:1000], labels[:1000])
    assert_array_equal(pickle.loads(pickle.dumps(search)).label(X), search.label(X))


def test_a_single_point_labels_all_rows(n_rows_are):
    search = NearestLabel.build(np.zeros((1, 20)), np.array([-1]))
    assert search.label(np.ones((3, 20))).tolist() == [-1, -1, -1]
    assert search.label(np.ones((0, 20))).tolist() == []


def test_points_that_cannot_be_divided_further_stay_together(n_rows_are):
    points = np.ones((400, 20))
    points[::2] += np.finfo(float).eps
    labels = np.arange(400) % 4 // 2
    assert NearestLabel.build(points, labels).label(points[:2]).tolist() == [0, 0]


# ---- a few points


@pytest.mark.parametrize("dtype", ["f4", "f8"])
@pytest.mark.parametrize("n_points", [1, 2, 32])
def test_the_first_of_a_few_equally_near_points_is_found(n_points, dtype):
    rng = np.random.default_rng(0)
    points = 2 * rng.integers(0, 3, size=(n_points, 3))
    rows = rng.integers(0, 5, size=(5000, 3))
    expected = ((rows[:, None] - points) ** 2).sum(axis=2).argmin(axis=1)
    assert_array_equal(build_numbered(points.astype(dtype)).label(rows.astype(dtype)), expected)


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_a_few_points_are_found_whatever_the_scale(scale):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(9, 5))
    rows = rng.normal(size=(3000, 5))
    rows[7] = 0
    found = build_numbered(points * scale).label(rows * scale)
    assert_array_equal(found, cdist(rows, points).argmin(axis=1))


def test_rows_belong_to_the_nearest_point_of_their_nearest_centre():
    rng = np.random.default_rng(0)
    centres = rng.normal(size=(4, 6))
    points = rng.normal(size=(40, 6))
    owner = rng.permutation(np.arange(40) % 4)
    rows = rng.normal(size=(20_000, 6))
    centre = cdist(rows, centres).argmin(axis=1)
    distances = cdist(rows, points)
    distances[owner != centre[:, None]] = np.inf
    cells = NestedCells(Cells(centres, np.arange(4)), points, owner)
    for n_threads in (1, 3):
        with on_threads(n_threads):
            assert_array_equal(cells.label(rows), distances.argmin(axis=1))


def test_sparse_rows_whose_products_overflow_in_float32_find_their_point():
    points = np.zeros((3, 50))
    points[0, 0], points[1, 0], points[2, 1] = 1.8e19, 1e19, 1
    rows = sparse.csr_array(np.eye(1, 50) * 1e19)
    assert build_numbered(sparse.csr_array(points)).label(rows).tolist() == [1]
