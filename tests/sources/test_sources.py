"""What every source does, whatever it reads from: one table of kinds of storage, and one contract
for all of them.

A new format gets an entry in ``KINDS``, and one in ``READERS`` if it reads in a way of its own.
"""

import gzip
import hashlib
import multiprocessing
import os
import pickle
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import dask.array as da
import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import zarr
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.utils import check_array
from workbooks import write_workbook

from cohirf import CoHiRF, open_source
from cohirf.sources import SourceChangedError, find_format, open_table
from cohirf.sources.open_source import FILES as CLASSES
from cohirf.sources.policy import CSV, READ
from cohirf.sources.tables import StoredTable, Table

N_ROWS = 1_100
N_FEATURES = 4
NAMES = ["a", "b", "b.c", "d e"]
TYPES = ("f8", "f4", "f2", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "?")
ROWS = {
    "all": np.arange(N_ROWS),
    "first": np.array([0]),
    "first and last": np.array([0, N_ROWS - 1]),
    "none": np.array([], dtype=int),
    "a run": np.arange(290, 725),
    "a run of two": np.array([299, 300]),
    "all but one": np.delete(np.arange(N_ROWS), 517),
    "every seventh": np.arange(3, N_ROWS, 7),
    "two runs": np.r_[10:200, 640:900],
    "few": np.array([5, 6, 411, 1003]),
    "int32": np.arange(20, 50, dtype=np.int32),
    "uint64": np.array([20, 21, 900], dtype=np.uint64),
}
PIECES = ("piece_bytes", "seek_bytes", "mapped_bytes", "loaded_bytes")


def make_data(dtype=np.float64):
    return np.random.default_rng(0).normal(scale=50, size=(N_ROWS, N_FEATURES)).astype(dtype)


@dataclass(frozen=True)
class Kind:
    """How an array gets into a kind of storage, and what is special about it."""

    store: Callable  # puts an array into a folder; returns what is given to open_source
    names: list[str] | None = None  # of the features, where the storage keeps names
    types: tuple[str, ...] = TYPES
    handle_bytes: int = 2_500
    file: Callable | None = (
        None  # a file in which rows are stored, of what store returned; None if there is none
    )
    is_path: bool = True  # whether store returns a path

    def columns(self, *numbers):
        """Return the way to choose columns that the storage has."""
        return list(numbers) if self.names is None else [self.names[number] for number in numbers]


def itself(data):
    return data


def save_npy(convert=np.asarray):
    def store(X, folder):
        np.save(folder / "data.npy", convert(X))
        return folder / "data.npy"

    return store


def save_parquet(X, folder):
    pq.write_table(
        pa.table(dict(zip(NAMES, X.T, strict=True))), folder / "data.parquet", row_group_size=300
    )
    return folder / "data.parquet"


def save_one_row_group(X, folder):
    pl.DataFrame(X, schema=NAMES).write_parquet(folder / "data.parquet", row_group_size=10_000)
    return folder / "data.parquet"


def save_parquet_files(X, folder):
    parts = folder / "parts"
    parts.mkdir()
    for name, start, stop in [("0.parquet", 0, 30), ("1.pq", 30, 800), ("10.PARQUET", 800, 1_100)]:
        table = pa.table(dict(zip(NAMES, X[start:stop].T, strict=True)))
        pq.write_table(table, parts / name, row_group_size=300)
    for name in ("_metadata.parquet", ".hidden.parquet", "README.md"):
        (parts / name).write_text("left out", encoding="utf-8")
    return parts


def save_arrow(name="data.arrow", batch_rows=300, new=pa.ipc.new_file, compression=None):
    def store(X, folder):
        table = pa.table(dict(zip(NAMES, X.T, strict=True)))
        options = pa.ipc.IpcWriteOptions(compression=compression)
        with (
            pa.OSFile(str(folder / name), "wb") as sink,
            new(sink, table.schema, options=options) as writer,
        ):
            writer.write_table(table, max_chunksize=batch_rows)
        return folder / name

    return store


def save_csv(X, folder):
    (folder / "data.csv").write_bytes(write_lines(X, ","))
    return folder / "data.csv"


