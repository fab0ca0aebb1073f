"""History: what the updates of a model did to its clusters, one short step for each update."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np

from cohirf.algorithm.grouping import IntArray
from cohirf.summary.numbers import Changes

MAX_STEPS = 200  # older ones leave
MAX_LISTED = 30  # clusters of a step by number; of the others, only the total is kept


@dataclass(frozen=True)
class Step:
    """The clusters of a model after an update; the fit, or the first update, is the first step.

    Attributes
    ----------
    update : int
        Number of the update, from 0.
    n_added : int
        Number of rows that came; negative if rows were forgotten, and 0 if models were merged.
    n_rows, n_clusters, n_noise, n_moved : int
        Rows and clusters of the model after the update, rows in no cluster, and older rows that have another number.
        Rows of weight 0 count until they are in a group of rows.
    sizes : dict
        Number of rows of the 30 largest clusters, by their number.
    born, gone : list of int
        New clusters, and those whose rows became noise or were forgotten; at most 30 of each.
    merged, split : list of pairs of int
        A cluster that went on with one that it took in, and a cluster from before with a new one that most of its old
        rows come from; at most 30 pairs of each.
    """

    update: int
    n_added: int
    n_rows: int
    n_clusters: int
    n_noise: int
    n_moved: int
    sizes: dict[int, int]
    born: list[int]
    gone: list[int]
    merged: list[tuple[int, int]]
    split: list[tuple[int, int]]

    @classmethod
    def first(cls, labels: IntArray, sizes: IntArray) -> Step:
        """Return the step of a fit: each entry of ``labels`` stands for so many rows."""
        return cls.of(Changes(0, int(sizes.sum())), labels, sizes)

    @classmethod
    def of(cls, changes: Changes, labels: IntArray, sizes: IntArray) -> Step:
        """Return the step of an update; each entry of ``labels`` after it stands for so many rows."""
        numbers, which = np.unique(labels, return_inverse=True)
        rows = np.bincount(which, weights=sizes, minlength=len(numbers)).astype(np.int64)
        clustered = numbers >= 0
        largest = np.argsort(-rows[clustered], kind="stable")[:MAX_LISTED]
        listed = np.sort(numbers[clustered][largest])
        return cls(
            update=changes.update,
            n_added=changes.n_rows,
            n_rows=int(rows.sum()),
            n_clusters=int(clustered.sum()),
            n_noise=int(rows[~clustered].sum()),
            n_moved=changes.n_moved,
            sizes=dict(zip(listed.tolist(), rows[np.searchsorted(numbers, listed)].tolist(), strict=True)),
            born=list(changes.born)[:MAX_LISTED],
            gone=changes.gone[:MAX_LISTED],
            merged=_pairs(changes.merged),
            split=_pairs(changes.split),
        )

    @property
    def events(self) -> list[str]:
        """What happened to clusters, in words; empty if all went on."""
        from_others = {new for _, new in self.split}
        apart = [number for number in self.born if number not in from_others]
        return [
            *_say("new", map(str, apart)),
            *_say("split", (f"{old} → {new}" for old, new in self.split)),
            *_say("merged", (f"{other} → {number}" for number, other in self.merged)),
            *_say("gone", map(str, self.gone)),
        ]


def continue_history(history: tuple[Step, ...], step: Step) -> tuple[Step, ...]:
    """Return a history with one more step; the oldest steps leave if there are too many.

    If an update is the first that the model knows of, nothing is told to be born in it.
    """
    is_first = not history and step.update == 0
    return (*history, replace(step, born=[]) if is_first else step)[-MAX_STEPS:]


def _pairs(joined: dict[int, list[int]]) -> list[tuple[int, int]]:
    return [(number, other) for number, others in joined.items() for other in others][:MAX_LISTED]


def _say(what: str, names: Iterable[str]) -> list[str]:
    listed = list(names)
    return [f"{what}: {', '.join(listed)}"] if listed else []
