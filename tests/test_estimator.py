"""The estimator: fitted attributes, options, predict and transform."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import NearestNeighbors
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.datasets import make_spheres

SPHERES = {
    "estimator": DBSCAN(eps=0.2, min_samples=5),
    "views": 1,
    "max_features": 1.0,
    "random_state": 0,
}


@pytest.fixture(scope="module")
def model(blobs):
    return CoHiRF.as_published(KMeans(4), random_state=0).fit(blobs[0])


def test_separated_blobs_are_found(model, blobs):
    assert adjusted_rand_score(model.labels_, blobs[1]) == 1
    assert model.n_clusters_ == 4


def test_fitted_attributes_fit_together(model, blobs):
    X = blobs[0]
    assert list(dict.fromkeys(model.labels_.tolist())) == [0, 1, 2, 3]
    assert model.labels_[model.medoid_indices_].tolist() == [0, 1, 2, 3]
    assert (model.medoids_ == X[model.medoid_indices_]).all()
    assert (model.parents_ == model.hierarchy_.parents).all()
    assert (model.hierarchy_.cut(level=model.hierarchy_.n_levels) == model.labels_).all()
    assert model.n_features_in_ == 10
    assert not hasattr(model, "feature_names_in_")


def test_diagnostics_have_a_record_for_each_level_and_make_a_table(model):
    table = pd.DataFrame(model.diagnostics_)
    assert len(table) == model.n_iter_
    assert table.rows_in.tolist()[0] == 300
    assert table.rows_out.tolist()[-1] == 4
    assert table.rows_in.tolist()[1:] == table.rows_out.tolist()[:-1]
    assert (table[["base_seconds", "consensus_seconds", "medoid_seconds"]] >= 0).all(axis=None)
    assert table.agreement.between(-1, 1).all()
    assert (table.views_kept == 5).all()


def test_relaxed_consensus_keeps_fewer_views_where_they_disagree():
    X = np.random.default_rng(0).normal(size=(200, 20))
    strict = CoHiRF.as_published(KMeans(3), random_state=0).fit(X)
    relaxed = CoHiRF.as_published(KMeans(3), consensus="relaxed", random_state=0).fit(X)
    assert relaxed.diagnostics_[0].views_kept < 5
    assert relaxed.n_clusters_ < strict.n_clusters_


def test_without_an_estimator_the_base_is_k_means(blobs):
    default = CoHiRF.as_published(random_state=0).fit(blobs[0])
    assert (
        default.labels_ == CoHiRF.as_published(KMeans(), random_state=0).fit(blobs[0]).labels_
    ).all()


def test_small_clusters_are_reported_as_noise_and_kept_in_the_hierarchy():
    X = np.concatenate(
        [np.random.default_rng(0).normal(0, 0.1, (30, 2)), [[9.0, 9.0]], [[-9.0, 9.0]]]
    )
    common = {"views": 1, "max_features": 1.0, "random_state": 0}
    model = CoHiRF.as_published(DBSCAN(eps=0.5), min_cluster_size=2, **common).fit(X)
    assert model.labels_[-2:].tolist() == [-1, -1]
    assert set(model.labels_[:-2]) == {0}
    assert model.n_clusters_ == len(model.medoids_) == len(model.medoid_indices_) == 1
    assert (model.predict(X) == model.labels_).all()
    assert len(model.hierarchy_.sizes(model.hierarchy_.n_levels)) == 3
    with pytest.warns(
        ConvergenceWarning, match="All of the rows are noise: lower min_cluster_size=99"
    ):
        nothing = CoHiRF.as_published(DBSCAN(eps=0.5), min_cluster_size=99, **common).fit(X)
    assert set(nothing.labels_) == {-1}
    assert nothing.transform(X).shape == (32, 0)
    assert set(nothing.predict(X)) == {-1}


def collinear(n, seed):
    """Three clusters along one ray: cosine similarity cannot tell them apart."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    length = np.array([1.0, 5.0, 12.0])[y] + rng.normal(0, 0.2, n)
    return length[:, None] * np.array([[1.0, 2.0, 2.0]]) / 3, y