def save_compressed_tsv(X, folder):
    (folder / "data.tsv.gz").write_bytes(gzip.compress(write_lines(X, "\t")))
    return folder / "data.tsv.gz"


def write_lines(X, delimiter):
    lines = [delimiter.join(NAMES), *(delimiter.join(map(repr, row)) for row in X.tolist())]
    return "\n".join(lines).replace("True", "true").replace("False", "false").encode()


def save_sheet(X, folder):
    pytest.importorskip("python_calamine")
    return write_workbook(folder / "data.xlsx", {"data": [NAMES, *X.tolist()]})


def save_zarr(**options):
    def store(X, folder):
        zarr.create_array(folder / "data.zarr", data=X, **({"chunks": (300, 3)} | options))
        return folder / "data.zarr"

    return store


def save_zarr_zip(X, folder):
    with zarr.storage.ZipStore(folder / "data.zarr.zip", mode="w") as opened:
        zarr.create_array(opened, data=X, chunks=(300, 3))
    return folder / "data.zarr.zip"


def save_zarr_group(X, folder):
    return zarr.create_group(folder / "data.zarr").create_array("X", data=X, chunks=(300, 3))


def map_memory(X, folder):
    np.save(folder / "data.npy", X)
    return np.load(folder / "data.npy", mmap_mode="r")


BIG_ENDIAN = (">f4", ">f8", ">i4")
HELD = {"is_path": False, "handle_bytes": 80_000}  # the array is what is pickled
KINDS = {
    "array": Kind(lambda X, folder: X, types=(*TYPES, *BIG_ENDIAN), **HELD),
    "memory map": Kind(map_memory, **HELD),
    "CSR matrix": Kind(
        lambda X, folder: sparse.csr_array(X), types=tuple(set(TYPES) - {"f2"}), **HELD
    ),
    "npy": Kind(save_npy(), types=(*TYPES, *BIG_ENDIAN, ">u2"), file=itself),
    "npy in Fortran order": Kind(save_npy(np.asfortranarray), file=itself),
    "npy of another type": Kind(
        save_npy(lambda X: X.astype(">f8") if X.dtype == float else X), file=itself
    ),
    "Parquet": Kind(save_parquet, NAMES, file=itself),
    "Parquet of one row group": Kind(save_one_row_group, NAMES, file=itself),
    "Parquet files": Kind(save_parquet_files, NAMES, file=lambda data: data / "10.PARQUET"),
    "Arrow": Kind(save_arrow(), NAMES, file=itself),
    "Arrow of one batch": Kind(save_arrow("data.ipc", batch_rows=10_000), NAMES, file=itself),
    "Arrow, compressed": Kind(save_arrow("data.feather", compression="lz4"), NAMES, file=itself),
    "Arrow stream": Kind(save_arrow(new=pa.ipc.new_stream, compression="zstd"), NAMES, file=itself),
    # these are converted, and may go afterwards
    "CSV": Kind(save_csv, NAMES, types=("f8", "i8", "?")),
    "TSV, compressed": Kind(save_compressed_tsv, NAMES, types=("f8", "i8", "?")),
    "spreadsheet": Kind(save_sheet, NAMES, types=("f8", "i8", "?"), handle_bytes=80_000),
    "Zarr": Kind(save_zarr(), types=(*TYPES, ">f8"), file=lambda data: data / "c" / "3" / "1"),
    "Zarr, version 2": Kind(
        save_zarr(zarr_format=2), types=(*TYPES, ">f4"), file=lambda data: data / "3.1"
    ),
    "Zarr of shards": Kind(
        save_zarr(chunks=(100, 2), shards=(400, 4)),
        types=("f8", "f4", "i2"),
        file=lambda data: data / "c" / "2" / "0",
    ),
    "Zarr in a zip file": Kind(save_zarr_zip, types=("f8", "f4"), file=itself),
    "Zarr in memory": Kind(
        lambda X, _: zarr.create_array({}, data=X, chunks=(300, 3)), types=("f8", "f4"), **HELD
    ),
    "Zarr array of a group": Kind(save_zarr_group, types=("f8", "f4"), is_path=False),
    "Dask": Kind(
        lambda X, _: da.from_array(X, chunks=((300, 200, 600), (3, 1))),
        types=("f8", "f4", "i2", "?"),
        **HELD,
    ),
}
# One kind for each way of reading: what is checked before or after the rows are read is the same
# for its variants. A spreadsheet becomes an array.
READERS = (
    "array",
    "memory map",
    "CSR matrix",
    "npy",
    "Parquet",
    "Parquet files",
    "Arrow",
    "CSV",
    "Zarr",
    "Dask",
)
PATHS = {name: kind for name, kind in KINDS.items() if kind.is_path}
FILES = {name: kind for name, kind in KINDS.items() if kind.file is not None}


