"""Does a fit in processes leave anything behind if it, or one of its workers, is killed at a random
time?

    python -m benchmarks.faults.killed_processes [--kills 60] [--rows 120000] [--seed 0] [--patience
    20]

A batched fit with two jobs runs in a process group of its own. At a random time, while its workers
start or while they work, one of these happens:

parent     SIGKILL of the process that called fit
worker     SIGKILL of one worker process; the fit then raises an error that says so
interrupt  Ctrl-C: SIGINT of the whole group

Within ``--patience`` seconds every process of the group must have ended, and no file may be left in
the directory for temporary files and in shared memory. Then the same fit is called again, and
killed again, until it gets through. Its labels and parents must be those of an undisturbed fit with
one job. The data is a file or an array in memory. Only kills of fits that have workers at that time
count.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import psutil
from sklearn.cluster import DBSCAN

from benchmarks._common import Table, make_parser, parse
from benchmarks.faults import count_records
from benchmarks.faults.checkpoints import strays, wait
from cohirf import CoHiRF, open_source
from cohirf.datasets import make_spheres
from cohirf.store.checkpoint import CHECKPOINT

SHARED = Path("/dev/shm")
KINDS = ("parent", "worker", "interrupt")
KILLS_A_FIT = 8
WORKER_KILLED = 3  # exit status


class SlowDBSCAN(DBSCAN):
    """DBSCAN that takes long enough for processes to be worth starting, without keeping a core
    busy.
    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> SlowDBSCAN:
        """Wait, and cluster the rows."""
        time.sleep(0.15)
        return super().fit(X, sample_weight=sample_weight)


@dataclass(frozen=True)
class Job:
    """One fit, and where everything it needs and leaves is."""

    folder: Path
    in_memory: bool
    seed: int

    @property
    def checkpoint(self) -> Path:
        """Directory from which the fit resumes."""
        return self.folder / "checkpoint"

    @property
    def scratch(self) -> Path:
        """Directory for temporary files."""
        return self.folder / "tmp"

    @property
    def result(self) -> Path:
        """File with what the fit found."""
        return self.folder / "found.npz"

    def fit(self, base: DBSCAN, **options: Any) -> CoHiRF:
        """Fit the data."""
        X = (
            np.load(self.folder / "data.npy")
            if self.in_memory
            else open_source(self.folder / "data.npy")
        )
        return CoHiRF.as_published(
            base, views=1, batch_size=1000, random_state=self.seed, **options
        ).fit(X)

    def start(self) -> int:
        """Start the fit with two jobs in a process group of its own, and return the number of the
        group.

        A fork of this process would not do: in forked processes, fits run in threads.
        """
        job = f"Job(Path({str(self.folder)!r}), {self.in_memory}, {self.seed})"
        call = f"from benchmarks.faults.killed_processes import Job, Path; {job}.run()"
        # joblib warns of processes that are killed
        silent = (
            os.POSIX_SPAWN_OPEN,
            2,
            os.devnull,
            os.O_WRONLY,
            0,
        )
        return os.posix_spawn(
            sys.executable,
            [sys.executable, "-c", call],
            os.environ | {"TMPDIR": str(self.scratch)},
            file_actions=[silent],
            setpgroup=0,
            setsigdef=[signal.SIGINT],  # shells let background jobs ignore it
        )

    def run(self) -> None:
        """Fit, store what was found, and end this process."""
        try:
            model = self.fit(SlowDBSCAN(eps=0.3), n_jobs=2, checkpoint=self.checkpoint)
        except KeyboardInterrupt:
            sys.exit(-signal.SIGINT)
        except RuntimeError as error:
            if not str(error).startswith("A worker process was killed"):
                raise
            sys.exit(WORKER_KILLED)
        np.savez(self.result, labels=model.labels_, parents=model.parents_)
        sys.exit(0)


