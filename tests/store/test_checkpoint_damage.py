"""A damaged checkpoint is noticed: what can be computed again is, and the rest is refused in
words.
"""

import re
import warnings
from itertools import pairwise

import numpy as np
import pytest

from cohirf import open_source
from cohirf.store.checkpoint import CHECKPOINT
from cohirf.store.files import CheckpointError, CheckpointWarning
from resumable import Cells, X, fit, make_model, result

KIND = CHECKPOINT.kind

# batches are tiny here, so that there are many
pytestmark = pytest.mark.filterwarnings("ignore::cohirf.ThinBatchesWarning")

DATA = X[:60]


def model(path=None):
    return make_model(path, estimator=Cells(width=2.0), batch_size=20)


@pytest.fixture(scope="module")
def whole():
    """What an undisturbed fit finds, and the calls of its base method."""
    found, calls = fit(model(), open_source(DATA))
    return result(found), calls


@pytest.fixture
def path(tmp_path):
    """The checkpoint of a finished fit."""
    fit(model(tmp_path / "checkpoint"), open_source(DATA))
    return tmp_path / "checkpoint"


@pytest.fixture
def journal(path):
    return path / "journal"


def resume(path):
    """Fit again; return what was found, the calls of the base method and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found, calls = fit(model(path), open_source(DATA))
    return result(found), calls, [str(warning.message) for warning in caught]


def record_starts(content):
    """Return where each run of a journal begins, and where the last one ends."""
    return [*(found.start() for found in re.finditer(b"cRec", content)), len(content)][1:]


def damaged_at(path, byte):
    return f"{path} is damaged at byte {byte}: the batches from there on are computed again."


def flipped(content, bit):
    damaged = bytearray(content)
    damaged[bit // 8] ^= 1 << bit % 8
    return bytes(damaged)


# -- the journal


def test_a_flipped_bit_of_the_journal_costs_its_batch_and_those_behind_it(journal, whole):
    content = journal.read_bytes()
    starts = record_starts(content)
    rng = np.random.default_rng(0)
    lengths = [8 * (start + byte) + 3 for start in starts[:-1:3] for byte in (0, 5, 9, 14, 17)]
    for bit in [*lengths, *rng.integers(8 * starts[0], 8 * len(content), size=10)]:
        journal.write_bytes(flipped(content, bit))
        number = np.searchsorted(starts, bit // 8, side="right") - 1
        found, calls, warned = resume(journal.parent)
        assert found == whole[0]
        assert calls == whole[1][number:]
        assert warned == [damaged_at(journal, starts[number])]


def test_a_journal_cut_short_anywhere_goes_on_from_its_last_whole_record(journal, whole):
    content = journal.read_bytes()
    starts = record_starts(content)
    rng = np.random.default_rng(0)
    edges = {start + offset for start in starts[:-1:2] for offset in (0, 1, 20, 21)}
    for length in sorted(
        edges | {int(length) for length in rng.integers(starts[0], len(content), size=8)}
    ):
        journal.write_bytes(content[:length])
        found, calls, warned = resume(journal.parent)
        assert found == whole[0]
        assert calls == whole[1][np.searchsorted(starts, length, side="right") - 1 :]
        assert warned == []  # that is what a kill leaves behind


def test_swapped_records_are_noticed(journal, whole):
    content = journal.read_bytes()
    starts = record_starts(content)
    records = [content[start:end] for start, end in pairwise(starts)]
    records[1], records[2] = records[2], records[1]
    journal.write_bytes(content[: starts[0]] + b"".join(records))
    assert resume(journal.parent) == (whole[0], whole[1][1:], [damaged_at(journal, starts[1])])


def test_a_record_that_is_left_out_or_repeated_is_noticed(journal, whole):
    content = journal.read_bytes()
    starts = record_starts(content)
    for damaged in (
        content[: starts[1]] + content[starts[2] :],
        content[: starts[2]] + content[starts[1] :],
    ):
        journal.write_bytes(damaged)
        found, calls, warned = resume(journal.parent)
        assert found == whole[0]
        assert len(warned) == 1
        assert calls in (whole[1][1:], whole[1][2:])


@pytest.mark.parametrize("garbage", [b"\0" * 4096, b"cRec" * 10])
def test_garbage_behind_the_last_record_is_noticed_when_the_fit_gets_there(garbage, journal, whole):
    content = journal.read_bytes()
    end = record_starts(content)[2]
    journal.write_bytes(content[:end] + garbage)
    assert resume(journal.parent) == (whole[0], whole[1][2:], [damaged_at(journal, end)])
    journal.write_bytes(content + garbage)
    assert resume(journal.parent) == (whole[0], [], [])


def test_the_runs_of_another_fit_are_noticed(journal, tmp_path, whole):
    fit(make_model(tmp_path / "other", batch_size=20, random_state=1), open_source(DATA))
    other = (tmp_path / "other" / "journal").read_bytes()
    content = journal.read_bytes()
    start = record_starts(content)[0]
    journal.write_bytes(content[:start] + other[record_starts(other)[0] :])
    assert resume(journal.parent) == (*whole, [damaged_at(journal, start)])


def test_a_missing_journal_is_computed_again(journal, whole):
    journal.unlink()
    assert resume(journal.parent) == (*whole, [])
    assert resume(journal.parent) == (whole[0], [], [])


def test_who_wants_no_repair_makes_the_warning_an_error(journal):
    start = record_starts(journal.read_bytes())[0]
    damaged = flipped(journal.read_bytes(), 8 * start + 800)
    journal.write_bytes(damaged)
    with warnings.catch_warnings():
        warnings.simplefilter("error", CheckpointWarning)
        with pytest.raises(CheckpointWarning, match=f"is damaged at byte {start}"):
            fit(model(journal.parent), open_source(DATA))
    assert journal.read_bytes() == damaged


# -- its beginning


def refused(message):
    return pytest.raises(CheckpointError, match=f"^{re.escape(message)}$")


def test_a_flipped_bit_of_the_beginning_is_refused(journal):
    content = journal.read_bytes()
    for bit in np.random.default_rng(0).integers(8 * record_starts(content)[0], size=60):
        journal.write_bytes(flipped(content, bit))
        with pytest.raises(CheckpointError, match=r"journal cannot be used: .* to start again"):
            fit(model(journal.parent), open_source(DATA))


def test_what_is_no_beginning_is_refused(journal):
    content = journal.read_bytes()
    path = journal.parent
    start = record_starts(content)[0]
    line = content.index(b"\n") + 1
    for damaged in (
        b"",
        b"x",
        content[: line - 1],
        content[:line],
        content[: start - 1],
        b"{}" * 100,
        b"[" * 10**5,
    ):
        journal.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=r"journal cannot be used: .* to start again"):
            fit(model(path), open_source(DATA))
    journal.write_bytes(b"cohirf-model 6\n" + content[line:])
    with pytest.raises(
        CheckpointError, match="cannot be used: it is a cohirf-model, not a cohirf-checkpoint"
    ):
        fit(model(path), open_source(DATA))


@pytest.mark.parametrize("version", [KIND.version - 1, KIND.version + 1])
def test_another_format_is_refused(version, journal):
    lines = [f"{KIND.name} {number}\n".encode() for number in (KIND.version, version)]
    journal.write_bytes(journal.read_bytes().replace(*lines, 1))
    with refused(
        f"{journal} cannot be used: it has format version {version}, and this version of cohirf "
        f"reads version {KIND.version}. Use the version of cohirf that wrote it, or delete "
        f"{journal.parent} to start again."
    ):
        fit(model(journal.parent), open_source(DATA))


def test_a_directory_in_which_a_fit_was_killed_before_it_began_is_taken(tmp_path, whole):
    (tmp_path / "begun").mkdir()
    (tmp_path / "begun" / "lock").touch()
    assert resume(tmp_path / "begun") == (*whole, [])
    assert sorted(file.name for file in (tmp_path / "begun").iterdir()) == ["journal", "lock"]