def blobs_at(n, seed):
    centers = np.random.default_rng(0).uniform(-10, 10, (5, 8))
    return make_blobs(n, 8, centers=centers, cluster_std=0.5, random_state=seed)


PREDICTED = {
    "blobs": (blobs_at, {"estimator": KMeans(5), "random_state": 0}),
    "collinear": (
        collinear,
        {"estimator": KMeans(3, n_init=5), "views": 2, "max_features": 1.0, "random_state": 0},
    ),
    "spheres": (lambda n, seed: make_spheres(n, random_state=seed), SPHERES),
}


@pytest.mark.parametrize(("make", "options"), PREDICTED.values(), ids=PREDICTED)
@pytest.mark.parametrize("n", [4000, 15_000])  # 15,000 is more than there are landmarks
def test_predict_gives_the_labels_of_training_rows_and_fits_fresh_ones(make, options, n):
    X, y = make(n, 1)
    model = CoHiRF.as_published(**options).fit(X)
    assert adjusted_rand_score(model.labels_, y) == 1
    assert adjusted_rand_score(model.predict(X), model.labels_) > (
        0.99 if options is SPHERES else 1 - 1e-12
    )
    fresh, truth = make(2000, 2)
    assert adjusted_rand_score(model.predict(fresh), truth) > 0.99


def test_predict_finds_a_training_row_far_from_the_origin_exactly():
    X = np.random.default_rng(0).normal(size=(100, 30)) + 1e7
    model = CoHiRF.as_published(KMeans(10), random_state=0).fit(X)
    assert (model.predict(X) == model.labels_).all()


def test_later_changes_of_the_data_do_not_change_the_model(blobs):
    X = blobs[0].copy()
    model = CoHiRF.as_published(KMeans(4), random_state=0).fit(X)
    labels = model.predict(X)
    medoids = model.medoids_.copy()
    X[:] = 0
    assert (model.predict(blobs[0]) == labels).all()
    assert (model.medoids_ == medoids).all()


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("n_features", [4, 20])
def test_time_stamps_are_predicted_and_measured_exactly(n_features, container):
    X = 0.1 * np.random.default_rng(0).normal(size=(300, n_features))
    X[:, 0] += 1.7e9 + np.repeat(10 * np.arange(6), 50)
    X = container(X)
    model = CoHiRF.as_published(
        DBSCAN(eps=8, min_samples=2, metric="manhattan"), views=1, random_state=0
    ).fit(X)
    assert model.n_clusters_ == 6
    assert (model.predict(X) == model.labels_).all()
    assert (model.transform(X).argmin(axis=1) == model.labels_).all()


def test_transform_measures_the_distance_to_the_medoids(model, blobs):
    X = blobs[0]
    distances = model.transform(X)
    expected = np.linalg.norm(X[:, None] - model.medoids_[None], axis=2)
    assert np.allclose(distances, expected, atol=1e-6)
    assert model.get_feature_names_out().tolist() == ["cohirf0", "cohirf1", "cohirf2", "cohirf3"]


def test_transform_gives_a_table_where_asked(blobs):
    model = CoHiRF.as_published(KMeans(4), random_state=0).set_output(transform="pandas")
    frame = pd.DataFrame(blobs[0], index=range(1000, 1300))
    out = model.fit_transform(frame.rename(columns=str))
    assert out.columns.tolist() == ["cohirf0", "cohirf1", "cohirf2", "cohirf3"]
    assert out.index.tolist() == frame.index.tolist()


def test_it_works_in_a_pipeline_and_a_grid_search(blobs):
    X, y = blobs
    pipeline = make_pipeline(StandardScaler(), CoHiRF.as_published(KMeans(), random_state=0))
    scoring = lambda fitted, X, y: adjusted_rand_score(y, fitted.predict(X))  # noqa: E731 - shorter than a def
    search = GridSearchCV(
        pipeline, {"cohirf__estimator__n_clusters": [2, 4]}, scoring=scoring, cv=3
    ).fit(X, y)
    assert search.best_params_ == {"cohirf__estimator__n_clusters": 4}
    assert search.best_score_ == 1


