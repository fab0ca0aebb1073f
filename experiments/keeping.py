"""Results that are kept: each in a file of its own, found again by what it is the result of.

A folder of results is packed into one file, which is what the repository has, and unpacked where it
is used again.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas as pd

PACKED = "cells.parquet"
PROTOCOL = 2  # of results that do not name another; what is below is no longer good


def kept(
    folder: Path, about: dict[str, Any], compute: Callable[[], dict[str, Any]]
) -> dict[str, Any]:
    """Return the result about something, with what it is about.

    It is computed if it is not there yet.
    """
    return look_up(folder, about) or store(folder, about, compute())


def store(folder: Path, about: dict[str, Any], found: dict[str, Any]) -> dict[str, Any]:
    """Keep what was found about something, and return both."""
    text = json.dumps({"protocol": PROTOCOL} | about | found, indent=1)
    _write_whole(path_of(folder, about), text.encode())
    result: dict[str, Any] = json.loads(text)
    return result


def look_up(folder: Path, about: dict[str, Any]) -> dict[str, Any] | None:
    """Return the result about something, if there is one."""
    path = path_of(folder, about)
    return json.loads(path.read_text()) if path.exists() else None


def is_kept(folder: Path, about: dict[str, Any]) -> bool:
    """Tell whether there is a result about something."""
    return path_of(folder, about).exists()


def path_of(folder: Path, about: dict[str, Any]) -> Path:
    """Return the file for the result about something."""
    text = json.dumps({"protocol": PROTOCOL, **about}, sort_keys=True)
    return folder / f"{hashlib.sha256(text.encode()).hexdigest()[:20]}.json"


def pack(folder: Path) -> None:
    """Write all results of a folder that are still good to one file beside it."""
    texts = {file.stem: file.read_text() for file in sorted(folder.glob("*.json"))}
    good = {
        name: text
        for name, text in texts.items()
        if json.loads(text).get("protocol", 0) >= PROTOCOL
    }
    packed = io.BytesIO()
    frame = pd.DataFrame({"name": list(good), "result": list(good.values())})
    frame.to_parquet(packed, index=False, compression="zstd")
    _write_whole(folder.parent / PACKED, packed.getvalue())


def unpack(folder: Path) -> None:
    """Put the results that were packed into the folder, unless they are there with as many trials."""
    packed = folder.parent / PACKED
    if not packed.exists():
        return
    for cell in pd.read_parquet(packed).itertuples():
        path = folder / f"{cell.name}.json"
        if not path.exists() or trials_of(path.read_text()) < trials_of(cell.result):
            _write_whole(path, cell.result.encode())


def trials_of(text: str) -> int:
    """Return the number of trials of a result, 0 if it is not that of a search."""
    return int(json.loads(text).get("n_done") or 0)


def _write_whole(path: Path, content: bytes) -> None:
    """Write a file, whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_suffix(f".{os.getpid()}")
    part.write_bytes(content)
    part.replace(path)
