"""Near duplicates: all pairs that brute force finds, and rows to keep of which no two are near."""

import numpy as np
import pytest
from scipy import sparse

from cohirf import curate, open_source
from cohirf.curate import NearDuplicates, Vectors, connect, keep_first, near_duplicates

RNG = np.random.default_rng(0)


def plant(n_rows, n_features, cosines):
    """Return clustered rows of any length, of which the last have the given cosines to some of the
    first.
    """
    centres = RNG.normal(size=(10, n_features))
    X = 0.7 * centres[RNG.integers(10, size=n_rows)] + RNG.normal(size=(n_rows, n_features))
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    for number, cosine in enumerate(cosines):
        aside = RNG.normal(size=n_features)
        aside -= aside @ unit[number] * unit[number]
        X[-1 - number] = 5 * (
            cosine * unit[number] + np.sqrt(1 - cosine**2) * aside / np.linalg.norm(aside)
        )
    return X


def brute_force(X, threshold):
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    return np.argwhere(np.triu(unit @ unit.T >= threshold, 1))


@pytest.mark.parametrize(("n_features", "threshold"), [(3, 0.99), (64, 0.9), (300, 0.95)])
def test_all_pairs_of_brute_force_are_found_and_no_others(n_features, threshold):
    X = plant(700, n_features, np.repeat([0.88, 0.92, 0.96, 0.995], 20))
    for data in (X, X.astype(np.float32), open_source(X)):
        found = near_duplicates(data, threshold)
        np.testing.assert_array_equal(found.pairs, brute_force(X, threshold))
        assert (found.similarity >= threshold).all()


def test_rows_that_are_kept_are_no_near_duplicates_and_stand_for_the_others():
    X = plant(1000, 20, np.linspace(0.9, 0.999, 200))
    found = near_duplicates(X, 0.93)
    unit = X / np.linalg.norm(X, axis=1, keepdims=True)
    among = unit[found.kept] @ unit[found.kept].T
    assert np.triu(among, 1).max() < 0.93
    assert ((unit * unit[found.kept_for]).sum(axis=1) >= 0.93 - 1e-9).all()
    assert str(found).startswith("NearDuplicates(")
    assert f"{len(found.kept):,} of 1,000 rows are kept" in str(found)


def test_equal_rows_are_paired_with_the_first_of_them_only():
    found = near_duplicates(np.repeat(RNG.normal(size=(2, 5)), 30_000, axis=0), 0.99)
    assert len(found.pairs) == 59_998
    np.testing.assert_array_equal(found.kept, [0, 30_000])
    np.testing.assert_array_equal(np.unique(found.group), [0, 30_000])


def test_rows_that_are_equal_to_a_removed_row_are_removed_too():
    X = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.01], [1.0, 0.01], [1.0, 0.01]])
    np.testing.assert_array_equal(near_duplicates(X).kept_for, [0, 1, 0, 0, 0])


def test_rows_that_differ_by_signs_alone_are_not_equal():
    X = np.random.default_rng(1).choice([-1.0, 1.0], size=(200_000, 64)).astype(np.float32)
    np.testing.assert_array_equal(Vectors.of(X).find_equal(), np.arange(len(X)))


def test_a_sparse_matrix_is_refused():
    with pytest.raises(TypeError, match="give a dense array"):
        near_duplicates(sparse.csr_array(np.eye(2)))


def test_groups_are_connected_by_pairs_and_a_chain_keeps_its_ends():
    pairs = np.array([[0, 1], [1, 2], [3, 4]])
    np.testing.assert_array_equal(connect(pairs, 6), [0, 0, 0, 3, 3, 5])
    np.testing.assert_array_equal(keep_first(pairs, np.arange(6)), [0, 0, 2, 3, 3, 5])
    assert isinstance(near_duplicates(np.eye(3)), NearDuplicates)


def test_with_groups_only_their_rows_are_compared():
    X = np.array([[1.0, 0.0], [1.0, 0.001], [0.0, 1.0], [0.001, 1.0]])
    assert near_duplicates(X, groups=[0, 1, 2, 2]).pairs.tolist() == [[2, 3]]
    with pytest.raises(ValueError, match=r"groups has shape \(2,\), but X has 4 rows"):
        near_duplicates(X, groups=[0, 1])


@pytest.mark.parametrize("threshold", [0, 1.5, float("nan")])
def test_a_threshold_that_is_no_similarity_is_refused(threshold):
    with pytest.raises(
        ValueError, match="is not valid: give a cosine similarity above 0 and at most 1"
    ):
        near_duplicates(np.eye(2), threshold)


def test_too_many_pairs_and_rows_of_zeros_are_refused(monkeypatch):
    monkeypatch.setitem(vars(curate.POLICY), "pairs", 10)
    with pytest.raises(ValueError, match="gives more than 10 pairs: give a higher threshold"):
        near_duplicates(1 + RNG.random((20, 3)), 0.5)
    with pytest.raises(ValueError, match="row 1 is all zeros"):
        near_duplicates(np.array([[1.0, 0.0], [0.0, 0.0]]))


def test_pairs_of_rows_on_a_device_are_found_there():
    torch = pytest.importorskip("torch")
    X = plant(500, 40, np.repeat([0.92, 0.97], 20))
    np.testing.assert_array_equal(
        near_duplicates(torch.as_tensor(X)).pairs, near_duplicates(X).pairs
    )
