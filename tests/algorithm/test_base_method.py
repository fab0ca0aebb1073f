"""Calling base methods of every interface."""

import numpy as np
import pytest
from joblib import effective_n_jobs, parallel_config
from scipy import sparse
from sklearn.base import BaseEstimator, clone
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    Birch,
    FeatureAgglomeration,
    KMeans,
    SpectralClustering,
)
from sklearn.compose import make_column_transformer
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.impute import KNNImputer, SimpleImputer
from sklearn.kernel_approximation import RBFSampler
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    PowerTransformer,
    StandardScaler,
)

from cohirf import CoHiRF
from cohirf.algorithm.base_method import BaseMethod, find_weight_argument
from cohirf.fitting.quick_k_means import QuickKMeans


def label_rows(estimator, X, seed=0, **options):
    return BaseMethod.of(estimator).label_rows(X, np.random.default_rng(seed), **options)


class Duck:
    """No get_params, no fit_predict: only fit and labels_."""

    def fit(self, X, y=None):
        self.labels_ = (X[:, 0] > 0).astype(np.uint8)
        return self


class OnlyPredict(BaseEstimator):
    def fit(self, X):
        return self

    def predict(self, X):
        return (X[:, 0] > 0).astype(int)


class Recorder(BaseEstimator):
    """Returns its own seed as label."""

    def __init__(self, random_state=None):
        self.random_state = random_state

    def fit_predict(self, X):
        return np.full(len(X), self.random_state)


class WeightsOnlyInFit(BaseEstimator):
    def fit(self, X, sample_weight=None):
        return self

    def fit_predict(self, X):
        return np.zeros(len(X), dtype=int)


class PassesWeightsOn(WeightsOnlyInFit):
    def fit_predict(self, X, **options):
        return np.zeros(len(X), dtype=int)


class Strict(BaseEstimator):
    """Wants fewer neighbours than rows, as methods do that do not count a row as its own
    neighbour.
    """

    def __init__(self, n_neighbors=5):
        self.n_neighbors = n_neighbors

    def fit(self, X, y=None):  # a pipeline asks for it
        raise NotImplementedError

    def fit_predict(self, X, y=None):
        if self.n_neighbors >= len(X):
            raise ValueError("too many neighbours")
        return np.full(len(X), self.n_neighbors)


@pytest.mark.parametrize(
    "estimator",
    [
        Duck(),
        OnlyPredict(),
        make_pipeline(MaxAbsScaler(), Duck()),
        make_pipeline(MaxAbsScaler(), MaxAbsScaler(), Duck()),
    ],
)
def test_labels_come_from_whatever_the_method_has(estimator):
    X = np.array([[-1.0], [1.0], [2.0]])
    assert label_rows(estimator, X).tolist() == [0, 1, 1]
    assert not hasattr(estimator, "labels_")


@pytest.mark.parametrize(
    "estimator",
    [
        KMeans(8),
        AgglomerativeClustering(8),
        GaussianMixture(8),
        SpectralClustering(2, affinity="nearest_neighbors", n_neighbors=10),
        SpectralClustering(8, affinity="nearest_neighbors", n_neighbors=10),
        Strict(10),
        OPTICS(min_samples=8),
        make_pipeline(StandardScaler(), PCA(n_components=5), KMeans(8)),
        make_pipeline(RBFSampler(n_components=20), KMeans(8)),
    ],
)
def test_sizes_are_lowered_for_a_call_with_few_rows_only(estimator, blobs):
    before = clone(estimator).get_params()
    few = blobs[0][:5]
    assert label_rows(estimator, few).shape == (5,)
    after = estimator.get_params()
    assert {name: str(value) for name, value in after.items()} == {
        name: str(value) for name, value in before.items()
    }


