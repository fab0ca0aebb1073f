"""What would a fit of a hundred billion rows on 200 workers take, and what breaks first?

    python -m benchmarks.speed.scale_plan [--rows 100000000000] [--workers 200] [--threads 8]
        [--batch 5000000] [--graph-only]

No such cluster is needed. The fit is run with other schedulers:

1. One that gets every graph that the fit makes and counts its tasks. It computes one task of a kind,
   with a million rows, and answers as if all others had found the same: so what the client does with
   graphs is done for real, at full size. Chunks of the data are empty: one row, repeated by a stride
   of 0. Of the survivors, the client gets some only; how many bytes all of them would be is said.
2. The scheduler of Dask, without workers, which is given the graph of the first level.

Times are those of processors: of one core of this machine. Nothing is said of networks and disks, or of
workers that wait for each other. With ``--graph-only`` the fit ends when the graph of the first
level is there.
"""

from __future__ import annotations

import pickle
import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import dask
import numpy as np
from dask.local import get_sync
from dask.optimization import cull
from dask.sizeof import sizeof
from dask.utils import key_split
from distributed import Client, LocalCluster

import cohirf.data.on_dask
from benchmarks._common import in_fresh_process, make_parser, parse
from cohirf import CoHiRF
from cohirf.algorithm.runs import ContractedRun, Survivors, contract_run
from cohirf.data.dask_arrays import _ValidatedChunk as ValidatedChunk
from cohirf.data.dask_arrays import spread_source
from cohirf.data.first_level import Counts
from cohirf.engines.dask import DataLocalEngine
from cohirf.planning import peak_bytes, reset_peak
from cohirf.rows.storage import NumberedRows
from cohirf.sources import Source


def model_of(batch: int) -> CoHiRF:
    return CoHiRF(n_clusters=10, batch_size=batch, random_state=0)


def make_rows(n_rows: int, n_features: int, seed: int = 0) -> np.ndarray:
    random = np.random.default_rng(seed)
    centres = np.random.default_rng(1).normal(scale=8, size=(10, n_features))
    X = centres[random.integers(10, size=n_rows)]
    return (X + random.normal(size=X.shape)).astype(np.float32)


# -- planned: every graph is made, and nothing is computed


MOST_SENT = 50_000  # survivors that the client gets: it contracts them here


LAST_RUNS: list[list[Any]] = []  # the tasks of the last first level that was sent


class NotedEngine(DataLocalEngine):
    """The engine of Dask, which notes its tasks: in a graph they are hard to find."""

    def _lazy(self, function: Any, tasks: list[Any]) -> Any:
        LAST_RUNS[:] = [tasks]
        return super()._lazy(function, tasks)


cohirf.data.on_dask.engine_at_rows = NotedEngine