@pytest.fixture(autouse=True)
def small_blocks_of_text(monkeypatch):
    monkeypatch.setitem(vars(CSV), "block_bytes", 10_000)


@pytest.fixture
def kind(request):
    return KINDS[request.param]


@pytest.fixture
def X():  # noqa: N802 - as scikit-learn calls data
    return make_data()


def of_all(kinds=KINDS):
    return pytest.mark.parametrize("kind", kinds, indirect=True)


def dense(taken):
    return taken.toarray() if sparse.issparse(taken) else taken


@of_all()
@pytest.mark.parametrize("pieces", ["ordinary", "tiny"])
def test_rows_are_those_of_the_array_in_any_order_and_from_any_thread(
    kind, pieces, X, tmp_path, monkeypatch
):
    for size in PIECES if pieces == "tiny" else ():
        monkeypatch.setitem(vars(READ), size, 4_000)
    source = open_source(kind.store(X, tmp_path))
    assert (source.n_rows, source.n_features, source.dtype) == (N_ROWS, N_FEATURES, np.float64)
    assert source.feature_names == kind.names
    assert (
        repr(source) == f"{type(source).__name__}({source.name}: 1,100 rows x 4 features, float64)"
    )
    assert "\n" not in repr(source)
    for which, rows in ROWS.items():
        taken = source.take(rows)
        assert taken.dtype == np.float64
        assert taken.dtype.isnative
        assert taken.shape == (len(rows), N_FEATURES)
        np.testing.assert_array_equal(dense(taken), X[rows], err_msg=which)
    assert len(pickle.dumps(source)) < kind.handle_bytes
    if pieces == "ordinary":
        return  # from several threads, rows are read in tiny pieces alone
    starts = np.arange(0, N_ROWS, 170)
    rng = np.random.default_rng(1)
    blocks = [
        np.arange(start, min(start + 170, N_ROWS))
        for start in (*starts[::-1], *rng.permutation(starts))
    ]
    wanted = blocks + [np.unique(rng.integers(0, N_ROWS, 30)) for _ in range(10)]
    with ThreadPoolExecutor(8) as pool:
        for rows, taken in zip(wanted, pool.map(source.take, wanted), strict=True):
            np.testing.assert_array_equal(dense(taken), X[rows])
    assert len(pickle.dumps(source)) < kind.handle_bytes  # what was decoded does not go along


def test_every_class_of_files_has_a_kind_here(X, tmp_path):
    found = set()
    for name, kind in PATHS.items():
        (tmp_path / name).mkdir()
        found.add(find_format(kind.store(X, tmp_path / name)))
    assert found == set(CLASSES.values())


@of_all([name for name, kind in PATHS.items() if kind.names])
def test_batches_of_a_table_have_the_columns_asked_for_and_the_types_that_it_says(
    kind, X, tmp_path, monkeypatch
):
    monkeypatch.setitem(vars(READ), "piece_bytes", 4_000)
    table = open_table(kind.store(X, tmp_path))
    assert isinstance(table, Table)
    assert list(table.types) == NAMES
    wanted = {name: table.types[name] for name in (NAMES[3], NAMES[0])}
    for row_bytes in (None, 16):
        batches = list(table.read(list(wanted), row_bytes=row_bytes))
        types = [{field.name: str(field.type) for field in batch.schema} for batch in batches]
        assert all(list(one.items()) == list(wanted.items()) for one in types)
        assert sum(map(len, batches)) == N_ROWS
    assert sorted(table.find_places([0, 7])) == [0, 7]
    if isinstance(table, StoredTable):
        assert table.n_rows == N_ROWS
        for number, first in enumerate(table.starts):
            below = pa.Table.from_batches(table.read(["a"], number))
            np.testing.assert_array_equal(below["a"], X[first:, 0])


