"""Cells as text: trimmed, and missing where they say so."""

from __future__ import annotations

from typing import Any

from cohirf.optional import import_optional

# what programs write into empty cells; also the missing cells of a CSV file
MISSING = (
    *("", "NA", "N/A", "n/a", "#N/A", "#NA", "#N/A N/A", "<NA>", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None"),
    *("1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN"),
)
# what people write into a column of numbers or dates where there is none; elsewhere these may be levels
MARKS = ("-", "--", "\u2013", "\u2014", "?", "??", ".", "*", "none", "nil", "missing", "unknown", "not available")


def compute() -> Any:
    """Return pyarrow.compute."""
    return import_optional("pyarrow.compute", "arrow", "Preparing a table")


def as_text(values: Any) -> Any:
    """Return an Arrow array as plain text."""
    return values.cast("string")


def clean(values: Any) -> Any:
    """Return an Arrow array as trimmed text, with null for cells that stand for a missing value."""
    arrow, pc = import_optional("pyarrow", "arrow", "Preparing a table"), compute()
    text = pc.utf8_trim_whitespace(as_text(values))
    is_missing = pc.is_in(text, value_set=arrow.array(MISSING))
    return pc.if_else(is_missing, None, text) if pc.any(is_missing).as_py() else text
