"""``feature_screen=True``: relevant features alone decide clusters, medoids and predictions."""

from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import euclidean_distances

import cohirf
from cohirf import CoHiRF, open_source
from cohirf.algorithm import screening
from cohirf.algorithm.screening import screen_features

BLOBS, Y = make_blobs(400, 8, centers=4, cluster_std=1.0, random_state=0)
NOISE = 30 * np.random.default_rng(0).standard_normal((400, 100))
X = np.c_[NOISE[:, :50], BLOBS, NOISE[:, 50:]]
RELEVANT = list(range(50, 58))


@pytest.fixture(autouse=True)
def few_views(monkeypatch):
    """These features are found with few views, too; ``model`` is fitted with as many as ever."""
    monkeypatch.setattr(screening, "N_VIEWS", 8)


@pytest.fixture(scope="module")
def model():
    return CoHiRF.as_published(KMeans(4, n_init=5), feature_screen=True, random_state=0).fit(X)


def test_clusters_are_found_under_noise_that_hides_them_from_the_base(model):
    assert model.relevant_features_.tolist() == RELEVANT
    assert model.feature_statistics_.shape == (108,)
    assert (np.flatnonzero(model.feature_statistics_ > 1) == RELEVANT).all()
    assert adjusted_rand_score(Y, model.labels_) == 1
    assert adjusted_rand_score(Y, KMeans(4, n_init=5, random_state=0).fit(X).labels_) < 0.5


def test_it_is_a_fit_on_the_relevant_features(model):
    alone = CoHiRF.as_published(KMeans(4, n_init=5), random_state=0).fit(X[:, RELEVANT])
    assert (model.parents_ == alone.parents_).all()
    assert (model.predict(X) == alone.predict(X[:, RELEVANT])).all()
    assert (model.transform(X) == alone.transform(X[:, RELEVANT])).all()


def test_medoids_are_whole_rows_and_distances_count_relevant_features(model):
    assert (model.medoids_ == X[model.medoid_indices_]).all()
    distances = euclidean_distances(X[:, RELEVANT], model.medoids_[:, RELEVANT])
    assert model.transform(X) == pytest.approx(distances, abs=1e-5)


def test_noise_of_new_rows_does_not_matter(model):
    other = X.copy()
    other[:, :50] = 1e3
    assert (model.predict(other) == model.labels_).all()


def test_without_it_there_are_no_relevant_features():
    model = CoHiRF.as_published(n_views=2, feature_screen=True, random_state=0).fit(X)
    model.set_params(feature_screen=False).fit(X)
    assert model.relevant_features_ is None
    assert model.feature_statistics_ is None
    assert (model.parents_ == CoHiRF.as_published(n_views=2, random_state=0).fit(X).parents_).all()


def test_where_nothing_is_relevant_all_features_stay():
    model = CoHiRF.as_published(n_views=2, feature_screen=True, random_state=0).fit(NOISE)
    assert model.relevant_features_.tolist() == list(range(100))
    assert (model.feature_statistics_ <= 1).all()
    assert (model.parents_ == CoHiRF.as_published(n_views=2, random_state=0).fit(NOISE).parents_).all()


