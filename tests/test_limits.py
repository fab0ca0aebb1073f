"""Fits within limits of the sizes of clusters."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans, SpectralClustering
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

import cohirf
from cohirf import CoHiRF
from cohirf.beyond.size_limits import Capacity, assign_within
from drawn_tables import draw_rows, draw_weights, store

FEW_CASES = [*range(18), 26, 31]  # the two: sparse rows, and files, with different weights
ALL_CASES = range(500)


def draw_case(seed, folder):
    """Return a model, its data, weights, and the limits that its clusters are to have."""
    rng = np.random.default_rng(seed)
    X = draw_rows(rng, seed)
    n_rows = len(X)
    n_clusters = int(rng.integers(1, min(n_rows, 9) + 1))
    weights = draw_weights(rng, seed, n_rows)
    total = n_rows if weights is None else weights.sum()
    heaviest = 1 if weights is None else weights.max()
    mean = total / n_clusters
    if seed % 3 == 1:
        size_limits = "balanced"
        low, high = mean - heaviest, mean + heaviest
    else:
        low = max(mean - heaviest * rng.uniform(1, 6), 0)
        high = mean + heaviest * rng.uniform(1, 6)
        # a number below 1 is a share
        size_limits = (low if low >= 1 else None, max(high, 1.0))
    batch_size = None if seed % 2 else max(2, n_rows // 3)
    data = store(X, seed, folder)
    model = CoHiRF(
        n_clusters=n_clusters, size_limits=size_limits, random_state=seed, batch_size=batch_size
    )
    return model, data, weights, low, high


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::cohirf.beyond.reach.ThinBatchesWarning")
@pytest.mark.parametrize("seeds", [FEW_CASES, pytest.param(ALL_CASES, marks=pytest.mark.slow)])
def test_sizes_are_within_limits(seeds, tmp_path):
    for seed in seeds:
        model, data, weights, low, high = draw_case(seed, tmp_path)
        model.fit(data, sample_weight=weights)
        held = np.bincount(model.labels_, weights=weights, minlength=model.n_clusters)
        assert len(held) == model.n_clusters, seed
        assert low - 1e-9 <= held.min() <= held.max() <= high + 1e-9, seed


@pytest.fixture(scope="module")
def blobs():
    return make_blobs([900, 60, 40], n_features=5, cluster_std=2.0, random_state=0)[0]


@pytest.fixture(scope="module")
def balanced(blobs):
    return CoHiRF(n_clusters=4, size_limits="balanced", random_state=0).fit(blobs)


def test_balanced_clusters_have_the_same_size(balanced):
    assert np.bincount(balanced.labels_).tolist() == [250] * 4


@pytest.mark.parametrize(("n_rows", "n_clusters"), [(15_000, 7), (20_000, 3)])
@pytest.mark.parametrize("weight", [0.1, 1e-9])
def test_rows_of_equal_weight_are_counted(n_rows, n_clusters, weight):
    # only some rows, those near borders, are assigned again: what remains of a limit is a difference
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    model = CoHiRF(n_clusters=n_clusters, size_limits="balanced", random_state=0)
    model.fit(X, sample_weight=np.full(n_rows, weight))
    sizes = np.bincount(model.labels_)
    assert sizes.min() == n_rows // n_clusters
    assert sizes.max() == -(-n_rows // n_clusters)


def test_rows_of_weight_0_are_not_counted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1000, 2))
    weights = np.where(rng.random(1000) < 0.3, 0.0, 0.1)
    model = CoHiRF(n_clusters=7, size_limits="balanced", random_state=0)
    model.fit(X, sample_weight=weights)
    sizes = np.bincount(model.labels_, weights=weights > 0)
    assert np.ptp(sizes) <= 1


def test_limits_that_no_move_reaches_are_an_error():
    costs = np.array([[0.0, np.inf], [0.0, np.inf]])
    capacity = Capacity(np.ones(2), np.ones(2))
    with pytest.raises(ValueError, match="no row can be moved"):
        assign_within(costs, None, capacity, np.zeros(2), is_counted=True)
    too_few = Capacity(np.ones(2), np.full(2, 0.5))
    with pytest.raises(ValueError, match="no row can be moved"):
        assign_within(np.eye(3)[:, :2], None, too_few, np.zeros(2), is_counted=True)


@pytest.mark.parametrize(("n_rows", "n_clusters"), [(60, 20), (300, 100), (2000, 10), (15_000, 7)])
@pytest.mark.parametrize("share", [None, 0.2])
def test_predict_agrees_with_the_fit(n_rows, n_clusters, share):
    X = np.random.default_rng(0).normal(size=(n_rows, 2))
    size_limits = "balanced"
    if share is not None:
        mean = n_rows / n_clusters
        size_limits = (int((1 - share) * mean), int((1 + share) * mean) + 1)
    model = CoHiRF(n_clusters=n_clusters, size_limits=size_limits, random_state=0).fit(X)
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@pytest.mark.parametrize("spread", [2.0, pytest.param(30.0, marks=pytest.mark.slow)])
def test_rows_of_uneven_blobs_are_where_their_sum_of_distance_and_price_is_least(spread):
    # centres move on a sample, so that rows far from all borders cross gaps afterwards
    rng = np.random.default_rng(0)
    places = spread * rng.normal(size=(20, 3))
    X = places[rng.choice(20, 16_000, p=rng.dirichlet(np.ones(20)))]
    X += rng.normal(size=X.shape)
    model = CoHiRF(n_clusters=20, size_limits="balanced", random_state=0).fit(X)
    assert np.bincount(model.labels_).tolist() == [800] * 20
    np.testing.assert_array_equal(model.predict(X), model.labels_)


def test_prices_between_those_of_paths_leave_the_least_cost():
    rng = np.random.default_rng(0)
    costs = rng.random((12, 3))
    capacity = Capacity(np.array([3.0, 2.0, 0.0]), np.array([4.0, 5.0, 6.0]))
    found = assign_within(costs, None, capacity, np.zeros(3), is_counted=True)
    priced = costs + found.prices
    np.testing.assert_array_equal(priced.argmin(axis=1), found.labels)
    sizes = np.bincount(found.labels, minlength=3)
    assert ((capacity.low <= sizes) & (sizes <= capacity.high)).all()
    # full clusters alone have a price above 0, those with their least alone one below
    assert (found.prices[sizes < capacity.high] < 1e-12).all()
    assert (found.prices[sizes > capacity.low] > -1e-12).all()


def test_a_saved_model_predicts_by_the_same_borders(balanced, blobs, tmp_path):
    balanced.save(tmp_path / "model.cohirf")
    loaded = cohirf.load(tmp_path / "model.cohirf")
    assert loaded.size_limits == "balanced"
    np.testing.assert_array_equal(loaded.labels_, balanced.labels_)
    new = blobs + 0.3
    np.testing.assert_array_equal(loaded.predict(new), balanced.predict(new))


def test_the_cut_at_the_number_of_clusters_is_the_fit(balanced):
    cut = balanced.hierarchy_.cut(n_clusters=4)
    np.testing.assert_array_equal(cut, balanced.labels_)
    merged = balanced.hierarchy_.cut(n_clusters=2)
    pairs = np.unique(np.column_stack([merged, balanced.labels_]), axis=0)
    assert len(pairs) == 4  # clusters stay whole


def test_limits_that_clusters_have_anyway_cost_nothing(blobs):
    free = CoHiRF(n_clusters=3, merge="compact", random_state=0).fit(blobs)
    wide = CoHiRF(n_clusters=3, size_limits=(1, None), random_state=0).fit(blobs)
    assert -wide.score(blobs) <= -1.05 * free.score(blobs)


@pytest.mark.parametrize("seed", [25, 31])
def test_places_that_no_border_joins_are_divided(seed):
    rng = np.random.default_rng(seed)
    places = rng.normal(size=(4, 2))
    X = places[rng.choice(4, 60, p=[0.5, 0.3, 0.15, 0.05])] + 1e-8 * rng.normal(size=(60, 2))
    model = CoHiRF(n_clusters=4, size_limits="balanced", random_state=0).fit(X)
    assert np.bincount(model.labels_).tolist() == [15] * 4


def test_rows_far_from_zero_are_divided_alike(blobs):
    near = CoHiRF(n_clusters=4, size_limits=(0.2, 0.3), random_state=0).fit(blobs)
    far = CoHiRF(n_clusters=4, size_limits=(0.2, 0.3), random_state=0).fit(blobs + 2.0**20)
    sizes = np.bincount(far.labels_)
    assert 200 <= sizes.min() <= sizes.max() <= 300
    assert adjusted_rand_score(near.labels_, far.labels_) > 0.95


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_clusters": None}, "needs a number of clusters"),
        ({"n_clusters": "auto"}, "needs a number of clusters"),
        ({"n_clusters": "levels", "estimator": KMeans(3)}, "needs a number of clusters"),
        ({"estimator": DBSCAN()}, "needs a number of clusters"),
        ({"estimator": SpectralClustering(4)}, "does not work around SpectralClustering"),
        ({"merge": "connected"}, "does not work with merge='connected'"),
        ({"min_cluster_size": 5}, "does not work with min_cluster_size=5"),
        ({"size_limits": (300, None)}, "need 1,200, and the data has 1,000"),
        ({"size_limits": (1, 2, 3)}, "is not valid"),
        ({"size_limits": (-1, None)}, "is not valid"),
    ],
)
def test_what_limits_cannot_do_is_refused_before_the_fit(blobs, parameters, message):
    given = {"n_clusters": 4, "size_limits": "balanced", **parameters}
    with pytest.raises(ValueError, match=message):
        CoHiRF(**given).fit(blobs)


def test_a_model_with_limits_is_not_updated(balanced, blobs):
    assert not hasattr(balanced, "partial_fit")
    with pytest.raises(AttributeError) as error:
        balanced.partial_fit(blobs)
    assert "cannot be updated" in str(error.value.__cause__)
    for change in (
        lambda: balanced.forget([0]),
        balanced.recluster,
        lambda: cohirf.merge([balanced, balanced]),
    ):
        with pytest.raises(ValueError, match="cannot be updated"):
            change()


def test_rows_on_dask_are_refused(blobs):
    dask_array = pytest.importorskip("dask.array")
    X = dask_array.from_array(blobs, chunks=(500, 5))
    with pytest.raises(TypeError, match="rows on Dask"):
        CoHiRF(n_clusters=4, size_limits="balanced", batch_size=500).fit(X)


def test_weights_that_miss_a_limit_by_less_than_a_row_move():
    rng = np.random.default_rng(0)
    near = 0.01 * rng.normal(size=600)
    X = np.concatenate([near, rng.uniform(3.3, 9, 400), rng.uniform(9, 14, 400)])[:, None]
    weights = 1 + 0.01 * rng.random(1400)
    for missed in (0.02, 0.1):
        most = weights[:600].sum() - missed
        model = CoHiRF(n_clusters=3, size_limits=(1.0, most), random_state=0)
        labels = model.fit(X, sample_weight=weights).labels_
        assert np.bincount(labels, weights=weights).max() <= most


@pytest.mark.filterwarnings("ignore:n_clusters=560:sklearn.exceptions.ConvergenceWarning")
def test_as_many_clusters_as_rows_have_a_row_each():
    X = np.random.default_rng(0).normal(size=(560, 2))
    model = CoHiRF(n_clusters=560, size_limits="balanced", random_state=0).fit(X)
    assert sorted(model.labels_) == list(range(560))
    assert (model.predict(X) == model.labels_).all()
