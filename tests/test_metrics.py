"""Metrics other than the Euclidean: what fits, predictions and central rows make of places and of
directions.
"""

import re
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.cluster import DBSCAN, HDBSCAN, OPTICS
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import haversine_distances

from cohirf import CoHiRF, load, open_source
from cohirf.app.explain.map import place_on_globe
from cohirf.fitting import locality

# two at the date line, two poles
TOWNS = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 0, 1], [0, 0, -1], [-0.7, 0.05, 0.7]])


def make_places(n_rows, spread=0.02):
    """Return latitudes and longitudes around towns, in radians, and a tenth of them anywhere.

    And their towns.
    """
    rng = np.random.default_rng(0)
    town = rng.integers(len(TOWNS), size=n_rows)
    points = TOWNS[town] + rng.normal(size=(n_rows, 3)) * spread
    anywhere = rng.random(n_rows) < 0.1
    points[anywhere] = rng.normal(size=(anywhere.sum(), 3))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.c_[
        np.arctan2(points[:, 2], np.hypot(*points[:, :2].T)), np.arctan2(points[:, 1], points[:, 0])
    ], town


def make_directions(n_rows):
    """Return rows in a few directions, of very different lengths, and their direction."""
    rng = np.random.default_rng(1)
    number = rng.integers(4, size=n_rows)
    return (np.eye(6)[number] + rng.normal(size=(n_rows, 6)) * 0.15) * rng.uniform(
        0.1, 50, (n_rows, 1)
    ), number


DATA = {"haversine": make_places(900)[0], "cosine": make_directions(900)[0]}


@pytest.fixture(autouse=True)
def needs_kernels():
    pytest.importorskip("numba")


@pytest.mark.parametrize("metric", DATA)
@pytest.mark.parametrize(
    "options", [{}, {"cluster_selection_method": "leaf"}, {"cluster_selection_epsilon": 0.01}]
)
def test_the_spanning_tree_of_unit_vectors_has_the_clusters_of_the_metric(metric, options):
    X = DATA[metric]
    base = HDBSCAN(min_cluster_size=30, metric=metric, copy=True, **options)
    alone = clone(base).fit_predict(X)
    model = CoHiRF(base, batch_size=400, random_state=0).fit(X)
    # in one batch of more rows, because these are few
    assert model.diagnostics_[0].kind == "spanning"
    np.testing.assert_array_equal(model.labels_ < 0, alone < 0)
    assert adjusted_rand_score(model.labels_, alone) == 1


@pytest.mark.parametrize("metric", DATA)
def test_hdbscan_in_batches_files_and_on_dask_follows_the_metric(metric, monkeypatch):
    da = pytest.importorskip("dask.array")
    monkeypatch.setitem(vars(locality.LOCAL), "spanned_rows", 1)
    X = DATA[metric]
    base = HDBSCAN(min_cluster_size=30, metric=metric, copy=True)
    alone = clone(base).fit_predict(X)
    models = [
        CoHiRF(base, batch_size=300, random_state=0).fit(data)
        for data in (X, open_source(X), da.from_array(X))
    ]
    assert models[0].diagnostics_[0].n_batches > 2
    for model in models:
        assert adjusted_rand_score(np.asarray(model.labels_), alone) > 0.98


@pytest.mark.parametrize("batch_size", [None, 500])
@pytest.mark.parametrize(
    "base", [DBSCAN(0.02, metric="haversine"), HDBSCAN(30, metric="haversine", copy=True)]
)
def test_new_places_and_central_rows_know_no_date_line(base, batch_size, tmp_path):
    X, town = make_places(1500)
    model = CoHiRF(base, batch_size=batch_size, random_state=0).fit(X)
    assert model.n_clusters_ == len(TOWNS)
    own = model.labels_[
        np.array([np.flatnonzero(town == number)[:50] for number in range(len(TOWNS))])
    ]
    labels = np.array([np.bincount(of_town[of_town >= 0]).argmax() for of_town in own])
    assert sorted(labels) == list(range(len(TOWNS)))
    east = [0.0, np.pi - 1e-3]
    west = [0.0, 1e-3 - np.pi]
    pole = [np.pi / 2, 2.0]
    expected = labels[[1, 1, 2]]
    np.testing.assert_array_equal(model.predict([east, west, pole]), expected)
    assert (model.membership([east, west, pole]).argmax(axis=1) == expected).all()
    assert (
        model.score_outliers([east, west, pole]).max() < 2 < model.score_outliers([[0.7, 1.5]])[0]
    )
    assert not model.drift(X).has_drifted
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(load(tmp_path / "model").predict([east, west, pole]), expected)
    centres = np.c_[
        np.arcsin(TOWNS[:, 2] / np.linalg.norm(TOWNS, axis=1)), np.arctan2(TOWNS[:, 1], TOWNS[:, 0])
    ]
    for central in (model.exemplars_, model.medoids_):
        assert haversine_distances(central[labels], centres).diagonal().max() < 0.02


