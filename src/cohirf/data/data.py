"""What a fit asks about its data, wherever the rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import EqualBlocks, LocalBatches
from cohirf.algorithm.contract_batch import Contraction
from cohirf.algorithm.engine import Engine
from cohirf.algorithm.grouping import IntArray
from cohirf.algorithm.levels import ActiveRows, Resources
from cohirf.algorithm.local_batches import Locality, make_local_batches
from cohirf.algorithm.population import Weights
from cohirf.algorithm.storage import Rows, Storage
from cohirf.data.first_level import FirstLevel
from cohirf.engines import LocalEngine, StreamingEngine

# Within these limits, products of weights and values neither overflow nor vanish: squares of values are finite.
SMALLEST_WEIGHT, LARGEST_TOTAL = 1e-150, 1e150


@dataclass(frozen=True)
class Setup:
    """What the first level needs beside the rows.

    Attributes
    ----------
    contraction : Contraction
        How batches are contracted.
    n_jobs : int or None
        Number of jobs on this machine.
    make_resources : callable
        Returns the resources of the level, given where it runs and where its results are kept.
    locality : Locality or None
        How local batches are made; None for other batches.
    label_batches : callable or None
        Labels the rows of local batches in one go, if the base method is not called on each.
    apart : array of int or None
        A number for each row that takes part: rows with different ones do not fuse. Not for local batches.
    """

    contraction: Contraction
    n_jobs: int | None
    make_resources: Callable[[Engine, Storage], Resources]
    locality: Locality | None = None
    label_batches: Callable[[ActiveRows, LocalBatches, Engine, Storage], IntArray] | None = None
    apart: IntArray | None = None

    def engine(self) -> Engine:
        """Return the engine of the first level on this machine.

        Local batches are not streamed to a device: each is put there, with its halo, when it is computed.
        """
        device = self.contraction.device
        is_streamed = isinstance(device, str) and self.locality is None
        return StreamingEngine(device) if is_streamed else LocalEngine(self.n_jobs)

    def make_local(self, active: ActiveRows, column_means: Any, storage: Storage, engine: Engine) -> ActiveRows:
        """Return the active rows with local batches, which ``engine`` forms."""
        assert self.locality is not None
        return replace(active, batches=make_local_batches(active, self.locality, column_means, storage, engine))

    def label(self, active: ActiveRows, engine: Engine, storage: Storage) -> ActiveRows:
        """Return the active rows with their labels, if the base method is not called on each batch.

        ``storage`` is needed for this alone, and can be discarded then.
        """
        if self.label_batches is None or not isinstance(active.batches, LocalBatches):
            return active
        started = perf_counter()
        labels = self.label_batches(active, active.batches, engine, storage)
        batches = active.batches.without_halos()
        return replace(active, labels=labels, batches=batches, label_seconds=perf_counter() - started)


class DataWeights(Weights, Protocol):
    """Sample weights of the rows."""

    def describe(self) -> Any:
        """Return what identifies the weights: an array, or a text."""


class Data(Protocol):
    """The data of a fit."""

    @property
    def rows(self) -> Rows:
        """The rows, by number."""

    @property
    def column_means(self) -> NDArray[np.floating[Any]] | None:
        """Fill value for missing cells in each column; None if no cell can be missing."""

    @property
    def n_features(self) -> int:
        """Number of features."""

    @property
    def dtype(self) -> Any:
        """Type of the values."""

    @property
    def device(self) -> Any:
        """An array without rows on the device that the data is on; None if it is not on a device."""

    @property
    def reading(self) -> Any:
        """How rows are assigned to the batches of the first level, beyond what the parameters say."""

    def take(self, rows: IntArray) -> Any:
        """Return the given rows (distinct, in any order)."""

    def fingerprint(self) -> str:
        """Return a short text that identifies the values."""

    def check_weights(self, sample_weight: Any) -> DataWeights:
        """Return valid sample weights."""

    def room(self, memory_limit: int | None, n_jobs: int | None) -> dict[str, Any]:
        """Return the memory that batches may use, as arguments of ``plan_batches``."""

    def later_engine(self, n_jobs: int | None) -> Engine:
        """Return the engine of later levels."""

    def contract_first_level(self, weights: Any, setup: Setup) -> FirstLevel:
        """Contract the rows where they are; ``weights`` come from ``check_weights``."""

    def contract_blocks(self, before: Any, start: int, mass: Any, blocks: EqualBlocks, setup: Setup) -> FirstLevel:
        """Contract blocks of rows in order: of the values in ``before``, followed by these rows, from ``start`` on.

        ``mass`` is the weight of all rows of these blocks, or None.
        """

    def put_vector(self, vector: Any) -> Any:
        """Return a vector with an entry for each row where the rows are; it may be there already."""


class NewData(Protocol):
    """Rows for a fitted model."""

    @property
    def dtype(self) -> Any:
        """Type of the values."""

    def map_rows(self, function: Callable[[Any], Any], n_columns: int | None, dtype: Any) -> Any:
        """Apply ``function`` to blocks of rows; the result has ``n_columns`` columns, or is a vector if None."""


def check_range(smallest: float, total: float) -> None:
    """Raise if sample weights, of which this is the smallest positive one and the sum, cannot be computed with."""
    if not total <= LARGEST_TOTAL:
        raise ValueError(
            f"sample_weight has sum {total:.3g}, and sums of more than {LARGEST_TOTAL:g} would overflow: divide all "
            f"weights by the same number."
        )
    if smallest < SMALLEST_WEIGHT:
        raise ValueError(
            f"sample_weight has positive values down to {smallest:.3g}, and those below {SMALLEST_WEIGHT:g} would "
            f"vanish in products: set them to 0, or multiply all weights by the same number."
        )
