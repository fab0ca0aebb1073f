"""What does Dask do with a fit of a hundred billion rows on 200 workers, whose tasks compute nothing?

    python -m benchmarks.speed.scale_rehearsal [--rows 100000000000] [--workers 200] [--threads 8]
        [--batch 5000000] [--survivors 2000000] [--profile]

``CoHiRF(n_clusters=10)`` is fitted for real: by a client in a process of its own, Dask's scheduler
in another one, to which all workers are connected over the loopback. The workers run in a third
process. They are told what rows, runs of batches, cells and counts are, and compute none of them: a
chunk is one row, repeated by a stride of 0, and a run leaves the survivors that another one left,
which was measured. So whatever a fit asks of the client, the scheduler and the network is done at
full size, except that the client is sent ``--survivors`` rows at most, because more do not fit on
the disk of a small machine. Later levels are computed.

Times are those of processors, of one core of this machine. Workers share one process: what it
takes is no measure of theirs.
"""

from __future__ import annotations

import asyncio
import cProfile
import multiprocessing
import os
import pickle
import pstats
import resource
import tempfile
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import dask
import numpy as np
from distributed import Client, Scheduler, Worker

import cohirf.data.dask_arrays
import cohirf.data.on_dask
import cohirf.engines.dask
from benchmarks._common import in_fresh_process, make_parser, parse
from benchmarks.speed.scale_plan import (
    EmptyRows,
    GraphIsThereError,
    Planned,
    make_survivors,
    model_of,
)
from cohirf.algorithm.runs import ContractedRun, Survivors
from cohirf.data.dask_arrays import spread_source
from cohirf.data.first_level import Counts
from cohirf.planning import peak_bytes, reset_peak

# what hundreds of workers in one process would do beside tasks: look at all of its threads
QUIET = {
    "DASK_LOGGING__DISTRIBUTED": "critical",
    "DASK_DISTRIBUTED__WORKER__PROFILE__ENABLED": "False",
    "DASK_DISTRIBUTED__ADMIN__SYSTEM_MONITOR__INTERVAL": "60s",
}
SPAWN = multiprocessing.get_context("spawn")


# -- what workers do instead of their tasks


