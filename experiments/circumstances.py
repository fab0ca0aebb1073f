"""What a reader has to know of a run: the command, the day, the size of the machine, the
versions.
"""

from __future__ import annotations

import datetime
import os
from importlib.metadata import version

PACKAGES = ("cohirf", "numpy", "optuna", "scikit-learn")


def describe_run(command: str) -> list[str]:
    """Return lines of Markdown."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    versions = ", ".join(f"{name} {version(name)}" for name in PACKAGES)
    today = datetime.datetime.now(tz=datetime.UTC).date()
    return [
        f"`{command}`, written on {today}. {os.cpu_count()} cores, {memory:.0f} GiB of memory; "
        f"{versions}."
    ]
