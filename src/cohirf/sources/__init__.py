"""Sources of rows, and tables: one adapter per kind of storage, all with the same interface."""

from cohirf.sources.arrays import ArraySource
from cohirf.sources.csv import MISSING, is_plain_number
from cohirf.sources.files import SourceChangedError
from cohirf.sources.graph_files import GraphSource
from cohirf.sources.open_source import find_format, open_source, open_table
from cohirf.sources.remote import locate, show
from cohirf.sources.scaled import ScaledSource, unit_rows
from cohirf.sources.source import (
    NoRowsError,
    NotNumbersError,
    Source,
    rows_within,
)
from cohirf.sources.tables import (
    ARROW_NUMBERS,
    ArrowTable,
    NumberColumn,
    Table,
    TableSource,
    name_places,
    write_tables,
)

__all__ = [
    "ARROW_NUMBERS",
    "MISSING",
    "ArraySource",
    "ArrowTable",
    "GraphSource",
    "NoRowsError",
    "NotNumbersError",
    "NumberColumn",
    "ScaledSource",
    "Source",
    "SourceChangedError",
    "Table",
    "TableSource",
    "find_format",
    "is_plain_number",
    "locate",
    "name_places",
    "open_source",
    "open_table",
    "rows_within",
    "show",
    "unit_rows",
    "write_tables",
]
