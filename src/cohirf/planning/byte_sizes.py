"""Amounts of memory as people write them: "2GB", "1.5GiB"."""

from __future__ import annotations

import re
from math import inf, nan
from numbers import Real
from typing import Any

UNITS = {"B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_FACTORS = {unit.lower(): factor for unit, factor in UNITS.items()} | {"": 1}
_TEXT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z]*)\s*", re.ASCII)


def parse_bytes(size: Any) -> int:
    """Return a number of bytes from a number or from text with a unit.

    Parameters
    ----------
    size : int, float or str
        A number of bytes, or text such as ``"500MB"`` or ``"1.5 GiB"``. kB, MB, GB and TB are powers of 1000; KiB,
        MiB, GiB and TiB are powers of 1024. Units are not case-sensitive.

    Returns
    -------
    n_bytes : int
        At least 1.

    Examples
    --------
    >>> from cohirf.planning import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB"), parse_bytes(4096)
    (2000000000, 1610612736, 4096)
    """
    number = _parse_text(size) if isinstance(size, str) else _check_number(size)
    if not 1 <= number < inf:
        raise ValueError(
            f"memory_limit={size!r} is not valid: give a positive number of bytes, "
            f'or text such as "500MB", "2GB" or "1.5GiB" (units: {", ".join(UNITS)}).'
        )
    return int(number)


def format_bytes(n_bytes: float) -> str:
    """Return a number of bytes as text, rounded to three digits."""
    unit = next((unit for unit in ("TB", "GB", "MB", "KB") if n_bytes >= 0.9995 * UNITS[unit]), "B")
    return f"{n_bytes / UNITS[unit]:.3g} {unit}"


def _check_number(number: Any) -> float:
    return nan if isinstance(number, bool) or not isinstance(number, Real) else float(number)


def _parse_text(text: str) -> float:
    found = _TEXT.fullmatch(text)
    return nan if found is None else float(found[1]) * _FACTORS.get(found[2].lower(), nan)
