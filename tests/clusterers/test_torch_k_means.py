"""TorchKMeans finds what scikit-learn's KMeans finds, on any kind of array."""

import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from cohirf import CoHiRF
from cohirf.clusterers import TorchKMeans
from stand_in_cupy import make_cupy

torch = pytest.importorskip("torch")

from cohirf.clusterers import torch_lloyd  # noqa: E402  # these import torch
from cohirf.clusterers.torch_lloyd import all_finite  # noqa: E402  # likewise

DEVICES = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]
K_MEANS_REASON = "as for scikit-learn's KMeans: other rows draw other first centres"
EXPECTED_FAILURES = {
    "check_sample_weight_equivalence_on_dense_data": K_MEANS_REASON,
}


# Data in some checks has fewer distinct rows than clusters.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(
    [TorchKMeans(), TorchKMeans(3, init="random", n_init=2)],
    expected_failed_checks=lambda _: EXPECTED_FAILURES,
)
def test_it_passes_scikit_learns_checks(estimator, check):
    check(estimator)


def some_rows(n=3000, n_features=7, n_groups=6, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    centers = 3 * rng.normal(size=(n_groups, n_features))
    return (centers[rng.integers(n_groups, size=n)] + rng.normal(size=(n, n_features))).astype(
        dtype
    )


def on_host(values):
    return values.cpu().numpy() if isinstance(values, torch.Tensor) else values


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "n_clusters",
    [1, 5, torch_lloyd.TORCH.one_hot_clusters, torch_lloyd.TORCH.one_hot_clusters + 1, 150],
)
def test_from_the_same_centres_it_takes_the_steps_of_scikit_learn(n_clusters, weighted, device):
    X = some_rows()
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    expected = KMeans(n_clusters, init=X[:n_clusters], n_init=1).fit(X, sample_weight=weights)
    found = TorchKMeans(n_clusters, init=X[:n_clusters]).fit(
        torch.tensor(X, device=device), sample_weight=weights
    )
    np.testing.assert_array_equal(on_host(found.labels_), expected.labels_)
    np.testing.assert_allclose(
        on_host(found.cluster_centers_), expected.cluster_centers_, rtol=1e-9, atol=1e-12
    )
    assert found.inertia_ == pytest.approx(expected.inertia_, rel=1e-12)
    assert found.n_iter_ == expected.n_iter_


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("tol", [0, 1e-2])
@pytest.mark.parametrize("max_iter", [1, 3, 300])
def test_it_stops_when_scikit_learn_does(tol, max_iter, device):
    X = some_rows(n_groups=1)
    settings = {"n_clusters": 9, "init": X[:9], "tol": tol, "max_iter": max_iter}

    expected = KMeans(n_init=1, **settings).fit(X)
    found = TorchKMeans(**settings).fit(torch.tensor(X, device=device))
    assert found.n_iter_ == expected.n_iter_
    np.testing.assert_array_equal(on_host(found.labels_), expected.labels_)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("load", [load_iris, load_digits])
@pytest.mark.parametrize("n_clusters", [3, 10])
def test_its_inertia_is_that_of_scikit_learn_within_seeds(load, n_clusters, device):
    X = load().data
    theirs = [KMeans(n_clusters, random_state=seed).fit(X).inertia_ for seed in range(10)]
    T = torch.tensor(X, device=device)
    ours = [TorchKMeans(n_clusters, random_state=seed).fit(T).inertia_ for seed in range(10)]
    assert np.mean(ours) < np.mean(theirs) + 2 * np.std(theirs) + 1e-9
    assert min(ours) == pytest.approx(min(theirs), rel=0.01)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n_clusters", [8, 100])
def test_the_same_device_gives_the_same_result_run_after_run(n_clusters, device):
    X = torch.tensor(some_rows(20_000, n_groups=1, dtype=np.float32), device=device)
    first, second = (TorchKMeans(n_clusters, max_iter=20, random_state=0).fit(X) for _ in range(2))
    assert torch.equal(first.labels_, second.labels_)
    assert torch.equal(first.cluster_centers_, second.cluster_centers_)
    assert first.inertia_ == second.inertia_


