"""The help of an option: what the docstring of a class says about the parameter."""

from __future__ import annotations

import inspect
import re
from typing import Any


def parameter_texts(cls: Any) -> dict[str, str]:
    """Return what a numpydoc docstring says about each parameter, as plain text.

    Examples
    --------
    >>> from cohirf import CoHiRF
    >>> from cohirf.cli.docstrings import parameter_texts
    >>> parameter_texts(CoHiRF)["max_iter"]
    'Largest number of levels.'
    """
    lines = inspect.getdoc(cls).splitlines()  # type: ignore[union-attr]  # asked only of classes that have one
    start = lines.index("Parameters") + 2
    texts: dict[str, list[str]] = {}
    for line in lines[start:]:
        if heading := re.fullmatch(r"(\w+) : .*", line):
            texts[heading[1]] = []
        elif line.startswith("    "):
            texts[next(reversed(texts))].append(line.strip())
        else:
            break
    return {name: _plain(" ".join(parts)) for name, parts in texts.items()}


def _plain(text: str) -> str:
    """Take the markup of a docstring away."""
    text = re.sub(r":\w+:`~?[\w.]*?(\w+)`", r"\1", text)
    return text.replace("``", "")
