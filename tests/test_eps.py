"""A radius for DBSCAN, read from the distances of rows to their neighbours."""

import numpy as np
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs

from cohirf import CoHiRF, EpsSuggestion, suggest_eps
from cohirf.eps import find_knee


@pytest.fixture(scope="module")
def two_blobs():
    return make_blobs(400, 2, centers=[(0, 0), (9, 9)], random_state=0)


@pytest.mark.parametrize("seed", range(3))
def test_dbscan_finds_two_blobs_with_the_suggestion(seed):
    X, y = make_blobs(400, 2, centers=[(0, 0), (9, 9)], random_state=seed)
    model = CoHiRF(DBSCAN(eps=suggest_eps(X).eps)).fit(X)
    assert model.n_clusters_ == 2
    is_clustered = model.labels_ >= 0
    assert is_clustered.mean() > 0.9
    assert (model.labels_[is_clustered] == y[is_clustered]).all() or (
        model.labels_[is_clustered] != y[is_clustered]
    ).all()


@pytest.mark.parametrize("min_samples", [1, 2, 5, 9])
def test_distances_are_those_at_which_rows_become_core_rows(two_blobs, min_samples):
    X = two_blobs[0] + 0.0
    found = suggest_eps(np.unique(X, axis=0), 5 if min_samples == 1 else min_samples)
    core = (
        DBSCAN(eps=found.eps * (1 + 1e-9), min_samples=found.min_samples)
        .fit(np.unique(X, axis=0))
        .core_sample_indices_
    )
    assert len(core) == round(found.core_share * len(X))


def test_distances_are_exact_among_all_rows_and_sorted(two_blobs):
    X = two_blobs[0]
    found = suggest_eps(X, 4, max_rows=50, random_state=0)
    exact = np.sort(cdist(X, X), axis=1)[:, 3]
    assert len(found.distances) == 50
    assert (np.diff(found.distances) >= 0).all()
    assert np.isclose(found.distances[:, None], exact).any(axis=1).all()


def test_the_same_seed_draws_the_same_rows(two_blobs):
    first, second = (
        suggest_eps(two_blobs[0], max_rows=50, random_state=1).distances for _ in range(2)
    )
    assert np.array_equal(first, second)


def test_the_knee_is_farthest_below_the_line_through_the_ends():
    curve = np.r_[np.linspace(1, 2, 90), np.linspace(2.5, 9, 10)]
    assert find_knee(curve) == 89
    assert find_knee(np.ones(5)) == 0


def test_identical_rows_do_not_make_the_radius_0():
    X = np.r_[np.zeros((50, 2)), np.random.default_rng(0).normal(size=(30, 2))]
    assert suggest_eps(X).eps > 0


def test_only_identical_rows_have_no_radius():
    with pytest.raises(ValueError, match="All distances are 0, because rows are identical"):
        suggest_eps(np.ones((10, 2)))


def test_sparse_rows_give_the_same_radius(two_blobs):
    dense = np.round(two_blobs[0])
    assert suggest_eps(sparse.csr_matrix(dense)).eps == pytest.approx(suggest_eps(dense).eps)


def test_the_sentence_names_radius_and_core_rows(two_blobs):
    found = suggest_eps(two_blobs[0])
    assert isinstance(found, EpsSuggestion)
    assert f"eps={found.eps:.4g} is the knee" in found.describe()
    assert f"{found.core_share:.0%} of the rows are core rows" in found.describe()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"min_samples": 0}, "min_samples=0 is not valid: pass an int >= 1"),
        ({"max_rows": 0}, "max_rows=0 is not valid: pass an int >= 1"),
        ({"min_samples": 500}, "X has 400 rows, fewer than min_samples=500"),
    ],
)
def test_what_cannot_be_is_refused(two_blobs, given, message):
    with pytest.raises(ValueError, match=message):
        suggest_eps(two_blobs[0], **given)
