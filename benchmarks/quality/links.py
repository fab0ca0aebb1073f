"""Do links between rows give better clusters, and is none broken?

13 real data sets and one of blobs, sampled to at most ``--rows`` rows, with the true number of
clusters. A share of all pairs of rows is drawn at random; those of one class are links, the others
are rows that are to be apart. Shown are the adjusted Rand index without and with links, and how many
links are broken. Then the same of two methods of active-semi-supervised-clustering: COP-K-Means, which
is to keep all links and gives up if it finds no way, and PCK-Means, which pays for each link that it
breaks. Each is stopped after ``--limit`` seconds of processor time. With ``--alone``, or without that
package (in the extra ``peers``), only ours is measured.

    python -m benchmarks.quality.links [--share 0.01] [--seeds 5] [--rows 300] [--limit 20] [--write]
    python -m benchmarks.quality.links --alone --rows 1000 [--write]
"""

from __future__ import annotations

import argparse
import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any

import numpy as np
from sklearn.metrics import adjusted_rand_score

from benchmarks._common import Table, add_write_option, all_sets, make_parser, parse
from cohirf import CoHiRF

PEERS = ("COP-K-Means", "PCK-Means")


def draw_links(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return a share of all pairs of rows, with 1 for those of one class and -1 for others."""
    n_rows = len(y)
    pairs = rng.integers(0, n_rows, (round(share * n_rows * (n_rows - 1) / 2), 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    signs = np.where(y[pairs[:, 0]] == y[pairs[:, 1]], 1, -1)
    return np.column_stack([pairs, signs])


def count_broken(labels: np.ndarray, links: np.ndarray) -> int:
    """Return how many links labels break."""
    are_together = labels[links[:, 0]] == labels[links[:, 1]]
    return int(np.count_nonzero(are_together != (links[:, 2] == 1)))


@contextmanager
def within(seconds: int) -> Iterator[None]:
    """Raise TimeoutError after so many seconds of processor time."""

    def stop(*_: Any) -> None:
        raise TimeoutError

    signal.signal(signal.SIGVTALRM, stop)
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)


def label_by_peer(
    name: str, X: np.ndarray, n_clusters: int, links: np.ndarray, seed: int, limit: int
) -> np.ndarray | None:
    """Return the labels of another method; None if it gives up."""
    from active_semi_clustering.exceptions import (  # type: ignore[import-not-found]
        ClusteringNotFoundException,
        EmptyClustersException,
    )
    from active_semi_clustering.semi_supervised.pairwise_constraints import (  # type: ignore[import-not-found]
        COPKMeans,
        PCKMeans,
    )

    np.random.seed(seed)  # the package draws from it
    together = [tuple(pair) for pair in links[links[:, 2] == 1, :2].tolist()]
    apart = [tuple(pair) for pair in links[links[:, 2] == -1, :2].tolist()]
    method = COPKMeans(n_clusters) if name == "COP-K-Means" else PCKMeans(n_clusters)
    try:
        with within(limit):
            labels: np.ndarray = method.fit(X, ml=together, cl=apart).labels_
    except (ClusteringNotFoundException, EmptyClustersException, TimeoutError):
        return None
    return labels


@dataclass
class Found:
    """The fits of one method to one data set."""

    index: list[float] = field(default_factory=list)
    broken: int = 0
    given_up: int = 0

    def add(self, y: np.ndarray, labels: np.ndarray | None, links: np.ndarray) -> None:
        """Compare labels with the classes and with the links."""
        if labels is None:
            self.given_up += 1
            return
        self.index.append(adjusted_rand_score(y, labels))
        self.broken += count_broken(labels, links)

    @property
    def mean(self) -> float:
        """The mean adjusted Rand index of the fits that ended."""
        return float(np.mean(self.index)) if self.index else np.nan


def fit_all(
    X: np.ndarray, y: np.ndarray, arguments: argparse.Namespace, *, has_peer: bool
) -> tuple[dict[str, Found], float]:
    """Return the fits of all methods, and the mean number of links."""
    n_clusters = int(y.max()) + 1
    names = ("without", "with", *(PEERS if has_peer else ()))
    fits = {name: Found() for name in names}
    n_links = []
    for seed in range(arguments.seeds):
        links = draw_links(y, arguments.share, np.random.default_rng(seed))
        n_links.append(len(links))
        model = CoHiRF(n_clusters=n_clusters, random_state=seed)
        fits["without"].add(y, model.fit(X).labels_, links)
        fits["with"].add(y, model.fit(X, links=links).labels_, links)
        for name in names[2:]:
            labels = label_by_peer(name, X, n_clusters, links, seed, arguments.limit)
            fits[name].add(y, labels, links)
    return fits, float(np.mean(n_links))


def show(figure: float) -> float | str:
    """Return a figure, or "-" if there is none."""
    return "-" if np.isnan(figure) else figure


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--share", type=float, default=0.01)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--rows", type=int, default=300)
    parser.add_argument("--limit", type=int, default=20)
    parser.add_argument("--alone", action="store_true", help="measure ours only")
    add_write_option(parser)
    arguments = parse(parser, argv, seeds=1, limit=1)
    has_peer = find_spec("active_semi_clustering") is not None and not arguments.alone
    columns = {"data set": "<17", "rows": ">5", "links": ">6.0f", "without": ">7.3f"}
    columns |= {"with": ">7.3f", "broken": ">6"}
    peers = PEERS if has_peer else ()
    for name in peers:
        columns |= {name: ">7.3f", f"broken by {name}": ">6", f"{name} gave up": ">3"}
    table = Table(columns)
    means = []
    for name, whole, classes in all_sets():
        some = np.arange(len(whole))
        if len(whole) > arguments.rows:
            some = np.random.default_rng(0).choice(len(whole), arguments.rows, replace=False)
        y = np.unique(classes[some], return_inverse=True)[1]
        fits, n_links = fit_all(whole[some], y, arguments, has_peer=has_peer)
        figures: list[Any] = [fits["without"].mean, fits["with"].mean, fits["with"].broken]
        for peer in peers:
            figures += [fits[peer].mean, fits[peer].broken, fits[peer].given_up]
        means.append(figures)
        table.row(name, len(some), n_links, *map(show, figures))
    total = np.array(means, dtype=float)
    of_all: list[Any] = [*total[:, :2].mean(axis=0).tolist(), int(total[:, 2].sum())]
    for place in range(3, total.shape[1], 3):
        broken, given_up = total[:, place + 1 : place + 3].sum(axis=0).astype(int).tolist()
        mean = float(total[:, place].mean())  # nan if some set has no fit that ended
        of_all += [mean, broken, given_up]
    table.row("mean or sum", "", "-", *map(show, of_all))
    table.write(arguments.write, "links" if has_peer else "links_alone")


if __name__ == "__main__":
    main()
