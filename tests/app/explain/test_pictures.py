"""Clusters of images: pictures in original pixels, and names from where they are dark."""

import base64
from io import BytesIO

import numpy as np
import pytest
from PIL import Image
from sklearn.cluster import KMeans
from sklearn.preprocessing import StandardScaler

from cohirf import CoHiRF
from cohirf.app.explain.columns import make_images
from cohirf.app.explain.policy import PAGE
from cohirf.app.explain.report import summarize
from cohirf.app.explain.study import check_study


def opened(url):
    head, content = url.split(",", 1)
    assert head == "data:image/png;base64"
    return np.asarray(Image.open(BytesIO(base64.b64decode(content))))


def test_grey_images_are_dark_on_light_and_share_a_scale():
    first, second = make_images(np.array([[0.0, 16.0, 8.0, 0.0], [0.0, 4.0, 0.0, 0.0]]), (2, 2))
    assert opened(first).tolist() == [[255, 0], [128, 255]]
    assert opened(second).tolist() == [[255, 191], [255, 255]]


def test_colours_stay_as_they_are():
    (image,) = make_images(np.array([[0.0, 0.5, 1.0]]), (1, 1, 3))
    assert opened(image).tolist() == [[[0, 128, 255]]]


def test_large_images_are_made_smaller():
    (image,) = make_images(np.random.default_rng(0).random((1, 400 * 200)), (400, 200))
    assert opened(image).shape == (PAGE.image_side, PAGE.image_side // 2)


def test_equal_values_and_missing_ones_give_an_image():
    assert opened(make_images(np.ones((1, 4)), (2, 2))[0]).shape == (2, 2)
    assert opened(make_images(np.array([[np.nan, 0.0, 1.0, 1.0]]), (2, 2))[0])[0, 0] == 255


def test_no_medoids_give_no_images():
    assert make_images(np.empty((0, 4)), (2, 2)) == []


@pytest.fixture(scope="module")
def letters():
    """Images of 6 x 6 pixels with ink at the top left or in the centre.

    The fit sees scaled pixels.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(0, 20, (80, 6, 6))
    X[:40, :2, :2] = 200
    X[40:, 2:4, 2:4] = 200
    X = X.reshape(80, 36)
    scaler = StandardScaler().fit(X)
    model = CoHiRF(KMeans(2), n_clusters=2, random_state=0).fit(scaler.transform(X))
    study = check_study(model, X, None, None, pipeline=scaler)
    return X, summarize(study, "Letters", image_shape=(6, 6))


def final_clusters(summary):
    cut = summary["cuts"][summary["final"]]
    return zip(cut["names"], (summary["clusters"][place] for place in cut["clusters"]), strict=True)


def test_exemplars_and_averages_are_in_original_pixels(letters):
    X, summary = letters
    for _, cluster in final_clusters(summary):
        pixels = opened(cluster["image"]).ravel().astype(float)
        expected = X[cluster["exemplar"]]
        # standardised pixels would be those of all noise
        assert np.corrcoef(255 - pixels, expected)[0, 1] > 0.999
        assert (pixels < 30).sum() == 4
        assert (
            np.corrcoef(255 - opened(cluster["average"]).ravel().astype(float), expected)[0, 1]
            > 0.98
        )


def test_names_say_where_images_are_dark(letters):
    names = {name for name, _ in final_clusters(letters[1])}
    assert {name.split(",")[0] for name in names} <= {
        "dark top left",
        "light top left",
        "dark centre",
        "light centre",
    }
    assert len(names) == 2


def test_there_is_no_heatmap_of_pixels_and_odd_rows_are_pictures(letters):
    summary = letters[1]
    assert summary["compare"] is None
    assert all(
        row["image"] and not row["values"]
        for row in (*summary["odd"]["loose"], *summary["odd"]["border"])
    )


def test_bright_pixels_of_colour_images_are_called_light():
    X = np.random.default_rng(0).uniform(0, 0.1, (60, 3 * 3 * 3))
    X[:30, :9] = 1  # the first line
    model = CoHiRF(KMeans(2), n_clusters=2, random_state=0).fit(X)
    summary = summarize(check_study(model, X, None, None), "Colours", image_shape=(3, 3, 3))
    names = dict(zip(summary["cuts"][1]["labels"], summary["cuts"][1]["names"], strict=True))
    assert names[model.labels_[0]].startswith("light top")
    assert names[model.labels_[-1]].startswith("dark top")
