"""Sources whose rows are filled and scaled as they are read."""

import pickle

import numpy as np
import pandas as pd
import pytest
from test_sources import make_data

from cohirf import CoHiRF, open_source
from cohirf.sources import ScaledSource, SourceChangedError
from cohirf.sources.policy import READ
from cohirf.sources.source import StreamedSource


@pytest.fixture
def stored(tmp_path):
    """Rows with gaps, in a file."""
    X = make_data()
    X[::9, 1] = np.nan
    np.save(tmp_path / "data.npy", X)
    return X, tmp_path / "data.npy"


FILL = [0.0, 7.0, 0.0, 0.0]
OFFSET = [1.0, 2.0, 3.0, 4.0]
SCALE = [2.0, 4.0, 8.0, 16.0]


def expected(X):
    return (np.where(np.isnan(X), FILL, X) - OFFSET) / SCALE


@pytest.mark.parametrize(
    "rows", [np.arange(1_100), np.arange(40, 90), np.array([0, 9, 700, 1_099])]
)
def test_rows_are_filled_and_scaled(stored, rows):
    X, path = stored
    for data in (path, X):
        source = ScaledSource(open_source(data), fill=FILL, offset=OFFSET, scale=SCALE)
        np.testing.assert_array_equal(source.take(rows), expected(X)[rows])


def test_each_step_may_be_left_out(stored):
    X, path = stored
    rows = np.array([1, 2, 5])
    np.testing.assert_array_equal(
        ScaledSource(open_source(path), scale=SCALE).take(rows), X[rows] / SCALE
    )
    np.testing.assert_array_equal(
        ScaledSource(open_source(path), offset=OFFSET).take(rows), X[rows] - OFFSET
    )
    with pytest.raises(ValueError, match=r"rows 0 to 1,099: contains NaN"):
        ScaledSource(open_source(path), scale=SCALE).take(np.arange(1_100))


def test_it_is_called_and_changes_as_what_it_reads(stored):
    _, path = stored
    source = ScaledSource(open_source(path), fill=FILL)
    assert source.name.endswith("data.npy")
    assert source.fingerprint() != open_source(path).fingerprint()
    assert source.fingerprint() == ScaledSource(open_source(path), fill=FILL).fingerprint()
    assert source.fingerprint() != ScaledSource(open_source(path), fill=OFFSET).fingerprint()
    again = pickle.loads(pickle.dumps(source))
    np.testing.assert_array_equal(again.take(np.array([0, 9])), source.take(np.array([0, 9])))
    np.save(path, make_data()[:50])
    with pytest.raises(SourceChangedError):
        source.take(np.array([0]))


def test_float32_stays_float32():
    source = ScaledSource(open_source(make_data(np.float32)), offset=OFFSET, scale=SCALE)
    assert source.take(np.array([0])).dtype == np.float32


@pytest.mark.parametrize("name", ["fill", "offset", "scale"])
def test_a_value_for_each_feature_is_needed(name):
    with pytest.raises(
        ValueError, match=rf"^{name} has shape \(2,\): give a value for each of 4 features\."
    ):
        ScaledSource(open_source(make_data()), **{name: [1.0, 2.0]})


def test_features_keep_their_names():
    table = pd.DataFrame({"a": [1.0, 2.0], "b": [3.0, 4.0]})
    assert ScaledSource(open_source(table), offset=[1.0, 1.0]).feature_names == ["a", "b"]


def test_a_fit_finds_the_clusters_of_the_scaled_array(stored):
    X, path = stored
    source = ScaledSource(open_source(path), fill=FILL, offset=OFFSET, scale=SCALE)
    model = CoHiRF.as_published(views=2, random_state=0)
    assert (model.fit(source).labels_ == model.fit(expected(X)).labels_).all()


def test_all_rows_are_read_unchecked_and_in_order(stored, monkeypatch):
    X, path = stored
    monkeypatch.setitem(vars(READ), "piece_bytes", 1_000)
    blocks = list(open_source(path).read_all())
    assert len(blocks) == 36
    np.testing.assert_array_equal(np.concatenate(blocks), X)


def test_blocks_of_all_rows_have_the_type_of_the_source():
    X = make_data(np.float32)
    (block,) = open_source(X).read_all()
    assert block.dtype == np.float32
    np.testing.assert_array_equal(block, X)


N_ROWS = 1_000
PART_ROWS = 500
PIECE_ROWS = 10


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
        np.testing.assert_array_equal(
            source.take(np.arange(start, start + n)).ravel(), np.arange(start, start + n)
        )
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