def test_sizes_are_lowered_no_further_than_needed():
    assert label_rows(Strict(10), np.zeros((5, 1))).tolist() == [4] * 5


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize(
    "estimator", [KMeans(5), make_pipeline(StandardScaler(with_mean=False), KMeans(9))]
)
def test_a_cluster_per_row_means_that_only_equal_rows_are_joined(estimator, container):
    X = np.array([[0.0, 1.0], [2.0, 0.0], [0.0, 1.0], [0.0, 3.0], [2.0, 0.0]])
    labels = label_rows(estimator, container(X))
    assert (labels[:, None] == labels).tolist() == (X[:, None] == X).all(axis=2).tolist()


def test_sizes_a_method_can_satisfy_are_left_alone():
    assert label_rows(DBSCAN(eps=1, min_samples=5), np.zeros((3, 2))).tolist() == [-1, -1, -1]


def test_an_error_that_sizes_do_not_explain_is_passed_on():
    with pytest.raises(ValueError, match="eps"):
        label_rows(DBSCAN(eps=-1), np.zeros((30, 2)))


def test_what_has_no_labels_after_fit_is_refused():
    with pytest.raises(
        TypeError, match=r"estimator=StandardScaler.* after fit it has neither labels_ nor predict"
    ):
        label_rows(StandardScaler(), np.zeros((3, 2)))


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_narrow_labels_are_widened(dtype):
    class Narrow(BaseEstimator):
        def fit_predict(self, X):
            return np.array([127, 0], dtype=dtype)

    labels = label_rows(Narrow(), np.zeros((2, 1)))
    assert labels.dtype == np.int64
    assert labels.tolist() == [127, 0]


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_labels_of_four_bytes_or_more_are_left_as_they_are(dtype):
    class Wide(BaseEstimator):
        def fit_predict(self, X):
            return np.array([1, 0], dtype=dtype)

    assert label_rows(Wide(), np.zeros((2, 1))).dtype == dtype


def test_one_row_needs_no_call():
    assert label_rows(Strict(), np.zeros((1, 2))).tolist() == [0]


def test_every_call_is_seeded_by_its_generator():
    seeds = [label_rows(Recorder(random_state=3), np.zeros((2, 1)), seed)[0] for seed in (0, 0, 1)]
    assert seeds[0] == seeds[1] != seeds[2]


def test_nested_seeds_are_set(blobs):
    method = BaseMethod.of(make_pipeline(PCA(2, random_state=0), KMeans(3, random_state=0)))
    assert method.seeds == ("kmeans__random_state", "pca__random_state")
    fresh = method._fresh({"kmeans__random_state": 7, "pca__random_state": 8})
    assert fresh[0].random_state == 8
    assert fresh[-1].random_state == 7
    assert method.prototype[-1].random_state == 0


class Changeable(BaseEstimator):
    """Appends to a list that is one of its parameters."""

    def __init__(self, numbers=None):
        self.numbers = numbers

    def fit(self, X, y=None):
        self.numbers.append(len(X))
        self.labels_ = np.array(self.numbers)
        return self


def test_calls_do_not_share_parameters_that_can_be_changed():
    method = BaseMethod.of(Changeable([5]))
    for _ in range(2):
        assert method.label_rows(np.zeros((2, 1)), np.random.default_rng(0)).tolist() == [5, 2]


class CopiesItself(BaseEstimator):
    def __deepcopy__(self, memo):
        copied = type(self)()
        copied.n_copied = 1
        return copied


def test_a_copy_has_the_attributes_of_the_prototype_and_no_others():
    method = BaseMethod.of(KMeans(3, tol=0.5))
    fresh = method._fresh({"random_state": 7})
    assert vars(fresh) == vars(method.prototype) | {"random_state": 7}
    assert method.prototype.random_state is None


def test_an_estimator_that_copies_itself_is_asked_to():
    assert BaseMethod.of(CopiesItself())._fresh({}).n_copied == 1