@pytest.mark.parametrize("n_clusters", [8, 100])
@pytest.mark.parametrize("weighted", [False, True])
def test_the_size_of_blocks_changes_nothing(n_clusters, weighted, monkeypatch):
    X = some_rows(5000, n_groups=1)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X)) if weighted else None
    models = []
    for size in (2**30, 1):
        monkeypatch.setitem(vars(torch_lloyd.TORCH), "cpu_bytes", size)
        models.append(TorchKMeans(n_clusters, random_state=0).fit(X, sample_weight=weights))
    whole, in_blocks = models
    np.testing.assert_array_equal(whole.labels_, in_blocks.labels_)
    np.testing.assert_allclose(whole.cluster_centers_, in_blocks.cluster_centers_)
    assert whole.inertia_ == pytest.approx(in_blocks.inertia_)


def test_blocks_are_consecutive_and_as_large_as_the_budget_allows(monkeypatch):
    monkeypatch.setitem(vars(torch_lloyd.TORCH), "cpu_bytes", 4 * 10 * 2500)
    rows = torch_lloyd.WeightedTensor(torch.zeros(5000, 2))
    assert list(rows.blocks(10)) == [slice(0, 2048), slice(2048, 4096), slice(4096, 5000)]
    assert list(rows.blocks(1)) == [slice(0, 5000)]


@pytest.mark.parametrize("device", DEVICES)
@given(
    seed=st.integers(0, 2**32),
    n=st.sampled_from([1, 5, torch_lloyd.TORCH.piece_rows, torch_lloyd.TORCH.piece_rows + 1, 3000]),
    n_clusters=st.integers(1, 40),
    n_used=st.integers(1, 40),
    weighted=st.booleans(),
)
def test_sums_by_label_are_those_of_a_loop(device, seed, n, n_clusters, n_used, weighted):
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(n, 3))
    labels = rng.integers(min(n_used, n_clusters), size=n)
    weights = rng.integers(0, 3, n).astype(float) if weighted else np.ones(n)
    expected = np.zeros((n_clusters, 3))
    np.add.at(expected, labels, features * weights[:, None])
    given_weights = torch.tensor(weights, device=device) if weighted else None
    for sum_by_label in (torch_lloyd.sum_by_product, torch_lloyd.sum_by_sorting):
        tensors = torch.tensor(features, device=device), torch.tensor(labels, device=device)
        sums, masses = sum_by_label(*tensors, given_weights, n_clusters)
        np.testing.assert_allclose(on_host(sums), expected, atol=1e-9)
        np.testing.assert_allclose(on_host(masses), np.bincount(labels, weights, n_clusters))


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n_far", [1, 3])
def test_empty_clusters_get_the_farthest_rows_as_in_scikit_learn(n_far, device):
    X = some_rows(300, 2, n_groups=4)
    init = np.concatenate([X[:3], np.full((n_far, 2), 1e3) + np.arange(n_far)[:, None]])
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    settings = {"n_clusters": 3 + n_far, "init": init, "max_iter": 1}
    expected = KMeans(n_init=1, **settings).fit(X, sample_weight=weights)
    found = TorchKMeans(**settings).fit(torch.tensor(X, device=device), sample_weight=weights)
    centers = [np.sort(on_host(model.cluster_centers_), axis=0) for model in (found, expected)]
    np.testing.assert_allclose(*centers)
    assert adjusted_rand_score(on_host(found.labels_), expected.labels_) == 1


def test_fewer_distinct_rows_than_clusters_give_a_warning_and_finite_centres():
    X = np.array([[0.0, 0.0], [3.0, 3.0]] * 3)
    with pytest.warns(
        ConvergenceWarning, match=r"distinct clusters \(2\) found smaller than n_clusters \(4\)"
    ):
        model = TorchKMeans(4, random_state=0).fit(X)
    assert np.isfinite(model.cluster_centers_).all()
    assert adjusted_rand_score(model.labels_, [0, 1] * 3) == 1


