"""Do commands that change one model at the same time all take effect?

In each round, three commands start at once on one saved model: ``cohirf update`` with the rows of a
day, with and without ``--recluster``, ``cohirf forget`` and ``cohirf merge`` into the same file.
Meanwhile, ``cohirf predict`` reads it. In a third of the rounds, one of the commands is killed at a
random instant. A command that ends with exit code 0 must be in the model: its rows, and a step of
the history. A killed one may be there or not, but never in part. All others must end with exit code
0, and nothing may be left beside the model.

    python -m benchmarks.faults.concurrent_commands [--rounds 30] [--seed 0]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs

from benchmarks._common import make_parser, parse
from benchmarks.faults._watching import Watch
from cohirf import CoHiRF, load

N_ROWS = 400
N_NEW = 70
N_OTHER = 110
N_FORGOTTEN = 9
N_COMMANDS = 3  # that change the model at the same time
SECONDS = 300  # of processor time of all commands of a round, which take about 20 of them
NEEDED = {"model", "other", "day.npy"}  # files of a round that must stay, and the only ones


@dataclass(frozen=True)
class Change:
    """A command that changes a model, by how many rows, and in how many steps of its history."""

    arguments: tuple[str, ...]
    n_rows: int
    n_steps: int = 1


CHANGES = (
    Change(("update", "model", "day.npy"), N_NEW),
    Change(("update", "model", "day.npy", "--recluster"), N_NEW, 2),
    Change(("forget", "model", "--rows", f"0-{N_FORGOTTEN - 1}"), -N_FORGOTTEN),
    Change(("merge", "model", "other", "--model", "model", "--force"), N_OTHER),
    Change(("update", "model", "--recluster"), 0),
)
SHARES = (0.4, 0.1, 0.25, 0.15, 0.1)


def prepare(folder: Path, rng: np.random.Generator) -> None:
    """Write the models and the new rows of a round."""
    X = make_blobs(N_ROWS + N_NEW + N_OTHER, 4, centers=4, random_state=int(rng.integers(2**31)))[0]
    first, day, other = np.split(X, [N_ROWS, N_ROWS + N_NEW])
    np.save(folder / "day.npy", day)
    CoHiRF(KMeans(4, n_init=1), batch_size=100, random_state=0).fit(first).save(folder / "model")
    CoHiRF(KMeans(4, n_init=1), batch_size=100, random_state=0).fit(other).save(folder / "other")


def start(folder: Path, arguments: Sequence[str]) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "cohirf", *arguments]
    return subprocess.Popen(
        command,
        cwd=folder,
        text=True,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        errors="replace",
    )


def find_broken(
    folder: Path, changes: list[Change], killed: int | None, codes: list[int | None]
) -> str | None:
    """Return what is wrong with a model after a round; None if nothing is."""
    left = {path.name for path in folder.iterdir()} - NEEDED - {"labels.csv"}
    model = load(folder / "model")
    n_rows = len(model.labels_)
    n_steps = len(model.history_)
    others = [number for number in range(len(changes)) if number != killed]
    failed = [(changes[number].arguments, codes[number]) for number in others if codes[number] != 0]
    if failed:
        return f"cohirf {' '.join(failed[0][0])} ended with {failed[0][1]}"
    sure = [
        change for number, change in enumerate(changes) if number != killed or codes[number] == 0
    ]
    possible = [sure] if killed is None or codes[killed] == 0 else [sure, [*sure, changes[killed]]]
    if n_rows not in {N_ROWS + sum(change.n_rows for change in some) for some in possible}:
        return f"the model has {n_rows} rows after {[change.arguments for change in changes]}"
    # the history of a merge begins anew
    has_merged = any(change.arguments[0] == "merge" for change in changes)
    if not has_merged and n_steps not in {
        1 + sum(change.n_steps for change in some) for some in possible
    }:
        return f"the history has {n_steps} steps after {[change.arguments for change in changes]}"
    if left and killed is None:
        return f"{sorted(left)} were left"
    return None


def wait_for(processes: Sequence[subprocess.Popen[str]]) -> str | None:
    """Wait until all have ended; return why they hang, if they do, and kill them."""
    watch = Watch([process.pid for process in processes], SECONDS)
    while any(process.poll() is None for process in processes):
        hung = watch.why_hung()
        if hung is not None:
            for process in processes:
                process.kill()
                process.communicate()
            return hung
        time.sleep(0.05)
    return None


def run_round(number: int, seed: int) -> str | None:
    """Run one round; return what is broken."""
    rng = np.random.default_rng([seed, number])
    changes = [CHANGES[each] for each in rng.choice(len(CHANGES), size=N_COMMANDS, p=SHARES)]
    killed = int(rng.integers(N_COMMANDS)) if number % 3 == 2 else None
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder, rng)
        running = [start(folder, change.arguments) for change in changes]
        reader = start(folder, ("predict", "model", "day.npy", "--out", "labels.csv"))
        if killed is not None:
            time.sleep(rng.uniform(1, 6))
            running[killed].kill()
        hung = wait_for([*running, reader])
        if hung is not None:
            return f"round {number}: hung, {hung}"
        said = [process.communicate()[1] for process in (*running, reader)]
        if reader.returncode != 0:
            return f"round {number}: cohirf predict ended with {reader.returncode}: {said[-1]}"
        problem = find_broken(folder, changes, killed, [process.returncode for process in running])
        return None if problem is None else f"round {number}: {problem}: {' | '.join(said)[-300:]}"


def run_rounds(n_rounds: int, seed: int) -> list[str]:
    """Run rounds; return what is broken."""
    broken = []
    for number in range(n_rounds):
        problem = run_round(number, seed)
        if problem is not None:
            broken.append(problem)
            print(problem, flush=True)
    return broken


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rounds", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parse(parser, argv, rounds=3)
    broken = run_rounds(arguments.rounds, arguments.seed)
    print(f"{len(broken)} of {arguments.rounds} rounds of {N_COMMANDS} commands at once broken")
    sys.exit(1 if broken else 0)


if __name__ == "__main__":
    main()