@pytest.mark.parametrize(
    "estimator", [KMeans(3, copy_x=False), make_pipeline(StandardScaler(copy=False), KMeans(3))]
)
def test_data_that_is_not_the_methods_own_is_never_overwritten(estimator, blobs):
    X = blobs[0].copy()
    label_rows(estimator, X)
    assert (blobs[0] == X).all()


@pytest.mark.exact
def test_a_view_of_its_own_is_used_in_place(blobs):
    assert BaseMethod.of(KMeans()).copies == ("copy_x",)
    X = blobs[0].copy()
    assert (label_rows(KMeans(4), X, may_overwrite=True) == label_rows(KMeans(4), blobs[0])).all()
    label_rows(make_pipeline(StandardScaler(), KMeans(4)), X, may_overwrite=True)
    assert not np.allclose(X, blobs[0])


def test_a_call_that_is_repeated_finds_its_view_as_it_was(blobs):
    seen = []

    class Picky(Strict):
        def fit_predict(self, X, y=None):
            seen.append(X.copy())
            return super().fit_predict(X)

    rows = blobs[0][:20]
    label_rows(make_pipeline(PowerTransformer(), Picky(30)), rows.copy(), may_overwrite=True)
    assert len(seen) == 3
    assert all((seen[0] == X).all() for X in seen)


@pytest.mark.parametrize(
    ("estimator", "argument"),
    [
        (KMeans(), "sample_weight"),
        (DBSCAN(), "sample_weight"),
        (make_pipeline(StandardScaler(), KMeans()), "kmeans__sample_weight"),
        (make_pipeline(StandardScaler(), PCA(2), KMeans()), "kmeans__sample_weight"),
        (GaussianMixture(), None),
        (make_pipeline(StandardScaler(), AgglomerativeClustering()), None),
        (Duck(), None),
        (Birch(), None),
        (WeightsOnlyInFit(), None),
        (PassesWeightsOn(), "sample_weight"),
    ],
)
def test_the_weight_argument_is_found(estimator, argument):
    assert find_weight_argument(estimator) == argument


@pytest.mark.parametrize(
    ("estimator", "n_clusters"),
    [
        (KMeans(np.int32(9)), 9),
        (DBSCAN(), None),
        (AgglomerativeClustering(None, distance_threshold=1.0), None),
        (make_pipeline(FeatureAgglomeration(2), KMeans(9)), 9),
        (make_pipeline(StandardScaler(), FeatureAgglomeration(2), KMeans(9)), 9),
        (make_pipeline(FeatureAgglomeration(2), DBSCAN()), None),
    ],
)
def test_the_number_of_clusters_is_that_of_the_clusterer(estimator, n_clusters):
    method = BaseMethod.of(estimator)
    assert method.n_clusters == n_clusters
    assert method.finds_no_fewer_than(9) is (n_clusters == 9)
    assert not method.finds_no_fewer_than(10)


def test_a_method_can_be_told_another_number_of_clusters():
    told = BaseMethod.of(KMeans(4, n_init=5)).telling(9, 4, n_init=2, max_iter=10_000, absent=1)
    assert (told.n_told, told.asked) == (9, 4)
    assert (
        told.prototype.get_params().items()
        >= {"n_clusters": 9, "n_init": 2, "max_iter": 300}.items()
    )
    mixture = BaseMethod.of(make_pipeline(PCA(3), GaussianMixture(4, n_init=5))).telling(
        9, 4, n_init=2
    )
    assert mixture.prototype.get_params()["gaussianmixture__n_components"] == 9
    assert mixture.prototype.get_params()["gaussianmixture__n_init"] == 2
    assert mixture.prototype.get_params()["pca__n_components"] == 3


def test_a_method_without_a_number_or_with_given_centres_stays_as_it_is():
    finds_the_number = BaseMethod.of(DBSCAN())
    assert finds_the_number.telling(9, 4) is finds_the_number
    with_centres = BaseMethod.of(KMeans(2, init=np.zeros((2, 3)), n_init=1))
    assert with_centres.telling(9, 2) is with_centres
    assert with_centres.telling(2, 2).asked == 2


