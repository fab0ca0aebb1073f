"""Medoids as images in data URLs."""

import base64
from io import BytesIO

import numpy as np
from PIL import Image

from cohirf.report.images import MAX_SIDE, make_images


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
    assert opened(image).shape == (MAX_SIDE, MAX_SIDE // 2)


def test_equal_values_and_missing_ones_give_an_image():
    assert opened(make_images(np.ones((1, 4)), (2, 2))[0]).shape == (2, 2)
    assert opened(make_images(np.array([[np.nan, 0.0, 1.0, 1.0]]), (2, 2))[0])[0, 0] == 255


def test_no_medoids_give_no_images():
    assert make_images(np.empty((0, 4)), (2, 2)) == []
