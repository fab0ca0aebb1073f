"""Labels as a data set: a file for each file of the data."""

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tools.object_server import serving

from cohirf import open_source, write_labels
from cohirf.store import label_files

NAMES = ("year=2025/a.parquet", "year=2025/b c.parquet", "year=2026/a.parquet")


@pytest.fixture
def folder(tmp_path):
    for number, name in enumerate(NAMES):
        path = tmp_path / "rows" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": np.arange(3.0 + number)}), path)
    return tmp_path / "rows"


LABELS = np.arange(12) - 1


def read(folder):
    return {
        file.relative_to(folder).as_posix(): pq.read_table(file, partitioning=None)
        for file in sorted(folder.rglob("*.parquet"))
    }


def test_each_file_has_the_labels_of_its_rows(folder, tmp_path):
    source = open_source(folder)
    files = write_labels(LABELS, source, tmp_path / "labels")
    tables = read(tmp_path / "labels")
    assert tuple(tables) == NAMES
    assert [Path(file).name for file in files] == [Path(name).name for name in NAMES]
    assert [len(table) for table in tables.values()] == [3, 4, 5]
    assert [one for table in tables.values() for one in table["cluster"].to_pylist()] == [*LABELS]
    with pytest.raises(FileExistsError, match="overwrite=True"):
        write_labels(LABELS, source, tmp_path / "labels")
    write_labels(LABELS[::-1], source, tmp_path / "labels", overwrite=True, column="group")
    assert next(iter(read(tmp_path / "labels").values()))["group"].to_pylist() == [10, 9, 8]


@pytest.mark.parametrize("where", ["here", "s3"])
def test_labels_of_files_that_are_gone_are_not_left_beside_others(where, folder, tmp_path):
    with serving() as store:
        target = str(tmp_path / "labels")
        if where == "s3":
            pytest.importorskip("obstore")
            target = "s3://bucket/labels"
        write_labels(LABELS, open_source(folder), target)
        (folder / NAMES[1]).unlink()
        with pytest.raises(FileExistsError, match=r"Parquet files.*\(1\): remove them.*b c"):
            write_labels(LABELS[:8], open_source(folder), target, overwrite=True)
        if where == "s3":
            del store.content[f"bucket/labels/{NAMES[1]}"]
        else:
            (tmp_path / "labels" / NAMES[1]).unlink()
            (tmp_path / "labels" / "_SUCCESS").touch()
        assert len(write_labels(LABELS[:8], open_source(folder), target, overwrite=True)) == 2


def test_data_below_the_folder_of_labels_are_not_in_the_way(folder):
    target = folder.parent
    (target / "log.txt").touch()
    files = write_labels(LABELS, open_source(folder), str(target), overwrite=True)
    assert len(files) == len(NAMES)
    data = [
        len(pq.read_table(file, partitioning=None)) for file in sorted(folder.rglob("*.parquet"))
    ]
    assert data == [3, 4, 5]


@pytest.mark.parametrize("ending", ["csv", "arrow"])
def test_other_formats_have_parquet_files_of_labels(ending, tmp_path):
    (tmp_path / "rows").mkdir()
    for number in range(2):
        place = tmp_path / "rows" / f"{number}.{ending}"
        if ending == "csv":
            place.write_text("x,y\n" + "1,2\n" * (number + 1), encoding="utf-8")
        else:
            table = pa.table({"x": np.ones(number + 1)})
            with pa.ipc.new_file(place, table.schema) as writer:
                writer.write_table(table)
    write_labels(np.arange(3), open_source(tmp_path / "rows"), tmp_path / "labels")
    tables = read(tmp_path / "labels")
    assert {name: table["cluster"].to_pylist() for name, table in tables.items()} == {
        "0.parquet": [0],
        "1.parquet": [1, 2],
    }


def test_labels_of_one_file_and_of_no_rows(tmp_path):
    for number, n_rows in enumerate((4, 0)):
        pq.write_table(pa.table({"x": np.ones(n_rows)}), tmp_path / f"{number}.parquet")
    write_labels(np.arange(4), open_source(tmp_path / "0.parquet"), tmp_path / "one")
    assert len(read(tmp_path / "one")["0.parquet"]) == 4
    write_labels(np.arange(4), open_source(tmp_path / "[01].parquet"), tmp_path / "two")
    assert [len(table) for table in read(tmp_path / "two").values()] == [4, 0]


