"""consensus: one partition out of several given ones."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score

import cohirf
from cohirf import FusionHierarchy, open_source, voting
from cohirf.app.cli import main
from cohirf.beyond import votes


def co_associate(labels, n_clusters=None, needed=0.5):
    """Average linkage on the matrix of co-associations of all rows, as it is usually written."""
    has_opinion = labels >= 0
    both = has_opinion.astype(float) @ has_opinion.T
    same = sum(((column[:, None] == column) & (column >= 0)).astype(float) for column in labels.T)
    distance = 1 - same / np.maximum(both, 1)
    np.fill_diagonal(distance, 0)
    merges = linkage(squareform(distance, checks=False), "average")
    if n_clusters is not None:
        return fcluster(merges, n_clusters, "maxclust")
    return fcluster(merges, 1 - needed + 1e-9, "distance")


def make_votes(n_rows=60, n_vectors=211, n_clusters=4, noise=0.3, missing=0.0, seed=0):
    """Return classes, and vectors that have them but for noise.

    With many vectors, no two agreements are equal.
    """
    rng = np.random.default_rng(seed)
    classes = rng.integers(0, n_clusters, n_rows)
    other = rng.integers(0, n_clusters, (n_rows, n_vectors))
    labels = np.where(rng.random(other.shape) < noise, other, classes[:, None])
    return classes, np.where(rng.random(other.shape) < missing, -1, labels)


def is_same(one, other):
    return adjusted_rand_score(one, other) == 1


@pytest.mark.parametrize("missing", [0.0, 0.4])
@pytest.mark.parametrize("n_clusters", [None, 2, 4, 11])
def test_result_is_that_of_average_linkage_on_co_associations(missing, n_clusters):
    _, labels = make_votes(missing=missing, noise=0.6)
    found = cohirf.consensus(labels, n_clusters=n_clusters)
    assert is_same(found.labels, co_associate(labels, n_clusters))
    assert n_clusters in (None, found.n_clusters)


def test_sample_weight_repeats_rows():
    _, labels = make_votes(noise=0.6)
    weights = np.random.default_rng(1).integers(1, 4, len(labels))
    found = cohirf.consensus(labels, n_clusters=3, sample_weight=weights)
    repeated = cohirf.consensus(np.repeat(labels, weights, axis=0), n_clusters=3)
    assert is_same(np.repeat(found.labels, weights), repeated.labels)


def test_rows_without_any_opinion_are_in_no_cluster_and_others_go_by_the_opinions_there_are():
    found = cohirf.consensus([[0, 0, -1, -1, 1], [np.nan, 3, 3, np.nan, 5]])
    assert found.labels.tolist() == [0, 0, 0, -1, 1]
    np.testing.assert_array_equal(found.stability, [1, 1, 1, np.nan, 1])
    assert found.hierarchy.cut(n_clusters=1).tolist() == [0, 0, 0, -1, 0]


@pytest.mark.parametrize(
    "vector", [[0, 0, 1, -1, None], pd.array(["a", "a", "b", None, pd.NA], dtype="string")]
)
def test_cells_that_are_negative_or_missing_are_no_opinion(vector):
    np.testing.assert_array_equal(cohirf.consensus([vector]).labels, [0, 0, 1, -1, -1])


def test_labels_that_rounding_would_make_equal_are_refused():
    with pytest.raises(ValueError, match=r"give integers below 2\*\*53"):
        cohirf.consensus([np.array([2**53, 2**53 + 1]), [0.0, np.nan]])


def test_agreement_is_the_adjusted_rand_index_and_stability_the_mean_jaccard_index():
    _, labels = make_votes(n_vectors=5, missing=0.2)
    found = cohirf.consensus(labels, n_clusters=4)
    for column, agreement in zip(labels.T, found.agreement, strict=True):
        some = column >= 0
        assert agreement == pytest.approx(adjusted_rand_score(column[some], found.labels[some]))
    overlaps = []
    for column in labels.T[labels[0] >= 0]:
        cluster = column == column[0]
        group = (found.labels == found.labels[0]) & (column >= 0)
        overlaps.append((cluster & group).sum() / (cluster | group).sum())
    assert found.stability[0] == pytest.approx(np.mean(overlaps))


@pytest.mark.parametrize("with_values", [False, True])
def test_hierarchy_is_valid_and_cuts_to_every_number(with_values):
    X, _ = make_blobs(60, n_features=3, random_state=0)
    _, labels = make_votes(n_vectors=9, noise=0.5)
    X = X if with_values else None
    found = cohirf.consensus(labels, X=X)
    hierarchy = found.hierarchy
    assert hierarchy == FusionHierarchy(
        hierarchy.parents, hierarchy.absorbed_at, tree=hierarchy.tree
    )
    assert np.array_equal(hierarchy.cut(level=2), found.labels)
    for n_clusters in range(1, found.n_clusters + 1):
        again = cohirf.consensus(labels, n_clusters=n_clusters, X=X)
        assert np.array_equal(hierarchy.cut(n_clusters=n_clusters), again.labels)


def test_strict_means_all_vectors_and_relaxed_drops_those_that_disagree():
    agreed = [0, 0, 1, 1, 2, 2]
    other = [0, 1, 0, 1, 0, 1]
    assert cohirf.consensus([agreed, agreed, other], consensus="strict").n_clusters == 6
    relaxed = cohirf.consensus([agreed, agreed, other], consensus="relaxed")
    assert (relaxed.labels.tolist(), relaxed.views_kept) == (agreed, (0, 1))
    assert cohirf.consensus([agreed, agreed, other], consensus=0.0).views_kept == (0, 1, 2)


def test_refined_rows_are_where_they_agree_most():
    _, labels = make_votes(n_rows=300, n_vectors=12, noise=0.6, missing=0.1)
    linked, found = (
        cohirf.consensus(labels, n_clusters=4, consensus=name) for name in ("majority", "refined")
    )
    assert not is_same(linked.labels, found.labels)
    assert np.array_equal(found.hierarchy.cut(level=2), found.labels)
    assert len(np.unique(found.hierarchy.cut(n_clusters=2))) == 2
    has_opinion = (labels >= 0).astype(float)
    same = sum(((column[:, None] == column) & (column >= 0)).astype(float) for column in labels.T)
    members = np.eye(4)[found.labels]
    # as the mean over pairs of labels
    agreement = (same @ members) / (has_opinion @ has_opinion.T @ members)
    assert np.array_equal(agreement.argmax(axis=1), found.labels)
    assert found.agreement.mean() > linked.agreement.mean()


def test_codes_that_agree_with_none_join_the_lightest_first():
    # the first two agree, and weigh the most together
    labels = np.array([[0, 0, 0], [0, 0, 1], [2, 2, 2], [3, 3, 3]])
    linkage = votes.link_votes(labels, np.array([3.0, 3.0, 4.0, 5.0]))
    assert linkage[:, :2].tolist() == [[0, 1], [2, 3], [4, 5]]


def test_values_decide_which_groups_merge_where_votes_do_not():
    X = np.array([[0.0], [1.0], [10.0], [11.0]])
    labels = [[0, 1, 2, 3]]
    assert cohirf.consensus(labels, n_clusters=2, X=X).labels.tolist() == [0, 0, 1, 1]
    with_weight = cohirf.consensus(labels, n_clusters=2, X=X, sample_weight=[1, 1e6, 1e-3, 0])
    assert with_weight.labels.tolist() == [0, 1, 1, 1]


def test_more_codes_than_can_be_linked_join_groups_and_blocks_change_nothing(monkeypatch):
    classes, labels = make_votes(n_rows=400, n_vectors=12, noise=0.3, missing=0.1)
    exact = cohirf.consensus(labels, n_clusters=4)
    monkeypatch.setitem(vars(voting.POLICY), "block_rows", 37)
    # codes of blocks are joined at the end, sometimes, and after each block
    for waiting in (
        10**6,
        80,
        0,
    ):
        monkeypatch.setitem(vars(voting.POLICY), "waiting_codes", waiting)
        found = cohirf.consensus(labels, n_clusters=4)
        assert np.array_equal(found.labels, exact.labels)
        assert found.hierarchy == exact.hierarchy
    monkeypatch.setattr(votes, "MAX_LINKED", 40)
    joined = cohirf.consensus(labels, n_clusters=4)
    assert adjusted_rand_score(joined.labels, classes) > 0.95
    apart = cohirf.consensus(labels)
    assert apart.n_clusters > 4
    assert np.array_equal(apart.hierarchy.cut(level=2), apart.labels)
    assert adjusted_rand_score(apart.hierarchy.cut(n_clusters=4), joined.labels) > 0.95


def test_very_many_rows_are_kept_in_temporary_files(monkeypatch):
    _, labels = make_votes(n_vectors=5)
    here = cohirf.consensus(labels)
    monkeypatch.setitem(vars(voting.POLICY), "rows_in_memory", 10)
    found = cohirf.consensus(labels)
    assert isinstance(found.labels, np.memmap)
    assert np.array_equal(found.labels, here.labels)
    assert found.hierarchy == here.hierarchy


@pytest.mark.parametrize("dtype", [np.int8, np.uint8, np.int16, np.uint64])
def test_all_labels_of_a_type_are_told_apart(dtype):
    n_labels = min(np.iinfo(dtype).max, 999) + 1
    vector = np.tile(np.arange(n_labels), 2)
    if np.iinfo(dtype).min < 0:
        vector = np.append(vector, -1)
    found = cohirf.consensus(vector[:, None].astype(dtype))
    assert np.array_equal(found.labels, vector)


KINDS = [
    "list",
    "rows",
    "float",
    "pandas",
    "polars",
    "arrow",
    "memmap",
    "npy",
    "parquet",
    "path",
    "dask",
    "dask frame",
]


@pytest.mark.parametrize("kind", KINDS)
def test_all_kinds_of_labels_give_the_same(kind, tmp_path):
    X, _ = make_blobs(90, n_features=2, random_state=0)
    _, labels = make_votes(n_rows=90, n_vectors=6, noise=0.5, missing=0.1)
    expected = cohirf.consensus(labels, n_clusters=4, X=X)
    given = _as_kind(labels, kind, tmp_path)
    values = X
    if kind.startswith("dask"):
        values = pytest.importorskip("dask.array").from_array(X, chunks=25)
    found = cohirf.consensus(given, n_clusters=4, X=values)
    assert np.array_equal(np.asarray(found.labels), expected.labels)
    assert np.array_equal(np.asarray(found.stability), expected.stability)
    assert np.array_equal(found.agreement, expected.agreement)
    assert (
        found.hierarchy.sizes(found.hierarchy.n_levels).tolist()
        == expected.hierarchy.sizes(2).tolist()
    )


def _as_kind(labels, kind, folder):
    names = [f"v{number}" for number in range(labels.shape[1])]
    if kind == "list":
        return list(labels.T)
    if kind == "rows":
        return labels.astype(np.int8)
    if kind == "float":
        return np.where(labels < 0, np.nan, labels)
    if kind == "dask":
        return pytest.importorskip("dask.array").from_array(labels, chunks=(40, 4))
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(labels, columns=names)
    if kind == "pandas":
        return frame.where(frame >= 0).astype("Int64")
    if kind == "polars":
        return pytest.importorskip("polars").DataFrame(dict(zip(names, labels.T, strict=True)))
    if kind == "dask frame":
        return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)
    arrow = pytest.importorskip("pyarrow")
    table = arrow.table(
        {
            name: arrow.array(column, mask=column < 0)
            for name, column in zip(names, labels.T, strict=True)
        }
    )
    if kind == "arrow":
        return table
    if kind in ("parquet", "path"):
        pytest.importorskip("pyarrow.parquet").write_table(table, folder / "labels.parquet")
        path = folder / "labels.parquet"
        return path if kind == "path" else open_source(path)
    np.save(folder / "labels.npy", labels)
    return (
        np.load(folder / "labels.npy", mmap_mode="r")
        if kind == "memmap"
        else open_source(folder / "labels.npy")
    )


BAD = [
    ({"labels": []}, "no vectors"),
    ({"labels": [[], []]}, "0 rows"),
    ({"labels": [0, 1, 2]}, r"vector 0 has shape \(\)"),
    ({"labels": np.zeros(3)}, "shape"),
    ({"labels": [[0, 1], [0, 1, 2]]}, "vector 1 has 3 rows, but labels have 2"),
    ({"labels": [[0.5, 1.0]]}, "0.5 is not a label"),
    (
        {"labels": np.array([[2**63]], dtype=np.uint64)},
        r"e\+18 is not a label: give integers below",
    ),
    ({"labels": [[-1, -1], [-1, np.nan]]}, "No vector has an opinion"),
    ({"labels": [[1j, 2j]]}, "complex"),
    ({"labels": [[0, 1]], "n_clusters": 0}, "n_clusters=0"),
    ({"labels": [[0, 1]], "n_clusters": True}, "n_clusters=True"),
    ({"labels": [[0, 1]], "consensus": "all"}, "consensus='all'"),
    ({"labels": [[0, 1]], "consensus": 2}, "consensus=2"),
    ({"labels": [[0, 1]], "X": [[1.0], [2.0], [3.0]]}, "X has 3 rows, but labels have 2"),
    ({"labels": [[0, 1]], "X": [[1.0], [np.nan]]}, "NaN"),
    ({"labels": [[0, 1]], "sample_weight": [1.0, -1.0]}, "sample_weight"),
    ({"labels": [[0, 1]], "sample_weight": [1.0]}, "sample_weight"),
]


@pytest.mark.parametrize(("given", "message"), BAD, ids=[message for _, message in BAD])
def test_bad_input_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        cohirf.consensus(**given)


def test_fewer_codes_than_clusters_warn():
    with pytest.warns(ConvergenceWarning, match="only 2 different combinations"):
        assert cohirf.consensus([[0, 0, 1]], n_clusters=3).n_clusters == 2


@pytest.mark.parametrize("with_values", [False, True])
def test_there_are_as_many_clusters_as_asked_for_also_if_fewer_codes_are_linked(
    monkeypatch, with_values
):
    monkeypatch.setattr("cohirf.beyond.votes.MAX_LINKED", 5)
    labels = np.random.default_rng(0).integers(0, 4, (60, 6))
    result = cohirf.consensus(labels, n_clusters=9, X=labels if with_values else None)
    assert result.n_clusters == len(np.unique(result.labels)) == 9
    np.testing.assert_array_equal(result.hierarchy.cut(n_clusters=9), result.labels)


def test_consensus_of_seeds_is_a_good_partition():
    X, y = make_blobs(600, n_features=6, centers=5, cluster_std=2.0, random_state=3)
    runs = [
        KMeans(5, n_init=1, init="random", random_state=seed).fit_predict(X) for seed in range(15)
    ]
    single = np.mean([adjusted_rand_score(y, run) for run in runs])
    assert adjusted_rand_score(y, cohirf.consensus(runs, n_clusters=5).labels) > single


def test_program_writes_labels_with_names_of_rows(tmp_path, capsys):
    pytest.importorskip("pyarrow")
    (tmp_path / "labels.csv").write_text("id,a,b,c\nx,0,1,0\ny,0,1,\nz,1,0,1\n")
    out = tmp_path / "agreed.csv"
    main(
        [
            "consensus",
            str(tmp_path / "labels.csv"),
            "--id-column",
            "id",
            "--out",
            str(out),
            "--json",
        ]
    )
    document = json.loads(capsys.readouterr().out)
    assert (document["clusters"], document["agreement"]["a"]) == (2, 1.0)
    assert out.read_text() == '"id","cluster"\n"x",0\n"y",0\n"z",1\n'


def test_the_program_names_the_remedy_for_a_column_of_names(tmp_path, capsys):
    (tmp_path / "labels.csv").write_text("who,a,b\nx,0,1\ny,1,0\n", encoding="utf-8")
    assert (
        main(["consensus", str(tmp_path / "labels.csv"), "--out", str(tmp_path / "out.csv")]) == 2
    )
    assert (
        "column 'who' has no labels, which are integers: give --id-column who if it names the"
        in capsys.readouterr().err
    )