@pytest.mark.parametrize(("max_features", "n_view"), [(0.5, 4), (1.0, 8), (3, 3), (20, 8)])
def test_views_have_their_share_of_the_relevant_features(max_features, n_view):
    seen = []

    class Recorder(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.append(X.shape[1])
            return super().fit(X, y, sample_weight)

    CoHiRF.as_published(Recorder(4), max_features=max_features, feature_screen=True, random_state=0).fit(X)
    assert set(seen) == {n_view}


def test_more_features_than_there_are_is_refused_as_ever():
    with pytest.raises(ValueError, match="max_features=400 is above the 108 features of X"):
        CoHiRF.as_published(max_features=400, feature_screen=True).fit(X)


@pytest.mark.parametrize("container", [sparse.csr_matrix, sparse.csr_array])
def test_csr_matrices_stay_sparse(container):
    rng = np.random.default_rng(0)
    topic = rng.integers(0, 3, 300)
    words = rng.poisson(0.2 + 3.0 * (np.arange(30) % 3 == topic[:, None]))
    counts = container(np.c_[words, rng.poisson(0.5, (300, 70))].astype(float))
    model = CoHiRF.as_published(KMeans(3, n_init=5), feature_screen=True, random_state=0).fit(counts)
    assert model.relevant_features_.tolist() == list(range(30))
    assert sparse.issparse(model.medoids_)
    assert model.medoids_.shape == (model.n_clusters_, 100)
    assert adjusted_rand_score(topic, model.labels_) > 0.9
    assert (model.predict(counts) == model.labels_).all()
    assert model.transform(counts).shape == (300, model.n_clusters_)


def test_missing_cells_count_as_the_mean_of_their_column():
    holes = X.copy()
    holes[7, 52] = np.nan
    holes[3:90, 0] = np.nan
    model = CoHiRF.as_published(
        HDBSCAN(min_cluster_size=20, copy=True), n_views=1, feature_screen=True, random_state=0
    ).fit(holes)
    assert model.relevant_features_.tolist() == RELEVANT
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    assert (model.predict(holes) == model.labels_).mean() > 0.95


def test_it_works_in_batches_and_with_weights():
    weights = np.ones(len(X))
    weights[::10] = 0
    model = CoHiRF.as_published(
        KMeans(4, n_init=5),
        batch_size=150,
        feature_screen=True,
        medoid_weights=True,
        consensus="majority",
        random_state=0,
    ).fit(X, sample_weight=weights)
    assert set(model.relevant_features_) <= set(RELEVANT)
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    assert len(model.labels_) == len(X)


@pytest.mark.parametrize("batch_size", [None, 150])
def test_a_source_is_screened_as_an_array_is(batch_size, tmp_path):
    np.save(tmp_path / "rows.npy", X)
    options = {"estimator": KMeans(4, n_init=5), "feature_screen": True, "batch_size": batch_size, "random_state": 0}
    model = CoHiRF.as_published(**options).fit(open_source(tmp_path / "rows.npy"))
    assert (model.relevant_features_ == CoHiRF.as_published(**options).fit(X).relevant_features_).all()
    assert (model.medoids_ == X[model.medoid_indices_]).all()
    assert model._landmarks.points.shape[1] == len(model.relevant_features_)
    assert adjusted_rand_score(Y, model.labels_) > 0.95
    assert (model.predict(open_source(tmp_path / "rows.npy")) == model.predict(X)).all()


def test_a_sparse_source_is_screened():
    counts = sparse.csr_array(np.where(X > 0, X, 0))
    model = CoHiRF.as_published(KMeans(4), feature_screen=True, batch_size=150, random_state=0).fit(open_source(counts))
    assert model.medoids_.shape == (model.n_clusters_, 108)
    assert (model.medoids_ != counts[model.medoid_indices_]).nnz == 0


def test_levels_of_a_source_read_relevant_features_alone(tmp_path):
    seen = set()

    class Recorder(KMeans):
        def fit(self, X, y=None, sample_weight=None):
            seen.add(X.shape[1])
            return super().fit(X, y, sample_weight)

    model = CoHiRF.as_published(Recorder(4), feature_screen=True, batch_size=150, random_state=0).fit(open_source(X))
    assert seen == {len(model.relevant_features_)}


def test_rows_of_weight_zero_are_not_looked_at():
    outside = np.r_[X, np.random.default_rng(1).standard_normal((400, 108)) * 1e4]
    weights = np.r_[np.ones(400), np.zeros(400)]
    model = CoHiRF.as_published(KMeans(4, n_init=5), feature_screen=True, random_state=0).fit(
        outside, sample_weight=weights
    )
    assert model.relevant_features_.tolist() == RELEVANT


def test_the_batch_size_is_chosen_for_the_relevant_features(monkeypatch):
    planned = []

    def plan(read_sample, n_rows, contraction, **limits):
        planned.append((read_sample(50).shape[1], contraction.views.n_features))
        return SimpleNamespace(batch_size=200)

    monkeypatch.setattr(cohirf.fitting.begin, "plan_batches", plan)
    model = CoHiRF.as_published(
        KMeans(4), feature_screen=True, max_features=0.5, batch_size="auto", random_state=0
    ).fit(X)
    assert planned == [(8, 4)]
    assert model.relevant_features_.tolist() == RELEVANT


@pytest.mark.parametrize("batch_size", [None, 150, "auto"])
@pytest.mark.parametrize("with_checkpoint", [False, True])
def test_a_fit_screens_once(batch_size, with_checkpoint, monkeypatch, tmp_path):
    screened = []

    def count(rows, entropy):
        screened.append(entropy)
        return screen_features(rows, entropy)

    monkeypatch.setattr(cohirf.fitting.begin, "screen_features", count)
    monkeypatch.setattr(cohirf.fitting.begin, "plan_batches", lambda *_, **__: SimpleNamespace(batch_size=200))
    checkpoint = tmp_path / "checkpoint" if with_checkpoint else None
    CoHiRF.as_published(
        KMeans(4, n_init=1), n_views=2, feature_screen=True, batch_size=batch_size, checkpoint=checkpoint
    ).fit(X)
    assert len(screened) == 1


def test_a_fit_that_was_stopped_screens_as_it_did_before(tmp_path):
    model = CoHiRF.as_published(KMeans(4), feature_screen=True, batch_size=150, checkpoint=tmp_path / "checkpoint")
    first = model.fit(X).parents_.copy()
    relevant = model.relevant_features_
    assert (model.fit(X).parents_ == first).all()
    assert (model.relevant_features_ == relevant).all()


def test_verbose_says_how_many_features_are_relevant(capsys):
    CoHiRF.as_published(KMeans(4), feature_screen=True, random_state=0, verbose=1).fit(X)
    assert "[CoHiRF] 8 of 108 features are relevant\n" in capsys.readouterr().out
