"""The pairwise merges as a dendrogram of the report."""

import json

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.report.merges import MAX_LEAVES, describe_merges
from cohirf.report.study import check_study
from cohirf.report.summarize import Options, summarize


@pytest.fixture(scope="module")
def noisy_blobs():
    """A model of one level, with three clusters and two rows of noise."""
    X = np.r_[make_blobs(150, 2, centers=[(0, 0), (9, 9), (0, 9)], cluster_std=0.5, random_state=0)[0]]
    X = np.r_[X, [(50, 0), (0, 50)]]
    model = CoHiRF(DBSCAN(eps=1.5), random_state=0).fit(X)
    assert model.n_clusters_ == 3
    assert model.hierarchy_.n_levels == 1
    return check_study(model, X, None, None)


def test_a_fit_of_one_level_has_merges_up_to_one_cluster(noisy_blobs):
    merges = describe_merges(noisy_blobs)
    assert merges["n_leaves"] == 3
    assert len(merges["parent"]) == 5
    assert merges["size"][-1] == 150  # noise is not in the tree
    assert merges["height"][-1] == pytest.approx(noisy_blobs.model.hierarchy_.tree.linkage[-1, 2], rel=1e-4)
    assert 0 < merges["cut"] < min(merges["height"][3:])


def test_bars_reach_over_their_parts(iris_study):
    merges = describe_merges(iris_study)
    assert merges["n_leaves"] <= MAX_LEAVES
    for bar, (start, end) in enumerate(zip(merges["start"], merges["end"], strict=True)):
        node = merges["n_leaves"] + bar
        places = [merges["x"][part] for part, parent in enumerate(merges["parent"]) if parent == node]
        assert (start, end) == (min(places), max(places))


def test_merges_can_be_written_as_json(iris_study):
    assert json.loads(json.dumps(describe_merges(iris_study))) == describe_merges(iris_study)


@pytest.mark.filterwarnings("ignore:Nothing fused", "ignore:.*noise")
def test_a_fit_that_found_only_noise_has_no_merges(blobs):
    X = blobs[0][:20]
    model = CoHiRF(DBSCAN(eps=1e-9), random_state=0).fit(X)
    assert describe_merges(check_study(model, X, None, None)) is None


def test_the_summary_says_how_the_number_of_clusters_was_chosen(blobs):
    X = blobs[0]
    chosen = CoHiRF(n_clusters="auto", random_state=0).fit(X)
    told = summarize(check_study(chosen, X, None, None), Options("Chosen"))["choice"]
    assert told["n_clusters"] == chosen.n_clusters_
    assert told["text"] == chosen.choice_.describe()
    assert told["silhouettes"] == chosen.choice_.silhouettes.tolist()


def test_a_given_number_of_clusters_was_not_chosen(iris_study):
    assert summarize(iris_study, Options("Iris"))["choice"] is None
