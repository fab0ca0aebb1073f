"""One-hot encoding: text columns become columns of zeros and ones, one for each category."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from cohirf.durable.temporary import TemporaryFile
from cohirf.optional import import_optional
from cohirf.preparation.columns import listed
from cohirf.preparation.tables import Table, as_text
from cohirf.sources import Source
from cohirf.sources.arrow_ipc import ArrowSource

MOST_CATEGORIES = 200


@dataclass(frozen=True)
class Categories:
    """The sorted categories of a column, and the category that replaces missing cells (None: they are refused)."""

    values: tuple[str, ...]
    missing: str | None = None


def find_categories(table: Table, columns: Sequence[str], *, impute: bool) -> dict[str, Categories]:
    """Read the given text columns once, and return the categories of each."""
    counts: dict[str, Counter[str | None]] = {column: Counter() for column in columns}
    for batch in table.read(columns):
        for column in columns:
            for entry in as_text(batch.column(column)).value_counts().to_pylist():
                counts[column][entry["values"]] += entry["counts"]
            if len(counts[column]) > MOST_CATEGORIES:
                raise ValueError(
                    f"{table.name}: column {column!r} has more than {MOST_CATEGORIES} different values, too many for "
                    f'categorical="onehot": leave it out with drop=[{column!r}].'
                )
    return {column: _settle(table, column, counted, impute=impute) for column, counted in counts.items()}


def _settle(table: Table, column: str, counts: Counter[str | None], *, impute: bool) -> Categories:
    present = {text: n for text, n in sorted(counts.items(), key=lambda item: str(item[0])) if text is not None}
    if not present:
        raise ValueError(f"{table.name}: column {column!r} has no values: leave it out with drop=[{column!r}].")
    if counts[None] and not impute:
        raise refuse_missing(table, column)
    return Categories(tuple(present), max(present, key=lambda text: present[text]) if impute else None)


def refuse_missing(table: Table, column: str) -> ValueError:
    """Return the error for a text column with missing cells."""
    return ValueError(
        f'{table.name}: column {column!r} has missing values: fit with impute="median" or impute="mean" to fill them '
        f"with the most frequent value, or with drop=[{column!r}] to leave the column out."
    )


def encode(table: Table, columns: Sequence[str], categories: dict[str, Categories]) -> Source:
    """Write columns to a temporary Arrow file, with text columns one-hot encoded, and open it."""
    arrow = import_optional("pyarrow", "arrow", "Encoding text columns")
    target = TemporaryFile()
    writer = None
    for batch in table.read(columns):
        coded = arrow.record_batch(_code(table, batch, columns, categories))
        writer = writer or arrow.ipc.new_file(target.file, coded.schema)
        writer.write_batch(coded)
    if writer is None:
        raise ValueError(f"{table.name} has 0 rows: give at least one.")
    writer.close()
    target.file.flush()
    return ArrowSource(target, origin=table.origin)


def _code(table: Table, batch: Any, columns: Sequence[str], categories: dict[str, Categories]) -> dict[str, Any]:
    """Return the columns of an encoded batch by name."""
    compute = import_optional("pyarrow.compute", "arrow", "Encoding text columns")
    coded: dict[str, Any] = {}
    for column in columns:
        values = batch.column(column)
        if column not in categories:
            _add(coded, table, column, values.cast("double"))
            continue
        known = categories[column]
        text = as_text(values)
        if text.null_count:
            if known.missing is None:
                raise refuse_missing(table, column)
            text = text.fill_null(known.missing)
        unknown = set(text.unique().to_pylist()) - set(known.values)
        if unknown:
            raise ValueError(
                f"{table.name}: column {column!r} holds {min(unknown)!r}, which the training data did not contain: it "
                f"had {listed(known.values)}. Remove such rows, or fit again with them."
            )
        for value in known.values:
            _add(coded, table, f"{column}={value}", compute.equal(text, value).cast("double"))
    return coded


def _add(coded: dict[str, Any], table: Table, name: str, values: Any) -> None:
    if name in coded:
        raise ValueError(f"{table.name}: two features would be called {name!r}: rename the column {name!r}.")
    coded[name] = values
