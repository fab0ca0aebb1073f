"""The map and the tree beside it: how clusters merge, and what the other merge finds."""

import json

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.explain.cuts import colour_clusters, find_cuts
from cohirf.app.explain.map import describe_merges, show_other_merges
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.results import say_merge
from cohirf.app.explain.study import check_study, draw_sample
from cohirf.beyond.choose_merge import MERGES


def describe(study):
    return describe_merges(study, find_cuts(study.model), np.arange(study.n_rows))


@pytest.fixture(scope="module")
def noisy_blobs():
    """A model of one level, with three clusters and two rows of noise."""
    X = np.r_[
        make_blobs(150, 2, centers=[(0, 0), (9, 9), (0, 9)], cluster_std=0.5, random_state=0)[0]
    ]
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
    assert merges["height"][-1] == pytest.approx(
        noisy_blobs.model.hierarchy_.tree.linkage[-1, 2], rel=1e-4
    )
    assert 0 < merges["height"][3] < merges["height"][4]


def test_each_row_has_its_leaf_and_noise_has_none(noisy_blobs, unpack):
    merges = describe(noisy_blobs)
    leaf = unpack(merges["leaf"])
    assert leaf[-2:].tolist() == [-1, -1]
    for label in range(3):
        (own,) = set(leaf[noisy_blobs.model.labels_ == label].tolist())
        assert merges["labels"][-1][own] == label


def test_leaves_know_their_cluster_at_every_cut(iris_study, unpack):
    merges = describe(iris_study)
    cuts = find_cuts(iris_study.model)
    leaf = unpack(merges["leaf"])
    assert leaf.max() + 1 == merges["n_leaves"] <= PAGE.leaves
    for cut, labels in zip(cuts, merges["labels"], strict=True):
        assert np.array(labels)[leaf].tolist() == cut.labels.tolist()


def test_a_cut_with_more_clusters_than_leaves_is_not_in_the_picture(monkeypatch, iris_study):
    monkeypatch.setitem(vars(PAGE), "leaves", 6)
    merges = describe(iris_study)
    cuts = find_cuts(iris_study.model)
    assert merges["n_leaves"] == 6 < cuts[-1].n_clusters
    assert merges["labels"][-1] is None
    assert len(merges["labels"][5]) == 6


def test_merges_can_be_written_as_json(iris_study):
    assert json.loads(json.dumps(describe(iris_study))) == describe(iris_study)


@pytest.mark.filterwarnings("ignore:Nothing fused", "ignore:.*noise")
def test_a_fit_that_found_only_noise_has_no_merges(blobs):
    X = blobs[0][:20]
    model = CoHiRF(DBSCAN(eps=1e-9), random_state=0).fit(X)
    assert describe(check_study(model, X, None, None)) is None


def show(model, X):
    study = check_study(model, X, None, None)
    cuts = find_cuts(model)
    return show_other_merges(draw_sample(study, 4000), cuts, colour_clusters(cuts))


@pytest.mark.parametrize(
    ("X", "merge"),
    [
        (make_moons(300, noise=0.03, random_state=0)[0], "connected"),
        (make_blobs(300, centers=[[0, 0], [3, 0]], random_state=0)[0], "compact"),
    ],
)
def test_it_is_what_fits_with_the_other_merges_find(X, merge, unpack):
    model = CoHiRF(n_clusters=2, random_state=0).fit(X)
    shown = show(model, X)
    assert shown["merge"] == merge
    assert shown["why"] == say_merge(model.choice_)
    assert {merge, *(other["merge"] for other in shown["others"])} == set(MERGES)
    for other in shown["others"]:
        # the second cut has two clusters
        colours = np.array(other["colours"][1])[unpack(other["part"])]
        refitted = CoHiRF(n_clusters=2, merge=other["merge"], random_state=0).fit(X)
        assert adjusted_rand_score(colours, refitted.labels_) == 1
        # colours are those of the fit, where most rows agree
        assert np.mean(colours != model.labels_) == pytest.approx(other["moved"][1])
        assert other["moved"][1] < 0.5


@pytest.mark.parametrize(
    "model", [CoHiRF(DBSCAN(1.0)), CoHiRF(n_clusters=2, merge="compact", random_state=0)]
)
def test_merges_that_were_not_compared_are_not_shown(model):
    X = make_blobs(100, centers=[[0, 0], [9, 9]], random_state=0)[0]
    assert show(model.fit(X), X) is None
