"""Files that somebody else may have written: never followed elsewhere, never waited for, never larger than expected."""

import math
import os
from types import SimpleNamespace

import pytest

from cohirf.durable.errors import naming, one_line, refusing
from cohirf.durable.json_text import (
    parse_json,
    require_count,
    require_keys,
    require_number,
    require_text,
    seal,
    unseal,
)
from cohirf.durable.reading import names_in, open_now, open_regular, read_bytes, refuse_holes
from systems import posix_only


@posix_only
def test_a_link_or_a_pipe_that_comes_at_the_last_moment_is_not_followed_or_waited_for(tmp_path):
    (tmp_path / "file").write_text("elsewhere", encoding="utf-8")
    (tmp_path / "link").symlink_to("file")
    with pytest.raises(OSError, match="symbolic link"):
        open_now(tmp_path / "link", os.O_RDONLY)
    os.mkfifo(tmp_path / "pipe")
    with os.fdopen(open_now(tmp_path / "pipe", os.O_RDONLY), "rb") as pipe:
        assert pipe.read() == b""


def test_directories_and_missing_files_are_not_opened(tmp_path):
    for path, message in ((tmp_path, "not a regular file"), (tmp_path / "no", "missing")):
        with pytest.raises(ValueError, match=message):
            open_regular(path)


@posix_only
def test_a_pipe_is_not_opened(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueError, match="not a regular file"):
        open_regular(tmp_path / "pipe")


def test_no_more_bytes_are_read_than_expected(tmp_path):
    (tmp_path / "file").write_bytes(b"12345")
    assert read_bytes(tmp_path / "file", 5) == b"12345"
    with pytest.raises(ValueError, match="it has more than 4 bytes"):
        read_bytes(tmp_path / "file", 4)


@posix_only
def test_a_huge_file_is_not_read(tmp_path):
    with (tmp_path / "file").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ValueError, match="it has more than 4 bytes"):
        read_bytes(tmp_path / "file", 4)


def test_no_more_names_are_read_than_expected(tmp_path):
    for number in range(10):
        (tmp_path / str(number)).touch()
    assert len(names_in(tmp_path, 20)) == 10
    assert len(names_in(tmp_path, 3)) == 4


def file_of(n_bytes, on_disk):
    return SimpleNamespace(st_size=n_bytes, st_blocks=on_disk // 512)


@pytest.mark.parametrize(
    ("files", "is_refused"),
    [
        ([file_of(2**32, 5 * 2**20)], True),
        ([file_of(2**31, 2**22), file_of(2**31, 2**20)], True),
        ([file_of(2**32, 2**20), file_of(10, 512)], True),
        ([file_of(2**31, 2**31), file_of(2**31, 512)], False),
        ([file_of(2**32, 2**32)], False),
        ([file_of(2**32, 2**32 // 50 + 512)], False),  # a system that compresses well
        ([file_of(2**32, 2**32 // 50 - 512)], True),
        ([file_of(2**32, 0)], False),  # a system that does not tell
        ([SimpleNamespace(st_size=2**32)], False),
        ([file_of(2**26, 512)], False),  # small enough to be read whatever it is
        ([file_of(2**26 + 1, 512)], True),
    ],
)
def test_large_files_that_are_mostly_holes_are_refused(files, is_refused):
    if is_refused:
        with pytest.raises(ValueError, match="on disk, less than a fiftieth"):
            refuse_holes(files)
    else:
        refuse_holes(files)


class Refusal(Exception):  # noqa: N818 - a name for the tests
    """What is raised for content."""


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("it\nis odd."), "'file' cannot be used: it is odd. Do better."),
        (KeyError("a"), "'file' cannot be used: 'a'. Do better."),
        (IndexError("beyond"), "'file' cannot be used: beyond. Do better."),
        (RecursionError(), "'file' is nested too deeply. Do better."),
        (MemoryError(), "'file' does not fit into memory: use a machine with more memory."),
        (Refusal("as it is"), "as it is"),
    ],
)
def test_errors_of_content_name_the_file(error, message, tmp_path):
    with (
        pytest.raises(Refusal) as caught,
        refusing(tmp_path.joinpath("file").relative_to(tmp_path), Refusal, "Do better."),
    ):
        raise error
    assert str(caught.value) == message


@pytest.mark.parametrize(("keep_inner", "named"), [(False, "target"), (True, "inner")])
def test_errors_of_the_system_name_the_file(keep_inner, named, tmp_path):
    message = rf"Not done: No such file or directory: .*{named}'$"
    with (
        pytest.raises(FileNotFoundError, match=message),
        naming(tmp_path / "target", "Not done: {}", keep_inner=keep_inner),
    ):
        (tmp_path / "inner").read_bytes()


def test_constants_that_are_not_json_are_refused():
    for text in (b"NaN", b'{"a": Infinity}', b"-Infinity"):
        with pytest.raises(ValueError, match="is not valid JSON"):
            parse_json(text)


@pytest.mark.parametrize("value", [True, 1.0, -1, 2**62, "1", None, []])
def test_what_is_not_a_count_is_refused(value):
    with pytest.raises(ValueError, match=r"n is .*, but must be a non-negative integer"):
        require_count(value, "n")


@pytest.mark.parametrize("value", [True, float("inf"), float("nan"), "1", []])
def test_what_is_not_a_number_is_refused(value):
    with pytest.raises(ValueError, match=r"x is .*, but must be a finite number or null"):
        require_number(value, "x")


def test_counts_and_numbers_come_back():
    assert [require_count(value, "n") for value in (0, 7, 2**62 - 1)] == [0, 7, 2**62 - 1]
    assert [require_number(value, "x") for value in (-1, 0.5)] == [-1.0, 0.5]
    assert type(require_number(3, "x")) is float
    assert math.isnan(require_number(None, "x"))


def test_an_object_has_exactly_the_keys_that_are_asked_for():
    assert require_keys({"a": 1, "b": 2}, {"b", "a"}, "it") == {"a": 1, "b": 2}
    for content in ({"a": 1}, {"a": 1, "b": 2, "c": 3}, ["a", "b"], None):
        with pytest.raises(ValueError, match="it must be a JSON object with the keys a, b"):
            require_keys(content, {"b", "a"}, "it")


def test_text_is_text():
    assert require_text("", "it") == ""
    for value in (1, None, b"a"):
        with pytest.raises(TypeError, match="it must be a string"):
            require_text(value, "it")


def test_what_is_shown_in_an_error_is_one_line_of_at_most_400_characters():
    assert one_line("a\n  b\tc ") == "a b c"
    assert one_line("x" * 1000) == "x" * 400


def test_an_object_without_its_digest_is_refused():
    for text in (b"{}", b"[]", b'"sha256"'):
        with pytest.raises(ValueError, match="it does not contain its SHA-256"):
            unseal(text)


def test_a_sealed_object_comes_back_and_no_byte_of_it_can_change():
    text = seal({"a": [1, None], "b": "ö"})
    assert unseal(text) == {"a": [1, None], "b": "ö"}
    for place in range(len(text)):
        changed = bytearray(text)
        changed[place] ^= 1
        with pytest.raises(ValueError, match=r".*"):
            unseal(bytes(changed))
