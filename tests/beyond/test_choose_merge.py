"""Which merges fit the data."""

import numpy as np
import pytest
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score, silhouette_score

from cohirf import CoHiRF
from cohirf.beyond.choose_merge import (
    MERGES,
    ComparedMerges,
    ComparedSample,
    Figures,
    minimax_distances,
    weighted_ari,
)
from cohirf.beyond.cuts import cut_linkage
from cohirf.beyond.neighbour_graph import NeighbourGraph
from cohirf.beyond.policy import MERGE
from cohirf.choice import NumberedDivisions


def sample_of(points):
    return ComparedSample(points, np.ones(len(points)))


def compared(*scores):
    nothing = np.zeros(3)
    return ComparedMerges(Figures(nothing, nothing, nothing), np.array(scores))


def test_other_merges_win_on_moons():
    moons, of_moon = make_moons(300, noise=0.05, random_state=0)
    sample = sample_of(moons)
    divisions = [
        (moons[:, 0] > 0.5).astype(int),
        *(sample.divide(merge, [2])[0] for merge in MERGES[1:]),
    ]
    assert sample.compare(divisions).best in ("connected", "graph")
    assert adjusted_rand_score(of_moon, divisions[1]) == 1


@pytest.mark.parametrize("seed", range(3))
def test_clusters_that_touch_are_compact(seed):
    blobs, y = make_blobs(600, centers=[[0, 0], [4.5, 0], [0, 4.5]], random_state=seed)
    model = CoHiRF(n_clusters=3, random_state=0).fit(blobs)
    assert model.choice_.merge == "compact"
    assert adjusted_rand_score(y, model.labels_) > 0.9


def test_where_clusters_overlap_other_merges_cost_little():
    found = []
    for seed in range(6):
        blobs, y = make_blobs(600, centers=[[0, 0], [3.5, 0], [0, 3.5]], random_state=seed)
        labels = [
            CoHiRF(n_clusters=3, merge=merge, random_state=0).fit_predict(blobs)
            for merge in ("auto", "compact")
        ]
        found.append([adjusted_rand_score(y, each) for each in labels])
    chosen, compact = np.mean(found, axis=0)
    assert chosen > compact - 0.04


def test_valleys_count_among_merges_and_not_among_numbers(monkeypatch):
    points, y = make_blobs(200, centers=[[0, 0], [6, 0]], random_state=0)
    sample = sample_of(points)
    divisions = [y, (points[:, 1] > 0).astype(int), y]
    with_valleys = sample.compare(divisions).scores
    [without] = sample.compare_each([divisions])
    valleys = sample.graph.valleys(np.stack(divisions))
    assert valleys[0] > valleys[1] + 0.1
    np.testing.assert_allclose(with_valleys - without.scores, MERGE.weight * valleys)
    monkeypatch.delattr(NeighbourGraph, "valleys")
    assert NumberedDivisions.of(sample, np.arange(2, 5), 0.0).best_number == 2


def test_compact_clusters_are_taken_unless_another_merge_leads():
    assert compared(0.5, 0.5 + MERGE.lead / 2, 0.4).best == "compact"
    assert compared(0.5, 0.5 + 2 * MERGE.lead, 0.4).best == "connected"
    assert compared(0.5, 0.6, 0.7).best == "graph"


def test_a_division_that_others_agree_with_scores_higher():
    points = np.random.default_rng(0).normal(size=(200, 2))
    sample = sample_of(points)
    left = (points[:, 0] > 0).astype(int)
    up = (points[:, 1] > 0).astype(int)
    [alone] = sample.compare_each([[up, left, 1 - left]])
    gain = alone.scores - alone.figures.score
    assert gain[1] == pytest.approx(MERGE.weight * np.mean([1, weighted_ari(left, up)]))
    assert gain[0] < gain[1]


def test_a_division_into_fewer_clusters_is_not_taken():
    points, y = make_blobs(100, centers=3, random_state=0)
    fewer = np.minimum(y, 1)
    assert sample_of(points).compare([y, fewer, fewer]).scores[1:].tolist() == [-np.inf, -np.inf]


