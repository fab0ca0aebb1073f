"""What a sequence of partial_fit calls is equal to."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN, HDBSCAN, KMeans
from sklearn.datasets import make_blobs, make_moons
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

import cohirf
from cohirf import CoHiRF, FusionHierarchy, load, open_source
from cohirf.fitting import locality
from cohirf.fitting.policy import GROUP
from cohirf.summary.policy import KEEP
from cohirf.updating import blocks, rerun

BLOBS, CLASSES = make_blobs(600, n_features=5, centers=4, random_state=0)
MOONS, CRESCENTS = make_moons(1200, noise=0.05, random_state=0)


def in_parts(model, X, n_parts, **weights):
    """Update a model with consecutive parts of the rows."""
    cuts = np.array_split(np.arange(len(X) if not sparse.issparse(X) else X.shape[0]), n_parts)
    for rows in cuts:
        model.partial_fit(X[rows], **{name: values[rows] for name, values in weights.items()})
    return model


def assert_equal_models(one, other):
    assert adjusted_rand_score(one.labels_, other.labels_) == 1.0
    assert one.hierarchy_ == other.hierarchy_
    np.testing.assert_array_equal(one.parents_, other.parents_)
    np.testing.assert_array_equal(one.stability_, other.stability_)
    np.testing.assert_allclose(one.feature_agreement_, other.feature_agreement_)


def check_hierarchy(model):
    """Raise unless the vectors of a model are those of a hierarchy with its labels."""
    hierarchy = model.hierarchy_
    FusionHierarchy(hierarchy.parents, hierarchy.absorbed_at, tree=hierarchy.tree)
    assert adjusted_rand_score(hierarchy.cut(level=hierarchy.n_levels), model.labels_) == 1.0


@pytest.mark.parametrize(
    ("estimator", "X"),
    [
        (None, BLOBS[:240]),
        (KMeans(4, n_init=1), BLOBS),
        (GaussianMixture(4), BLOBS),
        pytest.param(KMeans(4, n_init=1), sparse.csr_array(BLOBS), marks=pytest.mark.slow),
        (DBSCAN(0.1), MOONS),
        (HDBSCAN(min_cluster_size=15, copy=True), MOONS),
    ],
    ids=["default", "k-means", "mixture", "sparse", "dbscan", "hdbscan"],
)
def test_updates_with_few_rows_are_a_fit_to_all_rows(estimator, X):
    whole = CoHiRF(estimator, random_state=0).fit(X)
    compare = (
        assert_equal_clusters
        if estimator is None or isinstance(estimator, KMeans)
        else assert_equal_models
    )
    compare(in_parts(CoHiRF(estimator, random_state=0), X, 3), whole)


def assert_equal_clusters(updated, whole):
    """Compare clusters: an update leaves rows in their former clusters, so that groups differ from
    those of a fit.
    """
    assert updated.n_clusters_ == whole.n_clusters_
    assert adjusted_rand_score(updated.labels_, whole.labels_) == 1.0


@pytest.mark.slow
def test_density_methods_in_local_batches_are_a_fit_to_all_rows(monkeypatch):
    monkeypatch.setitem(vars(locality.LOCAL), "density_rows", 1)
    whole = CoHiRF(DBSCAN(0.1), batch_size=300, random_state=0).fit(MOONS)
    assert whole.diagnostics_[0].n_batches > 1
    assert_equal_models(
        in_parts(CoHiRF(DBSCAN(0.1), batch_size=300, random_state=0), MOONS, 5), whole
    )


def test_a_fit_and_updates_with_few_rows_are_a_fit_to_all_rows():
    model = CoHiRF(n_clusters=4, random_state=0).fit(BLOBS[:400])
    assert_equal_clusters(
        in_parts(model, BLOBS[400:], 3), CoHiRF(n_clusters=4, random_state=0).fit(BLOBS)
    )


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"estimator": GaussianMixture(4)},
        {"max_features": 0.5, "medoid_weights": False, "consensus": "majority"},
    ],
    ids=str,
)
def test_updates_in_blocks_find_the_clusters_and_no_row_changes_its_own(options):
    parameters = {
        "estimator": KMeans(4, n_init=1),
        "batch_size": 40,
        "views": 2,
        "random_state": 0,
    } | options
    model = CoHiRF(**parameters).fit(BLOBS[:150])
    before = model.labels_.copy()
    check_hierarchy(in_parts(model, BLOBS[150:400], 6))
    np.testing.assert_array_equal(model.labels_[:150], before)
    assert adjusted_rand_score(model.labels_, CLASSES[:400]) == 1.0
    leaves = model._state.summary.value.groups
    labels = model._state.summary.value.labels
    assert (model.labels_[leaves.rows] == labels[: len(leaves)]).all()


def test_blocks_of_the_published_algorithm_do_not_depend_on_how_rows_are_divided_into_updates():
    parameters = {"n_clusters": "levels", "batch_size": 40, "views": 2, "random_state": 0}
    model = in_parts(CoHiRF(KMeans(4, n_init=1), **parameters), BLOBS[:250], 4)
    assert_equal_models(model, CoHiRF(KMeans(4, n_init=1), **parameters).partial_fit(BLOBS[:250]))
    check_hierarchy(model)


def test_the_first_blocks_are_contracted_as_finely_as_those_of_a_fit_in_few_batches(monkeypatch):
    monkeypatch.setitem(vars(GROUP), "few_batches", 4)
    model = CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0)
    assert_equal_models(
        in_parts(model, BLOBS, 4), in_parts(CoHiRF(**model.get_params(deep=False)), BLOBS, 2)
    )
    n_leaves = np.bincount(model._state.summary.value.groups.rows // 60)
    assert n_leaves[:4].min() > n_leaves[4:].max()


def test_weights_count_as_repeated_rows_in_the_sizes_of_leaves():
    weights = np.random.default_rng(0).integers(1, 4, len(BLOBS)).astype(float)
    model = in_parts(
        CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0), BLOBS, 4, sample_weight=weights
    )
    assert model._state.summary.value.groups.weights.sum() == weights.sum()
    assert adjusted_rand_score(model.labels_, CLASSES) == 1.0
    model.partial_fit(BLOBS[:100])  # without weights, each row has the weight 1
    assert model._state.summary.value.groups.weights.sum() == weights.sum() + 100


class TestRowsOfWeight0:
    """Rows of weight 0 do not take part, but have a label."""

    weights = np.where(np.arange(len(BLOBS)) % 5 == 2, 0.0, 1.0)

    def test_with_few_rows_an_update_is_a_fit_to_all_rows(self):
        whole = CoHiRF(KMeans(4, n_init=1), random_state=0).fit(BLOBS, sample_weight=self.weights)
        model = in_parts(
            CoHiRF(KMeans(4, n_init=1), random_state=0), BLOBS, 3, sample_weight=self.weights
        )
        assert_equal_clusters(model, whole)

    @pytest.mark.parametrize("opened", [np.asarray, open_source], ids=["array", "source"])
    def test_the_groups_are_those_of_the_other_rows(self, opened):
        counted = self.weights > 0
        model, without = (
            CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0) for _ in range(2)
        )
        for rows in np.array_split(np.arange(len(BLOBS)), 4):
            model.partial_fit(opened(BLOBS[rows]), sample_weight=self.weights[rows])
            without.partial_fit(
                BLOBS[rows[counted[rows]]], sample_weight=np.ones(counted[rows].sum())
            )
        np.testing.assert_array_equal(
            model._state.summary.value.groups.values, without._state.summary.value.groups.values
        )
        np.testing.assert_allclose(
            model._state.summary.value.groups.means, without._state.summary.value.groups.means
        )
        assert len(model.labels_) == len(BLOBS)
        assert adjusted_rand_score(model.labels_, CLASSES) == 1.0
        check_hierarchy(model)

    def test_a_saved_model_keeps_them(self, tmp_path):
        model = CoHiRF(KMeans(4, n_init=1), batch_size=70, random_state=0)
        in_parts(model, BLOBS, 3, sample_weight=self.weights).save(tmp_path / "model")
        assert (model._state.summary.value.groups.weights == 0).any()
        again = load(tmp_path / "model").partial_fit(BLOBS[:100])
        np.testing.assert_array_equal(again.labels_, model.partial_fit(BLOBS[:100]).labels_)


def test_an_update_after_a_fit_in_batches_adds_to_its_leaves():
    model = CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0).fit(BLOBS[:400])
    leaves = len(model._state.summary.value.groups)
    labels = model.labels_
    model.partial_fit(BLOBS[400:])
    assert len(model.labels_) == len(BLOBS)
    assert model._state.summary.value.groups.rows[leaves:].min() >= 400
    np.testing.assert_array_equal(model.labels_[:400], labels)
    assert adjusted_rand_score(model.labels_, CLASSES) == 1.0
    check_hierarchy(model)


def test_predict_returns_labels_of_the_type_of_those_of_the_fit():
    model = CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0).fit(BLOBS[:400])
    kind = model.predict(BLOBS).dtype
    assert model.labels_.dtype == kind
    assert model.partial_fit(BLOBS[400:]).predict(BLOBS).dtype == kind


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # of K-Means
@pytest.mark.filterwarnings("ignore:.*identical rows are not split")
def test_too_few_clusters_are_explained_with_the_name_that_users_know():
    model = CoHiRF(n_clusters=500, random_state=0)
    with pytest.warns(ConvergenceWarning, match="cannot be reached: KMeans found only 2 groups"):
        model.fit(np.repeat([[0.0], [1.0]], 300, axis=0))


def test_a_source_is_updated_as_an_array_is():
    in_memory = in_parts(CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0), BLOBS, 3)
    model = CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0)
    for part in np.array_split(BLOBS, 3):
        model.partial_fit(open_source(part))
    assert_equal_models(model, in_memory)
    assert isinstance(model.labels_, np.memmap)


def test_medoids_and_exemplars_are_rows_of_their_cluster():
    model = in_parts(CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0), BLOBS, 4)
    for name in ("medoid", "exemplar"):
        rows = getattr(model, f"{name}_indices_")
        np.testing.assert_array_equal(getattr(model, f"{name}s_"), BLOBS[rows])
        np.testing.assert_array_equal(model.labels_[rows], model.cluster_numbers_)


class TestKeptRows:
    """Density methods keep all rows, and at most 400."""

    @pytest.fixture(autouse=True)
    def few_rows(self, monkeypatch):
        monkeypatch.setitem(vars(KEEP), "rows", 400)

    def test_more_rows_are_refused_and_the_model_stays_as_it_was(self):
        model = CoHiRF(DBSCAN(0.2), random_state=0).partial_fit(MOONS[:300])
        labels = model.labels_
        with pytest.raises(
            ValueError,
            match=r"would have 500 rows, but updates of DBSCAN.*keep all rows, and at most 400",
        ):
            model.partial_fit(MOONS[300:500])
        assert model.labels_ is labels
        assert len(model.partial_fit(MOONS[300:400]).labels_) == 400

    def test_models_with_more_rows_together_are_not_merged(self):
        models = [CoHiRF(DBSCAN(0.2), random_state=0).fit(MOONS[:300]) for _ in range(2)]
        with pytest.raises(ValueError, match="would have 600 rows"):
            cohirf.merge(models)

    @pytest.mark.parametrize("X", [MOONS, open_source(MOONS)], ids=["array", "source"])
    def test_a_fit_to_more_rows_is_not_updated(self, X):
        model = CoHiRF(DBSCAN(0.2), random_state=0).fit(X)
        with pytest.raises(
            ValueError, match="a fit keeps these only of arrays with at most 400 rows"
        ):
            model.partial_fit(MOONS)


def test_an_update_that_fails_leaves_the_model_as_it_was(monkeypatch):
    model = in_parts(CoHiRF(KMeans(4, n_init=1), batch_size=60, random_state=0), BLOBS[:300], 2)
    before = dict(vars(model))

    def fail(*arguments):
        raise RuntimeError("at the very end")

    monkeypatch.setattr(rerun, "match_numbers", fail)
    with pytest.raises(RuntimeError, match="at the very end"):
        model.partial_fit(BLOBS[300:])
    assert vars(model) == before


def test_new_rows_must_have_the_features_of_the_model():
    model = CoHiRF(n_clusters=4, random_state=0).partial_fit(BLOBS[:200])
    with pytest.raises(ValueError, match="X has 4 features, but CoHiRF is expecting 5"):
        model.partial_fit(BLOBS[:, :4])


def test_missing_values_are_filled_alike_in_all_updates():
    X = BLOBS.copy()
    X[::7, 2] = np.nan
    whole = CoHiRF(HDBSCAN(copy=True), random_state=0).fit(X)
    assert_equal_models(in_parts(CoHiRF(HDBSCAN(copy=True), random_state=0), X, 3), whole)


class TestManyGroups:
    """Groups are contracted again if there are many."""

    @pytest.fixture(autouse=True)
    def few_groups(self, monkeypatch):
        monkeypatch.setattr(blocks, "GROUP", replace(GROUP, most=80))

    def model(self, **options):
        parameters = {
            "estimator": KMeans(4, n_init=1),
            "batch_size": 40,
            "views": 2,
            "random_state": 0,
        }
        return CoHiRF(**parameters | options)

    @pytest.mark.parametrize(
        "options", [{}, {"max_features": 0.5}, {"medoid_weights": False}], ids=str
    )
    def test_their_number_stays_small_and_they_stand_for_all_rows(self, options):
        model = in_parts(self.model(**options), BLOBS, 5)
        leaves = model._state.summary.value.groups
        assert leaves.heights.max() >= 2
        assert np.bincount(leaves.heights).max() < 80
        assert leaves.sizes.sum() == len(BLOBS)
        np.testing.assert_array_equal(leaves.values, BLOBS[leaves.rows])
        leaf = model._state.summary.value.row_map.find_leaves(
            np.arange(model._state.summary.value.row_map.n_rows)
        )
        for number in range(len(leaves)):
            np.testing.assert_allclose(
                leaves.means[number], BLOBS[: len(leaf)][leaf == number].mean(axis=0)
            )
        check_hierarchy(model)

    def test_groups_of_a_fit_are_contracted_too(self, monkeypatch):
        monkeypatch.setattr(blocks, "GROUP", replace(GROUP, most=40))
        model = self.model().fit(BLOBS[:400])
        assert len(model._state.summary.value.groups) >= 40
        model.partial_fit(BLOBS[400:])
        assert np.bincount(model._state.summary.value.groups.heights).max() < 40
        assert adjusted_rand_score(model.labels_, CLASSES) == 1.0
        check_hierarchy(model)


def test_an_automatic_batch_size_is_not_that_of_few_first_rows():
    model = CoHiRF(KMeans(4, n_init=1), batch_size="auto", views=2, random_state=0)
    assert in_parts(model, BLOBS, 6)._state.summary.value.batch_size is None
