"""Data sets of many files: the same rows and labels as from one file, here and at a URL."""

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pyarrow.csv as pa_csv
import pyarrow.parquet as pq
import pytest
from tools.object_server import serving

from cohirf import CoHiRF, open_source
from cohirf.app.preparation import prepare

pytest.importorskip("obstore")

NAMES = ["a", "b", "c"]
CUTS = [0, 300, 301, 900, 2_000]
FOLDERS = ["year=2025/month=2", "year=2025/month=2", "year=2025/month=3", "year=2026/month=1"]


@pytest.fixture(scope="module")
def X():  # noqa: N802
    return np.random.default_rng(0).normal(size=(2_000, 3)).round(6)


def write(table, path):
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, row_group_size=250)
    elif path.suffix == ".csv":
        pa_csv.write_csv(table, path)
    else:
        with pa.ipc.new_file(path, table.schema) as writer:
            writer.write_table(table, max_chunksize=250)


@pytest.fixture(scope="module", params=["parquet", "arrow", "csv"])
def ending(request):
    return request.param


@pytest.fixture(scope="module")
def folder(X, ending, tmp_path_factory):
    """A flat folder, one with partitions, and one file, all with the same rows."""
    folder = tmp_path_factory.mktemp("sets")
    table = pa.table(dict(zip(NAMES, X.T, strict=True)))
    write(table, folder / f"one.{ending}")
    for number, (start, stop) in enumerate(pairwise(CUTS)):
        part = table.slice(start, stop - start)
        write(part, folder / "flat" / f"part-{number}.{ending}")
        write(part, folder / "parts" / FOLDERS[number] / f"part-{number}.{ending}")
    write(table, folder / "parts" / "backup" / f"old.{ending}")
    write(table, folder / "parts" / f".hidden.{ending}")
    write(table, folder / "parts" / "_temporary" / f"part-0.{ending}")
    (folder / "parts" / "_SUCCESS").write_text("")
    (folder / "parts" / "README.md").write_text("about")
    return folder


@pytest.fixture
def objects(folder):
    with serving() as objects:
        objects.put_folder("bucket/data", folder)
        yield objects


PLACES = [
    "flat",
    "flat/",
    "flat/part-*.{}",
    "parts",
    "parts/",
    "parts/**/part-*",
    "parts/year=*",
    "parts/year=*/**",
    "parts/year=*/**/*",
    "parts/y*/**/p*.{}",
]


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("where", ["here", "s3"])
def test_rows_are_those_of_one_file(place, where, folder, objects, ending, X):
    start = str(folder) if where == "here" else "s3://bucket/data"
    source = open_source(f"{start}/{place.format(ending)}")
    assert source.feature_names == NAMES
    for rows in (np.arange(2_000), [0, 299, 300, 301, 1_999], np.arange(280, 310)):
        np.testing.assert_array_equal(source.take(rows), X[rows])


@pytest.mark.parametrize("where", ["here", "s3"])
def test_labels_are_those_of_one_file(where, folder, objects, ending):
    start = str(folder) if where == "here" else "s3://bucket/data"

    def fit(place):
        return CoHiRF(n_clusters=3, batch_size=400, random_state=0).fit(open_source(place)).labels_

    expected = fit(folder / f"one.{ending}")
    np.testing.assert_array_equal(fit(f"{start}/parts"), expected)


def test_prepared_rows_are_those_of_one_file(folder, objects, ending):
    expected = prepare(folder / f"one.{ending}").array()
    np.testing.assert_array_equal(prepare(folder / "parts").array(), expected)
    np.testing.assert_array_equal(prepare("s3://bucket/data/parts/").array(), expected)


def test_columns_are_chosen(folder, objects, X):
    for start in (folder, "s3://bucket/data"):
        source = open_source(f"{start}/flat", columns=["c", "a"])
        np.testing.assert_array_equal(source.take(np.arange(2_000)), X[:, [2, 0]])


def test_another_column_in_one_file_is_named(folder, ending, tmp_path):
    for number, name in enumerate(("c", "z")):
        table = pa.table({"a": [1.0, 2.0], name: [1.0, 2.0]})
        write(table, tmp_path / f"part-{number}.{ending}")
    with pytest.raises(ValueError, match=f"part-1.{ending}: column 'c' is missing"):
        open_source(tmp_path)


def test_a_column_that_only_a_later_file_has_is_named(ending, tmp_path):
    for number, names in enumerate(("ac", "acz")):
        write(pa.table({name: [1.0, 2.0] for name in names}), tmp_path / f"part-{number}.{ending}")
    with pytest.raises(ValueError, match=f"part-1.{ending}: column 'z' is .* but missing in .*0"):
        open_source(tmp_path)
    assert open_source(tmp_path, columns=["c"]).n_rows == 4


def test_files_of_no_bytes_are_named(ending, tmp_path, objects):
    for number in range(3):
        path = tmp_path / f"part-{number}.{ending}"
        write(pa.table({"a": [1.0, 2.0]}), path)
        content = b"" if number else path.read_bytes()
        path.write_bytes(content)
        objects.put(f"bucket/stopped/{path.name}", content)
    for place in (tmp_path, "s3://bucket/stopped"):
        with pytest.raises(ValueError, match=r"2 of 3 files have 0 bytes: .*part-1.*part-2"):
            open_source(place)


@pytest.mark.parametrize("where", ["here", "s3"])
def test_names_that_look_like_patterns_are_names(where, ending, tmp_path, objects):
    places = [f"rows[1]/a.{ending}", f"rows1/a.{ending}", f"b[2].{ending}", f"b2.{ending}"]
    for number, place in enumerate(places):
        write(pa.table({"a": [float(number)]}), tmp_path / place)
        objects.put(f"bucket/names/{place}", (tmp_path / place).read_bytes())
    start = str(tmp_path) if where == "here" else "s3://bucket/names"
    asked = ["rows[1]", f"rows[1]/a.{ending}", "rows[1]/", f"b[2].{ending}", f"b[23].{ending}"]
    found = [open_source(f"{start}/{place}").take([0]).item() for place in asked]
    assert found == [0, 0, 0, 2, 3]


def test_a_folder_that_has_the_name_of_a_file_is_read(objects, ending, X, folder):
    for number in range(4):
        content = (folder / "flat" / f"part-{number}.{ending}").read_bytes()
        objects.put(f"bucket/spark.{ending}/part-{number}.{ending}", content)
    source = open_source(f"s3://bucket/spark.{ending}")
    np.testing.assert_array_equal(source.take(np.arange(2_000)), X)


@pytest.mark.parametrize(
    ("place", "error", "message"),
    [
        ("s3://bucket/data/none/", ValueError, "s3://bucket/data/none/ is a folder without data"),
        ("s3://bucket/data/x-*", FileNotFoundError, r"x-\* fits no file of Parquet, Arrow or CSV"),
        ("http://host/data/", ValueError, "the files of a web server cannot be listed"),
    ],
)
def test_places_without_files_are_refused(place, error, message, objects):
    with pytest.raises(error, match=message):
        open_source(place)


def test_listed_objects_are_not_asked_for_one_by_one(objects):
    open_source("s3://bucket/data/flat")
    assert objects.requests["HEAD"] == 0
