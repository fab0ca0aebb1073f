"""cohirf fit --graph: a graph in a file, its clusters, a model, and new nodes."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.cluster import DBSCAN
from sklearn.datasets import make_blobs
from sklearn.neighbors import kneighbors_graph

from cohirf import CoHiRF, load

X, _ = make_blobs(200, centers=3, cluster_std=0.6, random_state=3)
GRAPH = kneighbors_graph(X, 12, mode="distance")
NAMES = [f"node {number:03}" for number in range(len(X))]


@pytest.fixture
def graph(folder):
    sparse.save_npz("graph.npz", GRAPH)
    return folder / "graph.npz"


def expected(estimator=None, **options):
    return CoHiRF(estimator, metric="precomputed", random_state=0, **options).fit_predict(GRAPH)


def test_a_graph_is_clustered_and_said(cohirf, graph):
    outcome = cohirf("fit", graph, "--graph", "--out", "labels.csv")
    assert outcome.code == 0
    assert np.array_equal(pd.read_csv("labels.csv")["cluster"], expected())
    table, facts, *_ = outcome.out.split("\n\n")
    heading, *rows = (re.split(r"  +", line) for line in table.splitlines())
    assert heading == ["cluster", "nodes", "share", "central node"]
    assert sum(int(row[1]) for row in rows) == len(X)
    assert "peak memory" in facts


def test_a_document_of_a_graph_has_its_clusters(cohirf, graph):
    document = json.loads(cohirf("fit", graph, "--graph", "--clusters", 3, "--json").out)
    assert document["rows"] == document["features"] == len(X)
    assert document["clusters"] == 3
    sizes = np.bincount(expected(n_clusters=3))
    assert document["sizes"] == np.sort(sizes)[::-1].tolist()


def test_a_model_of_a_graph_predicts_and_is_cut(cohirf, graph):
    cohirf("fit", graph, "--graph", "--clusters", 3, "--model", "model.cohirf")
    sparse.save_npz("new.npz", GRAPH[:30])
    assert cohirf("predict", "model.cohirf", "new.npz", "--out", "new.csv").code == 0
    model = load("model.cohirf")
    assert np.array_equal(pd.read_csv("new.csv")["cluster"], model.predict(GRAPH[:30]))
    assert cohirf("cut", "model.cohirf", "--clusters", 2, "--out", "two.csv").code == 0
    cut = pd.read_csv("two.csv")["cluster"]
    assert np.array_equal(cut, model.hierarchy_.cut(n_clusters=2))


def test_a_table_of_edges_keeps_the_names_of_nodes(cohirf, folder):
    edges = GRAPH.tocoo()
    names = np.array(NAMES, dtype=object)
    table = {"source": names[edges.row], "target": names[edges.col], "distance": edges.data}
    pd.DataFrame(table).to_parquet("edges.parquet")
    outcome = cohirf("fit", "edges.parquet", "--graph", "--clusters", 3, "--out", "labels.parquet")
    labels = pd.read_parquet("labels.parquet")
    assert labels["node"].tolist() == NAMES
    assert np.array_equal(labels["cluster"], expected(n_clusters=3))
    assert "node " in outcome.out


def test_new_nodes_come_as_a_table_of_edges(cohirf, folder):
    edges = GRAPH.tocoo()
    names = np.array([*NAMES, "late"], dtype=object)
    table = {"a": names[edges.row], "b": names[edges.col], "d": edges.data}
    written = {"index": False, "header": False, "sep": "|"}
    pd.DataFrame(table).to_csv("edges.csv", **written)
    options = ("--graph", "--no-header", "--delimiter", "|", "--model", "model.cohirf")
    assert cohirf("fit", "edges.csv", *options, "--clusters", 3).code == 0
    pd.DataFrame({"a": ["late"], "b": [NAMES[7]], "d": [0.5]}).to_csv("new.csv", **written)
    assert cohirf("predict", "model.cohirf", "new.csv", "--out", "labels.csv").code == 0
    found = pd.read_csv("labels.csv")
    assert found["node"].tolist() == ["late"]
    assert found["cluster"].tolist() == [load("model.cohirf").labels_[7]]


def test_a_base_method_is_told_of_the_graph(cohirf, graph):
    options = ("--estimator", "dbscan", "--param", "min_samples=3", "--eps", 0.4)
    assert cohirf("fit", graph, "--graph", *options, "--out", "labels.npy").code == 0
    assert np.array_equal(np.load("labels.npy"), expected(DBSCAN(eps=0.4, min_samples=3)))


def test_similarities_are_larger_for_nearer_nodes(cohirf, folder):
    similar = GRAPH.copy()
    similar.data = np.exp(-similar.data)
    sparse.save_npz("similar.npz", similar)
    cohirf("fit", "similar.npz", "--similarities", "--clusters", 3, "--out", "labels.npy")
    found = CoHiRF(metric="affinity", n_clusters=3, random_state=0).fit_predict(similar)
    assert np.array_equal(np.load("labels.npy"), found)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--report", "report.html"), "--report does not work with --graph"),
        (("--drop", "height"), "options for columns does not work with --graph"),
        (("--batch-size", "100"), "batch_size does not work with metric='precomputed'"),
        (("--merge", "compact"), "have no means"),
    ],
)
def test_what_a_graph_has_not_is_refused(cohirf, graph, options, message):
    outcome = cohirf("fit", graph, "--graph", *options)
    assert outcome.code == 2
    assert message in outcome.err


def test_a_graph_is_no_table(cohirf, graph):
    outcome = cohirf("fit", graph)
    assert outcome.code == 2
    assert "--graph" in outcome.err