def test_weights_are_repetitions_and_rows_of_weight_zero_do_not_matter():
    X = some_rows(400)
    weights = np.random.default_rng(0).integers(0, 4, len(X))
    weighted = TorchKMeans(5, init=X[:5]).fit(X, sample_weight=weights)
    repeated = TorchKMeans(5, init=X[:5]).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.cluster_centers_, repeated.cluster_centers_)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)


@pytest.mark.parametrize("init", ["k-means++", "random"])
def test_rows_of_weight_zero_are_not_first_centres(init, monkeypatch):
    monkeypatch.setitem(vars(torch_lloyd.TORCH), "start_rows", 50)
    monkeypatch.setitem(vars(torch_lloyd.TORCH), "start_rows_per_cluster", 1)
    X = some_rows(400)
    weights = np.zeros(len(X))
    weights[::20] = 1
    X[weights == 0] += 1e6
    for seed in range(5):
        model = TorchKMeans(3, init=init, max_iter=1, random_state=seed).fit(
            X, sample_weight=weights
        )
        assert abs(model.cluster_centers_).max() < 1e3


@pytest.mark.parametrize("device", DEVICES)
def test_results_have_the_kind_and_device_of_the_data(device):
    X = torch.tensor(some_rows(200, dtype=np.float32), device=device)
    model = TorchKMeans(3, random_state=0).fit(X)
    results = [model.labels_, model.predict(X), model.cluster_centers_]
    assert [result.device for result in results] == [X.device] * 3
    assert [result.dtype for result in results] == [torch.int32] * 2 + [torch.float32]
    assert isinstance(model.predict(X.cpu().numpy()), np.ndarray)
    np.testing.assert_array_equal(model.predict(X.cpu().numpy()), on_host(model.labels_))


@pytest.mark.parametrize("device", DEVICES)
def test_numpy_data_is_computed_on_the_device_and_comes_back(device):
    X = some_rows(200)
    model = TorchKMeans(3, device=device, random_state=0).fit(X)
    assert isinstance(model.labels_, np.ndarray)
    assert isinstance(model.cluster_centers_, np.ndarray)
    np.testing.assert_array_equal(model.labels_, TorchKMeans(3, random_state=0).fit(X).labels_)


def test_cupy_arrays_give_cupy_arrays(monkeypatch):
    cupy = make_cupy()
    monkeypatch.setitem(sys.modules, "cupy", cupy)
    X = some_rows(200)
    model = TorchKMeans(3, random_state=0).fit(
        cupy.asarray(X), sample_weight=cupy.asarray(np.ones(200))
    )
    assert isinstance(model.labels_, cupy.ndarray)
    assert isinstance(model.predict(cupy.asarray(X)), cupy.ndarray)
    np.testing.assert_array_equal(
        model.labels_.get(), TorchKMeans(3, random_state=0).fit(X).labels_
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "uint8"])
def test_narrow_types_are_clustered_with_sums_in_float32(dtype, device):
    X, y = make_blobs(2000, 10, centers=4, cluster_std=0.5, center_box=(0, 10), random_state=0)
    T = torch.tensor(X.clip(0), device=device).to(getattr(torch, dtype))
    model = TorchKMeans(4, n_init=3, random_state=0).fit(T)
    assert model.cluster_centers_.dtype == torch.float32
    assert adjusted_rand_score(y, on_host(model.labels_)) == 1
    means = torch.stack([T[model.labels_ == label].double().mean(dim=0) for label in range(4)])
    torch.testing.assert_close(model.cluster_centers_.double(), means, rtol=1e-5, atol=1e-5)
    assert torch.equal(model.predict(T), model.labels_)


