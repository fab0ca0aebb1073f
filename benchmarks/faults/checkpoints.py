"""Does a checkpoint survive kills at random instants, flipped bits, and files cut short anywhere?

A batched fit that reads a ``.npy`` file with two jobs runs in a process group of its own. The whole
group is killed at a random instant; the same fit is called again, and killed again, until it gets
through. Then labels and parents are compared with those of an undisturbed fit. The base method
notes the rows of each call, so that batches are found that were in the journal and computed again
nevertheless. After each kill, files are looked for that should not be there: in the checkpoint and
in the directory for temporary files. Files that joblib leaves in shared memory are removed and
counted separately. The first fit uses processes (joblib's loky), for so many of the kills, the
others threads.

Damage is done to the checkpoint of a small finished fit. It is noticed if the fit refuses it, or
warns and computes again what it has lost. A file that is cut short looks like one that a kill has
left, and needs no warning.

    python -m benchmarks.faults.checkpoints [--kills 100] [--in-processes 5] [--flips 1000] [--rows
    40000] [--seed 0]
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from joblib.externals.loky import get_reusable_executor
from sklearn.cluster import DBSCAN

from benchmarks._common import Table, flip_bit, make_parser, parse
from benchmarks.faults import count_records
from cohirf import CoHiRF, open_source
from cohirf.datasets import make_spheres
from cohirf.store.checkpoint import CHECKPOINT
from cohirf.store.files import CheckpointError, CheckpointWarning

LOG = "COHIRF_KILLS_LOG"
SHARED = Path("/dev/shm")
KILLS_A_FIT = 20
VARIANTS = (
    {"views": 1},
    {"views": 1, "medoid_weights": True},
    {"views": 3, "max_features": 2, "consensus": "relaxed"},
    {"views": 1, "medoid": "rbf"},
)


class LoggedDBSCAN(DBSCAN):
    """DBSCAN that notes the rows it is called with before it starts."""

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> LoggedDBSCAN:
        """Note the rows and cluster them."""
        log = os.open(os.environ[LOG], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
        os.write(log, hashlib.sha256(np.ascontiguousarray(X)).hexdigest().encode() + b"\n")
        os.close(log)
        return super().fit(X, sample_weight=sample_weight)


@dataclass(frozen=True)
class Job:
    """One fit, and where everything it needs and leaves is."""

    folder: Path
    options: dict[str, Any]
    backend: str
    batch_size: int = 1000

    def model(self, **options: Any) -> CoHiRF:
        """Return the model before its fit."""
        return CoHiRF.as_published(
            LoggedDBSCAN(eps=0.3), batch_size=self.batch_size, **self.options, **options
        )

    def run(self, log: Path, result: Path, **options: Any) -> None:
        """Fit, and store what was found; in a process of its own."""
        os.environ[LOG] = str(log)
        os.environ["TMPDIR"], tempfile.tempdir = str(self.folder / "tmp"), None
        os.environ["PYTHONWARNINGS"] = (
            "ignore"  # joblib's resource tracker warns of processes that end without cleaning up
        )
        with joblib.parallel_config(backend=self.backend):
            model = self.model(**options).fit(open_source(self.folder / "data.npy"))
        if self.backend == "loky":
            get_reusable_executor().shutdown(wait=True)
        np.savez(result, labels=model.labels_, parents=model.parents_, n_runs=self.n_runs)

    @property
    def n_runs(self) -> int:
        """How often the base method is called for a batch."""
        return int(self.options["views"])


def start(function: Callable[[], None]) -> int:
    """Call a function in a process group of its own, and return its number."""
    child = os.fork()
    os.setpgid(child, child)  # in both processes, as either may be first
    if child == 0:
        status = 1
        try:
            function()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stderr.flush()
            os._exit(status)
    return child


def wait(child: int, seconds: float) -> int | None:
    """Return the exit code of a process, or None if it does not end in time."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    return None


def kill_group(child: int) -> None:
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    with contextlib.suppress(ProcessLookupError):
        while True:  # workers end a moment later, and are reaped by another process
            os.killpg(child, signal.SIGKILL)
            time.sleep(0.01)


