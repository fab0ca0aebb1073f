"""Customers of a shop: a table as people export it, with text, dates, money and missing cells, and known segments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from cohirf.optional import import_optional

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
NO_REGION, NO_AGE, NO_SPEND, NO_COMMENT = 0.02, 0.03, 0.01, 0.7  # shares of missing cells

Draws = np.random.RandomState
Strings = NDArray[np.str_]


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
    "professionals": Segment(0.15, (34, 3.5), (3.5, 1), 900, 18, 0.02, 20.5, (0.10, 0.88, 0.02), 0.08),
    "bargain hunters": Segment(0.10, (52, 5), (8, 2), 35, 3, 0.80, 13.0, (0.90, 0.04, 0.06), 0.92),
}


def make_customers(n_rows: int = 1000, *, random_state: Any = None) -> tuple[Any, Strings]:
    r"""Draw customers of a shop, as a table that nobody has cleaned, and the segment of each.

    The table is what ``pandas.read_csv`` reads from the file that :func:`write_data` writes: money, shares and dates
    are text, and some cells are missing.

    Parameters
    ----------
    n_rows : int, default=1000
        Number of customers.
    random_state : int, RandomState instance or None, default=None
        Seed of the random numbers. Pass an int for reproducible results.

    Returns
    -------
    customers : DataFrame of pandas
        Customers in random order, with the columns ``customer_id``; ``signed_up`` (a date); ``age`` and ``tenure``
        (years); ``spend`` (of a month, in euros: ``€1,204.50``); ``orders`` (of a year); ``discounted`` (share of the
        spend: ``12.5%``); ``last_order`` (date and time); ``region`` and ``channel``; ``newsletter`` (yes or no);
        ``country`` (the same for all) and ``comment`` (free text, with commas and line breaks).
        About 3 % of ``age``, 2 % of ``region``, 1 % of ``spend`` and 70 % of ``comment`` are missing.
    segments : array of str, shape (n_rows,)
        The segment of each customer: students, families, seniors, professionals or bargain hunters. ``region`` does not
        depend on it.

    Examples
    --------
    >>> from cohirf.datasets import make_customers
    >>> customers, segments = make_customers(1000, random_state=0)
    >>> customers[["customer_id", "age", "spend", "discounted", "channel"]].head(3)
      customer_id   age      spend discounted channel
    0    C-100000  55.0     €20.94      82.7%     web
    1    C-100001  37.0  €1,615.98       6.2%     app
    2    C-100002  43.0    €233.45      25.3%     web
    >>> segments[:3].tolist()
    ['bargain hunters', 'professionals', 'families']
    """
    pandas = import_optional("pandas", "frame", "make_customers")
    columns, segments = draw_customers(n_rows, check_random_state(random_state))
    frame = pandas.DataFrame({name: np.ma.getdata(values) for name, values in columns.items()})
    for name, values in columns.items():
        frame[name] = frame[name].mask(np.ma.getmaskarray(values))
    return frame, segments


def draw_customers(n: int, rng: Draws) -> tuple[dict[str, Any], Strings]:
    """Draw columns of customers, with missing cells masked, and the segment of each."""
    kinds = list(SEGMENTS.values())
    kind = np.searchsorted(np.cumsum([one.share for one in kinds])[:-1], (rng.permutation(n) + 0.5) / n)

    def normal(name: str) -> NDArray[np.float64]:
        mean, std = np.array([getattr(one, name) for one in kinds])[kind].T
        values: NDArray[np.float64] = mean + std * rng.standard_normal(n)
        return values

    def of_kind(name: str) -> NDArray[np.float64]:
        values: NDArray[np.float64] = np.array([getattr(one, name) for one in kinds])[kind]
        return values

    tenure = np.clip(normal("tenure"), 0.1, None)
    columns: dict[str, Any] = {
        "customer_id": np.char.add("C-", (100_000 + np.arange(n)).astype(str)),
        "signed_up": (TODAY - (tenure * 365.25).astype("timedelta64[D]")).astype(str),
        "age": _drop(np.clip(normal("age"), 18, 95).round(), NO_AGE, rng),
        "tenure": tenure.round(1),
        "spend": _drop(
            np.array([f"€{one:,.2f}" for one in of_kind("spend") * np.exp(0.3 * rng.standard_normal(n))]), NO_SPEND, rng
        ),
        "orders": 1 + rng.poisson(of_kind("orders")),
        "discounted": np.char.mod("%.1f%%", 100 * np.clip(of_kind("discount") + 0.05 * rng.standard_normal(n), 0, 1)),
        "last_order": _moments(of_kind("hour") + 1.2 * rng.standard_normal(n), rng),
        "region": _drop(np.array(SHOP_REGIONS)[rng.randint(len(SHOP_REGIONS), size=n)], NO_REGION, rng),
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
    parts = zip(*(rng.randint(most, size=n) for most in (len(OPENINGS), len(REMARKS), 1_000_000)), strict=True)
    return np.array([f"{OPENINGS[first]},\n{REMARKS[second]} (order {number})." for first, second, number in parts])
