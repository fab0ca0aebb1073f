"""tl.cohirf: what it reads from AnnData, what it writes, and that files keep it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN, HDBSCAN
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import kneighbors_graph

from cohirf import CoHiRF, FusionHierarchy
from cohirf.scverse import tl

anndata = pytest.importorskip("anndata")

X, Y = make_blobs(240, 6, centers=4, cluster_std=1.0, random_state=3)
GRAPH = kneighbors_graph(X, 12, mode="distance")


def make_cells(*, graph: bool = True, rows: bool = True) -> Any:
    names = pd.Index([f"cell {number}" for number in range(len(X))], dtype=object)
    data = anndata.AnnData(X.astype(np.float32), obs=pd.DataFrame(index=names))
    data.var_names = pd.Index([f"gene {number}" for number in range(X.shape[1])], dtype=object)
    if rows:
        data.obsm["X_pca"] = X
    if graph:
        similar = GRAPH.copy()
        similar.data = np.exp(-similar.data)
        data.obsp["distances"] = GRAPH
        data.obsp["connectivities"] = similar
        data.uns["neighbors"] = {
            "distances_key": "distances",
            "connectivities_key": "connectivities",
        }
    return data


def codes(data: Any, key: str = "cohirf") -> Any:
    return data.obs[key].astype(int).to_numpy()


def test_the_graph_of_scanpy_is_clustered_by_its_distances() -> None:
    data = make_cells()
    assert tl.cohirf(data) is None
    model = CoHiRF(metric="precomputed", random_state=0).fit(GRAPH)
    assert np.array_equal(codes(data), model.labels_)
    assert data.obs["cohirf_stability"].to_numpy() == pytest.approx(model.stability_)
    assert data.uns["cohirf"]["params"] == {
        "obsp": "distances",
        "estimator": "",
        "random_state": 0,
    }
    assert data.uns["cohirf"]["exemplars"].tolist() == model.exemplar_indices_.tolist()
    hierarchy = FusionHierarchy.from_json(data.uns["cohirf"]["tree"])
    assert hierarchy == model.hierarchy_


def test_without_a_graph_rows_are_clustered() -> None:
    data = make_cells(graph=False)
    tl.cohirf(data, 4, key_added="groups")
    assert adjusted_rand_score(Y, codes(data, "groups")) > 0.95
    assert data.uns["groups"]["params"]["use_rep"] == "X_pca"
    assert data.uns["groups"]["params"]["n_clusters"] == 4


@pytest.mark.parametrize(
    "options", [{"obsp": "connectivities"}, {"use_rep": "X"}, {"use_rep": "X_pca"}]
)
def test_what_is_named_is_clustered(options: Any) -> None:
    data = make_cells()
    tl.cohirf(data, n_clusters=4, **options)
    assert adjusted_rand_score(Y, codes(data)) > 0.95
    assert options.items() <= data.uns["cohirf"]["params"].items()


def test_another_graph_is_found_by_its_key() -> None:
    data = make_cells(graph=False, rows=False)
    data.obsp["mine_distances"] = GRAPH
    data.uns["mine"] = {"distances_key": "mine_distances"}
    tl.cohirf(data, 4, neighbors_key="mine")
    assert data.uns["cohirf"]["params"]["obsp"] == "mine_distances"


def test_a_graph_that_is_named_and_missing_is_not_replaced() -> None:
    data = make_cells()
    data.uns["mine"] = {"distances_key": "mine_distances"}
    data.uns["bare"] = {}
    for key in ("mine", "bare"):
        with pytest.raises(ValueError, match=f"uns\\['{key}'\\] names no matrix that is there"):
            tl.cohirf(data, 4, neighbors_key=key)
    del data.obsp["distances"], data.obsp["connectivities"]
    with pytest.raises(ValueError, match="obsp has nothing"):
        tl.cohirf(data, 4, neighbors_key="neighbors")


def test_a_base_method_that_finds_noise_has_a_category_for_it() -> None:
    data = make_cells()
    tl.cohirf(data, estimator=DBSCAN(eps=float(np.median(GRAPH.data)), min_samples=8))
    assert data.obs["cohirf"].cat.categories[0] == "-1"
    assert (codes(data) == -1).any()


def test_parameters_go_to_the_model() -> None:
    data = make_cells()
    tl.cohirf(data, 4, views=4, max_features=0.6, random_state=5)
    model = CoHiRF(
        n_clusters=4, metric="precomputed", views=4, max_features=0.6, random_state=5
    ).fit(GRAPH)
    assert np.array_equal(codes(data), model.labels_)


def test_a_copy_leaves_the_data_as_they_are() -> None:
    data = make_cells()
    copied = tl.cohirf(data, 4, copy=True)
    assert "cohirf" in copied.obs
    assert "cohirf" not in data.obs
    assert "cohirf" not in data.uns


@pytest.mark.filterwarnings("ignore")  # of packages that write the file
@pytest.mark.parametrize("ending", [".h5ad", ".zarr"])
def test_files_keep_what_was_written(ending: str, tmp_path: Path) -> None:
    data = make_cells()
    tl.cohirf(data, 4, views=[HDBSCAN(min_cluster_size=20, copy=True)])
    path = tmp_path / f"cells{ending}"
    data.write_h5ad(path) if ending == ".h5ad" else data.write_zarr(path)
    again = anndata.read_h5ad(path) if ending == ".h5ad" else anndata.read_zarr(path)
    assert again.obs["cohirf"].tolist() == data.obs["cohirf"].tolist()
    assert again.uns["cohirf"]["tree"] == data.uns["cohirf"]["tree"]
    assert again.uns["cohirf"]["params"] == data.uns["cohirf"]["params"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"use_rep": "X_umap"}, "obsm has 'X_pca' and not 'X_umap'"),
        ({"obsp": "spam"}, "obsp has 'distances', 'connectivities' and not 'spam'"),
        ({"neighbors_key": "mine"}, "uns has 'neighbors' and not 'mine'"),
        ({"obsp": "distances", "use_rep": "X"}, "give one of them"),
    ],
)
def test_what_is_not_there_is_named(options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        tl.cohirf(make_cells(), **options)


def test_without_graph_and_rows_the_next_step_is_named() -> None:
    with pytest.raises(ValueError, match=r"scanpy\.pp\.neighbors"):
        tl.cohirf(make_cells(graph=False, rows=False))


PLOT = """
import warnings; warnings.simplefilter("ignore")
import matplotlib; matplotlib.use("agg")
import anndata, numpy as np, scanpy
from sklearn.datasets import make_blobs
from cohirf.scverse import tl
X, _ = make_blobs(120, 6, centers=3, random_state=0)
adata = anndata.AnnData(X.astype("float32"), obsm={"X_pca": X, "X_umap": X[:, :2]})
scanpy.pp.neighbors(adata, use_rep="X_pca")
tl.cohirf(adata)
scanpy.pl.umap(adata, color=["cohirf", "cohirf_stability"], show=False)
assert len(adata.uns["cohirf_colors"]) == 3
"""


@pytest.mark.slow
def test_scanpy_draws_the_clusters() -> None:
    pytest.importorskip("scanpy")
    subprocess.run([sys.executable, "-c", PLOT], check=True)
