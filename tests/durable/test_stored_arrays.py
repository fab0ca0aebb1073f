"""Arrays on disk: read as they were written, or refused at the first piece that cannot be."""

import hashlib
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from cohirf.durable import arrays
from cohirf.durable.arrays import (
    ArrayEntry,
    ArrayLayout,
    accept,
    build_csr,
    csr_parts,
    in_range,
    is_finite,
    is_finite_or_nan,
    is_share_or_nan,
    match_axes,
    npy_header,
    parse_entry,
    read_array,
    sorted_in_range,
    write_array,
)


@pytest.fixture(autouse=True)
def small_pieces(monkeypatch):
    monkeypatch.setattr(arrays, "CHUNK_BYTES", 64)


@pytest.mark.parametrize(
    "array",
    [np.arange(100.0).reshape(20, 5), np.empty(0, np.int32), np.arange(9, dtype=">i4"), np.ones((3, 4), order="F")],
    ids=["float", "empty", "big-endian", "Fortran order"],
)
def test_an_array_comes_back_and_numpy_reads_it(array, tmp_path):
    entry = write_array(tmp_path / "a.npy", array)
    content = (tmp_path / "a.npy").read_bytes()
    assert (entry.n_bytes, entry.sha256) == (len(content), hashlib.sha256(content).hexdigest())
    assert entry.dtype[0] == "<"
    assert np.array_equal(read_array(tmp_path / "a.npy", entry, accept), array)
    assert np.array_equal(np.load(tmp_path / "a.npy", allow_pickle=False), array)


def test_values_begin_at_a_multiple_of_64_bytes():
    for n_digits in range(64):
        header = npy_header(ArrayEntry(0, "<f8", (10**n_digits,), ""))
        assert len(header) % 64 == 0
        assert header.endswith(b"\n")


LAYOUT = ArrayLayout(("<i4", "<f8"), ("rows", "features"))


def test_an_entry_comes_back_from_its_json(tmp_path):
    entry = write_array(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    assert entry.to_json() == {"bytes": 176, "dtype": "<f8", "shape": [2, 3], "sha256": entry.sha256}
    assert parse_entry("a", entry.to_json(), LAYOUT) == entry


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"dtype": "<f4"}, "a has type '<f4', but only <i4, <f8 are allowed"),
        ({"dtype": ["<f8"]}, r"a has type \['<f8'\], but only"),
        ({"shape": [6]}, r"a has shape \[6\], but 2 axes are expected"),
        ({"shape": "23"}, "a has shape '23', but 2 axes are expected"),
        ({"shape": [2, -3]}, "a length is -3, but must be a non-negative integer"),
        ({"bytes": 175}, r"a of shape \(2, 3\) takes 176 bytes, not 175"),
        ({"bytes": "176"}, "bytes is '176', but must be a non-negative integer"),
        ({"dtype": "<i4"}, r"a of shape \(2, 3\) takes 152 bytes, not 176"),
        ({"sha256": 7}, "the sha256 of a must be a string"),
        ({"more": 7}, "a must be a JSON object with the keys bytes, dtype, sha256, shape"),
    ],
)
def test_an_entry_that_does_not_match_its_layout_is_refused(changes, message, tmp_path):
    entry = write_array(tmp_path / "a.npy", np.arange(6.0).reshape(2, 3))
    with pytest.raises((ValueError, TypeError), match=message):
        parse_entry("a", entry.to_json() | changes, LAYOUT)


def test_a_file_with_the_header_of_another_array_is_refused(tmp_path):
    entry = write_array(tmp_path / "a.npy", np.arange(8))
    with pytest.raises(ValueError, match=r"its header is not that of an array of type <i8 and shape \(4, 2\)"):
        read_array(tmp_path / "a.npy", replace(entry, shape=(4, 2)), accept)


def test_a_file_that_is_shorter_than_its_entry_is_refused(tmp_path):
    entry = write_array(tmp_path / "a.npy", np.arange(100))
    (tmp_path / "a.npy").write_bytes((tmp_path / "a.npy").read_bytes()[:-1])
    with pytest.raises(ValueError, match="it is cut short"):
        read_array(tmp_path / "a.npy", entry, accept)


def test_reading_ends_at_the_first_piece_that_is_refused(tmp_path):
    seen = []

    def check(piece):
        seen.append(piece.copy())
        in_range(0, 10, "numbers")(piece)

    entry = write_array(tmp_path / "a.npy", np.arange(100))
    with pytest.raises(ValueError, match="it has numbers outside the range 0 to 10"):
        read_array(tmp_path / "a.npy", entry, check)
    assert np.array_equal(np.concatenate(seen), np.arange(16))


