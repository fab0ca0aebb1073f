"""Fits of arrays on a device are those of NumPy, and only what is small comes from there."""

from contextlib import nullcontext

import array_api_strict
import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.datasets import make_blobs

import cohirf
from cohirf import CoHiRF
from cohirf.algorithm import consensus
from cohirf.beyond import majority
from cohirf.beyond.policy import MAJORITY
from cohirf.fitting.policy import QUICK
from cohirf.planning import plan
from cohirf.rows.arrays import put_beside, to_host
from places import FAR, PLACES, NearestSeeds

BY_ROW = ("labels_", "parents_", "stability_")
BY_CLUSTER = ("medoid_indices_", "medoids_", "exemplar_indices_", "exemplars_", "cluster_numbers_")
FIT_PLACES = [place for place in PLACES if place.name != "strict-CPU_DEVICE"]

on_every_device = pytest.mark.parametrize("place", FIT_PLACES, ids=lambda place: place.name)


def library(place):
    name, _ = place.name.split("-")
    return "array_api_strict" if name == "strict" else name


class DeviceDBSCAN(ClusterMixin, BaseEstimator):
    """DBSCAN of the rows, with labels in their library.

    Like cuML's, it has no argument for weights.
    """

    def __init__(self, eps=1.0, *, library="array_api_strict"):
        self.eps = eps
        self.library = library

    def fit(self, X, y=None):
        if not type(X).__module__.startswith(self.library):
            raise TypeError(f"{type(X).__module__} is not {self.library}")
        found = DBSCAN(eps=self.eps).fit(to_host(X))
        self.labels_ = put_beside(found.labels_, X)
        return self

    def fit_predict(self, X, y=None):
        return self.fit(X).labels_


class RoundedSeeds(NearestSeeds):
    """Computes in float64, as the comparison with NumPy needs it."""

    def fit(self, X, y=None, sample_weight=None):
        return super().fit(X.double(), y, sample_weight)


@pytest.fixture(scope="module", name="X")
def some_rows():
    rows, _ = make_blobs(400, n_features=6, centers=5, cluster_std=0.8, random_state=0)
    return rows


def fit_both(X, place, base=None, *, weights=None, **parameters):
    """Return the model of an array of NumPy, and that of the same array on a device."""
    base = NearestSeeds(5) if base is None else base
    here = base.set_params(library="numpy") if isinstance(base, NearestSeeds) else base
    expected = CoHiRF(here, random_state=0, **parameters).fit(X, sample_weight=weights)
    there = base.set_params(library=library(place)) if isinstance(base, NearestSeeds) else base
    found = CoHiRF(there, random_state=0, **parameters)
    return expected, found.fit(
        place.put(X), sample_weight=None if weights is None else place.put(weights)
    )


def assert_same_fit(found, expected, place):
    for name in BY_ROW:
        of_row = place.fetch(getattr(found, name))
        np.testing.assert_allclose(of_row, getattr(expected, name), rtol=1e-6, err_msg=name)
        assert of_row.dtype == getattr(expected, name).dtype, name
    for name in BY_CLUSTER:
        assert isinstance(getattr(found, name), np.ndarray)
        np.testing.assert_array_equal(getattr(found, name), getattr(expected, name), err_msg=name)
    assert found.n_iter_ == expected.n_iter_
    found.gather()
    for name in BY_ROW:
        assert isinstance(getattr(found, name), np.ndarray)
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_array_equal(found.hierarchy_.parents, expected.hierarchy_.parents)
    np.testing.assert_array_equal(found.hierarchy_.absorbed_at, expected.hierarchy_.absorbed_at)


VARIANTS = {
    "defaults": {},
    "strict": {"consensus": "strict", "max_features": 0.5},
    "relaxed": {"consensus": "relaxed", "max_features": 0.5},
    "majority": {"consensus": "majority", "max_features": 0.5},
    "euclidean": {"medoid": "euclidean", "max_features": 0.7},
    "rbf": {"medoid": "rbf"},
    "laplacian": {"medoid": "laplacian"},
    "without-mass": {"medoid_weights": False},
    "levels": {"n_clusters": "levels"},
    "auto": {"n_clusters": "auto"},
    "batches": {"batch_size": 100},
    "batches-euclidean": {"batch_size": 90, "medoid": "euclidean"},
    "small": {"min_cluster_size": 70},
    "many-jobs": {"n_jobs": 2},
    "auto-batches": {"batch_size": "auto"},
}


