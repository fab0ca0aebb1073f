"""The pairwise merges as a dendrogram of the report."""

import json

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF
from cohirf.report.cuts import find_cuts
from cohirf.report.merges import MAX_LEAVES, describe_merges
from cohirf.report.study import check_study
from cohirf.report.summarize import Options, summarize


def describe(study):
    return describe_merges(study, find_cuts(study.model))


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
    merges = describe(noisy_blobs)
    assert merges["n_leaves"] == 3
    assert len(merges["parent"]) == 5
    assert merges["size"][-1] == 150  # noise is not in the tree
    assert merges["height"][-1] == pytest.approx(noisy_blobs.model.hierarchy_.tree.linkage[-1, 2], rel=1e-4)
    first, second = merges["height"][3:]
    above, between, below = merges["cuts"]  # one cluster, two and three
    assert 0 < below < first < between < second < above


def test_bars_reach_over_their_parts(iris_study):
    merges = describe(iris_study)
    assert merges["n_leaves"] <= MAX_LEAVES
    for bar, (start, end) in enumerate(zip(merges["start"], merges["end"], strict=True)):
        node = merges["n_leaves"] + bar
        places = [merges["x"][part] for part, parent in enumerate(merges["parent"]) if parent == node]
        assert (start, end) == (min(places), max(places))


def test_leaves_know_their_cluster_at_every_cut(iris_study):
    merges, cuts = describe(iris_study), find_cuts(iris_study.model)
    for cut, labels, height in zip(cuts, merges["labels"], merges["cuts"], strict=True):
        assert labels == cut.labels[merges["medoid"]].tolist()
        above = {parent for parent in merges["parent"] if height is not None and merges["height"][parent] > height}
        assert height is None or len(above - {-1}) == cut.n_clusters - 1
    assert sum(height is not None for height in merges["cuts"]) > len(cuts) / 2


def test_a_cut_with_more_clusters_than_leaves_is_not_in_the_picture():
    X = np.random.default_rng(0).uniform(size=(900, 2))
    model = CoHiRF(n_clusters=30, random_state=0).fit(X)
    merges, cuts = describe(check_study(model, X, None, None)), find_cuts(model)
    assert merges["n_leaves"] == MAX_LEAVES < cuts[-1].n_clusters
    assert merges["labels"][-1] is merges["cuts"][-1] is None


def test_merges_can_be_written_as_json(iris_study):
    assert json.loads(json.dumps(describe(iris_study))) == describe(iris_study)


@pytest.mark.filterwarnings("ignore:Nothing fused", "ignore:.*noise")
def test_a_fit_that_found_only_noise_has_no_merges(blobs):
    X = blobs[0][:20]
    model = CoHiRF(DBSCAN(eps=1e-9), random_state=0).fit(X)
    assert describe(check_study(model, X, None, None)) is None


def test_the_summary_says_how_the_number_of_clusters_was_chosen(blobs):
    X = blobs[0]
    chosen = CoHiRF(n_clusters="auto", random_state=0).fit(X)
    told = summarize(check_study(chosen, X, None, None), Options("Chosen"))["choice"]
    assert told["n_clusters"] == chosen.n_clusters_
    assert told["text"] == chosen.choice_.describe()
    assert told["silhouettes"] == chosen.choice_.silhouettes.tolist()


def test_a_given_number_of_clusters_was_not_chosen(iris_study):
    assert summarize(iris_study, Options("Iris"))["choice"] is None
