"""Fits in local batches: where halos follow the radius, the result is that of the base method on
all rows.
"""

from types import SimpleNamespace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans, MeanShift
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cohirf
import resumable
from cohirf import CoHiRF, open_source
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.get_clusters import Views
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.randomness import root_entropy
from cohirf.beyond.local_batches import Locality, make_local_batches
from cohirf.beyond.policy import CELL
from cohirf.beyond.reach import find_reach
from cohirf.clusterers import GridDBSCAN, grid_dbscan
from cohirf.data.in_process import InMemory
from cohirf.fitting import locality
from cohirf.fitting.locality import LocalData
from cohirf.fitting.settings import Settings
from cohirf.rows.metric_spaces import EUCLIDEAN
from cohirf.rows.storage import ArrayRows, Storage
from cohirf.sources import Source
from cohirf.validation import Columns
from resumable import result

# few clusters, or only noise
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@pytest.fixture(scope="module", autouse=True)
def small_batches():
    """Let the batches of DBSCAN be as small as asked for."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(locality.LOCAL), "density_rows", 1)
        yield


def in_local_batches(base, batch_size, **options):
    return CoHiRF(base, batches="local", batch_size=batch_size, random_state=0, **options)


def halos_follow_the_radius(base, X, batch_size, sample_weight=None):
    """Return whether the halos of a fit have all rows that the labels of its batches depend on."""
    index = None if sample_weight is None or sample_weight.all() else np.flatnonzero(sample_weight)
    active = ActiveRows(ArrayRows(X), index)
    locality = Locality(batch_size, 0.5, find_reach(base, X.shape[1]), root_entropy(0))
    return make_local_batches(active, locality, None, Storage()).is_exact


def number_by_first(labels):
    """Return labels numbered by their first row; -1 stays."""
    clustered = labels >= 0
    _, first, number = np.unique(labels[clustered], return_index=True, return_inverse=True)
    found = np.full(len(labels), -1)
    found[clustered] = np.argsort(np.argsort(first))[number]
    return found


def assert_clusters_of_dbscan(base, X, labels, sample_weight=None):
    """Assert that labels are those of DBSCAN on all rows, except that border rows may be in another
    cluster near by.
    """
    alone = clone(base).fit(X, sample_weight=sample_weight)
    core = alone.core_sample_indices_
    np.testing.assert_array_equal(labels == -1, alone.labels_ == -1)
    np.testing.assert_array_equal(
        number_by_first(labels[core]), number_by_first(alone.labels_[core])
    )
    border = np.setdiff1d(np.flatnonzero(alone.labels_ >= 0), core)
    if len(border):
        near = NearestNeighbors(radius=base.eps, metric=getattr(base, "metric", "euclidean")).fit(
            X[core]
        )
        for row, neighbours in zip(
            border, near.radius_neighbors(X[border], return_distance=False), strict=True
        ):
            assert labels[row] in labels[core[neighbours]]


def assert_parts_of_clusters(base, X, labels, sample_weight=None):
    """Assert that no two clusters of DBSCAN were mixed, and no noise was put into one, whatever the
    halos missed.
    """
    alone = clone(base).fit(X, sample_weight=sample_weight)
    assert (labels[alone.labels_ == -1] == -1).all()
    core = alone.core_sample_indices_[labels[alone.core_sample_indices_] >= 0]
    pairs = np.unique(np.c_[labels[core], alone.labels_[core]], axis=0)
    assert len(np.unique(pairs[:, 0])) == len(pairs)


# -- data sets


def make_blobs_of_different_density(rng, n_rows, n_features):
    centre = rng.normal(size=(4, n_features))
    width = rng.uniform(0.02, 0.3, 4)
    blob = rng.integers(4, size=n_rows)
    return centre[blob] + rng.normal(size=(n_rows, n_features)) * width[blob, None]


def make_lines(rng, n_rows, n_features):
    ends = rng.normal(size=(3, 2, n_features))
    line = rng.integers(3, size=n_rows)
    place = rng.random((n_rows, 1))
    return (
        ends[line, 0]
        + place * (ends[line, 1] - ends[line, 0])
        + rng.normal(size=(n_rows, n_features)) * 0.01
    )


def make_grid(rng, n_rows, n_features):
    n_steps = max(2, int(1.5 * n_rows ** (1 / n_features)))
    return rng.integers(n_steps, size=(n_rows, n_features)) / n_steps


def make_duplicates(rng, n_rows, n_features):
    return rng.normal(size=(max(1, n_rows // 10), n_features))[
        rng.integers(max(1, n_rows // 10), size=n_rows)
    ]


def make_one_lump(rng, n_rows, n_features):
    X = rng.random((n_rows, n_features))
    X[: n_rows // 2] = 0.5 + rng.normal(size=(n_rows // 2, n_features)) * 1e-3
    return X


def make_uniform(rng, n_rows, n_features):
    return rng.random((n_rows, n_features))


KINDS = (
    make_blobs_of_different_density,
    make_lines,
    make_grid,
    make_duplicates,
    make_one_lump,
    make_uniform,
)


@st.composite
def data_sets(draw):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    make = draw(st.sampled_from(KINDS))
    X = make(rng, draw(st.integers(12, 250)), draw(st.integers(1, 4)))
    if draw(st.booleans()):
        X = np.c_[X, np.full(len(X), 7.0)]  # a constant feature
    return X.astype(draw(st.sampled_from([np.float64, np.float32])))


@st.composite
def radii(draw, X):
    """Draw the distance of some row to one of its nearest neighbours, which is often the same for
    many rows.
    """
    k = min(draw(st.integers(1, 8)), len(X) - 1)
    distance = NearestNeighbors(n_neighbors=k).fit(X).kneighbors()[0][:, -1]
    eps = float(np.quantile(distance, draw(st.sampled_from([0.1, 0.5, 0.9]))))
    return draw(st.sampled_from([1.0, 1.0, 0.5, 1.7])) * eps or 0.01


@pytest.mark.exact
@settings(max_examples=3 * settings.default.max_examples)
@given(st.data())
def test_dbscan_in_local_batches_is_dbscan(data):
    X = data.draw(data_sets())
    method = data.draw(st.sampled_from([DBSCAN, GridDBSCAN]))
    base = method(eps=data.draw(radii(X)), min_samples=data.draw(st.integers(1, 8)))
    weights = None
    if data.draw(st.booleans()):
        weights = np.random.default_rng(0).choice([0.5, 1.0, 1.0, 3.0], len(X))
    batch_size = data.draw(st.integers(2, max(2, len(X) // 2)))
    model = in_local_batches(base, batch_size)
    model.fit(open_source(X) if data.draw(st.booleans()) else X, sample_weight=weights)
    assert_is_a_partition(model)
    alone = DBSCAN(eps=base.eps, min_samples=base.min_samples, algorithm="kd_tree").fit(
        X, sample_weight=weights
    )
    np.testing.assert_array_equal(number_by_first(model.labels_), number_by_first(alone.labels_))


class CalledDBSCAN(DBSCAN):
    """A DBSCAN that is called on each batch, because only its own class knows what it does."""


@pytest.mark.exact
@given(st.data())
def test_a_method_that_is_called_on_batches_finds_the_clusters_of_all_rows(data):
    X = data.draw(data_sets())
    base = CalledDBSCAN(eps=data.draw(radii(X)), min_samples=data.draw(st.integers(1, 8)))
    weights = None
    if data.draw(st.booleans()):
        weights = np.random.default_rng(0).choice([0.5, 1.0, 1.0, 3.0], len(X))
    batch_size = data.draw(st.integers(2, max(2, len(X) // 2)))
    model = in_local_batches(base, batch_size).fit(X, sample_weight=weights)
    assert_is_a_partition(model)
    assert_parts_of_clusters(base, X, model.labels_, weights)
    if halos_follow_the_radius(base, X, batch_size, weights):
        assert_clusters_of_dbscan(base, X, model.labels_, weights)


def test_without_numba_dbscan_is_called_on_each_batch(monkeypatch, rings):
    for module in (locality, grid_dbscan):
        monkeypatch.setattr(module, "is_installed", lambda name: False)
    monkeypatch.setitem(vars(grid_dbscan.GRID), "rows", 1)
    model = in_local_batches(RING_METHOD, 80).fit(RINGS)
    assert model.diagnostics_[0].kind == "exact"
    np.testing.assert_array_equal(model.labels_, rings.labels_)


@pytest.mark.exact
@given(st.data())
def test_single_linkage_in_local_batches_is_single_linkage(data):
    X = data.draw(data_sets())
    base = AgglomerativeClustering(None, linkage="single", distance_threshold=data.draw(radii(X)))
    batch_size = data.draw(st.integers(2, max(2, len(X) // 2)))
    model = in_local_batches(base, batch_size)
    model.fit(open_source(X) if data.draw(st.booleans()) else X)
    assert_is_a_partition(model)
    if halos_follow_the_radius(base, X, batch_size):
        np.testing.assert_array_equal(model.labels_, number_by_first(base.fit(X).labels_))


@pytest.mark.exact
def test_rows_of_a_grid_are_exactly_a_radius_apart_and_not_left_out(monkeypatch):
    monkeypatch.setitem(vars(CELL), "sample", 40)  # so that rows can be where cells meet
    monkeypatch.setitem(vars(CELL), "sampled_per_cell", 1)
    grid = np.unique(np.random.default_rng(37).integers(0, 100, (4000, 2)), axis=0) * 0.1
    base = DBSCAN(eps=0.1, min_samples=3)
    assert halos_follow_the_radius(base, grid, 400)
    assert_clusters_of_dbscan(base, grid, in_local_batches(base, 400).fit(grid).labels_)


def assert_is_a_partition(model):
    labels = np.asarray(model.labels_)
    np.testing.assert_array_equal(np.unique(labels[labels >= 0]), np.arange(model.n_clusters_))
    np.testing.assert_array_equal(labels[model.medoid_indices_], np.arange(model.n_clusters_))
    np.testing.assert_array_equal(labels[model.exemplar_indices_], np.arange(model.n_clusters_))


# -- everything that a fit finds

RNG = np.random.default_rng(0)
ANGLE = RNG.uniform(0, 2 * np.pi, 500)
RINGS = (
    np.c_[np.cos(ANGLE), np.sin(ANGLE)] * np.repeat([1.0, 3.0], [150, 350])[:, None]
    + RNG.normal(size=(500, 2)) / 20
)
RINGS = np.r_[RINGS, RNG.uniform(-4, 4, (40, 2))]
RING_METHOD = DBSCAN(eps=0.3, min_samples=4)


@pytest.fixture(scope="module")
def rings():
    """Return a fit of two rings, each of which reaches over many batches."""
    return in_local_batches(RING_METHOD, 80).fit(RINGS)


def test_rings_in_batches_are_found_whole(rings):
    assert halos_follow_the_radius(RING_METHOD, RINGS, 80)
    assert [record.kind for record in rings.diagnostics_] == ["exact", "fused"]
    assert rings.diagnostics_[0].n_batches > 6
    assert rings.n_clusters_ == 2
    assert_clusters_of_dbscan(RING_METHOD, RINGS, rings.labels_)


def test_the_fusion_of_batches_is_a_level_like_any_other(rings):
    first, second = rings.diagnostics_
    assert (first.level, second.level, rings.n_iter_) == (1, 2, 2)
    assert first.rows_out == second.rows_in > second.rows_out
    assert second.rows_out == rings.n_clusters_ + (rings.labels_ == -1).sum()
    hierarchy = rings.hierarchy_
    assert hierarchy.cluster_counts().tolist() == [540, first.rows_out, second.rows_out]
    before = hierarchy.cut(level=1)
    after = hierarchy.cut(level=2)
    for cluster in np.unique(before):
        assert len(np.unique(after[before == cluster])) == 1
    clustered = rings.labels_ >= 0
    np.testing.assert_array_equal(
        number_by_first(after[clustered]), number_by_first(rings.labels_[clustered])
    )
    np.testing.assert_array_equal(hierarchy.cut(n_clusters=2), rings.labels_)
    assert (hierarchy.cut(n_clusters=1)[clustered] == 0).all()


def test_parents_lead_to_the_medoid_of_the_cluster(rings):
    parents = rings.parents_
    roots = parents[parents[parents]]
    clustered = rings.labels_ >= 0
    np.testing.assert_array_equal(roots[clustered], rings.medoid_indices_[rings.labels_[clustered]])
    np.testing.assert_array_equal(parents[~clustered], np.flatnonzero(~clustered))


def test_medoids_exemplars_and_stability_are_those_of_rows(rings):
    np.testing.assert_array_equal(rings.medoids_, RINGS[rings.medoid_indices_])
    np.testing.assert_array_equal(rings.exemplars_, RINGS[rings.exemplar_indices_])
    assert (rings.stability_ == 1).all()  # there is one view


def test_training_rows_are_predicted_as_they_were_labelled(rings):
    clustered = rings.labels_ >= 0
    assert (rings.predict(RINGS[clustered]) == rings.labels_[clustered]).mean() > 0.99


def test_a_saved_model_is_the_same(rings, tmp_path):
    rings.save(tmp_path / "model")
    loaded = cohirf.load(tmp_path / "model")
    assert result(loaded) == result(rings)
    assert loaded.batches == "local"
    np.testing.assert_array_equal(loaded.predict(RINGS), rings.predict(RINGS))


def test_sources_and_jobs_change_nothing(rings):
    assert result(in_local_batches(RING_METHOD, 80, n_jobs=2).fit(RINGS)) == result(rings)
    from_source = in_local_batches(RING_METHOD, 80).fit(open_source(RINGS))
    assert result(from_source) == result(rings)
    assert result(in_local_batches(RING_METHOD, 80, n_jobs=2).fit(open_source(RINGS))) == result(
        rings
    )


class CountingSource(Source):
    """Counts the rows that are read."""

    def __init__(self, X):
        super().__init__("The rows", X.shape, X.dtype)
        self.X = X
        self.n_read = 0

    def _fill(self, start, out):
        self.n_read += len(out)
        out[:] = self.X[start : start + len(out)]


@pytest.mark.parametrize("batch_size", [40, 150])
def test_a_source_is_read_a_few_times_however_many_batches_there_are(batch_size, monkeypatch):
    monkeypatch.setitem(vars(CELL), "assigned_rows", 100)
    monkeypatch.setitem(vars(CELL), "known_bytes", 1)
    source = CountingSource(RINGS)
    model = in_local_batches(RING_METHOD, batch_size).fit(source)
    np.testing.assert_array_equal(
        model.labels_, in_local_batches(RING_METHOD, batch_size).fit(RINGS).labels_
    )
    # for the sample, to count the rows of each cell, to place them, and to write them batch after
    # batch
    assert source.n_read <= 4 * len(RINGS)


def test_rows_of_weight_zero_are_in_no_batch():
    weights = np.ones(540)
    weights[::5] = 0
    model = in_local_batches(RING_METHOD, 80).fit(RINGS, sample_weight=weights)
    kept = np.flatnonzero(weights)
    assert_clusters_of_dbscan(RING_METHOD, RINGS[kept], number_by_first(model.labels_[kept]))
    assert model.diagnostics_[0].rows_in == len(kept)


def test_sparse_rows_are_clustered_as_dense_ones():
    dense = in_local_batches(RING_METHOD, 80).fit(RINGS)
    model = in_local_batches(RING_METHOD, 80).fit(sparse.csr_array(RINGS))
    np.testing.assert_array_equal(model.labels_, dense.labels_)


def test_the_number_of_clusters_can_be_asked_for(rings):
    one = in_local_batches(RING_METHOD, 80, n_clusters=1).fit(RINGS)
    np.testing.assert_array_equal(one.labels_ == -1, rings.labels_ == -1)
    assert one.n_clusters_ == 1


def test_several_views_and_few_features_still_find_a_consensus():
    X = np.concatenate(
        [np.random.default_rng(5).normal(size=(120, 6)) * 0.3 + 4 * i for i in range(3)]
    )
    model = in_local_batches(DBSCAN(eps=1.5), 60, views=3, max_features=0.5).fit(X)
    assert adjusted_rand_score(np.repeat(np.arange(3), 120), model.labels_) > 0.9


def test_one_view_of_some_features_has_no_radius_in_units_of_all():
    """The halos are those of the overlap: two rows that are near in some features can be far apart
    in all.
    """
    model = in_local_batches(DBSCAN(eps=1e-3), 80, views=1, max_features=1)
    views = Views(BaseMethod.of(DBSCAN(eps=1e-3)), n_views=1, n_features=1, entropy=(0,))
    contraction = SimpleNamespace(batch_size=80, views=views, space=EUCLIDEAN, device=None)
    rows = LocalData(InMemory(RINGS), len(RINGS), contraction)
    settings = Settings.of(model._parameters, Columns(RINGS.shape[1]))
    assert settings.family.plan_local(rows).locality.reach is None


# -- other base methods

BLOBS, BLOB_OF = make_blobs(
    300, centers=[[0, 0], [6, 0], [0, 6], [6, 6]], cluster_std=0.6, random_state=0
)


@pytest.mark.parametrize(
    "base",
    [
        MeanShift(bandwidth=2.5),
        OPTICS(min_samples=8, max_eps=2.0, cluster_method="dbscan", eps=1.2),
        AgglomerativeClustering(None, distance_threshold=12.0),
        CoHiRF(DBSCAN(eps=1.0)),
    ],
    ids=["mean shift", "optics", "ward", "cohirf"],
)
def test_every_kind_of_density_method_runs(base):
    model = in_local_batches(base, 50).fit(BLOBS[::2])
    assert_is_a_partition(model)
    assert adjusted_rand_score(BLOB_OF[::2], model.labels_) > 0.85


def test_optics_with_a_radius_has_its_core_rows_in_batches_and_is_not_said_to_be_exact():
    # border rows depend on the order of rows, even in one batch
    base = OPTICS(min_samples=RING_METHOD.min_samples, cluster_method="dbscan", eps=RING_METHOD.eps)
    X = RINGS[::2]
    model = in_local_batches(base, 80).fit(X)
    core = clone(RING_METHOD).fit(X).core_sample_indices_
    assert [record.kind for record in model.diagnostics_[:2]] == ["local", "fused"]
    alone = clone(base).fit_predict(X)[core]
    assert len(np.unique(alone)) > 1
    np.testing.assert_array_equal(number_by_first(model.labels_[core]), number_by_first(alone))


# -- metrics


def make_places(rng, n_rows):
    """Latitudes and longitudes of towns, some of them at the poles and at the date line."""
    centre = np.c_[rng.uniform(-90, 90, 8), rng.uniform(-180, 180, 8)]
    centre[:2, 0], centre[2:5, 1] = [90, -90], 180
    places = centre[rng.integers(8, size=n_rows)] + rng.normal(size=(n_rows, 2)) * [1, 3]
    over = np.abs(places[:, 0]) > 90
    places[over] = np.c_[np.sign(places[over, 0]) * 180 - places[over, 0], places[over, 1] + 180]
    return np.radians(np.c_[places[:, 0], (places[:, 1] + 180) % 360 - 180])


@pytest.mark.parametrize(("seed", "few_rows"), [(0, 1), (1, 10**6), (2, 10**6), (3, 1)], ids=str)
@pytest.mark.parametrize("metric", ["haversine", "cosine"])
def test_clusters_on_the_globe_and_of_directions_are_those_of_scikit_learn(
    metric, seed, few_rows, monkeypatch
):
    monkeypatch.setitem(vars(grid_dbscan.GRID), "rows", few_rows)
    rng = np.random.default_rng(seed)
    X = (
        make_places(rng, 800)
        if metric == "haversine"
        else make_blobs_of_different_density(rng, 800, 3)
    )
    base = DBSCAN(eps={"haversine": 0.01, "cosine": 0.001}[metric], metric=metric)
    weights = None if seed % 2 else rng.integers(1, 4, 800)
    expected = number_by_first(clone(base).fit(X, sample_weight=weights).labels_)
    assert expected.max() > 4
    for batch_size in (None, 150):
        for data in (X, open_source(X)):
            model = CoHiRF(base, batch_size=batch_size, random_state=0).fit(
                data, sample_weight=weights
            )
            np.testing.assert_array_equal(number_by_first(model.labels_), expected)
    assert model.diagnostics_[0].kind == "exact"
    assert model.diagnostics_[0].n_batches > 2


def test_directions_of_many_features_are_clustered_in_batches():
    X = make_blobs(600, 20, centers=5, cluster_std=2.0, random_state=0)[0]
    base = DBSCAN(eps=0.1, metric="cosine")
    expected = number_by_first(clone(base).fit(X).labels_)
    model = in_local_batches(base, 400).fit(X)
    assert model.diagnostics_[0].kind == "exact"
    np.testing.assert_array_equal(number_by_first(model.labels_), expected)


@pytest.mark.exact
@given(st.data())
def test_other_metrics_of_coordinates_are_followed_by_halos(data):
    X = data.draw(data_sets())
    metric = data.draw(
        st.sampled_from(
            [{"metric": "manhattan"}, {"metric": "chebyshev"}, {"metric": "minkowski", "p": 3}]
        )
    )
    base = DBSCAN(eps=data.draw(radii(X)), min_samples=data.draw(st.integers(1, 8)), **metric)
    batch_size = data.draw(st.integers(2, max(2, len(X) // 2)))
    model = in_local_batches(base, batch_size).fit(X)
    alone = clone(base).fit(X)
    np.testing.assert_array_equal(number_by_first(model.labels_), number_by_first(alone.labels_))


@pytest.mark.parametrize(
    "base",
    [
        DBSCAN(metric="braycurtis"),
        DBSCAN(metric=lambda x, y: 1.0),
        DBSCAN(metric="minkowski", metric_params={"w": [1, 2]}),
        HDBSCAN(metric="manhattan", copy=True),
        OPTICS(metric="manhattan"),
        AgglomerativeClustering(None, metric="cosine", linkage="average", distance_threshold=0.1),
    ],
    ids=lambda base: f"{type(base).__name__}-{base.metric}"[:20],
)
def test_a_metric_that_local_batches_cannot_follow_is_refused(base):
    with pytest.raises(ValueError, match="batch_size=None"):
        in_local_batches(base, 100).fit(BLOBS)


@pytest.mark.parametrize("batch_size", [None, 100])
@pytest.mark.parametrize("as_data", [np.asarray, open_source])
def test_places_that_are_not_on_the_globe_are_named(batch_size, as_data):
    X = make_places(np.random.default_rng(0), 300)
    X[[7, 290]] = [1.7, 0.0], [0.0, 100.0]
    with pytest.raises(ValueError, match=r"np.radians.*Rows \(from 0\): 7, 290\."):
        CoHiRF(DBSCAN(0.01, metric="haversine"), batch_size=batch_size).fit(as_data(X))


def test_rows_without_a_direction_are_named_in_batches_and_noise_in_one():
    X = BLOBS.copy()
    X[3], X[4, 1:] = 0, 0  # a row along an axis has a direction
    base = DBSCAN(0.001, metric="cosine")
    with pytest.raises(ValueError, match=r"no direction.*: 3\."):
        CoHiRF(base, batch_size=100).fit(X)
    assert CoHiRF(base, batch_size=None).fit(X).labels_[3] == -1


# -- rows that are hard to divide


def make_spot(rng):
    return np.r_[np.zeros((2000, 2)), rng.normal(size=(500, 2)) * 0.1 + 5]


def make_cauchy(rng):
    return rng.standard_cauchy((2500, 2))


def make_dense_lump(rng):
    return np.r_[rng.random((500, 2)) * 1000, 500 + rng.normal(size=(2000, 2)) * 0.01]


def make_constant_features(rng):
    return np.c_[np.zeros(2500), np.r_[rng.random(1200), 3 + rng.random(1300)], np.full(2500, 1e6)]


def make_integers(rng):
    return rng.integers(12, size=(2500, 2)).astype(float) * np.where(
        rng.random((2500, 1)) < 0.5, 1, 3
    )


@pytest.mark.parametrize("eps", [0.05, 0.5])
@pytest.mark.parametrize(
    "make", [make_spot, make_cauchy, make_dense_lump, make_constant_features, make_integers]
)
def test_dbscan_is_itself_where_rows_are_hard_to_divide(make, eps):
    X = make(np.random.default_rng(3))
    base = DBSCAN(eps=eps, min_samples=5)
    rows_of_batch = []

    class Counting(DBSCAN):
        def fit(self, X, y=None, sample_weight=None):
            rows_of_batch.append(len(X))
            return super().fit(X, sample_weight=sample_weight)

    model = in_local_batches(Counting(eps=eps, min_samples=5), 400).fit(X)
    assert max(rows_of_batch) <= 1.65 * 400
    alone = base.fit(X)
    assert (model.labels_ == -1).mean() == pytest.approx((alone.labels_ == -1).mean(), abs=0.02)
    assert adjusted_rand_score(alone.labels_, model.labels_) > 0.97


# -- which batches are local


def holds_rows_aside(model, X=BLOBS):
    return model.fit(X).diagnostics_[0].rows_held_aside > 0


def test_batches_are_local_by_default_for_methods_that_find_the_number_of_clusters():
    assert not holds_rows_aside(CoHiRF(DBSCAN(1.0), batch_size=75, random_state=0))
    assert holds_rows_aside(CoHiRF(KMeans(4), batch_size=75, random_state=0))
    assert holds_rows_aside(
        CoHiRF(make_pipeline(StandardScaler(), DBSCAN()), batch_size=75, random_state=0)
    )
    assert holds_rows_aside(CoHiRF(DBSCAN(1.0), batches="random", batch_size=75, random_state=0))
    assert not holds_rows_aside(CoHiRF(KMeans(4), batches="local", batch_size=75, random_state=0))


def test_the_algorithm_of_the_paper_has_random_batches():
    assert CoHiRF.as_published().batches == "random"
    assert holds_rows_aside(CoHiRF.as_published(DBSCAN(1.0), batch_size=75, random_state=0))


def test_a_single_batch_has_no_halo():
    model = in_local_batches(DBSCAN(1.0), 1000).fit(BLOBS)
    assert len(model.diagnostics_) == 1 or model.diagnostics_[0].n_batches == 1
    np.testing.assert_array_equal(
        model.labels_, CoHiRF(DBSCAN(1.0), batch_size=1000, random_state=0).fit(BLOBS).labels_
    )


def test_other_values_are_refused():
    with pytest.raises(ValueError, match="'batches' parameter of CoHiRF must be a str among"):
        CoHiRF(DBSCAN(), batches="near").fit(BLOBS)


# -- a fit that is stopped


@pytest.mark.parametrize("as_source", [False, True], ids=["array", "source"])
def test_a_fit_that_was_stopped_resumes_and_finds_the_same(as_source, tmp_path):
    data = open_source(resumable.X) if as_source else resumable.X
    options = {"batches": "local", "batch_size": 40}
    uninterrupted, calls = resumable.fit(resumable.make_model(**options), data)
    assert len(calls) > 5
    for stop_at in (1, 4, len(calls)):
        path = tmp_path / str(stop_at)
        stopped, _ = resumable.fit(resumable.make_model(path, **options), data, stop_at=stop_at)
        assert stopped is None
        resumed, rest = resumable.fit(resumable.make_model(path, **options), data)
        assert result(resumed) == result(uninterrupted)
        assert len(rest) == len(calls) - stop_at + 1


def test_dbscan_resumes_with_its_core_rows(rings, tmp_path):
    class Stopped(DBSCAN):
        def fit(self, X, y=None, sample_weight=None):
            resumable.note_call(X)
            return super().fit(X, sample_weight=sample_weight)

    base = Stopped(eps=0.3, min_samples=4)
    assert (
        resumable.fit(in_local_batches(base, 80, checkpoint=tmp_path / "fit"), RINGS, stop_at=5)[0]
        is None
    )
    resumed, _ = resumable.fit(in_local_batches(base, 80, checkpoint=tmp_path / "fit"), RINGS)
    assert result(resumed) == result(rings)


def test_a_pipeline_cannot_have_local_batches():
    X = np.random.default_rng(0).normal(size=(200, 2))
    with pytest.raises(ValueError, match="cannot be combined with a pipeline"):
        in_local_batches(make_pipeline(StandardScaler(), DBSCAN()), 50).fit(X)


def test_many_rows_on_one_spot_are_assigned_in_time_that_grows_with_the_rows():
    X = np.ones((4000, 2))
    active = ActiveRows(ArrayRows(X))
    place = Locality(100, 1.0, None, root_entropy(0))
    batches = make_local_batches(active, place, None, Storage())
    assert len(batches.home) == 4000
    assert len(batches.halo) < 3 * 4000  # not one for each of the 80 cells


def test_clusters_that_were_merged_afterwards_are_not_said_to_be_those_of_dbscan():
    X, _ = make_blobs(1500, centers=9, cluster_std=0.3, center_box=(-20, 20), random_state=0)
    kinds = {
        options: in_local_batches(DBSCAN(eps=0.4), 300, n_clusters=options).fit(X)
        for options in (None, 2)
    }
    assert all(model.diagnostics_[0].kind == "exact" for model in kinds.values())
    assert "the clusters of DBSCAN on all rows" in kinds[None].diagnose().line
    assert "the clusters of DBSCAN on all rows" not in kinds[2].diagnose().line
