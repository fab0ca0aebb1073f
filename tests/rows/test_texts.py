"""Many texts in two arrays."""

from __future__ import annotations

import numpy as np
import pytest

from cohirf.rows.ranges import check_ranges
from cohirf.rows.texts import Texts

WORDS = ["", "Rhône", "x", "", "漢字", ""]


def test_texts_are_a_sequence() -> None:
    texts = Texts.of(WORDS)
    assert list(texts) == WORDS
    assert texts[-2] == "漢字"
    assert texts[1:4] == WORDS[1:4]
    assert len(texts) == 6
    assert "x" in texts
    with pytest.raises(IndexError):
        texts[6]
    assert list(Texts.of([])) == []
    check_ranges(texts)
    check_ranges(Texts.of([]))


@pytest.mark.parametrize(
    ("letters", "ends", "message"),
    [
        (b"abc", [2, 1, 3], "not sorted"),
        (b"abc", [-1, 3], "not from 0|finite number from 0"),
        (b"abc", [1, 2], "does not end"),
        (b"abc", [1, 4], "does not end"),
        (b"", [1], "does not end"),
        (b"\xff\xff", [2], "decode"),
        ("é".encode(), [1, 2], "divides a letter"),
    ],
)
def test_damaged_texts_are_refused(letters: bytes, ends: list[int], message: str) -> None:
    texts = Texts(np.frombuffer(letters, dtype=np.uint8), np.array(ends, dtype=np.int64))
    with pytest.raises(ValueError, match=message):
        check_ranges(texts)