def test_the_length_of_a_row_does_not_matter_to_directions():
    X, _ = make_directions(1500)
    model = CoHiRF(DBSCAN(0.05, metric="cosine"), random_state=0).fit(X)
    assert model.n_clusters_ == 4
    np.testing.assert_array_equal(model.predict(X[:200] * 1000), model.predict(X[:200]))
    units = X / np.linalg.norm(X, axis=1, keepdims=True)
    again = CoHiRF(DBSCAN(0.05, metric="cosine"), random_state=0).fit(units)
    np.testing.assert_array_equal(again.exemplar_indices_, model.exemplar_indices_)


def test_the_map_of_a_report_is_cut_where_no_places_are():
    degrees = np.array([[-10.0, 178.0], [-11.0, -178.0], [0.0, 179.0]])
    found = place_on_globe(np.radians(degrees))
    assert (found["name"], found["axes"]) == ("Places", ["longitude", "latitude"])
    assert [name for _, name in found["lines"]["x"]] == ["178°E", "179°E", "180°", "179°W", "178°W"]
    assert [name for _, name in found["lines"]["y"]] == ["10°S", "8°S", "6°S", "4°S", "2°S", "0°"]
    assert found["width"] < found["height"]  # four degrees across, and eleven up
    first, *_, last = (at for at, _ in found["lines"]["x"])
    assert (first, last) == (pytest.approx(0, abs=1e-6), pytest.approx(found["width"], abs=1))


class Refused(OPTICS):
    """A method that lists neighbours, and is not called here."""

    def fit(self, X, y=None):
        raise KeyboardInterrupt


@pytest.mark.parametrize(
    ("base", "said"),
    [
        (
            Refused(max_eps=0.9),
            r"Refused lists all neighbours within max_eps=0.9, about \d\d,\d{3} of each of 30,000",
        ),
        (Refused(), "within max_eps=inf, about 30,000 of each"),
        (Refused(max_eps=0.01), None),
    ],
)
def test_a_fit_that_will_take_long_says_so_before_it_begins(base, said):
    X = np.random.default_rng(0).random((30_000, 2))
    with (
        warnings.catch_warnings(record=True, action="always") as caught,
        pytest.raises(KeyboardInterrupt),
    ):
        CoHiRF(base, batch_size=None).fit(X)
    told = " ".join(str(warning.message) for warning in caught)
    assert not told if said is None else re.search(said, told)


@pytest.mark.parametrize(
    ("base", "n_features", "said"),
    [
        (
            DBSCAN(0.9),
            2,
            r'Install numba, with which DBSCAN lists none: pip install "cohirf\[fast\]"\. Or lower eps\.',
        ),
        (
            DBSCAN(0.9, metric="manhattan"),
            2,
            "Lower eps, or use DBSCAN with a Euclidean, haversine or cosine metric",
        ),
        (DBSCAN(9.0), 16, r"Lower eps, or use HDBSCAN, which needs no radius\."),
    ],
)
def test_the_remedy_for_a_long_fit_of_dbscan_is_one_that_helps(base, n_features, said, monkeypatch):
    def stop(*arguments, **options):
        raise KeyboardInterrupt

    X = np.random.default_rng(0).random((30_000, n_features))
    monkeypatch.setattr("cohirf.fitting.begin.is_installed", lambda name: False)
    monkeypatch.setattr("cohirf.clusterers.grid_dbscan.GridDBSCAN.fit", stop)
    with pytest.warns(UserWarning, match=said), pytest.raises(KeyboardInterrupt):
        CoHiRF(base, batch_size=None).fit(X)