def sweep_shared_memory(child: int) -> int:
    """Remove what joblib has not cleaned up itself after a kill, and return how many files that
    are.
    """
    time.sleep(1)
    left = [
        *SHARED.glob(f"joblib_memmapping_folder_{child}_*"),
        *SHARED.glob(f"sem.loky-{child}-*"),
    ]
    for path in left:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return len(left)


def read_lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").splitlines() if path.exists() else []


@dataclass
class Count:
    """What one fit went through."""

    variant: str
    kills: int = 0
    batches: int = 0
    committed_twice: int = 0
    left_by_joblib: int = 0
    strays: set[str] = field(default_factory=set)
    identical: bool = False

    HEAD = (
        f"{'fit':<78} {'kills':>5} {'batches':>8} {'computed twice':>15} {'stray files':>12}  same "
        "result"
    )

    def __str__(self) -> str:
        return (
            f"{self.variant:<78} {self.kills:>5} {self.batches:>8} {self.committed_twice:>15} "
            f"{len(self.strays):>12}  {'yes' if self.identical else 'NO'}"
        )

    @property
    def is_clean(self) -> bool:
        """Whether no result was lost or changed, and no file was left."""
        return self.identical and self.committed_twice == 0 and not self.strays


def torture(job: Job, max_kills: int, rng: np.random.Generator) -> Count:
    """Kill a fit again and again until it gets through or there were enough kills.

    Then let it finish.
    """
    folder = job.folder
    for name in ("tmp", "logs"):
        (folder / name).mkdir()
    count = Count(
        ", ".join([job.backend, *(f"{name}={value}" for name, value in job.options.items())])
    )
    # The undisturbed fit takes one batch after the other, so its log tells which calls belong to
    # which batch.
    serial = start(lambda: job.run(folder / "logs" / "serial", folder / "expected.npz", n_jobs=1))
    assert wait(serial, 3600) == 0, "the undisturbed fit failed"
    begun = time.monotonic()
    assert (
        wait(
            start(lambda: job.run(folder / "logs" / "parallel", folder / "again.npz", n_jobs=2)),
            3600,
        )
        == 0
    )
    seconds = time.monotonic() - begun
    calls = read_lines(folder / "logs" / "serial")
    count.batches = len(calls) // job.n_runs
    batches = [
        frozenset(calls[job.n_runs * number :][: job.n_runs]) for number in range(count.batches)
    ]
    assert len(frozenset().union(*batches)) == sum(map(len, batches)), (
        "two batches have the same rows"
    )

    checkpoint = folder / "checkpoint"
    # it takes longer to start processes
    longest = seconds * (0.2 if job.backend == "threading" else 0.8)
    while True:
        committed = set(calls[: job.n_runs * count_records(checkpoint / CHECKPOINT.journal)])
        log = folder / "logs" / str(count.kills)
        child = start(
            lambda log=log: job.run(log, folder / "found.npz", n_jobs=2, checkpoint=checkpoint)
        )
        done = wait(child, rng.uniform(0, longest) if count.kills < max_kills else 3600)
        if done is None:
            kill_group(child)
            count.left_by_joblib += sweep_shared_memory(child) if job.backend == "loky" else 0
            count.kills += 1
        count.committed_twice += sum(call in committed for call in read_lines(log))
        count.strays |= strays(checkpoint, folder / "tmp")
        if done is not None:
            assert done == 0, "the resumed fit failed"
            break
    with np.load(folder / "expected.npz") as expected, np.load(folder / "found.npz") as found:
        count.identical = all(
            np.array_equal(expected[name], found[name]) for name in ("labels", "parents")
        )
    return count


def strays(checkpoint: Path, scratch: Path) -> set[str]:
    """Return files that should not be there."""
    found = {file.name for file in checkpoint.iterdir()} if checkpoint.exists() else set()
    return (found - {CHECKPOINT.journal, CHECKPOINT.lock}) | {
        file.name for file in scratch.iterdir()
    }