def members(group: int) -> list[psutil.Process]:
    """Return the living processes of a group."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == group and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def workers(group: int) -> list[psutil.Process]:
    """Return the worker processes of a group: not the process that called fit, nor joblib's
    resource tracker.
    """
    found = []
    for process in members(group):
        try:
            if process.pid != group and "popen_loky" in " ".join(process.cmdline()):
                found.append(process)
        except psutil.NoSuchProcess:
            continue
    return found


def left_behind(group: int, scratch: Path, patience: float) -> list[str]:
    """Return processes of the group and files that should not be there.

    Workers look for their parent every second, and joblib's resource tracker cleans up after the
    last of them.
    """
    deadline = time.monotonic() + patience
    while True:
        found = [f"process {process.pid}" for process in members(group)]
        found += [path.name for path in SHARED.glob(f"joblib_memmapping_folder_{group}_*")]
        found += [path.name for path in SHARED.glob(f"sem.loky-{group}-*")]
        found += [path.name for path in scratch.iterdir()]
        if not found or time.monotonic() > deadline:
            return found
        time.sleep(0.5)


def remove_left_behind(group: int, scratch: Path) -> None:
    for process in members(group):
        process.kill()
    for path in [
        *SHARED.glob(f"joblib_memmapping_folder_{group}_*"),
        *SHARED.glob(f"sem.loky-{group}-*"),
    ]:
        shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
    for path in scratch.iterdir():
        path.unlink(missing_ok=True)


@dataclass
class Count:
    """What one fit went through."""

    kills: Counter[str] = field(default_factory=Counter)  # of fits that had workers
    early_kills: int = 0
    left: list[str] = field(default_factory=list)
    identical: bool = False


def wait_for_a_time(group: int, journal: Path, rng: np.random.Generator) -> int | None:
    """Wait until a random time; return the status if the fit has ended.

    In a quarter of all cases it is soon after workers were started, otherwise soon after they have
    begun to work.
    """
    begun = count_records(journal)
    must_work = rng.random() < 0.75
    # one was computed before them
    while not workers(group) or (must_work and count_records(journal) < begun + 3):
        if (status := wait(group, 0.1)) is not None:
            return status
    return wait(group, rng.uniform(0, 2))


def disturb(group: int, kind: str, rng: np.random.Generator) -> str:
    """Kill a process of the group, or interrupt all; return what was done."""
    at_work = workers(group)
    if kind == "interrupt":
        os.killpg(group, signal.SIGINT)
    elif kind == "worker" and at_work:
        at_work[rng.integers(len(at_work))].kill()
    else:
        os.kill(group, signal.SIGKILL)
        kind = "parent"
    return kind


def torture(job: Job, max_kills: int, patience: float, rng: np.random.Generator) -> Count:
    """Kill a fit again and again until it gets through or there were enough kills.

    Then let it finish.
    """
    count = Count()
    expected = job.fit(DBSCAN(eps=0.3), n_jobs=1)
    status = None
    while status != 0:
        group = job.start()
        enough = count.kills.total() >= max_kills
        status = (
            wait(group, 3600)
            if enough
            else wait_for_a_time(group, job.checkpoint / CHECKPOINT.journal, rng)
        )
        had_workers = bool(workers(group))
        kind = "end"
        if status is None:
            kind = disturb(group, KINDS[rng.integers(len(KINDS))], rng)
            count.kills[kind] += had_workers
            count.early_kills += not had_workers
            status = wait(group, 600)
            assert status is not None, f"the fit hangs after {kind}"
            if status not in (
                0,
                WORKER_KILLED,
                -signal.SIGKILL,
                256 - signal.SIGINT,
                -signal.SIGINT,
            ):
                count.left.append(f"status {status} after {kind}")
        else:
            assert status == 0, "the resumed fit failed"
        if left := left_behind(group, job.scratch, patience):
            count.left += [f"{name} after {kind}" for name in left]
            remove_left_behind(group, job.scratch)
        count.left += [f"{name} after {kind}" for name in strays(job.checkpoint, job.scratch)]
    with np.load(job.result) as found:
        same = (
            np.array_equal(found["labels"], expected.labels_),
            np.array_equal(found["parents"], expected.parents_),
        )
    count.identical = all(same)
    return count


def bench(n_kills: int, n_rows: int, patience: float, rng: np.random.Generator) -> bool:
    """Kill fits of files and of arrays; return whether all went well."""
    table = Table(
        {"data": "<8"}
        | dict.fromkeys(KINDS, ">9")
        | {"too early": ">10", "left behind": ">12", "same result": ">12"}
    )
    X = make_spheres(n_rows, random_state=0)[0]
    good = True
    total = 0
    while total < n_kills:
        folder = Path(tempfile.mkdtemp(prefix="cohirf-kills-"))
        np.save(folder / "data.npy", X)
        job = Job(folder, bool(rng.integers(2)), int(rng.integers(100)))
        job.scratch.mkdir()
        count = torture(job, min(KILLS_A_FIT, n_kills - total), patience, rng)
        kills = [count.kills[kind] for kind in KINDS]
        same = "yes" if count.identical else "NO"
        table.row(
            "array" if job.in_memory else "file", *kills, count.early_kills, len(count.left), same
        )
        for left in count.left:
            print("   left:", left, flush=True)
        total += count.kills.total()
        good = good and count.identical and not count.left
        shutil.rmtree(folder)
    print(
        f"{total} kills with workers: "
        f"{'all results the same, nothing left behind' if good else 'FAILED'}"
    )
    return good


def main(argv: Sequence[str] | None = None) -> None:
    """Print a table of kills and of what they left."""
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=60)
    parser.add_argument("--rows", type=int, default=120_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--patience",
        type=float,
        default=20,
        help="seconds that everything may take to be cleaned up",
    )
    arguments = parse(parser, argv, kills=6)
    good = bench(
        arguments.kills, arguments.rows, arguments.patience, np.random.default_rng(arguments.seed)
    )
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
