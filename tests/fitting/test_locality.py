"""Whether the batches of a fit are local."""

import numpy as np
import pytest
from sklearn.cluster import (
    DBSCAN,
    HDBSCAN,
    OPTICS,
    AgglomerativeClustering,
    KMeans,
    MeanShift,
    SpectralClustering,
)
from sklearn.datasets import make_blobs
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
        # its scaler would give each local batch another scale
        make_pipeline(StandardScaler(), DBSCAN()),
        CoHiRF(make_pipeline(StandardScaler(), DBSCAN())),
    ],
    ids=str,
)
def test_other_methods_are_told_it_or_see_other_features(method):
    assert not finds_number_itself(method)


@pytest.mark.parametrize("alpha", [0.5, 1.3])
def test_hdbscan_with_alpha_is_computed_in_one_batch_and_refused_in_several(alpha):
    X, _ = make_blobs(400, centers=3, random_state=0)
    method = HDBSCAN(alpha=alpha, copy=True)
    np.testing.assert_array_equal(
        CoHiRF(method, random_state=0).fit(X).labels_ < 0, method.fit(X).labels_ < 0
    )
    with pytest.raises(
        ValueError,
        match=rf"HDBSCAN with alpha={alpha} cannot be divided into local batches: .*batch_size",
    ):
        CoHiRF(method, batch_size=100, random_state=0).fit(X)
