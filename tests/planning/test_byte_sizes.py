"""Amounts of memory as text."""

import pytest

from cohirf.planning.byte_sizes import format_bytes, parse_bytes


@pytest.mark.parametrize(
    ("size", "n_bytes"),
    [
        ("2GB", 2 * 10**9),
        ("500MB", 500 * 10**6),
        ("1.5GiB", 3 * 2**29),
        (" 0.5 tb ", 5 * 10**11),
        (".5KiB", 512),
        ("7B", 7),
    ],
)
def test_a_size_has_one_meaning(size, n_bytes):
    assert parse_bytes(size) == n_bytes


@pytest.mark.parametrize(
    "size", ["", "GB", "2G", "two GB", "-1GB", "1e3MB", "2 GB RAM", "1,5GB", "0", "4096", "0GB", "inf GB"]
)
def test_what_is_no_size_is_shown_with_the_remedy(size):
    with pytest.raises(ValueError, match=r'batch_size=.* is not valid: give .* "1.5GiB" \(units: B, KB, KiB, MB'):
        parse_bytes(size)


@pytest.mark.parametrize(
    ("n_bytes", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1 KB"), (123_456_789, "123 MB"), (999_700_000, "1 GB"), (2.5e12, "2.5 TB")],
)
def test_sizes_are_written_with_three_digits(n_bytes, text):
    assert format_bytes(n_bytes) == text


@pytest.mark.parametrize("n_bytes", [1, 1024, 10**6, 3 * 2**30, 10**13])
def test_what_is_written_can_be_read(n_bytes):
    assert parse_bytes(format_bytes(n_bytes)) == pytest.approx(n_bytes, rel=0.005)
