"""Memory: amounts as people write them ("2GB"), what this process takes, and what is free here or
on a device.
"""

from __future__ import annotations

import ctypes
import re
import sys
from contextlib import suppress
from math import inf, nan
from pathlib import Path
from typing import Any

import psutil

from cohirf.rows.arrays import free_on_device
from cohirf.wording import setting

STATUS = Path("/proc/self/status")
BYTE_UNITS = {"B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_TEXT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z]*)\s*", re.ASCII)


def parse_bytes(size: str) -> int:
    """Return the bytes, at least 1, of a ``batch_size`` that is text with a unit.

    Its letters may be small or capital.

    Examples
    --------
    >>> from cohirf.planning.memory import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB")
    (2000000000, 1610612736)
    """
    found = _TEXT.fullmatch(size)
    if found is None:
        number = nan
    else:
        factors = {unit.lower(): factor for unit, factor in BYTE_UNITS.items()}
        number = float(found[1]) * factors.get(found[2].lower(), nan)
    if not 1 <= number < inf:
        raise ValueError(
            f"{setting('batch_size', size)} is not valid: give a number of rows, "
            '"auto", or the memory that '
            "the fit may use, "
            f'such as "500MB", "2GB" or "1.5GiB" (units: {", ".join(BYTE_UNITS)}).'
        )
    return int(number)


def format_bytes(n_bytes: float) -> str:
    """Return a number of bytes as text, rounded to three digits."""
    unit = next(
        (unit for unit in ("TB", "GB", "MB", "KB") if n_bytes >= 0.9995 * BYTE_UNITS[unit]), "B"
    )
    return f"{n_bytes / BYTE_UNITS[unit]:.3g} {unit}"


def read_memory_limit(batch_size: Any) -> int | None:
    """Return the memory in bytes that a ``batch_size`` such as "2GB" allows.

    None if it does not say.
    """
    if isinstance(batch_size, str) and batch_size != "auto":
        return parse_bytes(batch_size)
    return None


def resolve_memory_limit(memory_limit: int | None) -> int:
    """Return the limit in bytes.

    None means the resident memory of this process plus half of the available memory.
    """
    if memory_limit is None:
        return resident_bytes() + available_bytes() // 2
    return memory_limit


def resident_bytes() -> int:
    """Return the resident memory of this process."""
    return int(psutil.Process().memory_info().rss)


def peak_bytes() -> int:
    """Return the peak resident memory of this process, since :func:`reset_peak` if the system
    supports it.

    Linux does not use ``getrusage``, because a process inherits that figure from the process that
    started it.
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
    """Return unused memory to the system and reset the peak.

    On systems that cannot reset it, the old peak stays.

    Freed memory that the allocator keeps would hide later allocations.
    """
    if "pyarrow" in sys.modules:
        sys.modules["pyarrow"].default_memory_pool().release_unused()
    with suppress(AttributeError, OSError, TypeError):  # TypeError: Windows has no CDLL(None)
        ctypes.CDLL(None).malloc_trim(0)
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")


def available_bytes(root: Path = Path("/")) -> int:
    """Return the memory that can be used before the machine, or the container of this process, runs
    out of memory.
    """
    return max(0, min(int(psutil.virtual_memory().available), *_container_headrooms(root)))


def _container_headrooms(root: Path) -> list[int]:
    """Return the memory left in each control group of this process, for both versions of the
    kernel's interface.

    Only Linux has control groups, and psutil does not look at them.
    """
    headrooms = [sys.maxsize]
    listing = root / "proc/self/cgroup"
    if listing.exists():
        lines = listing.read_text(encoding="utf-8").splitlines()
    else:
        lines = []
    for _, controllers, path in (line.split(":", 2) for line in lines):
        if controllers == "":
            headrooms += _headrooms(root / "sys/fs/cgroup", path, "memory.max", "memory.current")
        elif "memory" in controllers.split(","):
            files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            headrooms += _headrooms(root / "sys/fs/cgroup/memory", path, *files)
    return headrooms


def _headrooms(mount: Path, path: str, limit_file: str, usage_file: str) -> list[int]:
    """Return the memory left in a control group and in each of its parents.

    Cached pages of files count as free.
    """
    group = mount / path.lstrip("/")
    headrooms = []
    for place in (group, *group.parents):
        with suppress(OSError, ValueError):  # no such file, or "max"
            limit, usage = (
                int((place / name).read_text(encoding="utf-8")) for name in (limit_file, usage_file)
            )
            fields = dict(
                line.split()
                for line in (place / "memory.stat").read_text(encoding="utf-8").splitlines()
            )
            headrooms.append(
                limit - usage + int(fields["active_file"]) + int(fields["inactive_file"])
            )
        if place == mount:
            break
    return headrooms


def free_bytes(device: Any) -> int:
    """Return the free memory of a device; of this machine, if the device is the processor."""
    free = free_on_device(device)
    return available_bytes() if free is None else free