def test_damage_to_a_small_array_is_told_by_its_digest(tmp_path):
    entry = write_array(tmp_path / "a.npy", np.arange(8))
    content = bytearray((tmp_path / "a.npy").read_bytes())
    content[-1] ^= 64
    (tmp_path / "a.npy").write_bytes(content)
    with pytest.raises(ValueError, match="its SHA-256 differs"):
        read_array(tmp_path / "a.npy", entry, in_range(0, 10, "numbers"))


def accepts(check, values):
    try:
        check(np.array(values))
    except ValueError:
        return False
    return True


@pytest.mark.parametrize(
    ("check", "good", "bad"),
    [
        (lambda values: in_range(-1, 2, "labels")(values), [[-1, 2], []], [[-2], [3], [0, 3, 0]]),
        (is_finite, [[0.0, 1e300], []], [[np.nan], [np.inf], [0, -np.inf]]),
        (is_finite_or_nan, [[0.0, np.nan]], [[np.inf], [np.nan, -np.inf]]),
        (is_share_or_nan, [[1.0, np.nan, 1e-30], [1 + 5e-7]], [[0.0], [1 + 2e-6], [-0.1], [1.1], [np.inf], [1, 0]]),
    ],
)
def test_checks_take_what_is_in_range_and_nothing_else(check, good, bad):
    assert [accepts(check, values) for values in good] == [True] * len(good)
    assert [accepts(check, values) for values in bad] == [False] * len(bad)


def test_sorted_lists_are_sorted_across_pieces():
    for pieces, expected in (
        ([[0, 1], [2, 5]], [True, True]),
        ([[0, 1], [1, 2]], [True, False]),
        ([[0, 6]], [False]),
        ([[-1, 0]], [False]),
        ([[3, 2]], [False]),
        ([[0, 3, 2]], [False]),
        ([[0, 5]], [True]),
        ([[], [0]], [True, True]),
    ):
        check = sorted_in_range(0, 5, "rows")
        assert [accepts(check, piece) for piece in pieces] == expected


def test_axes_of_one_name_are_equally_long():
    layouts = {"a": ArrayLayout(("<f8",), ("rows", "features")), "b": ArrayLayout(("<i4",), ("rows",))}
    assert match_axes({"a": (3, 2), "b": (3,)}, layouts, {}) == {"rows": 3, "features": 2}
    with pytest.raises(ValueError, match="b has 4 rows, but a says 3"):
        match_axes({"a": (3, 2), "b": (4,)}, layouts, {})
    with pytest.raises(ValueError, match="a has 2 features, but the data says 5"):
        match_axes({"a": (3, 2)}, layouts, {"features": (5, "the data")})


MATRIX = sparse.csr_array(np.array([[0.0, 1, 2], [0, 0, 0], [3, 0, 4]]))


@pytest.mark.parametrize("kind", ["csr_array", "csr_matrix"])
def test_a_csr_matrix_comes_back_from_its_parts(kind):
    built = build_csr(kind, csr_parts(MATRIX), (3, 3), "m")
    assert type(built).__name__ == kind
    assert (built != MATRIX).nnz == 0
    assert build_csr(kind, csr_parts(sparse.csr_array((2, 0))), (2, 0), "m").shape == (2, 0)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"indices": np.array([1, 3, 0, 2])}, "m_indices has column numbers outside the range 0 to 2"),
        ({"indices": np.array([1, -1, 0, 2])}, "m_indices has column numbers outside the range 0 to 2"),
        ({"indices": np.array([1, 2, 0])}, "m_indices has 3 column numbers for 4 cells"),
        ({"indptr": np.array([0, 2, 2, 3])}, "m_indptr is not the index pointer of 3 rows with 4 cells"),
        ({"indptr": np.array([0, 2, 2, 5])}, "m_indptr is not the index pointer"),
        ({"indptr": np.array([0, 3, 2, 4])}, "m_indptr is not the index pointer"),
        ({"indptr": np.array([1, 2, 2, 4])}, "m_indptr is not the index pointer"),
        ({"indptr": np.array([0, 2, 4])}, "m_indptr is not the index pointer"),
    ],
)
def test_a_csr_matrix_that_leads_out_of_its_memory_is_refused(changes, message):
    with pytest.raises(ValueError, match=message):
        build_csr("csr_array", csr_parts(MATRIX) | changes, (3, 3), "m")


def test_a_column_number_in_a_matrix_without_columns_is_refused():
    parts = {"data": np.ones(1), "indices": np.zeros(1, int), "indptr": np.array([0, 1])}
    with pytest.raises(ValueError, match="m_indices has column numbers outside"):
        build_csr("csr_array", parts, (1, 0), "m")
