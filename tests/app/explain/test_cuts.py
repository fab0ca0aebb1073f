"""The cuts a reader can choose from: colours, known classes, and the one that is suggested."""

from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.cluster import DBSCAN, KMeans
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.app.explain.cuts import colour_clusters, find_cuts, suggest_cut
from cohirf.app.explain.policy import CUT
from cohirf.choice import Choice


@pytest.fixture(scope="module")
def digits():
    """A fit of digits whose first level has more clusters than every number that can be chosen."""
    model = CoHiRF(KMeans(10, n_init=1), random_state=0).fit(load_digits().data[:700])
    assert CUT.every_number < model.hierarchy_.cluster_counts()[1] <= CUT.largest
    return model


@pytest.fixture(scope="module")
def hiding():
    """A fit with clusters that are too small: the data, and the model."""
    X, _ = make_blobs([60, 50, 40, 5, 4], 2, cluster_std=0.1, random_state=0)
    model = CoHiRF(KMeans(5), merge="compact", min_cluster_size=10, random_state=0).fit(X)
    assert (model.n_clusters_, (model.labels_ < 0).sum()) == (3, 9)
    return model


def test_every_small_number_of_clusters_can_be_chosen_and_some_above_up_to_the_whole_tree(digits):
    numbers = [cut.n_clusters for cut in find_cuts(digits)]
    n_leaves = digits.hierarchy_.cluster_counts()[1]
    assert numbers[: CUT.every_number] == list(range(1, CUT.every_number + 1))
    assert numbers[-1] == n_leaves
    ratios = [finer / coarser for coarser, finer in pairwise(numbers[CUT.every_number - 1 :])]
    assert max(ratios) < 1.25
    assert len(numbers) < CUT.every_number + 20


def test_few_clusters_of_the_first_level_bound_the_numbers(iris):
    model = iris[2]
    assert [cut.n_clusters for cut in find_cuts(model)] == list(
        range(1, model.hierarchy_.cluster_counts()[1] + 1)
    )


def test_cuts_are_those_of_the_hierarchy(iris, digits):
    for model in (iris[2], digits):
        for cut in find_cuts(model):
            labels = model.hierarchy_.cut(n_clusters=cut.n_clusters)
            assert cut.labels.tolist() == labels.tolist()
            assert cut.labels_of(np.array([7, 3])).tolist() == labels[[7, 3]].tolist()
            assert cut.size.tolist() == np.bincount(labels).tolist()
            assert cut.labels[cut.medoid].tolist() == list(range(cut.n_clusters))


def test_a_cut_with_the_clusters_of_a_level_knows_it(iris):
    hierarchy = iris[2].hierarchy_
    by_level = {level: cut for cut in find_cuts(iris[2]) for level in cut.levels}
    assert sorted(by_level) == list(range(1, hierarchy.n_levels + 1))
    for level, cut in by_level.items():
        assert cut.labels.tolist() == hierarchy.cut(level=level).tolist()
        assert sorted(cut.medoid.tolist()) == sorted(hierarchy.medoids(level).tolist())


def test_a_cut_is_made_of_the_clusters_of_a_finer_one(digits):
    finer = find_cuts(digits)[-1]
    for cut in find_cuts(digits):
        assert cut.parts_of(finer)[finer.labels].tolist() == cut.labels.tolist()


def test_one_cut_has_the_labels_of_the_model(iris, noisy, digits, hiding):
    for model in (iris[2], noisy[1], digits, hiding):
        (final,) = (cut for cut in find_cuts(model) if cut.is_final)
        assert final.labels.tolist() == model.labels_.tolist()
        assert final.medoid.tolist() == model.medoid_indices_.tolist()
        assert final.size.sum() == (model.labels_ >= 0).sum()


def test_clusters_that_are_too_small_are_noise_in_the_final_cut_only(hiding):
    cuts = find_cuts(hiding)
    assert [(cut.n_clusters, cut.is_final) for cut in cuts if cut.n_clusters == 3] == [
        (3, False),
        (3, True),
    ]
    assert [cut.is_final for cut in cuts if (cut.labels < 0).any()] == [True]
    (final,) = (cut for cut in cuts if cut.is_final)
    assert final.parts_of(cuts[-1])[cuts[-1].labels].tolist() == hiding.labels_.tolist()


def test_noise_of_the_base_method_is_noise_in_every_cut():
    X = np.r_[
        make_blobs(90, 2, centers=[(0, 0), (9, 9), (0, 9)], cluster_std=0.5, random_state=0)[0],
        [(50, 0)],
    ]
    model = CoHiRF(DBSCAN(eps=1.5)).fit(X)
    cuts = find_cuts(model)
    assert [cut.n_clusters for cut in cuts] == [1, 2, 3]
    assert all(np.flatnonzero(cut.labels < 0).tolist() == [90] for cut in cuts)


