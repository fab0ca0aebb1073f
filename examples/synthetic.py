"""Data of examples and pages: shapes for density methods, blobs, and customers of a shop with known segments;
and files of points that are larger than memory.

python -m examples.synthetic customers 5000 customers.csv
python -m examples.synthetic blobs 2000 blobs.csv --seed 1
"""

from __future__ import annotations

import csv
import os
import sys
from argparse import ArgumentParser
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import DTypeLike, NDArray
from sklearn.utils import check_random_state

from cohirf.datasets import around_corners, draw_corners, make_spheres
from cohirf.rows.grouping import row_blocks
from cohirf.store.files import replacing, sync_file

if TYPE_CHECKING:
    import pandas as pd

Points = NDArray[np.float64]
Strings = NDArray[np.str_]
Draws = np.random.RandomState
Curve = Callable[[Points], Points]  # from places between 0 and 1 to points, one in each row
Columns = dict[str, Any]  # arrays by name; missing cells are masked
Drawing = Callable[[int], tuple[Any, NDArray[Any]]]  # from a number of rows to rows and labels
FILE_BLOCK_CELLS = 2**24
# corners of the box with all shapes, in which noise is uniform
BOX_LOW = (-3.0, -4.0)
BOX_HIGH = (18.0, 13.0)


def make_shapes(
    n_samples: int = 1000, *, noise: float = 0.1, random_state: Any = None
) -> tuple[Points, NDArray[np.int64]]:
    """Draw random points of nine shapes in the plane, with uniform noise around them.

    The shapes are two worms, two spirals, a ring, and four lumps of different density. They do not
    depend on the number of points: with more points they become denser.

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
        The shape of each point, from 0 to 8, or -1 for noise. Noise is everywhere: a few of its
        points lie in shapes.

    Examples
    --------
    >>> from examples.synthetic import make_shapes
    >>> X, y = make_shapes(1000, random_state=0)
    >>> X.shape, int((y == -1).sum()), int(y.max())
    ((1000, 2), 100, 8)

    DBSCAN finds the shapes in any large number of points, with a radius that shrinks with the
    distances between them:

    >>> from sklearn.cluster import DBSCAN
    >>> X, y = make_shapes(20_000, random_state=0)
    >>> labels = DBSCAN(eps=30 / 20_000**0.5, min_samples=10).fit_predict(X)
    >>> int(labels.max()) + 1
    9
    """
    if not 0 <= noise <= 1:
        raise ValueError(f"noise={noise!r} is not valid: give a share of the points from 0 to 1.")
    rng = check_random_state(random_state)
    shares = (1 - noise) * np.array([shape.share for shape in SHAPES])
    y = np.searchsorted(np.cumsum(shares), (rng.permutation(n_samples) + 0.5) / n_samples)
    y[y == len(SHAPES)] = -1
    X = rng.uniform(BOX_LOW, BOX_HIGH, (n_samples, 2))
    for number, shape in enumerate(SHAPES):
        X[y == number] = shape.draw(int((y == number).sum()), rng)
    return X, y


@dataclass(frozen=True)
class Shape:
    """All points within a distance of a curve; a lump is that of a curve of one point."""

    share: float  # number of points, as a share of the points of all shapes
    width: float  # largest distance of a point from the place on the curve that it belongs to
    curve: Curve  # returns points of the curve at places between 0 and 1

    def draw(self, n_points: int, rng: Draws) -> Points:
        """Draw random points of the shape."""
        place, distance, angle = rng.uniform(size=(3, n_points))
        # distances with square roots of uniform numbers make points uniform in a disc
        offset: Points = np.sqrt(distance)[:, None] * direction(2 * np.pi * angle)
        return self.curve(place) + self.width * offset


def worm(start: tuple[float, float], height: float, angle: float) -> Curve:
    """Return one and a half waves of length 6, which begin at ``start`` and climb at an angle."""
    forward, upward = np.array([[np.cos(angle), np.sin(angle)], [-np.sin(angle), np.cos(angle)]])

    def curve(place: Points) -> Points:
        along = 6 * place
        across = height * np.sin(3 * np.pi * place)
        points: Points = np.asarray(start) + along[:, None] * forward + across[:, None] * upward
        return points

    return curve


def spiral(centre: tuple[float, float], radius: float, angle: float) -> Curve:
    """Return one and a half turns, which end at the radius and half a turn beyond the angle."""

    def curve(place: Points) -> Points:
        # points are about as dense near the centre as far from it
        turned = np.sqrt(0.05 + 0.95 * place)
        return np.asarray(centre) + radius * turned[:, None] * direction(3 * np.pi * turned + angle)

    return curve


def ring(centre: tuple[float, float], radius: float) -> Curve:
    """Return a circle; with radius 0, one point."""
    return lambda place: np.asarray(centre) + radius * direction(2 * np.pi * place)


