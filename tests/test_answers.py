"""What a fit ends with: exactly k clusters, noise, a tree up to one cluster, exemplars, a chosen
number.
"""

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import is_valid_linkage
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    BisectingKMeans,
    KMeans,
    MiniBatchKMeans,
    SpectralClustering,
)
from sklearn.datasets import load_digits, load_iris, load_wine, make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import cohirf
from cohirf import CoHiRF, open_source
from cohirf.fitting.policy import GROUP

# of spectral clustering
pytestmark = pytest.mark.filterwarnings("ignore:Graph is not fully connected:UserWarning")
IRIS = load_iris().data
BLOBS, BLOB_OF = make_blobs(300, n_features=4, centers=5, cluster_std=0.5, random_state=0)
TOLD = {
    "none": None,
    "kmeans": KMeans(9, n_init=1),
    "minibatch": MiniBatchKMeans(9, n_init=1),
    "bisecting": BisectingKMeans(9),
    "gmm": GaussianMixture(9, covariance_type="diag"),
    "ward": AgglomerativeClustering(9),
    "spectral": SpectralClustering(9, affinity="nearest_neighbors"),
    "pipeline": make_pipeline(StandardScaler(), KMeans(9, n_init=1)),
}
FINDING = {"dbscan": DBSCAN(0.5), "hdbscan": HDBSCAN(copy=True), "optics": OPTICS(min_samples=7)}


# -- the number of clusters


@pytest.mark.parametrize("batch_size", [None, 40])
@pytest.mark.parametrize("base", TOLD)
def test_a_number_that_is_asked_for_is_reached_exactly(base, batch_size):
    model = CoHiRF(TOLD[base], n_clusters=5, batch_size=batch_size, views=3, random_state=0).fit(
        IRIS
    )
    assert np.unique(model.labels_).tolist() == list(range(5))
    assert model.n_clusters_ == 5


@pytest.mark.parametrize("base", [name for name in TOLD if name != "none"])
def test_a_base_method_that_is_told_a_number_means_it(base):
    model = CoHiRF(TOLD[base], batch_size=50, views=2, random_state=0).fit(IRIS)
    assert model.n_clusters_ == 9


def test_separated_clusters_are_found_without_a_base_method():
    model = CoHiRF(n_clusters=5, random_state=0).fit(BLOBS)
    assert adjusted_rand_score(BLOB_OF, model.labels_) == 1
    assert adjusted_rand_score(BLOB_OF, CoHiRF(random_state=0).fit(BLOBS).labels_) == 1


def test_the_paper_keeps_the_clusters_of_the_last_level():
    model = CoHiRF.as_published(KMeans(5, n_init=1), views=8, random_state=0).fit(IRIS)
    assert (
        model.n_clusters_
        == model.hierarchy_.cluster_counts()[-1]
        == model.diagnostics_[-1].rows_out
        > 5
    )
    changed = CoHiRF.as_published(consensus="relaxed").get_params()
    assert (changed["consensus"], changed["n_clusters"], changed["medoid_weights"]) == (
        "relaxed",
        "levels",
        False,
    )


@pytest.mark.filterwarnings(
    "ignore:Number of distinct clusters",
    "ignore:n_clusters=4 of KMeans is at least the number",
    "ignore:.*identical rows are not split",
)
@pytest.mark.parametrize(("n_rows", "found"), [(1, "1 group"), (2, "2 groups"), (3, "3 groups")])
def test_fewer_distinct_rows_than_clusters_are_a_cluster_each(n_rows, found):
    X = np.repeat(np.arange(float(n_rows))[:, None], 4, axis=0)
    message = f"n_clusters=4 cannot be reached: KMeans found only {found}, or the data has only"
    with pytest.warns(ConvergenceWarning, match=message):
        model = CoHiRF(n_clusters=4, random_state=0).fit(X)
    assert model.labels_.tolist() == np.repeat(np.arange(n_rows), 4).tolist()


