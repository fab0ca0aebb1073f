"""Lazy frames, queries and streams: written to a temporary file, and then read as a table."""

import pickle

import numpy as np
import polars as pl
import pyarrow as pa
import pytest

from cohirf import CoHiRF, open_source
from cohirf.app.preparation import prepare

NAMES = ["a", "b", "c"]


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return np.random.default_rng(0).normal(size=(2_000, 3))


def as_reader(X):
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=300))


def as_lazy(X):
    return pl.DataFrame(X, schema=NAMES).lazy()


def as_query(X):
    duckdb = pytest.importorskip("duckdb")
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    return duckdb.connect().from_arrow(table).project("a, b, c")


@pytest.fixture(params=[as_reader, as_lazy, as_query])
def make(request):
    return request.param


def test_rows_and_labels_are_those_of_the_array(make, X):
    source = open_source(make(X))
    assert source.feature_names == NAMES
    np.testing.assert_array_equal(source.take(np.arange(2_000)), X)
    np.testing.assert_array_equal(source.take([0, 299, 300, 1_999]), X[[0, 299, 300, 1_999]])
    model = CoHiRF(n_clusters=3, batch_size=400, random_state=0)
    expected = np.array(model.fit(open_source(X)).labels_)
    np.testing.assert_array_equal(model.fit(source).labels_, expected)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(source)).take([7]), X[[7]])


def test_columns_are_chosen(make, X):
    np.testing.assert_array_equal(open_source(make(X), columns=["c"]).take([5]), X[[5], 2:])


def test_the_same_rows_have_the_same_fingerprint(make, X):
    assert open_source(make(X)).fingerprint() == open_source(make(X)).fingerprint()
    assert open_source(make(X)).fingerprint() != open_source(make(X + 1)).fingerprint()


def test_streams_are_prepared(make, X):
    frame = pl.DataFrame(X, schema=NAMES)
    np.testing.assert_array_equal(prepare(make(X)).array(), prepare(frame).array())


def test_a_lazy_frame_with_text_is_prepared():
    frame = pl.DataFrame({"a": np.arange(60.0), "kind": ["x", "y", "z"] * 20})
    np.testing.assert_array_equal(prepare(frame.lazy()).array(), prepare(frame).array())


def test_text_is_refused_as_in_a_file():
    with pytest.raises(ValueError, match="The stream: column 'kind' has type"):
        open_source(pl.DataFrame({"kind": ["x"]}).lazy())


def test_a_query_of_polars_that_fails_is_named():
    frame = pl.DataFrame({"a": [1.0]}).lazy().select("z")
    with pytest.raises(ValueError, match=r"^data, a LazyFrame of polars, .*z.*: repair the query"):
        open_source(frame)


def test_a_query_of_duckdb_that_fails_is_named():
    duckdb = pytest.importorskip("duckdb")
    query = duckdb.connect().sql("select cast(x as double) as a from (values ('b')) t(x)")
    with pytest.raises(ValueError, match=r"^data, a DuckDBPyRelation of duckdb, .*: repair the"):
        open_source(query)


def test_a_stream_that_breaks_is_named(X):
    def batches():
        yield from as_reader(X)
        raise RuntimeError("the sensor is gone")

    stream = pa.RecordBatchReader.from_batches(as_reader(X).schema, batches())
    with pytest.raises(
        ValueError, match=r"^data, a RecordBatchReader of pyarrow, .*sensor is gone"
    ):
        open_source(stream)


def test_repeated_columns_of_a_stream_are_named():
    table = pa.Table.from_arrays([pa.array([1.0]), pa.array([2.0])], names=["a", "a"])
    with pytest.raises(
        ValueError, match=r"^The stream: the column name 'a' appears more than once"
    ):
        open_source(table.to_reader())
