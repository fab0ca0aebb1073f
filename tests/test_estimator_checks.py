"""scikit-learn's own checks, all of them, with no expected failure that has no counterpart here.

Two of them want `predict` to give the same label *numbers* for repeated rows and for shuffled rows
with weights. Labels are numbered in order of first appearance, so that can only hold where no
cluster is reported. For these two checks the estimators have many views, which agree on nothing in
the checks' structureless rows, and they report clusters of five rows or more.
`test_sample_weight.py` shows the same promise up to the names of clusters.
"""

import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, KMeans
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
    parametrize_with_checks,
)

from cohirf import CoHiRF, FeatureScreen, choice, screening
from cohirf.beyond.policy import NumberPolicy

few_views = {"views": 3, "max_features": 0.3, "min_cluster_size": 5}
ESTIMATORS = {
    "strict": CoHiRF(KMeans(n_clusters=3), **few_views),
    "relaxed": CoHiRF(KMeans(n_clusters=3), consensus="relaxed", **few_views),
    "weighted": CoHiRF(KMeans(n_clusters=3), medoid_weights=True, **few_views),
    "majority": CoHiRF(KMeans(n_clusters=3), consensus="majority", **few_views),
    "batched": CoHiRF(KMeans(n_clusters=3), batch_size=20, **few_views),
    "published": CoHiRF.as_published(KMeans(n_clusters=3), **few_views),
}
ON_WEIGHTS = [
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
]
# The clusters of few views have other numbers; and with K-Means, whose random start depends on the
# number of rows, they can differ, as those of K-Means itself do.
NUMBERED = {
    check.__name__: "labels are numbered in order of first appearance" for check in ON_WEIGHTS
}


@pytest.fixture(autouse=True)
def cheap_choices(monkeypatch):
    """Checks fit hundreds of times.

    How well features and the number of clusters are chosen matters little.
    """
    monkeypatch.setitem(vars(screening.POLICY), "views", 4)
    monkeypatch.setattr(choice, "NUMBER", NumberPolicy(first_numbers=4))


# Data in these checks may have fewer distinct rows than clusters, or merge nothing: scikit-learn's
# own warnings.
pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")


@parametrize_with_checks([CoHiRF(views=2)], expected_failed_checks=lambda estimator: NUMBERED)
def test_ordinary_settings_pass_all_checks_but_those_on_the_numbers_of_clusters(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [CoHiRF(), *ESTIMATORS.values()],
    expected_failed_checks=lambda estimator: NUMBERED,
)
def test_other_settings_pass_all_checks_but_those_on_the_numbers_of_clusters(estimator, check):
    check(estimator)


@parametrize_with_checks(
    [CoHiRF(n_clusters=3, size_limits=(1, None), random_state=0, views=2)],
    expected_failed_checks=lambda estimator: NUMBERED,
)
def test_limits_of_sizes_pass_all_checks_but_those_on_the_numbers_of_clusters(estimator, check):
    check(estimator)


@parametrize_with_checks([FeatureScreen()])
def test_all_checks_pass_with_a_feature_screen(estimator, check):
    check(estimator)


@parametrize_with_checks([CoHiRF(DBSCAN(0.3), min_cluster_size=5)])
def test_all_checks_pass_with_dbscan(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([CoHiRF(DBSCAN(0.3)), CoHiRF(DBSCAN(1.0))])
def test_all_checks_pass_with_dbscan_for_clusters_of_any_size(estimator, check):
    check(estimator)


@pytest.mark.parametrize("check", ON_WEIGHTS)
@pytest.mark.parametrize("name", ["strict", "weighted", "batched", "published"])
def test_checks_on_weights_pass_where_many_views_find_nothing(name, check):
    check(
        "CoHiRF",
        clone(ESTIMATORS[name]).set_params(views=20, n_clusters="levels", consensus="strict"),
    )
