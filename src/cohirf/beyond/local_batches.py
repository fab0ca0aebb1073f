"""Local batches: each has neighbouring rows, and a halo of rows around them, so it has the density
of the data.

A random batch of a tenth of the rows has a tenth of their density, and a radius or a number of
neighbours means something else in it. For methods that go by density, batches are therefore cells
of space (see ``cells.py``). Clusters that reach over several batches are fused by the rows that
these have in common: ``find_parts`` finds which, and ``fuse_leaves`` fuses them.

Two batches of neighbours have rows in common: rows at home in one, and in the halo of the other.
Clusters of the two are parts of one cluster if they share enough of these rows, and then fuse: a
level of the hierarchy like any other. A core row of DBSCAN belongs to one cluster only, so one of
them is enough.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from scipy.sparse.csgraph import connected_components

from cohirf.algorithm.batches import LocalBatches
from cohirf.algorithm.choose_medoids import fill_missing
from cohirf.algorithm.levels import ActiveRows, FitState
from cohirf.algorithm.randomness import Draw, Entropy, draw_lots, generator_at
from cohirf.algorithm.runs import Links, Survivors
from cohirf.beyond.cells import Cells, Dealt, NoRoomError
from cohirf.beyond.merge_tree import Groups
from cohirf.rows.grouping import IntArray, index_dtype, row_blocks, sum_by_label, take_places
from cohirf.rows.storage import ArrayRows, Engine, Rows, SerialEngine, SomeRows, Storage

# rows on which cells are built: so many, and so many for each cell; or all, if the data has fewer
CELL_SAMPLE = 2**14
SAMPLED_PER_CELL = 256
# rows that are dealt to cells at a time: so many, or some for each cell, because a block visits all
# cells, up to most
DEALT_ROWS = 2**18
DEALT_PER_CELL = 2**9
MOST_DEALT = 2**20
KNOWN_BYTES = 2**28  # blocks of dealt rows are kept in memory up to this size
# multiples of it, modulo 1, are spread evenly: other rows are left out in each cell
GOLDEN = 0.6180339887498949
LARGEST_BATCH = 1.5  # in units of the batch size
# With a radius, cells are so many times smaller than a batch, to leave room for the halos. The
# smallest cells come first, because no others are tried if these have no room; of the others, the
# largest that have room are taken.
SMALLER_CELLS = (4.0, 1.5, 2.0, 3.0)


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
    """Return local batches of the active rows; ``engine`` deals them to cells, block by block."""
    rows = _FilledRows(active.values, active.index, column_means, locality.embed)
    cells, has_room, locality = plan_cells(rows, locality)
    # it would send the index of all rows with each block
    if engine is None or active.index is not None:
        engine = SerialEngine()
    dealer = _Dealer(rows, cells, locality, engine)
    batches = dealer.deal(storage)
    if locality.grows and dealer.is_thinned:
        return make_local_batches(
            active, locality.with_larger_batches(), column_means, storage, engine
        )
    return replace(batches, is_exact=has_room and not dealer.is_thinned)


def grown_batch_size(
    values: Rows, locality: Locality, column_means: NDArray[np.floating[Any]] | None
) -> int:
    """Return the size to which batches grow until their halos have room, as a sample of the rows
    tells.
    """
    rows = _FilledRows(values, None, column_means, locality.embed)
    return plan_cells(rows, locality)[2].batch_size


def sort_by_batch(active: ActiveRows, storage: Storage) -> ActiveRows:
    """Return the same rows, read once and stored batch after batch, so that those of a batch are
    read at once.
    """
    values, n_rows, batches = active.values, active.values.n_rows, active.batches
    assert isinstance(batches, LocalBatches)
    first = values.take(np.arange(min(1, n_rows)))
    if sparse.issparse(first):
        return active
    place = storage.vector(n_rows, index_dtype(n_rows))
    for block in row_blocks(active.n_rows, DEALT_ROWS):
        place[active.at(batches.home[block])] = np.arange(block.start, block.stop)
    if active.index is not None:  # rows of weight 0 are in no batch, and come last
        place[np.setdiff1d(np.arange(n_rows), active.index, assume_unique=True)] = np.arange(
            active.n_rows, n_rows
        )
    matrix = storage.matrix(n_rows, first.shape[1], first.dtype)
    for block in row_blocks(n_rows, DEALT_ROWS):
        matrix[place[block]] = values.take(np.arange(block.start, block.stop))
        storage.release()
    return replace(active, values=SomeRows(ArrayRows(matrix), place))


def plan_cells(rows: _FilledRows, locality: Locality) -> tuple[Cells, bool, Locality]:
    """Return cells, built on a sample, whether they have room for halos that are as wide as they
    should be, and how.

    The last is the given ``locality``, or the same with batches that are large enough.
    """
    n_rows = rows.n_rows
    size = locality.batch_size
    rng = generator_at(locality.entropy, Draw.SPLIT, 1)
    n_sampled = min(n_rows, max(CELL_SAMPLE, math.ceil(SAMPLED_PER_CELL * n_rows / size)))
    positions: IntArray = np.arange(n_rows)
    if n_sampled < n_rows:
        positions = np.sort(rng.choice(n_rows, n_sampled, replace=False))
    sample = rows.take(positions)
    lots = rows.draw_lots(positions, locality.entropy)
    while True:
        cells = _build_with_room(sample, lots, locality, n_rows)
        if cells is not None:
            return cells, True, locality
        if not locality.grows:
            break
        locality = locality.with_larger_batches()
    overlap = locality.overlap
    return (
        Cells.build(sample, lots, math.ceil((1 + overlap) * n_rows / size), overlap=overlap),
        False,
        locality,
    )


def _build_with_room(
    sample: Any, lots: NDArray[np.float64], locality: Locality, n_rows: int
) -> Cells | None:
    """Return cells with room for halos that are as wide as they should be.

    None if there are none.
    """
    size = locality.batch_size
    if n_rows <= LARGEST_BATCH * size:
        return Cells.build(sample, lots, 1)
    if locality.reach is None:
        return None
    most = LARGEST_BATCH * size * len(lots) / n_rows
    build = partial(Cells.build, sample, lots, reach=locality.reach, most=most)
    # if the smallest cells have no room for a halo of this width, larger ones have none either
    smallest, *larger = SMALLER_CELLS
    cells = None
    with suppress(NoRoomError):
        cells = build(math.ceil(smallest * n_rows / size))
        for smaller in larger:
            with suppress(NoRoomError):
                return build(math.ceil(smaller * n_rows / size))
    return cells


@dataclass(frozen=True)
class _FilledRows:
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

    def draw_lots(self, positions: IntArray, entropy: Entropy) -> NDArray[np.float64]:
        """Return a random number for each row, which depends on its index and the entropy alone."""
        return draw_lots(self._at(positions), entropy)


class _Dealer:
    """Deals rows to cells in blocks: once to count them, and once to put them into their place."""

    def __init__(self, rows: _FilledRows, cells: Cells, locality: Locality, engine: Engine) -> None:
        self._rows = rows
        self._cells = cells
        self._locality = locality
        self._engine = engine
        self._known: dict[int, Dealt] = {}
        self._known_bytes = 0
        # share of the rows in the halo of each cell that are kept, so that no batch is too large
        self._share = np.ones(cells.n_cells)
        self.is_thinned = (
            False  # whether some halos were too large, and a random part of their rows was left out
        )

    def deal(self, storage: Storage) -> LocalBatches:
        """Return the batches; positions are kept in ``storage``."""
        n_home, n_halo = self._count()
        room = np.maximum(
            LARGEST_BATCH * self._locality.batch_size - n_home, self._locality.overlap * n_home
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
        for dealt in self._blocks():
            home[take_places(dealt.home, next_home)] = np.arange(
                dealt.start, dealt.start + len(dealt.home)
            )
            halo[take_places(dealt.cells, next_halo)] = dealt.rows
        has_rows = np.append(True, n_home > 0)
        return LocalBatches(bounds[has_rows], home, halo=halo, halo_bounds=halo_bounds[has_rows])

    @property
    def _leaves_rows_out(self) -> bool:
        return bool((self._share < 1).any())  # a cell without rows needs no halo

    def _count(self) -> tuple[IntArray, IntArray]:
        """Return the number of rows at home in each cell, and in its halo."""
        n_cells = self._cells.n_cells
        counts = np.zeros((2, n_cells), dtype=np.int64)
        for dealt in self._blocks():
            counts += [np.bincount(cells, minlength=n_cells) for cells in (dealt.home, dealt.cells)]
        return counts[0], counts[1]

    def _blocks(self) -> Iterator[Dealt]:
        """Yield blocks of dealt rows, in order."""
        n_dealt = max(DEALT_ROWS, min(MOST_DEALT, DEALT_PER_CELL * self._cells.n_cells))
        blocks = list(row_blocks(self._rows.n_rows, n_dealt))
        new = [block for block in blocks if block.start not in self._known]
        shared = replace(self._rows, values=self._engine.share(self._rows.values))
        tasks = ((BlockTask(shared, block), self._cells, self._locality.entropy) for block in new)
        if new:
            found = iter(self._engine.run(deal_block, tasks, len(new)))
        else:
            found = iter(())
        for block in blocks:
            if block.start in self._known:
                dealt = self._known[block.start]
            else:
                dealt = next(found)
            if block.start not in self._known and self._known_bytes < KNOWN_BYTES:
                self._known[block.start] = dealt
                self._known_bytes += dealt.home.nbytes + dealt.rows.nbytes + dealt.cells.nbytes
            if self._leaves_rows_out:
                lots = self._rows.draw_lots(dealt.rows, self._locality.entropy)
                # These digits of the random numbers decide nothing else. So rows of one spot, which
                # chance has divided between several cells, are in the halos of all of them.
                kept = (lots * 2**36 + dealt.cells * GOLDEN) % 1 < self._share[dealt.cells]
                dealt = replace(dealt, rows=dealt.rows[kept], cells=dealt.cells[kept])
            yield dealt


@dataclass(frozen=True)
class BlockTask:
    """A block of rows to deal to cells."""

    rows: _FilledRows
    block: slice

    def rows_needed(self) -> IntArray:
        """Return the numbers of its rows."""
        return np.arange(self.block.start, self.block.stop)

    def with_values(self, values: Any) -> BlockTask:
        """Return the task with other values."""
        return replace(self, rows=replace(self.rows, values=values))


def deal_block(task: BlockTask, cells: Cells, entropy: Entropy) -> Dealt:
    """Deal a block of rows to cells."""
    positions = task.rows_needed()
    return cells.deal(
        task.rows.take(positions), task.rows.draw_lots(positions, entropy), task.block.start
    )


MIN_SHARED = 3  # of fewer rows, a share says little
MIN_SHARE = 0.5  # of the smaller cluster's rows that two batches have in common


def find_parts(
    links: Iterable[Links], leaf_of: IntArray, leaves: Survivors, batch: IntArray | None
) -> IntArray:
    """Return a number for each leaf, which is the same for leaves that are parts of one cluster.

    Parameters
    ----------
    links : iterable of Links
        Rows that two batches have in common.
    leaf_of : array of int
        The number of the leaf of each row of the data where it is at home, by index.
    leaves : Survivors
        The clusters of all batches.
    batch : array of int or None
        The batch of each leaf; None if one row in common makes two clusters parts of one.
    """
    n_leaves = len(leaves.rows)
    here, there, n_shared = _count_shared_rows(links, leaf_of, leaves)
    if batch is not None:
        # rows of each of the two clusters among all that their two batches have in common
        of_here, of_there = (
            _sum_equal(leaf, batch[other], n_shared)
            for leaf, other in ((here, there), (there, here))
        )
        enough = (n_shared >= MIN_SHARED) & (n_shared >= MIN_SHARE * np.minimum(of_here, of_there))
        here = here[enough]
        there = there[enough]
    graph = sparse.coo_array(
        (np.ones(len(here), dtype=bool), (here, there)), shape=(n_leaves, n_leaves)
    )
    return np.asarray(connected_components(graph, directed=False)[1])


def _count_shared_rows(
    links: Iterable[Links], leaf_of: IntArray, leaves: Survivors
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Return pairs of leaves that have rows in common, and how many: leaf at home, other leaf,
    count.
    """
    n_leaves = len(leaves.rows)
    keys = [np.empty(0, dtype=np.int64)]
    counts = [np.empty(0, dtype=np.int64)]
    for part in links:
        here = np.asarray(leaf_of[part.rows], dtype=np.int64)
        clustered = ~leaves.is_noise[here]
        there = np.searchsorted(leaves.rows, part.survivors[clustered])
        found, n_found = np.unique(here[clustered] * n_leaves + there, return_counts=True)
        keys.append(found)
        counts.append(n_found)
    pairs, number = np.unique(np.concatenate(keys), return_inverse=True)
    n_shared = np.bincount(number, weights=np.concatenate(counts)).astype(np.int64)
    return pairs // n_leaves, pairs % n_leaves, n_shared