@on_every_device
@pytest.mark.parametrize("variant", VARIANTS)
def test_a_fit_on_a_device_is_that_of_numpy(place, variant, X, monkeypatch):
    # batches are measured here: to start a process for it takes seconds
    monkeypatch.setattr(
        plan, "fresh_process", lambda: nullcontext(lambda function, *rest: function(*rest))
    )
    expected, found = fit_both(X, place, **VARIANTS[variant])
    assert_same_fit(found, expected, place)


@on_every_device
@pytest.mark.parametrize("variant", ["defaults", "relaxed", "majority"])
def test_a_fit_with_many_codes_is_that_of_numpy(place, variant, X, monkeypatch):
    expected, found = fit_both(X, place, **VARIANTS[variant])
    monkeypatch.setitem(vars(consensus.STEP), "codes_here", 0)
    found = CoHiRF(found.estimator, random_state=0, **VARIANTS[variant]).fit(place.put(X))
    assert_same_fit(found, expected, place)


@on_every_device
def test_many_codes_stay_on_the_device(place, X, monkeypatch):
    monkeypatch.setitem(vars(consensus.STEP), "codes_here", 0)
    monkeypatch.setitem(vars(MAJORITY), "linked_codes", 8)
    views = [
        put_beside(np.asarray(column), place.put(X))
        for column in np.random.default_rng(0).integers(4, size=(5, 400))
    ]
    codes = consensus.fold_views(views, 400)
    assert not isinstance(codes.distinct, np.ndarray)
    here = consensus.fold_views([to_host(view) for view in views], 400)
    np.testing.assert_array_equal(place.fetch(codes.distinct), here.distinct)
    found = majority.majority_consensus(codes, 0.5)
    expected = majority.majority_consensus(here, 0.5)
    np.testing.assert_array_equal(place.fetch(found.labels), expected.labels)
    assert 8 < found.n_clusters == expected.n_clusters < codes.n_codes


@on_every_device
@pytest.mark.parametrize("n_clusters", [None, "levels"])
def test_noise_is_the_same(place, n_clusters, X):
    X = np.concatenate([X, np.random.default_rng(0).uniform(-60, 60, size=(15, 6))])
    expected, found = fit_both(X, place, NearestSeeds(5, radius=8), n_clusters=n_clusters)
    assert (expected.labels_ == -1).any() == (n_clusters is None)
    assert_same_fit(found, expected, place)


@on_every_device
@pytest.mark.parametrize("zeros", [False, True], ids=["positive", "with-zeros"])
@pytest.mark.parametrize("medoid", ["cosine", "euclidean", "rbf"])
def test_sample_weights_are_used(place, medoid, zeros, X):
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    weights[::7] *= 0 if zeros else 1
    expected, found = fit_both(X, place, weights=weights, medoid=medoid)
    assert found.hierarchy_.row_sizes.sum() == len(X)
    assert_same_fit(found, expected, place)


@on_every_device
@pytest.mark.parametrize("n_clusters", ["levels", "auto"])
def test_rows_of_weight_0_join_the_nearest_leaf(place, n_clusters, X):
    weights = (np.arange(len(X)) % 3 > 0).astype(float)  # also of the first row
    expected, found = fit_both(X, place, weights=weights, n_clusters=n_clusters)
    assert_same_fit(found, expected, place)


@on_every_device
def test_batches_of_weighted_rows_are_those_of_numpy(place, X):
    weights = np.random.default_rng(0).integers(0, 3, len(X)).astype(float)
    expected, found = fit_both(X, place, weights=weights, batch_size=100)
    assert_same_fit(found, expected, place)


@on_every_device
@pytest.mark.parametrize(
    "change",
    [np.ndarray.tolist, np.float32, np.int64, lambda weights: weights, lambda weights: 2.0],
    ids=["list", "float32", "integers", "numpy", "number"],
)
def test_weights_of_any_kind_are_put_beside_the_rows(place, change, X):
    weights = change(np.arange(len(X)) % 4 + 1.0)
    expected = CoHiRF(NearestSeeds(5, library="numpy"), random_state=0).fit(
        X, sample_weight=weights
    )
    found = CoHiRF(NearestSeeds(5, library=library(place)), random_state=0).fit(
        place.put(X), sample_weight=weights
    )
    assert_same_fit(found, expected, place)


