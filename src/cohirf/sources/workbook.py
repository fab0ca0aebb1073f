"""Sheets of spreadsheets as tables."""

from __future__ import annotations

import datetime
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cohirf.optional import import_optional
from cohirf.sources.arrays import ArraySource
from cohirf.sources.csv import count_titles, has_names, name_columns, say_no_names
from cohirf.sources.files import FileStamp
from cohirf.sources.policy import CSV, READ
from cohirf.sources.source import ColumnChoice
from cohirf.sources.tables import Table, read_frame

Cell = str | float | bool | datetime.datetime | datetime.date | datetime.time


class SheetTable(Table):
    """A sheet of a spreadsheet: the first one, or that with a given name.

    ``header`` says whether the first line has column names, as in a CSV file.
    """

    format_name = "spreadsheet"
    options = ("sheet", "header")
    is_remote = False

    def __init__(
        self, path: str | os.PathLike[str], sheet: str | None = None, header: bool | None = None
    ) -> None:
        arrow = import_optional("pyarrow", "arrow", "Reading a spreadsheet")
        file = FileStamp.of(path)
        names, lines = _read_lines(path, file.name, sheet)
        numbered = enumerate(lines, start=1)
        filled = [(number, line) for number, line in numbered if any(map(_is_filled, line))]
        cells = [[_to_text(cell) for cell in line] for _, line in filled[: CSV.records]]
        n_titles = 0 if header is False else count_titles(cells)
        has_header = has_names(cells[n_titles:]) if header is None else header
        columns = name_columns(file.name, cells[n_titles] if cells else [], has_header=has_header)
        rows = filled[n_titles + has_header :]
        self._lines = [number for number, _ in rows]
        self._table = arrow.table(
            {
                name: _to_column([line[place] for _, line in rows])
                for place, name in enumerate(columns)
            }
        )
        types = {field.name: str(field.type) for field in self._table.schema}
        super().__init__(file.name, types, (), [file])
        said = [f"sheet {sheet or names[0]!r} of {len(names)}"] if len(names) > 1 else []
        said += [say_no_names()] if header is None and not has_header else []
        self.format = ", ".join(said)

    @property
    def n_rows(self) -> int:
        """The number of rows."""
        return len(self._lines)

    def read(
        self, columns: Sequence[str], start: int = 0, row_bytes: int | None = None
    ) -> Iterator[Any]:
        """Yield slices of the sheet."""
        chosen = self._table.select(list(columns)).combine_chunks()
        yield from chosen.to_batches(max_chunksize=READ.piece_rows)

    def find_places(self, rows: Iterable[int]) -> dict[int, str]:
        """Return the line of the sheet that has each of the given rows."""
        return {row: f"line {self._lines[row]}" for row in rows}

    def to_source(self, columns: ColumnChoice = None) -> ArraySource:
        """Return columns of numbers as a source, which holds them as an array."""
        chosen = [column.name for column in self.choose_numbers(columns)]
        return ArraySource(*read_frame(self._table.select(chosen), None), name=self.name)


def _read_lines(path: Any, name: str, sheet: str | None) -> tuple[list[str], list[list[Cell]]]:
    """Return the names of all sheets, and the lines of one."""
    calamine = import_optional("python_calamine", "excel", "Reading a spreadsheet")
    try:
        workbook = calamine.CalamineWorkbook.from_path(str(path))
        names = workbook.sheet_names
        if sheet is not None and sheet not in names:
            raise ValueError(f"sheet={sheet!r}: {name} has no such sheet: it has {names}.")
        lines = workbook.get_sheet_by_name(sheet or names[0]).to_python(skip_empty_area=False)
    except (calamine.CalamineError, IndexError) as error:
        raise ValueError(f"{name} cannot be read as a spreadsheet: {error}.") from error
    return names, lines


def _is_filled(cell: Cell) -> bool:
    return not isinstance(cell, str) or bool(cell.strip())


def _to_text(cell: Cell) -> str:
    if isinstance(cell, float) and cell.is_integer():
        return str(int(cell))
    return str(cell)


def _to_column(cells: list[Cell]) -> Any:
    """Return the cells of a column as an Arrow array: of one type if they have one, or of text."""
    arrow = import_optional("pyarrow", "arrow", "Reading a spreadsheet")
    filled = [cell for cell in cells if _is_filled(cell)]
    known = [cell if _is_filled(cell) else None for cell in cells]
    if filled and all(isinstance(cell, bool) for cell in filled):
        return arrow.array(known, arrow.bool_())
    if filled and all(isinstance(cell, int | float) for cell in filled):
        return arrow.array(known, arrow.float64())
    if filled and all(isinstance(cell, datetime.date) for cell in filled):
        days = [
            None if cell is None else datetime.datetime.fromisoformat(str(cell)) for cell in known
        ]
        return arrow.array(days, arrow.timestamp("us"))
    return arrow.array([None if cell is None else _to_text(cell) for cell in known], arrow.string())
