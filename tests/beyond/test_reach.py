"""How far the clusters of a base method reach."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS, AgglomerativeClustering, KMeans, MeanShift
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from cohirf.beyond.reach import find_reach, links_every_row
from cohirf.clusterers import GridDBSCAN


@pytest.mark.parametrize(
    ("method", "reach"),
    [
        (DBSCAN(eps=0.25), 0.5),
        (DBSCAN(eps=np.float32(0.25)), 0.5),
        (DBSCAN(eps=1, metric="manhattan"), 2.0),
        (DBSCAN(eps=1, metric="minkowski", p=1.5), 2.0),
        (DBSCAN(eps=1, metric="minkowski"), 2.0),
        # of a cube in 16 dimensions, the diagonal is 4 sides long
        (
            DBSCAN(eps=1, metric="chebyshev"),
            8.0,
        ),
        (DBSCAN(eps=1, metric="minkowski", p=4), 4.0),
        (GridDBSCAN(eps=3), 6.0),
        (OPTICS(max_eps=2.0), 4.0),
        (OPTICS(max_eps=2.0, eps=1.0, cluster_method="dbscan"), 4.0),
        (MeanShift(bandwidth=0.5), 1.0),
        (AgglomerativeClustering(None, linkage="single", distance_threshold=0.5), 1.0),
    ],
)
def test_the_reach_is_twice_the_largest_radius(method, reach):
    assert find_reach(method, 16) == pytest.approx(reach, rel=1e-5)


@pytest.mark.parametrize(
    "method",
    [
        KMeans(3),
        HDBSCAN(copy=True),
        OPTICS(),  # its radius is infinite
        MeanShift(),  # estimates its radius
        AgglomerativeClustering(3),
        DBSCAN(metric="cosine"),  # another unit
        DBSCAN(metric="precomputed"),
        DBSCAN(metric=lambda x, y: 0.0),
        make_pipeline(StandardScaler(), DBSCAN()),  # its radius is not in units of the data
        object(),
    ],
    ids=lambda method: str(method).split(" at 0x")[0],
)
def test_other_methods_have_no_reach(method):
    assert find_reach(method, 16) is None


def test_single_linkage_links_every_row():
    assert links_every_row(AgglomerativeClustering(None, linkage="single", distance_threshold=1))
    assert not links_every_row(AgglomerativeClustering(None, linkage="ward", distance_threshold=1))
    assert not links_every_row(DBSCAN())
    assert not links_every_row(object())
