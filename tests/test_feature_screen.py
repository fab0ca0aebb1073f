"""FeatureScreen: features that depend on others stay, in a pipeline and by themselves."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.pipeline import make_pipeline

from cohirf import CoHiRF, FeatureScreen, screening

BLOBS, Y = make_blobs(400, 8, centers=4, cluster_std=1.0, random_state=0)
NOISE = 30 * np.random.default_rng(0).standard_normal((400, 100))
X = np.c_[NOISE[:, :50], BLOBS, NOISE[:, 50:]]
RELEVANT = list(range(50, 58))


@pytest.fixture(autouse=True)
def few_views(monkeypatch):
    """These features are found with few views, too."""
    monkeypatch.setitem(vars(screening.POLICY), "views", 8)


def test_a_pipeline_finds_clusters_under_noise_that_hides_them_from_the_base():
    model = make_pipeline(
        FeatureScreen(random_state=0), CoHiRF(KMeans(4, n_init=5), random_state=0)
    ).fit(X)
    screen = model["featurescreen"]
    clusters = model["cohirf"]
    assert screen.get_support(indices=True).tolist() == RELEVANT
    assert (np.flatnonzero(screen.statistics_ > 1) == RELEVANT).all()
    assert adjusted_rand_score(Y, clusters.labels_) == 1
    assert adjusted_rand_score(Y, KMeans(4, n_init=5, random_state=0).fit(X).labels_) < 0.5
    other = X.copy()
    other[:, :50] = 1e3  # noise of new rows does not matter
    assert (model.predict(other) == clusters.labels_).all()


def test_features_keep_their_names():
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(X, columns=[f"x{number}" for number in range(108)])
    screen = FeatureScreen(random_state=0).set_output(transform="pandas")
    assert screen.fit_transform(table).columns.tolist() == [f"x{number}" for number in RELEVANT]


def test_where_nothing_is_relevant_all_features_stay():
    screen = FeatureScreen(random_state=0).fit(NOISE)
    assert screen.get_support().all()
    assert (screen.statistics_ <= 1).all()


def test_csr_matrices_stay_sparse():
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, 300)
    words = rng.poisson(0.2 + 3.0 * (np.arange(30) % 3 == topic[:, None]))
    counts = sparse.csr_matrix(np.c_[words, rng.poisson(0.5, (300, 70))].astype(float))
    found = FeatureScreen(random_state=0).fit_transform(counts)
    assert sparse.issparse(found)
    assert (found.toarray() == words).all()


def test_missing_cells_count_as_the_mean_of_their_column_and_stay_missing():
    holes = X.copy()
    holes[7, 52] = np.nan
    holes[3:90, 0] = np.nan
    method = CoHiRF(HDBSCAN(min_cluster_size=20, copy=True), views=1, random_state=0)
    model = make_pipeline(FeatureScreen(random_state=0), method).fit(holes)
    assert np.isnan(model["featurescreen"].transform(holes)).sum() == 1
    assert adjusted_rand_score(Y, model["cohirf"].labels_) > 0.95


def test_a_sample_of_rows_decides_and_the_seed_says_which(monkeypatch):
    seen = []
    monkeypatch.setitem(vars(screening.POLICY), "rows", 150)
    monkeypatch.setattr(
        screening,
        "screen_features",
        lambda rows, entropy: (seen.append(rows), (np.arange(2), np.full(rows.shape[1], 2.0)))[1],
    )
    screen = FeatureScreen(random_state=0)
    for model in (screen, clone(screen), clone(screen).set_params(random_state=1)):
        model.fit(X)
    assert [len(rows) for rows in seen] == [150, 150, 150]
    assert (seen[0] == seen[1]).all()
    assert (seen[0] != seen[2]).any()


def test_the_same_seed_gives_the_same_statistics():
    first, again, other = (
        FeatureScreen(random_state=seed).fit(X).statistics_ for seed in (0, 0, 1)
    )
    assert (first == again).all()
    assert (first != other).any()


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_csr_rows_are_screened_as_arrays_are_but_for_words_in_few_rows(dtype):
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, 300)
    words = rng.poisson(0.3 + 2.0 * (np.arange(30) % 3 == topic[:, None]))
    rare = np.eye(300)[:, :50] + np.eye(300, k=-50)[:, :50]
    counts = np.c_[words, rng.poisson(0.5, (300, 200)), rare].astype(dtype)
    for given in (counts, sparse.csr_array(counts)):
        assert FeatureScreen(random_state=0).fit(given).get_support(indices=True).tolist() == list(
            range(30)
        )
    unclear = FeatureScreen(random_state=0).fit(sparse.csr_array(rare))
    assert unclear.get_support().all()
    assert (unclear.statistics_ == 0).all()


def test_sparse_cells_may_be_missing_and_of_any_scale():
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, 300)
    words = rng.poisson(0.2 + 3.0 * (np.arange(30) % 3 == topic[:, None]))
    counts = np.c_[words, rng.poisson(0.5, (300, 70))].astype(float)
    counts[rng.random(counts.shape) < 0.03] = np.nan
    plain, small, large = (
        FeatureScreen(random_state=0).fit(sparse.csr_array(counts * scale))
        for scale in (1, 1e-200, 1e200)
    )
    assert plain.get_support(indices=True).tolist() == list(range(30))
    assert small.statistics_ == pytest.approx(plain.statistics_)
    assert large.statistics_ == pytest.approx(plain.statistics_)
