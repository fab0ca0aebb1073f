"""Write the figures of README.md and of the pages in docs/ from the files that the benchmarks
write.

    python -m tools.figures            after a benchmark has written to docs/results
    python -m tools.figures --check    only say which pages would change

A figure on a page stands beside its source: a file of docs/results without ".csv", the first cells
of a row, and a column, separated by semicolons. In Markdown and in reStructuredText:

    <!-- answers; K-Means; defaults -->0.582<!-- -->
    :figure:`0.582 <answers; K-Means; defaults>`

In Markdown, no line begins with a figure: GitHub would end the paragraph there. ``#2`` after the
column takes the second part of a cell such as "0.51 s, 429 MB, 1.00".

A table in Markdown says which rows and columns of a file it has; without these lines it has all of
them. Rows are named by their first cells:

    <!-- table: peers/spheres
    columns: method; 200,000 rows; 2,000,000 rows
    rows: GridDBSCAN; genieclust
    -->
    ...
    <!-- end of table -->

Tables in reStructuredText are ``csv-table`` with ``:file:``, or, where pages are read as text, as
in benchmarks/notes:

    .. table: voting_methods
    ...
    .. end of table

``tests/test_figures.py`` checks that nothing would change.
"""

from __future__ import annotations

import argparse
import csv
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
EMPTY = "\\"  # a cell of a simple table that would be taken for a part of the row above
GENERATED = {"_build", "_templates", "gallery", "generated"}

IN_MARKDOWN = re.compile(
    r"(?P<before><!-- (?P<source>[^<>;]+;[^<>]+?) -->)(?P<shown>[^<]*)(?P<after><!-- -->)"
)
IN_RST = re.compile(r"(?P<before>:figure:`)(?P<shown>[^`<]*)(?P<after> <(?P<source>[^`<>]+)>`)")
TABLE = re.compile(
    r"(?P<head><!-- table: (?P<options>[^<>]+?)-->\n).*?(?P<end><!-- end of table -->)", re.DOTALL
)
RST_TABLE = re.compile(
    r"(?P<head>^\.\. table: (?P<name>\S+)\n)\n.*?(?P<end>^\.\. end of table$)",
    re.DOTALL | re.MULTILINE,
)


class NoSuchFigureError(Exception):
    """A page names a file, a row or a column that is not there."""


@dataclass(frozen=True)
class Results:
    """The table that a benchmark has written.

    Attributes
    ----------
    name : str
        The file, without ".csv".
    header : list of str
        The titles of the columns.
    rows : list of list of str
        The cells as they are shown.
    """

    name: str
    header: list[str]
    rows: list[list[str]]

    @classmethod
    def read(cls, name: str) -> Results:
        """Read a file of docs/results."""
        path = RESULTS / f"{name}.csv"
        if not path.is_file():
            raise NoSuchFigureError(
                f"{path} does not exist: the benchmarks write it, see benchmarks/figures.py."
            )
        with path.open(newline="", encoding="utf-8") as file:
            header, *rows = csv.reader(file)
        return cls(name, header, rows)

    def column(self, title: str) -> int:
        """Return the number of a column."""
        if title not in self.header:
            raise NoSuchFigureError(
                f"{self.name}.csv has no column {title!r}: it has {'; '.join(self.header)}."
            )
        return self.header.index(title)

    def row(self, *keys: str) -> list[str]:
        """Return the one row that begins with these cells."""
        found = [row for row in self.rows if row[: len(keys)] == list(keys)]
        if len(found) != 1:
            begins = "; ".join(dict.fromkeys(row[0] for row in self.rows))
            raise NoSuchFigureError(
                f"{self.name}.csv has {len(found)} rows that begin with {'; '.join(keys)!r}: give "
                f"the first cells of one row. Rows begin with {begins}."
            )
        return found[0]


def figure(source: str) -> str:
    """Return the text of a figure, given its source: file, first cells of the row, column."""
    name, *keys, title = (part.strip() for part in " ".join(source.split()).split(";"))
    title, _, part = title.partition("#")
    results = Results.read(name)
    cell = results.row(*keys)[results.column(title)]
    if not part:
        return cell
    parts = cell.split(", ")
    if int(part) > len(parts):
        raise NoSuchFigureError(f"{source!r} is {cell!r}, which has no part {part}.")
    return parts[int(part) - 1]


