"""Tables of Delta and Iceberg: the Parquet files of one version, which the table lists.

The version is fixed when the table is opened, and its name says it: ``table@v3``. What is added
during a fit is not read. Rows that a table deletes without writing its files again, and columns
that have other names in files than in the table, are refused: their files alone do not say so.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cohirf.error_contexts import replacing_errors
from cohirf.optional import import_optional
from cohirf.sources.datasets import DataSet
from cohirf.sources.remote import Location, Url, each, list_objects, locate, show, stamp
from cohirf.store.files import one_line


def find_delta(place: Location) -> tuple[Location, int | None] | None:
    """Return the place of a Delta table and the version that is asked for; None for other data.

    ``table@v3`` asks for version 3.
    """
    for base, version in dict.fromkeys([_split_version(place), (place, None)]):
        if isinstance(base, Url):
            log = base.with_key(f"{base.key.rstrip('/')}/_delta_log")
            if not base.root.startswith("http") and list_objects(log):
                return base, version
        elif (base / "_delta_log").is_dir():
            return base, version
    return None


def open_delta(place: Location, version: int | None) -> DataSet:
    """Return the files of a version of a Delta table; the newest one if None."""
    deltalake = import_optional("deltalake", "delta", "Reading a Delta table")
    name = show(place).rstrip("/")
    with _naming_table(name, "Delta"):
        where = str(place) if isinstance(place, Url) else str(place.absolute())
        table = deltalake.DeltaTable(where, version=version)
        name = f"{name}@v{table.version()}"
        if any(len(batch) for batch in table.deletion_vectors()):
            raise ValueError(_say_refused(name, "rows that are marked as deleted"))
        if table.metadata().configuration.get("delta.columnMapping.mode", "none") != "none":
            raise ValueError(_say_refused(name, "columns that were renamed"))
        # the library quotes the folder of the table, and no more
        folder = table.table_uri if isinstance(place, Url) else urlsplit(table.table_uri).path
        files = [_find_in(place, folder, uri) for uri in sorted(table.file_uris())]
    return _open_files(name, files)


def open_iceberg(table: Any) -> DataSet:
    """Return the files of the current snapshot of an Iceberg table, or of a file of metadata."""
    if isinstance(table, Path | Url):
        name = show(table)
        tables = import_optional("pyiceberg.table", "iceberg", "Reading an Iceberg table")
        with _naming_table(name, "Iceberg"):
            where = str(table) if isinstance(table, Url) else str(table.absolute())
            table = tables.StaticTable.from_metadata(where)
    else:
        name = ".".join(table.name())
    with _naming_table(name, "Iceberg"):
        snapshot = table.current_snapshot()
        if snapshot is not None:
            name = f"{name}@{snapshot.snapshot_id}"
        if _were_renamed(table):
            raise ValueError(_say_refused(name, "columns that were renamed or deleted"))
        tasks = list(table.scan().plan_files())
        if any(task.delete_files for task in tasks):
            raise ValueError(_say_refused(name, "rows that are marked as deleted"))
        if any(str(task.file.file_format.value).upper() != "PARQUET" for task in tasks):
            raise ValueError(_say_refused(name, "files that are not Parquet"))
        files = [locate(file) for file in sorted(str(task.file.file_path) for task in tasks)]
    return _open_files(name, files)


def _find_in(place: Location, folder: str, uri: str) -> Location:
    """Return the place of a file of a table, whose folder the library calls ``folder``."""
    if not uri.startswith(folder):
        return locate(uri)
    inside = uri.removeprefix(folder).lstrip("/")
    if isinstance(place, Url):
        return place.with_key("/".join([part for part in (place.key.rstrip("/"), inside) if part]))
    return place / inside


def _were_renamed(table: Any) -> bool:
    """Return whether a column of an earlier version has another name now, or is gone.

    Files keep the names that columns had when they were written.
    """
    names = {field.field_id: field.name for field in table.schema().fields}
    return any(
        names.get(field.field_id) != field.name
        for schema in table.schemas().values()
        for field in schema.fields
    )


def is_iceberg(data: Any) -> bool:
    """Return whether an object is a table of pyiceberg."""
    return type(data).__module__.startswith("pyiceberg.") and hasattr(data, "current_snapshot")


def _open_files(name: str, files: list[Location]) -> DataSet:
    if not files:
        raise ValueError(f"{name} has 0 rows: give a version with at least one.")
    return DataSet(name, each(stamp, files), pinned=name)


def _split_version(place: Location) -> tuple[Location, int | None]:
    text = place.key if isinstance(place, Url) else str(place)
    found = re.fullmatch(r"(.+?)/?@v(\d+)/?", text)
    if found is None:
        return place, None
    base = place.with_key(found[1]) if isinstance(place, Url) else Path(found[1])
    return base, int(found[2])


def _say_refused(name: str, what: str) -> str:
    return (
        f"{name} has {what}, which its files alone do not show: write the table again (OPTIMIZE or "
        "compaction), or give it as an Arrow table."
    )


@replacing_errors
def _naming_table(name: str, kind: str) -> Iterator[None]:
    """Make errors of the libraries of tables name the table, in one line."""
    try:
        yield
    except (ImportError, MemoryError):
        raise
    except Exception as error:
        if str(error).startswith(name):
            raise
        raise ValueError(
            f"{name} cannot be read as a {kind} table: {one_line(error)}. Check its version, and "
            "that the store can be reached."
        ) from error
