"""Exemplars as images: PNG files that are embedded in the page."""

from __future__ import annotations

import base64
from io import BytesIO

import numpy as np
from numpy.typing import NDArray

from cohirf.optional import import_optional

MAX_SIDE = 160  # pixels; larger images are scaled down


def make_images(features: NDArray[np.float64], shape: tuple[int, ...]) -> list[str]:
    """Return each row as an image in a data URL. All images share one scale; in grey images, large values are dark.

    Parameters
    ----------
    features : array of float, shape (n_images, n_features)
        One image per row.
    shape : tuple of int
        Height and width, or height, width and 3 colour channels.

    Returns
    -------
    images : list of str
        PNG files as data URLs.
    """
    if len(features) == 0:
        return []
    low, high = np.nanmin(features), np.nanmax(features)
    shares = np.nan_to_num((features - low) / max(high - low, np.finfo(np.float64).tiny))
    pixels = np.rint(255 * (1 - shares if len(shape) == 2 else shares)).astype(np.uint8)
    return [_to_url(image) for image in pixels.reshape(-1, *shape)]


def _to_url(pixels: NDArray[np.uint8]) -> str:
    image = import_optional("PIL.Image", "report", "A report with images").fromarray(pixels)
    image.thumbnail((MAX_SIDE, MAX_SIDE))
    file = BytesIO()
    image.save(file, "PNG", optimize=True)
    return f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode('ascii')}"
