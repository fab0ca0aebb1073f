"""Mutation score: the share of mutants that the tests find, for each folder that ``make mutants``
mutates.

mutmut changes one expression at a time and runs the tests that are about the changed function. A
mutant is found if a test fails. It is missed if all tests pass, or if none calls the function.
These do not count: changes that cannot make a result wrong; mutants that were stopped because their
tests ran too long, which a busy machine can cause as well; and mutants that were not tried, because
pytest was interrupted or failed itself.
"""

import json
import re
import signal
import sys
from collections import Counter, defaultdict
from pathlib import Path

LOWEST_SCORE = 0.9
# By exit code. pytest ends with 2 if it was interrupted, 3 if it failed itself, and 4 if it was
# called wrongly.
OUTCOMES = {
    0: "survived",
    **dict.fromkeys((5, 33), "not called"),
    **dict.fromkeys((None, 2, 3, 4), "not tried"),
    **dict.fromkeys((-signal.SIGXCPU, -signal.SIGKILL), "stopped"),
}
# zip's strict asserts what holds anyway, and astype's copy saves memory
HARMLESS = re.compile(r", (strict|copy)=\w+|,(?= \))| (?=\))")


def outcomes(meta: Path) -> dict[str, str]:
    """Return what became of each mutant of a file."""
    found = {}
    source = meta.with_suffix("").read_text(encoding="utf-8").splitlines()
    spans = json.loads(meta.with_suffix(".spans").read_text(encoding="utf-8"))["spans"]
    for mutant, exit_code in json.loads(meta.read_text(encoding="utf-8"))[
        "exit_code_by_key"
    ].items():
        name = mutant.rpartition(".")[2]
        original = name.rpartition("_")[0] + "_orig"
        before, after = (
            "".join(source[start - 1 : end]) for start, end in (spans[original], spans[name])
        )
        harmless = before and HARMLESS.sub("", before) == HARMLESS.sub(
            "", after.replace(name, original)
        )
        found[mutant] = "harmless" if harmless else OUTCOMES.get(exit_code, "found")
    return found


def score(counts: Counter[str]) -> float:
    """Return the share of found mutants among the found and missed ones; NaN if none was."""
    counted = counts["found"] + counts["survived"] + counts["not called"]
    return counts["found"] / counted if counted else float("nan")


def main() -> int:
    """Print missed mutants, a line for each folder and one for all.

    Return 1 if the score of all is too low.
    """
    package = Path("mutants", "src", "cohirf")
    by_folder: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for meta in sorted(package.rglob("*.meta")):
        of_mutant = outcomes(meta)
        for name in (meta.relative_to(package).parts[0].removesuffix(".meta"), "all"):
            by_folder[name].update(of_mutant.values())
        for mutant in (
            mutant for mutant, outcome in of_mutant.items() if outcome in ("survived", "not called")
        ):
            print(f"{of_mutant[mutant]}: {mutant}")  # noqa: T201
    columns = ["found", "survived", "not called", "stopped", "harmless", "not tried"]
    print(f"{'':14}" + "".join(f"{column:>12}" for column in columns) + f"{'score':>9}")  # noqa: T201
    for name in [*(name for name in by_folder if name != "all"), "all"]:
        cells = "".join(f"{by_folder[name][column]:12}" for column in columns)
        print(f"{name:14}{cells}{score(by_folder[name]):9.1%}")  # noqa: T201
    return int(score(by_folder["all"]) < LOWEST_SCORE)


if __name__ == "__main__":
    sys.exit(main())
