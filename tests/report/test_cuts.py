"""The cuts a reader can choose from, and the colours of their clusters."""

from types import SimpleNamespace

import numpy as np

from cohirf import FusionHierarchy
from cohirf.report.cuts import MAX_CUTS, coloured_cuts, make_cut, shown_levels


def test_every_level_that_fused_something_can_be_chosen(iris):
    _, _, model = iris
    assert list(shown_levels(model.hierarchy_)) == list(range(1, model.hierarchy_.n_levels + 1))


def test_of_very_many_levels_the_last_can_be_chosen():
    n = MAX_CUTS + 20
    chain = FusionHierarchy(np.r_[np.arange(1, n), n - 1], np.r_[np.arange(1, n), 0])
    levels = shown_levels(chain)
    assert len(levels) == MAX_CUTS
    assert levels[-1] == chain.n_levels


def test_where_nothing_fused_there_is_one_cut():
    assert list(shown_levels(FusionHierarchy([0, 1], [0, 0]))) == [0]


def test_cuts_are_those_of_the_hierarchy(iris):
    _, _, model = iris
    for level in shown_levels(model.hierarchy_):
        cut = make_cut(model, level)
        assert cut.labels.tolist() == model.hierarchy_.cut(level=level).tolist()
        assert cut.medoid.tolist() == model.hierarchy_.medoids(level).tolist()
        assert cut.size.tolist() == model.hierarchy_.sizes(level).tolist()
        assert cut.labels[cut.medoid].tolist() == list(range(cut.n_clusters))


def test_the_last_cut_has_the_noise_of_the_model(noisy):
    _, model = noisy
    cut = make_cut(model, model.hierarchy_.n_levels)
    assert cut.labels.tolist() == model.labels_.tolist()
    assert cut.n_clusters == model.n_clusters_
    assert cut.size.sum() == (model.labels_ >= 0).sum()


def test_final_clusters_have_the_colours_of_their_numbers(iris, noisy):
    for model in (iris[2], noisy[1]):
        cut, colour = next(coloured_cuts(model, shown_levels(model.hierarchy_)))
        assert cut.level == model.hierarchy_.n_levels
        assert colour.tolist() == list(range(model.n_clusters_))


def test_a_medoid_keeps_its_colour_and_no_two_share_one(iris):
    _, _, model = iris
    colour_of = {}
    for cut, colour in coloured_cuts(model, shown_levels(model.hierarchy_)):
        assert len(set(colour.tolist())) == cut.n_clusters
        for medoid, number in zip(cut.medoid.tolist(), colour.tolist(), strict=True):
            assert colour_of.setdefault(medoid, number) == number
    assert sorted(colour_of.values()) == list(range(len(colour_of)))


def test_larger_clusters_take_the_earlier_colours():
    hierarchy = FusionHierarchy(parents=[0, 0, 1, 0, 3, 3], absorbed_at=[0, 2, 1, 2, 1, 1])
    model = SimpleNamespace(hierarchy_=hierarchy, labels_=hierarchy.cut(level=2), medoid_indices_=hierarchy.medoids(2))
    _, (cut, colour) = coloured_cuts(model, shown_levels(hierarchy))
    assert dict(zip(cut.medoid.tolist(), colour.tolist(), strict=True)) == {0: 0, 3: 1, 1: 2}
