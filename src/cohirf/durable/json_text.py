"""JSON of unknown origin: parsed strictly, and validated part by part before it is used."""

from __future__ import annotations

import hashlib
import json
import math
import reprlib
from typing import Any

MAX_COUNT = 2**62  # of rows, features and so on: small enough that sums of a few counts cannot overflow


def parse_json(text: bytes) -> Any:
    """Return the content of JSON text; refuse NaN and Infinity, which Python's parser accepts."""
    return json.loads(text, parse_constant=_refuse_constant)


def require_keys(content: Any, keys: set[str], what: str) -> dict[str, Any]:
    """Return ``content`` if it is a JSON object with exactly these keys; raise ValueError otherwise."""
    if not isinstance(content, dict) or content.keys() != keys:
        raise ValueError(f"{what} must be a JSON object with the keys {', '.join(sorted(keys))}")
    return content


def require_count(value: Any, what: str) -> int:
    """Return ``value`` if it is a non-negative integer; raise ValueError otherwise."""
    if type(value) is not int or not 0 <= value < MAX_COUNT:
        raise ValueError(f"{what} is {reprlib.repr(value)}, but must be a non-negative integer")
    return value


def require_number(value: Any, what: str) -> float:
    """Return ``value`` if it is a finite number, and NaN for null; raise ValueError otherwise."""
    if value is None:
        return math.nan
    if type(value) not in (int, float) or not math.isfinite(value):
        raise ValueError(f"{what} is {reprlib.repr(value)}, but must be a finite number or null")
    return float(value)


def require_text(value: Any, what: str) -> str:
    """Return ``value`` if it is a string; raise TypeError otherwise."""
    if not isinstance(value, str):
        raise TypeError(f"{what} must be a string")
    return value


def seal(body: dict[str, Any]) -> bytes:
    """Return a JSON object as text that includes its own SHA-256.

    Examples
    --------
    >>> unseal(seal({"format": "mine"}))
    {'format': 'mine'}
    """
    digest = hashlib.sha256(json.dumps(body, sort_keys=True).encode()).hexdigest()
    return json.dumps(body | {"sha256": digest}, indent=1).encode()


def unseal(text: bytes) -> dict[str, Any]:
    """Return the object that ``seal`` was given; refuse text in which any byte has changed."""
    body = json.loads(text)
    if not isinstance(body, dict) or "sha256" not in body:
        raise ValueError("it does not contain its SHA-256")
    del body["sha256"]
    if seal(body) != text:
        raise ValueError("its SHA-256 differs")
    return body


def _refuse_constant(name: str) -> Any:
    raise ValueError(f"{name} is not valid JSON")