@on_every_device
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            lambda weights: weights[1:],
            "sample_weight has shape (399,), but X has 400 rows: pass one per row.",
        ),
        (
            lambda weights: weights[:, None],
            "sample_weight has shape (400, 1), but X has 400 rows: pass one per row.",
        ),
        (
            lambda weights: 0 * weights,
            "All sample weights are zero: give at least one row a positive weight.",
        ),
        (
            lambda weights: weights - 3,
            "Negative values in data passed to `sample_weight`, down to -2: give weights >= 0.",
        ),
        (
            lambda weights: np.where(weights == 4, np.nan, weights),
            "Input sample_weight contains NaN or infinity: give finite weights.",
        ),
        (
            lambda weights: np.where(weights == 4, np.inf, weights),
            "Input sample_weight contains NaN or infinity: give finite weights.",
        ),
        (
            lambda weights: np.where(weights == 4, 1e18, weights - 1),
            "sample_weight has positive values from 1 to 1e+18: on a device, the smallest would "
            "not count in sums. Set them to 0, or raise them.",
        ),
        (
            lambda weights: 1e307 * weights,
            "sample_weight has sum inf, and sums of more than 1e+150 would overflow: divide all "
            "weights by the same number.",
        ),
    ],
    ids=["short", "matrix", "zero", "negative", "nan", "infinite", "wide", "overflow"],
)
def test_bad_weights_on_a_device_are_refused(place, change, message, X):
    weights = change(np.arange(len(X)) % 4 + 1.0)
    with pytest.raises(ValueError, match="sample") as raised:
        CoHiRF(n_clusters=5, random_state=0).fit(place.put(X), sample_weight=place.put(weights))
    assert str(raised.value) == message


@on_every_device
def test_weights_that_are_not_numbers_are_refused(place, X):
    with pytest.raises(ValueError, match=r"could not convert string to float: .*heavy"):
        CoHiRF(n_clusters=5, random_state=0).fit(place.put(X), sample_weight=["heavy"] * len(X))


@on_every_device
def test_float32_stays_float32(place, X):
    expected, found = fit_both(X.astype(np.float32), place)
    assert found.medoids_.dtype == np.float32
    assert_same_fit(found, expected, place)


@on_every_device
@pytest.mark.parametrize("dtype", [np.int64, np.int32, np.uint8])
def test_integers_become_float64(place, dtype, X):
    X = np.round(10 * (X - X.min())).astype(dtype)
    expected, found = fit_both(X, place)
    assert found.medoids_.dtype == np.float64
    assert_same_fit(found, expected, place)


@on_every_device
@pytest.mark.parametrize("n_rows", [2, 10, 1500])  # 1500: predict prepares a search on the host
def test_new_rows_get_the_same_labels_and_distances(place, n_rows, X):
    expected, found = fit_both(X, place, max_features=0.5)
    new = np.random.default_rng(1).uniform(X.min(), X.max(), size=(n_rows, 6))
    np.testing.assert_array_equal(place.fetch(found.predict(place.put(new))), expected.predict(new))
    np.testing.assert_allclose(
        place.fetch(found.transform(place.put(new))), expected.transform(new), rtol=1e-12
    )
    np.testing.assert_array_equal(found.predict(new), expected.predict(new))
    np.testing.assert_array_equal(
        place.fetch(expected.predict(place.put(new))), expected.predict(new)
    )
    np.testing.assert_array_equal(
        place.fetch(found.predict(place.put(X))), place.fetch(found.labels_)
    )


@on_every_device
def test_distances_of_float32_rows_are_float32(place, X):
    expected, found = fit_both(X.astype(np.float32), place)
    distances = place.fetch(found.transform(place.put(X.astype(np.float32))))
    assert distances.dtype == expected.transform(X.astype(np.float32)).dtype
    np.testing.assert_allclose(
        distances, expected.transform(X.astype(np.float32)), rtol=1e-6, atol=1e-6
    )


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@on_every_device
def test_a_model_without_clusters_measures_nothing(place, X):
    expected, found = fit_both(X, place, min_cluster_size=350)
    assert expected.n_clusters_ == 0
    assert_same_fit(found, expected, place)
    assert found.transform(place.put(X)).shape == (400, 0)
    assert (place.fetch(found.predict(place.put(X))) == -1).all()


