"""Worms, spirals, a ring and lumps in the plane: what each shape is, and how points of it are drawn.

A shape has all points within a distance of a curve; a lump is that of a curve of one point. Shapes are the same for any
number of points, and have sharp edges: with more points they become denser, and stay apart.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
Curve = Callable[[FloatArray], FloatArray]  # from places between 0 and 1 to points, one in each row

LOW, HIGH = (-3.0, -4.0), (18.0, 13.0)  # corners of the box with all shapes, in which noise is uniform


@dataclass(frozen=True)
class Shape:
    """Points around a curve.

    Attributes
    ----------
    share : float
        Number of points, as a share of the points of all shapes.
    width : float
        Largest distance of a point from the place on the curve that it belongs to.
    curve : callable
        Returns points of the curve at places between 0 and 1.
    """

    share: float
    width: float
    curve: Curve

    def draw(self, n_points: int, rng: np.random.RandomState) -> FloatArray:
        """Draw random points of the shape."""
        place, distance, angle = rng.uniform(size=(3, n_points))
        # distances with square roots of uniform numbers make points uniform in a disc
        offset: FloatArray = np.sqrt(distance)[:, None] * direction(2 * np.pi * angle)
        return self.curve(place) + self.width * offset


def worm(start: tuple[float, float], height: float, angle: float) -> Curve:
    """Return one and a half waves of length 6, which begin at ``start`` and climb at an angle."""
    forward, upward = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def curve(place: FloatArray) -> FloatArray:
        along, across = 6 * place, height * np.sin(3 * np.pi * place)
        points: FloatArray = np.asarray(start) + along[:, None] * forward + across[:, None] * upward
        return points

    return curve


def spiral(centre: tuple[float, float], radius: float, angle: float) -> Curve:
    """Return one and a half turns, which end at the radius and half a turn beyond the angle."""

    def curve(place: FloatArray) -> FloatArray:
        turned = np.sqrt(0.05 + 0.95 * place)  # points are about as dense near the centre as far from it
        return np.asarray(centre) + radius * turned[:, None] * direction(3 * np.pi * turned + angle)

    return curve


def ring(centre: tuple[float, float], radius: float) -> Curve:
    """Return a circle."""
    return lambda place: np.asarray(centre) + radius * direction(2 * np.pi * place)


def lump(centre: tuple[float, float]) -> Curve:
    """Return one point."""
    return lambda place: np.broadcast_to(np.asarray(centre), (len(place), 2))


def direction(angle: FloatArray) -> FloatArray:
    """Return vectors of length 1 at the given angles."""
    return np.column_stack([np.cos(angle), np.sin(angle)])


# Lumps have different densities: the third has 17 times that of the second. The first is inside the ring.
SHAPES = (
    Shape(0.15, 0.25, worm((0, 0), 1.0, 0.0)),
    Shape(0.12, 0.20, worm((0, 3), 0.8, 0.2)),
    Shape(0.13, 0.18, spiral((11, 2), 3.0, 0.0)),
    Shape(0.13, 0.18, spiral((11, 2), 3.0, np.pi)),
    Shape(0.12, 0.20, ring((3, 9), 2.0)),
    Shape(0.08, 0.80, lump((3, 9))),
    Shape(0.07, 1.50, lump((9, 9))),
    Shape(0.13, 0.50, lump((12.5, 9))),
    Shape(0.07, 0.60, lump((15, 7.5))),
)


def draw_shapes(n_samples: int, noise: float, rng: np.random.RandomState) -> tuple[FloatArray, NDArray[np.int64]]:
    """Draw points of all shapes and uniform noise, in random order, and the number of the shape of each; noise has -1.

    The number of points of a shape is fixed; only their places are random.
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise!r} is not valid: give a share of the points from 0 to 1.")
    shares = (1 - noise) * np.array([shape.share for shape in SHAPES])
    y = np.searchsorted(np.cumsum(shares), (rng.permutation(n_samples) + 0.5) / n_samples)
    y[y == len(SHAPES)] = -1
    X = rng.uniform(LOW, HIGH, (n_samples, 2))
    for number, shape in enumerate(SHAPES):
        is_in = y == number
        X[is_in] = shape.draw(int(is_in.sum()), rng)
    return X, y