@pytest.mark.parametrize("device", DEVICES)
def test_distances_in_bfloat16_change_few_labels(device):
    X = torch.tensor(some_rows(20_000, 30, n_groups=8, dtype=np.float32), device=device).bfloat16()
    exact, rounded = (TorchKMeans(8, init=X[:8].float()).fit(rows) for rows in (X.float(), X))
    assert adjusted_rand_score(on_host(exact.labels_), on_host(rounded.labels_)) > 0.97
    assert rounded.inertia_ < 1.005 * exact.inertia_


def test_scores_in_bfloat16_differ_from_squared_distances_by_a_number_for_each_row():
    """Values and centres that bfloat16 holds exactly: only the sums round."""
    rng = np.random.default_rng(0)
    features = torch.tensor(rng.integers(-8, 8, (50, 11))).float()
    centers = torch.tensor(rng.integers(-8, 8, (16, 11))).double()
    centers -= centers.mean(dim=0).round()
    search = torch_lloyd.CenterSearch.prepare(torch.cat([centers, -centers]), torch.bfloat16)
    distances = torch.cdist(features.double(), torch.cat([centers, -centers])).square()
    differences = search.scores(features).double() - distances
    torch.testing.assert_close(
        differences, differences[:, :1].expand_as(differences), rtol=0, atol=1e-3
    )


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("n_clusters", [5, 80])
def test_data_far_from_the_origin_is_clustered_as_near_it(n_clusters, device):
    X = (
        some_rows(4000, n_groups=n_clusters) * 64
    ).round() / 64  # exact in float32, with the offset, too
    near, far = (
        torch.tensor(X + offset, dtype=torch.float32, device=device) for offset in (0, 2**12)
    )
    models = [TorchKMeans(n_clusters, init=T[:n_clusters]).fit(T) for T in (near, far)]
    assert (models[0].labels_ != models[1].labels_).double().mean() < 0.005
    assert models[1].inertia_ == pytest.approx(models[0].inertia_, rel=1e-3)


def test_starts_on_a_sample_are_nearly_as_good_as_on_all_rows(monkeypatch):
    X = some_rows(6000, n_groups=10)
    settings = [{"n_clusters": 10, "n_init": 2, "random_state": seed} for seed in range(5)]
    on_all = [TorchKMeans(**each).fit(X) for each in settings]
    monkeypatch.setitem(vars(torch_lloyd.TORCH), "start_rows", 1500)
    on_sample = [TorchKMeans(**each).fit(X) for each in settings]
    assert on_sample[0].labels_.shape == (6000,)
    medians = [np.median([model.inertia_ for model in models]) for models in (on_sample, on_all)]
    assert medians[0] < 1.05 * medians[1]
    assert max(model.n_iter_ for model in on_sample) < max(model.n_iter_ for model in on_all)


def test_a_sample_has_distinct_rows_with_a_weight():
    rows = torch_lloyd.WeightedTensor(torch.arange(100.0)[:, None], torch.arange(100.0) % 2)
    sample = torch_lloyd.sample_rows(rows, 20, np.random.default_rng(0))
    assert len(set(sample.values[:, 0].tolist())) == 20
    assert (sample.weights == 1).all()
    assert len(torch_lloyd.sample_rows(rows, 70, np.random.default_rng(0))) == 50
    assert torch_lloyd.sample_rows(rows, 100, np.random.default_rng(0)) is rows


@pytest.mark.parametrize("device", DEVICES)
def test_numbers_are_drawn_with_the_given_chances(device):
    chances = torch.tensor([0.0, 3.0, 0.0, 1.0, 0.0], device=device)
    uniform = torch.linspace(0, 1 - 1e-9, 4001, dtype=torch.float64, device=device)
    counts = torch.bincount(torch_lloyd.draw_numbers(chances, uniform), minlength=5).tolist()
    assert counts == [0, pytest.approx(3000, abs=2), 0, pytest.approx(1000, abs=2), 0]


