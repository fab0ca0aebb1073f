"""metric="cosine": the fit of rows that are scaled to length 1, wherever the rows are."""

import numpy as np
import pytest
from scipy import sparse

import cohirf
from cohirf import CoHiRF, open_source
from cohirf.app.explain import write_report


def make_rows(scale=1.0):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(5, 12))[rng.integers(5, size=400)] + 0.3 * rng.normal(size=(400, 12))
    return X * np.exp(scale * rng.normal(size=(400, 1)))


X = make_rows()
UNIT = X / np.linalg.norm(X, axis=1, keepdims=True)
OPTIONS = {"n_clusters": 5, "views": 2, "random_state": 0}


def as_dask(rows):
    return pytest.importorskip("dask.array").from_array(rows, chunks=(150, 12))


@pytest.mark.parametrize(
    ("place", "batch_size"),
    [
        (np.asarray, None),
        (np.asarray, 150),
        (sparse.csr_array, None),
        (open_source, 150),
        (as_dask, 150),
    ],
)
def test_a_cosine_fit_is_the_fit_of_unit_vectors(place, batch_size):
    cosine = CoHiRF(metric="cosine", batch_size=batch_size, **OPTIONS).fit(place(X))
    expected = CoHiRF(batch_size=batch_size, **OPTIONS).fit(place(UNIT))
    np.testing.assert_array_equal(np.asarray(cosine.labels_), np.asarray(expected.labels_))
    np.testing.assert_array_equal(
        np.asarray(cosine.predict(place(3 * X))), np.asarray(cosine.labels_)
    )
    np.testing.assert_allclose(sparse.csr_array(cosine.exemplars_).power(2).sum(axis=1), 1)


def test_what_is_asked_of_a_model_sees_directions_only(tmp_path):
    model = CoHiRF(metric="cosine", **OPTIONS).fit(X)
    np.testing.assert_allclose(model.membership(5 * X), model.membership(UNIT))
    np.testing.assert_allclose(model.transform(5 * X), model.transform(UNIT), atol=1e-7)
    model.save(tmp_path / "model.cohirf")
    np.testing.assert_array_equal(
        cohirf.load(tmp_path / "model.cohirf").predict(0.1 * X), model.labels_
    )
    assert write_report(model, X, tmp_path / "report.html").stat().st_size > 0
    assert model.explain(0, X)["mean"].abs().max() <= 1
    model.partial_fit(7 * X[:50])
    np.testing.assert_array_equal(model.labels_[400:], model.predict(X[:50]))


@pytest.mark.parametrize("place", [np.asarray, sparse.csr_array, open_source])
def test_a_row_of_zeros_is_refused_by_its_number(place):
    with_zeros = X.copy()
    with_zeros[17] = 0
    with pytest.raises(
        ValueError,
        match=r'row 17 is all zeros, .* metric="cosine" compares directions: leave the row',
    ):
        CoHiRF(metric="cosine", **OPTIONS).fit(place(with_zeros))


def test_unit_vectors_are_not_copied_and_half_precision_becomes_single():
    from cohirf.sources.scaled import unit_rows

    for dtype in (np.float32, np.float64):
        rows = UNIT.astype(dtype)
        assert unit_rows(rows) is rows
    assert (
        CoHiRF(metric="cosine", **OPTIONS).fit(UNIT.astype(np.float16)).medoids_.dtype == np.float32
    )


def test_rows_on_a_device_are_scaled_there():
    torch = pytest.importorskip("torch")
    from cohirf.sources.scaled import unit_rows

    rows = torch.as_tensor(UNIT)
    assert unit_rows(rows) is rows
    np.testing.assert_allclose(unit_rows(torch.as_tensor(X)).numpy(), UNIT)
    with pytest.raises(ValueError, match="X: row 3 is all zeros"):
        unit_rows(torch.as_tensor(np.where(np.arange(400)[:, None] == 3, 0, X)))