def test_a_method_that_finds_fewer_clusters_says_so_and_keeps_them():
    with pytest.warns(
        ConvergenceWarning,
        match="n_clusters=7 cannot be reached: DBSCAN found 2 clusters, and clusters",
    ):
        model = CoHiRF(DBSCAN(0.5), n_clusters=7).fit(IRIS)
    assert (model.labels_ == CoHiRF(DBSCAN(0.5)).fit(IRIS).labels_).all()
    assert model.n_clusters_ == 2


class FailsOnFewRows(KMeans):
    """K-Means that, like some mixtures, cannot cluster few rows."""

    def fit_predict(self, X, y=None, sample_weight=None):
        if len(X) < 40:
            raise ValueError("too few rows for a covariance")
        return super().fit_predict(X, y, sample_weight)


@pytest.mark.filterwarnings("ignore:Levels 2 and 3 merged nothing")
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_method_that_fails_above_the_first_level_loses_nothing(n_jobs):
    options = {"batch_size": 50, "views": 1, "n_jobs": n_jobs, "random_state": 0}
    with pytest.warns(
        ConvergenceWarning,
        match="FailsOnFewRows failed on 38 rows of level 2, which stay apart in this",
    ):
        model = CoHiRF.as_published(FailsOnFewRows(5, n_init=1), **options).fit(BLOBS)
    assert model.n_clusters_ == model.diagnostics_[0].rows_out == 75
    with pytest.raises(ValueError, match="too few rows for a covariance"):
        CoHiRF(FailsOnFewRows(5, n_init=1), **options).fit(BLOBS[:30])


def test_clusters_that_a_method_finds_are_merged_to_the_number_asked_for():
    found = CoHiRF(OPTICS(min_samples=5)).fit(IRIS)
    merged = CoHiRF(OPTICS(min_samples=5), n_clusters=2).fit(IRIS)
    assert found.n_clusters_ > 2 == merged.n_clusters_
    assert ((found.labels_ < 0) == (merged.labels_ < 0)).all()
    assert all(
        len(set(merged.labels_[found.labels_ == label])) == 1 for label in range(found.n_clusters_)
    )


def test_labels_do_not_depend_on_jobs_or_the_kind_of_source(tmp_path):
    np.save(tmp_path / "X.npy", BLOBS)
    options = {"n_clusters": 5, "batch_size": 60, "random_state": 0}
    here = CoHiRF(**options).fit(BLOBS)
    assert (CoHiRF(**options, n_jobs=2).fit(BLOBS).labels_ == here.labels_).all()
    read, given = (CoHiRF(**options).fit(open_source(data)) for data in (tmp_path / "X.npy", BLOBS))
    assert (read.labels_ == given.labels_).all()
    assert read.hierarchy_ == given.hierarchy_
    assert read.n_clusters_ == 5
    assert (BLOBS[read.exemplar_indices_] == read.exemplars_).all()


def test_weights_count_as_repeated_rows_in_the_merges():
    weights = np.random.default_rng(0).integers(1, 4, len(IRIS)).astype(float)
    options = {"n_clusters": 4, "views": 1, "consensus": "strict", "random_state": 0}
    base = DBSCAN(0.3, min_samples=1)  # groups that do not depend on weights
    weighted = CoHiRF(base, **options).fit(IRIS, sample_weight=weights)
    repeated = CoHiRF(base, **options).fit(np.repeat(IRIS, weights.astype(int), axis=0))
    assert (np.repeat(weighted.labels_, weights.astype(int)) == repeated.labels_).all()
    assert np.allclose(
        weighted.hierarchy_.tree.linkage[:, 2], repeated.hierarchy_.tree.linkage[:, 2]
    )


