"""Sources that are decoded in order: what is decoded, and how often."""

import pickle

import numpy as np
import pytest

from cohirf.sources.streamed import StreamedSource

N_ROWS, PART_ROWS, PIECE_ROWS = 1_000, 500, 10


class Counted(StreamedSource):
    """Rows that hold their number. Decoding begins every 500 rows and comes in pieces of ten."""

    def __init__(self, missing=0):
        super().__init__("counted", (N_ROWS, 1), "f8", starts=range(0, N_ROWS, PART_ROWS))
        self.decoded = []
        self.missing = missing

    def _pieces(self, number):
        for first in range(int(self._starts[number]), N_ROWS - self.missing, PIECE_ROWS):
            self.decoded.append(first)
            yield np.arange(first, first + PIECE_ROWS, dtype=float)[:, None]


def read(source, *starts, n=20):
    for start in starts:
        np.testing.assert_array_equal(source.take(np.arange(start, start + n)).ravel(), np.arange(start, start + n))
    return len(source.decoded)


def test_blocks_in_order_decode_every_piece_once():
    source = Counted()
    read(source, *range(0, N_ROWS, 20))
    assert source.decoded == list(range(0, N_ROWS, PIECE_ROWS))


def test_blocks_that_share_a_piece_decode_it_once():
    assert read(Counted(), *range(0, 100, 5), n=5) == 10


def test_decoding_begins_at_the_nearest_start():
    source = Counted()
    read(source, 620)
    assert source.decoded[0] == PART_ROWS


def test_neighbouring_blocks_out_of_order_decode_little_twice():
    source = Counted()
    starts = np.arange(0, N_ROWS, 20).reshape(-1, 2)[:, ::-1].ravel()  # 20, 0, 60, 40 ...
    assert read(source, *starts) <= 2 * N_ROWS // PIECE_ROWS


def test_scattered_rows_decode_every_piece_once():
    source = Counted()
    rows = np.arange(3, N_ROWS, 7)
    np.testing.assert_array_equal(source.take(rows).ravel(), rows)
    assert source.decoded == list(range(0, N_ROWS, PIECE_ROWS))


def test_a_copy_begins_anew():
    source = Counted()
    read(source, 0)
    copy = pickle.loads(pickle.dumps(source))
    assert copy.decoded == source.decoded == [0, 10]
    read(copy, 0)
    assert copy.decoded == [0, 10, 0, 10]
    assert source.decoded == [0, 10]


def test_storage_with_fewer_rows_than_it_says_is_noticed():
    source = Counted(missing=100)
    with pytest.raises(ValueError, match=r"counted ends before row 900: write it again\."):
        source.take(np.arange(N_ROWS))
    read(source, 0)  # and the source can still be used
