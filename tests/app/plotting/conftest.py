"""Pictures are drawn without a screen, and closed after each test."""

import matplotlib as mpl
import numpy as np
import pytest
from sklearn.cluster import KMeans

from cohirf import CoHiRF, FusionHierarchy


@pytest.fixture(autouse=True)
def _draw_without_a_screen(monkeypatch):
    mpl.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")

    def refuse(*args, **kwargs):
        raise AssertionError("a plot called show")

    monkeypatch.setattr(plt, "show", refuse)
    yield
    plt.close("all")


@pytest.fixture(scope="session")
def model(blobs):
    return CoHiRF.as_published(KMeans(4, n_init=1), views=3, max_features=0.6, random_state=0).fit(
        blobs[0]
    )


@pytest.fixture(scope="session")
def make_hierarchy():
    """Return a function that makes a hierarchy with given numbers of clusters, from one row per
    cluster on.
    """

    def make(*counts, seed=0):
        rng = np.random.default_rng(seed)
        parents = np.arange(counts[0])
        absorbed_at = np.zeros(counts[0], dtype=int)
        active = np.arange(counts[0])
        for level, count in enumerate(counts[1:], start=1):
            survivors = np.sort(rng.choice(active, count, replace=False))
            gone = np.setdiff1d(active, survivors)
            parents[gone], absorbed_at[gone] = rng.choice(survivors, len(gone)), level
            active = survivors
        return FusionHierarchy(parents, absorbed_at)

    return make


@pytest.fixture(scope="session")
def hierarchies_by_size(make_hierarchy):
    return {
        1: make_hierarchy(40, 5, 1),
        3: make_hierarchy(200, 30, 8, 3),
        30: make_hierarchy(900, 150, 48, 30),
        300: make_hierarchy(3000, 900, 450, 300),
    }
