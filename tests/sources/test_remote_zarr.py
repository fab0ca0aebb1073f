"""Zarr and AnnData at URLs: what is read there is what is read on a disk, whatever happens."""

import os
import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from tools.object_server import KEY, SECRET, as_url, serving

from cohirf import CoHiRF, open_source
from cohirf.data.dask_arrays import to_dask_array
from cohirf.sources import SourceChangedError
from cohirf.sources.policy import READ

pytest.importorskip("obstore")
zarr = pytest.importorskip("zarr")

ARRAYS = ("chunks.zarr", "shards.zarr", "second.zarr", "group.zarr/X", "group.zarr/X/")


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return np.random.default_rng(0).normal(size=(3_000, 4)).round(6)


@pytest.fixture(scope="module")
def folder(X, tmp_path_factory):
    """Arrays of both versions of Zarr, in chunks, in shards and in a group."""
    folder = tmp_path_factory.mktemp("arrays")
    like = {"shape": X.shape, "dtype": X.dtype}
    group = zarr.create_group(folder / "group.zarr")
    for array in (
        zarr.create_array(folder / "chunks.zarr", chunks=(400, 3), **like),
        zarr.create_array(folder / "shards.zarr", chunks=(100, 4), shards=(600, 4), **like),
        zarr.create_array(folder / "second.zarr", chunks=(1_000, 4), zarr_format=2, **like),
        group.create_array("X", chunks=(500, 4), **like),
    ):
        array[:] = X
    return folder


@pytest.fixture
def objects(folder):
    with serving() as objects:
        objects.put_folder("bucket/deep folder", folder)
        yield objects


@pytest.mark.parametrize("name", ARRAYS)
def test_rows_of_an_array_at_a_url_are_those_of_the_folder(name, objects, X):
    source = open_source(f"s3://bucket/deep folder/{name}")
    assert (source.n_rows, source.n_features) == X.shape
    for rows in (np.arange(3_000), [0], [5, 399, 400, 2_999], np.arange(0, 3_000, 7)):
        np.testing.assert_array_equal(source.take(rows), X[rows])
    sent = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(sent.take([7, 2_000]), X[[7, 2_000]])
    assert KEY.encode() not in pickle.dumps(source)
    assert SECRET.encode() not in pickle.dumps(source)


def test_folders_of_web_servers_are_refused(objects):
    with pytest.raises(ValueError, match=r"chunks\.zarr cannot be read: web servers do not list"):
        open_source(as_url(objects, "bucket/deep folder/chunks.zarr", "http"))


def test_a_damaged_folder_is_named(objects):
    objects.put("bucket/deep folder/chunks.zarr/zarr.json", b'{"zarr_format": 3')
    with pytest.raises(ValueError, match=r"s3://bucket/deep folder/chunks\.zarr cannot be read"):
        open_source("s3://bucket/deep folder/chunks.zarr")


def test_an_array_is_no_graph(objects):
    source = open_source("s3://bucket/deep folder/chunks.zarr", graph=True)
    with pytest.raises(ValueError, match=r"chunks\.zarr is an array, and no graph"):
        source.read()


def test_chunks_on_dask_have_other_names_for_other_columns_and_versions(objects):
    pytest.importorskip("dask")
    url = "s3://bucket/deep folder/chunks.zarr"
    name = to_dask_array(open_source(url)).name
    assert to_dask_array(open_source(url)).name == name
    assert to_dask_array(open_source(url, columns=[1])).name != name
    assert to_dask_array(open_source("s3://bucket/deep folder/shards.zarr")).name != name
    replace_chunk(objects, "bucket/deep folder/chunks.zarr/c/5/0")
    assert to_dask_array(open_source(url)).name != name


def test_columns_of_an_array_are_chosen(objects, X):
    source = open_source("s3://bucket/deep folder/chunks.zarr", columns=[3, 0])
    np.testing.assert_array_equal(source.take([1, 2_500]), X[[1, 2_500]][:, [3, 0]])


@pytest.mark.parametrize("name", ARRAYS[:3])
def test_small_pieces_and_requests_that_fail_change_no_row(name, objects, X, monkeypatch):
    monkeypatch.setitem(READ.remote.__dict__, "piece_bytes", 5_000)
    objects.fault_share = 0.2
    source = open_source(f"s3://bucket/deep folder/{name}")
    np.testing.assert_array_equal(source.take(np.arange(3_000)), X)


def test_labels_are_those_of_the_folder(objects, folder):
    def fit(place):
        return CoHiRF(n_clusters=4, batch_size=500, random_state=0).fit(open_source(place)).labels_

    expected = fit(folder / "chunks.zarr")
    objects.fault_share = 0.1
    np.testing.assert_array_equal(fit("s3://bucket/deep folder/chunks.zarr"), expected)


def replace_chunk(objects, key):
    objects.put(key, objects.content[key][:-1] + b"x")


def delete_chunk(objects, key):
    del objects.content[key]


@pytest.mark.parametrize("change", [replace_chunk, delete_chunk])
@pytest.mark.parametrize("name", ["chunks.zarr", "second.zarr"])
def test_a_changed_chunk_is_noticed_by_its_etag(name, change, objects):
    source = open_source(f"s3://bucket/deep folder/{name}")
    prefix = f"bucket/deep folder/{name}"
    chunk = max(key for key in objects.content if key.startswith(prefix) and "zarr.json" not in key)
    change(objects, chunk)
    with pytest.raises(SourceChangedError, match=r"s3://bucket/deep folder/.* since"):
        source.take(np.arange(3_000))


