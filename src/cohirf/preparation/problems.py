"""Cells that cannot be read: told all at once, with the line and the text of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

Places = Callable[[Iterable[int]], dict[int, str]]

LONGEST = 40  # characters of a cell in a message


@dataclass(frozen=True)
class Problem:
    """What is wrong with a column.

    Attributes
    ----------
    column : str or int
        The column.
    what : str
        What is wrong with it.
    n_cells : int
        Number of cells that cannot be read.
    cells : sequence of tuple
        Row and text of the first of them.
    remedy : str
        What to do.
    """

    column: Any
    what: str
    remedy: str = ""
    n_cells: int = 0
    cells: Sequence[tuple[int, str]] = ()

    def tell(self, places: dict[int, str]) -> str:
        """Return a sentence that names column, cells and remedy."""
        return f"column {self.column!r} {self.tell_cells(places)}"

    def tell_cells(self, places: dict[int, str]) -> str:
        """Return the sentence without its subject, the column."""
        named = ", ".join(f"{places[row]}: {shorten(cell)!r}" for row, cell in self.cells)
        more = f" and {self.n_cells - len(self.cells):,} more" if self.n_cells > len(self.cells) else ""
        return f"{self.what}{f': {named}{more}' if named else ''}{self.remedy}"


class DataError(ValueError):
    """Data that cannot be prepared. The message lists all problems, one in each line if there are several.

    Attributes
    ----------
    problems : list of Problem
        What is wrong with each column.
    lines : list of str
        The lines of the message.
    """

    def __init__(self, name: str, problems: Sequence[Problem], find_places: Places) -> None:
        self.problems = list(problems)
        places = find_places(row for problem in problems for row, _ in problem.cells)
        told = [f"{problem.tell(places)}." for problem in problems]
        self.lines = (
            [f"{name}: {told[0]}"] if len(told) == 1 else [f"{name}: {len(told)} columns have problems:", *told]
        )
        super().__init__("\n".join(self.lines))


def say_strays(n_cells: int, expected: str, *, are_taken: bool) -> str:
    """Return how many cells of a column are not what is expected, and whether they are taken as missing."""
    cells, are = ("1 cell", "is") if n_cells == 1 else (f"{n_cells:,} cells", "are")
    return f"has {cells} that {are} not {expected}{f', which {are} taken as missing' if are_taken else ''}"


def shorten(cell: str) -> str:
    """Return the beginning of a long cell."""
    return cell if len(cell) <= LONGEST else f"{cell[: LONGEST - 3]}..."