class Planned:
    """A scheduler that counts tasks, and answers without computing those of the first level."""

    def __init__(
        self,
        n_measured: int,
        n_features: int,
        *,
        capture: bool = False,
        most_sent: int = MOST_SENT,
    ) -> None:
        self.most_sent = most_sent
        self.n_measured = n_measured
        self.n_features = n_features
        self.capture = capture
        self.tasks: dict[str, Counter] = {}  # of each graph, the tasks of each kind
        self.task_bytes: dict[str, float] = {}  # of a task of each kind, as it is sent
        self.measured: dict[str, float] = {}  # seconds of a million rows
        self.seconds = 0.0  # in here, and not in the client
        self.runs: list[Any] = []
        self.first_level: tuple[Any, Any] | None = None
        self.client = 0.0  # seconds of the client until the graph of the first level was there
        self._began = time.process_time()

    def __call__(self, graph: Any, keys: Any, **_: Any) -> Any:
        """Answer what Dask asks a scheduler for."""
        start = time.process_time()
        try:
            return self._answer(dict(graph.__dask_graph__()), keys)
        finally:
            self.seconds += time.process_time() - start

    def _answer(self, graph: dict[Any, Any], keys: Any) -> Any:
        first = keys
        while isinstance(first, list):
            first = first[0]
        kind = key_split(first)
        if kind not in ANSWERS:
            return get_sync(graph, keys)
        if kind == "cohirf_contract_batches":
            self.client = time.process_time() - self._began - self.seconds
            self._count(kind, graph)
            self._measure_contraction(graph)
            if self.capture:
                self.first_level = graph, list(keys)
                raise GraphIsThereError
        else:
            self._count(kind, graph)
        if kind == "cohirf_predict":
            self._measure_labels(graph)
        return [ANSWERS[kind](self, number, graph) for number in range(len(keys))]

    def _count(self, kind: str, graph: dict[Any, Any]) -> None:
        graph = {key: entry for key, entry in graph.items() if not is_there(entry)}
        counted: Counter = Counter(map(key_split, graph))
        self.tasks[kind] = counted
        seen: Counter = Counter()
        sizes = defaultdict[str, list[int]](list)
        for key, task in graph.items():
            of = key_split(key)
            seen[of] += 1
            if seen[of] % max(1, counted[of] // 10) == 0:
                sizes[of].append(len(pickle.dumps(task)))
        self.task_bytes |= {of: float(np.mean(some)) for of, some in sizes.items()}

    def _measure_contraction(self, graph: dict[Any, Any]) -> None:
        """Contract the first batches of the first run, with real rows."""
        self.runs = LAST_RUNS[-1]
        task, contraction, engine = self.runs[0]
        bounds = task.run.bounds
        n_batches = max(1, int(np.searchsorted(bounds, self.n_measured, side="right")) - 1)
        of_some = np.minimum(bounds[: n_batches + 1], self.n_measured)
        some = replace(task.run, bounds=of_some, held=task.run.held[:0])
        X = make_rows(some.length, self.n_features)
        values = NumberedRows(X, np.arange(some.start, some.start + len(X)))
        start = time.process_time()
        found = contract_run(replace(task, run=some, values=values), contraction, engine)
        self.measured["contract"] = (time.process_time() - start) * 1e6 / len(X)
        self.per_batch = len(found.survivors.rows) / n_batches
        self.survivor_bytes = sizeof(found.survivors) / len(found.survivors.rows)
        # the client is sent fewer: their number is that of all runs
        first = one_batch_of(found.survivors)
        n_all = sum(task.run.n_batches for task, *_ in self.runs)
        self.template = first_of(first, max(1, self.most_sent // n_all))

    def _measure_labels(self, graph: dict[Any, Any]) -> None:
        """Assign real rows to cells."""
        X = make_rows(self.n_measured, self.n_features)
        assign = next(
            value for value in map(value_of, graph.values()) if isinstance(value, ValidatedChunk)
        )
        start = time.process_time()
        assign(X)
        self.measured["assign"] = (time.process_time() - start) * 1e6 / len(X)

    def outcome(self, number: int, graph: Any) -> Any:
        """Return what stands for a run on a worker."""
        return Outcome(self.runs[number][0].run.length)

    def survivors(self, number: int, graph: Any) -> ContractedRun:
        """Return survivors of a run, as many as the measured batches had."""
        return ContractedRun(make_survivors(self.runs[number][0], self.template))

    def labels(self, number: int, graph: Any) -> Any:
        """Return the cells of the rows of a chunk."""
        return np.broadcast_to(np.int32(0), (self.runs[number][0].run.length,))

    def counts(self, number: int, graph: Any) -> Counts:
        """Return the counts of a chunk, whose rows are shared out evenly; one chunk is counted."""
        if number == 0:
            key = next(key for key in graph if key_split(key) == "cohirf_count_leaves")
            start = time.process_time()
            found = get_sync(cull(graph, [key])[0], key)
            seconds = time.process_time() - start
            self.measured["count"] = seconds * 1e6 / self.runs[0][0].run.length
            self.n_leaves = len(found.sizes)
        run = self.runs[number][0].run
        leaves = np.arange(self.n_leaves)
        sizes = (run.length + leaves) // self.n_leaves  # together all rows of the chunk
        return Counts(sizes, None, run.start + leaves)


def value_of(entry: Any) -> Any:
    """Return the value in a graph that no task computes; a task is returned as it is."""
    return entry.value if type(entry).__name__ == "DataNode" else entry


@dataclass(frozen=True)
class Outcome:
    """A contracted run that stays on a worker; rows that are looked at are in the first leaf."""

    length: int

    @property
    def labels(self) -> Any:
        """The leaf of each row."""
        return np.broadcast_to(np.int64(0), (self.length,))

    @property
    def stability(self) -> Any:
        """The stability of each row."""
        return np.broadcast_to(np.float32(1), (self.length,))


def is_there(entry: Any) -> bool:
    """Return whether an entry of a graph is the result of a task that has been run."""
    return isinstance(value_of(entry), Outcome | ContractedRun | Counts | np.ndarray)


class GraphIsThereError(Exception):
    """The graph of the first level is there; the fit can end."""


def one_batch_of(survivors: Survivors) -> Survivors:
    """Return the survivors of the first measured batch."""
    found = first_of(survivors, int((survivors.rows < survivors.batch_sizes[0]).sum()))
    return replace(
        found,
        batch_sizes=survivors.batch_sizes[:1],
        batch_costs=survivors.batch_costs[:1],
        view_stability=survivors.view_stability[:1],
    )


def first_of(survivors: Survivors, n: int) -> Survivors:
    """Return the first survivors of a batch."""
    of_batches = ("batch_sizes", "batch_costs", "view_stability")
    names = [field.name for field in fields(Survivors) if field.name not in of_batches]
    columns = {name: getattr(survivors, name) for name in names}
    return replace(survivors, **{name: one[:n] for name, one in columns.items() if one is not None})


def make_survivors(task: Any, template: Survivors) -> Survivors:
    """Return survivors of all batches of a run, each like the template, and its rows held aside."""
    run = task.run
    starts = run.start + run.bounds[:-1]
    n_batches = len(starts)
    factor = int(run.bounds[1]) / int(template.batch_sizes[0])
    offsets = np.unique((template.rows * factor).astype(np.int64))
    n_medoids = len(offsets)

    def repeated(column: Any) -> Any:
        if column is None:
            return None
        return np.tile(column[:n_medoids], (n_batches,) + (1,) * (column.ndim - 1))

    rows = (starts[:, None] + offsets).ravel()
    held = np.setdiff1d(run.start + run.held, rows)
    first = np.concatenate([rows, held])
    order = np.argsort(first, kind="stable")
    n_held = np.diff(np.searchsorted(held, [*starts, run.start + run.length]))

    def with_held(column: Any, of_held: float) -> Any:
        if column is None:
            return None
        own = np.full((len(held), *column.shape[1:]), of_held, column.dtype)
        return np.concatenate([repeated(column), own])[order]

    return Survivors(
        rows=first[order],
        values=with_held(template.values, 0),
        mass=with_held(template.mass, 1),
        sizes=with_held((template.sizes * factor).astype(np.int64), 1),
        first_rows=first[order],
        weights=with_held(template.weights, 1),
        means=with_held(template.means, 0),
        is_noise=with_held(template.is_noise, 0),
        stability=with_held(template.stability, np.nan),
        batch_sizes=np.diff(run.bounds) - n_held,
        batch_costs=np.tile(template.batch_costs, (n_batches, 1)),
        view_stability=np.tile(template.view_stability, (n_batches, 1)),
    )


ANSWERS = {
    "cohirf_contract_batches": Planned.outcome,
    "cohirf_summarize": Planned.survivors,
    "cohirf_predict": Planned.labels,
    "cohirf_count_leaves": Planned.counts,
}


@lru_cache
def some_rows(n_features: int) -> np.ndarray:
    """Return the rows that blocks of an empty source repeat."""
    return make_rows(2**12, n_features)


class EmptyRows(Source):
    """Rows of a source that takes no memory: a block is one row, repeated."""

    def __init__(self, n_rows: int, n_features: int) -> None:
        super().__init__("The plan", (n_rows, n_features), np.dtype(np.float32))

    def _fill(self, start: int, out: Any) -> None:
        some = some_rows(self.n_features)
        out[...] = some[np.arange(start, start + len(out)) % len(some)]

    def take(self, rows: Any) -> Any:
        """Return some rows, or one of them many times."""
        some = some_rows(self.n_features)
        if len(rows) < len(some):
            return some[np.asarray(rows) % len(some)]
        return np.broadcast_to(some[rows[0] % len(some)], (len(rows), self.n_features))


def plan(n_rows: int, n_features: int, batch: int, n_measured: int, only: bool) -> dict[str, Any]:
    """Make the graphs of a fit, whose results are made up; what the client does is done."""
    warnings.simplefilter("ignore")
    reset_peak()
    before = peak_bytes()
    planned = Planned(n_measured, n_features, capture=only)
    start = time.process_time()
    found: dict[str, Any] = {}
    with dask.config.set(scheduler=planned):
        X = spread_source(EmptyRows(n_rows, n_features), batch)
        with suppress(GraphIsThereError):
            model = model_of(batch).fit(X)
            found["labels"] = len(model.labels_.dask)
            found["seconds"] = time.process_time() - start - planned.seconds
    return found | {
        "peak": peak_bytes() - before,
        "first": planned.client,
        "tasks": planned.tasks,
        "task bytes": planned.task_bytes,
        "measured": planned.measured,
        "chunks": X.numblocks[0],
        "batches": sum(task.run.n_batches for task, *_ in planned.runs),
        "per batch": planned.per_batch,
        "survivor bytes": planned.survivor_bytes,
    }


def schedule(n_rows: int, n_features: int, batch: int, n_measured: int) -> dict[str, float]:
    """Give the graph of the first level to Dask's scheduler, which has no workers."""
    warnings.simplefilter("ignore")
    planned = Planned(n_measured, n_features, capture=True)
    with dask.config.set(scheduler=planned), suppress(GraphIsThereError):
        model_of(batch).fit(spread_source(EmptyRows(n_rows, n_features), batch))
    graph, keys = planned.first_level
    planned.first_level = None
    with (
        LocalCluster(n_workers=0, processes=False, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        reset_peak()
        before = peak_bytes()
        start = time.process_time()
        futures = client.get(graph, keys, sync=False)
        while len(cluster.scheduler.tasks) < len(graph):
            time.sleep(0.5)
        return {
            "seconds": time.process_time() - start,
            "bytes": peak_bytes() - before,
            "tasks": len(cluster.scheduler.tasks),
            "kept": len(futures),
        }


def show(found: dict[str, Any], n_rows: int, batch: int, n_threads: int) -> None:
    """Print what was counted and measured, and what follows from it."""
    survivors = found["batches"] * found["per batch"]
    print(
        f"{n_rows:,} rows in {found['batches']:,} batches of {batch:,}; {found['chunks']:,} chunks"
    )
    for kind, counted in found["tasks"].items():
        listed = ", ".join(f"{n:,} {name}" for name, n in counted.most_common(9))
        print(f"graph of {kind}: {sum(counted.values()):,} tasks ({listed})")
    sent = sum(
        n * found["task bytes"].get(name, 0)
        for counted in found["tasks"].values()
        for name, n in counted.items()
    )
    print(f"tasks, as they are sent to workers: {sent / 1e6:,.0f} MB")
    largest = max(found["task bytes"], key=found["task bytes"].get)
    print(f"largest of them: {found['task bytes'][largest] / 1e3:,.1f} kB ({largest})")
    print(f"client until the graph of the first level: {found['first']:,.0f} s")
    if "seconds" in found:
        print(
            f"client in all: {found['seconds']:,.0f} s; graph of labels {found['labels']:,} tasks"
        )
    print(f"client, rise of memory: {found['peak'] / 1e9:,.2f} GB")
    print(
        f"survivors of the first level: {found['per batch']:,.0f} of a batch, {survivors:,.0f}; to "
        f"the client {survivors * found['survivor bytes'] / 1e9:,.1f} GB "
        f"({found['survivor bytes']:.0f} bytes each)"
    )
    for what, seconds in found["measured"].items():
        hours = seconds * n_rows / 1e6 / n_threads / 3600
        print(
            f"{what}: {seconds:.2f} s for a million rows; {hours:.2f} hours on {n_threads:,} threads"
        )


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=10**11)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--batch", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--threads", type=int, default=8, help="of each worker")
    parser.add_argument("--measured", type=int, default=1_000_000, help="rows that are computed")
    parser.add_argument("--graph-only", action="store_true")
    given = parse(parser, argv, rows=10**8, batch=100_000, measured=100_000)
    size = (given.rows, given.features, given.batch, given.measured)
    found = in_fresh_process(plan, *size, given.graph_only)
    show(found, given.rows, given.batch, given.workers * given.threads)
    told = in_fresh_process(schedule, *size[:3], min(given.batch, 20_000))
    print(
        f"Dask's scheduler: {told['tasks']:,} tasks in {told['seconds']:,.0f} s and "
        f"{told['bytes'] / 1e9:,.2f} GB"
    )


if __name__ == "__main__":
    main()