def test_the_connection_is_high_if_gaps_lie_between_clusters():
    moons, y = make_moons(300, noise=0.05, random_state=0)
    found = sample_of(moons).measure([y, (moons[:, 0] > 0.5).astype(int)])
    assert found.connection[0] > 0.5 > found.connection[1]
    assert found.cut[0] < found.cut[1]
    [silhouette] = sample_of(moons).silhouettes([y])
    assert silhouette == pytest.approx(silhouette_score(moons, y))


def test_minimax_distances_are_the_longest_edge_on_the_way():
    X = np.random.default_rng(0).normal(size=(30, 2))
    distances = np.sqrt(((X[:, None] - X) ** 2).sum(axis=-1))
    radius = np.sort(distances, axis=1)[:, 3]
    way = np.maximum(distances, np.maximum(radius[:, None], radius))
    np.fill_diagonal(way, 0)
    for middle in range(30):  # Floyd and Warshall, with the longest edge in place of the sum
        way = np.minimum(way, np.maximum(way[:, middle, None], way[middle]))
    np.testing.assert_allclose(minimax_distances(distances), way)


@pytest.mark.parametrize("merge", MERGES[1:])
def test_the_linkage_of_rows_has_the_clusters_of_their_points(merge):
    X, _ = make_blobs(120, centers=5, random_state=1)
    X = np.concatenate([X, X[:40], X[:3]])
    sample = sample_of(X)
    linkage = sample.link(merge, 5, 50)
    assert linkage.shape == (162, 4)
    assert np.count_nonzero(linkage[:, 2] == 0) == 43
    assert adjusted_rand_score(sample.divide(merge, [5])[0], cut_linkage(linkage, 5)) == 1


@pytest.mark.parametrize("merge", MERGES)
def test_the_merge_that_is_asked_for_makes_the_clusters(merge):
    X, y = make_moons(500, noise=0.05, random_state=0)
    model = CoHiRF(n_clusters=2, merge=merge, random_state=0).fit(X)
    assert (model.choice_.merge, model.choice_.is_merge_given) == (merge, True)
    assert (adjusted_rand_score(y, model.labels_) == 1) == (merge != "compact")
    assert (model.predict(X) == model.labels_).all()
    assert all(len(np.unique(model.hierarchy_.cut(n_clusters=k))) == k for k in range(1, 10))


def test_images_are_merged_along_the_graph():
    X, y = load_digits(return_X_y=True)
    model = CoHiRF(n_clusters=10, random_state=0).fit(X)
    assert model.choice_.merge == "graph"
    assert adjusted_rand_score(y, model.labels_) > 0.8


def test_the_choice_does_not_depend_on_an_offset():
    rng = np.random.default_rng(0)
    moons, y = make_moons(600, noise=0.04, random_state=0)
    X = moons @ np.linalg.qr(rng.normal(size=(30, 30)))[0][:2] + 0.005 * rng.normal(size=(600, 30))
    assert adjusted_rand_score(CoHiRF(n_clusters=2, random_state=0).fit(X + 1e8).labels_, y) > 0.99


@pytest.mark.parametrize("n_rows", [4, 200])
def test_the_agreement_is_the_adjusted_rand_index(n_rows):
    rng = np.random.default_rng(n_rows)
    labels, other = rng.integers(3, size=(2, n_rows))
    other[: n_rows // 2] = labels[: n_rows // 2]
    assert weighted_ari(labels, other) == pytest.approx(adjusted_rand_score(labels, other))
    assert weighted_ari(np.append(labels, -1), np.append(other, 0)) == weighted_ari(labels, other)
    assert weighted_ari(labels, labels + 5) == 1


def test_rows_in_no_cluster_have_no_agreement():
    assert weighted_ari(np.array([-1, -1]), np.array([0, 1])) == 0
    assert weighted_ari(np.array([0]), np.array([0])) == 0
