"""How fast is each kind of storage read, and how much memory does that take?

Each source reads its rows in order, in blocks of 20,000, in a process of its own. Its processor
time is divided by that of ``np.load`` of the same array, measured in turns in the same process; the
system has the files in its cache for both. Memory is the rise of the peak resident size from the
opened source to the last block.

    python -m benchmarks.speed.sources [--rows 1000000] [--features 50] [--folder FOLDER]
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks._common import Table, in_fresh_process, make_parser, parse, peak_rise, timed
from cohirf import open_source

BLOCK_ROWS = 20_000


def write_npy(X: np.ndarray, path: Path) -> None:
    np.save(path, X)


def write_fortran_npy(X: np.ndarray, path: Path) -> None:
    np.save(path, np.asfortranarray(X))


def write_parquet(X: np.ndarray, path: Path) -> None:
    import pyarrow.parquet as pq

    pq.write_table(table(X), path)


def write_parquet_folder(X: np.ndarray, path: Path) -> None:
    path.mkdir()
    for number, rows in enumerate(np.array_split(np.arange(len(X)), 10)):
        write_parquet(X[rows], path / f"{number}.parquet")


def write_arrow(
    X: np.ndarray, path: Path, batch_rows: int | None = 65_536, compression: str | None = None
) -> None:
    import pyarrow as pa

    options = pa.ipc.IpcWriteOptions(compression=compression)
    with (
        pa.OSFile(str(path), "wb") as sink,
        pa.ipc.new_file(sink, table(X).schema, options=options) as writer,
    ):
        writer.write_table(table(X), max_chunksize=batch_rows)


def write_long_arrow(X: np.ndarray, path: Path) -> None:
    write_arrow(X, path, batch_rows=None)


def write_lz4_arrow(X: np.ndarray, path: Path) -> None:
    write_arrow(X, path, compression="lz4")


def write_zarr(X: np.ndarray, path: Path, chunk_rows: int = 10_000) -> None:
    import zarr

    zarr.create_array(path, data=X, chunks=(chunk_rows, X.shape[1]))


def write_long_zarr(X: np.ndarray, path: Path) -> None:
    write_zarr(X, path, chunk_rows=100_000)


def write_csv(X: np.ndarray, path: Path) -> None:
    import pyarrow.csv

    pyarrow.csv.write_csv(table(X), path)


def table(X: np.ndarray):
    import pyarrow as pa

    return pa.table(
        {f"c{number}": np.ascontiguousarray(column) for number, column in enumerate(X.T)}
    )


KINDS: dict[str, tuple[str, Callable[[np.ndarray, Path], None]]] = {
    ".npy": ("data.npy", write_npy),
    ".npy, Fortran order": ("fortran.npy", write_fortran_npy),
    ".npy, every second column": ("data.npy", write_npy),
    "Parquet": ("data.parquet", write_parquet),
    "Parquet, ten files": ("folder", write_parquet_folder),
    "Arrow": ("data.arrow", write_arrow),
    "Arrow, one long batch": ("long.arrow", write_long_arrow),
    "Arrow, lz4": ("lz4.arrow", write_lz4_arrow),
    "Zarr": ("data.zarr", write_zarr),
    "Zarr, chunks of 100,000 rows": ("long.zarr", write_long_zarr),
    "Dask of .npy": ("data.npy", write_npy),
    "CSV, converted before": ("data.csv", write_csv),
}


def opened(kind: str, path: Path):
    if kind == "Dask of .npy":
        import dask.array as da

        return open_source(da.from_array(np.load(path, mmap_mode="r"), chunks=(50_000, -1)))
    if kind == "CSV, converted before":
        return open_source(path, converted=path.with_suffix(".converted.arrow"))
    columns = list(range(0, np.load(path, mmap_mode="r").shape[1], 2)) if "second" in kind else None
    return open_source(path, columns=columns)


def read(source) -> None:
    for start in range(0, source.n_rows, BLOCK_ROWS):
        source.take(np.arange(start, min(start + BLOCK_ROWS, source.n_rows)))


def measure(kind: str, folder: Path) -> tuple[float, int, int]:
    """Return the ratio of times, and the rise of memory and a block in bytes.

    Run in a process of its own.
    """
    source = opened(kind, folder / KINDS[kind][0])
    rise, _ = peak_rise(lambda: read(source))
    turns = [
        (timed(lambda: read(source))[0], timed(lambda: np.load(folder / "data.npy"))[0])
        for _ in range(3)
    ]
    own, loaded = np.min(turns, axis=0)
    return own / loaded, rise, BLOCK_ROWS * source.n_features * source.dtype.itemsize


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--features", type=int, default=50)
    parser.add_argument("--folder", type=Path, help="where the files are written, and kept")
    arguments = parse(parser, argv, rows=100_000)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.folder or Path(temporary)
        X = np.random.default_rng(0).standard_normal((arguments.rows, arguments.features))
        for name, write in dict(KINDS.values()).items():
            if not (folder / name).exists():
                write(X, folder / name)
        opened("CSV, converted before", folder / "data.csv")
        print(f"{arguments.rows:,} rows, {arguments.features} features, {X.nbytes / 2**20:.0f} MB")
        del X
        table = Table(
            {"storage": "<30", "time / np.load": ">14.2f", "MB": ">8.0f", "blocks": ">8.1f"}
        )
        for kind in KINDS:
            ratio, rise, block = in_fresh_process(measure, kind, folder)
            table.row(kind, ratio, rise / 2**20, rise / block)


if __name__ == "__main__":
    main()