def test_groups_beyond_the_bound_are_contracted_by_further_levels(monkeypatch):
    monkeypatch.setitem(vars(GROUP), "most", 30)
    model = CoHiRF(n_clusters=5, batch_size=50, random_state=0).fit(BLOBS)
    assert model.n_iter_ > 1
    assert model.n_clusters_ == 5
    assert model.diagnostics_[-1].rows_out < 60 < model.diagnostics_[0].rows_out
    assert adjusted_rand_score(BLOB_OF, model.labels_) > 0.95


# -- noise ---------------------------------------------------------------------------------------------------------


@pytest.mark.filterwarnings("ignore:.*noise")
@pytest.mark.parametrize(
    ("base", "data"),
    [
        ("dbscan", IRIS),
        ("dbscan", make_moons(200, noise=0.08, random_state=0)[0]),
        ("hdbscan", load_wine().data),
        ("hdbscan", IRIS),
        ("optics", make_moons(200, noise=0.08, random_state=0)[0]),
    ],
)
def test_a_density_method_in_one_batch_gives_its_own_clusters_and_noise(base, data):
    data = StandardScaler().fit_transform(data)
    alone = FINDING[base].fit_predict(data)
    model = CoHiRF(FINDING[base]).fit(data)
    assert ((model.labels_ < 0) == (alone < 0)).all()
    assert adjusted_rand_score(alone, model.labels_) == 1
    assert model.n_clusters_ == alone.max() + 1


def test_noise_is_a_cluster_with_levels_unless_clusters_of_one_row_are_too_small():
    alone = DBSCAN(0.5).fit_predict(IRIS)
    model = CoHiRF(DBSCAN(0.5), n_clusters="levels").fit(IRIS)
    assert model.n_clusters_ == alone.max() + 1 + (alone < 0).sum()
    assert np.bincount(model.labels_)[model.labels_[alone < 0]].tolist() == [1] * (alone < 0).sum()
    model.set_params(min_cluster_size=2).fit(IRIS)
    assert ((model.labels_ < 0) == (alone < 0)).all()


def test_a_row_that_fused_is_not_noise_and_a_row_in_no_cluster_is_not_in_the_tree():
    model = CoHiRF(DBSCAN(0.5)).fit(IRIS)
    noise = np.flatnonzero(model.labels_ < 0)
    assert len(noise) == 17
    assert not np.isin(noise, model.hierarchy_.tree.medoids).any()
    assert (model.hierarchy_.cut(n_clusters=1)[noise] == -1).all()
    assert (model.hierarchy_.cut(n_clusters=2) == model.labels_).all()
    linkage = model.hierarchy_.to_linkage()
    assert is_valid_linkage(linkage)
    assert len(linkage) == len(IRIS) - 1


@pytest.mark.filterwarnings("ignore:.*noise")
def test_if_all_is_noise_there_is_no_cluster_and_an_empty_tree(tmp_path):
    model = CoHiRF(DBSCAN(1e-9)).fit(BLOBS)
    assert (model.labels_ == -1).all()
    assert (model.n_clusters_, model.hierarchy_.tree.n_leaves) == (0, 0)
    assert model.exemplars_.shape == (0, 4)
    model.save(tmp_path / "model")
    assert cohirf.load(tmp_path / "model").hierarchy_ == model.hierarchy_


# -- small clusters


@pytest.mark.parametrize("min_size", [20, 0.14])
def test_small_clusters_are_noise(min_size):
    X = np.concatenate([BLOBS, BLOBS[:5] + 100])
    model = CoHiRF(n_clusters=6, min_cluster_size=min_size, random_state=0).fit(X)
    assert (model.labels_[-5:] == -1).all()
    assert (model.labels_[:-5] >= 0).all()


# -- the tree

MODELS = {
    "one batch": CoHiRF(n_clusters=4, random_state=0),
    "batches": CoHiRF(KMeans(4, n_init=1), batch_size=30, random_state=0),
    "published": CoHiRF.as_published(KMeans(6, n_init=1), views=4, max_features=2, random_state=0),
    "published, batches": CoHiRF.as_published(KMeans(6, n_init=1), batch_size=40, random_state=0),
}


