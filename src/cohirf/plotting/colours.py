"""Colours of clusters: eight hues that colour-blind readers can distinguish, then lighter and darker shades of them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Colours = NDArray[np.float64]
# Consecutive hues remain distinguishable with any type of colour blindness.
HUES = ("#0072B2", "#E69F00", "#009E73", "#D55E00", "#CC79A7", "#332288", "#56B4E9", "#999933")
# Share of black (negative) or white (positive) that is mixed into the hues in each round through them.
ROUNDS = (0.0, -0.35, 0.4, -0.2, 0.2)
NOISE = "#B3B3B3"
INK = "#333333"
FAINT = "#767676"
PAPER = "#F2F2F2"
ACCENT, SECOND_ACCENT = HUES[0], HUES[3]


def cluster_colours(clusters: ArrayLike) -> Colours:
    """Return red, green and blue from 0 to 1 for each cluster number; grey for -1.

    The colour of a cluster depends only on its number, so that it is the same in all plots. Colours repeat after 40
    clusters.

    Examples
    --------
    >>> from cohirf.plotting.colours import cluster_colours
    >>> cluster_colours([0, -1]).round(2)
    array([[0.  , 0.45, 0.7 ],
           [0.7 , 0.7 , 0.7 ]])
    """
    numbers = np.asarray(clusters, dtype=np.int64)
    n_hues = len(HUES)
    hues = np.array([to_rgb(hue) for hue in HUES])[numbers % n_hues]
    shares = np.array(ROUNDS)[numbers // n_hues % len(ROUNDS)]
    colours = mix(hues, shares)
    colours[numbers < 0] = to_rgb(NOISE)
    return colours


def mix(colours: Colours, shares: ArrayLike) -> Colours:
    """Mix each colour with white by a share from 0 to 1, or with black by one from 0 to -1."""
    shares = np.broadcast_to(np.asarray(shares, dtype=np.float64), colours.shape[:-1])[..., None]
    mixed: Colours = colours * (1 - np.abs(shares)) + np.maximum(shares, 0)
    return mixed


def readable_on(colours: Colours) -> list[str]:
    """Return black or white for text on each colour."""
    return ["black" if bright else "white" for bright in (brightness(colours) > 0.55).tolist()]


def readable_on_white(colours: Colours) -> Colours:
    """Return the colours, darker where text in them would be hard to read."""
    darkened: Colours = colours * np.minimum(1, 0.45 / np.maximum(brightness(colours), 0.01))[:, None]
    return darkened


def for_dark_page(colours: Colours) -> Colours:
    """Return the colours, all lighter by the same share: dark ones become visible, and all stay different."""
    return mix(colours, 1 / 3)


def brightness(colours: Colours) -> NDArray[np.float64]:
    """Return how bright each colour looks, from 0 to 1."""
    bright: NDArray[np.float64] = colours @ np.array([0.299, 0.587, 0.114])
    return bright


def to_rgb(code: str) -> Colours:
    """Return red, green and blue from 0 to 1 of a code such as ``#0072B2``."""
    return np.array([int(code[i : i + 2], 16) for i in (1, 3, 5)]) / 255


def to_hex(colours: Colours) -> list[str]:
    """Return each colour as a code such as ``#0072b2``."""
    parts: Any = np.rint(colours * 255).astype(int).tolist()
    return [f"#{red:02x}{green:02x}{blue:02x}" for red, green, blue in parts]
