"""Parse and check values of options: numbers, and names from a list."""

from __future__ import annotations

from cohirf.cli.errors import BadInputError


def refuse_unknown(flag: str, given: str | None, choices: tuple[str, ...]) -> None:
    """Refuse a value that is not one of ``choices``."""
    if given is not None and given not in choices:
        known = " or ".join([*filter(None, [", ".join(choices[:-1])]), choices[-1]])
        raise BadInputError(f"{flag} {given!r} is not valid: give {known}.")


def read_count(flag: str, text: str, least: int = 1) -> int:
    """Return an integer of at least ``least``; it may be written as 1e6."""
    try:
        number = float(text.replace("_", ""))
    except ValueError:
        number = float("nan")
    if not (least <= number <= 2**53 and number == int(number)):
        raise BadInputError(f"{flag} {text!r} is not valid: give a whole number from {least} on, such as 1000 or 1e6.")
    return int(number)


def read_number(flag: str, text: str) -> float:
    """Return a non-negative number."""
    try:
        number = float(text)
    except ValueError:
        number = -1.0
    if not 0 <= number < float("inf"):
        raise BadInputError(f"{flag} {text!r} is not valid: give a number from 0 on.")
    return number
