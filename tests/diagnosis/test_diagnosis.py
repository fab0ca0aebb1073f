"""diagnose: from a fitted model to figures and words."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, AgglomerativeClustering, KMeans, MiniBatchKMeans
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.exceptions import NotFittedError

import cohirf
from cohirf import CoHiRF, ThinBatchesWarning, open_source
from cohirf.diagnosis.sample import MAX_ROWS, count_sampled, draw_sample
from cohirf.diagnosis.verdict import LOST, WORSE_SILHOUETTE

DIGITS = load_digits(return_X_y=True)[0]


@pytest.fixture(scope="module")
def poor():
    return CoHiRF.as_published(KMeans(10, n_init=1), n_views=3, random_state=0).fit(DIGITS)


@pytest.fixture(scope="module")
def diagnosis_of_poor(poor):
    return poor.diagnose()


def test_a_fit_that_lost_what_the_base_finds_is_told_to_use_the_base(diagnosis_of_poor):
    diagnosis = diagnosis_of_poor
    assert diagnosis.recommendation == "use the base method alone"
    assert diagnosis.comparison.agreement < diagnosis.comparison.reproducibility
    assert diagnosis.advice[0] == "the defaults of CoHiRF instead of the algorithm as published"


@pytest.mark.parametrize("kind", [KMeans, MiniBatchKMeans])
def test_the_defaults_around_k_means_are_not_judged_where_they_differ_from_it(kind):
    X, _ = make_moons(600, noise=0.05, random_state=0)
    diagnosis = CoHiRF(kind(2), random_state=0).fit(X).diagnose()
    found = diagnosis.comparison
    assert found.agreement < found.reproducibility - LOST
    assert found.silhouette[0] < found.silhouette[1] - WORSE_SILHOUETTE
    assert diagnosis.recommendation == "unknown"


def test_it_prints_as_plain_words(diagnosis_of_poor):
    text = str(diagnosis_of_poor)
    assert text.startswith("Do not trust these clusters: in 1,000 rows, runs of KMeans agree with each other")
    assert "\nWould KMeans alone do better? Probably.\n  In 1,000 rows, KMeans alone with 10 starts finds" in text
    assert "What to try:\n  - " in text
    assert max(map(len, text.splitlines())) <= 100


def test_a_loaded_model_says_the_same(poor, diagnosis_of_poor, tmp_path):
    poor.save(tmp_path / "model")
    assert str(cohirf.load(tmp_path / "model").diagnose()) == str(diagnosis_of_poor)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        CoHiRF().diagnose()


def test_the_defaults_in_one_batch_have_the_clusters_of_a_deterministic_method():
    diagnosis = CoHiRF(AgglomerativeClustering(10)).fit(DIGITS).diagnose()
    assert diagnosis.recommendation == "either"
    assert diagnosis.line.endswith("the fit is one run of AgglomerativeClustering on all rows, and has its clusters.")


@pytest.mark.parametrize("changes", [{"n_clusters": 5}, {"batch_size": 200}, {"max_features": 0.5}])
def test_a_fit_that_did_more_than_one_run_is_not_that_run(changes):
    model = CoHiRF(AgglomerativeClustering(None, distance_threshold=50), random_state=0, **changes).fit(DIGITS[:500])
    assert "one run of it" not in model.diagnose().line


def test_of_many_rows_a_sample_is_looked_at():
    X, _ = make_blobs(12_000, 3, centers=5, random_state=0)
    model = CoHiRF(KMeans(5), random_state=0, n_views=2, batch_size=3000).fit(X)
    assert len(model._landmark_rows) < len(X)
    assert model.diagnose().n_rows == MAX_ROWS


@pytest.mark.parametrize(("n_features", "n_rows"), [(2, 1000), (500, 1000), (1000, 500), (100_000, 300)])
def test_of_many_features_fewer_rows_are_looked_at(n_features, n_rows):
    assert count_sampled(n_features) == n_rows


def test_clusters_have_their_shares_among_the_rows_that_were_kept():
    X = np.r_[np.zeros((29_000, 2)), np.full((1000, 2), 9.0)] + np.random.default_rng(0).random((30_000, 2))
    model = CoHiRF.as_published(KMeans(2), random_state=0, n_views=1).fit(X)
    kept = np.bincount(model._landmarks.labels) / len(model._landmarks.labels)
    drawn = np.bincount(model.labels_[draw_sample(model).rows]) / MAX_ROWS
    assert kept.min() > 0.1
    assert drawn.min() == pytest.approx(1 / 30, abs=0.02)


def test_a_region_has_the_density_of_the_data_and_its_inner_half_is_compared():
    X = np.random.default_rng(0).random((4000, 2))
    model = CoHiRF(DBSCAN(eps=0.1), random_state=0).fit(X)
    sample = draw_sample(model, keeps_density=True)
    assert (len(sample.rows), len(sample.compared), sample.has_density) == (MAX_ROWS, MAX_ROWS // 2, True)
    assert sample.features.tolist() == X[sample.rows].tolist()
    area = np.prod(np.ptp(sample.features, axis=0))
    assert MAX_ROWS / area > 0.7 * len(X)
    centre = sample.features[sample.compared].mean(axis=0)
    outer = np.setdiff1d(np.arange(MAX_ROWS), sample.compared)
    inner_distance, outer_distance = (
        np.linalg.norm(sample.features[rows] - centre, axis=1).mean() for rows in (sample.compared, outer)
    )
    assert inner_distance < outer_distance


def test_batches_that_thin_out_what_a_density_method_needs_are_found_out():
    X, _ = make_blobs(3000, 2, centers=4, cluster_std=0.5, random_state=0)
    whole = CoHiRF(DBSCAN(eps=0.2), random_state=0).fit(X).diagnose()
    assert whole.recommendation == "either"
    model = CoHiRF(DBSCAN(eps=0.2), batch_size=150, batches="random", random_state=0)
    with pytest.warns(ThinBatchesWarning):
        diagnosis = model.fit(X).diagnose()
    assert diagnosis.recommendation == "use the base method alone"
    ours, alone = diagnosis.comparison.noise
    assert ours > alone + 0.2
    assert 'batches="local": random batches are thinner than the data' in diagnosis.advice


def test_batches_of_a_density_method_are_not_judged_by_rows_that_are_thinner_than_the_data():
    X, _ = make_blobs(12_000, 2, centers=3, random_state=0)
    options = {"batch_size": 4000, "batches": "random", "min_cluster_size": 5}
    diagnosis = CoHiRF(DBSCAN(eps=0.5), **options, random_state=0).fit(X).diagnose()
    assert diagnosis.recommendation == "unknown"
    assert "a sample of 1,000 of 12,000 rows is thinner than the data. So are random batches" in diagnosis.line


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of K-Means, about equal rows
@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((20, 2)), np.arange(3.0)[:, None]])
def test_tiny_data_is_diagnosed(X):
    assert str(CoHiRF.as_published(KMeans(2, n_init=1), n_views=2, random_state=0).fit(X).diagnose())


def test_sparse_data_and_sources_are_diagnosed():
    X = sparse.csr_array(np.where(DIGITS[:300] > 8, DIGITS[:300], 0))
    assert CoHiRF(KMeans(4, n_init=1), random_state=0).fit(X).diagnose().comparison.n_rows == 300
    source = CoHiRF(KMeans(4, n_init=1), batch_size=100, random_state=0).fit(open_source(DIGITS[:300]))
    assert str(source.diagnose())


def test_everything_in_noise_is_diagnosed():
    model = CoHiRF(KMeans(3, n_init=1), min_cluster_size=1000, random_state=0)
    with pytest.warns(UserWarning, match="All of the rows are noise"):
        model.fit(DIGITS[:50])
    assert "Are the clusters usable? Nearly everything is noise." in str(model.diagnose())


def test_a_small_fit_with_rows_of_weight_0_is_compared_with_its_base_method():
    X, _ = make_blobs(300, centers=4, random_state=0)
    weights = np.ones(300)
    weights[::10] = 0
    assert "Not measured" not in str(CoHiRF(random_state=0).fit(X, sample_weight=weights).diagnose())
