"""Text from users: what is left of it in a page."""

from cohirf.diagnosis.text import MAX_NAME, clean, shorten


def test_text_of_any_length_fits_a_line():
    assert len(shorten("name " * 10_000)) <= MAX_NAME
    assert shorten("a\n b\t c") == "a b c"


def test_short_text_stays_as_it_is():
    assert shorten("petal length (cm) \N{GREEK SMALL LETTER MU}") == "petal length (cm) \N{GREEK SMALL LETTER MU}"


def test_halves_of_characters_can_be_written():
    assert clean("a\ud800b").encode() == b"a?b"


def test_what_is_no_text_is_written_as_such():
    assert shorten(3.5) == "3.5"
    assert shorten(None) == "None"
