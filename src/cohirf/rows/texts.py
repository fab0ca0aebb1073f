"""Many texts in two arrays: the names of the nodes of a graph, which a model stores."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, overload

import numpy as np
from numpy.typing import NDArray

from cohirf.rows import ranges
from cohirf.rows.grouping import IntArray

CONTINUED = 0b10  # the first two bits of a byte that is not the first of a letter, in UTF-8


def _check_ends(ends: IntArray, letters: NDArray[np.uint8]) -> None:
    """Raise ValueError unless the letters are text, which the ends divide."""
    if (np.diff(ends, prepend=0) < 0).any():
        raise ValueError("is not sorted")
    if int(ends[-1] if len(ends) else 0) != len(letters):
        raise ValueError("does not end with the letters")
    letters.tobytes().decode("utf-8")  # a UnicodeDecodeError is a ValueError
    inside = ends[ends < len(letters)]
    if (letters[inside] >> 6 == CONTINUED).any():
        raise ValueError("divides a letter")


@dataclass(frozen=True, eq=False)
class Texts(Sequence[str]):
    """Texts that cannot be changed: their letters, and eight bytes each.

    Attributes
    ----------
    letters : array of uint8
        All texts in UTF-8, one after the other.
    ends : array of int64, shape (n_texts,)
        Where each text ends.

    Examples
    --------
    >>> from cohirf.rows.texts import Texts
    >>> texts = Texts.of(["Rhône", "", "Loire"])
    >>> texts[0], texts[1:], len(texts)
    ('Rhône', ['', 'Loire'], 3)
    """

    letters: Annotated[NDArray[np.uint8], ranges.counts(ranges.ANY, most=255)]
    ends: Annotated[IntArray, ranges.counts(ranges.ANY), ranges.Holds(_check_ends, "letters")]

    @classmethod
    def of(cls, texts: Iterable[str]) -> Texts:
        """Store texts."""
        lengths = []
        letters = bytearray()
        for text in texts:
            encoded = text.encode("utf-8")
            letters += encoded
            lengths.append(len(encoded))
        return cls(np.frombuffer(letters, dtype=np.uint8), np.cumsum(lengths, dtype=np.int64))

    def __len__(self) -> int:
        """Return the number of texts."""
        return len(self.ends)

    @overload
    def __getitem__(self, place: int) -> str: ...

    @overload
    def __getitem__(self, place: slice) -> list[str]: ...

    def __getitem__(self, place: Any) -> Any:
        """Return a text, or a list of some."""
        if isinstance(place, slice):
            return [self[each] for each in range(*place.indices(len(self)))]
        number = range(len(self))[place]  # counts from the end, and refuses others
        start = self.ends[number - 1] if number else 0
        return self.letters[start : self.ends[number]].tobytes().decode("utf-8")

    def __iter__(self) -> Iterator[str]:
        """Yield the texts."""
        return (self[place] for place in range(len(self)))

    def __repr__(self) -> str:
        """Say how many texts there are."""
        return f"Texts({len(self):,})"