@pytest.mark.filterwarnings("ignore:.*noise")
def test_where_everything_is_noise_there_is_one_cut(blobs):
    (cut,) = find_cuts(CoHiRF(DBSCAN(eps=1e-9)).fit(blobs[0]))
    assert (cut.n_clusters, cut.is_final, set(cut.labels.tolist())) == (0, True, {-1})
    assert [colour.tolist() for colour in colour_clusters([cut])] == [[]]


def test_final_clusters_have_the_colours_of_their_numbers(iris, noisy, hiding):
    for model in (iris[2], noisy[1], hiding):
        cuts = find_cuts(model)
        (colour,) = (
            colour for cut, colour in zip(cuts, colour_clusters(cuts), strict=True) if cut.is_final
        )
        assert colour.tolist() == list(range(model.n_clusters_))


def test_a_medoid_keeps_its_colour_and_no_two_share_one(iris, digits):
    for model in (iris[2], digits):
        cuts = find_cuts(model)
        colour_of = {}
        for cut, colour in zip(cuts, colour_clusters(cuts), strict=True):
            assert len(set(colour.tolist())) == cut.n_clusters
            for medoid, number in zip(cut.medoid.tolist(), colour.tolist(), strict=True):
                assert colour_of.setdefault(medoid, number) == number
        assert sorted(colour_of.values()) == list(range(len(colour_of)))


def test_when_two_clusters_merge_one_of_them_keeps_its_medoid(digits):
    cuts = find_cuts(digits)
    for coarse, fine in pairwise(cuts):
        assert set(coarse.medoid.tolist()) <= set(fine.medoid.tolist())


def test_of_final_clusters_that_merge_the_largest_keeps_its_medoid(digits):
    (final,) = (cut for cut in find_cuts(digits) if cut.is_final)
    assert find_cuts(digits)[0].medoid.tolist() == [final.medoid[final.size.argmax()]]
    assert adjusted_rand_score(final.labels, digits.labels_) == 1


CUTS = [SimpleNamespace(n_clusters=n) for n in (1, 2, 3, 4, 5)]


def test_the_highest_silhouette_is_suggested():
    found = suggest_cut(CUTS, [None, 0.2, 0.6, 0.4, 0.1], None)
    assert found["cut"] == 2
    assert found["text"].startswith("3 clusters are suggested")
    assert "0.60" in found["text"]
    assert "as good" not in found["text"]


def chosen(n_clusters, candidates, figures):
    values = np.array(figures)
    return Choice(
        n_clusters,
        candidates=np.array(candidates),
        figures=values,
        silhouettes=values,
        strength=0.9,
        agreements=np.array([1.0, 0.9, 0.4]),
    )


def test_a_number_that_the_fit_chose_is_suggested_with_its_figures():
    found = suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], chosen(2, [2, 3], [0.8, 0.4]))
    assert found["cut"] == 1
    assert found["text"].startswith(
        "2 clusters are suggested. 2 clusters fit best, with a silhouette of 0.80; ran"
    )
    assert found["text"].endswith("2 of 3 random halves have the same clusters.")
    assert found["curve"] == [None, 0.8, 0.4, None, None]
    assert found["measure"].endswith("and how many near neighbours are together")


def test_a_chosen_number_that_is_no_cut_leaves_the_choice_to_silhouettes():
    assert suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], chosen(9, [2, 9], [0.4, 0.9]))["cut"] == 2


def test_silhouettes_suggest_another_number_than_a_given_one():
    found = suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], Choice(2, "compact", 0.1, 0.2))
    assert found["cut"] == 2
    assert found["curve"] == [None, 0.5, 0.55, 0.4, 0.1]


def test_silhouettes_suggest_nothing_for_connected_clusters():
    assert suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], Choice(2, "connected", 0.2, 0.1)) is None


def test_numbers_that_are_about_as_good_are_told():
    assert suggest_cut(CUTS, [None, 0.6, 0.59, 0.4, 0.1], None)["text"].endswith(
        " 3 clusters are about as good."
    )
    text = suggest_cut(CUTS, [None, 0.6, 0.59, 0.4, 0.595], None)["text"]
    assert text.endswith(" 3 and 5 clusters are about as good.")


def test_without_silhouettes_nothing_is_suggested():
    assert suggest_cut(CUTS[:1], [None], None) is None
