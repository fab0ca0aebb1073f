"""Files that are there as a whole or not at all."""

import pytest

from cohirf.durable import replacing


def test_a_finished_file_takes_the_place_of_the_old_one(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")
    with replacing(target) as unfinished:
        unfinished.write_text("new")
        assert unfinished.suffix == ".txt"
        assert target.read_text() == "old"
    assert target.read_text() == "new"
    assert list(tmp_path.iterdir()) == [target]


def test_an_unfinished_file_is_removed(tmp_path):
    target = tmp_path / "a.txt"
    target.write_text("old")

    def write_half():
        with replacing(target) as unfinished:
            unfinished.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_half()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]