@on_every_device
def test_rows_without_missing_values_are_labelled_by_a_model_that_had_some(place, X):
    X = X.copy()
    X[3, 2] = np.nan
    model = CoHiRF(HDBSCAN(copy=True), random_state=0).fit(X)
    new = X[10:30]
    np.testing.assert_array_equal(place.fetch(model.predict(place.put(new))), model.predict(new))
    np.testing.assert_allclose(
        place.fetch(model.transform(place.put(new))), model.transform(new), rtol=1e-12
    )


@pytest.fixture
def fetched(monkeypatch):
    """Return a list to which the shape of each array that leaves its device is appended."""
    shapes = []
    kind = type(array_api_strict.asarray(0))
    to_device = kind.to_device

    def note(array, device, /, **options):
        shapes.append(array.shape)
        return to_device(array, device, **options)

    monkeypatch.setattr(kind, "to_device", note)
    return shapes


@pytest.mark.exact
@pytest.mark.parametrize(("is_weighted", "medoid"), [(False, "cosine"), (True, "euclidean")])
def test_only_what_is_small_comes_from_the_device(is_weighted, medoid, fetched):
    X, _ = make_blobs(12_000, n_features=4, centers=5, random_state=0)
    weights = FAR.put(np.arange(12_000) % 3 + 1.0) if is_weighted else None
    model = CoHiRF(NearestSeeds(5), views=2, medoid=medoid, random_state=0)
    model.fit(FAR.put(X), sample_weight=weights).predict(FAR.put(X))
    assert len(fetched) > 10
    # about 10,000 landmarks are the largest part
    assert max(shape[0] for shape in fetched if shape) <= 10_100


@pytest.mark.exact
def test_rows_stay_on_the_device_if_some_have_weight_0(fetched):
    X, _ = make_blobs(12_000, n_features=4, centers=5, random_state=0)
    weights = FAR.put((np.arange(12_000) % 12 > 0) * 2.0)
    CoHiRF(NearestSeeds(5), views=2, random_state=0).fit(FAR.put(X), sample_weight=weights)
    assert (11_000,) in fetched  # the numbers of the rows that take part
    assert max(shape[0] for shape in fetched if len(shape) == 2) <= 10_100


def test_a_base_method_that_refuses_other_arrays_is_called_on_the_device_only(X):
    model = CoHiRF(NearestSeeds(5), n_clusters=5, batch_size=100, random_state=0).fit(FAR.put(X))
    assert model.n_clusters_ == 5
    with pytest.raises(TypeError, match=r"^numpy is not array_api_strict$"):
        CoHiRF(NearestSeeds(5), random_state=0).fit(X)


@on_every_device
def test_without_an_estimator_rows_are_assigned_to_centres_on_the_device(place, X, monkeypatch):
    monkeypatch.setitem(vars(QUICK), "rows_per_cluster", 5)
    expected = CoHiRF(n_clusters=5, random_state=0).fit(X)
    found = CoHiRF(n_clusters=5, random_state=0).fit(place.put(X))
    place.fetch(found.labels_)
    assert (found.gather().labels_ == expected.labels_).all()


@on_every_device
def test_a_model_is_updated_in_this_process(place, X):
    parameters = {"n_clusters": 5, "random_state": 0}
    expected = CoHiRF(**parameters).fit(X[:300]).partial_fit(X[300:])
    found = CoHiRF(**parameters).fit(place.put(X[:300])).partial_fit(place.put(X[300:]))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    expected.forget(np.arange(50))
    found.forget(np.arange(50))
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    first = CoHiRF(**parameters).partial_fit(place.put(X))
    np.testing.assert_array_equal(first.labels_, CoHiRF(**parameters).partial_fit(X).labels_)


@on_every_device
def test_rows_are_forgotten_after_a_fit_on_a_device(place, X):
    expected = CoHiRF(n_clusters=5, random_state=0).fit(X).forget(np.arange(30))
    found = CoHiRF(n_clusters=5, random_state=0).fit(place.put(X)).forget(np.arange(30))
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@pytest.mark.slow
def test_large_models_on_a_device_are_updated():
    X, _ = make_blobs(16_500, n_features=3, centers=4, random_state=0)
    parameters = {"n_clusters": 4, "views": 2, "random_state": 0}
    expected = CoHiRF(**parameters).fit(X[:16_000]).partial_fit(X[16_000:])
    found = CoHiRF(**parameters).fit(FAR.put(X[:16_000])).partial_fit(X[16_000:])
    np.testing.assert_array_equal(found.labels_, expected.labels_)