class Pretended:
    """Results of the size and kind that tasks have, which take no time."""

    def __init__(self, template: Survivors) -> None:
        self.template = template

    def install(self) -> None:
        """Replace what the tasks of a fit call, in this process."""
        cohirf.data.dask_arrays._read_rows = self.read
        cohirf.data.dask_arrays._ValidatedChunk.__call__ = self.assign
        cohirf.data.on_dask.count_chunk = self.count
        cohirf.data.on_dask.number_run = self.number
        cohirf.engines.dask._call_with_chunk = self.contract

    @staticmethod
    def read(sent: Any, block_info: Any = None) -> Any:
        """Return a chunk."""
        (start, stop), _ = block_info[None]["array-location"]
        return np.broadcast_to(np.float32(0), (stop - start, sent.source.n_features))

    def contract(self, function: Any, task: Any, rows: Any, weights: Any = None) -> Any:
        """Return a contracted run."""
        run = task[0].run
        labels = np.broadcast_to(np.int32(0), run.length)
        stability = np.broadcast_to(np.float32(1), run.length)
        return ContractedRun(make_survivors(task[0], self.template), labels, stability)

    @staticmethod
    def assign(call: Any, chunk: Any) -> Any:
        """Return the cell of each row of a chunk."""
        return np.broadcast_to(call.empty.dtype.type(0), (len(chunk), *call.empty.shape[1:]))

    @staticmethod
    def count(start: int, leaf_of: Any, weights: Any = None, *, n_leaves: int) -> Counts:
        """Return counts, as if rows were shared out evenly."""
        leaves = np.arange(n_leaves)
        return Counts((len(leaf_of) + leaves) // n_leaves, None, start + leaves)

    @staticmethod
    def number(first_leaf: int, outcome: Any) -> Any:
        """Return the leaf of each row of a run."""
        return np.broadcast_to(np.int64(first_leaf), outcome.survivor_of.shape)


def measure_template(
    n_rows: int, n_features: int, batch: int, n_measured: int, most: int
) -> tuple[Survivors, float]:
    """Return survivors of a batch, of which all together have ``most``, and how many it left."""
    warnings.simplefilter("ignore")
    planned = Planned(n_measured, n_features, capture=True, most_sent=most)
    with dask.config.set(scheduler=planned), suppress(GraphIsThereError):
        model_of(batch).fit(spread_source(EmptyRows(n_rows, n_features), batch))
    return planned.template, planned.per_batch


# -- processes


def used() -> tuple[float, int]:
    """Return the seconds of processors that this process has taken, and its peak memory."""
    return time.process_time(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def schedule(told: Any, stop: Any, profile: bool) -> None:
    """Run the scheduler until it is stopped; tell its address, then what it took."""

    async def run() -> None:
        async with Scheduler(host="127.0.0.1", port=0, dashboard=False) as scheduler:
            told.put(scheduler.address)
            most = 0
            before = used()
            while not stop.is_set():
                await asyncio.sleep(0.2)
                most = max(most, len(scheduler.tasks))
            after = used()
            told.put((after[0] - before[0], after[1] - before[1], most))

    profiler = cProfile.Profile()
    if profile:
        profiler.enable()
    asyncio.run(run())
    if profile:
        profiler.disable()
        pstats.Stats(profiler).sort_stats("tottime").print_stats(25)


def work(address: str, n_workers: int, n_threads: int, template: str, stop: Any) -> None:
    """Run workers until they are stopped."""
    warnings.simplefilter("ignore")
    Pretended(pickle.loads(Path(template).read_bytes())).install()

    async def run() -> None:
        # one pool for all: thousands of threads would wait for each other, not for the scheduler
        threads = ThreadPoolExecutor(4)
        workers = [
            Worker(
                address,
                nthreads=n_threads,
                memory_limit="64GB",
                dashboard=False,
                name=number,
                executor=threads,
            )
            for number in range(n_workers)
        ]
        await asyncio.gather(*workers)
        while not stop.is_set():
            await asyncio.sleep(1)
        await asyncio.gather(*(worker.close(nanny=False) for worker in workers))

    asyncio.run(run())


class Progress:
    """Notes what the client has taken each time it gives a graph to the scheduler."""

    def __init__(self) -> None:
        self.began = time.process_time()
        self.seconds = 0.0

    def persist(self, own: Any, lazy: Any) -> Any:
        """Start to compute an array."""
        found = own(lazy)
        self.note(lazy.name.rpartition("-")[0])
        return found

    def note(self, done: str) -> None:
        """Note a step that is done."""
        self.seconds = time.process_time() - self.began
        print(f"client: {done} after {self.seconds:,.1f} s", flush=True)


def fit(
    address: str, n_workers: int, n_rows: int, n_features: int, batch: int, profile: bool
) -> dict[str, Any]:
    """Fit, and return what it took in this process."""
    warnings.simplefilter("ignore")
    progress = Progress()
    for module in (cohirf.engines.dask, cohirf.data.on_dask):
        module.persist = partial(progress.persist, module.persist)
    with Client(address) as client:
        client.wait_for_workers(n_workers)
        reset_peak()
        before = peak_bytes()
        profiler = cProfile.Profile()
        if profile:
            profiler.enable()
        progress.began = time.process_time()
        model = model_of(batch).fit(EmptyRows(n_rows, n_features), client=client)
        progress.note("fit")
        if profile:
            profiler.disable()
            pstats.Stats(profiler).sort_stats("cumulative").print_stats(50)
        return {
            "seconds": progress.seconds,
            "bytes": peak_bytes() - before,
            "levels": [(one.rows_in, one.n_batches, one.rows_out) for one in model.diagnostics_],
        }


def rehearse(given: Any) -> None:
    """Fit, and print what client and scheduler took."""
    os.environ |= QUIET  # of the processes that start now
    size = (given.rows, given.features, given.batch)
    measured = min(given.measured, given.batch)
    template, per_batch = in_fresh_process(measure_template, *size, measured, given.survivors)
    with tempfile.NamedTemporaryFile(suffix=".pickle") as file:
        Path(file.name).write_bytes(pickle.dumps(template))
        told = SPAWN.Queue()
        stop = SPAWN.Event()
        scheduler = SPAWN.Process(target=schedule, args=(told, stop, given.profile))
        scheduler.start()
        address = told.get()
        workers = SPAWN.Process(
            target=work, args=(address, given.workers, given.threads, file.name, stop)
        )
        workers.start()
        try:
            found = in_fresh_process(fit, address, given.workers, *size, given.profile)
        finally:
            stop.set()
            seconds, n_bytes, n_tasks = told.get()
            workers.join()
            scheduler.join()
    n_batches = given.rows // given.batch
    print(f"a batch left {per_batch:,.0f} survivors, of which {len(template.rows):,} were sent")
    print(f"{n_batches:,} batches; levels: {found['levels']}")
    print(f"client: {found['seconds']:,.0f} s, {found['bytes'] / 1e9:,.2f} GB more")
    print(f"scheduler: {seconds:,.0f} s, {n_bytes / 1e9:,.2f} GB more, {n_tasks:,} tasks at most")


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=10**11)
    parser.add_argument("--features", type=int, default=20)
    parser.add_argument("--batch", type=int, default=5_000_000)
    parser.add_argument("--workers", type=int, default=200)
    parser.add_argument("--threads", type=int, default=8, help="of each worker")
    parser.add_argument("--survivors", type=int, default=2_000_000, help="that are sent at most")
    parser.add_argument("--measured", type=int, default=200_000, help="rows of the measured batch")
    parser.add_argument("--profile", action="store_true", help="of client and scheduler")
    rehearse(parse(parser, argv, rows=10**8, batch=10**6, measured=20_000, workers=4))


if __name__ == "__main__":
    main()