@of_all()
def test_rows_are_new_memory_in_c_order(kind, X, tmp_path):
    source = open_source(kind.store(X, tmp_path))
    for rows in (np.arange(N_ROWS), np.arange(40), np.array([1, 5])):
        taken = source.take(rows)
        if not sparse.issparse(taken):
            assert taken.flags.c_contiguous
            assert taken.flags.writeable
        (taken.data if sparse.issparse(taken) else taken)[:] = -1
        np.testing.assert_array_equal(dense(source.take(rows)), X[rows])


@cache
def other_process() -> ProcessPoolExecutor:
    return ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn"))


def read_elsewhere(source, rows):
    return os.getpid(), source.take(rows), source.fingerprint()


@of_all()
def test_another_process_reads_the_same(kind, X, tmp_path):
    source = open_source(kind.store(X, tmp_path))
    rows = np.array([3, 4, 700])
    process, taken, fingerprint = (
        other_process().submit(read_elsewhere, source, rows).result(timeout=600)
    )
    assert process != os.getpid()
    np.testing.assert_array_equal(dense(taken), X[rows])
    assert fingerprint == source.fingerprint()


@of_all()
def test_the_fingerprint_is_short_stays_and_tells_data_and_columns_apart(kind, X, tmp_path):
    (tmp_path / "other").mkdir()
    data = kind.store(X, tmp_path)
    fingerprint = open_source(data).fingerprint()
    assert open_source(data).fingerprint() == fingerprint
    assert len(fingerprint) == 32
    others = {
        open_source(data, columns=kind.columns(0, 1)).fingerprint(),
        open_source(data, columns=kind.columns(1, 0)).fingerprint(),
        open_source(kind.store(X + 1, tmp_path / "other")).fingerprint(),
    }
    assert len(others - {fingerprint}) == 3


@of_all()
def test_columns_are_read_in_the_order_given_or_chosen_by_a_function(kind, X, tmp_path):
    data = kind.store(X, tmp_path)
    left_out = kind.columns(1)[0]
    chosen = [(numbers, kind.columns(*numbers)) for numbers in ((2,), (0, 3), (3, 1, 0))]
    for numbers, columns in [*chosen, ((0, 2, 3), lambda column: column != left_out)]:
        source = open_source(data, columns=columns)
        assert source.n_features == len(numbers)
        assert source.feature_names == (kind.names and kind.columns(*numbers))
        for rows in (np.arange(200, 800), np.array([0, 7, 1_099])):
            np.testing.assert_array_equal(dense(source.take(rows)), X[np.ix_(rows, numbers)])


@of_all()
def test_types_are_those_of_scikit_learn_and_half_precision_becomes_single(kind, tmp_path):
    for number, dtype in enumerate(kind.types):
        X = np.abs(make_data()).astype(dtype)
        (tmp_path / str(number)).mkdir()
        source = open_source(kind.store(X, tmp_path / str(number)))
        taken = source.take(np.arange(N_ROWS))
        checked = check_array(
            X, dtype=np.float32 if X.dtype == np.float16 else (np.float64, np.float32)
        )
        assert source.dtype == taken.dtype == checked.dtype, dtype
        np.testing.assert_array_equal(dense(taken), checked)
        np.testing.assert_array_equal(dense(source.take([1, 8])), checked[[1, 8]])


