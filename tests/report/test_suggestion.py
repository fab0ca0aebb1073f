"""The number of clusters that a page suggests."""

from types import SimpleNamespace

import numpy as np

from cohirf.choice import Choice
from cohirf.report.suggestion import suggest_cut

CUTS = [SimpleNamespace(n_clusters=n) for n in (1, 2, 3, 4, 5)]


def test_the_highest_silhouette_is_suggested():
    found = suggest_cut(CUTS, [None, 0.2, 0.6, 0.4, 0.1], None)
    assert found["cut"] == 2
    assert found["text"].startswith("3 clusters are suggested")
    assert "0.60" in found["text"]
    assert "as good" not in found["text"]


def test_a_number_that_the_fit_chose_is_suggested_with_its_strength():
    choice = Choice(2, candidates=np.array([2, 3]), strengths=np.array([0.9, 0.4]))
    found = suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], choice)
    assert found["cut"] == 1
    assert found["text"] == "2 clusters are suggested. 2 clusters have a prediction strength of 0.90."
    assert found["curve"] == [None, 0.9, 0.4, None, None]
    assert "prediction strength" in found["measure"]


def test_a_chosen_number_that_is_no_cut_leaves_the_choice_to_silhouettes():
    choice = Choice(9, candidates=np.array([2, 9]), strengths=np.array([0.4, 0.9]))
    assert suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], choice)["cut"] == 2


def test_silhouettes_suggest_another_number_than_a_given_one():
    found = suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], Choice(2, "compact", 0.1, 0.2))
    assert found["cut"] == 2
    assert found["curve"] == [None, 0.5, 0.55, 0.4, 0.1]


def test_silhouettes_suggest_nothing_for_connected_clusters():
    assert suggest_cut(CUTS, [None, 0.5, 0.55, 0.4, 0.1], Choice(2, "connected", 0.2, 0.1)) is None


def test_numbers_that_are_about_as_good_are_told():
    assert suggest_cut(CUTS, [None, 0.6, 0.59, 0.4, 0.1], None)["text"].endswith(" 3 clusters are about as good.")
    text = suggest_cut(CUTS, [None, 0.6, 0.59, 0.4, 0.595], None)["text"]
    assert text.endswith(" 3 and 5 clusters are about as good.")


def test_without_silhouettes_nothing_is_suggested():
    assert suggest_cut(CUTS[:1], [None], None) is None
