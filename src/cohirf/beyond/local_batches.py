"""Local batches: each has neighbouring rows, and a halo of rows around them, so it has the density
of the data.

A random batch of a tenth of the rows has a tenth of their density, and a radius or a number of
neighbours means something else in it. For density-based methods, batches are therefore cells
of space (see ``cells.py``). Clusters that reach over several batches are fused afterwards, in
``fuse_batches.py``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from cohirf.algorithm.batches import Batches, Run
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.levels import ActiveRows
from cohirf.algorithm.randomness import Draw, Entropy, draw_keys, generator_at
from cohirf.beyond.cells import Cells, CellsOfBlock, NoRoomError
from cohirf.beyond.merge_tree import GOLDEN
from cohirf.beyond.policy import CELL
from cohirf.rows.containers import container_of
from cohirf.rows.grouping import IntArray, index_dtype, row_blocks, take_places
from cohirf.rows.storage import ArrayRows, Engine, Rows, SerialEngine, SomeRows, Storage


@dataclass(frozen=True)
class LocalRun(Run):
    """A run of local batches."""

    # For each batch, the sorted indices of rows of other batches that the base method sees beside
    # its rows
    halos: tuple[IntArray, ...] = ()

    def with_halos(self) -> Iterator[tuple[IntArray, IntArray]]:
        """Yield the indices of the rows of each batch, and of its halo."""
        assert self.indices is not None
        for (start, stop), halo in zip(pairwise(self.bounds.tolist()), self.halos, strict=True):
            yield self.indices[start:stop], halo

    def among(self, active: IntArray | None) -> Self:
        """Return the run with other indices, as ``Run.among`` does."""
        if active is None:
            return self
        halos = tuple(active[halo] for halo in self.halos)
        return replace(super().among(active), halos=halos)

    def indices_read(self) -> IntArray:
        """Return the sorted indices of all rows that are read, halos included."""
        assert self.indices is not None
        return np.unique(np.concatenate([self.indices, *self.halos]))


@dataclass(frozen=True)
class LocalBatches(Batches):
    """Batches of neighbours: the rows of one cell, sorted, cell after cell, and the halo of each.

    See ``cells.py``.
    """

    halo: IntArray = field(default_factory=lambda: np.arange(0))
    halo_bounds: IntArray = field(default_factory=lambda: np.arange(0))
    is_exact: bool = False  # whether the halos have all rows that the labels of a batch depend on

    @property
    def home(self) -> IntArray:
        """Positions, cell after cell."""
        assert self.order is not None
        return self.order

    def without_halos(self) -> LocalBatches:
        """Return the batches with empty halos."""
        return replace(self, halo=np.arange(0), halo_bounds=np.zeros_like(self.halo_bounds))

    def find_batches(self, positions: IntArray) -> IntArray:
        """Return the number of the batch that each position is at home in."""
        batch = np.empty(len(self.home), dtype=np.int32)
        for number, (start, stop) in enumerate(pairwise(self.bounds.tolist())):
            batch[self.home[start:stop]] = number
        return batch[positions]

    def runs(self, cuts: IntArray) -> Iterator[LocalRun]:
        """Yield the runs; ``cuts`` are the sorted numbers of the batches at which a run begins."""
        for first, stop in pairwise([*cuts.tolist(), self.n_batches]):
            of_run = self.bounds[first : stop + 1]
            ends = self.halo_bounds[first : stop + 1]
            yield LocalRun(
                of_run - of_run[0],
                np.arange(0),
                self.first_number + first,
                indices=self.home[of_run[0] : of_run[-1]],
                halos=tuple(self.halo[start:end] for start, end in pairwise(ends)),
            )


@dataclass(frozen=True)
class Locality:
    """How local batches are made."""

    batch_size: int  # number of rows of a batch, its halo included
    overlap: float  # number of rows in a halo, in multiples of the rows of its cell
    # Width of the halos that makes the result that of the base method on all rows; None if there is
    # no such width
    reach: float | None
    entropy: Entropy  # entropy of the fit, which seeds the sample
    grows: bool = False  # whether batches become larger until halos of this width have room
    # Takes rows and their numbers, and returns points: those near each other are put into one
    # batch. None if the rows are such points.
    embed: Callable[[Any, IntArray], Any] | None = None

    def with_larger_batches(self) -> Locality:
        """Return the same with twice as many rows in a batch."""
        return replace(self, batch_size=2 * self.batch_size)


def make_local_batches(
    active: ActiveRows,
    locality: Locality,
    column_means: NDArray[np.floating[Any]] | None,
    storage: Storage,
    engine: Engine | None = None,
) -> LocalBatches:
    """Return local batches of the active rows; ``engine`` assigns them to cells, block by block."""
    rows = _FilledPoints(active.values, active.index, column_means, locality.embed)
    cells, has_room, locality = plan_cells(rows, locality)
    # it would send the index of all rows with each block
    if engine is None or active.index is not None:
        engine = SerialEngine()
    assigner = _Assigner(rows, cells, locality, engine)
    batches = assigner.assign(storage)
    if locality.grows and assigner.is_thinned:
        return make_local_batches(
            active, locality.with_larger_batches(), column_means, storage, engine
        )
    return replace(batches, is_exact=has_room and not assigner.is_thinned)


def grown_batch_size(
    values: Rows, locality: Locality, column_means: NDArray[np.floating[Any]] | None
) -> int:
    """Return the size to which batches grow until their halos have room, as a sample of the rows
    tells.
    """
    rows = _FilledPoints(values, None, column_means, locality.embed)
    return plan_cells(rows, locality)[2].batch_size


def sort_by_batch(active: ActiveRows, storage: Storage) -> ActiveRows:
    """Return the same rows, read once and stored batch after batch, so that those of a batch are
    read at once.
    """
    values, n_rows, batches = active.values, active.values.n_rows, active.batches
    assert isinstance(batches, LocalBatches)
    first = values.take(np.arange(min(1, n_rows)))
    if not container_of(first).is_dense:
        return active
    place = storage.vector(n_rows, index_dtype(n_rows))
    for block in row_blocks(active.n_rows, CELL.assigned_rows):
        place[active.at(batches.home[block])] = np.arange(block.start, block.stop)
    if active.index is not None:  # rows of weight 0 are in no batch, and come last
        place[np.setdiff1d(np.arange(n_rows), active.index, assume_unique=True)] = np.arange(
            active.n_rows, n_rows
        )
    matrix = storage.matrix(n_rows, first.shape[1], first.dtype)
    for block in row_blocks(n_rows, CELL.assigned_rows):
        matrix[place[block]] = values.take(np.arange(block.start, block.stop))
        storage.release()
    return replace(active, values=SomeRows(ArrayRows(matrix), place))


def plan_cells(rows: _FilledPoints, locality: Locality) -> tuple[Cells, bool, Locality]:
    """Return cells, built on a sample, whether they have room for halos that are as wide as they
    should be, and how.

    The last is the given ``locality``, or the same with batches that are large enough.
    """
    n_rows = rows.n_rows
    size = locality.batch_size
    rng = generator_at(locality.entropy, Draw.SPLIT, 1)
    n_sampled = min(n_rows, max(CELL.sample, math.ceil(CELL.sampled_per_cell * n_rows / size)))
    positions: IntArray = np.arange(n_rows)
    if n_sampled < n_rows:
        positions = np.sort(rng.choice(n_rows, n_sampled, replace=False))
    sample = rows.take(positions)
    keys = rows.draw_keys(positions, locality.entropy)
    while True:
        cells = _build_with_room(sample, keys, locality, n_rows)
        if cells is not None:
            return cells, True, locality
        if not locality.grows:
            break
        locality = locality.with_larger_batches()
    overlap = locality.overlap
    return (
        Cells.build(sample, keys, math.ceil((1 + overlap) * n_rows / size), overlap=overlap),
        False,
        locality,
    )


def _build_with_room(
    sample: Any, keys: NDArray[np.float64], locality: Locality, n_rows: int
) -> Cells | None:
    """Return cells with room for halos that are as wide as they should be.

    None if there are none.
    """
    size = locality.batch_size
    if n_rows <= CELL.largest_batch * size:
        return Cells.build(sample, keys, 1)
    if locality.reach is None:
        return None
    most = CELL.largest_batch * size * len(keys) / n_rows
    build = partial(Cells.build, sample, keys, reach=locality.reach, most=most)
    # if the smallest cells have no room for a halo of this width, larger ones have none either
    smallest, *larger = CELL.smaller
    cells = None
    with suppress(NoRoomError):
        cells = build(math.ceil(smallest * n_rows / size))
        for smaller in larger:
            with suppress(NoRoomError):
                return build(math.ceil(smaller * n_rows / size))
    return cells


@dataclass(frozen=True)
class _FilledPoints:
    """Active rows by position, without missing values, as points whose Euclidean distances say what
    is near.
    """

    values: Rows
    index: IntArray | None
    column_means: NDArray[np.floating[Any]] | None
    embed: Callable[[Any, IntArray], Any] | None

    @property
    def n_rows(self) -> int:
        return self.values.n_rows if self.index is None else len(self.index)

    def take(self, positions: IntArray) -> Any:
        rows = self._at(positions)
        X = fill_missing(self.values.take(rows), self.column_means)
        return X if self.embed is None else self.embed(X, rows)

    def _at(self, positions: IntArray) -> IntArray:
        return positions if self.index is None else self.index[positions]

    def draw_keys(self, positions: IntArray, entropy: Entropy) -> NDArray[np.float64]:
        """Return a random number for each row, which depends on its index and the entropy alone."""
        return draw_keys(self._at(positions), entropy)


class _Assigner:
    """Assigns rows to cells in blocks: once to count them, once to put them into their place."""

    def __init__(
        self, rows: _FilledPoints, cells: Cells, locality: Locality, engine: Engine
    ) -> None:
        self._rows = rows
        self._cells = cells
        self._locality = locality
        self._engine = engine
        self._known: dict[int, CellsOfBlock] = {}
        self._known_bytes = 0
        # share of the rows in the halo of each cell that are kept, so that no batch is too large
        self._share = np.ones(cells.n_cells)
        self.is_thinned = (
            False  # whether some halos were too large, and a random part of their rows was left out
        )

    def assign(self, storage: Storage) -> LocalBatches:
        """Return the batches; positions are kept in ``storage``."""
        n_home, n_halo = self._count()
        room = np.maximum(
            CELL.largest_batch * self._locality.batch_size - n_home, self._locality.overlap * n_home
        )
        self._share = np.where(n_home > 0, np.minimum(1.0, room / np.maximum(n_halo, 1)), 0.0)
        self.is_thinned = bool((self._share[n_home > 0] < 1).any())
        if self._leaves_rows_out:
            n_home, n_halo = self._count()
        bounds, halo_bounds = (np.append(0, np.cumsum(counts)) for counts in (n_home, n_halo))
        kind = index_dtype(self._rows.n_rows)
        home, halo = (storage.vector(int(ends[-1]), kind) for ends in (bounds, halo_bounds))
        next_home = bounds[:-1].copy()
        next_halo = halo_bounds[:-1].copy()
        for assigned in self._blocks():
            home[take_places(assigned.home, next_home)] = np.arange(
                assigned.start, assigned.start + len(assigned.home)
            )
            halo[take_places(assigned.cells, next_halo)] = assigned.rows
        has_rows = np.append(True, n_home > 0)
        return LocalBatches(bounds[has_rows], home, halo=halo, halo_bounds=halo_bounds[has_rows])

    @property
    def _leaves_rows_out(self) -> bool:
        return bool((self._share < 1).any())  # a cell without rows needs no halo

    def _count(self) -> tuple[IntArray, IntArray]:
        """Return the number of rows at home in each cell, and in its halo."""
        n_cells = self._cells.n_cells
        counts = np.zeros((2, n_cells), dtype=np.int64)
        for assigned in self._blocks():
            counts[0] += np.bincount(assigned.home, minlength=n_cells)
            counts[1] += np.bincount(assigned.cells, minlength=n_cells)
        return counts[0], counts[1]

    def _blocks(self) -> Iterator[CellsOfBlock]:
        """Yield blocks of assigned rows, in order."""
        n_assigned = max(
            CELL.assigned_rows,
            min(CELL.most_assigned, CELL.assigned_per_cell * self._cells.n_cells),
        )
        blocks = list(row_blocks(self._rows.n_rows, n_assigned))
        new = [block for block in blocks if block.start not in self._known]
        shared = replace(self._rows, values=self._engine.share(self._rows.values))
        tasks = ((BlockTask(shared, block), self._cells, self._locality.entropy) for block in new)
        if new:
            found = iter(self._engine.run(assign_block, tasks, len(new)))
        else:
            found = iter(())
        for block in blocks:
            if block.start in self._known:
                assigned = self._known[block.start]
            else:
                assigned = next(found)
            if block.start not in self._known and self._known_bytes < CELL.known_bytes:
                self._known[block.start] = assigned
                self._known_bytes += assigned.nbytes
            if self._leaves_rows_out:
                keys = self._rows.draw_keys(assigned.rows, self._locality.entropy)
                # These digits of the random numbers decide nothing else. So rows of one spot, which
                # chance has divided between several cells, are in the halos of all of them.
                kept = (keys * 2**36 + assigned.cells * GOLDEN) % 1 < self._share[assigned.cells]
                assigned = replace(assigned, rows=assigned.rows[kept], cells=assigned.cells[kept])
            yield assigned


@dataclass(frozen=True)
class BlockTask:
    """A block of rows to assign to cells."""

    rows: _FilledPoints
    block: slice

    def rows_needed(self) -> IntArray:
        """Return the numbers of its rows."""
        return np.arange(self.block.start, self.block.stop)

    def with_values(self, values: Any) -> BlockTask:
        """Return the task with other values."""
        return replace(self, rows=replace(self.rows, values=values))


def assign_block(task: BlockTask, cells: Cells, entropy: Entropy) -> CellsOfBlock:
    """Assign a block of rows to cells."""
    positions = task.rows_needed()
    return cells.assign(
        task.rows.take(positions), task.rows.draw_keys(positions, entropy), task.block.start
    )