def markdown_table(options: str) -> str:
    """Return the lines of a table, given what follows "table:" in its comment."""
    name, *lines = (line.strip() for line in options.strip().splitlines())
    chosen = {
        key: [word.strip() for word in value.split(";")]
        for key, _, value in (x.partition(":") for x in lines)
    }
    results = Results.read(name)
    titles = chosen.get("columns", results.header)
    rows = [results.row(key) for key in chosen["rows"]] if "rows" in chosen else results.rows
    cells = [[row[results.column(title)] for title in titles] for row in rows]
    return "".join(f"| {' | '.join(line)} |\n" for line in (titles, ["---"] * len(titles), *cells))


def rst_table(name: str) -> str:
    """Return all rows of a file as a simple table."""
    results = Results.read(name)
    cells = [[cell or EMPTY for cell in row] for row in (results.header, *results.rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    ruler = "  ".join("=" * width for width in widths)
    header, *rows = ("  ".join(map(str.ljust, row, widths)).rstrip() for row in cells)
    return "\n".join([ruler, header, ruler, *rows, ruler]) + "\n"


def rewrite(text: str, suffix: str) -> str:
    """Return the text of a page with the figures of the files.

    ``suffix`` is that of the page, such as ".md".
    """

    def with_figure(match: re.Match[str]) -> str:
        return match["before"] + figure(match["source"]) + match["after"]

    def with_table(match: re.Match[str]) -> str:
        return f"{match['head']}\n{markdown_table(match['options'])}\n{match['end']}"

    def with_rst_table(match: re.Match[str]) -> str:
        return f"{match['head']}\n{rst_table(match['name'])}\n{match['end']}"

    if suffix == ".md":
        return TABLE.sub(with_table, IN_MARKDOWN.sub(with_figure, text))
    return RST_TABLE.sub(with_rst_table, IN_RST.sub(with_figure, text))


def names_of_files(path: Path) -> set[str]:
    """Return the files of docs/results that a page takes figures or tables from."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        names = {match["source"].split(";")[0] for match in IN_MARKDOWN.finditer(text)}
        return names | {match["options"].split()[0] for match in TABLE.finditer(text)}
    names = {match["source"].split(";")[0] for match in IN_RST.finditer(text)}
    names |= {match["name"] for match in RST_TABLE.finditer(text)}
    tables = [
        (path.parent / name).resolve()
        for name in re.findall(r"^ +:file: (\S+)$", text, re.MULTILINE)
    ]
    return names | {
        table.relative_to(RESULTS).with_suffix("").as_posix()
        for table in tables
        if RESULTS in table.parents
    }


def pages() -> list[Path]:
    """Return README.md, and the pages of docs/ and the notes of benchmarks/ that a person
    writes.
    """
    docs = ROOT / "docs"
    notes = ROOT / "benchmarks" / "notes"
    found = [path for pattern in ("*.rst", "*.md") for path in sorted(docs.rglob(pattern))]
    written = [path for path in found if not GENERATED & set(path.relative_to(docs).parts)]
    return [ROOT / "README.md", *written, *sorted(notes.glob("*.*"))]


def update(write: Callable[[Path, str], object]) -> list[str]:
    """Call ``write`` with each page that has other figures than the files, and its new text.

    Return these pages.
    """
    changed = []
    for path in pages():
        text = path.read_text(encoding="utf-8")
        try:
            rewritten = rewrite(text, path.suffix)
        except NoSuchFigureError as error:
            raise SystemExit(f"{path.relative_to(ROOT)}: {error}") from None
        if rewritten != text:
            write(path, rewritten)
            changed.append(path.relative_to(ROOT).as_posix())
    return changed


def main(argv: Sequence[str] | None = None) -> None:
    """Write the figures of pages, or check them."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit with 1 if a page would change"
    )
    arguments = parser.parse_args(argv)
    if not arguments.check:
        print("\n".join(update(lambda path, text: path.write_text(text, encoding="utf-8"))))
        return
    stale = update(lambda path, text: None)
    if stale:
        sys.exit(
            f"Other figures than in docs/results: {', '.join(stale)}. To write them: python -m "
            "tools.figures"
        )


if __name__ == "__main__":
    main()
