"""scikit-learn's own checks, all of them, with no expected failure.

One of them wants `predict` to give the same label *numbers* for repeated rows and for shuffled rows with weights.
Labels are numbered in order of first appearance, so that can only hold where no cluster is reported: these estimators
have many views, which agree on the clusters of the other checks and on nothing in that one's structureless rows, and
they report clusters of five rows or more. `test_sample_weight.py` shows the same promise up to the names of clusters.
"""

import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.utils.estimator_checks import parametrize_with_checks

from cohirf import CoHiRF

many_views = {"n_views": 20, "max_features": 0.3, "min_cluster_size": 5}
ESTIMATORS = {
    "strict": CoHiRF(KMeans(n_clusters=3), **many_views),
    "relaxed": CoHiRF(KMeans(n_clusters=3), consensus="relaxed", **many_views),
    "weighted": CoHiRF(KMeans(n_clusters=3), medoid_weights=True, **many_views),
    "screened": CoHiRF(KMeans(n_clusters=3), feature_screen=True, **many_views),
    "majority": CoHiRF(KMeans(n_clusters=3), consensus="majority", scale_views=True, **many_views | {"majority": 0.95}),
    "batched": CoHiRF(KMeans(n_clusters=3), batch_size=20, **many_views),
    "dbscan": CoHiRF(DBSCAN(), min_cluster_size=5),
}


# Other settings pass all but the two checks on weights. Their clusters have other numbers; and with K-Means, whose
# random start depends on the number of rows, they can differ, as those of K-Means itself do.
ON_WEIGHTS = "labels are numbered in order of first appearance"
NUMBERED = {
    "check_sample_weight_equivalence_on_dense_data": ON_WEIGHTS,
    "check_sample_weight_equivalence_on_sparse_data": ON_WEIGHTS,
}


# Data in these checks may have fewer distinct rows than clusters, or merge nothing: scikit-learn's own warnings.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks(list(ESTIMATORS.values()))
def test_estimator_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([CoHiRF(), CoHiRF(DBSCAN())], expected_failed_checks=lambda estimator: NUMBERED)
def test_ordinary_settings_pass_all_checks_but_those_on_the_numbers_of_clusters(estimator, check):
    check(estimator)
