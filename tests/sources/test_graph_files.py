"""Graphs in files: sparse matrices, tables of edges, AnnData; what is damaged is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import NearestNeighbors, kneighbors_graph

from cohirf import CoHiRF, load, open_source
from cohirf.sources import GraphSource
from cohirf.sources import graph_files as module

X, Y = make_blobs(200, centers=3, cluster_std=0.6, random_state=3)
GRAPH = kneighbors_graph(X, 12, mode="distance")
EXPECTED = CoHiRF(metric="precomputed", n_clusters=3, random_state=0).fit_predict(GRAPH)


def labels_of(source: Any, metric: str = "precomputed") -> Any:
    assert isinstance(source, GraphSource)
    return CoHiRF(metric=metric, n_clusters=3, random_state=0).fit_predict(source)


def edge_table(*, named: bool = False, n_bytes: int = 8) -> Any:
    edges = GRAPH.tocoo()
    order = np.random.default_rng(0).permutation(edges.nnz)
    names = np.array([f"node {number:03}" for number in range(len(X))], dtype=object)
    return pd.DataFrame(
        {
            "distance": edges.data[order].astype(f"f{n_bytes}"),
            "source": names[edges.row[order]] if named else edges.row[order],
            "target": names[edges.col[order]] if named else edges.col[order],
        }
    )


@pytest.mark.parametrize("form", ["csr", "csc", "coo"])
@pytest.mark.parametrize("compressed", [False, True])
def test_a_sparse_matrix_of_scipy_is_a_graph(form: str, compressed: bool, tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "graph.npz", GRAPH.asformat(form), compressed=compressed)
    source = open_source(tmp_path / "graph.npz", graph=True)
    assert np.array_equal(labels_of(source), EXPECTED)
    assert source.read_names() is None


def test_wide_indices_are_narrowed_in_blocks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "rows_within", lambda *_: 7)
    wide = GRAPH.copy()
    wide.indices = wide.indices.astype(np.int64)
    wide.indptr = wide.indptr.astype(np.int64)
    sparse.save_npz(tmp_path / "graph.npz", wide)
    found = open_source(tmp_path / "graph.npz", graph=True).read()
    assert found.indices.dtype == found.indptr.dtype == np.int32
    assert found.has_sorted_indices
    assert (sparse.csr_matrix(found) != GRAPH).nnz == 0


def test_the_arrays_of_a_vector_index_are_a_graph(tmp_path: Path) -> None:
    distances, indices = NearestNeighbors(n_neighbors=12).fit(X).kneighbors()
    np.savez(tmp_path / "index.npz", indices=indices, distances=distances)
    source = open_source(tmp_path / "index.npz", graph=True)
    assert np.array_equal(labels_of(source), EXPECTED)
    np.savez(tmp_path / "columns.npz", indices=np.asfortranarray(indices), distances=distances)
    by_column = open_source(tmp_path / "columns.npz", graph=True)
    assert np.array_equal(labels_of(by_column), EXPECTED)


@pytest.mark.parametrize("ending", [".parquet", ".feather"])
@pytest.mark.parametrize("named", [False, True])
def test_a_table_of_edges_is_a_graph(ending: str, named: bool, tmp_path: Path) -> None:
    table = edge_table(named=named)
    path = tmp_path / f"edges{ending}"
    table.to_parquet(path) if ending == ".parquet" else table.to_feather(path)
    source = open_source(path, graph=True)
    assert np.array_equal(labels_of(source), EXPECTED)
    names = source.read_names()
    assert names is None if not named else list(names)[7] == "node 007"


@pytest.mark.parametrize("named", [False, True])
def test_nodes_may_be_categories(named: bool, tmp_path: Path) -> None:
    table = edge_table(named=named).astype({"source": "category", "target": "category"})
    table.to_parquet(tmp_path / "edges.parquet", row_group_size=100)
    for data in (table, tmp_path / "edges.parquet"):
        assert np.array_equal(labels_of(open_source(data, graph=True)), EXPECTED)


def test_blocks_of_edges_fill_rows_in_any_order(tmp_path: Path) -> None:
    edge_table(n_bytes=4).to_parquet(tmp_path / "edges.parquet", row_group_size=100)
    found = open_source(tmp_path / "edges.parquet", graph=True).read()
    assert found.dtype == np.float32
    assert found.indices.dtype == np.int32
    assert found.toarray() == pytest.approx(GRAPH.toarray(), rel=1e-6)


def test_a_data_frame_of_edges_is_a_graph_with_columns_of_any_name() -> None:
    table = edge_table().rename(columns={"source": "a", "target": "b", "distance": "d"})
    source = open_source(table, graph=True, columns=["a", "b", "d"])
    assert np.array_equal(labels_of(source), EXPECTED)
    in_order = open_source(table[["a", "b", "d"]], graph=True)
    assert np.array_equal(labels_of(in_order), EXPECTED)


def write_anndata(folder: Path, ending: str) -> Path:
    anndata = pytest.importorskip("anndata")
    index = pd.Index([f"cell {number}" for number in range(len(X))], dtype=object)
    similar = GRAPH.copy()
    similar.data = np.exp(-similar.data)
    data = anndata.AnnData(X.astype(np.float32), obs=pd.DataFrame(index=index))
    data.var_names = pd.Index(["one", "two"], dtype=object)
    data.obsp["distances"] = GRAPH
    data.obsp["connectivities"] = similar.tocsc()
    data.obsp["all"] = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    path = folder / f"cells{ending}"
    data.write_h5ad(path) if ending == ".h5ad" else data.write_zarr(path)
    return path


@pytest.mark.filterwarnings("ignore")  # of packages that write the file
@pytest.mark.parametrize("ending", [".h5ad", ".zarr"])
def test_anndata_holds_graphs(ending: str, tmp_path: Path) -> None:
    path = write_anndata(tmp_path, ending)
    source = open_source(path, graph=True)
    assert np.array_equal(labels_of(source), EXPECTED)
    assert list(source.read_names() or ())[3] == "cell 3"
    similar = open_source(path, graph="connectivities")
    assert adjusted_rand_score(Y, labels_of(similar, "affinity")) > 0.95
    square = open_source(path, graph="all")
    assert adjusted_rand_score(Y, labels_of(square, "affinity")) > 0.95
    with pytest.raises(ValueError, match="'all', 'connectivities', 'distances'"):
        open_source(path, graph="spam").read()


def test_new_nodes_come_from_a_file(tmp_path: Path) -> None:
    model = CoHiRF(metric="precomputed", n_clusters=3, random_state=0).fit(GRAPH)
    sparse.save_npz(tmp_path / "new.npz", GRAPH[:30])
    source = open_source(tmp_path / "new.npz", graph=True)
    assert np.array_equal(model.predict(source), model.predict(GRAPH[:30]))


# ---- tables of the edges of new nodes

ALL, _ = make_blobs(220, centers=3, cluster_std=0.6, random_state=3)
OLD = kneighbors_graph(ALL[:200], 12, mode="distance")
NEW = NearestNeighbors(n_neighbors=12).fit(ALL[:200]).kneighbors_graph(ALL[200:], mode="distance")
NAMES = np.array([f"node {number:03}" for number in range(len(ALL))], dtype=object)


def as_table(edges: Any, first: int, *, named: bool) -> Any:
    """Return edges from nodes that are numbered from ``first`` on; half of them turned around."""
    edges = edges.tocoo()
    nodes = np.c_[edges.row + first, edges.col]
    nodes[::2] = nodes[::2, ::-1] if first else nodes[::2]
    source, target = NAMES[nodes.T] if named else nodes.T
    return pd.DataFrame({"source": source, "target": target, "distance": edges.data})


def open_edges(table: Any, kind: str, folder: Path) -> GraphSource:
    if kind == "frame":
        return open_source(table, graph=True)
    path = folder / f"edges.{kind}"
    table.to_parquet(path) if kind == "parquet" else table.to_csv(path, index=False)
    return open_source(path, graph=True)


def fit_old(named: bool) -> CoHiRF:
    source = open_source(as_table(OLD, 0, named=named), graph=True)
    return CoHiRF(metric="precomputed", n_clusters=3, random_state=0).fit(source)


@pytest.mark.parametrize("kind", ["frame", "parquet", "csv"])
@pytest.mark.parametrize("named", [False, True])
def test_new_nodes_are_those_that_the_fit_did_not_have(
    kind: str, named: bool, tmp_path: Path
) -> None:
    model = fit_old(named)
    source = open_edges(as_table(NEW, 200, named=named), kind, tmp_path)
    for method in ("predict", "membership", "transform"):
        found, expected = (getattr(model, method)(edges) for edges in (source, NEW))
        assert np.array_equal(found, expected)
    new_names = source.read_new_names(200, model.node_names_)
    assert list(new_names or ()) == [NAMES[n] if named else str(n) for n in range(200, 220)]


def test_other_edges_do_not_count() -> None:
    model = fit_old(named=True)
    table = as_table(NEW, 200, named=True)
    between = pd.DataFrame({"source": NAMES[200:219], "target": NAMES[201:220], "distance": 0.0})
    known = as_table(OLD, 0, named=True)
    source = open_source(pd.concat([between, table, known]), graph=True)
    assert np.array_equal(model.predict(source), model.predict(NEW))


def test_a_node_with_edges_to_new_nodes_only_is_noise() -> None:
    model = fit_old(named=False)
    table = pd.DataFrame({"source": [201, 200], "target": [203, 5], "distance": [1.0, 1.0]})
    found = model.predict(open_source(table, graph=True))
    assert found.tolist() == [model.labels_[5], -1, -1, -1]


def test_names_are_saved(tmp_path: Path) -> None:
    model = fit_old(named=True)
    assert list(model.node_names_ or ()) == NAMES[:200].tolist()
    model.save(tmp_path / "model.cohirf")
    loaded = load(tmp_path / "model.cohirf")
    assert list(loaded.node_names_ or ()) == NAMES[:200].tolist()
    source = open_source(as_table(NEW, 200, named=True), graph=True)
    assert np.array_equal(loaded.predict(source), model.predict(NEW))


def test_numbers_and_names_are_not_mixed() -> None:
    for named in (False, True):
        source = open_source(as_table(NEW, 200, named=not named), graph=True)
        with pytest.raises(ValueError, match="the graph of the fit had"):
            fit_old(named).predict(source)


def test_numbers_in_a_file_of_text_are_names_if_the_fit_had_names(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("source,target,distance\n8,7,1\n9,7,2\n")
    source = open_source(tmp_path / "edges.csv", graph=True)
    assert isinstance(source, GraphSource)
    assert source.read_new(2, ["7", "b"]).toarray().tolist() == [[1, 0], [2, 0]]


@pytest.mark.parametrize("kind", ["frame", "csv"])
def test_few_new_nodes_may_follow_many(kind: str, tmp_path: Path) -> None:
    table = pd.DataFrame({"source": [9_000_000, 5], "target": [7, 9_000_001], "distance": 1.0})
    source = open_edges(table, kind, tmp_path)
    assert source.read_new(9_000_000, None).nonzero()[1].tolist() == [7, 5]


@pytest.mark.parametrize("named", [False, True])
def test_a_table_without_new_nodes_is_refused(named: bool) -> None:
    source = open_source(as_table(OLD, 0, named=named), graph=True)
    with pytest.raises(ValueError, match=r"has no new node: .* as \.npz"):
        fit_old(named).predict(source)


def test_names_that_repeat_are_refused() -> None:
    source = open_source(as_table(NEW, 200, named=True), graph=True)
    with pytest.raises(ValueError, match="3 nodes of the fit have only 2 different names"):
        source.read_new(3, ["a", "b", "a"])


# ---- text


@pytest.mark.parametrize("named", [False, True])
def test_a_csv_file_of_edges_is_a_graph(named: bool, tmp_path: Path) -> None:
    edge_table(named=named).to_csv(tmp_path / "edges.csv", index=False)
    source = open_source(tmp_path / "edges.csv", graph=True)
    assert np.array_equal(labels_of(source), EXPECTED)
    assert (source.read_names() is not None) == named


def test_a_csv_file_may_have_no_header(tmp_path: Path) -> None:
    table = edge_table()[["source", "target", "distance"]]
    table.to_csv(tmp_path / "edges.csv", index=False, header=False, sep=" ")
    source = open_source(tmp_path / "edges.csv", graph=True, header=False, delimiter=" ")
    assert np.array_equal(labels_of(source), EXPECTED)


@pytest.mark.parametrize("names", [["007", "1", "2"], ["1e3", "1", "2"], [str(10**17), "1", "2"]])
def test_texts_that_are_not_written_as_numbers_from_0_on_are_names(
    names: list[str], tmp_path: Path
) -> None:
    (tmp_path / "edges.csv").write_text("a,b,d\n" + "".join(f"{n},NA,1\n" for n in names))
    source = open_source(tmp_path / "edges.csv", graph=True)
    assert list(source.read_names() or ()) == sorted([*names, "NA"])


def test_a_distance_that_is_no_number_is_named(tmp_path: Path) -> None:
    (tmp_path / "edges.csv").write_text("a,b,d\nx,y,1\ny,z,far\n")
    with pytest.raises(ValueError, match="column 'd' holds 'far', which is not a number"):
        open_source(tmp_path / "edges.csv", graph=True)


# ---- what is refused


def test_a_matrix_is_no_source_of_rows(tmp_path: Path) -> None:
    sparse.save_npz(tmp_path / "graph.npz", GRAPH)
    with pytest.raises(ValueError, match="give graph=True, or --graph"):
        open_source(tmp_path / "graph.npz")


def test_other_arrays_are_refused(tmp_path: Path) -> None:
    np.savez(tmp_path / "other.npz", X=X)
    with pytest.raises(ValueError, match="neither a sparse matrix"):
        open_source(tmp_path / "other.npz", graph=True).read()
    np.save(tmp_path / "rows.npy", X)
    with pytest.raises(ValueError, match="is not a graph"):
        open_source(tmp_path / "rows.npy", graph=True)


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"graph\.npz is not a file"):
        open_source(tmp_path / "graph.npz", graph=True)


def test_a_file_that_is_cut_short_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "graph.npz"
    sparse.save_npz(path, GRAPH, compressed=False)
    path.write_bytes(path.read_bytes()[:-3000])
    with pytest.raises(ValueError, match="truncated, damaged"):
        open_source(path, graph=True).read()


def test_an_index_beyond_the_last_node_is_refused(tmp_path: Path) -> None:
    damaged = GRAPH.copy()
    damaged.indices[5] = len(X)
    np.savez(
        tmp_path / "graph.npz",
        data=damaged.data,
        indices=damaged.indices,
        indptr=damaged.indptr,
        shape=damaged.shape,
        format=b"csr",
    )
    with pytest.raises(ValueError, match="truncated, damaged"):
        open_source(tmp_path / "graph.npz", graph=True).read()
    with pytest.raises(ValueError, match="must be from 0 to 199"):
        CoHiRF(metric="precomputed").fit(damaged)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"source": [0, 1, -1]}, "has a node -1"),
        ({"source": [0, 1, 10**9]}, "Give other numbers as text"),
        ({"source": np.array([0, 1, 2**63], dtype=np.uint64)}, "a node 9,223,372,036,854,775,808"),
        ({"source": ["a", "b", "c"]}, "both as whole numbers"),
        ({"source": [0.5, 1, 2]}, "both as whole numbers"),
        ({"distance": ["near", "far", "far"]}, "which are numbers"),
        ({"distance": [1.0, None, 2.0]}, "missing cells"),
        ({"distance": [1.0, -2.0, 2.0]}, "below 0"),
    ],
)
def test_a_bad_table_of_edges_is_refused(changes: Any, message: str) -> None:
    table = {"source": [0, 1, 2], "target": [1, 2, 0], "distance": [1.0, 2.0, 3.0]} | changes
    with pytest.raises(ValueError, match=message):
        CoHiRF(metric="precomputed").fit(open_source(pd.DataFrame(table), graph=True))


def write_parts(path: Path, **changes: Any) -> Path:
    parts = {"data": GRAPH.data, "indices": GRAPH.indices, "indptr": GRAPH.indptr}
    np.savez(path, format=b"csr", shape=GRAPH.shape, **(parts | changes))
    return path


def changed(values: Any, place: int, value: int) -> Any:
    wide = values.astype(np.int64)
    wide[place] = value
    return wide


@pytest.mark.parametrize(
    ("part", "value"),
    [
        ("indices", 2**32 + 5),
        ("indices", 5 - 2**32),
        ("indptr", 2**32 + 12),
        ("indptr", 12 - 2**32),
    ],
)
def test_an_index_that_int32_would_take_for_another_is_refused(
    part: str, value: int, tmp_path: Path
) -> None:
    path = write_parts(tmp_path / "graph.npz", **{part: changed(getattr(GRAPH, part), 1, value)})
    with pytest.raises(ValueError, match=f"an index is {value}, .* truncated, damaged"):
        open_source(path, graph=True).read()


def test_such_an_index_is_refused_in_anndata(tmp_path: Path) -> None:
    path = write_anndata(tmp_path, ".h5ad")
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "r+") as root:
        group = root["obsp/distances"]
        wide = changed(group["indices"][:], 1, 2**32 + 5)
        del group["indices"]
        group["indices"] = wide
    with pytest.raises(ValueError, match=f"an index is {2**32 + 5}"):
        open_source(path, graph=True).read()


def test_indices_that_are_no_whole_numbers_are_refused(tmp_path: Path) -> None:
    path = write_parts(tmp_path / "graph.npz", indices=GRAPH.indices + 0.5)
    with pytest.raises(ValueError, match="indices have type float64"):
        open_source(path, graph=True).read()


def test_a_damaged_matrix_by_columns_is_refused(tmp_path: Path) -> None:
    by_column = GRAPH.tocsc()
    by_column.indices[1] = 10**9
    sparse.save_npz(tmp_path / "graph.npz", by_column)
    with pytest.raises(ValueError, match="truncated, damaged"):
        open_source(tmp_path / "graph.npz", graph=True).read()


def test_a_source_of_rows_is_no_graph() -> None:
    for metric in ("precomputed", "affinity"):
        with pytest.raises(TypeError, match=r"open_source\(\.\.\., graph=True\)"):
            CoHiRF(metric=metric).fit(open_source(X))


def test_a_graph_without_its_metric_is_refused() -> None:
    source = open_source(edge_table(), graph=True)
    with pytest.raises(TypeError, match=r'metric="precomputed".*metric="affinity"'):
        CoHiRF(n_clusters=3).fit(source)
    model = CoHiRF(n_clusters=3, random_state=0).fit(X)
    for method in (model.predict, model.membership, model.transform, model.partial_fit):
        with pytest.raises(TypeError, match="is a graph, and metric='euclidean' is of rows"):
            method(source)


def test_a_table_of_two_columns_is_refused() -> None:
    with pytest.raises(ValueError, match="needs source, target and distance"):
        open_source(pd.DataFrame({"source": [0], "target": [1]}), graph=True)


def test_edges_that_repeat_count_once_with_the_smaller_distance() -> None:
    table = pd.DataFrame(
        {"source": [0, 0, 1, 2], "target": [1, 1, 2, 2], "distance": [3.0, 1.0, 2.0, 9.0]}
    )
    model = CoHiRF(metric="precomputed", n_clusters=1).fit(open_source(table, graph=True))
    assert model.labels_.tolist() == [0, 0, 0]
