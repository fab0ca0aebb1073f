"""Files behind a source, and the errors of reading them."""

import errno
from pathlib import Path

import pytest

from cohirf.sources import SourceChangedError, files
from cohirf.sources.files import FileStamp, naming, one_line, shown


def test_a_path_is_shown_as_a_user_would_type_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert shown(tmp_path / "folder" / "data.npy") == str(Path("folder", "data.npy"))
    assert shown(tmp_path.parent / "data.npy") == str(tmp_path.parent / "data.npy")
    assert shown(tmp_path / "two\nlines.npy") == repr("two\nlines.npy")


def test_a_message_becomes_one_short_line_without_its_full_stop():
    assert one_line(ValueError("  it is\n damaged. ")) == "it is damaged"
    assert one_line(ValueError("x" * 301)) == "x" * 300


def test_content_is_size_time_and_chunks_from_the_first_to_the_last(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "CHUNK_BYTES", 4)
    (tmp_path / "file").write_bytes(b"0123456789")
    stamp = FileStamp.of(tmp_path / "file")
    head, *chunks = stamp.content(3)
    assert head == f"10 {(tmp_path / 'file').stat().st_mtime_ns}".encode()
    assert chunks == [b"0123", b"3456", b"6789"]
    (tmp_path / "file").write_bytes(b"01")
    assert list(FileStamp.of(tmp_path / "file").content(3))[1:] == [b"01"]


def test_an_error_of_the_system_keeps_its_type_and_names_the_file():
    with pytest.raises(PermissionError) as caught, naming("data.npy", ".npy"):
        raise PermissionError(errno.EACCES, "no", "elsewhere")
    assert caught.value.errno == errno.EACCES
    assert caught.value.filename == "data.npy"


@pytest.mark.parametrize("error", [KeyError("header"), OSError("no number")])
def test_any_other_error_says_that_the_file_is_damaged(error):
    with (
        pytest.raises(ValueError, match=r"data\.npy cannot be read as \.npy: .*(header|no number)"),
        naming("data.npy", ".npy"),
    ):
        raise error


def test_too_little_memory_names_the_file():
    with (
        pytest.raises(MemoryError, match=r"data\.npy needs more memory .* is damaged: 9 GB\."),
        naming("data.npy", ".npy"),
    ):
        raise MemoryError("9 GB.")


@pytest.mark.parametrize("error", [SourceChangedError("changed"), ImportError("needs pyarrow")])
def test_errors_that_explain_themselves_stay_as_they_are(error):
    with pytest.raises(type(error)) as caught, naming("data.npy", ".npy"):
        raise error
    assert caught.value is error