@pytest.mark.parametrize("name", MODELS)
def test_every_level_is_a_cut_of_the_tree_and_every_number_can_be_cut(name):
    hierarchy = MODELS[name].fit(IRIS).hierarchy_
    tree = hierarchy.tree
    coarser = np.zeros(len(IRIS), dtype=int)
    for n_clusters in range(1, tree.n_leaves + 1):
        labels = hierarchy.cut(n_clusters=n_clusters)
        assert np.unique(labels).tolist() == list(range(n_clusters))
        # it refines the one before
        assert len(set(zip(labels.tolist(), coarser.tolist(), strict=True))) == n_clusters
        coarser = labels
    for level in range(tree.level, hierarchy.n_levels + 1):
        labels = hierarchy.cut(level=level)
        assert (hierarchy.cut(n_clusters=int(labels.max()) + 1) == labels).all()
    assert (np.diff(tree.linkage[:, 2]) >= 0).all()
    assert is_valid_linkage(hierarchy.to_linkage())


def test_the_last_level_is_the_final_partition():
    model = MODELS["one batch"].fit(IRIS)
    assert (model.hierarchy_.cut(level=model.hierarchy_.n_levels) == model.labels_).all()
    assert model.hierarchy_.n_levels == model.n_iter_ + 1
    assert set(model.medoid_indices_) == set(model.hierarchy_.medoids(model.hierarchy_.n_levels))


# -- exemplars


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_exemplar_is_the_row_nearest_to_the_mean_of_all_rows_of_its_cluster(container):
    model = CoHiRF(KMeans(3, n_init=1), random_state=0).fit(container(IRIS))
    for label, row in enumerate(model.exemplar_indices_):
        rows = np.flatnonzero(model.labels_ == label)
        sums = ((IRIS[rows][:, None] - IRIS[rows]) ** 2).sum(axis=(1, 2))
        assert np.isclose(sums[rows == row], sums.min()).all()
    values = model.exemplars_.toarray() if sparse.issparse(model.exemplars_) else model.exemplars_
    assert (values == IRIS[model.exemplar_indices_]).all()


# -- the chosen number


def test_the_number_with_the_highest_figure_is_chosen_and_saved(tmp_path):
    model = CoHiRF(n_clusters="auto", random_state=0).fit(BLOBS)
    choice = model.choice_
    assert model.n_clusters_ == choice.n_clusters == 5
    assert choice.candidates[choice.figures.argmax()] == 5
    assert choice.describe().startswith("5 clusters fit best, with a silhouette of ")
    model.save(tmp_path / "model")
    loaded = cohirf.load(tmp_path / "model").choice_
    assert (loaded.n_clusters, loaded.describe()) == (5, choice.describe())
    assert CoHiRF(n_clusters=5, random_state=0).fit(BLOBS).choice_.is_given


@pytest.mark.parametrize(
    "base", [SpectralClustering(3, affinity="nearest_neighbors"), DBSCAN(1.6, min_samples=2)]
)
def test_the_number_is_chosen_for_other_methods_and_in_batches(base):
    options = {} if isinstance(base, SpectralClustering) else {"batch_size": 60}
    model = CoHiRF(base, n_clusters="auto", views=2, random_state=0, **options).fit(BLOBS)
    assert model.n_clusters_ == model.choice_.n_clusters > 1


def test_identical_rows_leave_nothing_to_choose():
    model = CoHiRF(random_state=0).fit(np.ones((20, 2)))
    assert model.n_clusters_ == 1
    assert model.choice_.describe() == "There is one cluster, and nothing to choose."


# -- quality


@pytest.mark.slow
def test_the_defaults_beat_k_means_with_ten_starts_on_digits():
    X, y = load_digits(return_X_y=True)
    ours, theirs = (
        np.mean([adjusted_rand_score(y, make(seed).fit_predict(X)) for seed in range(5)])
        for make in (
            lambda seed: CoHiRF(n_clusters=10, random_state=seed),
            lambda seed: KMeans(10, n_init=10, random_state=seed),
        )
    )
    assert ours > theirs


