"""A party: owner of some columns, who answers requests for labels and ranks, and for nothing
else.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cohirf import validation
from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.consensus import NOISE
from cohirf.algorithm.get_clusters import Views, WeightedBatch, label_view
from cohirf.algorithm.randomness import root_entropy
from cohirf.clusterers.grid_dbscan import computed_dbscan
from cohirf.fitting.settings import CENTRALITY
from cohirf.rows.grouping import ROUNDING, IntArray
from cohirf.rows.members import members_of, scale_mass
from cohirf.rows.storage import ArrayRows
from cohirf.sources import open_source

PARTY_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")
NOT_HELD = -2  # label and rank of a row that the party does not have


class PartyError(ValueError):
    """Parties do not fit together, or a file that they exchange is damaged or of another run."""


@dataclass(frozen=True, eq=False)
class Request:
    """What the coordinator asks all parties."""

    number: int  # from 1
    # "label" rows, "rank" the rows of clusters by how central they are, or "done" with the result
    kind: str
    level: int  # which seeds base methods
    rows: IntArray  # row numbers, sorted
    clusters: IntArray | None = (
        None  # the cluster of each of these rows, if they are to be ranked, or at the end
    )
    mass: IntArray | None = (
        None  # how many rows each of them stands for; None if that does not matter
    )


class Party:
    """The owner of some columns of the rows that several parties cluster together.

    A party answers two questions: which labels its base method gives to some rows, and in which
    order the rows of given clusters are, from the most central one on. Values, distances and means
    never leave it.

    Parameters
    ----------
    X : array, table, CSR matrix or source, shape (n_held, n_features)
        The columns of this party.
    estimator : object
        The base clustering method, as in :class:`cohirf.CoHiRF`.
    name : str, default="party"
        Name of the party: letters, digits, ``-`` and ``_``.
    views : int, default=1
        Number of runs of the base method at each level.
    max_features : int or float, default=1.0
        Number or fraction of the columns in each run.
    medoid : {"cosine", "euclidean"}, default="cosine"
        Similarity by which rows are central.
    rows : array of int, default=None
        The numbers of the rows that this party has, if it does not have all. Sorted. ``n_rows`` is
        then needed, too.
    n_rows : int, default=None
        How many rows there are with all parties together, if this party does not have all.
    ids : sequence, default=None
        Names of all rows. Parties that give them find out if their rows are in different orders.
        Only a digest of all names leaves the party.
    log : str or path, default=None
        File to which a line of JSON is appended before anything leaves the party: what it is, of
        which size, with its SHA-256.
    random_state : int, default=0
        Seed of the base method. With the same seed, a party that was killed gives the same answers
        when it is started again.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.cluster import KMeans
    >>> from sklearn.datasets import make_blobs
    >>> from cohirf.parties import Party, run
    >>> X, y = make_blobs(100, n_features=4, centers=3, random_state=1)
    >>> bank = Party(X[:, :2], KMeans(3, n_init=1), name="bank")
    >>> shop = Party(X[:, 2:], KMeans(3, n_init=1), name="shop")
    >>> run([bank, shop], n_clusters=3).n_clusters
    3
    """

    def __init__(
        self,
        X: Any,
        estimator: Any,
        *,
        name: str = "party",
        views: int = 1,
        max_features: int | float = 1.0,
        medoid: str = "cosine",
        rows: Any = None,
        n_rows: int | None = None,
        ids: Iterable[Any] | None = None,
        log: str | os.PathLike[str] | None = None,
        random_state: int = 0,
    ) -> None:
        if PARTY_NAME.fullmatch(name) is None:
            raise ValueError(f"name={name!r} is not valid: give up to 64 letters, digits, - and _.")
        if medoid not in CENTRALITY:
            raise ValueError(
                f"medoid={medoid!r} is not valid: give {' or '.join(map(repr, CENTRALITY))}."
            )
        validation.check_base_method(estimator)
        self.name = name
        source = open_source(X)
        self._X = source.take(np.arange(source.n_rows))
        self.n_rows = source.n_rows if n_rows is None else int(n_rows)
        self._held = _check_rows(rows, source.n_rows, self.n_rows)
        self.ids_digest = None
        if ids is not None:  # of the names of all rows in their order
            names = [f"{len(str(one))}:{one}" for one in ids]
            if len(names) != self.n_rows:
                raise ValueError(
                    f"ids has {len(names):,} names for {self.n_rows:,} rows: give one for each."
                )
            self.ids_digest = hashlib.sha256("".join(names).encode()).hexdigest()
        n_features = validation.count_view_features(max_features, source.n_features)
        self._views = Views(
            BaseMethod.of(computed_dbscan(estimator)), views, n_features, root_entropy(random_state)
        )
        self._centrality = CENTRALITY[medoid]
        self._log = None if log is None else Path(log)

    @property
    def n_views(self) -> int:
        """Number of label vectors in each answer."""
        return self._views.n_views

    def answer(self, request: Request) -> IntArray:
        """Return labels, a column for each view, or the rank of each row.

        ``NOT_HELD`` for rows that are not here.
        """
        self._refuse_rows(request.rows)
        wanted = np.flatnonzero(self._held[request.rows] >= 0)
        here = self._held[request.rows[wanted]]
        X = self._X if len(here) == self._X.shape[0] else self._X[here]
        if request.mass is None:
            mass = None
        else:
            mass = request.mass[wanted].astype(np.float64)
        if request.kind == "label":
            shape: tuple[int, ...] = (len(request.rows), self.n_views)
        else:
            shape = (len(request.rows),)
        reply = np.full(shape, NOT_HELD, dtype=np.int64)
        if len(wanted) > 0 and request.kind == "label":
            reply[wanted] = self._label(X, mass, request.level)
        elif len(wanted) > 0 and request.clusters is not None:
            reply[wanted] = self._rank(X, mass, request.clusters[wanted])
        return reply

    def _refuse_rows(self, rows: IntArray) -> None:
        """Refuse row numbers that do not exist, and others than each row once: a reply could tell
        more of a row.
        """
        strange = rows[(rows < 0) | (rows >= self.n_rows)]
        if len(strange):
            raise ValueError(
                f"{self.name} is asked for row {strange[0]:,}, but there are {self.n_rows:,} rows: "
                f"ask for rows from 0 to {self.n_rows - 1:,}."
            )
        if (rows[1:] <= rows[:-1]).any():
            raise ValueError(
                f"{self.name} is asked for rows in another order: ask for sorted rows, each of "
                "them once."
            )

    def note(self, what: dict[str, Any], content: bytes) -> None:
        """Write to the log what is about to leave the party."""
        if self._log is None:
            return
        line = {**what, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _label(self, X: Any, mass: Any, level: int) -> IntArray:
        if mass is None or self._views.method.weight_argument is None:
            weights = None
        else:
            weights = ArrayRows(mass)
        shown = WeightedBatch(ArrayRows(X), weights)
        n_runs = self._views.n_runs(X.shape[1])
        runs = [label_view(shown, self._views, (level, 0, view)).labels for view in range(n_runs)]
        labels = np.stack(
            [labels for labels in runs for _ in range(self.n_views // n_runs)], axis=1
        )
        return np.where(labels < 0, NOISE, labels)

    def _rank(self, X: Any, mass: Any, clusters: IntArray) -> IntArray:
        numbers, label = np.unique(clusters, return_inverse=True)
        mass = None if mass is None else scale_mass(mass, label, len(numbers))
        return rank_rows(self._centrality(members_of(X, label, len(numbers), mass)), label)


def rank_rows(scores: NDArray[np.float64], labels: IntArray) -> IntArray:
    """Return how many rows of its cluster have a higher score than each row.

    Differences by rounding do not count.
    """
    order = np.lexsort((-scores, labels))
    sorted_scores = scores[order]
    sorted_labels = labels[order]
    begins = np.append(True, sorted_labels[1:] != sorted_labels[:-1])
    start = np.maximum.accumulate(np.where(begins, np.arange(len(order)), 0))
    is_best = sorted_scores >= sorted_scores[start] - ROUNDING
    is_lower = np.append(True, sorted_scores[:-1] - sorted_scores[1:] > ROUNDING)
    is_lower &= ~is_best  # all that are near to the best one are as good
    is_lower[1:] |= is_best[:-1] & ~is_best[1:]
    first_equal = np.maximum.accumulate(np.where(begins | is_lower, np.arange(len(order)), 0))
    ranks = np.empty(len(order), dtype=np.int64)
    ranks[order] = first_equal - start
    return ranks


def _check_rows(rows: Any, n_held: int, n_rows: int) -> IntArray:
    """Return the position of each row among those that the party has, or -1."""
    numbers: IntArray = np.arange(n_held) if rows is None else np.asarray(rows)
    if len(numbers) != n_held:
        raise ValueError(
            f"rows has {len(numbers):,} numbers, but X has {n_held:,} rows: give one for each."
        )
    is_sorted = numbers.dtype.kind in "iu" and (numbers[1:] > numbers[:-1]).all()
    if (
        not is_sorted
        or not 0 <= numbers[0] <= numbers[-1] < n_rows
        or (rows is None and n_held != n_rows)
    ):
        raise ValueError(
            f"rows must have sorted, distinct numbers below n_rows={n_rows:,}, one for each of the "
            f"{n_held:,} rows of X; leave it out if X has all rows."
        )
    held = np.full(n_rows, -1)
    held[numbers] = np.arange(n_held)
    return held
