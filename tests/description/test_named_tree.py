"""The tree of a model in words."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN
from sklearn.exceptions import ConvergenceWarning

from cohirf import CoHiRF
from cohirf.description import name_tree, write_tree


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    group = rng.integers(0, 4, 400)
    X = pd.DataFrame(
        {
            "age": np.array([20, 25, 70, 75])[group] + rng.normal(size=400),
            "spend": np.array([10, 40, 10, 40])[group] + rng.normal(size=400),
        }
    )
    return CoHiRF(n_clusters=4, random_state=0).fit(X)


def test_branches_and_clusters_are_named(model):
    lines = write_tree(name_tree(model))
    assert lines[0] == "400 rows"
    assert len(lines) == 7
    names = model.summary()["name"]
    for cluster, size in enumerate(np.bincount(model.labels_).tolist()):
        assert sum(f"cluster {cluster}, {size} rows" in line and names[cluster] in line for line in lines) == 1
    branches = [line for line in lines if "cluster" not in line][1:]
    assert ["younger" in line for line in branches].count(True) == 1
    assert ["older" in line for line in branches].count(True) == 1


def test_parts_of_clusters_are_called_so(model):
    lines = write_tree(name_tree(model, 8))
    assert sum("part of cluster" in line for line in lines) >= 4
    assert sum("part of" not in line and "cluster" in line for line in lines) == 4


@pytest.mark.parametrize("width", [40, 60])
def test_lines_fit_and_are_cut_between_words(model, width):
    tree = name_tree(model)
    words = set(" ".join(write_tree(tree, 1000)).replace("…", "").split())
    for line in write_tree(tree, width):
        assert len(line) <= width
        assert set(line.removesuffix("…").split()) <= words | {word.rstrip(",:") for word in words}


def test_trees_can_be_written_in_letters(model):
    assert "\n".join(write_tree(name_tree(model), drawn=False)).isascii()


def test_noise_is_the_last_line():
    X = np.concatenate([np.random.default_rng(0).normal(size=(99, 2)), [[50.0, 50.0]]])
    assert write_tree(name_tree(CoHiRF(DBSCAN(eps=1.5)).fit(X)))[1:] == [
        "├─ cluster 0, 99 rows (99%): low feature 1, low feature 0",
        "└─ noise, 1 row (1%)",
    ]


def test_all_noise_has_no_tree():
    with pytest.warns(ConvergenceWarning, match="noise"):
        model = CoHiRF(DBSCAN(eps=1e-6)).fit(np.random.default_rng(0).normal(size=(60, 2)))
    assert name_tree(model) is None


def test_notebooks_show_the_tree_of_a_fitted_model(model):
    page = model._repr_mimebundle_()["text/html"]
    assert "4 clusters in 400 rows" in page
    assert all(f"cluster {cluster}, " in page for cluster in range(4))
    assert "<svg" in page
    assert "clusters in" not in CoHiRF()._repr_mimebundle_()["text/html"]


def test_names_are_escaped_in_notebooks():
    X = pd.DataFrame({"<b>age</b>": [20.0, 21, 70, 71]})
    page = CoHiRF(n_clusters=2, random_state=0).fit(X)._repr_mimebundle_()["text/html"]
    assert "<b>age</b>" not in page.partition("2 clusters in 4 rows")[2]