# -- what once went wrong


@pytest.mark.parametrize(("scale", "weight"), [(1e140, 1e20), (1.0, 1e147), (1e140, 1e-20)])
def test_large_values_and_weights_do_not_overflow(scale, weight):
    model = CoHiRF(n_clusters=5, random_state=0).fit(
        BLOBS * scale, sample_weight=np.full(300, weight)
    )
    assert adjusted_rand_score(BLOB_OF, model.labels_) == 1
    assert np.isfinite(model.hierarchy_.tree.linkage).all()


def test_weights_below_one_hide_no_cluster():
    weights = np.random.default_rng(0).random(300)
    assert (
        CoHiRF(n_clusters=4, random_state=0)
        .fit(BLOBS, sample_weight=weights / weights.sum())
        .n_clusters_
        == 4
    )


@pytest.mark.parametrize("n_clusters", [None, "auto"])
def test_among_noise_there_is_nothing_to_choose(n_clusters):
    with pytest.warns(match="All of the rows are noise: raise eps of DBSCAN"):
        assert CoHiRF(DBSCAN(1e-9), n_clusters=n_clusters).fit(BLOBS).n_clusters_ == 0


@pytest.mark.parametrize("n_clusters", [1, 2])
def test_among_noise_there_is_nothing_to_merge(n_clusters):
    message = (
        f"All of the rows are noise, so n_clusters={n_clusters} cannot be reached: raise eps of "
        "DBSCAN, or lower"
    )
    with pytest.warns(ConvergenceWarning, match=message) as caught:
        assert CoHiRF(DBSCAN(1e-9), n_clusters=n_clusters).fit(BLOBS).n_clusters_ == 0
    assert len(caught) == 1


@pytest.mark.parametrize(
    ("base", "n_clusters"),
    [(DBSCAN(0.2), 2), (HDBSCAN(min_cluster_size=15, copy=True), 2), (DBSCAN(0.2), "auto")],
)
def test_a_density_method_in_batches_judges_the_rows_held_aside_whatever_number_is_asked_for(
    base, n_clusters
):
    X = np.r_[
        make_moons(900, noise=0.05, random_state=0)[0],
        np.random.default_rng(0).uniform(-2, 3, (60, 2)),
    ]
    found = CoHiRF(base, batch_size=320, random_state=0).fit(X)
    assert found.n_clusters_ == 2
    asked = CoHiRF(base, n_clusters=n_clusters, batch_size=320, random_state=0).fit(X)
    assert (asked.labels_ == found.labels_).all()


def test_a_method_with_its_own_starts_is_told_what_the_user_wrote():
    assert CoHiRF(KMeans(5, init=BLOBS[:5], n_init=1), random_state=0).fit(BLOBS).n_clusters_ <= 5
    mixture = GaussianMixture(4, means_init=BLOBS[:4], covariance_type="diag")
    assert CoHiRF(mixture, batch_size=60, random_state=0).fit(BLOBS).n_clusters_ == 4


def test_a_model_of_models_without_weights_runs_in_batches():
    inner = CoHiRF(GaussianMixture(3, covariance_type="diag"), n_clusters=3)
    assert CoHiRF(inner, batch_size=60, views=2, random_state=0).fit(BLOBS).n_clusters_ == 3


def test_rows_of_weight_zero_are_not_exemplars():
    weights = np.ones(300)
    weights[CoHiRF(n_clusters=5, random_state=0).fit(BLOBS).exemplar_indices_] = 0
    model = CoHiRF(n_clusters=5, random_state=0).fit(BLOBS, sample_weight=weights)
    assert (weights[model.exemplar_indices_] > 0).all()


def test_few_rows_are_not_told_to_ask_for_fewer_clusters():
    assert CoHiRF(random_state=0).fit(BLOBS[:10]).n_clusters_ > 1
