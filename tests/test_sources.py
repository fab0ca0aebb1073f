"""Opening data as a source."""

import numpy as np
import pytest

from cohirf import CoHiRF, open_source


def test_a_npy_file_is_fitted_like_its_array(blobs, tmp_path):
    np.save(tmp_path / "data.npy", blobs[0])
    source = open_source(tmp_path / "data.npy")
    assert not source.X.flags.writeable
    assert (CoHiRF(random_state=0).fit(source).parents_ == CoHiRF(random_state=0).fit(blobs[0]).parents_).all()


def test_an_array_is_a_source(blobs):
    assert (CoHiRF(random_state=0).fit(open_source(blobs[0])).labels_ >= 0).all()


@pytest.mark.parametrize(
    ("name", "error", "message"),
    [
        ("data.parquet", ValueError, "data.parquet cannot be opened as a source: give a .npy file"),
        ("missing.npy", FileNotFoundError, "missing.npy is not a file: check the path"),
    ],
)
def test_a_path_that_cannot_be_opened_is_named(name, error, message, tmp_path):
    with pytest.raises(error, match=message):
        open_source(tmp_path / name)
