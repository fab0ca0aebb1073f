"""What is the same in all updates of a model: its entropy, its batch size, and what its base method is like."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from cohirf.algorithm.base_method import BaseMethod
from cohirf.algorithm.batches import count_batches
from cohirf.algorithm.contract_batch import Mass
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.randomness import root_entropy
from cohirf.data import Data
from cohirf.fitting.begin import check_weights, settle
from cohirf.fitting.contraction import Settled
from cohirf.neighbours.landmarks import MAX_LANDMARKS, Landmarks
from cohirf.summary.model import Model, base_method_of, state_of
from cohirf.summary.row_map import RowMap
from cohirf.summary.summary import Batches, Pending, Summary

# A method that finds the number of clusters itself depends on the density of rows. So all rows are kept, and an update
# is a fit to all of them: of more rows than these, it would take too long.
KEPT_ROWS = 2**18


@dataclass(frozen=True)
class Kind:
    """What an update does with rows.

    Attributes
    ----------
    is_told : bool
        Whether the base method is told how many clusters to find. Its rows are then contracted in blocks; of other
        methods, which depend on the density of rows, all rows are kept.
    block_size : int
        Number of rows of a block.
    """

    is_told: bool
    block_size: int

    @classmethod
    def of(cls, model: Model, batch_size: int | None) -> Kind:
        """Return what the updates of a model do."""
        is_told = BaseMethod.of(base_method_of(model)).told is not None
        return cls(is_told, MAX_LANDMARKS if batch_size is None else batch_size)

    def keeps_all(self, n_rows: int) -> bool:
        """Return whether a model of ``n_rows`` rows keeps all of them, so that an update is a fit to all."""
        return count_batches(n_rows, self.block_size) == 1 if self.is_told else n_rows <= KEPT_ROWS


def begin_summary(model: Model, data: Data, sample_weight: Any) -> Summary:
    """Return the summary of a model that has seen no rows; the batch size may be measured on the first ones.

    Few rows would fit into a batch that is too small for those that come later. Then blocks have their default size.
    """
    weights = check_weights(model, data, sample_weight)
    entropy = root_entropy(model.random_state)
    if isinstance(model.batch_size, str) and data.rows.n_rows <= MAX_LANDMARKS:
        settled = Settled(entropy, None)
    else:
        settled = settle(model, data, entropy, weights)
    return Summary(
        entropy=settled.entropy,
        batch_size=settled.batch_size,
        leaves=None,
        row_map=RowMap(),
        pending=Pending(),
        batches=Batches.none(0),
        labels=np.empty(0, dtype=np.int64),
        next_number=0,
        update_rows=(),
        is_settled=False,
    )


def settled_of(summary: Summary) -> Settled:
    """Return entropy and batch size."""
    return Settled(summary.entropy, summary.batch_size)


def known_landmarks(model: Model) -> tuple[IntArray, Landmarks]:
    """Return row numbers and landmarks of a model whose values are those of rows, and not of stand-ins.

    The others are leaves of the model, which an update chooses landmarks from anyway.
    """
    state = state_of(model)
    rows, landmarks = state.landmark_rows, state.landmarks
    unknown = np.arange(0) if state.summary is None else state.summary.unknown_rows
    if len(unknown) == 0:
        return rows, landmarks
    some = ~np.isin(rows, unknown)
    return rows[some], Landmarks(landmarks.points[some], landmarks.labels[some], metric=landmarks.metric)


def load_weights(model: Model, data: Data, sample_weight: Any) -> Mass | None:
    """Return the weights of the rows of an update; None without weights."""
    weights = check_weights(model, data, sample_weight)
    return None if weights is None else weights.take(np.arange(data.rows.n_rows))


def stack_weights(first: Mass | None, n_first: int, second: Mass | None, n_second: int) -> Mass | None:
    """Concatenate weights; None stands for weights of 1."""
    if first is None and second is None:
        return None
    parts = ((first, n_first), (second, n_second))
    return np.concatenate([np.ones(n) if weights is None else weights for weights, n in parts])