def direction(angle: Points) -> Points:
    """Return vectors of length 1 at the given angles."""
    return np.column_stack([np.cos(angle), np.sin(angle)])


# Lumps have different densities: the third has 17 times that of the second. The first is inside the
# ring.
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


# -- customers of a shop: a table as people export it, with text, dates, money and missing cells

TODAY = np.datetime64("2025-01-01")  # the day of the export
SHOP_REGIONS = ("North", "South", "East", "West", "Islands")
CHANNELS = ("web", "app", "store")
OPENINGS = ("Thank you", "Hello", "Dear team", "Good morning", "To whom it may concern")
REMARKS = (
    "the parcel came two days late",
    "I am very happy with everything",
    "please call me back, preferably in the evening",
    "the size was wrong, and I sent it back",
    "could you send the invoice again",
    "the shop assistant was very helpful",
)
# shares of missing cells
NO_REGION = 0.02
NO_AGE = 0.03
NO_SPEND = 0.01
NO_COMMENT = 0.7


@dataclass(frozen=True)
class Segment:
    """Customers that are alike; shares are of the customers of the segment."""

    share: float  # of all customers
    age: tuple[float, float]  # mean and standard deviation, in years
    tenure: tuple[float, float]  # likewise
    spend: float  # median of a month, in euros
    orders: float  # mean number of a year
    discount: float  # mean share of the spend that is paid at a discount
    hour: float  # most frequent hour of an order
    channels: tuple[float, float, float]  # share that orders in each of CHANNELS
    newsletter: float  # share with the newsletter


SEGMENTS = {
    "students": Segment(0.25, (22, 2.5), (1.5, 0.6), 25, 8, 0.45, 22.5, (0.08, 0.90, 0.02), 0.10),
    "families": Segment(0.30, (40, 4), (6, 1.5), 220, 36, 0.25, 17.5, (0.85, 0.10, 0.05), 0.90),
    "seniors": Segment(0.20, (71, 4), (14, 2), 60, 14, 0.05, 10.0, (0.05, 0.01, 0.94), 0.15),
    "professionals": Segment(
        0.15, (34, 3.5), (3.5, 1), 900, 18, 0.02, 20.5, (0.10, 0.88, 0.02), 0.08
    ),
    "bargain hunters": Segment(0.10, (52, 5), (8, 2), 35, 3, 0.80, 13.0, (0.90, 0.04, 0.06), 0.92),
}


def make_customers(n_rows: int = 1000, *, random_state: Any = None) -> tuple[pd.DataFrame, Strings]:
    r"""Draw customers of a shop, as a table that nobody has cleaned, and the segment of each.

    The table is what ``pandas.read_csv`` reads from the file that :func:`write_table` writes:
    money, shares and dates are text, and some cells are missing. It takes pandas, and the files do
    not.

    Parameters
    ----------
    n_rows : int, default=1000
        Number of customers.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    customers : DataFrame of pandas
        Customers in random order, with the columns ``customer_id``; ``signed_up`` (a date); ``age``
        and ``tenure`` (years); ``spend`` (of a month, in euros: ``€1,204.50``); ``orders`` (of a
        year); ``discounted`` (share of the spend: ``12.5%``); ``last_order`` (date and time);
        ``region`` and ``channel``; ``newsletter`` (yes or no); ``country`` (the same for all) and
        ``comment`` (free text, with commas and line breaks). About 3 % of ``age``, 2 % of
        ``region``, 1 % of ``spend`` and 70 % of ``comment`` are missing.
    segments : array of str, shape (n_rows,)
        The segment of each customer: students, families, seniors, professionals or bargain hunters.
        ``region`` does not depend on it.

    Examples
    --------
    >>> from examples.synthetic import make_customers
    >>> customers, segments = make_customers(1000, random_state=0)
    >>> customers[["customer_id", "age", "spend", "discounted", "channel"]].head(3)
      customer_id   age      spend discounted channel
    0    C-100000  55.0     €20.94      82.7%     web
    1    C-100001  37.0  €1,615.98       6.2%     app
    2    C-100002  43.0    €233.45      25.3%     web
    >>> segments[:3].tolist()
    ['bargain hunters', 'professionals', 'families']
    """
    import pandas as pd

    columns, segments = draw_customers(n_rows, check_random_state(random_state))
    frame = pd.DataFrame({name: np.ma.getdata(values) for name, values in columns.items()})
    for name, values in columns.items():
        frame[name] = frame[name].mask(np.ma.getmaskarray(values))
    return frame, segments


