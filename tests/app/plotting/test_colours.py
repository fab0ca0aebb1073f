"""Colours: the same everywhere, and different enough for every eye."""

import numpy as np
import pytest

from cohirf.app.plotting.canvas import (
    brightness,
    cluster_colours,
    for_dark_page,
    mix,
    readable_on,
    readable_on_white,
    to_hex,
    to_rgb,
)
from cohirf.app.plotting.style import STYLE

# How light looks to eyes with three cone types, and to those that lack one (Machado et al., 2009)
EYES = {
    "all cones": np.eye(3),
    "no red cones": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "no green cones": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "no blue cones": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1, 1.089])


def lab_seen_by(eyes, colours):
    light = np.where(colours <= 0.04045, colours / 12.92, ((colours + 0.055) / 1.055) ** 2.4)
    xyz = np.clip(light @ np.transpose(EYES[eyes]), 0, 1) @ XYZ.T / WHITE
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116).T
    return np.column_stack([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("eyes", EYES)
@pytest.mark.parametrize("n_clusters", [3, 30, 300])
def test_neighbours_are_told_apart_by_all_eyes(n_clusters, eyes):
    colours = lab_seen_by(eyes, cluster_colours(np.arange(n_clusters)))
    # a difference of 2 can just be seen side by side, one of 10 at a glance
    assert np.linalg.norm(np.diff(colours, axis=0), axis=1).min() > 15


@pytest.mark.parametrize("eyes", EYES)
def test_neighbours_are_told_apart_on_a_dark_page_too(eyes):
    colours = lab_seen_by(eyes, for_dark_page(cluster_colours(np.arange(40))))
    assert np.linalg.norm(np.diff(colours, axis=0), axis=1).min() > 14


def test_the_colour_of_a_cluster_depends_on_its_number_alone():
    assert (cluster_colours([5, 0, 12])[1:] == cluster_colours([0, 12])).all()


def test_the_first_forty_colours_differ():
    n_colours = len(STYLE.hues) * len(STYLE.rounds)
    assert n_colours == 40
    assert len(np.unique(cluster_colours(np.arange(n_colours)), axis=0)) == n_colours
    assert (cluster_colours([n_colours]) == cluster_colours([0])).all()


def test_noise_is_grey():
    red, green, blue = cluster_colours([-1])[0]
    assert red == green == blue


def test_mixing_goes_towards_white_or_black():
    colours = np.array([[0.2, 0.4, 0.6]])
    assert mix(colours, 0).tolist() == colours.tolist()
    assert mix(colours, 1).tolist() == [[1, 1, 1]]
    assert mix(colours, -1).tolist() == [[0, 0, 0]]


def test_text_has_the_brightness_that_its_ground_lacks():
    assert readable_on(np.array([[0.9, 0.9, 0.9], [0.1, 0.1, 0.3]])) == ["black", "white"]
    assert brightness(readable_on_white(cluster_colours(np.arange(40)))).max() < 0.5


def test_codes_round_trip():
    assert to_hex(np.array([to_rgb(hue) for hue in STYLE.hues])) == [
        hue.lower() for hue in STYLE.hues
    ]
