"""Mutation score: the share of mutants that the tests find, for each folder that ``make mutants`` mutates.

mutmut changes one expression at a time and runs the tests that call the changed function. A mutant is found if a test
fails or does not end. It is missed if all tests pass, or if no test calls the function.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

from mutmut.stats import status_by_exit_code

FOUND = {"killed", "timeout", "segfault"}
MISSED = {"survived", "no tests", "suspicious"}
LOWEST_SCORE = 0.9


def count_by_folder(package: Path) -> dict[str, Counter[str]]:
    """Count what became of the mutants of each folder, and of each file that is not in one."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(package.rglob("*.meta")):
        exit_codes = json.loads(path.read_text())["exit_code_by_key"].values()
        folder = path.relative_to(package).parts[0].removesuffix(".meta")
        counts[folder].update(status_by_exit_code[code] for code in exit_codes)
    return dict(counts)


def score(counts: Counter[str]) -> float:
    """Return the share of found mutants among those that were tried; NaN if none was."""
    found, missed = (sum(counts[status] for status in statuses) for statuses in (FOUND, MISSED))
    return found / (found + missed) if found + missed else float("nan")


def main() -> int:
    """Print a line for each folder and one for all; return 1 if the score of all is too low."""
    by_folder = count_by_folder(Path("mutants", "src", "cohirf"))
    by_folder["all"] = sum(by_folder.values(), Counter())
    statuses = ["killed", "timeout", "segfault", "survived", "no tests", "suspicious", "not checked"]
    print(f"{'':14}" + "".join(f"{status:>12}" for status in statuses) + f"{'score':>9}")  # noqa: T201
    for folder, counts in by_folder.items():
        cells = "".join(f"{counts[status]:12}" for status in statuses)
        print(f"{folder:14}{cells}{score(counts):9.1%}")  # noqa: T201
    return int(score(by_folder["all"]) < LOWEST_SCORE)


if __name__ == "__main__":
    sys.exit(main())