def draw_customers(n: int, rng: Draws) -> tuple[Columns, Strings]:
    """Draw columns of customers, with missing cells masked, and the segment of each."""
    kinds = list(SEGMENTS.values())
    kind = np.searchsorted(
        np.cumsum([one.share for one in kinds])[:-1], (rng.permutation(n) + 0.5) / n
    )

    def normal(name: str) -> NDArray[np.float64]:
        mean, std = np.array([getattr(one, name) for one in kinds])[kind].T
        values: NDArray[np.float64] = mean + std * rng.standard_normal(n)
        return values

    def of_kind(name: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = np.array([getattr(one, name) for one in kinds])[kind]
        return values

    tenure = np.clip(normal("tenure"), 0.1, None)
    columns: Columns = {
        "customer_id": np.char.add("C-", (100_000 + np.arange(n)).astype(str)),
        "signed_up": (TODAY - (tenure * 365.25).astype("timedelta64[D]")).astype(str),
        "age": _drop(np.clip(normal("age"), 18, 95).round(), NO_AGE, rng),
        "tenure": tenure.round(1),
        "spend": _drop(
            np.array(
                [f"€{one:,.2f}" for one in of_kind("spend") * np.exp(0.3 * rng.standard_normal(n))]
            ),
            NO_SPEND,
            rng,
        ),
        "orders": 1 + rng.poisson(of_kind("orders")),
        "discounted": np.char.mod(
            "%.1f%%", 100 * np.clip(of_kind("discount") + 0.05 * rng.standard_normal(n), 0, 1)
        ),
        "last_order": _moments(of_kind("hour") + 1.2 * rng.standard_normal(n), rng),
        "region": _drop(
            np.array(SHOP_REGIONS)[rng.randint(len(SHOP_REGIONS), size=n)], NO_REGION, rng
        ),
        "channel": np.array(CHANNELS)[
            (of_kind("channels").cumsum(axis=1)[:, :-1] < rng.uniform(size=(n, 1))).sum(axis=1)
        ],
        "newsletter": np.where(rng.uniform(size=n) < of_kind("newsletter"), "yes", "no"),
        "country": np.full(n, "France"),
        "comment": _drop(_comments(n, rng), NO_COMMENT, rng),
    }
    return columns, np.array(list(SEGMENTS))[kind]


def _drop(values: NDArray[Any], share: float, rng: Draws) -> NDArray[Any]:
    """Mask a random share of the cells."""
    masked: NDArray[Any] = np.ma.masked_array(values, rng.uniform(size=len(values)) < share)
    return masked


def _moments(hours: NDArray[np.float64], rng: Draws) -> Strings:
    """Return days of the last quarter of the year at the given hours, as text."""
    days = TODAY - rng.randint(1, 93, size=len(hours)).astype("timedelta64[D]")
    moments = days + ((hours % 24) * 60).astype("timedelta64[m]")
    return np.char.replace(moments.astype(str), "T", " ")


def _comments(n: int, rng: Draws) -> Strings:
    parts = zip(
        *(rng.randint(most, size=n) for most in (len(OPENINGS), len(REMARKS), 1_000_000)),
        strict=True,
    )
    return np.array(
        [
            f"{OPENINGS[first]},\n{REMARKS[second]} (order {number})."
            for first, second, number in parts
        ]
    )


# -- files ------------------------------------------------------------------------------------------------------------


def make_blobs(n_rows: int, *, random_state: Any = None) -> Columns:
    """Return the columns of four spherical normal clusters with five features, and the column
    ``label``.
    """
    rng = check_random_state(random_state)
    centres = rng.uniform(-10, 10, (4, 5))
    y = rng.permutation(np.arange(n_rows) % 4)
    X = centres[y] + rng.standard_normal((n_rows, 5))
    features = X.astype(np.float32).T
    return {f"x{j}": feature for j, feature in enumerate(features)} | {"label": y}


def write_customers(path: str | Path, n_rows: int, *, random_state: Any = None) -> Path:
    """Write customers to a CSV or Parquet file, and return the path of a second one with their
    segments.
    """
    path = Path(path)
    customers, segments = draw_customers(n_rows, check_random_state(random_state))
    known = path.with_name(f"{path.stem}_segments{path.suffix}")
    write_table(path, customers)
    write_table(known, {"customer_id": customers["customer_id"], "segment": segments})
    return known


def write_table(path: Path, columns: Columns) -> None:
    """Write columns to a CSV file, or to a Parquet file, which takes PyArrow."""
    if path.suffix == ".parquet":
        write_parquet(path, columns)
    else:
        write_csv(path, columns)


def write_csv(path: Path, columns: Columns) -> None:
    """Write columns to a CSV file, with nothing in missing cells."""
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*map(_as_text, columns.values()), strict=True))


def _as_text(values: NDArray[Any]) -> list[str]:
    """Return cells as text: nothing for a missing one, and whole years without a decimal point."""
    cells = np.ma.getdata(values)
    text = np.char.mod("%g", cells) if cells.dtype == np.float64 else cells.astype(str)
    return np.where(np.ma.getmaskarray(values), "", text).tolist()


