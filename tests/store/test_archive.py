"""The archive: records come back as they were written, and damage to any byte is noticed."""

import json
import os
import struct
import zlib
from itertools import pairwise

import numpy as np
import pytest

from cohirf.store import archive as archive_module
from cohirf.store.archive import Archive

ARRAYS = [
    np.arange(6, dtype=np.int32).reshape(2, 3),
    np.array([0.5, np.nan, np.inf], dtype=np.float32),
    np.array([True, False]),
    np.empty((0, 4)),
    np.arange(3, dtype=">i8"),
    np.arange(12.0).reshape(3, 4).T,
]


@pytest.fixture
def path(tmp_path):
    """An archive of three records."""
    with (tmp_path / "archive").open("xb", buffering=0) as file:
        archive = Archive(file)
        archive.begin("cohirf-test", 3)
        archive.append({"first": None})
        archive.append(["\ud800", 0.1], ARRAYS)
        archive.append(3)
    return tmp_path / "archive"


def read_all(path):
    """Return all records of an archive."""
    with path.open("rb", buffering=0) as file:
        archive = Archive(file)
        archive.open("cohirf-test", 3)
        return list(iter(archive.read, None))


def test_records_come_back_with_the_types_of_their_arrays(path):
    records = read_all(path)
    assert [content for content, _ in records] == [{"first": None}, ["\ud800", 0.1], 3]
    for found, array in zip(records[1][1], ARRAYS, strict=True):
        np.testing.assert_array_equal(found, array)
        assert found.dtype == array.dtype.newbyteorder("=")
        assert found.flags.owndata  # a view would keep all that was read in memory
        assert found.flags.writeable


def test_every_flipped_bit_is_noticed(path):
    content = path.read_bytes()
    for place in range(len(content)):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        with pytest.raises((ValueError, TypeError, KeyError)):
            assert len(read_all(path)) == 3, place


def test_an_archive_cut_short_anywhere_has_the_records_before(path):
    content = path.read_bytes()
    ends = [place for place in range(len(content)) if content.startswith(b"cRec", place)] + [
        len(content)
    ]
    for length in range(ends[0], len(content)):
        path.write_bytes(content[:length])
        assert len(read_all(path)) == sum(length >= end for end in ends[1:])
    for length in range(ends[0]):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="does not begin as a file"):
            read_all(path)


def test_records_that_are_swapped_left_out_or_of_another_archive_are_noticed(path):
    content = path.read_bytes()
    starts = [place for place in range(len(content)) if content.startswith(b"cRec", place)] + [
        len(content)
    ]
    line, (one, two, three) = content[: starts[0]], [content[a:b] for a, b in pairwise(starts)]
    for damaged in ([line, two, one, three], [line, one, three], [line, one, one]):
        path.write_bytes(b"".join(damaged))
        with pytest.raises(ValueError, match="SHA-256 differs"):
            read_all(path)


def forge(path, text, n_bytes=0, arrays=b""):
    """Write an archive with a record whose digests fit, whatever its content is."""
    with path.open("wb", buffering=0) as file:
        archive = Archive(file)
        archive.begin("cohirf-test", 3)
        lengths = struct.pack("<4sIQ", b"cRec", len(text), n_bytes)
        frame = lengths + struct.pack("<I", zlib.crc32(lengths))
        digest = archive_module.hashlib.sha256(archive._digest + frame + text + arrays).digest()
        os.write(file.fileno(), frame + text + arrays + digest)


@pytest.mark.parametrize(
    ("dtype", "shape", "message"),
    [
        ("|O", [1], "is not the type and the shape of an array of numbers"),
        ("i4,(2)O", [1], "is not the type"),
        ("<U2", [1], "is not the type"),
        ("<c16", [1], "is not the type"),
        ("<i8", [-1], "is not the type"),
        ("<i8", [True], "is not the type"),
        ("<i8", [10**12], "has 8 bytes of arrays, but its JSON says 8000000000000"),
        ("<i8", [2**61, 2**61], "but its JSON says"),
        ("<i8", [2], "has 8 bytes of arrays, but its JSON says 16"),
    ],
)
def test_arrays_of_other_types_or_sizes_are_refused_before_anything_is_allocated(
    path, dtype, shape, message
):
    forge(path, json.dumps({"content": 0, "arrays": [[dtype, shape]]}).encode(), 8, bytes(8))
    with pytest.raises(ValueError, match=message):
        read_all(path)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"null",
        b"[]",
        b'{"content": 1}',
        b'{"content": NaN, "arrays": []}',
        b"[" * 10**5,
        b'"\xff"',
    ],
)
def test_what_is_not_the_json_of_a_record_is_refused(path, text):
    forge(path, text)
    with pytest.raises((ValueError, RecursionError)):
        read_all(path)


@pytest.mark.parametrize(
    "line", [b"", b"\n", b"cohirf-test\n", b"cohirf-test 03\n", b"PK\x03\x04" + b"x" * 99 + b"\n"]
)
def test_a_file_that_cohirf_has_not_written_is_noticed_by_its_first_line(path, line):
    path.write_bytes(line)
    with pytest.raises(ValueError, match="does not begin as a file that cohirf has written"):
        read_all(path)
