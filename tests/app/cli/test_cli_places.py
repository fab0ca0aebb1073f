"""cohirf fit --places: clusters of places on the globe, from a file with degrees."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import DBSCAN

from cohirf import load
from cohirf.app.preparation import prepare

EARTH_KM = 6371.0088


@pytest.fixture
def places(folder):
    """A table with towns, one of them on both sides of the date line.

    Longitude comes first, and has other columns.
    """
    rng = np.random.default_rng(0)
    towns = np.array([[-17.0, 180.0], [48.1, 11.6], [52.5, 13.4]])
    degrees = towns[np.arange(600) % 3] + rng.normal(size=(600, 2)) * 0.03
    degrees[:, 1] = (degrees[:, 1] + 180) % 360 - 180
    table = pd.DataFrame(
        {"lon": degrees[:, 1], "visits": rng.integers(9, size=600), "lat": degrees[:, 0]}
    )
    table.to_parquet("places.parquet")
    return table


def fit(cohirf, *options, data="places.parquet", estimator="dbscan"):
    return cohirf("fit", data, "--estimator", estimator, "--places", "lat", "lon", *options)


@pytest.mark.parametrize(("eps", "kilometres"), [("2km", 2.0), ("2000m", 2.0), ("1.5mi", 2.414016)])
def test_clusters_are_those_of_the_haversine_metric(cohirf, places, eps, kilometres):
    assert fit(cohirf, "--eps", eps, "--out", "labels.csv", "--model", "model.cohirf").code == 0
    base = DBSCAN(kilometres / EARTH_KM, metric="haversine").fit(
        np.radians(places[["lat", "lon"]].to_numpy())
    )
    labels = pd.read_csv("labels.csv")["cluster"].to_numpy()
    np.testing.assert_array_equal(labels < 0, base.labels_ < 0)
    assert labels.max() == base.labels_.max()
    assert load("model.cohirf").estimator.eps == pytest.approx(kilometres / EARTH_KM)


def test_new_places_are_found_and_the_report_has_a_map(cohirf, places):
    assert fit(cohirf, "--eps", "5km", "--model", "model.cohirf", "--report", "map.html").code == 0
    pd.DataFrame({"lat": [-17.0, -17.0, 48.1], "lon": [179.99, -179.99, 11.6]}).to_csv(
        "new.csv", index=False
    )
    assert cohirf("predict", "model.cohirf", "new.csv", "--out", "new_labels.csv").code == 0
    new = pd.read_csv("new_labels.csv")["cluster"].to_list()
    assert new[0] == new[1] != new[2]
    assert cohirf("report", "model.cohirf", "places.parquet", "--out", "again.html").code == 0


def test_hdbscan_needs_no_radius(cohirf, places):
    assert (
        fit(
            cohirf, "--param", "min_cluster_size=50", "--param", "copy=true", estimator="hdbscan"
        ).code
        == 0
    )


def test_bad_coordinates_are_named_with_their_lines(cohirf, places):
    bad = places.astype(object)
    bad.loc[3, "lat"], bad.loc[7, "lon"], bad.loc[[11, 12], "lat"] = 95.2, "west", None
    bad.to_csv("bad.csv", index=False)
    outcome = fit(cohirf, "--eps", "2km", data="bad.csv")
    assert outcome.code == 2
    said = (
        "column 'lat' has 3 cells that are not a latitude, a number up to 90: line 5: '95.2', "
        "line 13: '', line 14: ''"
    )
    assert (
        f"{said}; give latitude, then longitude, in degrees, and leave out rows that lack one"
        in outcome.err
    )
    assert (
        "column 'lon' has 1 cell that is not a longitude, a number up to 360: line 9: 'west'"
        in outcome.err
    )
    array = np.radians(places[["lat", "lon"]].to_numpy())
    array[5] = [91, 0]
    with pytest.raises(
        ValueError, match=r"column 0 has 1 cell that is not a latitude.*row 5: '91'"
    ):
        prepare(array, places=(0, 1))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (
            ["--eps", "2"],
            "'2' is not a length on the globe: give a number and km, m or mi, such as 2km.",
        ),
        (["--eps", "2..5km"], "'2..5km' is not a length"),
        ([], "needs a radius for DBSCAN: give --eps"),
        (
            ["--estimator", "kmeans", "--eps", "2km"],
            "--places needs --estimator dbscan, hdbscan or optics.",
        ),
        (
            ["--eps", "2km", "--places", "lat", "width"],
            "--places width: places.parquet has no such column",
        ),
        (["--eps", "2km", "--drop", "lat"], "give two columns that have no other role"),
    ],
)
def test_options_that_make_no_sense_are_refused(cohirf, places, options, said):
    outcome = fit(cohirf, *options)
    assert outcome.code == 2
    assert said in outcome.err


def test_a_radius_without_places_is_that_of_the_base_method(cohirf, places):
    assert (
        cohirf(
            "fit",
            "places.parquet",
            "--estimator",
            "dbscan",
            "--eps",
            "0.5",
            "--model",
            "model.cohirf",
        ).code
        == 0
    )
    assert load("model.cohirf").estimator.eps == 0.5


def test_places_and_a_radius_without_a_base_method_mean_dbscan(cohirf, places):
    outcome = cohirf(
        "fit", "places.parquet", "--places", "lat", "lon", "--eps", "2km", "--model", "m.cohirf"
    )
    assert "chosen: --estimator dbscan --seed 0\n" in outcome.err
    assert isinstance(load("m.cohirf").estimator, DBSCAN)
    assert (
        "chosen: --estimator dbscan --scale none"
        in cohirf("fit", "places.parquet", "--eps", "0.5").err
    )


def test_new_places_that_are_wrong_are_named_in_degrees_and_by_their_lines(cohirf, places):
    assert fit(cohirf, "--eps", "5km", "--model", "m.cohirf").code == 0
    pd.DataFrame({"lat": [48.0, 148.0, None], "lon": [11.0, 11.0, 11.0]}).to_csv(
        "new.csv", index=False
    )
    said = cohirf("predict", "m.cohirf", "new.csv", "--out", "labels.csv").err
    assert (
        "column 'lat' has 2 cells that are not a latitude, a number up to 90: line 3: '148.0', "
        "line 4: ''" in said
    )