def write_parquet(path: Path, columns: Columns) -> None:
    """Write columns to a Parquet file, with nulls in missing cells."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    arrays = {
        name: pa.array(np.ma.getdata(values), mask=np.ma.getmaskarray(values))
        for name, values in columns.items()
    }
    pq.write_table(pa.table(arrays), path)


def write_data(
    kind: str,
    path: str | os.PathLike[str],
    n_samples: int,
    *,
    random_state: Any = None,
    **options: Any,
) -> Path:
    """Write synthetic data to a file, block by block, so that it may be larger than memory.

    Parameters
    ----------
    kind : {"spheres", "hypercube", "blobs"}
        The data of :func:`make_spheres` or :func:`make_hypercube`; or spherical normal clusters,
        with the options ``n_clusters=3``, ``n_features=2`` and ``spread=1.0``. With the same seed,
        the points are those of ``make_*`` if there is only one block.
    path : str or path
        The ``.npy`` file to write. An existing file is replaced. Values are float32.
    n_samples : int
        Number of rows.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.
    **options
        Other parameters of ``make_*``.

    Returns
    -------
    labels_path : path
        File with the cluster of each row: ``*_labels.npy``, of int16.

    Notes
    -----
    Files appear when they are complete, the labels just before the points: if the process is killed
    between the two, there are new labels beside the old points, or no points. Call the function
    again then.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile
    >>> from examples.synthetic import write_data
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "spheres.npy"
    >>> labels = write_data("spheres", path, 1000, noise=0, random_state=0)
    >>> np.load(path).shape, labels.name
    ((1000, 3), 'spheres_labels.npy')
    """
    if kind not in KINDS:
        raise ValueError(f"kind={kind!r} is not valid: give one of {', '.join(KINDS)}.")
    draw = KINDS[kind](check_random_state(random_state), **options)
    n_features = draw(0)[0].shape[1]
    with replacing(Path(path)) as rows, replacing(labels_file(path)) as labels:
        _write_header(rows, np.float32, (n_samples, n_features))
        _write_header(labels, np.int16, (n_samples,))
        for block in row_blocks(n_samples, max(1, FILE_BLOCK_CELLS // n_features)):
            X, y = draw(block.stop - block.start)
            rows.write(np.ascontiguousarray(X, dtype=np.float32).data)
            labels.write(y.astype(np.int16).data)
        # takes long for large files: do it before the labels are replaced, not between the two
        sync_file(rows)
    return labels_file(path)


def labels_file(path: str | os.PathLike[str]) -> Path:
    """Return the path of the labels of points that are written to the array ``path``:
    ``*_labels.npy``.
    """
    return Path(path).with_name(f"{Path(path).stem}_labels.npy")


def _write_header(file: IO[bytes], dtype: DTypeLike, shape: tuple[int, ...]) -> None:
    descr = npy_format.dtype_to_descr(np.dtype(dtype))
    npy_format.write_array_header_1_0(
        file, {"descr": descr, "fortran_order": False, "shape": shape}
    )


def _spheres(rng: Draws, **options: Any) -> Drawing:
    return partial(make_spheres, random_state=rng, **options)


def _hypercube(
    rng: Draws, *, n_clusters: int = 5, n_informative: int = 3, n_noise: int = 10
) -> Drawing:
    corners = draw_corners(n_clusters, n_informative, rng)
    return lambda n: around_corners(corners, n_noise, n, rng)


def _blobs(rng: Draws, *, n_clusters: int = 3, n_features: int = 2, spread: float = 1.0) -> Drawing:
    """Return spherical normal clusters, with centres between -10 and 10, as those of scikit-learn's
    make_blobs.
    """
    centres = rng.uniform(-10, 10, (n_clusters, n_features))

    def draw(n: int) -> tuple[NDArray[Any], NDArray[Any]]:
        y = rng.permutation(np.arange(n) % n_clusters)
        return centres[y] + spread * rng.standard_normal((n, n_features)), y

    return draw


KINDS: dict[str, Callable[..., Drawing]] = {
    "spheres": _spheres,
    "hypercube": _hypercube,
    "blobs": _blobs,
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Write a file, and print its name."""
    parser = ArgumentParser(
        prog="python -m examples.synthetic", description="Write synthetic data."
    )
    parser.add_argument("kind", choices=("blobs", "customers"))
    parser.add_argument("rows", type=int)
    parser.add_argument("file", type=Path, help="the file to write: .csv or .parquet")
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args(arguments)
    if given.kind == "customers":
        known = write_customers(given.file, given.rows, random_state=given.seed)
        sys.stdout.write(f"Written: {given.file}, {known}\n")
    else:
        write_table(given.file, make_blobs(given.rows, random_state=given.seed))
        sys.stdout.write(f"Written: {given.file}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