@of_all(READERS)
@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (np.nan, r"contains NaN\. .*impute them"),
        (-np.inf, r"contains infinity: replace infinite values"),
        (
            1e200,
            r"holds values up to 1e\+200, whose squares overflow float64: scale the data first\.",
        ),
    ],
)
def test_a_value_that_is_no_use_is_refused_where_it_is_read(kind, value, fault, X, tmp_path):
    X[1_007, 2] = value
    source = open_source(kind.store(X, tmp_path))
    np.testing.assert_array_equal(dense(source.take(np.arange(1_000))), X[:1_000])
    with pytest.raises(ValueError, match=f"rows 1,000 to 1,099: {fault}") as caught:
        source.take(np.arange(1_000, 1_100))
    message = str(caught.value)
    assert message.startswith(f"{source.name}, rows")
    assert "\n" not in message
    names_it = not np.isfinite(value) and not sparse.issparse(source.take([0]))
    assert (
        message.endswith(f"The first is in row 1,007, column {kind.columns(2)[0]!r}.") == names_it
    )
    np.testing.assert_array_equal(dense(source.take([1_006, 1_008])), X[[1_006, 1_008]])


@of_all(READERS)
def test_row_numbers_are_checked(kind, X, tmp_path):
    source = open_source(kind.store(X, tmp_path))
    for rows in ([3, 2], [0, 2, 1], [2, 2], [0.5], [[1, 2]]):
        with pytest.raises(ValueError, match="row numbers must be sorted, distinct integers"):
            source.take(rows)
    for rows, shown in (([-1, 2], "-1 to 2"), ([5, 1_100], "5 to 1,100")):
        with pytest.raises(IndexError, match=f"has rows 0 to 1,099, not {shown}"):
            source.take(rows)


# a fit takes rows, which are those of the array for any kind
@of_all(["CSR matrix", "npy", "Parquet", "Zarr", "Dask"])
def test_a_fit_finds_the_clusters_of_the_array(kind, X, tmp_path):
    data = kind.store(X, tmp_path)
    model = CoHiRF.as_published(KMeans(4, n_init=1), views=2, random_state=0)
    alike = data if sparse.issparse(data) else X  # a fit of sparse data rounds in another way
    expected = model.fit(alike).parents_
    assert (model.fit(open_source(data)).parents_ == expected).all()


@of_all(FILES)
@pytest.mark.parametrize("change", ["rewritten", "truncated", "replaced", "removed"])
def test_a_file_that_changed_is_noticed_and_named(kind, change, X, tmp_path, monkeypatch):
    for size in PIECES:
        monkeypatch.setitem(vars(READ), size, 1_000)
    data = kind.store(X, tmp_path)
    file = kind.file(data)
    source = open_source(data)
    source.take(np.arange(100))
    content = file.read_bytes()
    later = file.stat().st_mtime_ns + 1_000_000_000
    if change == "replaced":
        (tmp_path / "new").write_bytes(content)
        (tmp_path / "new").replace(file)
    elif change == "removed":
        file.unlink()
    else:
        file.write_bytes(content if change == "rewritten" else content[: len(content) // 2])
    if change != "removed":
        os.utime(file, ns=(later, later))  # the clock of a file system may be coarse
    with pytest.raises(SourceChangedError, match=r"open it again|restore the file") as caught:
        source.take(np.arange(900, 1_000))
    assert file.name in str(caught.value)
    assert "\n" not in str(caught.value)


@of_all(PATHS)
def test_reading_leaves_the_files_alone_and_the_working_directory_may_change(
    kind, X, tmp_path, monkeypatch
):
    data = kind.store(X, tmp_path)
    before = state_of(tmp_path)
    monkeypatch.chdir(tmp_path)
    source = open_source(data.relative_to(tmp_path))
    assert source.name == str(data.relative_to(tmp_path))
    monkeypatch.chdir("/")
    for rows in ROWS.values():
        np.testing.assert_array_equal(source.take(rows), X[rows])
    source.fingerprint()
    assert state_of(tmp_path) == before


@of_all([name for name in READERS if name in PATHS])
def test_an_odd_file_name_is_shown_in_one_line(kind, X, tmp_path):
    (tmp_path / "odd\nname\t").mkdir()
    source = open_source(kind.store(X, tmp_path / "odd\nname\t"))
    assert "\n" not in source.name
    np.testing.assert_array_equal(source.take([0, 9]), X[[0, 9]])


def state_of(folder: Path):
    """Return name, time and content of everything in a folder, of the folders its names and
    times.
    """
    return {
        path: (
            path.stat().st_mtime_ns,
            hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else None,
        )
        for path in [folder, *folder.rglob("*")]
    }
