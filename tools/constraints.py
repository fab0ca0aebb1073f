"""Which versions ``constraints.txt`` pins: those installed of every package that ``cohirf[dev]``
needs, and no others.

Without options this writes ``constraints.txt``. With ``--check`` it changes nothing, and fails if
the file pins a package that nothing needs, lacks one that something needs, or names another version
than the installed one. Which packages are needed differs between systems, so it checks only on the
system that the file was written on.
"""

from __future__ import annotations

import argparse
import platform
import re
import sys
from collections.abc import Iterable
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.markers import Marker
from packaging.requirements import Requirement

FILE = Path(__file__).parents[1] / "constraints.txt"
SYSTEM = f"Python {sys.version_info.major}.{sys.version_info.minor} on {platform.system()}"
HEADING = (
    "# What `make` installs, and `make constraints` wrote: the development environment for "
    f"{SYSTEM}."
)


def main() -> int:
    """Write or check ``constraints.txt``; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--check", action="store_true", help="fail if constraints.txt is not what is needed"
    )
    pins = [
        f"{name}=={version}" for name, version in sorted(needed_versions("cohirf", {"dev"}).items())
    ]
    if parser.parse_args().check:
        return check(pins)
    FILE.write_text("\n".join([HEADING, *pins, ""]), encoding="utf-8")
    return 0


def check(pins: list[str]) -> int:
    """Say how ``constraints.txt`` differs from the pins that are needed; return the exit code."""
    heading, *pinned = FILE.read_text(encoding="utf-8").splitlines()
    if heading != HEADING:
        print(f"constraints.txt is not checked: it was not written by {SYSTEM}")
        return 0
    for pin in sorted(set(pinned) - set(pins)):
        print(
            f"constraints.txt pins {pin}, which is not what cohirf[dev] needs and .venv has: make "
            "constraints"
        )
    for pin in sorted(set(pins) - set(pinned)):
        print(f"constraints.txt lacks {pin}, which cohirf[dev] needs: make constraints")
    return int(pinned != pins)


def needed_versions(project: str, extras: set[str]) -> dict[str, str]:
    """Return the installed version of each package that a project with these extras needs, directly
    or indirectly.
    """
    versions: dict[str, str] = {}
    visited: set[tuple[str, str]] = set()
    waiting = [(project, extra) for extra in ("", *sorted(extras))]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in visited:
            continue
        visited.add((name, extra))
        package = distribution(name)
        versions[name] = package.version
        for requirement in requirements(package, extra):
            needed = normalised(requirement.name)
            waiting += [(needed, each) for each in ("", *map(normalised, requirement.extras))]
    del versions[project]
    return versions


def requirements(package: Distribution, extra: str) -> Iterable[Requirement]:
    """Yield what a package requires here: by itself if ``extra`` is empty, else for this extra as
    well.
    """
    for requirement in map(Requirement, package.requires or ()):
        if requirement.marker is None or applies(requirement.marker, extra):
            yield requirement


def applies(marker: Marker, extra: str) -> bool:
    """Tell whether a marker holds on this machine for an extra.

    Extras are compared by their normalised names.
    """
    return marker.evaluate({"extra": extra})


def normalised(name: str) -> str:
    """Return the one spelling that all spellings of a package's name share."""
    return re.sub(r"[-_.]+", "-", name).lower()


if __name__ == "__main__":
    sys.exit(main())