def _sum_equal(left: IntArray, right: IntArray, counts: IntArray) -> IntArray:
    """Return, for each pair, the sum of the counts of all pairs that are equal to it."""
    keys = left.astype(np.int64) * (int(right.max(initial=0)) + 1) + right
    _, number = np.unique(keys, return_inverse=True)
    return np.bincount(number, weights=counts)[number].astype(np.int64)


def number_parts(labels: IntArray) -> IntArray:
    """Return a number for each leaf, which is the same for leaves with the same label.

    Noise is alone.
    """
    is_noise = labels < 0
    number = np.cumsum(np.bincount(labels[~is_noise]) > 0)  # from 1
    part = np.cumsum(is_noise, dtype=index_dtype(len(labels)))
    part += number[-1] - 1 if len(number) else -1
    part[~is_noise] = number[labels[~is_noise]] - 1
    return part


def fuse_leaves(state: FitState, part: IntArray) -> FitState:
    """Return the state after a level that fuses the leaves with the same number, from 0, in
    ``part``.

    The leaf whose mean is nearest to the mean of the whole survives. No level follows, so survivors
    have no means.
    """
    started = perf_counter()
    leaves = state.survivors
    n_views = state.survivors.view_stability.shape[1]
    n_parts = int(part.max()) + 1
    mass = leaves.total_mass
    kept = np.empty(n_parts, dtype=state.fusions.parents.dtype)
    kept[part] = np.arange(len(part))
    # the others, such as rows of noise, are alone
    several = np.flatnonzero(np.bincount(part)[part] > 1)
    parts, label = np.unique(part[several], return_inverse=True)
    kept[parts] = several[
        Groups(leaves.means[several], mass[several]).find_central(label, len(parts))
    ]
    state.fusions.record(np.arange(len(part)), kept[part], state.level + 1)
    by_leaf = np.argsort(kept)
    kept = kept[by_leaf]
    survivors = Survivors(
        rows=kept,
        values=None,
        mass=None if leaves.mass is None else sum_by_label(part, leaves.mass, n_parts)[by_leaf],
        sizes=np.bincount(part, weights=leaves.sizes).astype(np.int64)[by_leaf],
        first_rows=kept,
        weights=None
        if leaves.weights is None
        else sum_by_label(part, leaves.weights, n_parts)[by_leaf],
        means=None,
        is_noise=leaves.is_noise[kept],
        stability=leaves.stability[kept],
        batch_sizes=np.array([len(part)]),
        batch_costs=np.array([[n_views, np.nan, 1.0, 0.0, perf_counter() - started, 0.0]]),
        view_stability=np.ones((1, n_views)),
    )
    return state.after(survivors, "fused")