def test_sizes_are_whole_numbers():
    sizes = BaseMethod.of(
        make_pipeline(PCA(n_components=0.5), DBSCAN(min_samples=np.int64(4)))
    ).sizes
    assert sizes == {"dbscan__min_samples": 4}
    assert type(sizes["dbscan__min_samples"]) is int


def test_a_parameter_that_is_called_copy_and_takes_other_values_is_left_alone():
    class Copies(BaseEstimator):
        def __init__(self, copy="deep", copy_x=True):
            self.copy = copy
            self.copy_x = copy_x

        def fit_predict(self, X):
            return np.zeros(len(X), dtype=int)

    assert BaseMethod.of(Copies()).copies == ("copy_x",)
    assert BaseMethod.of(Copies(copy="warn")).copies == ("copy", "copy_x")


def test_a_method_without_seeds_is_deterministic_if_it_follows_the_conventions():
    assert BaseMethod.of(DBSCAN()).is_deterministic
    assert not BaseMethod.of(KMeans()).is_deterministic
    assert not BaseMethod.of(Duck()).is_deterministic


@pytest.mark.exact
def test_a_method_of_which_one_size_is_as_large_as_the_view_may_not_overwrite_it(blobs):
    rows = blobs[0][:20].copy()
    label_rows(make_pipeline(StandardScaler(), Strict(19)), rows, may_overwrite=True)
    assert not np.allclose(rows, blobs[0][:20])
    rows = blobs[0][:20].copy()
    label_rows(make_pipeline(StandardScaler(), Strict(20)), rows, may_overwrite=True)
    assert (rows == blobs[0][:20]).all()


def test_a_method_that_takes_no_weights_is_called_without_them():
    X = np.array([[-1.0], [1.0], [2.0]])
    assert label_rows(Duck(), X, sample_weight=np.ones(3)).tolist() == [0, 1, 1]


def test_weights_reach_the_last_step_of_a_pipeline():
    X = np.array([[0.0], [0.1], [10.0]])
    pipeline = make_pipeline(StandardScaler(), DBSCAN(eps=0.5, min_samples=4))
    assert label_rows(pipeline, X, sample_weight=np.array([3.0, 3.0, 3.0])).tolist() == [0, 0, -1]


@pytest.mark.parametrize(
    ("labels", "error", "message"),
    [
        (np.zeros(3, dtype=int), ValueError, r"Odd returned labels of shape \(3,\) for 2 rows"),
        (
            np.zeros((2, 1), dtype=int),
            ValueError,
            r"labels of shape \(2, 1\) for 2 rows: it must return one label",
        ),
        (np.array([0.0, 1.0]), TypeError, "labels of type float64: they must be integers"),
        (["a", "b"], TypeError, "they must be integers"),
        (None, ValueError, r"labels of shape \(\)"),
    ],
)
def test_labels_of_a_wrong_shape_or_type_are_refused(labels, error, message):
    class Odd(BaseEstimator):
        def fit_predict(self, X):
            return labels

    with pytest.raises(error, match=message):
        label_rows(Odd(), np.zeros((2, 2)))


def test_sizes_are_lowered_to_the_rows_without_missing_cells():
    view = np.random.default_rng(0).normal(size=(20, 2))
    view[3:] = np.nan
    labels = BaseMethod.of(HDBSCAN()).label_rows(view, np.random.default_rng(0))
    assert len(labels) == 20
    view[1:] = np.nan
    assert (BaseMethod.of(HDBSCAN()).label_rows(view, np.random.default_rng(0)) < 0).all()


