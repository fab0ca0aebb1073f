"""Delta and Iceberg tables, written by their own libraries: one version is read, and named."""

import numpy as np
import pyarrow as pa
import pytest
from sklearn.cluster import KMeans
from tools.object_server import KEY, SECRET, serving

from cohirf import CoHiRF, open_source
from cohirf.store import load_about

NAMES = ["a", "b", "c"]


def make(seed, n_rows=900):
    X = np.random.default_rng(seed).normal(size=(n_rows, 3)).round(6)
    days = [f"2026-01-01 0{number % 3}:00%" for number in range(n_rows)]
    return pa.table({**dict(zip(NAMES, X.T, strict=True)), "day": days})


def rows_of(source):
    """Return all rows in an order of their own, because tables have none."""
    X = source.take(np.arange(source.n_rows))
    return X[np.lexsort(X.T)]


def numbers(*tables):
    X = np.concatenate([np.column_stack([table[name] for name in NAMES]) for table in tables])
    return X[np.lexsort(X.T)]


class Interrupted(KMeans):
    """K-Means during which something else happens once: in the midst of a fit by batches."""

    happens = staticmethod(lambda: None)
    n_calls = 0

    def fit(self, X, y=None, sample_weight=None):
        """Fit, and let it happen in the second batch."""
        Interrupted.n_calls += 1
        if Interrupted.n_calls == 2:
            Interrupted.happens()
        return super().fit(X, y, sample_weight)


def refuse_new_rows_in_a_fit(source, add, monkeypatch):
    """Fit while rows are added to the table, and compare with a fit before."""

    def fit():
        method = Interrupted(3, n_init=1)
        return CoHiRF(method, views=2, batch_size=300, random_state=0).fit(source).labels_

    expected = fit()
    added = []
    monkeypatch.setattr(Interrupted, "happens", staticmethod(lambda: added.append(add())))
    monkeypatch.setattr(Interrupted, "n_calls", 0)
    found = fit()
    assert len(added) == 1
    assert Interrupted.n_calls > 2, "the fit went on after it"
    np.testing.assert_array_equal(found, expected)


@pytest.fixture
def delta(tmp_path):
    """A Delta table of two versions, with partitions that need quoting."""
    deltalake = pytest.importorskip("deltalake")
    folder = tmp_path / "a table"
    deltalake.write_deltalake(folder, make(0), partition_by=["day"])
    deltalake.write_deltalake(folder, make(1), mode="append")
    return folder


@pytest.mark.parametrize("where", ["here", "s3"])
def test_a_version_of_a_delta_table_is_read(where, delta):
    with serving() as objects:
        objects.put_folder("bucket/a table.parquet", delta)
        place = str(delta) if where == "here" else "s3://bucket/a table.parquet"
        for asked in ("", "/"):
            newest = open_source(place + asked)
            assert newest.name.endswith(("table@v1", "table.parquet@v1"))
            np.testing.assert_array_equal(rows_of(newest), numbers(make(0), make(1)))
        first = open_source(f"{place}@v0")
        assert first.name.endswith(("table@v0", "table.parquet@v0"))
        assert first.feature_names == NAMES
        np.testing.assert_array_equal(rows_of(first), numbers(make(0)))


def test_the_model_of_the_program_names_the_version(delta, cohirf, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with serving() as objects:
        objects.put_folder("bucket/table", delta)
        done = cohirf("fit", "s3://bucket/table", "--clusters", "3", "--model", "m.cohirf")
        assert load_about("m.cohirf").origin.data == "s3://bucket/table@v1", done
    written = (tmp_path / "m.cohirf").read_bytes()
    assert KEY.encode() not in written
    assert SECRET.encode() not in written


def test_delta_tables_that_cannot_be_read_by_their_files_are_refused(delta, tmp_path):
    with pytest.raises(ValueError, match=r"table cannot be read as a Delta table: .*version"):
        open_source(f"{delta}@v7")
    import deltalake

    table = pa.table({"a": [1.0, 2.0]})
    mapped = {"delta.columnMapping.mode": "name", "delta.minReaderVersion": "2"}
    try:
        deltalake.write_deltalake(tmp_path / "mapped", table, configuration=mapped)
    except Exception:
        pytest.skip("this version of deltalake writes no table with renamed columns")
    with pytest.raises(ValueError, match="has columns that were renamed, which its files alone"):
        open_source(tmp_path / "mapped")


def test_rows_added_to_a_delta_table_during_a_fit_are_not_read(delta, monkeypatch):
    import deltalake

    source = open_source(delta)
    refuse_new_rows_in_a_fit(
        source, lambda: deltalake.write_deltalake(delta, make(2), mode="append"), monkeypatch
    )
    assert source.n_rows == 1_800
    pinned = open_source(source.name)
    np.testing.assert_array_equal(rows_of(pinned), numbers(make(0), make(1)))
    assert open_source(delta).n_rows == 2_700


@pytest.fixture
def iceberg(tmp_path):
    """An Iceberg table in a catalog of its own."""
    catalogs = pytest.importorskip("pyiceberg.catalog")
    pytest.importorskip("sqlalchemy")
    catalog = catalogs.load_catalog(
        "tests", type="sql", uri=f"sqlite:///{tmp_path}/catalog.db", warehouse=f"file://{tmp_path}"
    )
    catalog.create_namespace("space")
    table = catalog.create_table("space.rows", make(0).schema)
    table.append(make(0))
    yield table
    catalog.close()


def test_the_snapshot_of_an_iceberg_table_is_read(iceberg):
    first = open_source(iceberg, columns=NAMES)
    place = iceberg.metadata_location
    iceberg.append(make(1))
    np.testing.assert_array_equal(rows_of(first), numbers(make(0)))
    pinned = open_source(place, columns=NAMES)
    assert pinned.name.partition("@")[0].endswith(".metadata.json")
    np.testing.assert_array_equal(rows_of(pinned), numbers(make(0)))
    newest = open_source(iceberg, columns=NAMES)
    np.testing.assert_array_equal(rows_of(newest), numbers(make(0), make(1)))
    assert newest.name.startswith("space.rows@")


def test_rows_added_to_an_iceberg_table_during_a_fit_are_not_read(iceberg, monkeypatch):
    place = iceberg.metadata_location
    source = open_source(iceberg, columns=NAMES)
    refuse_new_rows_in_a_fit(source, lambda: iceberg.append(make(1)), monkeypatch)
    np.testing.assert_array_equal(rows_of(source), numbers(make(0)))
    np.testing.assert_array_equal(rows_of(open_source(place, columns=NAMES)), numbers(make(0)))
    assert open_source(iceberg, columns=NAMES).n_rows == 1_800


@pytest.mark.parametrize("is_renamed", [True, False])
def test_iceberg_tables_whose_files_have_other_columns_are_refused(iceberg, is_renamed):
    with iceberg.update_schema() as update:
        if is_renamed:
            update.rename_column("a", "z")
        else:
            update.delete_column("b")
    with pytest.raises(ValueError, match="has columns that were renamed or deleted, which its"):
        open_source(iceberg, columns=["c"])
