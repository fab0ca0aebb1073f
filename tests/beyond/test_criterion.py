"""What a merge criterion is made from."""

import numpy as np
import pytest
from scipy.cluster.hierarchy import linkage
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

from cohirf.beyond.choose_merge import COMPARED, MERGES, ComparedSample
from cohirf.beyond.criterion import Criterion, OneLinkage, criterion_of
from cohirf.beyond.merges import DEFAULT, NAMES

X, Y = make_blobs(300, centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
SINGLE = Criterion(
    name="single",
    kind="linked",
    merge_rows=lambda rows: OneLinkage(linkage(rows.graph.points, "single"), rows.graph.mass),
    follows_graph=True,
)


@pytest.fixture
def single(monkeypatch):
    """Another merge, which follows the graph."""
    monkeypatch.setattr(
        "cohirf.beyond.choose_merge.criterion_of",
        lambda name: SINGLE if name == "single" else criterion_of(name),
    )
    return "single"


def test_rows_get_the_clusters_of_the_points_of_the_graph(single):
    sample = ComparedSample(np.concatenate([X, X[:50]]), np.ones(350))
    two, three = sample.divide(single, [2, 3])
    assert two.max() == 1
    assert adjusted_rand_score(np.append(Y, Y[:50]), three) == 1
    linked = sample.link(single, 3, 20)
    assert linked.shape == (349, 4)
    assert np.count_nonzero(linked[:, 2]) == 299  # equal rows are first


def test_parts_that_are_too_small_are_in_no_cluster(single):
    far = np.concatenate([X, [[90.0, 90.0]]])
    [labels] = ComparedSample(far, np.ones(301)).divide(single, [3], min_share=0.05)
    assert labels[-1] == -1
    assert adjusted_rand_score(Y, labels[:-1]) == 1


def test_each_file_has_a_criterion_of_its_name():
    assert [criterion_of(name).name for name in NAMES] == list(NAMES)
    assert set(MERGES) | {DEFAULT} <= set(NAMES)


def test_merges_are_compared_in_a_fixed_order():
    assert MERGES == ("compact", "connected", "graph")
    assert [criterion.place for criterion in COMPARED] == [0, 1, 2]


@pytest.mark.parametrize(("use", "arguments"), [("divide", [[2]]), ("link", [2, 40])])
def test_an_unknown_merge_is_an_error(use, arguments):
    sample = ComparedSample(X, np.ones(300))
    with pytest.raises(ValueError, match="merge='spread' is not known: give one of compact, conn"):
        getattr(sample, use)("spread", *arguments)


def test_compact_clusters_of_rows_have_a_linkage():
    found = ComparedSample(X, np.ones(300)).link("compact", 3, 60)
    np.testing.assert_allclose(found[:, 2], linkage(X, "ward")[:, 2])
