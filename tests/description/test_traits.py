"""Traits: what sets clusters and unions of clusters apart."""

import numpy as np
import pytest
from scipy import sparse

from cohirf.description import find_traits, read_table
from cohirf.description.traits import find_traits_of_unions


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_traits_of_unions_are_those_of_the_clusters_put_together(convert):
    rng = np.random.default_rng(0)
    X = convert(np.abs(rng.normal(size=(300, 6))) + 1)
    labels, weights = rng.integers(-1, 4, 300), rng.random(300)
    table = read_table(X, np.arange(300))
    (found,) = find_traits_of_unions(table, labels, [(1, 3)], weights)
    (expected,) = find_traits(table, np.isin(labels, [1, 3]).astype(int), np.array([1]), weights)
    assert [trait.feature for trait in found] == [trait.feature for trait in expected]
    for ours, direct in zip(found, expected, strict=True):
        assert ours.effect == pytest.approx(direct.effect)
        assert (ours.inside, ours.outside) == pytest.approx((direct.inside, direct.outside))


def test_a_union_of_all_rows_has_no_traits():
    table = read_table(np.arange(10.0).reshape(5, 2), np.arange(5))
    assert find_traits_of_unions(table, np.array([0, 0, 1, 1, 1]), [(0, 1)], np.ones(5)) == [[]]


def test_at_most_one_trait_of_each_category():
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"region": ["n", "s", "e", "w"] * 20, "x": np.arange(80.0)})
    (traits, _) = find_traits(read_table(X, np.arange(80)), np.repeat([0, 1], 40), np.array([0, 1]))
    assert sorted(trait.feature.name for trait in traits) in (["x"], ["region", "x"])


def test_words_of_a_sparse_matrix_are_said_if_the_cluster_has_them():
    X = sparse.csr_array(np.array([[1.0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 1]]))
    table = read_table(X, np.arange(4), ["goal", "stock", "price"])
    traits = find_traits(table, np.array([0, 0, 1, 1]), np.array([0, 1]))
    assert [[trait.phrase for trait in of_cluster] for of_cluster in traits] == [["goal"], ["stock", "price"]]
