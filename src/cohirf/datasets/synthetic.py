"""Synthetic data: that of the paper's experiments, and shapes for density methods; in memory or in files."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_random_state

from cohirf.datasets.customers import draw_customers
from cohirf.optional import import_optional
from cohirf.rows.grouping import row_blocks
from cohirf.sources.tables import write_tables
from cohirf.store.files import replacing, sync_file

FILE_BLOCK_CELLS = 2**24
CUBE_EDGE = 6.0  # length of an edge of the hypercube, divided by the square root of its dimension
FEW_CORNERS = 2**16  # up to this number, all corners are listed and drawn from
LABEL_COLUMN = "label"
TABLE_ENDINGS = (".parquet", ".csv")
BOX_LOW, BOX_HIGH = (-3.0, -4.0), (18.0, 13.0)  # corners of the box with all shapes, in which noise is uniform

Points = NDArray[np.float64]
Random = np.random.RandomState
Drawing = Callable[[int], tuple[Any, NDArray[Any]]]  # from a number of rows to rows and labels
Curve = Callable[[Points], Points]  # from places between 0 and 1 to points, one in each row


def make_spheres(
    n_samples: int = 1000, *, radii: Sequence[float] = (0.5, 1.0), noise: float = 0.01, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw random points on concentric spheres in three dimensions.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, divided equally among the spheres.
    radii : sequence of float, default=(0.5, 1.0)
        Radius of each sphere.
    noise : float, default=0.01
        Standard deviation of the distance of points from their sphere.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float, shape (n_samples, 3)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The sphere of each point: its index in ``radii``.

    See Also
    --------
    write_data : Writes such data to a file.

    Examples
    --------
    >>> from cohirf.datasets import make_spheres
    >>> X, y = make_spheres(100, random_state=0)
    >>> X.shape, int(y.sum())
    ((100, 3), 50)
    """
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % len(radii))
    directions = rng.standard_normal((n_samples, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    radius = np.asarray(radii)[y] + noise * rng.standard_normal(n_samples)
    return directions * radius[:, None], y


def make_hypercube(
    n_samples: int = 1000, *, n_clusters: int = 5, n_informative: int = 3, n_noise: int = 10, random_state: Any = None
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Draw random points around corners of a hypercube, and append noise features.

    The corners are drawn at random from those of a hypercube whose edges have length 6 times the square root of
    ``n_informative``. Points are normally distributed around them with variance 1. Noise features are standard normal.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points, divided equally among the clusters.
    n_clusters : int, default=5
        Number of clusters: of corners that have points.
    n_informative : int, default=3
        Dimension of the hypercube.
    n_noise : int, default=10
        Number of features that are independent of the cluster.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float32, shape (n_samples, n_informative + n_noise)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The cluster of each point.

    Raises
    ------
    ValueError
        If ``n_clusters`` is above the number of corners, ``2 ** n_informative``.

    See Also
    --------
    write_data : Writes such data to a file.

    Examples
    --------
    >>> from cohirf.datasets import make_hypercube
    >>> X, y = make_hypercube(100, n_noise=1000, random_state=0)
    >>> X.shape, X.dtype, int(y.max())
    ((100, 1003), dtype('float32'), 4)
    """
    rng = check_random_state(random_state)
    return _around_corners(_draw_corners(n_clusters, n_informative, rng), n_noise, n_samples, rng)


def make_shapes(
    n_samples: int = 1000, *, noise: float = 0.1, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Draw random points of nine shapes in the plane, with uniform noise around them.

    The shapes are two worms, two spirals, a ring, and four lumps of different density. They do not depend on the number
    of points: with more points they become denser.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of points.
    noise : float, default=0.1
        Share of the points that are uniform noise.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    X : array of float, shape (n_samples, 2)
        The points, in random order.
    y : array of int, shape (n_samples,)
        The shape of each point, from 0 to 8, or -1 for noise. Noise is everywhere: a few of its points lie in shapes.

    See Also
    --------
    write_data : Writes such data to a file.

    Examples
    --------
    >>> from cohirf.datasets import make_shapes
    >>> X, y = make_shapes(1000, random_state=0)
    >>> X.shape, int((y == -1).sum()), int(y.max())
    ((1000, 2), 100, 8)

    DBSCAN finds the shapes in any large number of points, with a radius that shrinks with the distances between them:

    >>> from sklearn.cluster import DBSCAN
    >>> X, y = make_shapes(20_000, random_state=0)
    >>> labels = DBSCAN(eps=30 / 20_000**0.5, min_samples=10).fit_predict(X)
    >>> int(labels.max()) + 1
    9
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise!r} is not valid: give a share of the points from 0 to 1.")
    rng, shares = check_random_state(random_state), (1 - noise) * np.array([shape.share for shape in SHAPES])
    y = np.searchsorted(np.cumsum(shares), (rng.permutation(n_samples) + 0.5) / n_samples)
    y[y == len(SHAPES)] = -1
    X = rng.uniform(BOX_LOW, BOX_HIGH, (n_samples, 2))
    for number, shape in enumerate(SHAPES):
        X[y == number] = shape.draw(int((y == number).sum()), rng)
    return X, y


def _draw_corners(n_clusters: int, n_informative: int, rng: Random) -> NDArray[np.float64]:
    """Draw distinct corners of a hypercube at random."""
    if n_clusters > 2**n_informative:
        raise ValueError(
            f"n_clusters={n_clusters} is above the {2**n_informative} corners of a hypercube with "
            f"n_informative={n_informative}: increase n_informative, or lower n_clusters."
        )
    if 2**n_informative <= FEW_CORNERS:
        numbers = rng.permutation(2**n_informative)[:n_clusters]
        bits = (numbers[:, None] >> np.arange(n_informative)) & 1
    else:
        bits = np.empty((0, n_informative), dtype=np.int64)
        while len(bits) < n_clusters:
            drawn = np.concatenate([bits, rng.randint(0, 2, (n_clusters - len(bits), n_informative))])
            bits = drawn[np.sort(np.unique(drawn, axis=0, return_index=True)[1])]  # without those drawn before
    corners: NDArray[np.float64] = bits * CUBE_EDGE * np.sqrt(n_informative)
    return corners


def _around_corners(
    corners: NDArray[np.float64], n_noise: int, n_samples: int, rng: np.random.RandomState
) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    n_informative = corners.shape[1]
    y = rng.permutation(np.arange(n_samples) % len(corners))
    X = np.empty((n_samples, n_informative + n_noise), dtype=np.float32)
    for block in row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // X.shape[1])):
        X[block] = rng.standard_normal(X[block].shape)
    X[:, :n_informative] += corners[y]
    return X, y


def write_data(
    kind: str, path: str | os.PathLike[str], n_samples: int, *, random_state: Any = None, **options: Any
) -> Path:
    """Write synthetic data to a file, block by block, so that it may be larger than memory.

    Parameters
    ----------
    kind : {"spheres", "hypercube", "blobs", "shapes", "customers"}
        The data of :func:`make_spheres`, :func:`make_hypercube`, :func:`make_shapes` and :func:`make_customers`; or
        spherical normal clusters, with the options ``n_clusters=3``, ``n_features=2`` and ``spread=1.0``. With the same
        seed, the points are those of ``make_*`` if there is only one block.
    path : str or path
        The file to write, with the suffix ``.npy``, ``.parquet`` or ``.csv``. An existing file is replaced. Values are
        float32.
    n_samples : int
        Number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.
    **options
        Other parameters of ``make_*``.

    Returns
    -------
    labels_path : path
        File with the cluster of each row. For ``.npy`` it is a second file, ``*_labels.npy``, of int16; tables have it
        in the column ``label``, and customers in the column ``segment`` of a second table, ``*_segments.csv``.

    Notes
    -----
    Files appear when they are complete. With ``.npy``, the labels appear just before the points: if the process is
    killed between the two, there are new labels beside the old points, or no points. Call the function again then.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from cohirf.datasets import write_data
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "spheres.npy"
    >>> labels = write_data("spheres", path, 1000, noise=0, random_state=0)
    >>> np.load(path).shape, labels.name
    ((1000, 3), 'spheres_labels.npy')
    """
    path, rng = Path(path), check_random_state(random_state)
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not valid: give one of {', '.join(KINDS)}.")
    if kind == "customers":
        return _write_customers(path, n_samples, rng)
    if path.suffix.lower() not in (".npy", *TABLE_ENDINGS):
        raise ValueError(f"path={os.fspath(path)!r} has an unknown format: give .npy, .parquet or .csv.")
    draw = KINDS[kind](rng, **options)
    spans = row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // draw(0)[0].shape[1]))
    drawn = (draw(block.stop - block.start) for block in spans)
    blocks = ((X.astype(np.float32, copy=False), y.astype(np.int16)) for X, y in drawn)
    if path.suffix.lower() in TABLE_ENDINGS:
        with replacing(path) as file:
            arrow = import_optional("pyarrow", "arrow", "Writing a table")
            tables = (arrow.table({f"x{j}": X[:, j] for j in range(X.shape[1])} | {LABEL_COLUMN: y}) for X, y in blocks)
            write_tables(file, path.suffix.lower(), tables)
        return path
    with replacing(path) as rows, replacing(labels_file(path)) as labels:
        for number, (X, y) in enumerate(blocks):
            if number == 0:
                _write_header(rows, np.float32, (n_samples, X.shape[1]))
                _write_header(labels, np.int16, (n_samples,))
            rows.write(np.ascontiguousarray(X).data)
            labels.write(y.data)
        sync_file(rows)  # takes long for large files: do it before the labels are replaced, not between the two
    return labels_file(path)


def labels_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of the labels of points that are written to the array ``path``: ``*_labels.npy``."""
    return Path(path).with_name(f"{Path(path).stem}_labels.npy")


def _spheres(rng: Random, *, radii: Sequence[float] = (0.5, 1.0), noise: float = 0.01) -> Drawing:
    return partial(make_spheres, radii=radii, noise=noise, random_state=rng)


def _hypercube(rng: Random, *, n_clusters: int = 5, n_informative: int = 3, n_noise: int = 10) -> Drawing:
    corners = _draw_corners(n_clusters, n_informative, rng)
    return lambda n: _around_corners(corners, n_noise, n, rng)


def _blobs(rng: Random, *, n_clusters: int = 3, n_features: int = 2, spread: float = 1.0) -> Drawing:
    """Return spherical normal clusters, with centres between -10 and 10, as those of scikit-learn's make_blobs."""
    centres = rng.uniform(-10, 10, (n_clusters, n_features))

    def draw(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        y = rng.permutation(np.arange(n) % n_clusters)
        return centres[y] + spread * rng.standard_normal((n, n_features)), y

    return draw


def _shapes(rng: Random, *, noise: float = 0.1) -> Drawing:
    return partial(make_shapes, noise=noise, random_state=rng)


def _customers(rng: Random) -> Drawing:
    return partial(draw_customers, rng=rng)


KINDS: dict[str, Callable[..., Drawing]] = {
    "spheres": _spheres,
    "hypercube": _hypercube,
    "blobs": _blobs,
    "shapes": _shapes,
    "customers": _customers,
}


def _write_customers(path: Path, n_samples: int, rng: Random) -> Path:
    """Write customers to a table, and their segments to a second one."""
    ending = path.suffix.lower()
    if ending not in TABLE_ENDINGS:
        raise ValueError(f"path={os.fspath(path)!r} has an unknown format: give a name that ends in .csv or .parquet.")
    columns, segments = draw_customers(n_samples, rng)
    known = path.with_name(f"{path.stem}_segments{path.suffix}")
    tables = {path: columns, known: {"customer_id": columns["customer_id"], "segment": segments}}
    for target, table in tables.items():
        with replacing(target) as file:
            masks = {name: np.ma.getmaskarray(values) for name, values in table.items()}
            if ending == ".csv":  # as most programs write it: quotes where they are needed, nothing in missing cells
                texts = {
                    name: np.char.mod("%g", one) if one.dtype.kind == "f" else np.asarray(one, dtype=str)
                    for name, one in table.items()
                }
                text = io.TextIOWrapper(file, "utf-8", newline="")
                writer = csv.writer(text, lineterminator="\n")
                writer.writerow(table)
                writer.writerows(zip(*(np.where(masks[name], "", texts[name]).tolist() for name in table), strict=True))
                text.detach()
            else:
                arrow = import_optional("pyarrow", "arrow", "Writing a table")
                cells = {name: arrow.array(np.ma.getdata(one), mask=masks[name]) for name, one in table.items()}
                write_tables(file, ending, [arrow.table(cells)])
    return known


def _write_header(file: IO[bytes], dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    descr = npy_format.dtype_to_descr(np.dtype(dtype))
    npy_format.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": shape})


@dataclass(frozen=True)
class Shape:
    """All points within a distance of a curve; a lump is that of a curve of one point."""

    share: float  # number of points, as a share of the points of all shapes
    width: float  # largest distance of a point from the place on the curve that it belongs to
    curve: Curve  # returns points of the curve at places between 0 and 1

    def draw(self, n_points: int, rng: Random) -> Points:
        """Draw random points of the shape."""
        place, distance, angle = rng.uniform(size=(3, n_points))
        # distances with square roots of uniform numbers make points uniform in a disc
        offset: Points = np.sqrt(distance)[:, None] * direction(2 * np.pi * angle)
        return self.curve(place) + self.width * offset


def worm(start: tuple[float, float], height: float, angle: float) -> Curve:
    """Return one and a half waves of length 6, which begin at ``start`` and climb at an angle."""
    forward, upward = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def curve(place: Points) -> Points:
        along, across = 6 * place, height * np.sin(3 * np.pi * place)
        points: Points = np.asarray(start) + along[:, None] * forward + across[:, None] * upward
        return points

    return curve


def spiral(centre: tuple[float, float], radius: float, angle: float) -> Curve:
    """Return one and a half turns, which end at the radius and half a turn beyond the angle."""

    def curve(place: Points) -> Points:
        turned = np.sqrt(0.05 + 0.95 * place)  # points are about as dense near the centre as far from it
        return np.asarray(centre) + radius * turned[:, None] * direction(3 * np.pi * turned + angle)

    return curve


def ring(centre: tuple[float, float], radius: float) -> Curve:
    """Return a circle; with radius 0, one point."""
    return lambda place: np.asarray(centre) + radius * direction(2 * np.pi * place)


def direction(angle: Points) -> Points:
    """Return vectors of length 1 at the given angles."""
    return np.column_stack([np.cos(angle), np.sin(angle)])


# Lumps have different densities: the third has 17 times that of the second. The first is inside the ring.
SHAPES = (
    Shape(0.15, 0.25, worm((0, 0), 1.0, 0.0)),
    Shape(0.12, 0.20, worm((0, 3), 0.8, 0.2)),
    Shape(0.13, 0.18, spiral((11, 2), 3.0, 0.0)),
    Shape(0.13, 0.18, spiral((11, 2), 3.0, np.pi)),
    Shape(0.12, 0.20, ring((3, 9), 2.0)),
    Shape(0.08, 0.80, ring((3, 9), 0.0)),
    Shape(0.07, 1.50, ring((9, 9), 0.0)),
    Shape(0.13, 0.50, ring((12.5, 9), 0.0)),
    Shape(0.07, 0.60, ring((15, 7.5), 0.0)),
)
