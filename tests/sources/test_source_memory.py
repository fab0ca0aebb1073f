"""Reading block by block holds little, however long the data is."""

import subprocess
import sys

import numpy as np
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

N_FEATURES = 16
READ = """
import sys
import tracemalloc
import numpy as np
import pyarrow
from cohirf import open_source

tracemalloc.start()
for path in sys.argv[1:]:
    source = open_source(path)
    for start in range(0, source.n_rows, 20_000):
        source.take(np.arange(start, min(start + 20_000, source.n_rows)))
    print(tracemalloc.get_traced_memory()[1] + pyarrow.default_memory_pool().max_memory())
"""


def most_bytes_asked_for(*paths):
    """Return the most bytes that NumPy and Arrow have held, in a process that reads all blocks of
    files, after each.

    Unlike resident memory, this does not depend on what the system and the allocators keep.
    """
    done = subprocess.run(
        [sys.executable, "-c", READ, *paths], capture_output=True, text=True, check=True
    )
    return [int(line) for line in done.stdout.split()]


def write_npy(X, path):
    np.save(path, X)


def write_parquet(X, path):
    pq.write_table(
        pa.table({f"c{number}": column for number, column in enumerate(X.T)}),
        path,
        row_group_size=len(X),
    )


def write_arrow(X, path):
    pl.DataFrame(X).write_ipc(path, record_batch_size=len(X))


def write_csv(X, path):
    pl.DataFrame(X.round(2)).write_csv(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("ending", "write"),
    [("npy", write_npy), ("parquet", write_parquet), ("arrow", write_arrow), ("csv", write_csv)],
)
def test_ten_times_the_rows_take_little_more_memory(ending, write, tmp_path):
    X = np.random.default_rng(0).normal(size=(1_000_000, N_FEATURES))
    few = tmp_path / f"few.{ending}"
    many = tmp_path / f"many.{ending}"
    write(X[:100_000], few)
    write(X, many)
    of_few, of_many = most_bytes_asked_for(few, many)
    assert of_many - of_few < 0.5 * X[100_000:].nbytes
