"""The headline: how many clusters, how large, how far apart, whether to trust them."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF
from cohirf.description import describe_clusters, make_headline
from cohirf.description.headline import say_separation


def headline_of(model, X):
    return make_headline(describe_clusters(model, X), model.diagnose())


def test_separate_clusters_are_good_news():
    X, _ = make_blobs(300, centers=3, random_state=1)
    headline = headline_of(CoHiRF(n_clusters=3, random_state=0).fit(X), X)
    assert str(headline) == (
        "3 clusters in 300 rows. Each has 100 rows (33%). They are clearly apart: less than 1% of the rows are between "
        "two clusters. Trust them as you would trust KMeans: it finds the same clusters alone."
    )
    assert headline.tone == "good"


def test_all_noise_is_not_to_be_used():
    X = np.random.default_rng(0).normal(size=(60, 2))
    with pytest.warns(ConvergenceWarning, match="noise"):
        model = CoHiRF(DBSCAN(eps=1e-6)).fit(X)
    headline = headline_of(model, X)
    said = "No clusters: all 60 rows are noise. To find some, raise eps of DBSCAN, or lower min_samples of DBSCAN."
    assert str(headline) == said
    assert headline.tone == "poor"


def test_noise_and_a_single_cluster_are_counted():
    X = np.concatenate([np.random.default_rng(0).normal(size=(99, 2)), [[50.0, 50.0]]])
    headline = headline_of(CoHiRF(DBSCAN(eps=1.5)).fit(X), X)
    assert headline.count == "1 cluster in 100 rows; 1% of the rows are noise, in no cluster."
    assert headline.sizes == headline.separation == ""


def test_a_cloud_that_is_cut_is_not_good_news():
    X = np.random.default_rng(0).normal(size=(500, 20))
    headline = headline_of(CoHiRF(n_clusters=4, random_state=0).fit(X), X)
    assert "one cloud of rows" in headline.separation
    assert headline.tone != "good"


@pytest.mark.parametrize(
    ("share", "said"), [(0.0, "clearly apart"), (0.1, "They touch"), (0.3, "They overlap"), (0.8, "not separate")]
)
def test_the_words_follow_the_share_of_rows_between_clusters(share, said):
    assert said in say_separation(share)
