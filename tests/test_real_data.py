"""The paper's real data sets, prepared as in the paper: the K-Means figures of the paper come
out.
"""

import os
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from experiments.real_data import REAL_DATA, load_real, prepare_as_published
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score, calinski_harabasz_score, silhouette_score

from experiments import real_data as real

FOLDER = Path(os.environ.get("COHIRF_DATA", "../shared/data"))
needs_data = pytest.mark.skipif(
    not (FOLDER / "shuttle.parquet").is_file(), reason="COHIRF_DATA names no folder of data"
)


def best_of(X, score, n_clusters=2, n_seeds=10):
    fits = [KMeans(n_clusters, random_state=seed).fit(X).labels_ for seed in range(n_seeds)]
    return max(score(X, labels) for labels in fits)


def test_iris_is_that_of_the_paper():
    X, y = load_real("iris")
    assert X.shape == (147, 4)
    assert list(np.bincount(y)) == [48, 50, 49]
    assert best_of(X, calinski_harabasz_score) == pytest.approx(241.038, abs=5e-4)
    assert best_of(X, silhouette_score) == pytest.approx(0.579, abs=5e-4)


@needs_data
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in REAL_DATA if name != "iris"])
def test_data_sets_have_the_published_shape(name):
    X, y = load_real(name, FOLDER)
    published = REAL_DATA[name]
    n_columns = {"nursery": 19}.get(name, published.n_columns)  # one per level but the first
    assert (X.shape, y.max() + 1) == ((published.n_rows, n_columns), published.n_classes)
    assert len(y) == published.n_rows


@needs_data
@pytest.mark.parametrize(
    ("name", "score", "value"),
    [
        pytest.param("alizadeh-2000-v2", calinski_harabasz_score, 15.151, marks=pytest.mark.slow),
        pytest.param("coil-20", calinski_harabasz_score, 288.09, marks=pytest.mark.slow),
        ("nursery", calinski_harabasz_score, 1023.966),
    ],
)
def test_kmeans_finds_what_the_paper_says(name, score, value):
    X, _ = load_real(name, FOLDER)
    assert best_of(X, score) == pytest.approx(value, abs=5e-3)


@needs_data
def test_kmeans_finds_the_index_of_the_paper_on_shuttle(monkeypatch):
    monkeypatch.setenv("COHIRF_DATA", str(FOLDER))
    X, y = load_real("shuttle")
    assert adjusted_rand_score(y, KMeans(2, random_state=0).fit_predict(X)) == pytest.approx(
        0.608, abs=5e-4
    )


def test_numbers_are_standardised_categories_coded_and_what_says_nothing_is_dropped():
    frame = pd.DataFrame(
        {
            "number": [1.0, 2.0, 3.0, 6.0] * 3,
            "constant": [1] * 12,
            "few": pd.Categorical(["b", "a", "c", "a"] * 3, categories=["c", "a", "b", "unused"]),
            "many": [f"level {i}" for i in range(12)],
        }
    )
    prepared = prepare_as_published(frame)
    assert prepared.shape == (12, 3)
    assert prepared[:, 0].mean() == pytest.approx(0)
    assert prepared[:, 0].std(ddof=1) == pytest.approx(1)
    np.testing.assert_array_equal(prepared[:4, 1:], [[0, 1], [1, 0], [0, 0], [1, 0]])


def test_data_without_a_feature_are_refused():
    with pytest.raises(ValueError, match="No feature is left: all are constant"):
        prepare_as_published(pd.DataFrame({"constant": [1, 1]}))


def test_an_unknown_name_is_refused():
    with pytest.raises(
        ValueError,
        match="'irises' is not a data set of the paper: pass one of iris, alizadeh-2000-v2",
    ):
        load_real("irises")


def test_rows_that_are_there_twice_are_dropped(tmp_path):
    frame = pd.DataFrame(
        {"a": [1.0, 2.0, 1.0, 4.0], "b": [1.0, 1.0, 1.0, 3.0], "label": ["x", "y", "x", "x"]}
    )
    frame.to_parquet(tmp_path / "shuttle.parquet")
    X, y = load_real("shuttle", tmp_path)
    assert X.shape == (3, 2)
    assert list(y) == [0, 1, 0]


@pytest.mark.parametrize("folder", [None, "nowhere"])
def test_without_a_file_and_without_openml_the_message_says_where_to_put_it(monkeypatch, folder):
    monkeypatch.delenv("COHIRF_DATA", raising=False)

    def no_network(**_):
        raise ConnectionError

    monkeypatch.setattr(real, "fetch_openml", no_network)
    looked = (
        "no folder was given and COHIRF_DATA is not set"
        if folder is None
        else "nowhere/coil-20.parquet does not exist"
    )
    with pytest.raises(
        FileNotFoundError, match=rf"coil-20 cannot be loaded: {looked}, and OpenML did not answer"
    ):
        load_real("coil-20", folder)


def test_openml_is_asked_by_number(monkeypatch):
    monkeypatch.delenv("COHIRF_DATA", raising=False)

    class Bunch:
        data = pd.DataFrame({"a": [1.0, 2.0, 4.0], "b": [0.0, 1.0, 0.0]})
        target = pd.Series(["p", "q", "p"])

    asked = []
    monkeypatch.setattr(real, "fetch_openml", lambda data_id, **_: asked.append(data_id) or Bunch)
    X, y = load_real("garber-2001")
    assert asked == [46779]
    assert (X.shape, list(y)) == ((3, 2), [0, 1, 0])