def test_a_chunk_that_is_added_is_not_read(objects, X):
    """A chunk of zeros need not be stored: whoever writes it later adds an object."""
    key = "bucket/deep folder/chunks.zarr/c/7/1"
    added = objects.content[key]
    delete_chunk(objects, key)
    source = open_source("s3://bucket/deep folder/chunks.zarr")
    objects.put(key, added)
    expected = X[2_800:].copy()
    expected[:, 3] = 0
    np.testing.assert_array_equal(source.take(np.arange(2_800, 3_000)), expected)


def test_a_fingerprint_follows_all_chunks(objects):
    url = "s3://bucket/deep folder/chunks.zarr"
    first = open_source(url).fingerprint()
    assert open_source(url).fingerprint() == first
    replace_chunk(objects, "bucket/deep folder/chunks.zarr/c/5/0")
    assert open_source(url).fingerprint() != first


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("none.zarr", FileNotFoundError, "no such array or group of Zarr"),
        ("group.zarr", ValueError, "is a group of arrays: open one of them, such as 'X'"),
        ("x.zarr.zip", ValueError, "Zarr in a zip file is read from a local disk only"),
    ],
)
def test_what_is_no_array_is_refused(name, error, message, objects):
    with pytest.raises(error, match=message):
        open_source(f"s3://bucket/deep folder/{name}")


def test_a_chunk_needs_one_request(objects):
    source = open_source("s3://bucket/deep folder/second.zarr")
    objects.requests.clear()
    source.take(np.arange(3_000))
    assert objects.requests["GET"] == 3
    assert not objects.requests["HEAD"]


# ---- graphs


@pytest.fixture(scope="module")
def graph():
    return sparse.random_array((300, 300), density=0.03, rng=np.random.default_rng(1), format="csr")


@pytest.fixture
def graphs(graph, tmp_path):
    """AnnData in both of its formats, and a matrix of SciPy, in a store."""
    anndata = pytest.importorskip("anndata")
    index = pd.Index([f"cell {number}" for number in range(300)], dtype=object)
    cells = anndata.AnnData(np.zeros((300, 2), np.float32), obs=pd.DataFrame(index=index))
    cells.var_names = pd.Index(["one", "two"], dtype=object)
    cells.obsp["distances"] = sparse.csr_matrix(graph)
    cells.write_h5ad(tmp_path / "cells.h5ad")
    cells.write_zarr(tmp_path / "cells.zarr")
    sparse.save_npz(tmp_path / "graph.npz", graph)
    sparse.save_npz(tmp_path / "columns.npz", sparse.csc_array(graph))
    with serving() as objects:
        objects.put_folder("bucket", tmp_path)
        yield objects


@pytest.mark.filterwarnings("ignore")  # of anndata, about versions of Zarr
@pytest.mark.parametrize("faults", [0, 0.2])
@pytest.mark.parametrize("name", ["cells.h5ad", "cells.zarr", "graph.npz", "columns.npz"])
def test_a_graph_at_a_url_is_that_of_the_file(name, faults, graphs, graph):
    graphs.fault_share = faults
    source = open_source(f"s3://bucket/{name}", graph=True)
    assert f"s3://bucket/{name}" in source.name
    assert abs(source.read() - graph).sum() == 0
    if name.startswith("cells"):
        assert list(source.read_names())[:2] == ["cell 0", "cell 1"]
    with pytest.raises(FileNotFoundError):
        open_source(f"s3://bucket/other {name}", graph=True).read()


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["cells.h5ad", "cells.zarr"])
def test_names_are_those_of_the_version_that_was_opened(name, graphs):
    source = open_source(f"s3://bucket/{name}", graph=True)
    source.read()
    for key in [key for key in graphs.content if key.startswith(f"bucket/{name}")]:
        graphs.put(key, graphs.content[key] + b" ")
    with pytest.raises(SourceChangedError, match=name):
        source.read_names()


@pytest.mark.filterwarnings("ignore")
def test_anndata_that_changes_while_it_is_read_is_noticed(graphs, monkeypatch):
    monkeypatch.setitem(READ.remote.__dict__, "piece_bytes", 2_000)
    n_requests = 0

    def change(method, asked):
        nonlocal n_requests
        n_requests += 1
        if n_requests == 6:
            graphs.put("bucket/cells.h5ad", os.urandom(50_000))

    graphs.before = change
    with pytest.raises(SourceChangedError, match=r"cells\.h5ad has changed"):
        open_source("s3://bucket/cells.h5ad", graph=True).read()


def test_the_program_clusters_a_graph_at_a_url(graphs, cohirf, tmp_path):
    done = cohirf("fit", "s3://bucket/cells.h5ad", "--graph", "--out", str(tmp_path / "l.csv"))
    here = cohirf("fit", str(tmp_path / "cells.h5ad"), "--graph", "--out", str(tmp_path / "m.csv"))
    assert (tmp_path / "l.csv").read_text() == (tmp_path / "m.csv").read_text(), (done, here)
