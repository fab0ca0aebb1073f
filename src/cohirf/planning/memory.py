"""How much memory this process takes, how much it took at most, and how much the machine has left."""

from __future__ import annotations

import ctypes
import sys
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from cohirf.planning.byte_sizes import parse_bytes

STATUS = Path("/proc/self/status")


def resolve_memory_limit(memory_limit: Any) -> int:
    """Return the limit in bytes; None stands for what this process takes now and half of what is available."""
    return resident_bytes() + available_bytes() // 2 if memory_limit is None else parse_bytes(memory_limit)


def resident_bytes() -> int:
    """Return the memory this process takes now."""
    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """Return the most memory this process has taken, since :func:`reset_peak` where that works.

    On Linux this is not what ``getrusage`` says: a process inherits that figure from the one that started it.
    """
    if STATUS.exists():
        return int(STATUS.read_text(encoding="utf-8").split("VmHWM:")[1].split()[0]) * 1024
    memory = psutil.Process().memory_info()
    if hasattr(memory, "peak_wset"):  # Windows
        return int(memory.peak_wset)
    import resource  # Windows has no such module

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return int(peak if sys.platform == "darwin" else peak * 1024)


def reset_peak() -> None:
    """Hand unused memory back to the system and begin a new peak; where that is impossible the old peak stays.

    Memory that the allocator keeps after it was freed would hide what is taken next.
    """
    with suppress(AttributeError, OSError, TypeError):  # TypeError: Windows has no CDLL(None)
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def available_bytes(root: Path = Path("/")) -> int:
    """Return how much memory can be taken before the machine, or the container around it, runs out."""
    return max(0, min(int(psutil.virtual_memory().available), *_container_headrooms(root)))


def _container_headrooms(root: Path) -> list[int]:
    """Return what each control group around this process leaves, for both versions of the kernel's interface.

    Only Linux has control groups, and psutil does not look at them.
    """
    headrooms = [sys.maxsize]
    listing = root / "proc/self/cgroup"
    lines = listing.read_text(encoding="utf-8").splitlines() if listing.exists() else []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers == "":
            headrooms += _headrooms(root / "sys/fs/cgroup", path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            headrooms += _headrooms(root / "sys/fs/cgroup/memory", path, *files)
    return headrooms


def _headrooms(mount: Path, path: str, limit_file: str, usage_file: str) -> list[int]:
    """Return what is left in a control group and in those around it; pages of files do not count as taken."""
    group = mount / path.lstrip("/")
    headrooms = []
    for place in (group, *group.parents):
        with suppress(OSError, ValueError):  # no such file, or "max"
            limit, usage = (int((place / name).read_text(encoding="utf-8")) for name in (limit_file, usage_file))
            fields = dict(line.split() for line in (place / "memory.stat").read_text(encoding="utf-8").splitlines())
            headrooms.append(limit - usage + int(fields["active_file"]) + int(fields["inactive_file"]))
        if place == mount:
            break
    return headrooms