def bench_kills(n_kills: int, n_in_processes: int, n_rows: int, rng: np.random.Generator) -> bool:
    print(Count.HEAD)
    counts: list[Count] = []
    X = make_spheres(n_rows, random_state=0)[0].astype(np.float32)
    while (left := n_kills - sum(count.kills for count in counts)) > 0:
        with tempfile.TemporaryDirectory() as folder:
            np.save(Path(folder) / "data.npy", X)
            number = len(counts)
            in_processes = number == 0 and n_in_processes > 0
            options = VARIANTS[number % len(VARIANTS)] | {"random_state": number}
            job = Job(Path(folder), options, "loky" if in_processes else "threading")
            counts.append(
                torture(job, min(left, n_in_processes if in_processes else KILLS_A_FIT), rng)
            )
            print(counts[-1], flush=True)
    clean = sum(count.kills for count in counts if count.is_clean)
    print(f"{clean} of {sum(count.kills for count in counts)} kills survived")
    print(
        f"{sum(count.left_by_joblib for count in counts)} entries left by joblib in shared memory\n"
    )
    return all(count.is_clean for count in counts)


# -- damage --------------------------------------------------------------------------------------------------------


def flips(folder: Path, n_flips: int, rng: np.random.Generator) -> Iterator[tuple[Path, bytes]]:
    """Yield the journal with a flipped bit."""
    whole = (folder / CHECKPOINT.journal).read_bytes()
    for _ in range(n_flips):
        yield folder / CHECKPOINT.journal, flip_bit(whole, rng)


def cuts(folder: Path, step: int) -> Iterator[tuple[Path, bytes]]:
    """Yield the journal cut short at each of its bytes, or at every so many."""
    whole = (folder / CHECKPOINT.journal).read_bytes()
    for length in range(0, len(whole), step):
        yield folder / CHECKPOINT.journal, whole[:length]


def classify(fit: Callable[[], Any], expected: Any) -> str:
    """Say how a fit takes the damage."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            found = fit()
        except CheckpointError:
            return "refused"
    if (
        not (found.labels_ == expected.labels_).all()
        or not (found.parents_ == expected.parents_).all()
    ):
        return "wrong"
    return (
        "repaired"
        if any(issubclass(entry.category, CheckpointWarning) for entry in caught)
        else "no warning"
    )


def bench_damage(n_flips: int, step: int, rng: np.random.Generator) -> bool:
    outcomes = ("refused", "repaired", "no warning", "wrong")
    table = Table({"damage": "<30", "cases": ">6,"} | dict.fromkeys(outcomes, ">10,"))
    X = make_spheres(60, random_state=0)[0]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "checkpoint"
        model = CoHiRF.as_published(
            DBSCAN(eps=1.0), views=1, batch_size=20, random_state=0, checkpoint=path
        )
        expected = model.fit(X)
        whole = {file: file.read_bytes() for file in path.iterdir()}
        kinds = {
            "bit flips": list(flips(path, n_flips, rng)),
            "journal cut short": list(cuts(path, step)),
        }
        good = True
        for kind, cases in kinds.items():
            counts: Counter[str] = Counter()
            for file, damaged in cases:
                for name, content in whole.items():
                    name.write_bytes(content)
                file.write_bytes(damaged)
                counts[
                    classify(
                        lambda: CoHiRF.as_published(**model.get_params(deep=False)).fit(X), expected
                    )
                ] += 1
            table.row(kind, len(cases), *(counts[outcome] for outcome in outcomes))
            good = (
                good and counts["wrong"] == 0 and (kind != "bit flips" or counts["no warning"] == 0)
            )
    return good


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--in-processes", type=int, default=5)
    parser.add_argument("--flips", type=int, default=1000)
    parser.add_argument(
        "--step", type=int, default=1, help="cut files short at every so many bytes"
    )
    parser.add_argument("--rows", type=int, default=40_000)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse(parser, argv, kills=6, in_processes=2, flips=50, step=50, rows=6000)
    rng = np.random.default_rng(arguments.seed)
    good = True
    if arguments.kills:  # first, because a process with threads cannot be forked safely
        good = bench_kills(arguments.kills, arguments.in_processes, arguments.rows, rng)
    if arguments.flips:
        good = bench_damage(arguments.flips, arguments.step, rng) and good
    sys.exit(0 if good else 1)


if __name__ == "__main__":
    main()
