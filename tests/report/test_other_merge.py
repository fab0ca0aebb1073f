"""The other merge on the map: connected clusters if those of the fit are compact, and vice versa."""

import numpy as np
import pytest
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from cohirf import CoHiRF
from cohirf.report.cuts import colour_clusters, find_cuts
from cohirf.report.other_merge import show_other_merge
from cohirf.report.sample import draw_sample
from cohirf.report.study import check_study


def show(model, X):
    study, cuts = check_study(model, X, None, None), find_cuts(model)
    return show_other_merge(study, draw_sample(study, 4000), cuts, colour_clusters(cuts))


@pytest.mark.parametrize(
    ("X", "merge", "other"),
    [
        (make_moons(300, noise=0.03, random_state=0)[0], "connected", "compact"),
        (make_blobs(300, centers=[[0, 0], [3, 0]], random_state=0)[0], "compact", "connected"),
    ],
)
def test_it_is_what_a_fit_with_the_other_merge_finds(X, merge, other, unpack):
    model = CoHiRF(n_clusters=2, random_state=0).fit(X)
    shown = show(model, X)
    assert (shown["merge"], shown["other"]) == (merge, other)
    assert shown["why"] == model.choice_.describe_merge()
    colours = np.array(shown["colours"][1])[unpack(shown["part"])]  # the second cut has two clusters
    refitted = CoHiRF(n_clusters=2, merge=other, random_state=0).fit(X)
    assert adjusted_rand_score(colours, refitted.labels_) == 1
    # colours are those of the fit, where most rows agree
    assert np.mean(colours != model.labels_) == pytest.approx(shown["moved"][1])
    assert shown["moved"][1] < 0.5


@pytest.mark.parametrize("model", [CoHiRF(DBSCAN(1.0)), CoHiRF(n_clusters=2, merge="compact", random_state=0)])
def test_merges_that_were_not_compared_are_not_shown(model):
    X = make_blobs(100, centers=[[0, 0], [9, 9]], random_state=0)[0]
    assert show(model.fit(X), X) is None