def test_transform_has_the_papers_rule_for_new_rows_which_is_the_nearest_medoid():
    X, _ = make_blobs(300, 3, centers=5, cluster_std=3, random_state=0)
    model = CoHiRF.as_published(KMeans(4, n_init=1), random_state=0).fit(X[:200])
    nearest = (
        NearestNeighbors(n_neighbors=1).fit(X[model.medoid_indices_]).kneighbors(X[200:])[1].ravel()
    )
    by_medoid = model.cluster_numbers_[model.transform(X[200:]).argmin(axis=1)]
    assert by_medoid.tolist() == model.labels_[model.medoid_indices_][nearest].tolist()


@pytest.mark.parametrize("views", [1, 3])
def test_the_base_method_runs_once_for_each_view_of_each_batch(views):
    """Count the calls that the paper's theorems on time count; one of six batches is held aside."""
    n_rows = []

    class Counted(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            n_rows.append(len(X))
            return super().fit(X, y, sample_weight)

    X, _ = make_blobs(600, 4, centers=4, random_state=0)
    options = {"views": views, "random_state": 0}
    CoHiRF.as_published(Counted(3, n_init=1), **options).fit(X)
    assert n_rows == views * [600]
    n_rows.clear()
    model = CoHiRF.as_published(Counted(3, n_init=1), batch_size=100, **options).fit(X)
    assert n_rows == views * 5 * [100] + views * [len(model.hierarchy_.sizes(1))]


def test_batches_bound_what_the_base_sees():
    X, y = make_spheres(20_000, random_state=0)
    seen = []

    class Recorder(DBSCAN):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(len(X))
            return super().fit(X, y, sample_weight)

    model = CoHiRF.as_published(
        **SPHERES | {"estimator": Recorder(eps=0.2, min_samples=5)}, batch_size=2000
    ).fit(X)
    assert adjusted_rand_score(model.labels_, y) == 1
    assert max(seen) <= 3000
    assert model.diagnostics_[0].n_batches == 9


def test_a_callable_medoid_and_every_rule_find_the_blobs(blobs):
    for medoid in ("cosine", "euclidean", "rbf", "laplacian", lambda X: X @ X.T):
        model = CoHiRF.as_published(KMeans(4), medoid=medoid, random_state=0).fit(blobs[0])
        assert adjusted_rand_score(model.labels_, blobs[1]) == 1


def test_a_method_without_randomness_runs_once_where_all_views_are_the_same(blobs):
    calls = []

    class Recorder(DBSCAN):
        def fit(self, X, y=None, sample_weight=None):
            calls.append(X.shape)
            return super().fit(X, y, sample_weight)

    model = CoHiRF.as_published(Recorder(eps=3.0), views=5, random_state=0).fit(blobs[0])
    assert len(calls) == model.n_iter_
    assert model.diagnostics_[0].views_kept == 5
    assert model.diagnostics_[0].agreement == 1
    calls.clear()
    CoHiRF.as_published(Recorder(eps=3.0), views=5, max_features=0.5, random_state=0).fit(blobs[0])
    assert len(calls) % 5 == 0


def test_an_unhashable_callable_is_a_medoid_rule(blobs):
    class Rule:
        __hash__ = None

        def __call__(self, X):
            return X @ X.T

    assert (
        CoHiRF.as_published(KMeans(4), medoid=Rule(), random_state=0).fit(blobs[0]).n_clusters_ == 4
    )


def test_a_level_that_merged_nothing_is_said_and_not_that_the_fit_stopped_early():
    X = np.random.default_rng(0).normal(size=(100, 3))
    # more clusters than rows
    model = CoHiRF.as_published(KMeans(25), batch_size=20, max_iter=1, random_state=0)
    with pytest.warns(ConvergenceWarning, match="Nothing fused") as warned:
        model.fit(X)
    assert len(warned) == 1
    assert model.n_clusters_ == 100


def test_a_mixture_is_a_base_like_any_other(blobs):
    model = CoHiRF.as_published(GaussianMixture(4, n_init=3), random_state=0).fit(blobs[0])
    assert adjusted_rand_score(model.labels_, blobs[1]) == 1


def test_stopping_early_is_said():
    X = np.random.default_rng(0).normal(size=(200, 4))
    with pytest.warns(
        ConvergenceWarning,
        match="still merged clusters when max_iter=1 was reached: raise max_iter",
    ):
        model = CoHiRF.as_published(KMeans(3), max_iter=1, random_state=0).fit(X)
    assert model.n_iter_ == 1
    assert model.hierarchy_.n_levels == 1


def test_batches_that_merge_nothing_are_said():
    X = np.random.default_rng(0).normal(size=(100, 3))
    with pytest.warns(
        ConvergenceWarning,
        match="Levels 1 and 2 merged nothing in any batch: 100 .*Raise batch_size above 20",
    ):
        CoHiRF.as_published(KMeans(25), batch_size=20, random_state=0).fit(X)


def test_verbose_prints_a_line_per_level(blobs, capsys):
    model = CoHiRF.as_published(KMeans(4), verbose=1, random_state=0).fit(blobs[0])
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == model.n_iter_
    assert lines[0].startswith("[CoHiRF] level 1: 300 -> ")


def test_nothing_is_printed_unasked(blobs, capsys):
    CoHiRF.as_published(KMeans(4), random_state=0).fit(blobs[0])
    assert capsys.readouterr().out == ""


def test_parameters_are_stored_verbatim_and_cloned():
    model = CoHiRF.as_published(KMeans(3), views=7, max_features=0.25, medoid="rbf")
    assert clone(model).get_params()["max_features"] == 0.25
    assert clone(model).set_params(estimator__n_clusters=9).estimator.n_clusters == 9


@pytest.mark.parametrize("method", ["fit", "fit_predict", "fit_transform"])
def test_a_warning_points_to_the_line_that_calls_the_estimator(method, blobs):
    with pytest.warns(ConvergenceWarning, match="n_clusters=30 of KMeans") as warned:
        getattr(CoHiRF.as_published(KMeans(30), random_state=0), method)(blobs[0][:20])
    assert warned[0].filename == __file__


def test_more_clusters_than_rows_are_warned_of(blobs):
    message = r"n_clusters=500 of KMeans is at least the number of rows \(150\), so only identical rows fuse: lower"
    with pytest.warns(ConvergenceWarning, match=message) as warned:
        model = CoHiRF.as_published(KMeans(500), random_state=0).fit(blobs[0][:150])
    assert model.n_clusters_ == 150
    assert warned[0].filename == __file__
    weights = np.r_[np.ones(100), np.zeros(50)]
    with pytest.warns(
        ConvergenceWarning,
        match=r"n_clusters=100 of Pipeline is at least the number of rows \(100\)",
    ):
        CoHiRF.as_published(make_pipeline(StandardScaler(), KMeans(100)), random_state=0).fit(
            blobs[0][:150], sample_weight=weights
        )


def test_fewer_clusters_than_rows_are_not_warned_of(blobs):
    CoHiRF.as_published(KMeans(19, n_init=1), views=1, random_state=0).fit(blobs[0][:20])


def test_the_score_is_that_of_k_means_with_medoids_as_centres(blobs):
    X, _ = blobs
    model = CoHiRF(n_clusters=4, random_state=0).fit(X)
    centres = KMeans(4, n_init=1, init=model.medoids_, max_iter=1).fit(X)
    centres.cluster_centers_ = model.medoids_
    weights = np.arange(1.0, len(X) + 1)
    assert model.score(X) == pytest.approx(centres.score(X))
    assert model.score(X, sample_weight=weights) == pytest.approx(
        centres.score(X, sample_weight=weights)
    )
    assert model.score(pd.DataFrame(X)) == pytest.approx(model.score(X))


def test_a_search_of_scikit_learn_compares_scores(blobs):
    found = GridSearchCV(CoHiRF(random_state=0), {"n_clusters": [2, 4]}, cv=2).fit(blobs[0])
    assert found.best_params_ == {"n_clusters": 4}