@on_every_device
@pytest.mark.slow
def test_models_of_rows_on_a_device_are_merged_in_this_process(place):
    X, _ = make_blobs(16_500, n_features=3, centers=4, random_state=0)
    parameters = {"n_clusters": 4, "views": 2, "random_state": 0}
    second = CoHiRF(**parameters).fit(X[16_000:])
    expected = cohirf.merge([CoHiRF(**parameters).fit(X[:16_000]), second])
    first = CoHiRF(**parameters).fit(place.put(X[:16_000]))
    found = cohirf.merge([first, second])
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    place.fetch(first.labels_)  # the given model stays as it is


@on_every_device
def test_a_model_is_saved_after_its_labels_have_been_gathered(place, X, tmp_path):
    model = CoHiRF(n_clusters=5, random_state=0).fit(place.put(X))
    with pytest.raises(TypeError) as raised:
        model.save(tmp_path / "model")
    assert str(raised.value) == (
        "labels_ is on a device, and cannot be saved with the model: call gather() first, which "
        "loads 8 bytes per row into this process."
    )
    model.gather().save(tmp_path / "model")
    np.testing.assert_array_equal(cohirf.load(tmp_path / "model").labels_, model.labels_)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda X: X[:, 0], "X has shape (400,): give two dimensions, one row per sample."),
        (lambda X: X[:0], "X has 0 rows and 6 columns: give at least one of each."),
        (lambda X: np.where(X[7, 1] == X, np.nan, X), "Input X contains NaN or infinity"),
        (lambda X: np.where(X[7, 1] == X, -np.inf, X), "Input X contains NaN or infinity"),
        (
            lambda X: np.where(X[7, 1] == X, 1e160, X),
            "holds values up to 1e+160, whose squares overflow",
        ),
    ],
)
@on_every_device
def test_bad_rows_on_a_device_are_refused(place, change, message, X):
    with pytest.raises(ValueError, match="X") as raised:
        CoHiRF(random_state=0).fit(place.put(np.ascontiguousarray(change(X))))
    assert message in str(raised.value)


@on_every_device
def test_rows_with_other_features_are_refused(place, X):
    model = CoHiRF(n_clusters=5, random_state=0).fit(place.put(X))
    with pytest.raises(ValueError, match=r"^X has 5 features, but the fit had 6\.$"):
        model.predict(place.put(X[:, :5].copy()))


def test_large_finite_values_are_not_taken_for_infinite_ones():
    X = np.random.default_rng(0).uniform(1e153, 2e153, size=(60, 2))
    expected, found = fit_both(X, FAR, NearestSeeds(2), n_clusters=2)
    assert_same_fit(found, expected, FAR)


def test_a_checkpoint_is_refused(X, tmp_path):
    with pytest.raises(
        ValueError,
        match=r"^checkpoint is for data in this process and in sources, but X is on a dev",
    ):
        CoHiRF(n_clusters=5, checkpoint=tmp_path / "c").fit(FAR.put(X))


@on_every_device
@pytest.mark.parametrize("batch_size", [None, 150])
def test_methods_that_find_the_number_run_on_a_device(place, batch_size, X):
    base = DeviceDBSCAN(eps=2.5)
    expected = CoHiRF(base.set_params(library="numpy"), batch_size=batch_size, random_state=0).fit(
        X
    )
    there = CoHiRF(
        base.set_params(library=library(place)), batch_size=batch_size, random_state=0
    ).fit(place.put(X))
    assert expected.diagnostics_[0].n_batches > 1 or batch_size is None
    assert_same_fit(there, expected, place)


