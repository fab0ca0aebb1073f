"""Results that are kept: each in a file of its own, found again by what it is the result of."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

PROTOCOL = 2  # to be raised when results that are kept are no longer good


def kept(folder: Path, about: dict[str, Any], compute: Callable[[], dict[str, Any]]) -> dict[str, Any]:
    """Return the result about something, with what it is about; it is computed if it is not there yet."""
    path = path_of(folder, about)
    if not path.exists():
        folder.mkdir(parents=True, exist_ok=True)
        part = path.with_suffix(f".{os.getpid()}")
        part.write_text(json.dumps(about | compute(), indent=1))
        part.replace(path)  # whole or not at all
    result: dict[str, Any] = json.loads(path.read_text())
    return result


def path_of(folder: Path, about: dict[str, Any]) -> Path:
    """Return the file for the result about something."""
    text = json.dumps({"protocol": PROTOCOL, **about}, sort_keys=True)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"
