"""Medoids of clusters, compared with all pairwise similarities."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import linear_kernel

import reference
from cohirf import CoHiRF
from cohirf.algorithm import choose_medoids as module
from cohirf.algorithm.choose_medoids import (
    CallableSimilarity,
    SampledMedoid,
    choose_central_medoids,
    choose_sampled_medoids,
    cosine_centrality,
    euclidean_centrality,
    fill_missing,
    laplacian_similarity,
    rbf_similarity,
)
from cohirf.rows import members
from cohirf.rows.members import members_of

sampled = partial(choose_sampled_medoids, max_candidates=1000)
RULES = {
    "cosine": (partial(choose_central_medoids, centrality=cosine_centrality), reference.cosine),
    "euclidean": (
        partial(choose_central_medoids, centrality=euclidean_centrality),
        reference.negative_squared_distance,
    ),
    "rbf": (partial(sampled, similarity=rbf_similarity), reference.rbf),
    "laplacian": (partial(sampled, similarity=laplacian_similarity), reference.laplacian),
    "callable": (partial(sampled, similarity=CallableSimilarity(linear_kernel)), linear_kernel),
}


@pytest.fixture
def clusters():
    """200 rows in 30 clusters of very different sizes, some of one row."""
    rng = np.random.default_rng(0)
    labels = np.concatenate([np.arange(30), np.minimum(rng.geometric(0.15, 170) - 1, 24)])
    return rng.normal(size=(200, 6)), rng.permutation(labels).astype(np.int32)


def expected(X, labels, similarity):
    return [
        reference.choose_medoid(X, np.flatnonzero(labels == k).tolist(), similarity)
        for k in range(labels.max() + 1)
    ]


@pytest.fixture(params=RULES)
def rule(request):
    return RULES[request.param]


def choose(function, X, labels, mass=None, seed=0):
    return function(X, labels, int(labels.max()) + 1, mass, np.random.default_rng(seed)).tolist()


def test_medoid_has_the_highest_summed_similarity(clusters, rule):
    X, labels = clusters
    assert choose(rule[0], X, labels) == expected(X, labels, rule[1])


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("block_cells", [12, 2**17])
def test_centralities_are_means_over_the_mass_of_the_cluster(
    clusters, container, block_cells, monkeypatch
):
    X, labels = clusters
    X = np.where(X > 0.5, X, 0.0)
    mass = np.random.default_rng(1).integers(1, 5, len(X)).astype(float)
    monkeypatch.setitem(vars(members.BLOCK), "cached_cells", block_cells)
    found = members_of(container(X), labels, 30, mass)
    cosine = np.empty(len(X))
    euclidean = np.empty(len(X))
    for k in range(30):
        own = np.flatnonzero(labels == k)
        cosine[own] = np.average(reference.cosine(X[own]), axis=1, weights=mass[own])
        squares = ((X[own] - np.average(X[own], axis=0, weights=mass[own])) ** 2).sum(axis=1)
        euclidean[own] = -squares / (np.average(squares, weights=mass[own]) or 1.0)
    assert cosine_centrality(found) == pytest.approx(cosine, abs=1e-12)
    assert euclidean_centrality(found) == pytest.approx(euclidean, abs=1e-9)


@pytest.mark.parametrize("size", [1.0, 1e-100, 1e5])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_similarities_decay_to_1_over_e_at_the_mean_distance(container, size):
    points = size * np.random.default_rng(0).normal(size=(7, 2))
    mass = np.random.default_rng(1).integers(1, 5, 7).astype(float)
    for similarity, metric in (
        (rbf_similarity, "sqeuclidean"),
        (laplacian_similarity, "cityblock"),
    ):
        distances = cdist(points, points, metric)
        mean = mass @ distances @ mass / mass.sum() ** 2
        assert similarity(container(points), mass) == pytest.approx(
            np.exp(-distances / mean), abs=1e-9
        )


def test_missing_cells_are_filled_with_the_means_of_their_columns():
    X = np.array([[1.0, np.nan], [np.nan, 4.0]])
    assert fill_missing(X, np.array([7.0, 8.0])).tolist() == [[1.0, 8.0], [7.0, 4.0]]
    assert fill_missing(X, None) is X
    complete = np.ones((2, 2))
    assert fill_missing(complete, np.array([7.0, 8.0])) is complete


@pytest.mark.parametrize("unit", [1e-12, 1e12])
def test_the_unit_of_a_callable_similarity_does_not_matter(clusters, unit):
    X, labels = clusters
    rule = partial(sampled, similarity=CallableSimilarity(lambda rows: unit * linear_kernel(rows)))
    assert choose(rule, X, labels) == choose(RULES["callable"][0], X, labels)


def test_the_best_similarity_of_a_callable_may_be_zero():
    rule = partial(
        sampled, similarity=CallableSimilarity(lambda rows: np.minimum(rows - [[0, 0, 0]], 0))
    )
    assert choose(
        rule, np.array([[-1.0, -1, -1], [0, 0, 0], [-2, -2, -2]]), np.zeros(3, dtype=np.int32)
    ) == [1]


def test_medoids_do_not_depend_on_the_size_of_temporary_arrays(clusters, rule, monkeypatch):
    X, labels = clusters
    mass = np.random.default_rng(1).integers(1, 50, len(X)).astype(float)
    whole = choose(rule[0], X, labels), choose(rule[0], X, labels, mass)
    monkeypatch.setitem(vars(members.BLOCK), "cached_cells", 12)
    assert (choose(rule[0], X, labels), choose(rule[0], X, labels, mass)) == whole


@pytest.mark.parametrize("container", [sparse.csr_array, sparse.csr_matrix])
def test_sparse_rows_have_the_same_medoids(clusters, rule, container):
    X, labels = clusters
    X = np.where(X > 0.5, X, 0.0)
    mass = np.random.default_rng(1).integers(1, 5, len(X)).astype(float)
    dense = choose(rule[0], X, labels), choose(rule[0], X, labels, mass)
    assert (
        choose(rule[0], container(X), labels),
        choose(rule[0], container(X), labels, mass),
    ) == dense


@pytest.mark.parametrize("name", ["cosine", "euclidean"])
def test_values_that_cancel_leave_no_hole_in_sparse_sums(name):
    X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 2.0], [0.0, -2.0], [3.0, 1.0]])
    for rows in ([0, 1], [2, 3], [0, 1, 4], [4, 0, 1, 2, 3]):
        labels = np.zeros(len(rows), dtype=np.int32)
        assert choose(RULES[name][0], sparse.csr_array(X[rows]), labels) == choose(
            RULES[name][0], X[rows], labels
        )


@st.composite
def signed_rows(draw):
    """Rows of small whole numbers times any power of two, with weights of any size: ties and
    cancellation abound.
    """
    n_rows = draw(st.integers(1, 12))
    n_features = draw(st.integers(1, 4))
    cells = st.sampled_from([-2.0, -1.0, 0.0, 0.0, 1.0, 3.0])
    X = np.array(draw(st.lists(cells, min_size=n_rows * n_features, max_size=n_rows * n_features)))
    X = X.reshape(n_rows, n_features)
    X[:, 0] += draw(st.sampled_from([0.0, 0.0, 1e5]))
    labels = np.array(draw(st.lists(st.integers(0, 2), min_size=n_rows, max_size=n_rows)))
    mass = np.array(
        draw(st.lists(st.sampled_from([1.0, 2.0, 3e5, 1e18]), min_size=n_rows, max_size=n_rows))
    )
    uneven = np.where(mass == 2, 1e-310, np.minimum(mass, 3e5))
    mass = draw(st.sampled_from([None, mass * 1e-300, mass, mass * 1e289, uneven]))
    scale = 2.0 ** draw(st.sampled_from([-300, 0, 300]))
    return X * scale, np.unique(labels, return_inverse=True)[1].astype(np.int32), mass


def store_oddly(X):
    """Return a CSR matrix with a stored cell for each zero, and with each value stored in two
    parts.
    """
    n_rows, n_features = X.shape
    columns = np.tile(np.arange(n_features - 1, -1, -1), (n_rows, 2)).ravel()
    halves = np.hstack([X[:, ::-1] / 2, X[:, ::-1] / 2]).ravel()
    return sparse.csr_matrix(
        (halves, columns, np.arange(n_rows + 1) * 2 * n_features), shape=X.shape
    )


@pytest.mark.parametrize("container", [sparse.csr_array, store_oddly])
@pytest.mark.parametrize("name", ["cosine", "euclidean"])
@settings(max_examples=3 * settings.default.max_examples)
@given(given_rows=signed_rows())
def test_sparse_and_dense_rows_agree_on_signed_values_of_any_size(name, container, given_rows):
    X, labels, mass = given_rows
    assert choose(RULES[name][0], container(X), labels, mass) == choose(
        RULES[name][0], X, labels, mass
    )


@pytest.mark.parametrize("name", ["cosine", "euclidean", "rbf", "laplacian"])
@settings(max_examples=20, deadline=None)
@given(given_rows=signed_rows())
def test_medoids_do_not_depend_on_the_unit_of_values_and_weights(name, given_rows):
    X, labels, mass = given_rows
    largest = np.abs(X).max()
    unit = 2.0 ** np.frexp(largest)[1]
    weights = None if mass is None else mass / 2.0 ** np.frexp(mass.max())[1]
    assert choose(RULES[name][0], X, labels, mass) == choose(
        RULES[name][0], X / unit, labels, weights
    )


@pytest.mark.parametrize("size", [1e-100, 1e-9])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["euclidean", "rbf", "laplacian"])
def test_a_row_of_vanishing_mass_is_not_the_medoid(name, container, size):
    X = container(size * np.array([[2.0], [2.0], [1.0], [1.0]]))
    # times a squared distance, the mass of the first rows is 0
    mass = np.array([1e-310, 1e-310, 1.0, 1.0])
    assert choose(RULES[name][0], X, np.zeros(4, dtype=np.int32), mass) == [2]


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("name", ["cosine", "euclidean", "rbf", "laplacian"])
@pytest.mark.parametrize("n_rows", [10, 30])
def test_clusters_of_very_different_size_have_their_own_medoids(n_rows, name, container):
    rows = np.random.default_rng(3).normal(size=(n_rows, 2))
    labels = np.repeat(np.arange(4, dtype=np.int32), n_rows)
    own = choose(RULES[name][0], rows, labels[:n_rows])[0]
    assert own != 0
    X = container(np.vstack([rows * 1e-100, rows, rows * 1e-140, rows * 1e100]))
    assert choose(RULES[name][0], X, labels) == [own + n_rows * k for k in range(4)]


def test_equal_sparse_rows_have_the_first_one_as_medoid():
    X = np.repeat([[0.1, 0.7, 0.0], [0.3, 0.0, 1e9]], 7, axis=0)
    labels = np.repeat(np.array([0, 1], dtype=np.int32), 7)
    assert choose(RULES["euclidean"][0], sparse.csr_array(X), labels) == [0, 7]


def test_a_tight_sparse_cluster_far_from_the_origin_keeps_its_digits():
    rng = np.random.default_rng(0)
    X = np.hstack([1e8 + rng.normal(size=(40, 2)), rng.integers(0, 2, (40, 3))])
    labels = np.zeros(40, dtype=np.int32)
    rule = RULES["euclidean"][0]
    assert (
        choose(rule, sparse.csr_array(X), labels)
        == choose(rule, X, labels)
        == choose(rule, X - [1e8, 1e8, 0, 0, 0], labels)
    )


def test_float32_is_added_up_in_float64(clusters, rule):
    X, labels = clusters
    single = X.astype(np.float32)
    assert choose(rule[0], single, labels) == choose(rule[0], single.astype(np.float64), labels)


def test_mass_counts_as_repeated_rows(clusters, rule):
    X, labels = clusters
    mass = np.random.default_rng(1).integers(1, 5, len(X))
    first_copy = np.concatenate([[0], np.cumsum(mass)[:-1]])
    repeated = choose(rule[0], np.repeat(X, mass, axis=0), np.repeat(labels, mass))
    assert first_copy[choose(rule[0], X, labels, mass.astype(float))].tolist() == repeated


@pytest.mark.parametrize("name", ["cosine", "euclidean", "rbf", "laplacian"])
def test_a_row_with_almost_all_of_the_mass_is_the_medoid(name):
    X = np.random.default_rng(0).normal(size=(8, 3))
    labels = np.repeat(np.arange(4, dtype=np.int32), 2)
    assert choose(RULES[name][0], X, labels, np.array([1e-310, 1.0] * 4)) == [1, 3, 5, 7]


def test_ties_go_to_the_lowest_row(rule):
    X = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, 1.0], [1.0, 2.0]])
    assert choose(rule[0], X[[0, 0, 0]], np.zeros(3, dtype=np.int32)) == [0]
    assert choose(rule[0], X, np.array([1, 0, 0, 1], dtype=np.int32))[1] == 0


def test_a_cluster_without_any_score_has_its_first_row_as_medoid():
    X = np.array([[1.0], [np.nan], [np.nan], [2.0]])
    labels = np.array([0, 1, 1, 0], dtype=np.int32)
    assert choose(RULES["cosine"][0], X, labels) == [0, 1]


def test_wide_sparse_rows_are_not_made_dense():
    rng = np.random.default_rng(0)
    X = sparse.random_array((200, 2_000_000), density=1e-6, rng=rng, format="csr")
    labels = rng.integers(0, 60, 200).astype(np.int32)
    labels[:60] = np.arange(60)
    few = np.unique(X.indices)
    for name in ("cosine", "euclidean"):
        assert choose(RULES[name][0], X, labels) == choose(
            RULES[name][0], X[:, few].toarray(), labels
        )


def test_a_callable_may_return_a_sparse_matrix(clusters):
    X, labels = clusters
    rule = partial(
        sampled, similarity=CallableSimilarity(lambda rows: sparse.csr_array(rows @ rows.T))
    )
    assert choose(rule, X, labels) == choose(RULES["callable"][0], X, labels)


def test_a_zero_row_is_a_cosine_medoid_only_where_all_rows_are_zero():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.1], [0.0, 0.0], [0.0, 0.0]])
    labels = np.array([0, 0, 0, 1, 1], dtype=np.int32)
    assert choose(RULES["cosine"][0], X, labels) == [1, 3]


def test_euclidean_medoid_survives_a_large_offset():
    X = np.array([[0.0], [1.0], [2.5]]) + 1e9
    assert choose(RULES["euclidean"][0], X, np.zeros(3, dtype=np.int32)) == [1]


@pytest.mark.parametrize("most", [1, 5])
def test_no_more_candidates_are_compared_than_asked_for(most):
    seen = []

    def record(X):
        seen.append(len(X))
        return linear_kernel(X)

    X = np.random.default_rng(0).normal(size=(150, 3))
    labels = np.repeat(np.array([0, 1], dtype=np.int32), [100, 50])
    function = partial(
        choose_sampled_medoids, similarity=CallableSimilarity(record), max_candidates=most
    )
    medoids = choose(function, X, labels)
    assert labels[medoids].tolist() == [0, 1]
    assert max(seen, default=1) == most


@pytest.mark.parametrize(
    ("share", "most", "expected"), [(0.5, 1000, 20), (0.5, 7, 7), (1.0, 30, 30), (0.001, 9, 1)]
)
def test_a_medoid_of_a_sample_has_the_share_and_the_number_of_rows_that_the_paper_allows(
    share, most, expected
):
    seen = []
    medoid = SampledMedoid(share, most, lambda X: seen.append(len(X)) or X @ X.T)
    X = np.random.default_rng(0).normal(size=(40, 3))
    model = CoHiRF.as_published(KMeans(1), medoid=medoid, views=1, random_state=0).fit(X)
    assert model.n_clusters_ == 1
    # a single candidate is compared with nothing
    assert seen[:1] == ([expected] if expected > 1 else [])


@pytest.mark.parametrize("wrong", [{"share": 0.0}, {"share": 1.5}, {"most": 0}])
def test_a_sample_for_a_medoid_is_never_empty(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))}=.* is not valid: give"):
        SampledMedoid(**wrong)


def test_candidates_are_drawn_at_random_and_without_repetition():
    labels = np.zeros(100, dtype=np.int32)
    seeds = map(np.random.default_rng, range(50))
    draws = [module._sample_candidates(labels, 1, rng, 20, 1.0)[1].tolist() for rng in seeds]
    assert all(len(set(draw)) == 20 and draw == sorted(draw) for draw in draws)
    assert len(set().union(*draws)) == 100


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (
            lambda X: X,
            r"returned an array of shape \(3, 2\) for 3 rows: it must return the 3 x 3 matrix",
        ),
        (lambda X: np.full((len(X), len(X)), np.nan), "returned NaN or infinity"),
    ],
)
def test_a_callable_with_a_wrong_result_is_refused(function, message):
    rule = partial(sampled, similarity=CallableSimilarity(function))
    with pytest.raises(ValueError, match=message):
        choose(rule, np.ones((3, 2)), np.zeros(3, dtype=np.int32))


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_the_mean_of_a_cluster_is_that_of_its_rows_by_their_mass(container):
    X = np.array([[1.0, 0.0], [3.0, 4.0], [5.0, 0.0]], dtype=np.float32)
    labels = np.array([1, 0, 1])
    mass = np.array([1.0, 2.0, 3.0])
    for weights, expected in ((None, [[3.0, 4.0], [3.0, 0.0]]), (mass, [[3.0, 4.0], [4.0, 0.0]])):
        means = module.cluster_means(container(X), labels, 2, weights)
        assert sparse.issparse(means) is sparse.issparse(container(X))
        assert (means.toarray() if sparse.issparse(means) else means).tolist() == expected
        assert means.dtype == np.float64


@pytest.mark.parametrize("similarity", [rbf_similarity, laplacian_similarity])
def test_medoids_by_a_kernel_of_sparse_rows_with_an_offset_are_those_of_dense_ones(similarity):
    rng = np.random.default_rng(0)
    X = 1e8 + rng.normal(size=(900, 3))
    labels = np.repeat(np.arange(100), 9)
    found = [
        choose_sampled_medoids(
            some, labels, 100, None, rng, similarity=similarity, max_candidates=20
        )
        for some in (X, sparse.csr_array(X))
    ]
    assert (found[0] == found[1]).all()


@pytest.mark.parametrize("similarity", [rbf_similarity, laplacian_similarity])
def test_of_two_rows_the_heavier_one_is_the_medoid_by_a_kernel(similarity):
    X = np.random.default_rng(0).normal(size=(6, 2))
    labels = np.repeat([0, 1, 2], 2)
    mass = np.array([1.0, 2, 2, 1, 1, 1])
    given = {"similarity": similarity, "max_candidates": 20}
    assert choose_sampled_medoids(
        X, labels, 3, mass, np.random.default_rng(0), **given
    ).tolist() == [1, 2, 4]
    expected = [
        (similarity(X[at : at + 2], mass[at : at + 2]) @ mass[at : at + 2]).argmax()
        for at in (0, 2, 4)
    ]
    assert expected == [1, 0, 0]