def test_predict_agrees_with_the_fit():
    X = some_rows(500)
    weights = np.random.default_rng(1).uniform(0.5, 2, len(X))
    model = TorchKMeans(5, random_state=0).fit(X, sample_weight=weights)
    np.testing.assert_array_equal(model.predict(X), model.labels_)
    squares = np.linalg.norm(X - model.cluster_centers_[model.labels_], axis=1) ** 2
    assert model.inertia_ == pytest.approx(weights @ squares)


def test_of_several_starts_the_best_is_used():
    X = some_rows(500, n_groups=1)
    best = TorchKMeans(8, init="random", n_init=10, random_state=0).fit(X).inertia_
    assert best < np.mean(
        [TorchKMeans(8, init="random", n_init=1, random_state=s).fit(X).inertia_ for s in range(5)]
    )
    assert TorchKMeans(8, init="random", random_state=0).fit(X).inertia_ == best  # "auto" means ten


@pytest.mark.parametrize(
    ("X", "settings", "message"),
    [
        (torch.zeros(4), {}, r"X has shape \(4,\): give a matrix"),
        (torch.zeros(4, 0), {}, r"X has shape \(4, 0\): give a matrix"),
        (torch.tensor([[1.0], [torch.nan], [2.0]]), {}, "X contains NaN or infinity"),
        (torch.tensor([[1.0], [torch.inf], [2.0]]), {}, "X contains NaN or infinity"),
        (torch.zeros(1, 2), {}, "n_samples=1 should be >= n_clusters=2"),
        (
            torch.eye(3),
            {"init": np.zeros((3, 3))},
            r"init has shape \(3, 3\): give \(2, 3\), a row for each cluster",
        ),
        (
            torch.eye(3),
            {"sample_weight": torch.ones(2)},
            r"sample_weight has shape \(2,\): give 3 weights",
        ),
        (
            torch.eye(3),
            {"sample_weight": np.array([1, -1, 1])},
            "Negative values in data passed to `sample_weight`",
        ),
        (torch.eye(3), {"sample_weight": np.zeros(3)}, "All sample weights are zero"),
        (torch.eye(3), {"sample_weight": np.full(3, np.nan)}, "sample_weight contains NaN"),
        (torch.eye(3), {"device": 1}, "'device' parameter of TorchKMeans must be"),
    ],
)
def test_what_is_not_valid_is_named_with_what_is(X, settings, message):
    weights = (
        {"sample_weight": settings.pop("sample_weight")} if "sample_weight" in settings else {}
    )
    with pytest.raises(ValueError, match=message):
        TorchKMeans(2, **settings).fit(X, **weights)


def test_sparse_and_complex_tensors_are_refused():
    for X in (torch.eye(3).to_sparse(), torch.eye(3, dtype=torch.complex64)):
        with pytest.raises(TypeError, match="give dense real numbers"):
            TorchKMeans(2).fit(X)


def test_finite_values_whose_sum_overflows_are_taken():
    assert all_finite(torch.full((100,), 3e38))
    assert not all_finite(torch.tensor([1.0, torch.nan]))


def test_a_tensor_with_another_number_of_features_is_refused():
    model = TorchKMeans(2, random_state=0).fit(torch.eye(3))
    with pytest.raises(ValueError, match="X has 2 features, but TorchKMeans is expecting 3"):
        model.predict(torch.zeros(4, 2))


def test_predict_needs_a_fit():
    with pytest.raises(NotFittedError):
        TorchKMeans().predict(torch.eye(3))


def test_the_data_is_not_changed():
    X = torch.tensor(some_rows(300), requires_grad=True)
    before = X.detach().clone()
    assert not TorchKMeans(3, random_state=0).fit(X).cluster_centers_.requires_grad
    assert torch.equal(X.detach(), before)


@pytest.mark.parametrize("as_published", [False, True])
def test_it_is_a_base_method_of_cohirf(blobs, as_published):
    X, y = blobs
    make = CoHiRF.as_published if as_published else CoHiRF
    assert adjusted_rand_score(y, make(TorchKMeans(4), random_state=0).fit(X).labels_) > 0.9
