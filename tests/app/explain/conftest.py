"""Models that reports are written of."""

import base64
import zlib

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_iris, make_moons

from cohirf import CoHiRF
from cohirf.app.explain.study import check_study


@pytest.fixture(scope="session")
def iris():
    """Iris with its names: the data, the species, and a model of several levels."""
    bunch = load_iris(as_frame=True)
    model = CoHiRF.as_published(KMeans(8, n_init=1), views=3, max_features=0.5, random_state=0).fit(
        bunch.data
    )
    assert model.hierarchy_.n_levels >= 3
    return bunch.data, bunch.target_names[bunch.target], model


@pytest.fixture(scope="session")
def iris_study(iris):
    X, species, model = iris
    return check_study(model, X, species, None)


@pytest.fixture(scope="session")
def noisy():
    """Two moons among scattered rows: the data, and a model with noise."""
    X = np.r_[
        make_moons(300, noise=0.05, random_state=0)[0],
        np.random.default_rng(0).uniform(-3, 4, (40, 2)),
    ]
    model = CoHiRF.as_published(DBSCAN(eps=0.25), views=1, min_cluster_size=20, random_state=0).fit(
        X
    )
    assert model.n_clusters_ == 2
    assert (model.labels_ < 0).sum() > 10
    return X, model


@pytest.fixture(scope="session")
def unpack():
    """Return a function that undoes ``pack``, as the page does."""

    def undo(packed):
        dtype = np.dtype(packed["type"].lower())
        planes = np.frombuffer(zlib.decompress(base64.b64decode(packed["data"])), dtype=np.uint8)
        return planes.reshape(dtype.itemsize, -1).T.copy().view(dtype).ravel()

    return undo