class TestOfTensors:
    """What torch alone has."""

    @pytest.fixture
    def torch(self):
        return pytest.importorskip("torch")

    @pytest.fixture
    def expected(self, X):
        return CoHiRF(n_clusters=5, random_state=0).fit(X)

    def test_gradients_are_left_out(self, torch, X, expected):
        model = CoHiRF(n_clusters=5, random_state=0).fit(torch.tensor(X, requires_grad=True))
        assert not model.stability_.requires_grad
        assert model.labels_.tolist() == expected.labels_.tolist()
        assert (
            model.predict(torch.tensor(X, requires_grad=True)).tolist() == expected.labels_.tolist()
        )

    def test_rows_need_not_be_contiguous(self, torch, X, expected):
        for tensor in (torch.tensor(X.T.copy()).T, torch.tensor(np.repeat(X, 2, axis=1))[:, ::2]):
            assert not tensor.is_contiguous()
            assert (
                CoHiRF(n_clusters=5, random_state=0).fit(tensor).labels_.tolist()
                == expected.labels_.tolist()
            )

    @pytest.mark.parametrize("kind", ["float16", "bfloat16"])
    def test_half_precision_is_fitted(self, torch, kind, X):
        tensor = torch.tensor(X).to(getattr(torch, kind))
        rounded = tensor.double().numpy()
        expected = CoHiRF(NearestSeeds(5, library="numpy"), random_state=0).fit(rounded)
        found = CoHiRF(RoundedSeeds(5, library="torch"), random_state=0).fit(tensor)
        assert found.labels_.tolist() == expected.labels_.tolist()
        np.testing.assert_array_equal(found.medoid_indices_, expected.medoid_indices_)
        np.testing.assert_array_equal(found.medoids_, expected.medoids_)
        assert found.predict(tensor).tolist() == found.labels_.tolist()
        assert found.transform(tensor).shape == (400, 5)

    def test_a_device_by_name_is_for_arrays_of_numpy(self, torch, X, expected):
        model = CoHiRF(NearestSeeds(5, library="torch"), random_state=0, device="cpu").fit(X)
        here = CoHiRF(NearestSeeds(5, library="numpy"), random_state=0).fit(X)
        np.testing.assert_array_equal(model.labels_, here.labels_)
        batched = CoHiRF(
            NearestSeeds(5, library="torch"), random_state=0, device="cpu", batch_size=100
        )
        here = CoHiRF(NearestSeeds(5, library="numpy"), random_state=0, batch_size=100).fit(X)
        np.testing.assert_array_equal(batched.fit(X).labels_, here.labels_)
        np.testing.assert_array_equal(
            batched.fit(cohirf.open_source(X)).n_clusters_, here.n_clusters_
        )

    @pytest.mark.parametrize("batch_size", [None, 150], ids=["one-batch", "local-batches"])
    def test_methods_of_scikit_learn_take_tensors_on_the_cpu(self, torch, batch_size, X):
        here = CoHiRF(DBSCAN(eps=2.5), batch_size=batch_size, random_state=0).fit(X)
        there = CoHiRF(DBSCAN(eps=2.5), batch_size=batch_size, random_state=0).fit(torch.tensor(X))
        assert there.labels_.tolist() == here.labels_.tolist()
        assert there.diagnostics_[0].kind == here.diagnostics_[0].kind

    def test_the_same_tensor_has_the_same_labels_run_after_run(self, torch, X):
        device = "cuda" if torch.cuda.is_available() else "cpu"
        tensor = torch.tensor(X, device=device, dtype=torch.float32)
        fits = [
            CoHiRF(cohirf.clusterers.TorchKMeans(5), random_state=0).fit(tensor) for _ in range(2)
        ]
        assert torch.equal(fits[0].labels_, fits[1].labels_)
        assert torch.equal(fits[0].stability_, fits[1].stability_)


def test_dbscan_in_local_batches_is_computed_wherever_the_rows_are():
    X, _ = make_blobs(400, centers=4, cluster_std=1.5, random_state=0)
    for weights in (None, np.random.default_rng(0).integers(1, 4, 400).astype(float)):
        here, there = (
            CoHiRF(DBSCAN(eps=0.7), batch_size=60, random_state=0).fit(rows, sample_weight=weights)
            for rows in (X, array_api_strict.asarray(X))
        )
        np.testing.assert_array_equal(np.asarray(there.labels_), here.labels_)
        assert there.diagnostics_[0].kind == here.diagnostics_[0].kind == "exact"


def test_batches_of_updates_run_on_a_device():
    pytest.importorskip("torch")
    X, _ = make_blobs(900, n_features=4, centers=3, random_state=0)
    model, here = (
        CoHiRF(KMeans(3, n_init=1), device=device, random_state=0) for device in ("cpu", None)
    )
    for rows in np.array_split(np.arange(900), 3):
        model.partial_fit(X[rows])
        here.partial_fit(X[rows])
    np.testing.assert_array_equal(model.labels_, here.labels_)
