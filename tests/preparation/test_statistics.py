"""What features are like, in one pass over the data."""

import numpy as np
import pytest

from cohirf import open_source
from cohirf.preparation import measure, statistics


@pytest.mark.parametrize("piece", [200, 2**23])
def test_statistics_are_those_of_numpy_whatever_the_pieces(monkeypatch, piece):
    monkeypatch.setattr("cohirf.sources.source.PIECE_BYTES", piece)
    X = np.random.default_rng(0).normal(1e6, [1, 5, 0.1], size=(503, 3))
    X[::7, 1] = np.nan
    found = measure(open_source(X), with_median=True)
    assert found.n_present.tolist() == [503, 503 - 72, 503]
    for values, function in (
        (found.mean, np.nanmean),
        (found.std, np.nanstd),
        (found.low, np.nanmin),
        (found.high, np.nanmax),
        (found.median, np.nanmedian),
    ):
        np.testing.assert_allclose(values, function(X, axis=0), rtol=1e-9)


def test_a_column_without_values_has_no_statistics():
    found = measure(open_source(np.array([[1.0, np.nan], [3.0, np.nan]])), with_median=True)
    assert found.n_present.tolist() == [2, 0]
    for values in (found.mean, found.std, found.low, found.high, found.median):
        assert np.isnan(values).tolist() == [False, True]


def test_the_median_of_large_data_is_that_of_evenly_spaced_rows(monkeypatch):
    monkeypatch.setattr(statistics, "MEDIAN_CELLS", 100)
    monkeypatch.setattr("cohirf.sources.source.PIECE_BYTES", 130)
    X = np.random.default_rng(0).normal(size=(1000, 1))
    assert measure(open_source(X), with_median=True).median == np.median(X[::10])
