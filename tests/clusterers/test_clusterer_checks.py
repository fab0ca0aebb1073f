"""scikit-learn's own checks, all of them, with no expected failure."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from cohirf.clusterers import SCSRGF, KernelKMeans


# Data in some checks has fewer distinct rows than clusters: K-Means' own warning.
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@parametrize_with_checks([KernelKMeans(), KernelKMeans(n_clusters=3, n_components=50, n_init=3)])
def test_kernel_k_means_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@parametrize_with_checks([SCSRGF(n_affinities=3, n_fusion_iter=3)])
def test_sc_srgf_passes_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks([SCSRGF(), SCSRGF(n_affinities=1, n_neighbors=3)])
def test_sc_srgf_with_many_and_with_few_affinities_passes_scikit_learns_checks(estimator, check):
    check(estimator)
