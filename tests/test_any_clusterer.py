"""Every clusterer of scikit-learn, mixtures, pipelines, our own and some of others work as base
methods.
"""

import importlib

import genieclust
import hdbscan
import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.decomposition import PCA
from sklearn.mixture import BayesianGaussianMixture, GaussianMixture
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.discovery import all_estimators

from cohirf import CoHiRF
from cohirf.clusterers import SCSRGF, GridDBSCAN, KernelKMeans

OF_FEATURES = {"FeatureAgglomeration"}  # clusters columns, not rows
BASES = {
    name: base() for name, base in all_estimators(type_filter="cluster") if name not in OF_FEATURES
}
BASES |= {
    "GaussianMixture": GaussianMixture(3),
    "BayesianGaussianMixture": BayesianGaussianMixture(n_components=3),
    "Pipeline": make_pipeline(StandardScaler(), PCA(2), KMeans(3)),
    "KernelKMeans": KernelKMeans(3, gamma=0.1, n_components=50),
    "SCSRGF": SCSRGF(3, n_affinities=3),
    "GridDBSCAN": GridDBSCAN(1.0),
    "hdbscan": hdbscan.HDBSCAN(),
    "genieclust": genieclust.Genie(n_clusters=3),
}
MODES = {"strict": {}, "relaxed": {"consensus": "relaxed"}, "batched": {"batch_size": 40}}
BLOBS = make_blobs(120, 3, centers=3, cluster_std=0.3, random_state=0)[0]

# On tiny and degenerate levels base methods warn of fewer clusters than asked for, of graphs in
# several parts, ...
# scikit-learn's methods, one by one
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),
]


# fast_hdbscan is compiled for half a minute, when it is first imported
@pytest.fixture(params=[*BASES, pytest.param("fast_hdbscan", marks=pytest.mark.slow)])
def base(request):
    return (
        BASES[request.param]
        if request.param in BASES
        else importlib.import_module(request.param).HDBSCAN()
    )


def assert_valid(model, n_rows):
    assert model.labels_.shape == (n_rows,)
    assert list(dict.fromkeys(model.labels_.tolist())) == list(range(model.n_clusters_))
    assert (model.hierarchy_.cut(level=model.hierarchy_.n_levels) == model.labels_).all()


@pytest.mark.parametrize(
    "mode", ["strict", "batched", pytest.param("relaxed", marks=pytest.mark.slow)]
)
def test_it_clusters_blobs(base, mode):
    assert_valid(
        CoHiRF.as_published(base, views=2, max_iter=5, random_state=0, **MODES[mode]).fit(BLOBS),
        len(BLOBS),
    )


@pytest.mark.parametrize(
    "n_rows", [2, 3, *(pytest.param(n_rows, marks=pytest.mark.slow) for n_rows in (4, 5))]
)
def test_it_survives_a_tiny_level(base, n_rows):
    assert_valid(CoHiRF.as_published(base, views=2, random_state=0).fit(BLOBS[:n_rows]), n_rows)


@pytest.mark.parametrize("n_rows", [2, 12])
def test_it_survives_identical_rows(base, n_rows):
    assert_valid(
        CoHiRF.as_published(base, views=2, random_state=0).fit(np.ones((n_rows, 3))), n_rows
    )


def test_a_method_that_clusters_features_is_refused():
    from sklearn.cluster import FeatureAgglomeration

    with pytest.raises(TypeError, match=r"FeatureAgglomeration.* clusters features, not rows"):
        CoHiRF.as_published(FeatureAgglomeration()).fit(BLOBS)