def test_labels_at_a_url_stand_beside_the_rows(folder):
    pytest.importorskip("obstore")
    with serving() as store:
        store.put_folder("bucket/rows", folder)
        source = open_source("s3://bucket/rows")
        files = write_labels(LABELS, source, "s3://bucket/labels/")
        assert files == [f"s3://bucket/labels/{name}" for name in NAMES]
        found = [
            pq.read_table(pa.BufferReader(store.content[f"bucket/labels/{name}"])) for name in NAMES
        ]
        assert pa.concat_tables(found)["cluster"].to_pylist() == [*LABELS]
        with pytest.raises(FileExistsError, match="overwrite=True"):
            write_labels(LABELS, source, "s3://bucket/labels")
        with pytest.raises(ValueError, match="is the folder of the data"):
            write_labels(LABELS, source, "s3://bucket/rows/")


def test_names_of_data_in_the_working_directory_are_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pq.write_table(pa.table({"x": np.ones(2)}), "may.parquet")
    source = open_source("may.parquet")
    pq.write_table(pa.table({"x": np.ones(2)}), "june.parquet")
    whole = open_source(".")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert write_labels([0, 1], source, "labels") == ["labels/may.parquet"]
    write_labels([0, 1, 2, 3], whole, "all")
    assert list(read(tmp_path / "elsewhere" / "all")) == ["june.parquet", "may.parquet"]


def test_labels_never_replace_data(tmp_path):
    for name in ("month=2/a.parquet", "year=1/month=2/a.parquet"):
        (tmp_path / "rows" / name).parent.mkdir(parents=True, exist_ok=True)
        pq.write_table(pa.table({"x": np.ones(1)}), tmp_path / "rows" / name)
    source = open_source(tmp_path / "rows")
    for folder in (tmp_path / "rows" / "month=2", tmp_path / "rows" / "year=1"):
        with pytest.raises(ValueError, match=r"folder of the data|would replace data"):
            write_labels(np.arange(2), source, folder, overwrite=True)
    assert {table.column_names[0] for table in read(tmp_path / "rows").values()} == {"x"}


@pytest.mark.parametrize("is_at_url", [False, True])
def test_files_of_another_writer_are_not_replaced(folder, tmp_path, monkeypatch, is_at_url):
    if is_at_url:
        pytest.importorskip("obstore")
    source = open_source(folder)
    write = label_files._write

    def write_after_another(labels, place, column, *, overwrite):
        write(labels[::-1], place, column, overwrite=False)
        write(labels, place, column, overwrite=overwrite)

    monkeypatch.setattr(label_files, "_write", write_after_another)
    with serving():
        target = "s3://bucket/labels" if is_at_url else tmp_path / "labels"
        with pytest.raises(FileExistsError, match="Another writer has put"):
            write_labels(LABELS, source, target)


def test_what_cannot_be_written_is_refused(folder, tmp_path):
    source = open_source(folder)
    with pytest.raises(ValueError, match="is the folder of the data"):
        write_labels(LABELS, source, folder)
    with pytest.raises(ValueError, match="There are 3 labels, and 12 rows in 3 files"):
        write_labels(LABELS[:3], source, tmp_path / "labels")
    with pytest.raises(TypeError, match="not in files"):
        write_labels(LABELS, open_source(np.ones((12, 2))), tmp_path / "labels")
    with pytest.raises(ValueError, match="web server"):
        write_labels(LABELS, source, "https://host/labels")


def test_the_program_writes_labels_of_csv_files(tmp_path, cohirf):
    (tmp_path / "rows").mkdir()
    for number in range(2):
        rows = "".join(f"{row % 2},{row}\n" for row in range(20 + number))
        (tmp_path / "rows" / f"{number}.csv").write_text("x,y\n" + rows, encoding="utf-8")
    for data, names in (("rows", ["0.parquet", "1.parquet"]), ("rows/0.csv", ["0.parquet"])):
        place = tmp_path / f"labels of {len(names)}"
        data = str(tmp_path / data)
        cohirf("fit", data, "--clusters", "2", "--quiet", "--out-files", str(place))
        assert [(name, len(table)) for name, table in read(place).items()] == [
            (name, 20 + number) for number, name in enumerate(names)
        ]


def test_the_program_writes_a_file_for_each_file(folder, tmp_path, cohirf):
    place = tmp_path / "labels"
    words = ("fit", str(folder), "--clusters", "2", "--quiet", "--out-files")
    assert "is the folder of the data" in cohirf(*words, str(folder)).err
    cohirf(*words, str(place))
    assert [len(table) for table in read(place).values()] == [3, 4, 5]
    assert "--force to replace files" in cohirf(*words, str(place)).err
