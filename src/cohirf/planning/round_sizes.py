"""Candidate batch sizes: round numbers.

They do not depend on measurements, so measurements that differ a little mostly lead to the same choice.
"""

from __future__ import annotations

from math import floor, log10

STEP = 2**0.25


def fine_sizes(low: float, high: float) -> list[int]:
    """Return sizes with two significant digits from ``low`` to ``high``, each about a fifth above the previous one."""
    sizes = []
    power = 0
    while (size := _two_digits(STEP**power)) <= high:
        if size >= low:
            sizes.append(size)
        power += 1
    return sizes


def coarse_sizes(low: float, high: float) -> list[int]:
    """Return 1, 2, 5, 10, 20, 50 and so on from ``low`` to ``high``."""
    digits = range(1 + floor(log10(max(high, 1))))
    return [size for power in digits for size in (10**power, 2 * 10**power, 5 * 10**power) if low <= size <= high]


def _two_digits(number: float) -> int:
    unit: int = 10 ** max(0, floor(log10(number)) - 1)
    return round(number / unit) * unit
