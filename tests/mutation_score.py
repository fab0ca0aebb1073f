"""Mutation score: the share of mutants that the tests find, for each folder that ``make mutants`` mutates.

mutmut changes one expression at a time and runs the tests that call the changed function. A mutant is found if a test
fails or does not end. It is missed if all tests pass, or if no test calls the function.
"""

import json
import sys
from collections import Counter, defaultdict
from pathlib import Path

MISSED = {0: "survived", 5: "not called", 33: "not called"}  # by exit code
NOT_TRIED = {None, 2}
LOWEST_SCORE = 0.9


def outcome(exit_code: int | None) -> str:
    """Return what an exit code of mutmut says of a mutant."""
    return "not tried" if exit_code in NOT_TRIED else MISSED.get(exit_code, "found")


def count_by_folder(package: Path) -> dict[str, Counter[str]]:
    """Count what became of the mutants of each folder, and of each file that is not in one."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for path in sorted(package.rglob("*.meta")):
        exit_codes = json.loads(path.read_text())["exit_code_by_key"].values()
        counts[path.relative_to(package).parts[0].removesuffix(".meta")].update(map(outcome, exit_codes))
    return dict(counts)


def score(counts: Counter[str]) -> float:
    """Return the share of found mutants among those that were tried; NaN if none was."""
    tried = counts["found"] + counts["survived"] + counts["not called"]
    return counts["found"] / tried if tried else float("nan")


def main() -> int:
    """Print a line for each folder and one for all; return 1 if the score of all is too low."""
    by_folder = count_by_folder(Path("mutants", "src", "cohirf"))
    by_folder["all"] = sum(by_folder.values(), Counter())
    outcomes = ["found", "survived", "not called", "not tried"]
    print(f"{'':14}" + "".join(f"{name:>12}" for name in outcomes) + f"{'score':>9}")  # noqa: T201
    for folder, counts in by_folder.items():
        cells = "".join(f"{counts[name]:12}" for name in outcomes)
        print(f"{folder:14}{cells}{score(counts):9.1%}")  # noqa: T201
    return int(score(by_folder["all"]) < LOWEST_SCORE)


if __name__ == "__main__":
    sys.exit(main())
