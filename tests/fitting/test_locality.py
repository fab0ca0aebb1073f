"""Whether the batches of a fit are local."""

import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans, MeanShift, SpectralClustering
from sklearn.mixture import GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.fitting.locality import finds_number_itself


@pytest.mark.parametrize(
    "method",
    [
        DBSCAN(),
        HDBSCAN(copy=True),
        OPTICS(),
        MeanShift(),
        AgglomerativeClustering(None, distance_threshold=1.0),
        CoHiRF(DBSCAN()),
    ],
    ids=str,
)
def test_density_methods_find_the_number_of_clusters(method):
    assert finds_number_itself(method)


@pytest.mark.parametrize(
    "method",
    [
        KMeans(3),
        SpectralClustering(3),
        GaussianMixture(3),
        AgglomerativeClustering(3),
        make_pipeline(StandardScaler(), KMeans(3)),
        CoHiRF(KMeans(3)),
        CoHiRF(DBSCAN(), n_clusters=3),
        DBSCAN(metric="precomputed"),
        make_pipeline(StandardScaler(), DBSCAN()),  # its scaler would give each local batch another scale
        CoHiRF(make_pipeline(StandardScaler(), DBSCAN())),
    ],
    ids=str,
)
def test_other_methods_are_told_it_or_see_other_features(method):
    assert not finds_number_itself(method)
