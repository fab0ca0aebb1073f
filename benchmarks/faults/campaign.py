"""Does a model survive all of it: sequences of updates, crafted files, kills, commands at the same
time?

    python -m benchmarks.faults.campaign [--seed 0] [--sequences 80] [--crafted 2000] [--kills 12]
    [--rounds 9]

Runs the parts that are scripts of their own, which say what counts as broken: ``update_sequences``,
``crafted_models``, ``killed_updates`` and ``concurrent_commands``. Another seed has other cases.
Each part runs in a process of its own, and on two cores two of them run at the same time. Prints
what is broken, how many cases there were, and the seconds and processor time of each part; ends
with code 1 if anything is broken. A hang is told by processor time, so other programs may run
beside it. It takes less than ten minutes on two cores that have nothing else to do: the processor
time is about 630 seconds in all.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass

from joblib import cpu_count

from benchmarks._common import Table, make_parser, parse
from benchmarks.faults._watching import processor_seconds
from benchmarks.faults.concurrent_commands import N_COMMANDS, run_rounds
from benchmarks.faults.crafted_models import run_cases
from benchmarks.faults.killed_updates import run_kills
from benchmarks.faults.update_sequences import Tally, run_sequence


@dataclass(frozen=True)
class Part:
    """A part of the campaign.

    Attributes
    ----------
    name : str
        What is tried.
    count_broken : callable
        Takes the number of cases and the seed, and returns how many cases are broken.
    n_cases : int
        How many cases there are.
    """

    name: str
    count_broken: Callable[[int, int], int]
    n_cases: int

    def run(self, seed: int) -> tuple[str, int, int, float, float]:
        """Return a line of the table: name, cases, broken ones, seconds, of these on the processor."""
        started = time.perf_counter()
        n_broken = self.count_broken(self.n_cases, seed) if self.n_cases else 0
        seconds = time.perf_counter() - started
        return self.name, self.n_cases, n_broken, seconds, processor_seconds([os.getpid()])


def count_broken_sequences(n_sequences: int, seed: int) -> int:
    tally = Tally()
    for number in range(seed * n_sequences, (seed + 1) * n_sequences):
        run_sequence(number, tally)
        if number in tally.broken:
            print(f"sequence {number} is broken: {tally.broken[number]}", flush=True)
    return len(tally.broken)


def count_broken_models(n_cases: int, seed: int) -> int:
    counts, broken = run_cases(n_cases, seed)
    print(
        ", ".join(f"{count:,} {outcome}" for outcome, count in sorted(counts.items())), flush=True
    )
    return len(broken)


def count_broken_kills(n_kills: int, seed: int) -> int:
    return n_kills - run_kills(n_kills, seed, program=False)[0]


def count_broken_rounds(n_rounds: int, seed: int) -> int:
    return len(run_rounds(n_rounds, seed))


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sequences", type=int, default=80)
    parser.add_argument("--crafted", type=int, default=2000)
    parser.add_argument("--kills", type=int, default=12)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parse(parser, argv, sequences=5, crafted=30, kills=2, rounds=1)
    parts = [  # the longest first
        Part("crafted models", count_broken_models, arguments.crafted),
        Part("sequences of updates", count_broken_sequences, arguments.sequences),
        Part(f"rounds of {N_COMMANDS} commands at once", count_broken_rounds, arguments.rounds),
        Part("kills of updates", count_broken_kills, arguments.kills),
    ]
    # Each process runs one part: crafted models fork, which does not mix with threads of others.
    with ProcessPoolExecutor(
        cpu_count(), multiprocessing.get_context("spawn"), max_tasks_per_child=1
    ) as processes:
        lines = list(processes.map(Part.run, parts, [arguments.seed] * len(parts)))
    table = Table(
        {"what": "<30", "cases": ">7,", "broken": ">7,", "seconds": ">8.0f", "processor": ">10.0f"}
    )
    for line in lines:
        table.row(*line)
    sys.exit(1 if any(n_broken for _, _, n_broken, _, _ in lines) else 0)


if __name__ == "__main__":
    main()
