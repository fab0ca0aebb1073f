"""Which rows a level contracts together, and which it holds aside (paper, section 2.4)."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from cohirf.algorithm.grouping import IntArray


@dataclass(frozen=True)
class Batches:
    """Disjoint sets of active rows, each in rising order."""

    contracted: list[IntArray]
    held_aside: IntArray


def count_batches(n_rows: int, batch_size: int | None) -> int:
    """Return how many batches bring their size closest to ``batch_size``; None asks for a single one.

    Rounding up instead would cut the rest of the last batching level, a little more than one batch, into two thin
    halves.
    """
    return 1 if batch_size is None else max(1, int(n_rows / batch_size + 0.5))


def split_into_batches(active: IntArray, batch_size: int | None, rng: np.random.Generator) -> Batches:
    """Split the active rows at random into batches; where there are several, hold one of them aside.

    The rows held aside stay active and untouched. They keep the density of the data alive for the next level, where
    the other batches have shrunk to their medoids.
    """
    n_batches = count_batches(len(active), batch_size)
    if n_batches == 1:
        return Batches([active], active[:0])
    shuffled = rng.permutation(active)
    bounds = np.linspace(0, len(active), n_batches + 1).astype(np.int64)
    held_aside, *contracted = (np.sort(shuffled[a:b]) for a, b in pairwise(bounds))
    return Batches(contracted, held_aside)
