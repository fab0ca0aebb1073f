"""diagnose: from a fitted model to figures and words."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.exceptions import NotFittedError

import cohirf
from cohirf import CoHiRF, open_source
from cohirf.diagnosis.sample import MAX_ROWS, draw_sample

DIGITS = load_digits(return_X_y=True)[0]
RECOMMENDED = {"consensus": "majority", "n_views": 10, "medoid_weights": True}


@pytest.fixture(scope="module")
def poor():
    return CoHiRF.as_published(KMeans(10, n_init=1), random_state=0).fit(DIGITS)


@pytest.fixture(scope="module")
def good():
    return CoHiRF.as_published(KMeans(10, n_init=1), random_state=0, **RECOMMENDED).fit(DIGITS)


@pytest.fixture(scope="module")
def diagnosis_of_poor(poor):
    return poor.diagnose()


@pytest.fixture(scope="module")
def diagnosis_of_good(good):
    return good.diagnose()


def test_a_fit_that_lost_what_the_base_finds_is_told_to_use_the_base(diagnosis_of_poor):
    diagnosis = diagnosis_of_poor
    assert diagnosis.recommendation == "use the base method alone"
    assert diagnosis.comparison.agreement < diagnosis.comparison.reproducibility
    assert any("medoid_weights=True" in tip for tip in diagnosis.advice)


def test_a_consensus_that_runs_of_the_base_have_in_common_is_recommended(diagnosis_of_good):
    diagnosis = diagnosis_of_good
    assert diagnosis.recommendation == "use CoHiRF"
    assert diagnosis.advice == []
    assert diagnosis.stable_share > 0.8


def test_it_prints_as_plain_words(diagnosis_of_poor):
    text = str(diagnosis_of_poor)
    assert text.startswith("CoHiRF with base method KMeans: use the base method alone.\nDo the views agree?")
    assert "What to try:\n  - " in text
    assert max(map(len, text.splitlines())) <= 100


def test_the_data_of_the_fit_leads_to_the_same_words_where_all_rows_were_kept(poor, diagnosis_of_poor):
    expected = str(diagnosis_of_poor)
    assert str(poor.diagnose(DIGITS)) == expected
    assert str(poor.diagnose(open_source(DIGITS))) == expected


def test_other_data_is_refused(poor):
    with pytest.raises(ValueError, match="pass the data of the fit"):
        poor.diagnose(DIGITS[1:])


def test_a_loaded_model_says_the_same(good, diagnosis_of_good, tmp_path):
    good.save(tmp_path / "model")
    assert str(cohirf.load(tmp_path / "model").diagnose()) == str(diagnosis_of_good)


def test_a_model_that_is_not_fitted_is_refused():
    with pytest.raises(NotFittedError):
        CoHiRF.as_published().diagnose()


def test_levels_are_those_at_which_rows_fused(poor, diagnosis_of_poor):
    levels = diagnosis_of_poor.levels
    assert [kept.level for kept in levels] == list(range(1, poor.hierarchy_.n_levels + 1))
    assert [kept.n_clusters for kept in levels] == poor.hierarchy_.cluster_counts()[1:].tolist()


def test_of_many_rows_a_sample_is_looked_at():
    X, _ = make_blobs(30_000, 3, centers=5, random_state=0)
    model = CoHiRF.as_published(KMeans(5), random_state=0, n_views=2, batch_size=3000).fit(X)
    assert len(model._landmark_rows) < len(X)
    for data in (None, X):
        assert model.diagnose(data).n_rows == MAX_ROWS


def test_clusters_have_their_shares_among_the_rows_that_were_kept():
    X = np.r_[np.zeros((29_000, 2)), np.full((1000, 2), 9.0)] + np.random.default_rng(0).random((30_000, 2))
    model = CoHiRF.as_published(KMeans(2), random_state=0, n_views=1).fit(X)
    kept = np.bincount(model._landmarks.labels) / len(model._landmarks.labels)
    drawn = np.bincount(model.labels_[draw_sample(model).rows]) / MAX_ROWS
    assert kept.min() > 0.1
    assert drawn.min() == pytest.approx(1 / 30, abs=0.02)


def test_a_base_that_goes_by_density_is_not_judged_by_a_sample():
    X, _ = make_blobs(5000, 2, centers=3, random_state=0)
    diagnosis = CoHiRF.as_published(DBSCAN(eps=0.3), n_views=1, min_cluster_size=5, random_state=0).fit(X).diagnose()
    assert diagnosis.recommendation == "unknown"
    assert diagnosis.levels == []


def test_a_screened_model_is_judged_by_its_relevant_features():
    X, _ = make_blobs(400, 4, centers=4, random_state=0)
    X = np.c_[X, 30 * np.random.default_rng(0).standard_normal((400, 200))]
    model = CoHiRF.as_published(KMeans(4, n_init=5), feature_screen=True, random_state=0).fit(X)
    assert str(model.diagnose()) == str(model.diagnose(X))
    assert model.diagnose().comparison.agreement > 0.9


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")  # of K-Means, about equal rows
@pytest.mark.parametrize("X", [np.zeros((1, 2)), np.zeros((20, 2)), np.arange(3.0)[:, None]])
def test_tiny_data_is_diagnosed(X):
    assert str(CoHiRF.as_published(KMeans(2, n_init=1), n_views=2, random_state=0).fit(X).diagnose())


def test_sparse_data_is_diagnosed():
    X = sparse.csr_array(np.where(DIGITS[:300] > 8, DIGITS[:300], 0))
    model = CoHiRF.as_published(KMeans(4, n_init=1), random_state=0).fit(X)
    assert str(model.diagnose()) == str(model.diagnose(X))


def test_everything_in_noise_is_diagnosed():
    model = CoHiRF.as_published(KMeans(3, n_init=1), min_cluster_size=1000, random_state=0).fit(DIGITS[:50])
    assert "No cluster is left." in str(model.diagnose())
