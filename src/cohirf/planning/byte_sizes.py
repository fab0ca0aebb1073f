"""Amounts of memory as people write them: "2GB", "1.5GiB"."""

from __future__ import annotations

import re
from math import nan

UNITS = {"B": 1} | {
    f"{letter}{suffix}": base**power
    for power, letter in enumerate("KMGT", start=1)
    for suffix, base in (("B", 1000), ("iB", 1024))
}
_FACTORS = {unit.lower(): factor for unit, factor in UNITS.items()}
_TEXT = re.compile(r"\s*(\d+\.?\d*|\.\d+)\s*([A-Za-z]*)\s*", re.ASCII)


def parse_bytes(size: str) -> int:
    """Return a number of bytes from text with a unit, which is a ``batch_size``.

    Parameters
    ----------
    size : str
        Text such as ``"500MB"`` or ``"1.5 GiB"``. kB, MB, GB and TB are powers of 1000; KiB,
        MiB, GiB and TiB are powers of 1024. Units are not case-sensitive.

    Returns
    -------
    n_bytes : int
        At least 1.

    Examples
    --------
    >>> from cohirf.planning.byte_sizes import parse_bytes
    >>> parse_bytes("2GB"), parse_bytes("1.5 GiB")
    (2000000000, 1610612736)
    """
    found = _TEXT.fullmatch(size)
    number = nan if found is None else float(found[1]) * _FACTORS.get(found[2].lower(), nan)
    if not number >= 1:
        raise ValueError(
            f'batch_size={size!r} is not valid: give a number of rows, "auto", or the memory that the fit may use, '
            f'such as "500MB", "2GB" or "1.5GiB" (units: {", ".join(UNITS)}).'
        )
    return int(number)


def format_bytes(n_bytes: float) -> str:
    """Return a number of bytes as text, rounded to three digits."""
    unit = next((unit for unit in ("TB", "GB", "MB", "KB") if n_bytes >= 0.9995 * UNITS[unit]), "B")
    return f"{n_bytes / UNITS[unit]:.3g} {unit}"
