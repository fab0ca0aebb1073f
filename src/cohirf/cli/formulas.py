"""Find and escape text in CSV files that spreadsheets would run as formulas."""

from __future__ import annotations

import re
from typing import Any

STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")
NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")


def is_formula(cell: Any) -> bool:
    """Return whether a cell is text that a spreadsheet would run as a formula; numbers such as -5 are not.

    Examples
    --------
    >>> from cohirf.cli.formulas import is_formula
    >>> [is_formula(cell) for cell in ("=1+1", "@SUM(A1)", "-5", -5, "plant-1", None)]
    [True, True, False, False, False, False]
    """
    return isinstance(cell, str) and cell.startswith(STARTS) and NUMBER.fullmatch(cell) is None


def escape_formula(cell: Any) -> Any:
    """Return a cell that a spreadsheet does not run: formulas get an apostrophe as their first character."""
    return f"'{cell}" if is_formula(cell) else cell


def say_formulas(path: Any, n_formulas: int) -> str:
    """Return the warning about formulas that were written."""
    cells = "1 cell begins" if n_formulas == 1 else f"{n_formulas:,} cells begin"
    return (
        f"{path}: {cells} with =, +, -, @, a tab or a line break, which a spreadsheet would run as a formula: give "
        f"--escape-formulas to put an apostrophe before them."
    )
