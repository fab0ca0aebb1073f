"""JSON that was written by somebody: parsed strictly, and checked part by part before it is used."""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
from typing import Any

MAX_COUNT = 2**62  # of rows, features...: far below where sums of a few of them overflow


def parse_json(text: bytes) -> Any:
    """Return what JSON text holds; NaN and Infinity, which Python's parser takes, are refused."""
    return json.loads(text, parse_constant=_refuse_constant)


def require_keys(content: Any, keys: set[str], what: str) -> dict[str, Any]:
    """Return an object that has these keys and no others."""
    if not isinstance(content, dict) or content.keys() != keys:
        raise ValueError(f"{what} must be an object with the keys {', '.join(sorted(keys))}")
    return content


def require_count(value: Any, what: str) -> int:
    """Return a whole number that is not negative."""
    if type(value) is not int or not 0 <= value < MAX_COUNT:
        raise ValueError(f"{what} is {reprlib.repr(value)}, and must be a whole number that is not negative")
    return value


def require_number(value: Any, what: str) -> float:
    """Return a finite number, or NaN for null."""
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{what} is {reprlib.repr(value)}, and must be a number or null")
    return float(value)


def require_text(value: Any, what: str) -> str:
    """Return a string."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string")
    return value


def seal(body: dict[str, Any]) -> bytes:
    """Return an object as text that carries its own SHA-256.

    Examples
    --------
    >>> unseal(seal({"format": "mine"}))
    {'format': 'mine'}
    """
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return json.dumps(body | {"sha256": digest}, indent=1).encode()


def unseal(text: bytes) -> dict[str, Any]:
    """Return the object that ``seal`` made the text from; refuse text that differs in a single byte."""
    body = json.loads(text)
    if not isinstance(body, dict) or "sha256" not in body:
        raise ValueError("it does not carry its SHA-256")
    del body["sha256"]
    if seal(body) != text:
        raise ValueError("its SHA-256 differs")
    return body


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