def test_an_error_on_rows_with_missing_cells_is_passed_on_if_others_are_complete():
    class Failing(BaseEstimator):
        def fit_predict(self, X):
            raise ValueError("out of luck")

    view = np.array([[1.0], [2.0], [np.nan]])
    with pytest.raises(ValueError, match="out of luck"):
        label_rows(Failing(), view)
    assert label_rows(Failing(), np.array([[1.0], [np.nan], [np.nan]])).tolist() == [-1, -1, -1]


@pytest.mark.parametrize(("n_jobs", "expected"), [(None, 1), (2, 2)])
def test_jobs_that_the_caller_asks_joblib_for_are_not_those_of_the_base_method(n_jobs, expected):
    with parallel_config(backend="threading", n_jobs=4):
        method = BaseMethod.of(make_pipeline(StandardScaler(), DBSCAN(n_jobs=n_jobs)))
        assert effective_n_jobs(method.prototype[-1].n_jobs) == expected


def test_messages_name_the_method_that_users_know():
    assert [BaseMethod.of(method).name for method in (QuickKMeans(), KMeans(), DBSCAN())] == [
        "KMeans",
        "KMeans",
        "DBSCAN",
    ]


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")  # of cells
@pytest.mark.parametrize("batch_size", [None, 100])
@pytest.mark.parametrize(
    "method",
    [
        SpectralClustering(2),
        AgglomerativeClustering(2),
        KMeans(2),
        GaussianMixture(2),
        Birch(n_clusters=2),
    ],
    ids=lambda method: type(method).__name__,
)
def test_identical_rows_are_never_split(method, batch_size):
    rows = np.full((400, 3), 0.1)
    with pytest.warns(
        ConvergenceWarning,
        match="told to find 2 clusters, and there is 1 distinct row: identical rows",
    ):
        assert CoHiRF(method, batch_size=batch_size, random_state=0).fit(rows).n_clusters_ == 1
    two = np.append(rows, np.full((400, 3), 0.7), axis=0)
    model = CoHiRF(method, batch_size=batch_size, random_state=0).fit(two)
    assert np.unique(model.labels_[:400]).tolist() == [0]
    assert np.unique(model.labels_[400:]).tolist() == [1]


@pytest.mark.parametrize("n_rows", [3, 4, 6])
@pytest.mark.parametrize("n_components", [1, 2, 3])
def test_a_number_is_chosen_for_a_mixture_of_few_rows_on_a_line(n_rows, n_components):
    rows = 1e5 * np.arange(n_rows)[:, None] * np.ones((1, 2))
    model = CoHiRF(GaussianMixture(n_components), n_clusters="auto", random_state=0).fit(rows)
    assert model.n_clusters_ >= 1
    assert (model.labels_ >= 0).all()


FIRST_STEPS = {
    "imputer": SimpleImputer(),
    "nested": make_pipeline(SimpleImputer(), StandardScaler()),
    "columns": make_column_transformer((SimpleImputer(), [0, 1, 2])),
    "union": make_union(SimpleImputer(), KNNImputer()),
    "function": FunctionTransformer(np.nan_to_num),
}


@pytest.mark.parametrize("name", FIRST_STEPS)
@pytest.mark.parametrize("before", [[], ["passthrough"]], ids=["first", "second"])
def test_a_pipeline_takes_missing_values_if_its_first_step_does(name, before):
    X = np.random.default_rng(0).normal(size=(200, 3)) + np.repeat([[0], [9]], 100, axis=0)
    X[::17, 1] = np.nan
    model = CoHiRF(make_pipeline(*before, FIRST_STEPS[name], KMeans(2)), random_state=0).fit(X)
    assert model.n_clusters_ == 2
    assert len(np.unique(model.labels_[:100])) == 1


def test_a_pipeline_whose_first_step_refuses_missing_values_refuses_them():
    X = np.array([[0.0], [np.nan], [1.0]])
    with pytest.raises(ValueError, match="contains NaN"):
        CoHiRF(make_pipeline(PCA(1), KMeans(2)), random_state=0).fit(X)
